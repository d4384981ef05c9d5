"""Block ascent on compound rank-k projections, with deflation, in lanes.

In: ``between`` rows ``(c, l_1, ..., l_N)`` and ``within`` rows ``(n, l_1, ..., l_N)``
with ``sum_i <between_i, W>^2`` and ``sum_i <within_i, W>^2`` the numerator and the
denominator of

    J(W) = sum_i <between_i, W>^2 / (sum_i <within_i, W>^2 + lambda ||W||_F^2),

the paper's objective (4) for ``W = [[U^(1), ..., U^(N)]]`` of CP rank k.
Out: per lambda, h projections found one after the other on data deflated by the
earlier ones, as factors ``(h, l_m, k)``, with the objective after every block update.

Nothing here knows labels. Several lambdas, starts and ranks run in lockstep: each
combination is a *lane*, all lanes share each pass over the data, and arrays of lanes
have the lane first. The data are never changed: deflation is taken off after
contraction, where earlier projections, being CP tensors, cost products of k x k
matrices.
"""

from copy import deepcopy
from dataclasses import dataclass
from functools import partial
from numbers import Integral

import numpy as np

from tensorcrp._algebra import cp_sum, cp_truncate
from tensorcrp._ascent import Ascent, Problem, climb
from tensorcrp._rows import as_rows
from tensorcrp._starts import STARTS, ridge_directions
from tensorcrp._threads import bounded_threads

INITS = ("lda", *STARTS)
# Least ridge of a start, in mean squares of the rows: rounding is divided by it.
START_RIDGE = 1e-4


@dataclass(frozen=True)
class Result:
    """What the solver found for one lambda.

    Parameters
    ----------
    factors : list of ndarray of shape (h, l_m, k)
        CP factors, one array per mode.
    objective : list of h arrays
        J after each block update, non-decreasing.
    n_iter : ndarray of int, shape (h,)
        Sweeps over all modes.
    converged : ndarray of bool, shape (h,)
        Whether a projection was done before the last sweep.

    Examples
    --------
    >>> import numpy as np
    >>> from tensorcrp.solver import solve
    >>> rng = np.random.default_rng(0)
    >>> between, within = rng.normal(size=(3, 4, 5)), rng.normal(size=(30, 4, 5))
    >>> (result,) = solve(between, within, [1.0], rank=2, n_components=3)
    >>> all((np.diff(history) >= 0).all() for history in result.objective)
    True
    """

    factors: list
    objective: list
    n_iter: np.ndarray
    converged: np.ndarray


def solve(
    between,
    within,
    lambdas,
    *,
    rank,
    n_components,
    init="lda",
    n_init=1,
    max_iter=10,
    tol=1e-3,
    rng=None,
    modes=None,
    callback=None,
):
    """Find compound rank-k projections for every lambda in one go.

    Parameters
    ----------
    between : ndarray of shape (c, l_1, ..., l_N)
        Rows of the numerator.
    within : ndarray of shape (n, l_1, ..., l_N)
        Rows of the denominator; never changed, and not copied if they come last in
        memory, as in `ClassScatter`. Or rows that are elsewhere: an object with
        ``nbytes`` and ``rows(A, h)``, which returns what `_rows.Rows` is.
    lambdas : sequence of A floats
        Ridges, which share every pass over the rows.
    rank : int or sequence of int
        CP rank k; at order 1 it is 1 whatever is asked for. Several ranks share every
        pass over the rows too.
    n_components : int
        Number of projections h.
    init : {"lda", "identity", "random"}, callable or list of arrays, default="lda"
        Arrays are (l_m, k), one per mode. A callable is asked for every component:
        ``init(shape, rank, rng)`` returns such arrays.
    n_init : int, default=1
        Starts per component, the best of which is kept; all but the first are random.
    max_iter : int, default=10
        Sweeps over the modes per component.
    tol : float, default=1e-3
        A component is done when a sweep raises J by at most this share; with 0, only
        after `max_iter` sweeps.
    rng : numpy.random.RandomState, default=None
        Source of random starts; not needed if there are none.
    modes : sequence of int, default=None
        Order of the block updates in a sweep; None stands for ``range(N)``.
    callback : callable, default=None
        Called as ``callback(p, objective, n_iter)`` after component p, with one
        entry per result.

    Returns
    -------
    list of A `Result`
        In the order of `lambdas`; of several ranks, rank after rank.

    Examples
    --------
    Two ridges on class statistics: the estimator's way, without the estimator.

    >>> from sklearn.datasets import load_digits
    >>> from tensorcrp import ClassScatter
    >>> from tensorcrp.solver import solve
    >>> X, y = load_digits().images, load_digits().target
    >>> scatter = ClassScatter.from_samples(X, y)
    >>> weak, strong = solve(
    ...     scatter.between("classes"), scatter.root, [1e3, 1e5], rank=2, n_components=4
    ... )
    >>> [factor.shape for factor in weak.factors]
    [(4, 8, 2), (4, 8, 2)]
    >>> bool(weak.objective[0][-1] > strong.objective[0][-1])
    True
    """
    ranks = [rank] if isinstance(rank, Integral) else list(rank)
    every = np.tile(np.asarray(lambdas, float), len(ranks))
    rows = (as_rows(each, len(every), n_components) for each in (between, within))
    problem = Problem(*rows, modes)
    if len(problem.shape) == 1:  # vectors have rank one and need no start
        ranks, init, n_init = [1] * len(ranks), "identity", 1
    found = _Found(problem.shape, every, n_components, np.repeat(ranks, len(lambdas)))
    # Vectors start with one large decomposition. All other products are small, however
    # large the data are.
    with bounded_threads(within.nbytes if problem.is_flat else 0):
        starter = _Starter(problem, every, ranks, init, n_init, rng)
    with bounded_threads(0):
        for p in range(n_components):
            lanes = starter.lanes(found)
            ascents = [Ascent(problem, found, *each) for each in lanes]
            climb(ascents, max_iter, tol)
            winners = [_best_lane(a.objective, len(lambdas)) for a in ascents]
            found.add(ascents, winners)
            for i, each in enumerate(problem.rows):
                each.keep(_joined([a.scores[i] for a in ascents], winners))
            starter.deflate(found)
            if callback is not None:
                objective = _joined([a.objective for a in ascents], winners)
                callback(p, objective, _joined([a.n_iter for a in ascents], winners))
    return found.results()


def _joined(arrays, lanes):
    """The winning lanes of all ranks, one after the other."""
    each = zip(arrays, lanes, strict=True)
    return np.concatenate([array[some] for array, some in each])


class _Found:
    """Projections found so far, one sequence per rank and lambda.

    Columns beyond the rank of a sequence are null.
    """

    def __init__(self, shape, lambdas, n_components, ranks):
        A, h = len(lambdas), n_components
        self.lambdas, self.ranks = lambdas, np.broadcast_to(ranks, A)
        self.count = 0
        # Columns lie in memory as rows: `overlaps` reads them as (h k, l_m) matrices.
        self.columns = [np.zeros((A, h, self.ranks.max(), size)) for size in shape]
        self.factors = [each.transpose(0, 1, 3, 2) for each in self.columns]
        self.history = [[] for _ in range(A)]
        self.n_iter = np.zeros((A, h), int)
        self.converged = np.zeros((A, h), bool)

    def overlaps(self, which, factors, mode, white):
        """Earlier projections contracted as the rows are: (B, d, p).

        A product of k x k cross-Gram matrices, because they are CP tensors too.
        """
        earlier = [each[which, : self.count] for each in self.columns]
        B, p, most, size = earlier[mode].shape
        k = white.shape[1]
        cross = np.ones((B, p * most, k))
        for m, factor in enumerate(factors):
            if m != mode:
                cross *= earlier[m].reshape(B, p * most, factor.shape[1]) @ factor
        mixed = (cross @ white).reshape(B, p, most, k)
        seen = mixed.transpose(0, 1, 3, 2) @ earlier[mode]
        return seen.reshape(B, p, k * size).transpose(0, 2, 1)

    def orthogonal(self, which, u):
        """Unit vectors (B, P) less their share in the earlier ones, at order 1.

        There projections are orthogonal, which rounding divided by a small lambda
        would undo.
        """
        for lane, a in enumerate(which):
            W = self.vectors(a)
            rest = u[lane] - (u[lane] @ W.T) @ W
            if np.linalg.norm(rest) < 1e-8:  # nothing left to separate: any will do
                rest = np.eye(1, len(rest), np.argmin((W**2).sum(axis=0)))[0]
            for _ in range(2):  # once more for what rounding left of the first time
                rest = rest - (rest @ W.T) @ W
                rest /= np.linalg.norm(rest)
            u[lane] = rest
        return u

    def vectors(self, a):
        """Projections (p, P) for one lambda at order 1, a view."""
        return self.factors[0][a, : self.count, :, 0]

    def newest(self):
        """The last projection of every lambda at order 1: (A, P)."""
        return self.factors[0][:, self.count - 1, :, 0]

    def weighted_sum(self, weights):
        """Dense sums of the projections: weights (A, p, 1) -> (A, P)."""
        first, *rest = (factor[:, : self.count] for factor in self.factors)
        sums = cp_sum([first * weights[..., None], *rest])
        return sums.reshape(len(weights), -1)

    def add(self, ascents, winners):
        """Keep the winning lane of every sequence as the next component."""
        for ascent, lanes in zip(ascents, winners, strict=True):
            self._add(ascent, lanes, ascent.which[lanes])
        self.count += 1

    def _add(self, ascent, lanes, where):
        p, rank = self.count, ascent.weights.shape[1]
        for kept, factor in zip(self.factors, ascent.factors, strict=True):
            kept[where, p, :, :rank] = factor[lanes]
        self.factors[0][where, p, :, :rank] *= ascent.weights[lanes][:, None]
        self.n_iter[where, p] = ascent.n_iter[lanes]
        self.converged[where, p] = ascent.converged[lanes]
        for a, lane in zip(where, lanes, strict=True):
            self.history[a].append(np.array(ascent.history[lane]))

    def results(self):
        """One `Result` per sequence."""
        return [
            Result(
                [factor[a][..., :rank] for factor in self.factors],
                self.history[a],
                self.n_iter[a],
                self.converged[a],
            )
            for a, rank in enumerate(self.ranks)
        ]


class _Starter:
    """Start factors (B, l_m, k) of every component, for all lanes."""

    def __init__(self, problem, lambdas, ranks, init, n_init, rng):
        self.shape, self.ranks, self.init, self.n_init = (
            problem.shape,
            ranks,
            init,
            n_init,
        )
        self.which = np.split(np.arange(len(lambdas)), len(ranks))
        # Every rank has the random numbers that it would have alone.
        self.rngs = [rng, *(deepcopy(rng) for _ in ranks[1:])]
        self.directions = None
        if init == "lda" or problem.is_flat:
            share = 0.0 if problem.is_flat else START_RIDGE
            self.directions = ridge_directions(*problem.rows, lambdas, share)

    def lanes(self, found):
        """Pairs of what lanes belong to, and their factors, for each rank.

        Lanes of one lambda stand together; random starts are shared by lambdas.
        """
        w = None if self.directions is None else self.directions.directions(found)
        for which, rank, rng in zip(self.which, self.ranks, self.rngs, strict=True):
            same = partial(_same, len(which), self.shape, rank, rng)
            first = same(self._start()) if w is None else self._lda(w[which], rank)
            more = [same(STARTS["random"]) for _ in range(self.n_init - 1)]
            factors = [
                np.stack(lanes, axis=1).reshape(-1, *lanes[0].shape[1:])
                for lanes in zip(first, *more, strict=True)
            ]
            yield np.repeat(which, self.n_init), factors

    def deflate(self, found):
        """Follow the component that was found last."""
        if self.directions is not None:
            self.directions.deflate(found)

    def _start(self):
        """A function of shape, rank and source of random numbers."""
        if callable(self.init):
            return self.init
        if isinstance(self.init, str):
            return STARTS[self.init]
        return lambda shape, rank, rng: self.init

    def _lda(self, w, rank):
        sizes = np.abs(w).max(axis=1, keepdims=True)  # of any scale, as the data are
        w = w / np.where(sizes > 0, sizes, 1.0)
        factors = cp_truncate(w.reshape(-1, *self.shape), rank)
        lost = ~(np.linalg.norm(w, axis=1) > 0)  # nothing left to separate
        if lost.any():
            identity = _same(len(w), self.shape, rank, None, STARTS["identity"])
            for factor, safe in zip(factors, identity, strict=True):
                factor[lost] = safe[lost]
        return factors


def _same(count, shape, rank, rng, start):
    """Factors (count, l_m, k) of one start for so many lanes."""
    factors = start(shape, rank, rng)
    return [np.repeat(np.array(f, float)[None], count, axis=0) for f in factors]


def _best_lane(objective, n_lambdas):
    """Index of the lane with the largest J among the starts of each lambda."""
    by_lambda = objective.reshape(n_lambdas, -1)
    n_init = by_lambda.shape[1]
    return np.argmax(by_lambda, axis=1) + n_init * np.arange(n_lambdas)
