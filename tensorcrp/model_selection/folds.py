"""Models of the folds of a search.

In: samples ``X`` (n, l_1, ..., l_N) with labels, weights of the samples of every fold,
lanes of a grid. Out: for every fold and lane a model, its features and projections.

All lanes of all folds are one run of the solver if they are small. At full rank, where
nothing but inner products counts, samples that are fewer than their entries are
replaced by n coordinates each, once for all folds.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import product
from math import prod
from typing import Any

import numpy as np

from tensorcrp.base.estimator import flat_features
from tensorcrp.base.fitting import statistics
from tensorcrp.base.namespace import host, spans
from tensorcrp.base.resources import bounded_threads, memory_limit
from tensorcrp.solver.cp import mode_products, sign_of_largest, working_dtype
from tensorcrp.solver.full_rank import is_full
from tensorcrp.solver.metric import Euclidean
from tensorcrp.solver.model import Model
from tensorcrp.solver.path import Spec, fit_paths
from tensorcrp.storage.sources import map_samples, source_of

# One object: lanes of the same metric share the statistics of their rows.
PLAIN = Euclidean()


@dataclass(frozen=True)
class Coordinates:
    """Samples as they are, or as coordinates (n, n) of vectors.

    The rows of `basis` (n, P) turn projections in these coordinates into raw ones.
    """

    X: Any
    basis: Any = None

    @classmethod
    def of_vectors(cls, X, metric):
        """Of fewer samples than entries: the same inner products in n numbers."""
        shape, roots = X.shape[1:], metric.roots(X.shape[1:])
        X = mode_products(X.astype(float, copy=False), roots)
        flat = X.reshape(len(X), -1)
        with bounded_threads(flat.nbytes):
            basis, coordinates = np.linalg.qr(flat.T)
            basis = mode_products(basis.T.reshape(-1, *shape), roots)
        return cls(coordinates.T, basis.reshape(len(X), -1))

    def lane(self, lane, spec):
        """How the solver is asked for a lane (metric, rank, reg) of these samples."""
        if self.basis is None:
            return lane
        n, P = self.basis.shape
        # Ridges are relative to the mean square of one of P entries, not of n.
        share = n / P if spec.reg_scale == "relative" else 1.0
        return PLAIN, "full", lane[2] * share

    def projections(self, model):
        """Projections (h, P) of raw samples."""
        if self.basis is None:
            return model.projections
        rows = model.projections @ self.basis
        return rows * sign_of_largest(rows, axis=1)

    def features(self, model):
        """Features (n, h) of all samples."""
        if self.basis is None:
            return features_of(self.X, model.projections)
        # The sign is that of the largest of P entries.
        signs = sign_of_largest(model.projections @ self.basis, axis=1).T
        return features_of(self.X, model.projections) * signs


def features_of(X, projections):
    """Features (n, h) of samples, in memory or not, for projections (h, P)."""
    function = partial(_in_blocks, projections)
    dtype = working_dtype(X)
    return np.asarray(map_samples(function, X, dtype, len(projections)))


@dataclass(frozen=True)
class FoldModel:
    """A model of a fold, and in which coordinates of a `Search` it was found.

    Attributes
    ----------
    model : Model
    vectors : int or None
        Number of the metric whose vectors it was fitted to; None for the samples.
    """

    model: Model
    vectors: int | None


@dataclass(frozen=True)
class Search:
    """What all folds share.

    Attributes
    ----------
    X : ndarray or Source
        Samples (n, l_1, ..., l_N).
    y : ndarray of shape (n,)
        Labels.
    weight : ndarray of shape (n,)
        Weight of each sample.
    spec : Spec
        How the solver works.
    metrics : list of Metric
        One per smoothness of the grid.
    fewest : int
        Training samples with weight in the smallest fold.
    max_memory : float or None
    """

    X: Any
    y: np.ndarray
    weight: np.ndarray
    spec: Spec
    metrics: list
    fewest: int
    max_memory: float | None

    @cached_property
    def plain(self):
        """The samples as they are."""
        return Coordinates(self.X)

    @cached_property
    def vectors(self):
        """Coordinates of the samples for full rank, one per metric."""
        return [Coordinates.of_vectors(self.X, metric) for metric in self.metrics]

    def coordinates(self, vectors):
        """What a `FoldModel` was fitted to."""
        return self.plain if vectors is None else self.vectors[vectors]

    def _vectors_of(self, lane, n_components):
        """Number of the metric if a lane is fitted to its vectors, else None.

        As long as there is something left to separate, projections are sums of training
        samples; only then the other entries do not count.
        """
        (number, rank, _), shape = lane, self.X.shape[1:]
        few = len(self.X) < prod(shape) and 2 * n_components <= self.fewest
        fits = is_full(rank, shape) and few and _has_room(self.X, self.max_memory)
        return number if fits else None

    def models(self, lanes, weights, n_components):
        """A `FoldModel` of every lane (number, rank, reg), for each of weights (n,).

        Lanes that look at samples, and those that look at vectors, are a run of the
        solver each.
        """
        keys = [self._vectors_of(lane, n_components) for lane in lanes]
        found = [[None] * len(lanes) for _ in weights]
        spec = replace(self.spec, n_components=n_components)
        for kind in (True, False):
            views = list(dict.fromkeys(k for k in keys if (k is None) is kind))
            places = list(product(range(len(weights)), views))
            asked = [self._asked(lanes, keys, weights[f], key) for f, key in places]
            models = fit_paths(asked, spec) if asked else []
            for (fold, key), some in zip(places, models, strict=True):
                which = [i for i, each in enumerate(keys) if each == key]
                for i, model in zip(which, some, strict=True):
                    found[fold][i] = FoldModel(model, key)
        return found

    def _asked(self, lanes, keys, weight, key):
        """What the solver is asked for: statistics, and lanes of the same view."""
        view = self.coordinates(key)
        some = [lane for lane, each in zip(lanes, keys, strict=True) if each == key]
        least = self._least(some)
        scatter = statistics(view.X, self.y, weight, self.max_memory, least)
        asked = [(self.metrics[number], rank, reg) for number, rank, reg in some]
        return scatter, [view.lane(each, self.spec) for each in asked]

    def _least(self, lanes):
        """The smallest ridge that is added to the scatter for sure."""
        plain = all(metric.is_plain for metric in self.metrics)
        relative = self.spec.reg_scale == "relative"
        return min(reg for _, _, reg in lanes) if plain and relative else 0.0

    def features(self, found, signed=True):
        """Features (n, h) of all samples by a `FoldModel`.

        If `signed` is false, their signs are anything: distances do not see them.
        """
        view = self.coordinates(found.vectors)
        if not signed and isinstance(self.X, np.ndarray):
            return found.model.unsigned_features(view.X)
        return view.features(found.model)

    def projections(self, found):
        """Projections (h, P) of raw samples by a `FoldModel`."""
        return self.coordinates(found.vectors).projections(found.model)


def _has_room(X, max_memory):
    """Whether there is memory for three copies in float64."""
    wanted = 3 * 8 * prod(X.shape)
    return source_of(X).in_memory and wanted <= memory_limit(max_memory, wanted)


def _in_blocks(projections, X):
    """Features on the host, in blocks: other types are not converted at once."""
    parts = (X[part, ...] for part in spans(X.shape[0], 256))
    return np.concatenate([host(flat_features(projections, part)) for part in parts])
