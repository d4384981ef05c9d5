"""Scores of one fold of a search, for every point of its grid.

In: samples ``X`` (n, l_1, ..., l_N) with labels, training and test samples of a fold,
grids of ranks k, ridges and numbers of components h.
Out: the score of a classifier of the features for every point, h running fastest.

All ranks and ridges are one run of the solver, in lanes, and components are nested. At
full rank, where nothing but inner products counts, samples that are fewer than their
entries are replaced by n coordinates each, once for all folds.
"""

from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, product
from math import prod

import numpy as np
from sklearn.base import clone

from tensorcrp.base.estimator import flat_features
from tensorcrp.base.fitting import statistics
from tensorcrp.base.memory import memory_limit
from tensorcrp.base.threads import SMALL_PASSES, bounded_threads
from tensorcrp.solver.cp import sign_of_largest, working_dtype
from tensorcrp.solver.path import fit_path, is_full
from tensorcrp.storage.sources import Source, map_samples

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

        Ties are common with few samples. A point whose next smaller and next larger
        ridge score well too is less likely to be best by chance, so the mean of the
        three decides, then the order of the points.
        """
        order = np.argsort(self.regs, kind="stable")
        table = np.reshape(scores, (len(self.ranks), len(order), len(self.sizes)))
        table = table[:, order]
        edges = np.pad(table, ((0, 0), (1, 1), (0, 0)), constant_values=np.nan)
        three = np.stack([edges[:, :-2], table, edges[:, 2:]])
        known = np.maximum(1, (~np.isnan(three)).sum(axis=0))
        around = np.nansum(three, axis=0) / known
        around = around[:, np.argsort(order)].ravel()
        ties = np.flatnonzero(scores >= np.nanmax(scores) - TIE)  # NaN is none of them
        return int(ties[np.argmax(around[ties])])


@dataclass(frozen=True)
class Coordinates:
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

    def regs(self, spec):
        """Ridges relative to the mean square of one of P entries, not of n."""
        if self.basis is None or spec.reg_scale == "absolute":
            return spec.regs
        return np.multiply(spec.regs, len(self.X) / len(self.basis))

    def features(self, rows):
        """Features (n, h) of all samples for projections (h, P or n)."""
        function = partial(_in_blocks, rows)
        dtype = working_dtype(self.X)
        features = np.asarray(map_samples(function, self.X, dtype, len(rows)))
        if self.basis is not None:  # the sign is that of the largest of P entries
            features = features * sign_of_largest(rows @ self.basis.T, axis=1).T
        return features


def seen_by_ranks(spec, X, folds, max_memory):
    """What each rank is fitted to: at full rank the samples' coordinates.

    As long as there is something left to separate, projections are sums of training
    samples; only then the other entries do not count.
    """
    plain, fewest = Coordinates(X), min(len(np.unique(train)) for train, _ in folds)
    shape = X.shape[1:]
    full = [is_full(rank, shape) for rank in spec.ranks]
    few = len(X) < prod(shape) and 2 * spec.n_components <= fewest
    if not (any(full) and few and _has_room(X, max_memory)):
        return [plain] * len(full)
    vectors = Coordinates.of_vectors(X)
    return [vectors if each else plain for each in full]


def _has_room(X, max_memory):
    """Whether there is memory for three copies in float64."""
    wanted = 3 * 8 * prod(X.shape)
    return not isinstance(X, Source) and wanted <= memory_limit(max_memory, wanted)


def score_fold(spec, seen, classifier, y, fold, sizes, max_memory):
    """Scores of all ranks, ridges and sizes for one fold, sizes running fastest."""
    train, test = fold
    # The statistics skip what has no weight: no copy of the fold. A sample that comes
    # several times counts as often.
    weight = np.bincount(train, minlength=len(y)).astype(float)
    scores = []
    with bounded_threads(seen[0].X.nbytes, SMALL_PASSES):
        for features in _features(spec, seen, y, weight, max_memory):
            for size in sizes:
                some = features[:, :size]
                model = clone(classifier).fit(some[train], y[train])
                scores.append(model.score(some[test], y[test]))
    return scores


def _features(spec, seen, y, weight, max_memory):
    """Features (n, h) of all samples, for each ridge of each rank in turn."""
    least = min(spec.regs) if spec.reg_scale == "relative" else 0.0
    found = [None] * len(seen)
    for view in {id(view): view for view in seen}.values():
        ranks = [i for i, each in enumerate(seen) if each is view]
        scatter = statistics(view.X, y, weight, max_memory, least)
        some = tuple(spec.ranks[i] if view.basis is None else "full" for i in ranks)
        models = fit_path(scatter, replace(spec, ranks=some, regs=view.regs(spec)))
        for i, part in zip(ranks, _in_parts(models, len(ranks)), strict=True):
            rows = np.concatenate([model.projections for model in part])
            found[i] = np.split(view.features(rows), len(part), axis=1)
    return chain(*found)


def _in_parts(models, count):
    """Models rank by rank."""
    size = len(models) // count
    return [models[i : i + size] for i in range(0, len(models), size)]


def _in_blocks(projections, X):
    """Features in blocks of samples, so that other types are not converted at once."""
    steps = range(0, len(X), 256)
    return np.concatenate([flat_features(projections, X[i : i + 256]) for i in steps])
