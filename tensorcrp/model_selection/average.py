"""Averages of models: several points of a grid as one linear map.

In: lanes, and per lane the numbers of components of the members of the average, with
their weights. Out: projections (H, P).

The models are those of the folds, fitted to the training samples of each, and one of
all samples, with equal weights. Those of the folds were scored: block ascent finds
local maxima, and the one that a fit to all samples finds may be a poor one. The last
has seen all samples: with few of them, those that a fold leaves out are missed.

Each member's features are made white within classes if so asked, divided by their
root mean squared distance, and weighted by the root of its weight: the squared distance
of two samples is then the weighted sum of the members' squared distances. Members of
one lane share its projections, so that they are one symmetric matrix: with mixings
``A_j`` it is the root of ``sum_j w_j A_j^T A_j``. Feature p of a lane still belongs to
its projection p.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.metrics import check_scoring

from tensorcrp.base.shrinkage import white_root
from tensorcrp.base.types import Array, Floats
from tensorcrp.model_selection.distances import DistanceFeatures, seen_features
from tensorcrp.model_selection.fold_scores import fitted, scored, within_scatter
from tensorcrp.model_selection.folds import Search, features_of
from tensorcrp.model_selection.grid import Grid


def lane_mixing(
    features: Array,
    y: Array,
    weight: Array,
    members: Sequence[tuple[int, float]],
    white: bool,
) -> Floats:
    """The matrix that turns the features of a lane into those of its members.

    Parameters
    ----------
    features : ndarray of shape (n, h)
        Features of the training samples.
    y : ndarray of shape (n,)
        Labels.
    weight : ndarray of shape (n,)
        Weights of the samples.
    members : list of (number of components, weight)
        Points of this lane.
    white : bool
        Whether features are made white within classes.

    Returns
    -------
    ndarray of shape (g, g)
        Symmetric, for the first g components, as many as the longest member has.
    """
    features = features.astype(float, copy=False)
    scatter, freedom = within_scatter(features, y, weight)
    longest = max(size for size, _ in members)
    total = np.zeros((longest, longest))
    for size, share in members:
        root = white_root(scatter[:size, :size], freedom) if white else np.eye(size)
        part = features[:, :size] @ root
        part -= np.average(part, axis=0, weights=weight)
        spread = 2 * np.average(np.square(part).sum(axis=1), weights=weight)
        total[:size, :size] += share / (spread if spread > 0 else 1.0) * root @ root
    values, vectors = np.linalg.eigh(total)
    return (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T


@dataclass(frozen=True)
class Average:
    """Members of an average, lane by lane.

    Parameters
    ----------
    lanes : list of (number of a metric, rank, reg)
        Lanes that have members.
    members : list of lists of (number of components, weight)
        Those of each lane.
    white : bool
        Whether features are made white within classes.
    """

    lanes: list[tuple[int, Any, float]]
    members: list[list[tuple[int, float]]]
    white: bool

    @classmethod
    def of(cls, grid: Grid, points: Array, weights: Array, white: bool) -> Average:
        """From numbers of points of a grid.

        Parameters
        ----------
        grid : Grid
            The grid of the search.
        points : ndarray of int
            Numbers of the members.
        weights : ndarray of float
            Their weights.
        white : bool
            Whether features are made white within classes.

        Returns
        -------
        Average
            In the order in which lanes turn up.
        """
        lanes, members = grid.lanes(), {}
        for point, weight in zip(points, weights, strict=True):
            lane, which = divmod(int(point), len(grid.sizes))
            members.setdefault(lane, []).append((grid.sizes[which], float(weight)))
        return cls([lanes[i] for i in members], list(members.values()), white)

    def projections(
        self, search: Search, models: Sequence[Any], n_folds: int
    ) -> Floats:
        """Projections (H, P) of raw samples: every fold, then all samples.

        Parameters
        ----------
        search : Search
            Samples and how the solver works.
        models : list of dict
            Per fold, the `FoldModel` of every lane.
        n_folds : int
            Number of folds. If there is one more of the models, it is of all samples.

        Returns
        -------
        ndarray of shape (H, P)
            If that were more than P rows, P rows with the same distances.
        """
        if len(models) == n_folds:
            longest = max(size for each in self.members for size, _ in each)
            (last,) = search.models(self.lanes, [search.weight], longest)
            models = [*models, dict(zip(self.lanes, last, strict=True))]
        rows = np.concatenate([self._rows(search, each) for each in models])
        more = len(rows) > rows.shape[1]
        return np.linalg.qr(rows, mode="r") if more else rows

    def _rows(self, search, models):
        """Projections of the models of a fold, mixed by the features of all samples."""
        longest = [max(size for size, _ in each) for each in self.members]
        found = [search.projections(models[lane]) for lane in self.lanes]
        rows = [each[:h] for each, h in zip(found, longest, strict=True)]
        features = features_of(search.X, np.concatenate(rows))
        parts = np.split(features, np.cumsum(longest)[:-1], axis=1)
        mixings = self._mixings(parts, search, np.arange(len(search.y)))
        pairs = zip(mixings, rows, strict=True)
        return np.concatenate([mixing @ some for mixing, some in pairs])

    def _mixings(self, features, search, train):
        """What turns the features (n, h) of each lane into those of its members."""
        y, weight = search.y[train], search.weight[train]
        return [
            lane_mixing(each[train], y, weight, members, self.white)
            for each, members in zip(features, self.members, strict=True)
        ]

    def scores(self, search, candidates, scoring, folds):
        """Mean scores of (distance, classifier) pairs on averaged features.

        `folds` are pairs of a fold and its models, as in `projections`.
        """
        scorers = [check_scoring(each, scoring) for _, each in candidates]
        each = [self._of_fold(search, candidates, scorers, *pair) for pair in folds]
        return np.mean(each, axis=0)

    def _of_fold(self, search, candidates, scorers, fold, models):
        """Scores of (distance, classifier) pairs on the averaged features of a fold."""
        (train, test), y = fold, search.y
        features = [search.features(models[lane]) for lane in self.lanes]
        mixings = self._mixings(features, search, train)
        pairs = zip(features, mixings, strict=True)
        stack = np.hstack([each[:, : len(mix)] @ mix for each, mix in pairs])
        w_train, w_test = search.weight[train], search.weight[test]
        scores = []
        for (distance, classifier), scorer in zip(candidates, scorers, strict=True):
            seen = DistanceFeatures(distance).fit(stack[train], sample_weight=w_train)
            model = seen_features(seen, stack[train]), y[train], w_train
            model = fitted(classifier, *model)
            some = seen_features(seen, stack[test]), y[test], w_test
            scores.append(scored(scorer, model, *some))
        return scores
