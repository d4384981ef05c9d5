"""Multichannel recordings as tensors.

In: epochs (n, channels, times), or one long recording (channels, times). Out: samples
of order 2, channel x time, or of order 3, channel x frequency x time.
"""

from __future__ import annotations

from typing import Any, Literal, overload

import numpy as np
from numpy.typing import ArrayLike
from scipy import signal
from sklearn.utils import Bunch

from tensorcrp.base.types import XY, Array, Fields


def epochs_to_tensor(
    epochs: Any,
    y: ArrayLike | None = None,
    *,
    tmin: float | None = None,
    tmax: float | None = None,
    fs: float | None = None,
    scale: Literal["channel"] | None = None,
) -> Fields:
    """Epochs as samples channel x time.

    Parameters
    ----------
    epochs : mne.Epochs, array-like of shape (n, channels, times), or list of n arrays
        An ``mne.Epochs`` brings its labels (``events``), names and times with it; mne
        itself is not imported. Arrays in a list must have one shape.
    y : array-like of shape (n,), default=None
        Labels; needed for arrays, and replace those of an ``mne.Epochs``.
    tmin, tmax : float, default=None
        Keep the times from `tmin` to `tmax`, both included, in seconds.
    fs : float, default=None
        Samples per second of arrays; None counts time in samples.
    scale : {None, "channel"}, default=None
        "channel" subtracts from each channel of each epoch its mean over time, then
        divides by the channel's standard deviation over all epochs, so that channels
        in different units count alike.

    Returns
    -------
    Bunch
        ``data`` (n, channels, times), ``target`` (n,) or None, ``target_names``,
        ``mode_names``, ``channel_names``, ``times`` and ``DESCR``.

    Examples
    --------
    >>> import numpy as np
    >>> from tensorcrp.signals import epochs_to_tensor
    >>> X = np.random.default_rng(0).standard_normal((10, 4, 200))
    >>> tensor = epochs_to_tensor(X, [0, 1] * 5, fs=100.0, tmin=0.5, tmax=1.0)
    >>> tensor.data.shape, tensor.times[[0, -1]].tolist()
    ((10, 4, 51), [0.5, 1.0])
    """
    if scale not in (None, "channel"):
        raise ValueError(f'scale must be None or "channel", got {scale!r}.')
    if hasattr(epochs, "get_data"):
        X, labels, names, channels, times = _from_mne(epochs)
    else:
        X, labels, names, channels = _stacked(epochs), None, None, None
        times = np.arange(X.shape[2]) / (1.0 if fs is None else fs)
    if y is not None:
        labels, names = np.asarray(y), None
    if labels is not None and labels.shape != (len(X),):
        raise ValueError(f"y has shape {labels.shape} for {len(X)} epochs.")
    if names is None and labels is not None:
        names = [str(label) for label in np.unique(labels)]
    keep = _between(times, tmin, tmax)
    X = X[:, :, keep]
    return Bunch(
        data=_scaled(X) if scale else X,
        target=labels,
        target_names=names,
        mode_names=("channel", "time"),
        channel_names=channels or [f"channel {c}" for c in range(X.shape[1])],
        times=times[keep],
        DESCR=f"{len(X)} epochs of {X.shape[1]} channels x {X.shape[2]} times.",
    )


def _from_mne(epochs):
    """What an ``mne.Epochs`` knows, by its public attributes."""
    codes = np.asarray(epochs.events)[:, 2]
    by_code = {code: name for name, code in epochs.event_id.items()}
    names = [by_code.get(code, str(code)) for code in np.unique(codes)]
    X = np.asarray(epochs.get_data())
    return X, codes, names, list(epochs.ch_names), np.asarray(epochs.times)


def _stacked(epochs):
    try:
        X = np.asarray(epochs)
    except ValueError:
        X = None
    if X is None or X.ndim != 3 or X.dtype.kind not in "biuf":
        found = "arrays of different shapes" if X is None else f"{X.dtype} {X.shape}"
        raise ValueError(
            f"epochs must be numbers of shape (n, channels, times), got {found}. Cut "
            "a long recording (channels, times) by tensorcrp.signals.window."
        )
    return X


def _between(times, tmin, tmax):
    """Times within the limits, a tenth of a sample beyond them included."""
    slack = 0.1 * (times[1] - times[0]) if len(times) > 1 else 0.0
    low = -np.inf if tmin is None else tmin - slack
    high = np.inf if tmax is None else tmax + slack
    keep = np.flatnonzero((times >= low) & (times <= high))
    if not len(keep):
        raise ValueError(
            f"no time lies between tmin={tmin} and tmax={tmax}; times run from "
            f"{times[0]:g} to {times[-1]:g}."
        )
    return slice(keep[0], keep[-1] + 1)  # a slice is a view, not a copy


def _scaled(X):
    X = X - X.mean(axis=2, keepdims=True)
    deviation = X.std(axis=(0, 2), keepdims=True)
    return X / np.where(deviation > 0, deviation, 1.0)


@overload
def window(
    recording: ArrayLike, length: int, step: int | None = ..., *, labels: None = ...
) -> Array: ...
@overload
def window(
    recording: ArrayLike, length: int, step: int | None = ..., *, labels: ArrayLike
) -> XY: ...
def window(
    recording: ArrayLike,
    length: int,
    step: int | None = None,
    *,
    labels: ArrayLike | None = None,
) -> Array | XY:
    """Cut a long recording into windows.

    Parameters
    ----------
    recording : array-like of shape (channels, times)
        One long recording.
    length : int
        Times in a window.
    step : int, default=None
        Times between the starts of successive windows; None for `length`: windows do
        not overlap.
    labels : array-like of shape (times,), default=None
        Label of every time point. Windows in which it changes are dropped.

    Returns
    -------
    X : ndarray of shape (n, channels, length)
        Without labels a read-only view of the recording: overlapping windows take no
        memory.
    y : ndarray of shape (n,)
        Only with `labels`.

    Examples
    --------
    >>> import numpy as np
    >>> from tensorcrp.signals import window
    >>> recording = np.arange(20.0).reshape(2, 10)
    >>> window(recording, 4, 3).shape
    (3, 2, 4)
    >>> X, y = window(recording, 3, 1, labels=[0] * 5 + [1] * 5)
    >>> X.shape, y.tolist()
    ((6, 2, 3), [0, 0, 0, 1, 1, 1])
    """
    recording = np.asarray(recording)
    if recording.ndim != 2:
        raise ValueError(
            f"recording has shape {recording.shape}; pass (channels, times)."
        )
    step = length if step is None else step
    if not (1 <= length <= recording.shape[1] and step >= 1):
        raise ValueError(
            f"length={length} must be 1 to {recording.shape[1]}, the times of the "
            f"recording, and step={step} at least 1."
        )
    X = _windows(recording, length, step).swapaxes(0, 1)
    if labels is None:
        return X
    labels = np.asarray(labels)
    if labels.shape != recording.shape[1:]:
        raise ValueError(
            f"labels have shape {labels.shape}; one per time, "
            f"{recording.shape[1:]}, is needed."
        )
    inside = _windows(labels, length, step)
    pure = (inside == inside[:, :1]).all(axis=1)
    return X[pure], inside[pure, 0]


def _windows(values, length, step):
    """Windows (..., n, length) along the last axis, as a view."""
    views = np.lib.stride_tricks.sliding_window_view(values, length, axis=-1)
    return views[..., ::step, :]


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
    X = _stacked(X)
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
