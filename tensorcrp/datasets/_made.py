"""Synthetic data with known truth: planted CP discriminants, oscillations.

In: sizes and a seed. Out: samples (n, l_1, ..., l_N) and labels, with the factors or
spatial patterns that were planted.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, overload

import numpy as np
from scipy.linalg import helmert
from sklearn.utils import check_random_state

from tensorcrp.base.parameters import check_choice, check_integer
from tensorcrp.base.types import XY, Dataset, RandomState
from tensorcrp.datasets._bunch import as_bunch, balanced_labels, hand_out


@overload
def make_tensor_classification(
    shape: Sequence[int] = ...,
    n_classes: int = ...,
    rank: int = ...,
    *,
    n_samples: int = ...,
    separation: float = ...,
    random_state: RandomState = ...,
    return_X_y: Literal[True],
) -> XY: ...
@overload
def make_tensor_classification(
    shape: Sequence[int] = ...,
    n_classes: int = ...,
    rank: int = ...,
    *,
    n_samples: int = ...,
    separation: float = ...,
    random_state: RandomState = ...,
    return_X_y: Literal[False] = ...,
) -> Dataset: ...
def make_tensor_classification(
    shape: Sequence[int] = (16, 16),
    n_classes: int = 3,
    rank: int = 2,
    *,
    n_samples: int = 120,
    separation: float = 4.0,
    random_state: RandomState = None,
    return_X_y: bool = False,
) -> Dataset | XY:
    """Classes whose means differ along tensors of a given CP rank only.

    With c classes there are c - 1 planted tensors ``W_p`` of norm one and rank k. The
    class means are the corners of a regular simplex in their span; all else is
    independent normal noise of variance one, so that the span of the ``W_p`` holds all
    information about the classes.

    Parameters
    ----------
    shape : tuple of int, default=(16, 16)
        Shape ``(l_1, ..., l_N)`` of a sample.
    n_classes : int, default=3
        Number of classes c, at least 2.
    rank : int, default=2
        CP rank k of the planted tensors.
    n_samples : int, default=120
        Number of samples, equally many of each class, to within one.
    separation : float, default=4.0
        Distance between two class means, in standard deviations of the noise (exact
        where a mode has room for all (c - 1) k columns at right angles).
    random_state : int, RandomState instance or None, default=None
        Seed of the random numbers.
    return_X_y : bool, default=False
        Return ``(X, y)`` instead of a Bunch.

    Returns
    -------
    Bunch or (X, y)
        Beside the usual fields: ``factors``, one array (c - 1, l_m, k) per mode;
        ``components`` (c - 1, l_1, ..., l_N); ``means`` (c, l_1, ..., l_N).

    Examples
    --------
    >>> from tensorcrp import TensorCRP
    >>> from tensorcrp.datasets import make_tensor_classification
    >>> made = make_tensor_classification((6, 5, 4), 2, rank=1, random_state=0)
    >>> made.data.shape, [factor.shape for factor in made.factors]
    ((120, 6, 5, 4), [(1, 6, 1), (1, 5, 1), (1, 4, 1)])
    >>> crp = TensorCRP(1, rank=1).fit(made.data, made.target)
    >>> bool(abs((crp.components_[0] * made.components[0]).sum()) > 0.9)
    True
    """
    check_integer("n_classes", n_classes, 2)
    check_integer("rank", rank)
    check_integer("n_samples", n_samples, n_classes)
    for m, size in enumerate(shape):
        check_integer(f"shape[{m}]", size)
    rng = check_random_state(random_state)
    factors, components = _planted(tuple(shape), n_classes - 1, rank, rng)
    # Rows of the transposed Helmert matrix have distance sqrt(2) from each other.
    corners = helmert(n_classes).T * (separation / np.sqrt(2))
    means = np.tensordot(corners, components, axes=1)
    y = balanced_labels(n_samples, n_classes, rng)
    X = means[y] + rng.standard_normal((n_samples, *shape))
    DESCR = (
        f"{n_samples} samples of shape {tuple(shape)} in {n_classes} classes that "
        f"differ along {n_classes - 1} planted tensors of CP rank {rank}."
    )
    names = tuple(f"mode {m}" for m in range(len(shape)))
    more = {"factors": factors, "components": components, "means": means}
    return hand_out(as_bunch(X, y, DESCR, mode_names=names, **more), return_X_y)


def _planted(shape, h, k, rng):
    """Factors (h, l_m, k) of h unit tensors, at right angles where a mode has room."""
    factors = []
    for size in shape:
        columns = rng.standard_normal((size, h * k))
        if size >= h * k:
            columns = np.linalg.qr(columns)[0]
        columns = columns / np.linalg.norm(columns, axis=0)
        factors.append(np.ascontiguousarray(columns.reshape(size, h, k).swapaxes(0, 1)))
    dense = [_cp_dense([factor[p] for factor in factors]) for p in range(h)]
    norms = np.array([np.linalg.norm(each) for each in dense])
    factors[0] = factors[0] / norms[:, None, None]
    return factors, np.stack(dense) / norms.reshape(-1, *[1] * len(shape))


def _cp_dense(factors):
    """The tensor (l_1, ..., l_N) of factors (l_m, k)."""
    product = factors[0]
    for factor in factors[1:]:
        product = product[..., None, :] * factor
    return product.sum(axis=-1)


@overload
def make_multichannel(
    n_samples: int = ...,
    n_channels: int = ...,
    n_times: int = ...,
    *,
    n_classes: int = ...,
    fs: float = ...,
    frequency: float | Sequence[float] = ...,
    phase: Literal["locked", "random"] = ...,
    snr_db: float = ...,
    random_state: RandomState = ...,
    return_X_y: Literal[True],
) -> XY: ...
@overload
def make_multichannel(
    n_samples: int = ...,
    n_channels: int = ...,
    n_times: int = ...,
    *,
    n_classes: int = ...,
    fs: float = ...,
    frequency: float | Sequence[float] = ...,
    phase: Literal["locked", "random"] = ...,
    snr_db: float = ...,
    random_state: RandomState = ...,
    return_X_y: Literal[False] = ...,
) -> Dataset: ...
def make_multichannel(
    n_samples: int = 120,
    n_channels: int = 16,
    n_times: int = 128,
    *,
    n_classes: int = 3,
    fs: float = 128.0,
    frequency: float | Sequence[float] = 10.0,
    phase: Literal["locked", "random"] = "locked",
    snr_db: float = -10.0,
    random_state: RandomState = None,
    return_X_y: bool = False,
) -> Dataset | XY:
    """Bursts of an oscillation whose location depends on the class.

    Sensors lie on a disc, seen from above. Every class has its own spatial pattern, a
    bump on the disc, that carries the same burst. Noise is shared between neighbours
    and strongest at low frequencies, as in an EEG.

    Parameters
    ----------
    n_samples : int, default=120
        Number of recordings, equally many of each class, to within one.
    n_channels : int, default=16
        Number of sensors.
    n_times : int, default=128
        Samples in time of a recording.
    n_classes : int, default=3
        Number of classes, each with its own location.
    fs : float, default=128.0
        Samples per second.
    frequency : float or sequence of n_classes floats, default=10.0
        Frequency of the burst in hertz.
    phase : {"locked", "random"}, default="locked"
        With "locked" the burst has the same phase in every sample and survives
        averaging: order 2 can see it. With "random" the class means of the signal
        vanish and only its power is informative: use
        `tensorcrp.signals.spectrogram_tensor`.
    snr_db : float, default=-10.0
        Power of the bursts over that of the noise, both over all samples, channels and
        times, in decibels; ``numpy.inf`` for no noise.
    random_state : int, RandomState instance or None, default=None
        Seed of the random numbers.
    return_X_y : bool, default=False
        Return ``(X, y)`` instead of a Bunch.

    Returns
    -------
    Bunch or (X, y)
        ``data`` is (n_samples, n_channels, n_times). Beside the usual fields:
        ``patterns`` (n_classes, n_channels), ``positions`` (n_channels, 2) on the unit
        disc, ``times`` in seconds, ``fs``, ``frequencies``.

    Examples
    --------
    >>> from tensorcrp.datasets import make_multichannel
    >>> made = make_multichannel(30, n_channels=8, random_state=0)
    >>> made.data.shape, made.mode_names, made.patterns.shape
    ((30, 8, 128), ('channel', 'time'), (3, 8))
    """
    check_integer("n_classes", n_classes, 2)
    check_integer("n_samples", n_samples, n_classes)
    check_integer("n_channels", n_channels)
    check_integer("n_times", n_times, 2)
    check_choice("phase", phase, ("locked", "random"))
    rng = check_random_state(random_state)
    truth = {
        "frequencies": _frequencies(frequency, n_classes, fs),
        "positions": _disc(n_channels),
        "times": np.arange(n_times) / fs,
        "fs": fs,
    }
    truth["patterns"] = _bumps(truth["positions"], n_classes)
    y = balanced_labels(n_samples, n_classes, rng)
    X = _bursts(y, phase == "random", truth, rng)
    noise = _noise(X.shape, truth["positions"], rng)
    X += noise * np.sqrt(np.mean(X**2) / np.mean(noise**2) / 10 ** (snr_db / 10))
    DESCR = (
        f"{n_samples} recordings of {n_channels} channels x {n_times} times at {fs} "
        f"Hz: phase-{phase} bursts in {n_classes} places at {snr_db} dB."
    )
    names = {"mode_names": ("channel", "time")}
    names["target_names"] = [f"place {c}" for c in range(n_classes)]
    return hand_out(as_bunch(X, y, DESCR, **names, **truth), return_X_y)


def _frequencies(frequency, n_classes, fs):
    """One frequency per class, below half the sampling rate."""
    frequencies = np.broadcast_to(np.asarray(frequency, float), n_classes).copy()
    if not (0 < frequencies.min() and frequencies.max() < fs / 2):
        raise ValueError(
            f"frequency={frequency!r} must lie between 0 and fs / 2 = {fs / 2}."
        )
    return frequencies


def _bursts(y, random_phase, truth, rng):
    """Pattern times windowed wave: (n, channels, times)."""
    shift = rng.uniform(0, 2 * np.pi, len(y)) * random_phase
    cycles = truth["frequencies"][y, None] * truth["times"]
    waves = np.sin(2 * np.pi * cycles + shift[:, None]) * np.hanning(cycles.shape[1])
    return truth["patterns"][y][:, :, None] * waves[:, None, :]


def _disc(n):
    """n points spread evenly over the unit disc, like the seeds of a sunflower."""
    i = np.arange(n) + 0.5
    angle, radius = np.pi * (3 - np.sqrt(5)) * i, np.sqrt(i / n)
    return radius[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])


def _bumps(positions, n_classes):
    """One bump of norm one per class, round a circle: (c, channels)."""
    angle = 2 * np.pi * np.arange(n_classes) / n_classes
    centres = 0.6 * np.column_stack([np.cos(angle), np.sin(angle)])
    squares = ((positions - centres[:, None]) ** 2).sum(axis=2)
    bumps = np.exp(-squares / (2 * 0.4**2))
    return bumps / np.linalg.norm(bumps, axis=1, keepdims=True)


def _noise(shape, positions, rng):
    """Normal noise, alike in neighbouring channels, its power falling as 1 / f."""
    spectrum = np.fft.rfft(rng.standard_normal(shape), axis=2)
    spectrum /= np.sqrt(np.arange(1, spectrum.shape[2] + 1))
    noise = np.fft.irfft(spectrum, shape[2], axis=2)
    distances = np.linalg.norm(positions[:, None] - positions, axis=2)
    return np.exp(-distances / 0.5) @ noise
