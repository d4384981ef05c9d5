"""Classifiers on features: 1-nearest neighbour, and a linear SVM.

In: features (n, h) and codes (n,) of training samples, features of others.
Out: predicted codes, or right answers for every C. The SVM is LIBSVM's with a linear
kernel. Its C is chosen in one of two ways. By folds of the training samples, together
with the settings of a method (`svm_right`, `middle_of_best`): features of samples that
the method has not seen. As the paper says (`tune_svm`): by tenfold cross-validation on
the features of all training samples, whose labels the method has seen; with fewer folds
where a class has fewer samples, and on at most `MOST` samples where there are more.
"""

from dataclasses import dataclass

import numpy as np
from sklearn import config_context
from sklearn.model_selection import StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier, NearestCentroid
from sklearn.svm import SVC

COMPARED = ("1-NN", "SVM")
CENTROID = "centroid"  # nearest class mean: in published protocols alone
OWN = "own"  # the predictions of a method that gives features and predictions
COSTS = (1.0, 10.0, 100.0, 1000.0)
FOLDS, MOST = 10, 500
# Of LIBSVM's solver. Useless features with a large C would take millions.
SVM_STEPS = 20_000
MOST_IN_FOLDS = 1000  # training samples of an SVM in the folds that choose settings
MOST_IN_GRAM = 2000  # training samples whose inner products are made at once
# Checks of scikit-learn take longer than many small fits.
TRUSTED = {"assume_finite": True, "skip_parameter_validation": True}


def one_nearest(features, y, others):
    """1-NN by Euclidean distance."""
    return KNeighborsClassifier(1, algorithm="brute").fit(features, y).predict(others)


def nearest_mean(features, y, others):
    """The class whose mean is nearest."""
    return NearestCentroid().fit(features, y).predict(others)


def svm_right(features, y, others, truth):
    """Right answers of the SVM for each of `COSTS`, from Gram matrices they share.

    Of more than `MOST_IN_FOLDS` training samples, about as many are used.
    """
    ids = _subset(y, 1, MOST_IN_FOLDS)
    features, y = features[ids], y[ids]
    unit = _unit(features)
    scaled = features / unit
    inner, outer = scaled @ scaled.T, (others / unit) @ scaled.T
    return _right(inner, y, outer, truth, COSTS)


def middle_of_best(counts):
    """Index of the largest count; of several, the one in the middle (lower of two).

    With few samples many values of C are equal. The smallest is next to no SVM, the
    largest next to no regularisation.
    """
    best = np.flatnonzero(np.asarray(counts) == np.max(counts))
    return int(best[(len(best) - 1) // 2])


def _right(inner, y, outer, truth, costs):
    """Right answers (costs,) for rising C."""
    right, done = [], False
    with config_context(**TRUSTED):
        for C in costs:
            if not done:
                svc = SVC(C=C, kernel="precomputed", max_iter=SVM_STEPS).fit(inner, y)
                count, done = int((svc.predict(outer) == truth).sum()), is_free(svc)
            right.append(count)
    return np.array(right)


def is_free(svc):
    """Whether a fitted SVM is that of every larger C: no multiplier is at its bound.

    A solver that ran out of steps is not.
    """
    finished = np.max(svc.n_iter_) < SVM_STEPS
    return bool(finished and np.abs(svc.dual_coef_).max(initial=0.0) < svc.C)


@dataclass(frozen=True)
class Tuning:
    """How C was found."""

    C: float
    folds: int
    samples: int


def tune_svm(features, y):
    """C as the paper has it; of several that are best, the smallest."""
    smallest = np.unique(y, return_counts=True)[1].min()
    folds = min(FOLDS, int(smallest))
    if folds < 2:
        return Tuning(COSTS[0], 0, len(y))
    ids = _subset(y, folds, MOST)
    scaled = features[ids] / _unit(features)
    gram, labels = scaled @ scaled.T, y[ids]
    right = np.zeros(len(COSTS), int)
    for train, test in _folds(labels, folds):
        inner = np.ascontiguousarray(gram[np.ix_(train, train)])
        outer = gram[np.ix_(test, train)]
        right += _right(inner, labels[train], outer, labels[test], COSTS)
    return Tuning(COSTS[int(np.argmax(right))], folds, len(ids))


def svm(features, y, others, C):
    """Linear SVM on features in units of their root mean square norm."""
    return svms(features, y, others, [C])[C]


def svms(features, y, others, costs):
    """The same for several C: a dictionary of C -> predicted codes."""
    unit, guesses, svc = _unit(features), {}, None
    mine, others, how = features / unit, others / unit, {"kernel": "linear"}
    if len(y) <= MOST_IN_GRAM:
        mine, others = mine @ mine.T, others @ mine.T
        how = {"kernel": "precomputed"}
    for C in sorted(set(costs)):
        if svc is None or not is_free(svc):
            svc = SVC(C=C, cache_size=500, max_iter=SVM_STEPS, **how)
            with config_context(**TRUSTED):
                guess = svc.fit(mine, y).predict(others)
        guesses[C] = guess
    return guesses


def _unit(features):
    mean = np.vdot(features, features) / len(features)
    return np.sqrt(mean) if mean > 0 else 1.0


def _subset(y, least, most):
    """All samples, or about `most`, every class in its share (at least `least`)."""
    if len(y) <= most:
        return np.arange(len(y))
    rng, chosen = np.random.default_rng(0), []
    for label in np.unique(y):
        ids = rng.permutation(np.flatnonzero(y == label))
        chosen.append(ids[: max(least, round(most * len(ids) / len(y)))])
    return np.sort(np.concatenate(chosen))


def _folds(labels, folds):
    splitter = StratifiedKFold(folds, shuffle=True, random_state=0)
    return splitter.split(np.zeros(len(labels)), labels)
