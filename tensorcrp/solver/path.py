"""Paths: projections for many ridges, ranks and metrics in one run over the data.

In: class statistics (`ClassScatter`) and a `Spec`. Out: per combination h projections
``W = [[U^(1), ..., U^(N)]]`` of CP rank k, found one after the other on data deflated
by the earlier ones; each maximises

    J(W) = sum_i <between_i, W>^2 / (sum_i <within_i, W>^2 + lambda ||W||_F^2),

the paper's objective (4), of which there is the value after every block update.

Nothing here knows labels. Each combination of scatter, metric, rank, ridge and start is
a *lane*; lanes run in lockstep and share each pass over the data. Arrays of lanes have
the lane first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np

from tensorcrp.base.parameters import (
    random_source,
    with_argument,
)
from tensorcrp.base.resources import bounded_threads
from tensorcrp.base.types import (
    Rank,
    RegScale,
    Shape,
)
from tensorcrp.solver.ascent import Ascent, Problem, SmallGain, climb
from tensorcrp.solver.deflation import Found
from tensorcrp.solver.full_rank import Vectors, is_full
from tensorcrp.solver.lane_rows import (
    deflated_rows,
    in_memory,
    is_small,
    of_one_length,
)
from tensorcrp.solver.metric import LaneRoots, Metric
from tensorcrp.solver.model import Model, Result
from tensorcrp.solver.rows import Rows
from tensorcrp.solver.spec import Lane, Spec
from tensorcrp.solver.starts import Starter


class Statistics(Protocol):
    """What `fit_path` looks at in a `ClassScatter`; the objective may ask for more."""

    @property
    def shape(self) -> Shape: ...
    @property
    def within(self) -> Rows: ...
    def ridge(
        self, reg: float, reg_scale: RegScale, metric: Metric | None
    ) -> float: ...


def fit_path(scatter: Statistics, spec: Spec) -> list[Model]:
    """Models for all combinations of metrics, ranks and ridges.

    Parameters
    ----------
    scatter : ClassScatter
        Class statistics. The solver uses their rows, never labels.
    spec : Spec
        What to find, for which combinations, and how.

    Returns
    -------
    list of Model
        In the order of `Spec.lanes`; or ridges fastest, then ranks, then metrics.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from tensorcrp import ClassScatter
    >>> from tensorcrp.solver import Spec, fit_path
    >>> scatter = ClassScatter.from_samples(*load_digits(return_X_y=True))
    >>> spec = Spec(n_components=4, ranks=(1, 2), regs=(0.1, 1.0))
    >>> models = fit_path(scatter.reshape((8, 8)), spec)
    >>> [(model.rank, model.reg) for model in models]
    [(1, 0.1), (1, 1.0), (2, 0.1), (2, 1.0)]
    >>> models[0].projections.shape
    (4, 64)
    """
    (models,) = fit_paths([(scatter, list(spec.combinations()))], spec)
    return models


def fit_paths(
    asked: Sequence[tuple[Statistics, Sequence[tuple[Metric, Rank, float]]]],
    spec: Spec,
) -> list[list[Model]]:
    """`fit_path` for several scatters of one shape, such as those of folds.

    Small ones are solved together: their lanes share every step, not the data.

    Parameters
    ----------
    asked : list of (ClassScatter, list of (metric, rank, reg))
        Class statistics, and the combinations to fit to them.
    spec : Spec
        What to find for each combination, and how; its own combinations do not count.

    Returns
    -------
    list of lists of Model
        One list per scatter, in the order of the combinations.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from tensorcrp import ClassScatter
    >>> from tensorcrp.solver import Euclidean, Spec, fit_paths
    >>> X, y = load_digits(return_X_y=True)
    >>> halves = [ClassScatter.from_samples(X[i::2], y[i::2]) for i in (0, 1)]
    >>> asked = [(half, [(Euclidean(), "full", 0.1)]) for half in halves]
    >>> [model.projections.shape for (model,) in fit_paths(asked, Spec(4))]
    [(4, 64), (4, 64)]
    """
    shape = _one_shape([scatter.shape for scatter, _ in asked])
    for _, some in asked:
        replace(spec, lanes=some)  # rejects bad combinations
    finite = [k for _, some in asked for _, k, _ in some if not is_full(k, shape)]
    spec.check_shape(shape, finite)
    lanes = [
        Lane(source, *each, scatter.ridge(each[2], spec.reg_scale, each[0]))
        for source, (scatter, some) in enumerate(asked)
        for each in some
    ]
    sources = [
        (in_memory(spec.objective.numerator(scatter)), scatter.within)
        for scatter, _ in asked
    ]
    results = [None] * len(lanes)
    for group in _groups(lanes, sources):
        some = [lanes[i] for i in group]
        solve_some = _solve_vectors if is_full(some[0].rank, shape) else solve_lanes
        for i, result in zip(group, solve_some(sources, some, spec), strict=True):
            results[i] = result
    models = [[] for _ in asked]
    for lane, result in zip(lanes, results, strict=True):
        names = lane.metric, spec.deflation, lane.rank, lane.reg, lane.lam
        models[lane.source].append(Model(result, shape, *names))
    return models


def _one_shape(shapes):
    if len(set(shapes)) != 1:
        raise ValueError(
            "fit_paths needs at least one scatter, all of samples of one shape, got "
            f"the shapes {shapes}; fit others in another call."
        )
    return shapes[0]


def _groups(lanes, sources):
    """Numbers of the lanes that are solved together: where `is_small`, two groups.

    Those of full rank, whose rows are vectors in the coordinates of their metric; and
    all others, rank by rank and source by source.
    """
    together, groups, shape = is_small(sources), {}, sources[0][0].row_shape
    metrics = {}  # numbers: the same lanes come in the same order, whatever runs
    for i, lane in enumerate(lanes):
        full = is_full(lane.rank, shape)
        number = metrics.setdefault(id(lane.metric), len(metrics))
        place = lane.source, number
        apart = place if full else lane.source
        place = place if full else (str(lane.rank), lane.source)
        key = full, None if together else apart
        groups.setdefault(key, []).append((place, i))
    return [[i for _, i in sorted(group)] for group in groups.values()]


def _solve_vectors(sources, lanes, spec):
    """One `Result` per lane of full rank: vectors (h, P, 1)."""
    vectors = Vectors.of(sources, lanes, spec.n_components)
    return [
        vectors.result(number, result)
        for number, result in enumerate(
            solve_lanes(vectors.sources, vectors.lanes, vectors.spec(spec))
        )
    ]


def solve_lanes(sources, lanes, spec):
    """One `Result` per lane; rows of both kinds may live anywhere."""
    h, A, shape = spec.n_components, len(lanes), sources[0][0].row_shape
    ranks = [lane.rank for lane in lanes]
    if len(shape) == 1:  # vectors have rank one and need no start
        ranks, spec = [1] * A, replace(spec, init="lda", n_init=1, warm=None)
    lambdas = np.array([lane.lam for lane in lanes], float)
    found, roots = Found(shape, lambdas, ranks, h, spec.deflation), _roots(lanes, shape)
    direct = len(shape) == 1 and spec.deflation.is_plain and spec.objective.is_ratio
    numbers, source = np.unique([lane.source for lane in lanes], return_inverse=True)
    kinds = list(zip(*(sources[number] for number in numbers), strict=True))
    rows = deflated_rows([of_one_length(each) for each in kinds], source, found, roots)
    problem = Problem(*rows, roots, source, spec.objective, direct, spec.modes)
    # Vectors start with one large decomposition. All other products are small, however
    # large the data are.
    size = sum(rows.nbytes for rows in kinds[1])
    with bounded_threads(size if problem.is_direct else 0):
        rng = random_source("random_state", spec.random_state)
        starter = Starter(problem, found, spec, rng)
    told = spec.callback and with_argument(spec.callback, "factors")
    with bounded_threads(0):
        for p in range(h):
            ascents, winners = _next_component(problem, found, starter, spec)
            if told and _is_true(told(p, *_news(problem, found, ascents, winners))):
                break
    return Result.of_all(found)


def _is_true(answer):
    """Whether a callback says stop: True itself, not just anything."""
    return isinstance(answer, (bool, np.bool_)) and bool(answer)


def _news(problem, found, ascents, winners):
    """J and sweeps (A,) of the last component, and its factors for every lane."""
    objective = _joined(ascents, winners, [a.objective for a in ascents])
    n_iter = _joined(ascents, winners, [a.n_iter for a in ascents])
    return objective, n_iter, _newest(problem, found)


def _newest(problem, found):
    """Factors (l_m, k) of samples of the last component, a list for every lane."""
    lanes = np.arange(len(found.ranks))
    factors = [factor[:, found.count - 1].copy() for factor in found.factors]
    if problem.roots is not None:
        factors = problem.roots.raw(lanes, factors)
    return [[factor[a, :, : found.ranks[a]] for factor in factors] for a in lanes]


def _roots(lanes, shape):
    """Roots of the metrics that the lanes have, each once; None for the plain one."""
    if all(lane.metric.is_plain for lane in lanes):
        return None
    metrics = list({id(lane.metric): lane.metric for lane in lanes}.values())
    numbers = {id(metric): i for i, metric in enumerate(metrics)}
    return LaneRoots(metrics, shape, [numbers[id(lane.metric)] for lane in lanes])


def _next_component(problem, found, starter, spec):
    """Find one more projection of every lane: ascents, and the best lane of each."""
    ascents = [Ascent(problem, found, *each) for each in starter.lanes(found)]
    climb(ascents, spec.max_iter, _rule(spec))
    winners = [_best_lane(a.objective, starter.n_init) for a in ascents]
    found.add(ascents, winners)
    for i, rows in enumerate(problem.rows):
        rows.keep(_joined(ascents, winners, [a.scores[i] for a in ascents]))
    starter.deflate(found)
    return ascents, winners


def _rule(spec):
    """When a projection is done; None where it gets all sweeps."""
    return spec.stop or (SmallGain(spec.tol) if spec.tol else None)


def _best_lane(objective, n_init):
    """Index of the lane with the largest J among the starts of each sequence."""
    by_sequence = objective.reshape(-1, n_init)
    return np.argmax(by_sequence, axis=1) + n_init * np.arange(len(by_sequence))


def _joined(ascents, winners, arrays):
    """The winning lanes of all ranks, in the order of the sequences."""
    pairs = list(zip(ascents, winners, strict=True))
    order = np.argsort(np.concatenate([a.which[lanes] for a, lanes in pairs]))
    each = zip(arrays, winners, strict=True)
    return np.concatenate([array[lanes] for array, lanes in each])[order]
