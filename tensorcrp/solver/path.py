"""Paths: projections for many ridges, ranks and metrics in one run over the data.

In: class statistics (`ClassScatter`) and a `Spec`, or plain rows ``(n, l_1, ..., l_N)``
of the numerator and the denominator of

    J(W) = sum_i <between_i, W>^2 / (sum_i <within_i, W>^2 + lambda ||W||_F^2),

the paper's objective (4) for ``W = [[U^(1), ..., U^(N)]]`` of CP rank k.
Out: per combination h projections found one after the other on data deflated by the
earlier ones, with the objective after every block update.

Nothing here knows labels. Each combination of metric, rank, ridge and start is a
*lane*; lanes run in lockstep and share each pass over the data. Arrays of lanes have
the lane first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import prod
from numbers import Integral
from typing import Protocol

import numpy as np
from sklearn.utils import check_random_state

from tensorcrp.base.threads import bounded_threads
from tensorcrp.base.types import (
    Array,
    Callback,
    Init,
    RandomState,
    Rank,
    RegScale,
    Shape,
    Stop,
)
from tensorcrp.solver.array_rows import ArrayRows
from tensorcrp.solver.ascent import Ascent, Problem, SmallGain, climb
from tensorcrp.solver.deflation import Deflation, Found, PaperDeflation
from tensorcrp.solver.metric import Euclidean, LaneRoots, Metric
from tensorcrp.solver.model import Model, Result
from tensorcrp.solver.objective import DiscriminantRatio, Objective
from tensorcrp.solver.rows import Rows
from tensorcrp.solver.starts import Starter


@dataclass(frozen=True)
class Spec:
    """Which models to fit, and how.

    Parameters
    ----------
    n_components : int
        Number of projections h.
    ranks : sequence of int or "full", default=(2,)
        CP ranks k. Ranks of at least P / max(l_m) represent any tensor, as "full"
        does: ridge LDA on vectorised samples.
    regs : sequence of float, default=(0.3,)
        Ridges, in the unit that `reg_scale` names.
    metrics : sequence of Metric, default=None
        Metrics of the ridge; None for the plain norm alone.
    lanes : sequence of (metric, rank, reg), default=None
        Combinations to fit, instead of all that `metrics`, `ranks` and `regs` have.
    reg_scale : {"relative", "absolute"}, default="relative"
        With "relative", lambda is `reg` times the mean square of an entry of the
        within-class deviations; with "absolute", it is `reg`.
    objective : Objective, default=None
        What is maximised; None for `DiscriminantRatio`.
    deflation : Deflation, default=None
        What is subtracted after each projection; None for `PaperDeflation`.
    init : {"lda", "identity", "random"}, callable or list of arrays, default="lda"
        Arrays are (l_m, k), one per mode. A callable is asked for every component:
        ``init(shape, rank, random_state)`` returns such arrays.
    n_init : int, default=1
        Starts per component, the best of which is kept; all but the first are random.
    max_iter : int, default=20
        Sweeps over the modes per component.
    tol : float, default=0.1
        A component is done when a sweep raises J by at most this share; with 0, only
        after `max_iter` sweeps.
    stop : callable, default=None
        Another stopping rule: ``stop(history, n_modes)`` says whether a lane is done,
        given J at its start and after every block update. None for `tol`.
    modes : sequence of int, default=None
        Order of the block updates in a sweep; None for ``range(N)``.
    random_state : int, RandomState instance or None, default=None
        Source of random starts.
    callback : callable, default=None
        Called as ``callback(p, objective, n_iter)`` after component p, with one entry
        per lane that is solved together.

    Examples
    --------
    >>> from tensorcrp.solver import Smoothness, Spec
    >>> spec = Spec(5, ranks=(1, "full"), metrics=(Smoothness(0.0), Smoothness(1.0)))
    >>> spec.regs, spec.max_iter
    ((0.3,), 20)
    """

    n_components: int
    ranks: Sequence[Rank] | Array = (2,)
    regs: Sequence[float] | Array = (0.3,)
    metrics: Sequence[Metric] | None = None
    lanes: Sequence[tuple[Metric, Rank, float]] | None = None
    reg_scale: RegScale = "relative"
    objective: Objective | None = None
    deflation: Deflation | None = None
    init: Init = "lda"
    n_init: int = 1
    max_iter: int = 20
    tol: float = 0.1
    stop: Stop | None = None
    modes: Sequence[int] | None = None
    random_state: RandomState = None
    callback: Callback | None = None

    def __post_init__(self):
        usual = {
            "metrics": (Euclidean(),),
            "objective": DiscriminantRatio(),
            "deflation": PaperDeflation(),
        }
        for name, value in usual.items():
            if getattr(self, name) is None:
                object.__setattr__(self, name, value)


@dataclass(frozen=True)
class Lane:
    """One combination: metric, rank, ridge as asked for, and lambda."""

    metric: object
    rank: object
    reg: float
    lam: float


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
    lanes = list(_lanes(scatter, spec))
    between, within = ArrayRows.of(spec.objective.numerator(scatter)), scatter.within
    results = [None] * len(lanes)
    for group in _groups(lanes, scatter.shape):
        some = [lanes[i] for i in group]
        rows = between, within
        if is_full(some[0].rank, scatter.shape):
            rows = [_vectors(each, some[0].metric) for each in rows]
            some = [replace(lane, rank=1, metric=Euclidean()) for lane in some]
        for i, result in zip(group, _solve_lanes(*rows, some, spec), strict=True):
            results[i] = result
    pairs = zip(lanes, results, strict=True)
    return [
        Model(result, scatter.shape, lane.metric, spec.deflation, *_names(lane))
        for lane, result in pairs
    ]


def is_full(rank, shape):
    """Whether tensors of this rank are all tensors of the shape."""
    return rank == "full" or rank >= prod(shape) // max(shape)


def _names(lane):
    return lane.rank, lane.reg, lane.lam


def _lanes(scatter, spec):
    """All combinations, with the ridge in the scale of the data."""
    lanes = spec.lanes
    if lanes is None:
        lanes = product(spec.metrics, spec.ranks, spec.regs)
    for metric, rank, reg in lanes:
        yield Lane(metric, rank, reg, scatter.ridge(reg, spec.reg_scale, metric))


def _groups(lanes, shape):
    """Numbers of the lanes that are solved together.

    All that are not of full rank; of full rank, those of one metric, whose rows are
    vectors in the coordinates of that metric.
    """
    groups = {}
    for i, lane in enumerate(lanes):
        key = id(lane.metric) if is_full(lane.rank, shape) else "finite"
        groups.setdefault(key, []).append(i)
    return groups.values()


def _vectors(rows, metric):
    """Rows as vectors (n, P), in the coordinates of a metric."""
    flat = (prod(rows.row_shape),)
    if metric.is_plain or not rows.in_memory:
        return rows.reshape(flat)
    roots = LaneRoots([metric], rows.row_shape, [0])
    return ArrayRows.of(roots.transformed(0, rows.array)).reshape(flat)


def solve(
    between: Array,
    within: Array | Rows,
    lambdas: Sequence[float] | Array,
    *,
    n_components: int,
    rank: int | Sequence[int] = 2,
    init: Init = "lda",
    n_init: int = 1,
    max_iter: int = 20,
    tol: float = 0.1,
    stop: Stop | None = None,
    modes: Sequence[int] | None = None,
    rng: RandomState = None,
    callback: Callback | None = None,
    objective: Objective | None = None,
    deflation: Deflation | None = None,
) -> list[Result]:
    """Find compound rank-k projections for every lambda in one go.

    Parameters
    ----------
    between : ndarray of shape (c, l_1, ..., l_N)
        Rows of the numerator.
    within : ndarray of shape (n, l_1, ..., l_N), or Rows
        Rows of the denominator. They are not modified, and not copied if the sample
        axis comes last in memory, as in `ClassScatter`.
    lambdas : sequence of A floats
        Ridges, which share every pass over the rows.
    n_components : int
        Number of projections h.
    rank : int or sequence of int, default=2
        CP rank k; at order 1 it is 1 whatever is asked for. Several ranks share every
        pass over the rows too.
    init : {"lda", "identity", "random"}, callable or list of arrays, default="lda"
        Start of each projection, as in `Spec`.
    n_init : int, default=1
        Starts per component, the best of which is kept.
    max_iter : int, default=20
        Sweeps over the modes per component.
    tol : float, default=0.1
        A component is done when a sweep raises J by at most this share.
    stop : callable, default=None
        Another stopping rule, as in `Spec`.
    modes : sequence of int, default=None
        Order of the block updates in a sweep; None for ``range(N)``.
    rng : int, RandomState instance or None, default=None
        Source of random starts.
    callback : callable, default=None
        Called as ``callback(p, objective, n_iter)`` after component p.
    objective : Objective, default=None
        What is maximised; None for `DiscriminantRatio`.
    deflation : Deflation, default=None
        What is subtracted after each projection; None for `PaperDeflation`.

    Returns
    -------
    list of A `Result`
        In the order of `lambdas`; with several ranks, rank by rank.

    Examples
    --------
    Two ridges on class statistics, without the estimator:

    >>> from sklearn.datasets import load_digits
    >>> from tensorcrp import ClassScatter
    >>> from tensorcrp.solver import solve
    >>> X, y = load_digits().images, load_digits().target
    >>> scatter = ClassScatter.from_samples(X, y)
    >>> rows = scatter.between("classes"), scatter.root
    >>> weak, strong = solve(*rows, [1e3, 1e5], rank=2, n_components=4)
    >>> [factor.shape for factor in weak.factors]
    [(4, 8, 2), (4, 8, 2)]
    >>> bool(weak.objective[0] > strong.objective[0])
    True
    """
    ranks = [rank] if isinstance(rank, Integral) else list(rank)
    spec = Spec(
        n_components,
        objective=objective,
        deflation=deflation,
        init=init,
        n_init=n_init,
        max_iter=max_iter,
        tol=tol,
        stop=stop,
        modes=modes,
        random_state=rng,
        callback=callback,
    )
    metric = Euclidean()
    lanes = [Lane(metric, k, lam, lam) for k in ranks for lam in lambdas]
    return _solve_lanes(ArrayRows.of(between), ArrayRows.of(within), lanes, spec)


def _solve_lanes(between, within, lanes, spec):
    """One `Result` per lane; rows of both kinds may live anywhere."""
    h, A, shape = spec.n_components, len(lanes), between.row_shape
    ranks = [lane.rank for lane in lanes]
    if len(shape) == 1:  # vectors have rank one and need no start
        ranks, spec = [1] * A, replace(spec, init="lda", n_init=1)
    lambdas = np.array([lane.lam for lane in lanes], float)
    rows = [each.deflated(A, h) for each in (between, within)]
    problem = Problem(
        *rows,
        _roots(lanes, shape),
        spec.objective,
        is_direct=len(shape) == 1
        and spec.deflation.is_plain
        and spec.objective.is_ratio,
        modes=spec.modes,
    )
    found = Found(shape, lambdas, ranks, h, spec.deflation)
    # Vectors start with one large decomposition. All other products are small, however
    # large the data are.
    with bounded_threads(within.nbytes if problem.is_direct else 0):
        rng = check_random_state(spec.random_state)
        starter = Starter(problem, found, spec.init, spec.n_init, rng)
    with bounded_threads(0):
        for p in range(h):
            objective, n_iter = _next_component(problem, found, starter, spec)
            if spec.callback is not None:
                spec.callback(p, objective, n_iter)
    return Result.of_all(found)


def _roots(lanes, shape):
    """Roots of the metrics that the lanes have, each once; None for the plain one."""
    if all(lane.metric.is_plain for lane in lanes):
        return None
    metrics = list({id(lane.metric): lane.metric for lane in lanes}.values())
    numbers = {id(metric): i for i, metric in enumerate(metrics)}
    return LaneRoots(metrics, shape, [numbers[id(lane.metric)] for lane in lanes])


def _next_component(problem, found, starter, spec):
    """Find one more projection of every lane; its J and sweeps, (A,) each."""
    ascents = [Ascent(problem, found, *each) for each in starter.lanes(found)]
    climb(ascents, spec.max_iter, spec.stop or SmallGain(spec.tol))
    winners = [_best_lane(a.objective, starter.n_init) for a in ascents]
    found.add(ascents, winners)
    for i, rows in enumerate(problem.rows):
        rows.keep(_joined(ascents, winners, [a.scores[i] for a in ascents]))
    starter.deflate(found)
    return (
        _joined(ascents, winners, [a.objective for a in ascents]),
        _joined(ascents, winners, [a.n_iter for a in ascents]),
    )


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
