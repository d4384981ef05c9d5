"""Windows of one long recording, and which of them belong together.

In: a recording (channels, times), a label per time if there are any. Out: windows
(n, channels, length) with their labels, their starts, and groups such that windows of
different groups share no time: what a cross-validation must not tear apart.
"""

from __future__ import annotations

from numbers import Integral
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from tensorcrp.base.targets import missing_labels
from tensorcrp.base.types import Array, Integers
from tensorcrp.base.validation import is_recording


class Windows(NamedTuple):
    """What `window` returns.

    Parameters
    ----------
    data : ndarray of shape (n, channels, length)
        The windows.
    target : ndarray of shape (n,) or None
        Their labels; None without labels.
    starts : ndarray of shape (n,)
        Index of the first time of each window.
    groups : ndarray of shape (n,)
        Windows of different groups share no time.

    Examples
    --------
    >>> import numpy as np
    >>> from tensorcrp.signals import window
    >>> cut = window(np.zeros((2, 10)), 4, 2, block=5)
    >>> cut.starts, cut.groups
    (array([0, 6]), array([0, 1]))
    """

    data: Array
    target: Array | None
    starts: Integers
    groups: Integers


def window(
    recording: ArrayLike,
    length: int,
    step: int | None = None,
    *,
    labels: ArrayLike | None = None,
    block: int | None = None,
) -> Windows:
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
        Label of every time. Windows in which it changes, or is missing at any time
        (None, NaN, NaT or pandas.NA), are dropped.
    block : int, default=None
        Times in a block of the recording. The windows of a block are one group, and
        windows across the border of two blocks are dropped. None for groups of windows
        that overlap, directly or through others: with overlapping windows every
        stretch of one label.

    Returns
    -------
    Windows
        ``data`` (n, channels, length), ``target`` (n,) or None, ``starts`` (n,) and
        ``groups`` (n,). Pass the groups to a splitter such as ``GroupKFold``, so that
        no time is in both the training and the test windows. If no window is dropped,
        ``data`` is a read-only view of the recording: overlapping windows take no
        memory.

    Examples
    --------
    >>> import numpy as np
    >>> from tensorcrp.signals import window
    >>> recording = np.arange(20.0).reshape(2, 10)
    >>> window(recording, 4, 3).data.shape
    (3, 2, 4)
    >>> cut = window(recording, 3, 1, labels=[0] * 5 + [1] * 5)
    >>> cut.data.shape, cut.target.tolist(), cut.starts.tolist()
    ((6, 2, 3), [0, 0, 0, 1, 1, 1], [0, 1, 2, 5, 6, 7])
    >>> cut.groups.tolist()
    [0, 0, 0, 1, 1, 1]
    """
    if is_recording(recording):
        raise TypeError(
            f"recording is of MNE's type {type(recording).__name__}; pass "
            'recording.copy().pick("data", exclude="bads").get_data(), without '
            "channels that are bad or hold the labels."
        )
    for name, value in {"length": length, "step": step, "block": block}.items():
        if value is not None and not isinstance(value, Integral):
            raise TypeError(
                f"{name}={value!r} must be an integer: times are counted in samples, "
                "e.g. round(0.5 * fs)."
            )
    recording = np.asarray(recording)
    _check_recording(recording, length, step, block)
    step = length if step is None else step
    starts = np.arange(0, recording.shape[1] - length + 1, step)
    keep = np.ones(len(starts), bool)
    if block is not None:
        keep &= starts // block == (starts + length - 1) // block
    if labels is not None:
        labels = _checked_labels(labels, recording)
        keep &= _of_one_label(labels, length, step)
    data = _views(recording, length, step).swapaxes(0, 1)
    starts = starts[keep]
    return Windows(
        data if keep.all() else data[keep],
        None if labels is None else _of_one_type(labels[starts]),
        starts,
        _chains(starts, length) if block is None else _numbered(starts // block),
    )


def _check_recording(recording, length, step, block):
    if recording.ndim != 2:
        raise ValueError(
            f"recording has shape {recording.shape}; pass (channels, times)."
        )
    n_times = recording.shape[1]
    if not (1 <= length <= n_times and (step is None or step >= 1)):
        raise ValueError(
            f"length={length} must be 1 to {n_times}, the times of the recording, and "
            f"step={step} at least 1."
        )
    if block is not None and block < length:
        raise ValueError(
            f"block={block} is shorter than a window of length={length}: no window "
            "lies within a block. Use longer blocks."
        )


def _checked_labels(labels, recording):
    labels = np.asarray(labels)
    if labels.shape != recording.shape[1:]:
        raise ValueError(
            f"labels have shape {labels.shape}; one per time, {recording.shape[1:]}, "
            "is needed."
        )
    return labels


def _of_one_label(labels, length, step):
    """Which windows have the same label at every time, and one that is not missing."""
    missing = missing_labels(labels)
    if labels.dtype.kind == "O":  # whether pandas.NA equals itself is not known
        labels = np.where(missing, 0, labels)
    inside, gaps = (_views(each, length, step) for each in (labels, missing))
    return (inside == inside[:, :1]).all(axis=1) & ~gaps.any(axis=1)


def _of_one_type(labels):
    """Objects, as gaps make them of labels, as numbers or texts if they are alike."""
    plain = labels.dtype.kind == "O" and len(set(map(type, labels))) == 1
    plain = plain and isinstance(labels[0], (str, int, float, np.generic))
    return np.array(labels.tolist()) if plain else labels


def _views(values, length, step):
    """Windows (..., n, length) along the last axis, as a view."""
    views = np.lib.stride_tricks.sliding_window_view(values, length, axis=-1)
    return views[..., ::step, :]


def _chains(starts, length):
    """Numbers of the runs of windows that overlap: (n,)."""
    return np.cumsum(np.diff(starts, prepend=starts[:1]) >= length)


def _numbered(values):
    """The same groups, numbered from 0 without gaps."""
    return np.unique(values, return_inverse=True)[1]
