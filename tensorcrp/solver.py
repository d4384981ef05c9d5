"""Block ascent on compound rank-k projections, with deflation, in lanes.

In: ``between`` rows ``(c, l_1, ..., l_N)`` and ``within`` rows ``(n, l_1, ..., l_N)``
with ``sum_i <between_i, W>^2`` and ``sum_i <within_i, W>^2`` the numerator and the
denominator of

    J(W) = sum_i <between_i, W>^2 / (sum_i <within_i, W>^2 + lambda ||W||_F^2),

the paper's objective (4) for ``W = [[U^(1), ..., U^(N)]]`` of CP rank k.
Out: per lambda, h projections found one after the other on data deflated by the
earlier ones, as factors ``(h, l_m, k)``, with the objective after every block update.

Nothing here knows labels. Several lambdas and several starts run in lockstep: each
pair is a *lane*, all lanes share each pass over the data, and arrays of lanes have
the lane first. The data are never changed: deflation is taken off after contraction,
where earlier projections, being CP tensors, cost products of k x k matrices.
"""

from dataclasses import dataclass

import numpy as np

from tensorcrp._algebra import cp_sum, cp_truncate
from tensorcrp._ascent import Ascent, Problem
from tensorcrp._rows import as_rows
from tensorcrp._starts import STARTS, ridge_directions
from tensorcrp._threads import SMALL_PASSES, bounded_threads

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
        Rows of the denominator; not copied if in C order, never changed. Or rows that
        are elsewhere: an object with ``nbytes`` and ``rows(A, h)``, which returns what
        `_rows.Rows` is.
    lambdas : sequence of A floats
        Ridges, which share every pass over the rows.
    rank : int
        CP rank k; at order 1 it is 1 whatever is asked for.
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
        entry per lambda.

    Returns
    -------
    list of A `Result`
        In the order of `lambdas`.

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
    lambdas = np.asarray(lambdas, float)
    rows = (as_rows(each, len(lambdas), n_components) for each in (between, within))
    problem = Problem(*rows, modes)
    if len(problem.shape) == 1:  # vectors have rank one and need no start
        rank, init, n_init = 1, "identity", 1
    with bounded_threads(within.nbytes, SMALL_PASSES):
        found = _Found(problem.shape, lambdas, n_components, rank)
        starter = _Starter(problem, lambdas, rank, init, n_init, rng)
        which = np.repeat(np.arange(len(lambdas)), n_init)  # lane -> lambda
        for p in range(n_components):
            ascent = Ascent(problem, found, which, starter.factors(found))
            ascent.climb(max_iter, tol)
            winners = _best_lane(ascent.objective, len(lambdas))
            found.add(ascent, winners)
            for each, scores in zip(problem.rows, ascent.scores, strict=True):
                each.keep(scores[winners])
            starter.deflate(found)
            if callback is not None:
                callback(p, ascent.objective[winners], ascent.n_iter[winners])
    return found.results()


class _Found:
    """Projections found so far, one sequence per lambda."""

    def __init__(self, shape, lambdas, n_components, rank):
        A, h = len(lambdas), n_components
        self.lambdas = lambdas
        self.count = 0
        # Columns lie in memory as rows: `overlaps` reads them as (h k, l_m) matrices.
        columns = (np.zeros((A, h, rank, size)) for size in shape)
        self.factors = [each.transpose(0, 1, 3, 2) for each in columns]
        self.history = [[] for _ in range(A)]
        self.n_iter = np.zeros((A, h), int)
        self.converged = np.zeros((A, h), bool)

    def overlaps(self, which, factors, mode, white):
        """Earlier projections contracted as the rows are: (B, d, p).

        A product of k x k cross-Gram matrices, because they are CP tensors too.
        """
        lanes = zip(which, zip(*factors, strict=True), white, strict=True)
        each = [self._overlaps(a, mine, mode, T) for a, mine, T in lanes]
        return np.stack(each).transpose(0, 2, 1)

    def _overlaps(self, a, mine, mode, white):
        """The same for one lane: (p, d)."""
        earlier = [f[a, : self.count].transpose(0, 2, 1) for f in self.factors]
        p, rank, size = earlier[mode].shape
        cross = np.ones((p * rank, rank))
        for m, factor in enumerate(mine):
            if m != mode:
                cross = cross * (earlier[m].reshape(p * rank, len(factor)) @ factor)
        mixed = (cross @ white).reshape(p, rank, rank)
        return (mixed.transpose(0, 2, 1) @ earlier[mode]).reshape(p, rank * size)

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

    def add(self, ascent, winners):
        """Keep the winning lane of every lambda as the next component."""
        p = self.count
        for kept, factor in zip(self.factors, ascent.factors, strict=True):
            kept[:, p] = factor[winners]
        self.factors[0][:, p] *= ascent.weights[winners][:, None]
        self.n_iter[:, p] = ascent.n_iter[winners]
        self.converged[:, p] = ascent.converged[winners]
        for history, lane in zip(self.history, winners, strict=True):
            history.append(np.array(ascent.history[lane]))
        self.count += 1

    def results(self):
        """One `Result` per lambda."""
        return [
            Result(
                [factor[a] for factor in self.factors],
                self.history[a],
                self.n_iter[a],
                self.converged[a],
            )
            for a in range(len(self.lambdas))
        ]


class _Starter:
    """Start factors (B, l_m, k) of every component, for all lanes."""

    def __init__(self, problem, lambdas, rank, init, n_init, rng):
        self.shape, self.rank, self.rng = problem.shape, rank, rng
        self.init, self.n_init, self.n_lambdas = init, n_init, len(lambdas)
        self.directions = None
        if init == "lda" or problem.is_flat:
            share = 0.0 if problem.is_flat else START_RIDGE
            self.directions = ridge_directions(*problem.rows, lambdas, share)

    def factors(self, found):
        """Lanes of one lambda stand together; random starts are shared by lambdas."""
        first = self._first(found)
        more = [self._same(STARTS["random"]) for _ in range(self.n_init - 1)]
        return [
            np.stack(lanes, axis=1).reshape(-1, *lanes[0].shape[1:])
            for lanes in zip(first, *more, strict=True)
        ]

    def deflate(self, found):
        """Follow the component that was found last."""
        if self.directions is not None:
            self.directions.deflate(found)

    def _first(self, found):
        if self.directions is not None:
            return self._lda(found)
        if callable(self.init):
            return self._same(self.init)
        if isinstance(self.init, str):
            return self._same(STARTS[self.init])
        return self._same(lambda shape, rank, rng: self.init)

    def _same(self, start):
        factors = start(self.shape, self.rank, self.rng)
        return [np.repeat(np.array(f, float)[None], self.n_lambdas, 0) for f in factors]

    def _lda(self, found):
        w = self.directions.directions(found)
        sizes = np.abs(w).max(axis=1, keepdims=True)  # of any scale, as the data are
        w = w / np.where(sizes > 0, sizes, 1.0)
        factors = cp_truncate(w.reshape(-1, *self.shape), self.rank)
        lost = ~(np.linalg.norm(w, axis=1) > 0)  # nothing left to separate
        if lost.any():
            identity = self._same(STARTS["identity"])
            for factor, safe in zip(factors, identity, strict=True):
                factor[lost] = safe[lost]
        return factors


def _best_lane(objective, n_lambdas):
    """Index of the lane with the largest J among the starts of each lambda."""
    by_lambda = objective.reshape(n_lambdas, -1)
    n_init = by_lambda.shape[1]
    return np.argmax(by_lambda, axis=1) + n_init * np.arange(n_lambdas)
