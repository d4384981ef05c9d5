"""The work of a search: scores of points on folds, a race, the choice of a classifier.

In: what all folds share (`Search`), a grid, folds and options. Out: scores (folds,
points), the models that were scored, and the distance and classifier with the best
score on averaged features.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import pairwise, product
from math import ceil
from typing import Any

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from sklearn.metrics import check_scoring

from tensorcrp.base.parameters import check_choice, check_flag, check_values
from tensorcrp.base.progress import progress
from tensorcrp.model_selection.distances import DISTANCES
from tensorcrp.model_selection.fold_scores import (
    Scored,
    nearest_neighbour,
    score_folds,
)

# A race: on so many folds, with so many of the numbers of components (None: all), the
# lanes that are left are scored; then this share of all lanes goes on.
ROUNDS = ((2, 1, 1 / 3), (2, None, 0.0))
LEAST_LANES = 6  # that go on, or as many as points are averaged


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
    least_lanes : int
        Number of lanes that see all folds in a race, at least.
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
    least_lanes: int
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

    def bundles(self, folds):
        """Folds that a process scores together: as many bundles as processes."""
        processes = max(1, min(len(folds), effective_n_jobs(self.n_jobs)))
        ends = np.linspace(0, len(folds), processes + 1).astype(int)
        return [folds[first:last] for first, last in pairwise(ends)]

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
    seen : ndarray of int, shape (points,)
        Number of folds that each point saw: the first ones.
    models : list of dict
        Per fold, a `FoldModel` of every lane that saw all folds.
    """
    scored = Scores(search, grid, folds, options)
    alive, longest = np.arange(len(grid.lanes())), len(grid.sizes)
    is_race = options.race and len(folds) > max(n for n, _, _ in ROUNDS)
    for n_folds, n_sizes, share in ROUNDS if is_race else ():
        count = max(options.least_lanes, ceil(share * len(grid.lanes())))
        if count >= len(alive):
            continue
        scored.add(alive, n_folds, min(n_sizes or longest, longest))
        means = scored.table[:n_folds].mean(axis=0)
        alive = grid.survivors(means, alive, count)
        longest = longest if n_sizes else _sizes_worth_it(means[alive])
    scored.add(alive, len(folds), longest)
    lanes = [scored.lanes[i] for i in alive]
    models = [{lane: kept[lane] for lane in lanes} for kept in scored.models]
    return scored.table.reshape(len(folds), -1), scored.seen.ravel(), models


class Scores:
    """Scores of lanes on folds as far as they are known, and the models.

    Attributes
    ----------
    table : ndarray of shape (folds, lanes, sizes)
        NaN where nothing is known.
    seen : ndarray of int, shape (lanes, sizes)
        Number of folds, the first ones, of which something is known.
    models : list of dict
        Per fold, a `FoldModel` of every lane.
    """

    def __init__(self, search, grid, folds, options):
        self.search, self.folds, self.options = search, folds, options
        self.lanes, self.sizes = grid.lanes(), grid.sizes
        self.seen = np.zeros((len(self.lanes), len(self.sizes)), int)
        self.table = np.full((len(folds), *self.seen.shape), np.nan)
        self.models = [{} for _ in folds]

    def add(self, some, n_folds, n_sizes):
        """Score some lanes on the first folds, with the first numbers of components.

        A lane that is known with fewer components is fitted again, with all.
        """
        first, options = self.seen[some[0], n_sizes - 1], self.options
        few = [self.lanes[i] for i in some]
        score = partial(score_folds, self.search, few, self.sizes[:n_sizes])
        score = partial(score, options.score(), not options.is_nearest)
        bundles = options.bundles(self.folds[first:n_folds])
        shown = progress(bundles, "TensorCRPCV", options.shown)
        each = Parallel(n_jobs=options.n_jobs)(delayed(score)(f) for f in shown)
        new = [fold for bundle in each for fold in bundle]
        for number, (scores, models) in enumerate(new, first):
            self.table[number, some, :n_sizes] = scores
            self.models[number].update(zip(few, models, strict=True))
        self.seen[some, :n_sizes] = n_folds


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
