"""Epochs as samples, with the names and values of their modes.

In: MNE's epochs in time, in frequency or in both, or arrays (n, channels, times). Out:
samples channel x time, channel x frequency, or channel x frequency x time.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import Bunch

from tensorcrp.base.parameters import check_choice
from tensorcrp.base.types import Array, Fields
from tensorcrp.base.validation import is_recording, reject_recordings

PLURAL = {"channel": "channels", "frequency": "frequencies", "time": "times"}
SHOWN = 5  # names in a message
KEEP_ALL = ("data", "all")  # of an array, whose channels have no types


def epochs_to_tensor(
    epochs: Any,
    y: ArrayLike | None = None,
    *,
    picks: Any = "data",
    tmin: float | None = None,
    tmax: float | None = None,
    fs: float | None = None,
    missing: Literal["raise", "keep"] = "raise",
    scale: None = None,
) -> Fields:
    """Epochs as samples channel x time, or channel x frequency x time.

    Parameters
    ----------
    epochs : mne.Epochs or array-like of shape (n, channels, times)
        MNE's ``Epochs``, ``EpochsTFR`` or ``EpochsSpectrum``, which bring labels
        (``events``), names, frequencies and times with them; or an array, or a list of
        arrays of one shape.
    y : array-like of shape (n,), default=None
        Labels; they replace those of MNE's objects. None leaves arrays without labels.
    picks : str, list or slice, default="data"
        Channels of MNE's objects, as their method ``pick`` takes them: "data" for all
        data channels, hence without stimulus, EOG and other auxiliary channels, a type
        such as "eeg", or names; None is "data". Channels marked as bad are left out
        unless they are named. Of arrays all channels are kept.
    tmin, tmax : float, default=None
        Keep the times from `tmin` to `tmax`, both included, in seconds.
    fs : float, default=None
        Samples per second of arrays; None counts time in samples. MNE's objects know
        it.
    missing : {"raise", "keep"}, default="raise"
        What to do with NaN: an error that names channels and epochs, or leave it to a
        `ChannelImputer`.
    scale : None, default=None
        Removed in version 0.3: other values are an error that names `ChannelScaler`.

    Returns
    -------
    Bunch
        ``data`` (n, channels, times), (n, channels, frequencies, times) or (n,
        channels, frequencies), ``target`` (n,) or None (codes of MNE's events),
        ``target_names`` (in the order of ``numpy.unique(target)``), ``mode_names``,
        ``mode_values`` (names of the channels, then frequencies in hertz and times in
        seconds), ``channel_names``, ``frequencies`` and ``times`` (None if there is no
        such mode), ``info`` (MNE's, of the picked channels; None for arrays) and
        ``DESCR``.

    See Also
    --------
    ChannelScaler : Puts channels in different units on one scale.
    ChannelImputer : Fills missing channels.
    window : Cuts one long recording into windows.

    Examples
    --------
    >>> import numpy as np
    >>> from tensorcrp.signals import epochs_to_tensor
    >>> X = np.random.default_rng(0).standard_normal((10, 4, 200))
    >>> tensor = epochs_to_tensor(X, [0, 1] * 5, fs=100.0, tmin=0.5, tmax=1.0)
    >>> tensor.data.shape, tensor.times[[0, -1]].tolist()
    ((10, 4, 51), [0.5, 1.0])
    """
    check_choice("missing", missing, ("raise", "keep"))
    if scale is not None:
        raise TypeError(
            f"scale={scale!r} was removed because it looked at test epochs; put a "
            "tensorcrp.signals.ChannelScaler before the model, in a pipeline."
        )
    if is_recording(epochs):
        found = _from_mne(epochs, picks, fs)
    else:
        found = _from_array(epochs, picks, fs)
    labels, names = found.labels, found.names
    if y is not None:
        labels, names = np.asarray(y), None
    if labels is not None and labels.shape != (len(found.data),):
        raise ValueError(f"y has shape {labels.shape} for {len(found.data)} epochs.")
    if names is None and labels is not None:
        names = [str(label) for label in np.unique(labels)]
    values = dict(found.values)
    if "time" in values:
        keep = _between(values["time"], tmin, tmax)
        found = found._replace(data=found.data[..., keep])
        values["time"] = values["time"][keep]
    elif tmin is not None or tmax is not None:
        raise ValueError("tmin and tmax are for epochs with a mode of time.")
    _check_channels(found.data, values["channel"], missing)
    return _bunch(found, labels, names, values)


def _bunch(found, labels, names, values):
    size = " x ".join(f"{len(each)} {PLURAL[mode]}" for mode, each in values.items())
    return Bunch(
        data=found.data,
        target=labels,
        target_names=names,
        mode_names=tuple(values),
        mode_values=tuple(values.values()),
        channel_names=list(values["channel"]),
        frequencies=values.get("frequency"),
        times=values.get("time"),
        info=found.info,
        DESCR=f"{len(found.data)} epochs of {size}.",
    )


class _Found(NamedTuple):
    """What epochs know: samples, and what their modes are."""

    data: Array
    values: dict
    labels: Array | None = None
    names: list | None = None
    info: Any = None


def _from_array(epochs, picks, fs):
    X = stacked(epochs)
    if picks is not None and not (isinstance(picks, str) and picks in KEEP_ALL):
        raise ValueError(
            f"picks={picks!r} is for MNE's objects, and all channels of an array are "
            "kept. Index it instead, e.g. X[:, [0, 1]]."
        )
    times = np.arange(X.shape[2]) / (1.0 if fs is None else fs)
    channels = [f"channel {c}" for c in range(X.shape[1])]
    return _Found(X, {"channel": channels, "time": times})


CUT = (
    "Cut a Raw by mne.Epochs(raw, events, ...) or mne.make_fixed_length_epochs(raw, "
    'duration), or pass raw.copy().pick("data", exclude="bads").get_data() to '
    "tensorcrp.signals.window"
)


def _from_mne(epochs, picks, fs):
    """What MNE's epochs know, by their public attributes."""
    if not hasattr(epochs, "event_id"):
        raise TypeError(
            f"{type(epochs).__name__} has no epochs. {CUT}; an average (Evoked, "
            "AverageTFR) is one sample: pass the epochs that it was computed from."
        )
    if fs is not None:
        raise ValueError(f"fs={fs!r} is for arrays; MNE's epochs know their times.")
    info = _picked_info(epochs.info, picks)
    spectral = hasattr(epochs, "freqs")
    how = {"exclude": ()} if spectral else {}  # named channels may be bad ones
    X = np.asarray(epochs.get_data(picks=info.ch_names, **how))
    values = {"channel": list(info.ch_names)}
    if spectral:
        values["frequency"] = np.asarray(epochs.freqs)
    if hasattr(epochs, "times"):
        values["time"] = np.asarray(epochs.times)
    wanted = tuple(len(each) for each in values.values())
    if X.shape[1:] != wanted or X.dtype.kind not in "biuf":
        raise ValueError(
            f"epochs have {X.dtype} data of shape {X.shape}; real numbers of shape "
            f"{(len(X), *wanted)} are needed: compute power, averaged over tapers."
        )
    return _Found(X, values, *_labels(epochs), info)


def _picked_info(info, picks):
    """MNE's information on the channels that `picks` means, without bad ones."""
    import mne

    nothing = mne.EvokedArray(np.zeros((len(info["ch_names"]), 1)), info, verbose=False)
    try:
        picks = "data" if picks is None else picks
        return nothing.pick(picks, exclude="bads", verbose=False).info
    except ValueError as error:
        bads = f"; bad ones: {_few(info['bads'])}" if info["bads"] else ""
        raise ValueError(
            f"picks={picks!r} leaves no channel of {_few(info['ch_names'])}{bads}. "
            f"MNE says: {error}."
        ) from error


def _labels(epochs):
    """Codes (n,) of the events, and names in their order; None without events."""
    if epochs.events is None:
        return None, None
    codes = np.asarray(epochs.events)[:, 2]
    by_code = {code: name for name, code in (epochs.event_id or {}).items()}
    return codes, [by_code.get(code, str(code)) for code in np.unique(codes)]


def stacked(epochs):
    """Arrays of one shape as numbers (n, channels, times), or an error."""
    reject_recordings("epochs", epochs)
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


def _check_channels(X, names, missing):
    """Reject infinity, and NaN unless it is kept; name channels and epochs."""
    if X.dtype.kind != "f":
        return
    is_bad = np.isinf if missing == "keep" else _is_not_finite
    bad = np.array([is_bad(x).reshape(len(x), -1).any(axis=1) for x in X])
    if not bad.any():
        return
    channels = [names[c] for c in np.flatnonzero(bad.any(axis=0))]
    epochs = np.flatnonzero(bad.any(axis=1)).tolist()
    raise ValueError(
        f"NaN or infinity in channels {_few(channels)} of epochs {_few(epochs)}. Mark "
        "the channels as bad, interpolate them (epochs.interpolate_bads), leave these "
        'channels or epochs out, or pass missing="keep" and fill NaN by ChannelImputer.'
    )


def _is_not_finite(x):
    return ~np.isfinite(x)


def _few(values):
    more = len(values) - SHOWN
    return f"{values[:SHOWN]}" + (f" and {more} more" if more > 0 else "")
