"""Scores of one fold of a search, for every point of its grid.

In: samples ``X`` (n, l_1, ..., l_N) with labels, training and test samples of a fold,
grids of ranks k, ridges and numbers of components h.
Out: the score of a classifier of the features for every point, h running fastest.

All ranks and ridges are one run of the solver, in lanes, and components are nested. At
full rank, where nothing but inner products counts, samples that are fewer than their
entries are replaced by n coordinates each, once for all folds.
"""

from dataclasses import dataclass
from functools import partial
from itertools import chain, product
from math import prod

import numpy as np
from sklearn.base import clone

from tensorcrp._algebra import sign_of_largest, working_dtype
from tensorcrp._estimator import flat_features
from tensorcrp._fitting import statistics
from tensorcrp._memory import memory_limit
from tensorcrp._sources import Source, map_samples
from tensorcrp._threads import SMALL_PASSES, bounded_threads

TIE = 1e-12  # means of the same scores in another order differ by rounding


@dataclass(frozen=True)
class Grid:
    """Values to try; its points are all combinations."""

    ranks: list
    regs: list
    sizes: list

    def points(self):
        """Parameters in the order of the scores: rank, then reg, then size."""
        names = ("rank", "reg", "n_components")
        values = product(self.ranks, self.regs, self.sizes)
        return [dict(zip(names, point, strict=True)) for point in values]

    def best(self, scores):
        """Index of the best of the points' mean scores.

        Few samples make many points share it. Among these, one whose next smaller and
        next larger ridge do well too is less likely to be there by chance than a lone
        one: the mean of the three decides, then the order of the points.
        """
        order = np.argsort(self.regs, kind="stable")
        table = np.reshape(scores, (len(self.ranks), len(order), len(self.sizes)))
        table = table[:, order]
        edges = np.pad(table, ((0, 0), (1, 1), (0, 0)), constant_values=np.nan)
        around = np.nanmean([edges[:, :-2], table, edges[:, 2:]], axis=0)
        around = around[:, np.argsort(order)].ravel()
        return int(np.argmax(np.where(scores >= scores.max() - TIE, around, -np.inf)))


@dataclass(frozen=True)
class View:
    """Samples as they are, or as coordinates (n, n) in a basis (P, n) of vectors."""

    X: np.ndarray
    basis: np.ndarray = None

    @classmethod
    def of_vectors(cls, X):
        """Of fewer samples than entries: the same inner products in n numbers."""
        flat = X.reshape(len(X), -1).astype(float, copy=False)
        with bounded_threads(flat.nbytes):
            basis, coordinates = np.linalg.qr(flat.T)
        return cls(coordinates.T, basis)

    def regs(self, crp, regs):
        """Ridges relative to the mean square of one of P entries, not of n."""
        if self.basis is None or crp.reg_scale == "absolute":
            return regs
        return np.multiply(regs, len(self.X) / len(self.basis))

    def features(self, rows):
        """Features (n, h) of all samples for projections (h, P or n)."""
        function = partial(_in_blocks, rows)
        dtype = working_dtype(self.X)
        features = np.asarray(map_samples(function, self.X, dtype, len(rows)))
        if self.basis is not None:  # the sign is that of the largest of P entries
            features = features * sign_of_largest(rows @ self.basis.T, axis=1).T
        return features


def views_of(models, X, folds):
    """What each model is fitted to: at full rank the samples' coordinates.

    As long as there is something left to separate, projections are sums of training
    samples; only then the other entries do not count.
    """
    views, plain = [], View(X)
    fewest = min(len(np.unique(train)) for train, _ in folds)
    for crp in models:
        crp.sample_shape_ = X.shape[1:]
        small = len(X) < prod(X.shape[1:]) and 2 * crp.n_components <= fewest
        if crp._is_full() and small and _has_room(X, crp.max_memory):
            full = [view for view in views if view.basis is not None]
            views.append(full[0] if full else View.of_vectors(X))
        else:
            views.append(plain)
    return views


def _has_room(X, max_memory):
    """Whether there is memory for three copies in float64."""
    wanted = 3 * 8 * prod(X.shape)
    return not isinstance(X, Source) and wanted <= memory_limit(max_memory, wanted)


def score_fold(models, views, judge, y, fold, grid):
    """Scores of all ranks, ridges and sizes for one fold, sizes running fastest."""
    train, test = fold
    weight = np.zeros(len(y))
    weight[train] = 1.0  # the statistics skip the others: no copy of the fold
    scores = []
    with bounded_threads(views[0].X.nbytes, SMALL_PASSES):
        for features in _features(models, views, y, weight, grid.regs):
            for size in grid.sizes:
                some = features[:, :size]
                model = clone(judge).fit(some[train], y[train])
                scores.append(model.score(some[test], y[test]))
    return scores


def _features(models, views, y, weight, regs):
    """Features (n, h) of all samples, for each ridge of each model in turn."""
    least = min(regs) if models[0].reg_scale == "relative" else 0.0
    found = [None] * len(models)
    for view in {id(view): view for view in views}.values():
        scatter = statistics(view.X, y, weight, models[0].max_memory, least)
        for group in _groups(models, [each is view for each in views], view.X.shape):
            paths = _paths([models[i] for i in group], scatter, regs, view)
            for i, features in zip(group, paths, strict=True):
                found[i] = features
    return chain(*found)


def _groups(models, here, shape):
    """Numbers of the models that are fitted together: all that are not of full rank."""
    numbers = np.flatnonzero(here)
    for i in numbers:
        models[i].sample_shape_ = shape[1:]
    full = [i for i in numbers if models[i]._is_full()]
    finite = [i for i in numbers if i not in full]
    return [group for group in (finite, *([i] for i in full)) if group]


def _paths(models, scatter, regs, view):
    """For each model the features (n, h) for each ridge, from one run of the solver."""
    first = models[0]
    ranks = None if first._is_full() else [crp.rank for crp in models]
    results = first._path(scatter, view.regs(first, regs), ranks)
    rows = [
        crp._take(*result, scatter.classes).projections_
        for crp, result in zip(np.repeat(models, len(regs)), results, strict=True)
    ]
    for part in np.split(np.arange(len(rows)), len(models)):
        features = view.features(np.concatenate([rows[i] for i in part]))
        yield np.split(features, len(regs), axis=1)


def _in_blocks(projections, X):
    """Features in blocks of samples: other types are converted bit by bit."""
    steps = range(0, len(X), 256)
    return np.concatenate([flat_features(projections, X[i : i + 256]) for i in steps])
