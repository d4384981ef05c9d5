"""Ridge-LDA directions of the deflated rows: the maximisers of J over all tensors.

In: both kinds of rows and their scores under the projections found so far, and lambda.
Out: unconstrained directions ``(A, P)``, one per sequence of projections.

Cut to rank k they are the start ``"lda"`` of block ascent; at order 1, where every
tensor has rank one, they are the answer itself.
"""

from math import prod

import numpy as np

from tensorcrp.base.namespace import as_type, put
from tensorcrp.solver.linalg import (
    cholesky_solve,
    choleskys,
    positive_solve,
    rounding,
    top_eigenvectors,
)

# A start needs a fair picture of the scatter, not all of it: this many rows at most.
START_ROWS = 1024


def ridge_directions(problem, found, share=0.0):
    """Ridge-LDA directions of the deflated data, one per sequence of projections.

    Parameters
    ----------
    problem : Problem
    found : Found
    share : float, default=0.0
        Least ridge, in mean squares of the within rows. Rounding is divided by the
        ridge; a start may do with a larger one.

    Where directions are the answer (`Problem.is_direct`) they come from all rows; as a
    start, from some.
    """
    if problem.is_direct and len(problem.within.rows) >= problem.shape[0]:
        return PrimalDirections(problem, found.lambdas, share)
    most = None if problem.is_direct else START_ROWS
    if found.deflation.is_plain:
        return DualDirections(problem, found.lambdas, share, most, found.room)
    return FreshDirections(problem, found.lambdas, share, most)


class PrimalDirections:
    """From ``S = A^T A + lambda I`` of the within rows A, (P, P): P or more vectors.

    Among the vectors at right angles to the rows of W, the earlier projections,
    ``S^{-1} - S^{-1} W^T (W S^{-1} W^T)^{-1} W S^{-1}`` takes the place of ``S^{-1}``.
    (Above order 1 projections are not orthogonal, and this is not the deflation.)
    """

    def __init__(self, problem, lambdas, share):
        self.between, self.factors, self.solved = [], [], []
        pairs = zip(problem.between.parts, problem.within.parts, strict=True)
        grams = [(few.flat, rows.inner(), len(rows)) for few, rows in pairs]
        for lam, number in zip(lambdas, problem.source, strict=True):
            between, gram, n = grams[number]
            # A ridge below rounding cannot be factored.
            least = max(len(gram) * rounding(gram), share / n) * np.trace(gram)
            (factor,) = choleskys(gram[None].copy(), [max(lam, least)])
            self.between.append(between)
            self.factors.append(factor)
            self.solved.append(cholesky_solve(factor, between.T))
        self.earlier = [np.empty((0, problem.shape[0])) for _ in lambdas]
        self.solved_earlier = list(self.earlier)

    def directions(self, found):
        """Maximisers of J on data deflated by the projections in `found`: (A, P)."""
        return np.stack([self._direction(a) for a in range(len(self.factors))])

    def _direction(self, a):
        V, W, Y = self.solved[a], self.earlier[a], self.solved_earlier[a]
        if len(W):
            V = V - Y.T @ positive_solve(W @ Y.T, W @ V)
            if not np.isfinite(V).all():
                return np.zeros(len(V))
        return V @ top_eigenvectors((self.between[a] @ V)[None])[0]

    def deflate(self, found):
        """Follow the newest projections."""
        for a, w in enumerate(found.newest()):
            y = cholesky_solve(self.factors[a], w[:, None])
            self.earlier[a] = np.vstack([self.earlier[a], w])
            self.solved_earlier[a] = np.vstack([self.solved_earlier[a], y.T])


class DualDirections:
    """From ``M = lambda I + A A^T`` of the within rows A, (n, n).

    M is factored once. A projection that gives the rows scores s leaves ``M - s s^T``,
    so what is needed of the inverse follows by one rank-one term, and the data are read
    once for a direction. With `most`, it is that of evenly spaced rows, which are a
    share of the scatter, and of lambda. There is room for `most_found` projections.
    """

    def __init__(self, problem, lambdas, share, most, most_found):
        self.problem, self.most = problem, most
        self.kinds = problem.between.parts, problem.within.start(most)
        part = len(self.kinds[1][0]) / len(problem.within.rows)
        views = [problem.in_metrics(parts) for parts in self.kinds]
        groups = [
            (lanes, between, within)
            for (lanes, between), (_, within) in zip(*views, strict=True)
        ]
        self.duals = Duals(groups, np.multiply(lambdas, part), share, most_found)

    def directions(self, found):
        """Maximisers of J on data deflated by the projections in `found`.

        Returns
        -------
        ndarray of shape (A, P), null where nothing is left to separate.
        """
        (top, dual), (between, within) = self.duals.weights(), self.problem.rows
        if self.problem.has_copies:
            return between.combine(top) - within.combine(dual)
        w = self._combined(top, dual)
        if not found.count:
            return w
        # The rows are raw: subtract the share of the earlier projections.
        S, T = self._scores()
        return w - found.weighted_sum(T @ top[..., None] - S @ dual[..., None])

    def _combined(self, top, dual):
        """Weighted sums (A, P) of both kinds of rows, in the metrics.

        A sum is taken to its metric, not the rows: lanes share one pass over them.
        """
        problem = self.problem
        w = np.empty((len(top), prod(problem.shape)))
        for number, (between, within) in enumerate(zip(*self.kinds, strict=True)):
            lanes = problem.source == number
            w[lanes] = between.combine(top[lanes]) - within.combine(dual[lanes])
        return w if problem.roots is None else problem.roots.transformed(w)

    def _scores(self):
        """Scores so far of the within and between rows: (A, p, n) and (A, p, c)."""
        problem = self.problem
        return problem.within.start_scores(self.most), problem.between.so_far()

    def deflate(self, found):
        """Follow the newest projections."""
        self.duals.deflate(*(scores[:, -1] for scores in self._scores()))


class Duals:
    """The dual problems of all lanes, stacked.

    ``F = M^{-1} C`` (A, n, c) and ``K = B - C^T F`` (A, c, c), where C (n, c) and B
    (c, c) are the products of the deflated rows of the denominator with those of the
    numerator, and of the latter with each other. The direction weights the numerator's
    rows by the top eigenvector of K, the others by F times it.

    A projection leaves ``M - s s^T``, ``C - s t^T`` and ``B - t t^T``. With
    ``q = M^{-1} s / sqrt(1 - s^T M^{-1} s)`` the inverse grows by ``q q^T``, and with
    ``e = (F^T s - t) / sqrt(1 - s^T M^{-1} s)`` F grows by ``q e^T``, K shrinks by
    ``e e^T``. Of F the first and the rows q and e are kept.

    Parameters
    ----------
    groups : list of (ndarray of int, ArrayRows, ArrayRows)
        Lanes that look at the same c and n rows, and these rows.
    ridges : ndarray of shape (A,)
    share : float
        Least ridge, in mean squares of the within rows.
    room : int, default=0
        Number of projections that `deflate` is called for at most.
    """

    def __init__(self, groups, ridges, share, room=0):
        self.factors = []
        (_, between, within), A = groups[0], len(ridges)
        n, c = len(within), len(between)
        self.F, self.K = np.empty((A, n, c)), np.empty((A, c, c))
        self.rows_q, self.rows_e = np.empty((A, room, n)), np.empty((A, room, c))
        self.count = 0
        for group in groups:
            self._factor(*group, ridges, share)

    def _factor(self, lanes, between, within, ridges, share):
        """F and K of lanes before any projection; M once for each ridge."""
        gram = within.gram(within)
        cross, inner = within.gram(between), between.gram(between)
        n = max(1, np.count_nonzero(np.diagonal(gram)))  # null rows fill a source up
        # A ridge below rounding cannot be factored.
        least = max(n * rounding(gram), share / n) * np.trace(gram)
        few, which = np.unique(np.maximum(ridges[lanes], least), return_inverse=True)
        # Of one ridge the matrix itself: it may be as large as a tenth of the samples.
        grams = gram[None] if len(few) == 1 else np.stack([gram] * len(few))
        factors = choleskys(grams, few)
        solved = np.stack([cholesky_solve(factor, cross) for factor in factors])
        self.F[lanes] = solved[which]
        self.K[lanes] = (inner - cross.T @ solved)[which]
        for i, factor in enumerate(factors):
            self.factors.append((lanes[which == i], factor))

    @property
    def Q(self):
        """The rows q so far: (A, p, n)."""
        return self.rows_q[:, : self.count]

    @property
    def E(self):
        """The rows e so far: (A, p, c)."""
        return self.rows_e[:, : self.count]

    def weights(self):
        """Weights (A, c) and (A, n) of both kinds of rows."""
        known = np.isfinite(self.K).all(axis=(1, 2))
        top = top_eigenvectors(np.where(known[:, None, None], self.K, 0.0))
        top[~known] = 0.0
        column = top[..., None]
        some = self.F @ column + self.Q.transpose(0, 2, 1) @ (self.E @ column)
        return top, np.where(known[:, None], some[..., 0], 0.0)

    def deflate(self, S, T):
        """Follow projections with scores S (A, n) and T (A, c)."""
        solved = np.empty_like(S)
        for lanes, factor in self.factors:  # of one lambda, several ranks
            solved[lanes] = cholesky_solve(factor, S[lanes].T).T
        along = (self.Q @ S[..., None]).transpose(0, 2, 1)
        solved = solved[:, None] + along @ self.Q
        left = 1.0 - solved @ S[..., None]
        root = np.sqrt(np.where(left > 0, left, np.nan))  # rounding ate the ridge
        e = (S[:, None] @ self.F + along @ self.E - T[:, None]) / root
        self.K -= e.transpose(0, 2, 1) @ e
        self.count += 1
        self.Q[:, -1:], self.E[:, -1:] = solved / root, e


class FreshDirections:
    """For any deflation: rows are deflated as dense vectors, and nothing is kept."""

    def __init__(self, problem, lambdas, share, most):
        self.problem, self.share, self.most = problem, share, most
        kinds = problem.between.parts, problem.within.start(most)
        part = len(kinds[1][0]) / len(problem.within.rows)
        self.ridges = np.multiply(lambdas, part)
        self.rows = [None] * len(self.ridges)
        views = [problem.in_metrics(parts) for parts in kinds]
        for (lanes, between), (_, within) in zip(*views, strict=True):
            for a in lanes:
                self.rows[a] = between, within

    def directions(self, found):
        """Maximisers of J on data deflated by the projections in `found`: (A, P)."""
        return np.stack([self._direction(found, a) for a in range(len(self.ridges))])

    def _direction(self, found, a):
        problem, V = self.problem, found.removed(a)
        scores = problem.between.so_far(), problem.within.start_scores(self.most)
        rows = [
            _deflated(rows, each[a], V)
            for rows, each in zip(self.rows[a], scores, strict=True)
        ]
        alone = [(np.zeros(1, int), *rows)]
        top, dual = Duals(alone, self.ridges[a : a + 1], self.share).weights()
        between, within = rows
        return (between.combine(top) - within.combine(dual))[0]

    def deflate(self, found):
        """Nothing to follow: `directions` looks at all projections."""


def _deflated(rows, scores, V):
    """Rows without what scores (p, n) times tensors (p, P) add up to."""
    flat = as_type(rows.flat, np.float64)
    return rows.like(flat - put(scores.T, flat) @ put(V, flat))
