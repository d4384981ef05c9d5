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
from joblib import Parallel, delayed, effective_n_jobs
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
from tensorcrp.base.types import Floats
from tensorcrp.files.predictions import scores_of
from tensorcrp.files.scoring import spread_of
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
    **{"average": 4, "distance": "euclidean"},
}
FEW_FILES = 6  # files of a class
TRIES = 20  # seeds of folds
# Name -> a function that gives an unfitted classifier of the features.
BY_NAME = {
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

    def fit(self, kind, X, y, groups):
        """The pipeline after one kind of motion, fitted to samples."""
        steps = [("motion", Motion(kind, mode=self.mode)), ("crp", self._search())]
        _fit_quietly(steps[1][1], self._folds(y, groups), steps[0][1], X, y, groups)
        return Pipeline(steps)

    def screen(self, kind, X, y, groups):
        """Cross-validated score of one kind of motion, by a quick search."""
        c = len(np.unique(y))  # ridge LDA separates classes in c - 1 directions
        quick = TensorCRPCV(BY_NAME["lda"](), n_components=c - 1, **SCREENING)
        motion = Motion(kind, mode=self.mode)
        _fit_quietly(quick, self._folds(y, groups), motion, X, y, groups)
        return float(quick.best_score_)

    def _folds(self, y, groups):
        return splitter(y, groups, self.cv, self.random_state)

    def _search(self):
        if self.search is not None:
            return clone(self.search).set_params(estimator=clone(self.classifier))
        return TensorCRPCV(
            clone(self.classifier), random_state=self.random_state, **SEARCH
        )


def _fit_quietly(search, folds, motion, X, y, groups):
    with warnings.catch_warnings():  # nobody has asked for these grids
        warnings.simplefilter("ignore", GridEndWarning)
        search.set_params(cv=folds).fit(motion.fit_transform(X), y, groups)


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
    return int(max(2, smallest if smallest < FEW_FILES else min(n, smallest)))


@dataclass(frozen=True)
class Chosen:
    """What was chosen on all samples, and how models of parts of them do.

    Attributes
    ----------
    model : Pipeline
        Fitted to all samples.
    screened : dict
        Score of every kind of motion, NaN if there was one alone.
    scores : ndarray of shape (m, c)
        Of every sample by a model that was chosen without it.
    are_probabilities : bool
        Whether scores are logarithms of probabilities.
    n_folds : int
    spread : float
        How large scores of the model's own training samples are, see `spread_of`.
    spreads : ndarray of shape (m,)
        The same of the model that each sample was held out of.
    """

    model: Any
    screened: dict[str, float]
    scores: Floats
    are_probabilities: bool
    n_folds: int
    spread: float
    spreads: Floats


def chosen_and_held_out(choice, X, y, groups, n_jobs, shown):
    """Choose on all samples, and for every fold again on the others.

    Parameters
    ----------
    choice : Choice
    X : ndarray of shape (m, l_1, ..., l_N)
    y, groups : ndarrays of int, shape (m,)
        Numbers of classes and groups; groups may be None.
    n_jobs : int or None
        Number of processes.
    shown : bool
        Show a progress bar on a terminal: a step is one search, quick or final.

    Returns
    -------
    Chosen
    """
    splits = splitter(y, groups, choice.cv, choice.random_state)
    folds = [f for f in splits.split(np.zeros(len(y)), y, groups) if len(f[1])]
    parts = [*folds, (slice(None), None)]
    n_steps = len(parts) * (1 + (len(choice.motions) > 1) * len(choice.motions))
    with Parallel(n_jobs=n_jobs) as pool:
        steps = _steps(choice, X, y, groups, parts, pool)
        done = [
            step
            for step in progress(steps, "choosing", shown, n_steps, "search")
            if step is not None
        ]
    scores, spreads = np.zeros((len(y), int(y.max()) + 1)), np.ones(len(y))
    for (_, test), (_, (values, spread, _)) in zip(folds, done, strict=False):
        scores[test], spreads[test] = values, spread
    are_probabilities = all(shares for _, (*_, shares) in done[:-1])
    if not are_probabilities:  # logarithms of these may be -inf
        known = np.isfinite(scores)
        scores[~known] = scores[known].min() - 1.0
    screened, (model, spread) = done[-1]
    sizes = spread, spreads
    return Chosen(model, screened, scores, are_probabilities, len(folds), *sizes)


def _steps(choice, X, y, groups, parts, pool):
    """None after a screening; after a final search (screened, its outcome)."""
    several = choice.motions if len(choice.motions) > 1 else ()
    screened = [dict.fromkeys(choice.motions, np.nan) for _ in parts]
    places = [(i, kind) for i in range(len(parts)) for kind in several]
    jobs = [delayed(_screened)(choice, k, X, y, groups, *parts[i]) for i, k in places]
    for (i, kind), score in zip(places, _in_turn(jobs, pool), strict=True):
        screened[i][kind] = score
        yield None
    best = [max(scores, key=scores.get) for scores in screened]
    jobs = [
        delayed(_outcome)(choice, kind, X, y, groups, *part)
        for kind, part in zip(best, parts, strict=True)
    ]
    yield from zip(screened, _in_turn(jobs, pool), strict=True)


def _in_turn(jobs, pool):
    """Results as they come: joblib 1.2 gives those of one call all at once."""
    n = effective_n_jobs(pool.n_jobs)
    for start in range(0, len(jobs), n):
        yield from pool(jobs[start : start + n])


def _part(X, y, groups, train):
    """Samples, class numbers from 0 on, groups, and the classes that are there."""
    known, codes = np.unique(y[train], return_inverse=True)
    inside = None if groups is None else groups[train]
    return np.asarray(X[train]), codes, inside, known


def _screened(choice, kind, X, y, groups, train, test):
    return choice.screen(kind, *_part(X, y, groups, train)[:3])


def _outcome(choice, kind, X, y, groups, train, test):
    """The fitted pipeline, or what it says of the test samples if there are any.

    That is -inf for classes without training samples. With it the spread of what the
    pipeline says of its training samples.
    """
    *samples, known = _part(X, y, groups, train)
    model = choice.fit(kind, *samples)
    spread = spread_of(scores_of(model, samples[0])[0])
    if test is None:
        return model, spread
    values, probabilities = scores_of(model, np.asarray(X[test]))
    scores = np.full((len(test), int(y.max()) + 1), -np.inf)
    scores[:, known] = values
    return scores, spread, probabilities
