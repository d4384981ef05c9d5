"""Power over time and frequency.

In: recordings (n, channels, times). Out: samples of order 3, (n, channels, frequencies,
times), each computed from one recording alone.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy import signal
from sklearn.utils import Bunch

from tensorcrp.base.types import Fields
from tensorcrp.signals._epochs import stacked


def spectrogram_tensor(
    X: ArrayLike,
    fs: float,
    *,
    window_length: int | None = None,
    overlap: float = 0.5,
    fmin: float = 0.0,
    fmax: float | None = None,
    log: bool = True,
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
        Decibels instead of power, with a floor 120 dB below a sample's largest.

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
    n_times = X.shape[2]
    if window_length is None:
        window_length = min(max(n_times // 8, 8), n_times)
    if not (2 <= window_length <= n_times and 0 <= overlap < 1):
        raise ValueError(
            f"window_length={window_length} must be 2 to {n_times}, the times of an "
            f"epoch, and overlap={overlap} at least 0 and less than 1."
        )
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
        data=_decibels(power) if log else power,
        frequencies=frequencies[keep],
        times=times,
        mode_names=("channel", "frequency", "time"),
    )


def _decibels(power):
    """Each sample has a floor of its own: it does not depend on its neighbours."""
    floor = 1e-12 * power.max(axis=(1, 2, 3), keepdims=True)
    return 10 * np.log10(np.maximum(power, floor + np.finfo(power.dtype).tiny))
