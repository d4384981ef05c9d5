"""Everything that is chosen on training samples, and what to expect of it.

In: samples (m, l_1, ..., l_N), class numbers and groups (m,). Out: a fitted pipeline of
`Motion` and `TensorCRPCV`; and scores of held-out samples, for which all choices were
made without them.

Which motion: a screening with ridge LDA (full rank), three ridges and LDA of the
features, which is quick. Rank, ridge and number of components are then chosen by
`TensorCRPCV`.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier, NearestCentroid
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.utils import check_random_state

from tensorcrp.base.progress import progress
from tensorcrp.files.predictions import scores_of
from tensorcrp.model_selection import GridEndWarning, TensorCRPCV
from tensorcrp.preprocessing import KINDS, Motion

SCREENING = {
    **{"ranks": ("full",), "regs": (0.1, 1.0, 10.0), "smooth": (0.0,)},
    **{"average": 1, "distance": "euclidean"},
}
# A quarter of the usual grid: every choice is made again for each part of the files
# that is held out. Euclidean distances keep a linear classifier's model one matrix.
SEARCH = {
    **{"ranks": (1, 2), "regs": (0.01, 0.1, 1.0, 10.0), "smooth": (0.0, 3.0)},
    **{"average": 10, "distance": "euclidean"},
}
FEW = 6  # files of a class
TRIES = 20  # seeds of folds
# Name -> a function that gives an unfitted classifier of the features.
CLASSIFIERS = {
    "lda": lambda: LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto"),
    "logistic": lambda: _scaled(LogisticRegression(max_iter=1000)),
    "nearest-mean": NearestCentroid,
    "1-nn": lambda: KNeighborsClassifier(1),
    "linear-svm": lambda: _scaled(LinearSVC(random_state=0)),
    "rbf-svm": lambda: _scaled(SVC()),
}


def _scaled(classifier):
    return make_pipeline(StandardScaler(), classifier)


@dataclass(frozen=True)
class Choice:
    """What is to be chosen, and how."""

    classifier: Any
    motions: tuple[str, ...]
    mode: int
    search: Any
    cv: int
    random_state: Any

    def fit(self, X, y, groups):
        """The pipeline fitted to samples; the screening scores of motions."""
        with warnings.catch_warnings():  # nobody has asked for these grids
            warnings.simplefilter("ignore", GridEndWarning)
            return self._fit(X, y, groups)

    def _fit(self, X, y, groups):
        folds = splitter(y, groups, self.cv, self.random_state)
        screened = self._screened(X, y, groups, folds)
        motion = max(screened, key=screened.get)
        search = self._search().set_params(cv=folds)
        steps = [("motion", Motion(motion, mode=self.mode)), ("crp", search)]
        Z = steps[0][1].fit_transform(X)
        search.fit(Z, y, groups)
        return Pipeline(steps), screened

    def _search(self):
        if self.search is not None:
            return clone(self.search).set_params(estimator=clone(self.classifier))
        return TensorCRPCV(
            clone(self.classifier), random_state=self.random_state, **SEARCH
        )

    def _screened(self, X, y, groups, folds):
        """Cross-validated score of each kind of motion, the simplest first."""
        if len(self.motions) == 1:
            return {self.motions[0]: np.nan}
        found = {}
        for kind in self.motions:
            Z = Motion(kind, mode=self.mode).fit_transform(X)
            quick = TensorCRPCV(CLASSIFIERS["lda"](), cv=folds, **SCREENING)
            found[kind] = float(quick.fit(Z, y, groups).best_score_)
        return found


def motions(motion, kind, shape, mode):
    """Kinds of motion to choose from."""
    if motion != "auto":
        return (motion,)
    moving = kind == "clips" and shape[mode] > 2
    return tuple(KINDS) if moving else ("none",)


def splitter(y, groups, n, random_state):
    """A splitter of at most n folds that keeps classes even and groups together."""
    if groups is None:
        folds = _n_folds(n, np.bincount(y).min())
        return StratifiedKFold(folds, shuffle=True, random_state=random_state)
    pairs = np.unique(np.column_stack([y, groups]), axis=0)
    folds = _n_folds(n, np.bincount(pairs[:, 0]).min())
    first = check_random_state(random_state).randint(2**16)
    for seed in range(first, first + TRIES):
        found = StratifiedGroupKFold(folds, shuffle=True, random_state=seed)
        if _all_classes_train(found, y, groups):
            return found
    return found


def _all_classes_train(folds, y, groups):
    """Whether every class is among the training samples of every fold.

    Groups of few samples may leave a fold without a class, depending on the seed.
    """
    parts = folds.split(np.zeros(len(y)), y, groups)
    return all(len(np.unique(y[train])) == y.max() + 1 for train, _ in parts)


def _n_folds(n, smallest):
    """As many as asked for; of small classes, one file is left out at a time."""
    return int(max(2, smallest if smallest < FEW else min(n, smallest)))


def held_out_scores(choice, X, y, groups, n_jobs, shown):
    """Scores (m, c) of every sample by a model that was chosen without it.

    Parameters
    ----------
    choice : Choice
    X : ndarray of shape (m, l_1, ..., l_N)
    y, groups : ndarrays of int, shape (m,)
        Numbers of classes and groups; groups may be None.
    n_jobs : int or None
    shown : bool
        Show a progress bar on a terminal.

    Returns
    -------
    scores : ndarray of shape (m, c)
    are_probabilities : bool
        Whether scores are logarithms of probabilities.
    n_folds : int
    """
    splits = splitter(y, groups, choice.cv, choice.random_state)
    folds = [f for f in splits.split(np.zeros(len(y)), y, groups) if len(f[1])]
    parts = Parallel(n_jobs=n_jobs)(
        delayed(_fold_scores)(choice, X, y, groups, *fold)
        for fold in progress(folds, "held-out folds", shown)
    )
    scores = np.zeros((len(y), int(y.max()) + 1))
    for (_, test), (values, _) in zip(folds, parts, strict=True):
        scores[test] = values
    return scores, all(probabilities for _, probabilities in parts), len(folds)


def _fold_scores(choice, X, y, groups, train, test):
    """Scores of the test samples, in the columns of all classes."""
    known, codes = np.unique(y[train], return_inverse=True)
    inside = None if groups is None else groups[train]
    model, _ = choice.fit(np.asarray(X[train]), codes, inside)
    values, probabilities = scores_of(model, np.asarray(X[test]))
    lowest = values.min(initial=0.0) - (1e4 if probabilities else 1.0)
    scores = np.full((len(test), int(y.max()) + 1), lowest)
    scores[:, known] = values
    return scores, probabilities
