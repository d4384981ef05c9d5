"""The work of a search: scores of points on folds, a race, the choice of a classifier.

In: what all folds share (`Search`), a grid, folds and options. Out: scores (folds,
points), the models that were scored, and the distance and classifier with the best
score on averaged features.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.metrics import check_scoring

from tensorcrp.base.parameters import check_choice, check_flag, check_values
from tensorcrp.base.progress import progress
from tensorcrp.model_selection.distances import DISTANCES
from tensorcrp.model_selection.folds import Scored, nearest_neighbour, score_fold

FIRST_FOLDS = 2  # that all lanes see in a race
LEAST_LANES = 6  # that go on


@dataclass(frozen=True)
class Options:
    """How points and candidates are scored; parameters of `TensorCRPCV`.

    Attributes
    ----------
    classifiers : list of classifiers
        The first scores points.
    distances : list of str
    scoring : str, callable or None
    is_nearest : bool
        Whether points are scored by the accuracy of the nearest neighbour.
    white, race : bool
    n_jobs : int or None
    shown : bool
        Whether there is a progress bar.
    """

    classifiers: list[Any]
    distances: list[str]
    scoring: Any
    is_nearest: bool
    white: bool
    race: bool
    n_jobs: int | None
    shown: bool

    def check(self):
        """Reject bad values."""
        check_values("distance", self.distances)
        check_values("estimator", self.classifiers)
        for distance in self.distances:
            check_choice("distance", distance, DISTANCES)
        check_flag("race", self.race)
        check_flag("white", self.white)

    def score(self):
        """How a point is scored on the features of a fold."""
        if self.is_nearest:
            return partial(nearest_neighbour, white=self.white)
        classifier = self.classifiers[0]
        scorer = check_scoring(classifier, self.scoring)
        return Scored(classifier, scorer, self.white)


def one_seed(random_state):
    """One number for every fold: a generator would depend on their order."""
    if isinstance(random_state, np.random.RandomState):
        return random_state.randint(2**31)
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31))
    return random_state


def score_points(search, grid, folds, options):
    """Scores of points on folds, and the models that they belong to.

    Returns
    -------
    scores : ndarray of shape (folds, points)
        NaN in the folds that points did not see in a race.
    models : list of dict
        Per fold, a `FoldModel` of every lane that saw all folds.
    """
    lanes, models = grid.lanes(), []
    table = np.full((len(folds), len(lanes), len(grid.sizes)), np.nan)
    first = FIRST_FOLDS if options.race else len(folds)

    def run(some, n_sizes, part):
        few, sizes = [lanes[i] for i in some], grid.sizes[:n_sizes]
        score = partial(score_fold, search, few, sizes)
        score = partial(score, options.score(), not options.is_nearest)
        shown = progress(folds[part], "TensorCRPCV", options.shown)
        each = Parallel(n_jobs=options.n_jobs)(delayed(score)(f) for f in shown)
        table[part, some, :n_sizes] = np.stack([scores for scores, _ in each])
        models.extend(dict(zip(few, kept, strict=True)) for _, kept in each)

    run(np.arange(len(lanes)), len(grid.sizes), slice(0, first))
    if first < len(folds):
        so_far = table[:first].mean(axis=0)
        some = grid.survivors(so_far, LEAST_LANES)
        alive = {lanes[i] for i in some}
        for kept in models:
            for lane in kept.keys() - alive:
                del kept[lane]
        run(some, _sizes_worth_it(so_far[some]), slice(first, None))
    return table.reshape(len(folds), -1), models


def _sizes_worth_it(scores):
    """How many of the numbers of components go on: up to the largest that is best.

    Parameters
    ----------
    scores : ndarray of shape (lanes, sizes)
        Means over the first folds.
    """
    known = np.nan_to_num(scores, nan=-np.inf)
    return 1 + int(known.argmax(axis=1).max())


def best_candidate(search, average, folds, models, options):
    """Distance and classifier with the best score on averaged features, and a table."""
    candidates = list(product(options.distances, options.classifiers))
    if len(candidates) == 1:
        return *candidates[0], []
    pairs = list(zip(folds, models, strict=True))
    shown = progress(pairs, "classifiers", options.shown)
    scores = average.scores(search, candidates, options.scoring, shown)
    table = [
        {"distance": distance, "estimator": str(each), "score": float(score)}
        for (distance, each), score in zip(candidates, scores, strict=True)
    ]
    best = int(np.argmax(np.nan_to_num(scores, nan=-np.inf)))
    return *candidates[best], table
