"""Where block ascent begins.

In: the shape ``(l_1, ..., l_N)`` and rank k, or the data and lambda.
Out: factors ``(B, l_m, k)`` for B lanes, or unconstrained directions ``(B, P)``.

`ridge_directions` gives the maximiser of J over *all* tensors, that is ridge LDA on
the vectorised, deflated data. Cut to rank k it is the start ``"lda"``; at order 1,
where every tensor has rank one, it is the answer itself.
"""

from itertools import chain, cycle, islice

import numpy as np
from scipy.linalg.lapack import dpftrf, dpftrs, dposv, dpotrf, dpotrs

from tensorcrp._lapack import packed_diagonal, top_eigenvector
from tensorcrp._rows import START_ROWS

EPS = np.finfo(float).eps


def identity_start(shape, rank, rng):
    """The paper's ``I(l_2, k)`` for any order; the first mode is updated first.

    Column r of every other mode is the unit vector r. Beyond the shortest mode the
    columns go through the remaining combinations of unit vectors, so that a short
    mode (three colours, one channel) does not shut the later columns off.
    """
    first, *rest = shape
    shortest = min(rest, default=1)
    diagonal = ((r,) * len(rest) for r in range(shortest))
    others = (index for index in np.ndindex(*rest) if len(set(index)) > 1)
    index = list(islice(cycle(chain(diagonal, others)), rank))
    factors = [np.eye(first, rank)]
    for size, rows in zip(rest, zip(*index, strict=True), strict=True):
        factor = np.zeros((size, rank))
        factor[rows, np.arange(rank)] = 1.0
        factors.append(factor)
    return factors


def random_start(shape, rank, rng):
    """Independent normal entries."""
    return [rng.standard_normal((size, rank)) for size in shape]


STARTS = {"identity": identity_start, "random": random_start}


def ridge_directions(between, within, lambdas, share=0.0):
    """Ridge-LDA directions of the deflated data, one per lambda.

    Parameters
    ----------
    between, within : Rows
        c and n rows; the numerator and the denominator of J.
    lambdas : ndarray of shape (A,)
    share : float
        Least ridge, in mean squares of the within rows. Rounding is divided by the
        ridge; a start may do with a larger one.
    """
    vectors = len(within.samples.shape) == 1
    tall = vectors and len(within.samples) >= within.samples.shape[0]
    if tall:
        return PrimalDirections(between.samples, within.samples, lambdas, share)
    return DualDirections(between, within, lambdas, share, exact=vectors)


class PrimalDirections:
    """From ``S = A^T A + lambda I`` of the within rows A, (P, P): P or more vectors.

    Among the vectors at right angles to the rows of W, the earlier projections,
    ``S^{-1} - S^{-1} W^T (W S^{-1} W^T)^{-1} W S^{-1}`` takes the place of ``S^{-1}``.
    (Above order 1 projections are not orthogonal, and this is not the deflation.)
    """

    def __init__(self, between, within, lambdas, share):
        A, self.between = within.flat.astype(float, copy=False), between.flat
        gram = A.T @ A
        # A ridge below rounding cannot be factored.
        least = max(len(gram) * EPS, share / len(A)) * np.trace(gram)
        eye = np.eye(len(gram))
        self.chol = [_cholesky(gram + lam * eye) for lam in np.maximum(lambdas, least)]
        self.solved = [dpotrs(chol, self.between.T)[0] for chol in self.chol]
        self.earlier = [np.empty((0, len(gram))) for _ in lambdas]
        self.solved_earlier = [np.empty((0, len(gram))) for _ in lambdas]

    def directions(self, found):
        """Maximisers of J on data deflated by the projections in `found`: (A, P)."""
        return np.stack([self._direction(a) for a in range(len(self.chol))])

    def _direction(self, a):
        V, W, Y = self.solved[a], self.earlier[a], self.solved_earlier[a]
        if len(W):
            _, less, info = dposv(W @ Y.T, W @ V)
            V = V - Y.T @ less
            if info or not np.isfinite(V).all():
                return np.zeros(len(V))
        return V @ top_eigenvector(self.between @ V)

    def deflate(self, found):
        """Follow the newest projections."""
        for a, w in enumerate(found.newest()):
            y, _ = dpotrs(self.chol[a], w[:, None])
            self.earlier[a] = np.vstack([self.earlier[a], w])
            self.solved_earlier[a] = np.vstack([self.solved_earlier[a], y.T])


def _cholesky(matrix):
    factor, info = dpotrf(matrix)
    if info:
        raise np.linalg.LinAlgError(f"a scatter of size {len(matrix)} is not positive")
    return factor


class DualDirections:
    """From ``M = lambda I + A A^T`` of the within rows A, (n, n).

    M is factored once. A projection that gives the rows scores s leaves ``M - s s^T``,
    so what is needed of the inverse follows by one rank-one term, and the data are read
    once for a direction. Unless it has to be `exact`, it is that of evenly spaced rows,
    which stand for a share of the scatter, and of lambda.
    """

    def __init__(self, between, within, lambdas, share, exact):
        self.rows, self.most = (between, within), (None if exact else START_ROWS)
        self.between = between.samples
        self.within, part = within.start(self.most)
        n = len(self.within)
        gram, diagonal = self.within.packed_gram(), packed_diagonal(n)
        # A ridge below rounding cannot be factored.
        least = max(n * EPS, share / n) * gram[diagonal].sum()
        ridges = np.maximum(np.multiply(lambdas, part), least)
        cross = self.within.gram(self.between)
        inner = self.between.gram(self.between)
        ridges, self.which = np.unique(ridges, return_inverse=True)
        copies = [gram.copy() for _ in ridges[1:]] + [gram]
        pairs = zip(copies, ridges, strict=True)
        self.factors = [_factored(n, each, diagonal, lam) for each, lam in pairs]
        solved = [_solved(factor, cross) for factor in self.factors]
        self.duals = [_Dual(solved[i], inner - cross.T @ solved[i]) for i in self.which]

    def directions(self, found):
        """Maximisers of J on data deflated by the projections in `found`.

        Returns
        -------
        ndarray of shape (A, P), null where nothing is left to separate.
        """
        both = [dual.weights() for dual in self.duals]
        top, dual = (np.stack(each) for each in zip(*both, strict=True))
        w = self.between.combine(top) - self.within.combine(dual)
        if found.count:
            # The rows above are raw: take the earlier projections' share off.
            S, T = self._scores()
            shift = T @ top[:, :, None] - S @ dual[:, :, None]
            w = w - found.weighted_sum(shift)
        return w

    def _scores(self):
        """Scores so far of the within and between rows: (A, p, n) and (A, p, c)."""
        between, within = self.rows
        return within.start_scores(self.most), between.so_far()

    def deflate(self, found):
        """Follow the newest projections."""
        S, T = (scores[:, -1] for scores in self._scores())
        for i, factor in enumerate(self.factors):
            lanes = np.flatnonzero(self.which == i)  # of one lambda, several ranks
            solved = _solved(factor, S[lanes].T).T
            for a, solution in zip(lanes, solved, strict=True):
                self.duals[a].deflate(S[a], T[a], solution)


class _Dual:
    """``F = M^{-1} C`` (n, c) and ``K = B - C^T F`` (c, c) for one lambda and rank.

    C (n, c) and B (c, c) are the products of the deflated rows of the denominator with
    those of the numerator, and of the latter with each other. The direction weighs the
    numerator's rows by the top eigenvector of K, the others by F times it.

    A projection leaves ``M - s s^T``, ``C - s t^T`` and ``B - t t^T``. With
    ``q = M^{-1} s / sqrt(1 - s^T M^{-1} s)`` the inverse grows by ``q q^T``, and with
    ``e = (F^T s - t) / sqrt(1 - s^T M^{-1} s)`` F grows by ``q e^T``, K shrinks by
    ``e e^T``. Of F the first and the rows q and e are kept.
    """

    def __init__(self, F, K):
        self.F, self.K = F, K
        self.Q, self.E = np.empty((0, len(F))), np.empty((0, len(K)))

    def weights(self):
        """Weights of the numerator's rows (c,) and of the others (n,)."""
        if not np.isfinite(self.K).all():
            return np.zeros(len(self.K)), np.zeros(len(self.F))
        top = top_eigenvector(self.K)
        return top, self.F @ top + (self.E @ top) @ self.Q

    def deflate(self, s, t, solution):
        """Follow a projection with scores s (n,) and t (c,).

        The solution (n,) is that of the first M, ``M^{-1} s``.
        """
        along = self.Q @ s
        solved = solution + along @ self.Q
        left = 1.0 - s @ solved
        root = np.sqrt(left) if left > 0 else np.nan  # rounding ate the ridge
        q, e = solved / root, (s @ self.F + along @ self.E - t) / root
        self.Q, self.E = np.vstack([self.Q, q]), np.vstack([self.E, e])
        self.K = self.K - np.outer(e, e)


def _factored(n, packed, diagonal, lam):
    """Cholesky factor of ``gram + lam I``, in the place of the packed Gram matrix."""
    packed[diagonal] += lam
    factor, info = dpftrf(n, packed, overwrite_a=1)
    if info:
        raise np.linalg.LinAlgError(f"a Gram matrix of size {n} is not positive")
    return factor


def _solved(factor, right):
    solution, _ = dpftrs(len(right), factor, right)
    return solution
