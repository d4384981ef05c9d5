"""Smoothing as a step before any method, its width chosen like a ridge.

In: training samples (n, l_1, ..., l_N) with codes, and a `Method`. Out: a `Method`
whose settings are pairs of a width and a setting of that method. Samples are filtered
by a Gaussian of that width (in slices; 0 for no filter) along their ordered modes:
time, space, wavelength. Which modes are ordered is read from the training samples.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from scipy.ndimage import gaussian_filter1d

from tensorcrp.base.types import Array, Floats
from tensorcrp.experiments.registry import Method
from tensorcrp.model_selection.ordering import ALIKE, SHORTEST

WIDTHS = (0.0, 0.7, 1.4)
SMOOTH = ", smooth"  # after the name of a method


def ordered_modes(X: Floats, y: Array) -> list[int]:
    """Modes whose neighbouring slices are alike, within classes.

    Of the within-class scatter S of a mode, the squared difference of two slices in
    units of their size is ``(s_ii + s_jj - 2 s_ij) / (s_ii + s_jj)``. A mode is ordered
    if its mean over neighbours is less than `ALIKE` times its mean over all pairs, and
    if it has at least `SHORTEST` slices.

    Parameters
    ----------
    X : ndarray of shape (n, l_1, ..., l_N)
    y : ndarray of shape (n,)
        Codes 0 to c - 1, each at least once.

    Returns
    -------
    list of int
        Modes, the first being 0.
    """
    means = np.stack([X[y == code].mean(axis=0) for code in np.unique(y)])
    rest = X - means[np.unique(y, return_inverse=True)[1]]
    return [
        mode
        for mode, size in enumerate(X.shape[1:])
        if size >= SHORTEST and _unlikeness(rest, mode) < ALIKE
    ]


def _unlikeness(rest, mode):
    """Difference of neighbouring slices over that of any two slices."""
    rows = np.moveaxis(rest, mode + 1, 0).reshape(rest.shape[mode + 1], -1)
    S = rows @ rows.T
    total = np.add.outer(np.diag(S), np.diag(S))
    gap = np.divide(total - 2 * S, total, out=np.zeros_like(S), where=total > 0)
    everywhere = gap[~np.eye(len(S), dtype=bool)].mean()
    return np.diag(gap, 1).mean() / everywhere if everywhere > 0 else 1.0


def smooth(X: Floats, modes: list[int], width: float) -> Floats:
    """Samples filtered by a Gaussian along some modes; X itself if there is no filter.

    Beyond its ends a sample goes on as it ends.
    """
    for mode in modes if width > 0 else []:
        X = gaussian_filter1d(X, width, axis=mode + 1, mode="nearest")
    return X


@dataclass(frozen=True)
class Filtered:
    """A fitted model that gets samples after the filter."""

    model: Any
    modes: list[int]
    width: float

    def transform(self, X: Floats) -> Floats:
        """Features of filtered samples."""
        return self.model.transform(smooth(X, self.modes, self.width))


@dataclass(frozen=True)
class FilteredClassifier:
    """The same for a classifier."""

    model: Any
    modes: list[int]
    width: float

    def predict(self, X: Floats) -> Array:
        """Codes of filtered samples."""
        return self.model.predict(smooth(X, self.modes, self.width))


def smoothed(how: Method) -> Method:
    """A method with the width of a filter among its settings."""
    settings = tuple((width, each) for width in WIDTHS for each in how.settings)
    words = f"width, {how.parameter}" if how.parameter else "width"
    fit = partial(_fit, how.fit)
    return replace(how, fit=fit, parameter=words, settings=settings, ties="middle")


def _fit(fit, X, y, settings, n_features, folds):
    """Filter once per width, fit all its settings."""
    modes, by_width = ordered_modes(X, y), defaultdict(list)
    for width, setting in settings:
        by_width[width].append(setting)
    models = []
    for width, some in by_width.items():
        fitted = fit(smooth(X, modes, width), y, tuple(some), n_features, folds)
        features = hasattr(fitted[0], "transform")
        kind = Filtered if features else FilteredClassifier
        models += [kind(model, modes, width) for model in fitted]
    return models
