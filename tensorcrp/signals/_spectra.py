"""Power over time and frequency.

In: recordings (n, channels, times). Out: samples of order 3, (n, channels, frequencies,
times), each computed from one recording alone.
"""

from __future__ import annotations

from numbers import Integral, Real

import numpy as np
from numpy.typing import ArrayLike
from scipy import signal
from sklearn.utils import Bunch

from tensorcrp.base.types import Fields
from tensorcrp.base.validation import check_finite
from tensorcrp.signals._epochs import stacked

RANGE = 1e-12  # 120 dB


def spectrogram_tensor(
    X: ArrayLike,
    fs: float,
    *,
    window_length: int | None = None,
    overlap: float = 0.5,
    fmin: float = 0.0,
    fmax: float | None = None,
    log: bool = True,
    floor: float | None = None,
) -> Fields:
    """Power over time and frequency: samples channel x frequency x time.

    Parameters
    ----------
    X : array-like of shape (n, channels, times)
        Recordings of one length.
    fs : float
        Samples per second.
    window_length : int, default=None
        Times in a window; None for an eighth of the times, at least 8. Frequencies are
        ``fs / window_length`` apart.
    overlap : float, default=0.5
        Share of a window that the next one repeats, 0 or more and less than 1.
    fmin : float, default=0.0
        Lowest frequency to keep, in hertz.
    fmax : float, default=None
        Highest frequency to keep; None for all.
    log : bool, default=True
        Decibels instead of power.
    floor : float, default=None
        With `log`, the smallest power that counts, in squared units of the data per
        hertz; smaller ones are raised to it. None for 120 dB below the largest power of
        each sample, which a silent sample does not have: it needs a floor of yours.

    Returns
    -------
    Bunch
        ``data`` (n, channels, frequencies, times), ``frequencies`` in hertz, ``times``
        in seconds (middles of the windows), ``mode_names``.

    Examples
    --------
    >>> import numpy as np
    >>> from tensorcrp.signals import spectrogram_tensor
    >>> t = np.arange(256) / 128.0
    >>> X = np.sin(2 * np.pi * 16.0 * t)[None, None]
    >>> spectra = spectrogram_tensor(X, 128.0, window_length=32, log=False)
    >>> spectra.data.shape
    (1, 1, 17, 15)
    >>> float(spectra.frequencies[spectra.data[0, 0].mean(axis=1).argmax()])
    16.0
    """
    X = stacked(X)
    check_finite(X)
    _check_positive(fs=fs, floor=floor)
    if window_length is None:
        window_length = min(max(X.shape[2] // 8, 8), X.shape[2])
    _check_window(window_length, overlap, X.shape[2])
    frequencies, times, power = signal.spectrogram(
        X, fs, nperseg=window_length, noverlap=int(overlap * window_length)
    )
    fmax = fs / 2 if fmax is None else fmax
    keep = (frequencies >= fmin) & (frequencies <= fmax)
    if not keep.any():
        raise ValueError(
            f"no frequency lies between fmin={fmin} and fmax={fmax}; they run from 0 "
            f"to {fs / 2:g} in steps of {fs / window_length:g}."
        )
    power = power[:, :, keep]
    return Bunch(
        data=_decibels(power, _floors(X, power, fs, floor)) if log else power,
        frequencies=frequencies[keep],
        times=times,
        mode_names=("channel", "frequency", "time"),
    )


def _check_positive(**values):
    for name, value in values.items():
        if name == "floor" and value is None:
            continue
        if not isinstance(value, Real) or not 0 < value < np.inf:
            raise ValueError(f"{name}={value!r} must be a finite number above 0.")


def _check_window(window_length, overlap, n_times):
    if not isinstance(window_length, Integral):
        raise TypeError(
            f"window_length={window_length!r} must be an integer: times are counted in "
            "samples, e.g. round(0.5 * fs)."
        )
    if not (2 <= window_length <= n_times and 0 <= overlap < 1):
        raise ValueError(
            f"window_length={window_length} must be 2 to {n_times}, the times of an "
            f"epoch, and overlap={overlap} at least 0 and less than 1."
        )


def _floors(X, power, fs, floor):
    """Smallest power in decibels: of each sample its own, whatever its neighbours are.

    A constant recording has no power but that of rounding errors.
    """
    if floor is not None:
        return floor
    largest = power.max(axis=(1, 2, 3))
    steps = np.finfo(power.dtype).eps * np.abs(X).max(axis=(1, 2))
    silent = largest <= X.shape[2] / fs * steps**2
    if silent.any():
        few = np.flatnonzero(silent)[:10].tolist()
        example = RANGE * largest[~silent].max(initial=0)
        words = f", e.g. floor={example:.0e}" if example else ""
        raise ValueError(
            f"samples {few} are silent or constant, and silence has no decibels: leave "
            f"them out, or pass floor=, the least power that counts{words}."
        )
    return RANGE * largest[:, None, None, None]


def _decibels(power, floor):
    return 10 * np.log10(np.maximum(power, floor))
