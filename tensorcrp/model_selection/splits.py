"""Training and test samples of every fold, checked.

In: a number of folds, a splitter or pairs of indices, samples ``X`` (n, l_1, ..., l_N),
labels, groups and weights (n,). Out: pairs of indices that a model can be fitted to and
scored on, or an error that names the repair.
"""

from __future__ import annotations

from numbers import Integral

import numpy as np
from sklearn.model_selection import StratifiedGroupKFold, check_cv

from tensorcrp.base.parameters import check_integer
from tensorcrp.base.targets import missing_labels
from tensorcrp.base.validation import TooFewSamples
from tensorcrp.storage.sources import source_of


def folds_of(cv, X, y, groups, weight=None):
    """Pairs of training and test samples, as indices.

    Parameters
    ----------
    cv : int, splitter or iterable
        An integer is lowered to the size of the smallest class, in samples or groups,
        but not below 2.
    X : ndarray or Source
    y : ndarray of shape (n,)
    groups : array-like of shape (n,) or None
        An integer `cv` keeps them together, too.
    weight : ndarray of shape (n,), default=None
        Samples without weight are in no fold of an integer. Folds of others whose test
        samples have no weight say nothing, and are left out.
    """
    given = cv
    if isinstance(cv, Integral):
        check_integer("cv", cv, least=2)
        known = np.arange(len(y)) if weight is None else np.flatnonzero(weight)
        cv = _by_number(cv, y, groups, known)
    # Of samples elsewhere a splitter sees how many there are.
    seen = X if source_of(X).in_memory else np.zeros(len(y))
    splits = check_cv(cv, y, classifier=True).split(seen, y, groups)
    folds = [tuple(np.arange(len(y))[part] for part in fold) for fold in splits]
    _check_folds(folds, y, given)
    if weight is None:
        return folds
    folds = _with_weight(folds, weight)
    known = [(train[weight[train] > 0], test) for train, test in folds]
    _check_folds(known, y, given, " with weight")
    return folds


def _by_number(n, y, groups, known):
    """At most n folds of the samples that are known, groups together."""
    if groups is not None:
        groups = _checked_groups(groups, y, known)
    y = y[known]
    cv = _stratified(n, y) if groups is None else _grouped(n, y, groups)
    splits = check_cv(cv, y, classifier=True).split(known, y, groups)
    return [(known[train], known[test]) for train, test in splits]


def _stratified(n, y):
    """At most n folds, no more than the smallest class has samples."""
    counts = np.unique(y, return_counts=True)[1]
    if counts.max() < 2:
        raise TooFewSamples(
            "every class has one sample, and cross-validation needs one to train and "
            "one to test. Pass more samples, or fit a TensorCRP with fixed parameters."
        )
    return max(2, min(n, counts.min()))


def _grouped(n, y, groups):
    """At most n folds that keep groups together, no more than a class has groups."""
    counts = [len(np.unique(groups[y == each])) for each in np.unique(y)]
    return StratifiedGroupKFold(max(2, min(n, *counts)))


def _checked_groups(groups, y, known):
    """Groups of the samples that are known, of which there are two or more."""
    groups = np.asarray(groups)
    alike = groups.shape == y.shape
    gone = known[missing_labels(groups[known])] if alike else ()
    if len(gone):
        raise ValueError(
            f"groups has no value for {len(gone)} of {len(y)} samples, first for "
            f"number {gone[0]}, counted from 0: fill them in, or leave these out."
        )
    values = np.unique(groups[known] if alike else groups)
    if not alike or len(values) < 2:
        raise ValueError(
            f"groups has the shape {groups.shape} and {len(values)} "
            f"different values: it needs one entry for each of the {len(y)} samples, "
            "and two values at least."
        )
    return groups[known]


def _with_weight(folds, weight):
    """Those of the folds that have weight to score with."""
    known = [fold for fold in folds if weight[fold[1]].any()]
    if not known:
        raise ValueError("no test sample of any fold has weight: pass others as cv.")
    return known


def fewest_of(folds, weight):
    """Training samples with weight in the smallest of the folds."""
    return min(np.count_nonzero(weight[np.unique(train)]) for train, _ in folds)


def _check_folds(folds, y, cv, which=""):
    """Reject folds that cannot be fitted to."""
    if not folds:
        raise ValueError(
            f"cv={cv!r} gives no folds. A generator gives its folds once: "
            "pass a list of them, or a splitter such as KFold."
        )
    for train, test in folds:
        if not len(test):
            raise ValueError(
                "a fold has no test samples: leave it out of the folds passed as cv."
            )
        classes, counts = np.unique(y[train], return_counts=True)
        if len(classes) < 2 or counts.max() < 2:
            raise TooFewSamples(
                f"the classes of a training fold have {counts.tolist()} samples"
                f"{which}: each fold needs two classes, one of them with two samples. "
                "Pass more samples or other folds as cv."
            )
