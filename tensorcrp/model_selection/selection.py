"""The work of a search: scores of points on folds, a race, the choice of a classifier.

In: what all folds share (`Search`), a grid, folds and options. Out: scores (folds,
points), the models that were scored, and the distance and classifier with the best
score on averaged features.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import chain, pairwise, product
from typing import Any

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from sklearn.base import is_regressor
from sklearn.metrics import check_scoring

from tensorcrp.base.parameters import (
    check_choice,
    check_flag,
    check_jobs,
    check_values,
)
from tensorcrp.base.progress import progress
from tensorcrp.model_selection.distances import DISTANCES
from tensorcrp.model_selection.fold_scores import (
    Scored,
    nearest_neighbour,
    score_folds,
)
from tensorcrp.solver.lane_rows import SMALL_BYTES

FIRST_FOLDS = 2  # that all lanes see in a race, at least
FIRST_SHARE = 0.2  # of the samples that these folds test, at least
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
        Number of lanes that see all folds in a race.
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
        for classifier in self.classifiers:
            _check_classifier(classifier)
        for distance in self.distances:
            check_choice("distance", distance, DISTANCES)
        check_flag("race", self.race)
        check_flag("white", self.white)
        check_jobs("n_jobs", self.n_jobs)

    def bundles(self, folds, nbytes):
        """Folds that are scored together: of small samples, a bundle per process.

        Of others, where nothing is gained, one fold each: the bar moves more often.
        """
        count = max(1, min(len(folds), effective_n_jobs(self.n_jobs)))
        if nbytes * len(folds) > SMALL_BYTES:
            count = len(folds)
        ends = np.linspace(0, len(folds), count + 1).astype(int)
        return [folds[first:last] for first, last in pairwise(ends)]

    def score(self):
        """How a point is scored on the features of a fold."""
        if self.is_nearest:
            return partial(nearest_neighbour, white=self.white)
        classifier = self.classifiers[0]
        scorer = check_scoring(classifier, self.scoring)
        return Scored(classifier, scorer, self.white)


def _check_classifier(classifier):
    """Reject what predicts numbers, or nothing, instead of classes."""
    tagged = hasattr(classifier, "__sklearn_tags__")  # others are taken at their word
    if not hasattr(classifier, "predict") or (tagged and is_regressor(classifier)):
        raise ValueError(
            f"estimator={classifier} is not a classifier; give one, such as "
            "LogisticRegression()."
        )


def one_seed(random_state):
    """One number for every fold: a generator would depend on their order."""
    if isinstance(random_state, np.random.RandomState):
        return random_state.randint(2**31)
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31))
    return random_state


class FoldTable:
    """Scores of lanes with numbers of components, fold after fold.

    Parameters
    ----------
    search : Search
    grid : Grid
    folds : list of pairs of ndarray of int
    options : Options

    Attributes
    ----------
    scores : ndarray of shape (folds, lanes, sizes)
        NaN where a lane with so many components has not been scored.
    seen : ndarray of int, shape (lanes, sizes)
        Number of folds that each has seen: the first ones.
    models : list of dict
        Per fold so far, a `FoldModel` of every lane.
    """

    def __init__(self, search, grid, folds, options):
        self.search, self.grid, self.options = search, grid, options
        self.scores = np.full((len(folds), len(grid.lanes()), len(grid.sizes)), np.nan)
        self.seen, self.models = np.zeros(self.scores.shape[1:], int), []

    def add(self, lanes, n_sizes, folds):
        """Score some lanes on the next folds, with the first numbers of components.

        The last fold may be None, for a fit to all samples that is not scored.
        """
        search, options, few = self.search, self.options, self._named(lanes)
        score = partial(score_folds, search, few, self.grid.sizes[:n_sizes])
        score = partial(score, options.score(), not options.is_nearest)
        bundles = options.bundles(folds, search.X.nbytes)
        shown = progress(bundles, "TensorCRPCV", options.shown)
        each = Parallel(n_jobs=options.n_jobs)(delayed(score)(some) for some in shown)
        for scores, kept in chain.from_iterable(each):
            if scores is not None:
                self.scores[len(self.models), lanes, :n_sizes] = scores
                self.seen[lanes, :n_sizes] += 1
            self.models.append(dict(zip(few, kept, strict=True)))

    def keep(self, lanes):
        """Let go of the models of all other lanes."""
        few = self._named(lanes)
        self.models = [{lane: each[lane] for lane in few} for each in self.models]

    def forget(self, lanes):
        """Begin again with some lanes, from the first fold on."""
        self.scores[:, lanes], self.seen[lanes], self.models = np.nan, 0, []

    def _named(self, lanes):
        """The smoothness, rank and ridge of lanes."""
        every = self.grid.lanes()
        return [every[i] for i in lanes]


def score_points(search, grid, folds, options):
    """Scores of points on folds, and the models that they belong to.

    Returns
    -------
    scores : ndarray of shape (folds, points)
        NaN in the folds that points did not see in a race.
    seen : ndarray of int, shape (points,)
        Number of folds that each point saw: the first ones.
    models : list of dict
        Per fold, a `FoldModel` of every lane that saw all folds; after a race of small
        samples also those of all samples, which then cost next to nothing.
    """
    table, alive = FoldTable(search, grid, folds, options), np.arange(len(grid.lanes()))
    known, rest, longest = search.weight > 0, folds, len(grid.sizes)
    first = _first_folds(folds, known)
    if options.race and first < len(folds) and options.least_lanes < len(alive):
        few = max(1, longest - 1)  # the longest models would take most of the time
        table.add(alive, few, folds[:first])
        so_far = table.scores[:first, :, :few].mean(axis=0)
        alive = grid.survivors(so_far, options.least_lanes)
        best = _best_size(so_far[alive])
        if best == few < longest:  # the longest may be better still
            table.forget(alive)
        else:
            table.keep(alive)
            longest, rest = best, folds[first:]
        small = search.X.nbytes * len(folds) <= SMALL_BYTES
        rest = [*rest, *([None] if small else [])]
    table.add(alive, longest, rest)
    return table.scores.reshape(len(folds), -1), table.seen.ravel(), table.models


def _first_folds(folds, known):
    """How many folds a race begins with: two that leave one out would say nothing.

    Only samples that are `known`, those with weight, are tested.
    """
    tested = np.cumsum([np.count_nonzero(known[test]) for _, test in folds])
    enough = FIRST_SHARE * np.count_nonzero(known)
    return max(FIRST_FOLDS, 1 + int(np.searchsorted(tested, enough)))


def _best_size(scores):
    """How many of the numbers of components there are up to the largest that is best.

    Parameters
    ----------
    scores : ndarray of shape (lanes, sizes)
        Means over the first folds. Lanes without any score do not count; if that is
        all of them, longer ones may have some.
    """
    known = scores[~np.isnan(scores).all(axis=1)]
    if not len(known):
        return scores.shape[1]
    return 1 + int(np.nanargmax(known, axis=1).max())


def best_candidate(search, average, folds, models, options):
    """Distance and classifier with the best score on averaged features, and a table."""
    candidates = list(product(options.distances, options.classifiers))
    if len(candidates) == 1:
        return *candidates[0], []
    pairs = list(zip(folds, models[: len(folds)], strict=True))
    shown = progress(pairs, "classifiers", options.shown)
    scores = average.scores(search, candidates, options.scoring, shown)
    table = [
        {"distance": distance, "estimator": str(each), "score": float(score)}
        for (distance, each), score in zip(candidates, scores, strict=True)
    ]
    best = int(np.argmax(np.nan_to_num(scores, nan=-np.inf)))
    return *candidates[best], table
