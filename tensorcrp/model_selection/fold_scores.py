"""Scores of models of a fold.

In: samples of a search, lanes of a grid, training and test samples of folds. Out: for
every fold and lane the scores of a classifier on the features, and the models.

Components are nested: the features of one model are those of all smaller numbers.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from tensorcrp.base.resources import SMALL_PASSES, bounded_threads
from tensorcrp.base.shrinkage import white_root
from tensorcrp.model_selection.distances import nearest, white_alike


def score_folds(search, lanes, sizes, score, signed, folds):
    """Scores (lanes, sizes) of folds, and for each a `FoldModel` of every lane.

    Parameters
    ----------
    search : Search
    lanes : list of (number of a metric, rank, reg)
    sizes : list of int
        Numbers of components.
    score : callable
        ``score(parts, size)``, see `nearest_neighbour` and `Scored`.
    signed : bool
        Whether the signs of features count.
    folds : list of pairs of ndarray of int, or None
        Training and test samples. Small ones are solved together. None is a fit to all
        samples, which leaves none to be scored: its scores are None.
    """
    weights = [_weights(search, fold) for fold in folds]
    with bounded_threads(search.X.nbytes, SMALL_PASSES):
        together = search.models(lanes, weights, sizes[-1])
        return [
            _scored_fold(search, models, sizes, score, signed, fold)
            for fold, models in zip(folds, together, strict=True)
        ]


def _weights(search, fold):
    """Weights (n,) of the training samples: the statistics skip what has none.

    No copy of the fold. A sample that comes several times counts as often.
    """
    if fold is None:
        return search.weight
    return search.weight * np.bincount(fold[0], minlength=len(search.y))


def _scored_fold(search, models, sizes, score, signed, fold):
    """Scores (lanes, sizes) of the models of a fold, and the models."""
    if fold is None:
        return None, models
    scores, kept = [], []
    for found in models:
        features = search.features(found, signed)
        parts = Parts(features, search.y, search.weight, *fold)
        scores.append([score(parts, size) for size in sizes])
        # Without what it has computed for features: those arrays are large.
        kept.append(replace(found, model=replace(found.model)))
    return np.array(scores), kept


class Parts:
    """Features of the training and test samples of a fold, with labels.

    Attributes
    ----------
    train, test : ndarray of shape (n, h) and (m, h)
    y_train, y_test : ndarray of labels
    w_train, w_test : ndarray of weights
    scatter : ndarray of shape (h, h)
        Within-class scatter of the training features.
    freedom : float
        Number of training samples less number of classes.
    """

    def __init__(self, features, y, weight, train, test):
        train = train[weight[train] > 0]  # a classifier may not know weights
        self.train, self.test = features[train], features[test]
        self.y_train, self.y_test = y[train], y[test]
        self.w_train, self.w_test = weight[train], weight[test]
        self.scatter, self.freedom = within_scatter(
            self.train, self.y_train, self.w_train
        )

    def cut(self, size):
        """Training and test features of the first components, and their scatter."""
        return self.train[:, :size], self.test[:, :size], self.scatter[:size, :size]

    def features(self, size, white):
        """The same as features of `TensorCRP` have them."""
        train, test, scatter = self.cut(size)
        if not white:
            return train, test
        root = white_root(scatter, self.freedom).astype(train.dtype)
        return train @ root, test @ root


def within_scatter(features, y, weight):
    """Within-class scatter (h, h) of features (n, h), and its degrees of freedom."""
    classes, codes = np.unique(y, return_inverse=True)
    member = np.eye(len(classes))[codes] * weight[:, None]
    counts = member.sum(axis=0)  # zero for a class without weight
    means = (member.T @ features) / np.maximum(counts, np.finfo(float).tiny)[:, None]
    rest = (features - means[codes]) * np.sqrt(weight)[:, None]
    return rest.T @ rest, weight.sum() - np.count_nonzero(counts)


def nearest_neighbour(parts, size, white):
    """Accuracy of the label of the nearest training sample."""
    train, test, scatter = parts.cut(size)
    if white:
        train, test = white_alike(scatter, parts.freedom, train, test)
    hits = parts.y_train[nearest(train, test)] == parts.y_test
    return float(np.average(hits, weights=parts.w_test))


@dataclass(frozen=True)
class Scored:
    """Score of any classifier on the features of a fold."""

    classifier: Any
    scorer: Any
    white: bool

    def __call__(self, parts, size):
        """Score for the first `size` components."""
        train, test = parts.features(size, self.white)
        model = fitted(self.classifier, train, parts.y_train, parts.w_train)
        return scored(self.scorer, model, test, parts.y_test, parts.w_test)


def scored(scorer, model, features, y, weight):
    """Score of a fitted classifier, with weights if they differ; NaN if infinite."""
    more = {"sample_weight": weight} if np.ptp(weight) > 0 else {}
    with bounded_threads(0):  # as in `fitted`
        score = float(scorer(model, features, y, **more))
    return score if np.isfinite(score) else np.nan


def fitted(classifier, features, y, weight):
    """A clone fitted to features, with weights if they differ and it takes them.

    Samples without weight are left out, whatever it takes.
    """
    known = weight > 0
    features, y, weight = features[known], y[known], weight[known]
    weighted = np.ptp(weight) > 0 and has_fit_parameter(classifier, "sample_weight")
    more = {"sample_weight": weight} if weighted else {}
    # Neighbours limit the threads of BLAS as well, and give back the number that they
    # found. Inside our limit that is one, whatever fits of other threads do meanwhile.
    with bounded_threads(0):
        return clone(classifier).fit(features, y, **more)
