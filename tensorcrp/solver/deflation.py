"""Deflation: what is subtracted from the data once a projection is known.

In: projections ``W_1, ..., W_p`` of norm one, found one after the other. Out: what a
sample loses with each of them, how a block update sees that, and the one matrix that
turns raw samples into features.

The score of a sample under projection p is ``s_p = <X_{p-1}, W_p>``, taken on the
sample deflated by the earlier ones, ``X_p = X_{p-1} - s_p V_p``. The tensor ``V_p`` is
the paper's ``W_p`` (equation 3), or any combination of ``W_1, ..., W_p``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from math import prod

import numpy as np

from tensorcrp.base.types import Array
from tensorcrp.solver.cp import cp_dense, cp_gram, cp_sum
from tensorcrp.solver.linalg import lower_solve
from tensorcrp.solver.products import consecutive


class Deflation(ABC):
    """Which tensors ``V_p`` are subtracted, one per projection.

    Subclasses implement `removed`.

    Attributes
    ----------
    is_plain : bool
        Whether ``V_p = W_p``: starts then follow a projection by rank-one terms, and
        at order 1 projections are orthogonal.

    Examples
    --------
    Half of each projection is subtracted:

    >>> import numpy as np
    >>> from tensorcrp.solver import Deflation
    >>> class Half(Deflation):
    ...     def removed(self, gram):
    ...         return np.broadcast_to(np.eye(gram.shape[-1]) / 2, gram.shape)
    """

    is_plain: bool = False

    @abstractmethod
    def removed(self, gram: Array) -> Array | None:
        """The matrix T of ``V = T W``.

        Parameters
        ----------
        gram : ndarray of shape (..., p, p)
            Inner products of the projections found so far.

        Returns
        -------
        ndarray of shape (..., p, p) or None
            Lower triangular; row p must not depend on later projections. None for
            ``V = W``.
        """


class PaperDeflation(Deflation):
    """Each projection itself is subtracted: ``X - <X, W> W``, the paper's (3).

    Examples
    --------
    >>> from tensorcrp.solver import PaperDeflation
    >>> PaperDeflation().is_plain
    True
    """

    is_plain = True

    def removed(self, gram: Array) -> Array | None:
        """None: ``V = W``.

        Parameters
        ----------
        gram : ndarray of shape (..., p, p)
            Not looked at.

        Returns
        -------
        None
            Projections themselves are subtracted.
        """


def feature_rows(W, T=None, raw=None):
    """Rows that include the deflation of a new sample: ``C^{-1} W``, (h, P).

    Feature p is ``<X - sum_{q<p} y_q V_q, W_p>``, so ``C y = W vec(X)`` with
    ``C = tril(W V^T, -1) + I`` and ``V = T W``.

    Parameters
    ----------
    W : ndarray of shape (h, P)
    T : ndarray of shape (h, h), default=None
        As `Deflation.removed` gives it.
    raw : ndarray of shape (h, P), default=None
        The projections of raw samples, if W are those of a metric's coordinates.
    """
    V = W if T is None else T @ W
    raw = W if raw is None else raw
    return lower_solve(W @ V.T, raw, unit=True)


def deflated_scores(scores, overlaps):
    """Features (n, h) of samples from their raw scores, by C of `feature_rows`.

    Parameters
    ----------
    scores : ndarray of shape (n, h)
        ``W vec(X)`` of raw samples.
    overlaps : ndarray of shape (h, h)
        ``W V^T``.
    """
    return lower_solve(overlaps, scores.T, unit=True).T


def _rest(u, W):
    """Vectors (B, P) without their share in the span of orthonormal rows (B, p, P)."""
    return u - ((W @ u[..., None]).transpose(0, 2, 1) @ W)[:, 0]


class Found:
    """Projections found so far, in A sequences: one per metric, rank and ridge.

    Columns beyond the rank of a sequence are null.

    Parameters
    ----------
    shape : tuple of int
    lambdas : ndarray of shape (A,)
    ranks : sequence of A int
    n_components : int
    deflation : Deflation
    """

    def __init__(self, shape, lambdas, ranks, n_components, deflation):
        A, h = len(lambdas), n_components
        self.lambdas, self.ranks = lambdas, np.broadcast_to(ranks, A)
        self.deflation, self.mixing, self.room = deflation, None, n_components
        self.count, self._newest = 0, None
        # Columns lie in memory as rows: `overlaps` reads them as (h k, l_m) matrices.
        self.columns = [np.zeros((A, h, self.ranks.max(), size)) for size in shape]
        self.factors = [each.transpose(0, 1, 3, 2) for each in self.columns]
        self.history = [[] for _ in range(A)]
        self.n_iter = np.zeros((A, h), int)
        self.converged = np.zeros((A, h), bool)

    def overlaps(self, which, factors, mode, white):
        """What is subtracted per unit of each earlier score, in a block: (B, d, p).

        Earlier projections are contracted as the rows are: a product of k x k
        cross-Gram matrices, because they are CP tensors too.
        """
        lanes = consecutive(which)
        earlier = [each[lanes, : self.count] for each in self.columns]
        B, p, most, size = earlier[mode].shape
        k = white.shape[1]
        cross = np.ones((B, p * most, k))
        for m, factor in enumerate(factors):
            if m != mode:
                cross *= earlier[m].reshape(B, p * most, factor.shape[1]) @ factor
        mixed = (cross @ white).reshape(B, p, most, k)
        seen = mixed.transpose(0, 1, 3, 2) @ earlier[mode]
        seen = seen.reshape(B, p, k * size)
        if self.mixing is not None:
            seen = self.mixing[which] @ seen
        return seen.transpose(0, 2, 1)

    def orthogonal(self, which, u):
        """Unit vectors (B, P) without their share in the earlier ones, at order 1.

        There the paper's projections are orthogonal, which rounding divided by a small
        lambda would undo.
        """
        W = self.columns[0][consecutive(which), : self.count, 0]
        u = _rest(u, W)
        for lane in np.flatnonzero(np.linalg.norm(u, axis=1) < 1e-8):
            # Nothing left to separate: any will do.
            least = np.argmin((W[lane] ** 2).sum(axis=0))
            u[lane] = np.eye(1, u.shape[1], least)[0]
        for _ in range(2):  # once more for what rounding left of the first time
            u = _rest(u, W)
            u /= np.linalg.norm(u, axis=1, keepdims=True)
        return u

    def newest(self):
        """The last projection of every sequence at order 1: (A, P)."""
        return self.factors[0][:, self.count - 1, :, 0]

    def newest_dense(self):
        """The last projection of every sequence as a vector: (A, P)."""
        if self._newest is None:
            W = cp_dense([factor[:, self.count - 1] for factor in self.factors])
            self._newest = W.reshape(len(W), -1)
        return self._newest

    def removed(self, a):
        """Dense tensors (p, P) that one sequence subtracts, one per projection."""
        W = cp_dense([factor[a, : self.count] for factor in self.factors])
        W = W.reshape(self.count, prod(W.shape[1:]))
        return W if self.mixing is None else self.mixing[a] @ W

    def weighted_sum(self, weights):
        """Dense sums of what is subtracted: weights (A, p, 1) -> (A, P)."""
        if self.mixing is not None:
            weights = self.mixing.transpose(0, 2, 1) @ weights
        first, *rest = (factor[:, : self.count] for factor in self.factors)
        sums = cp_sum([first * weights[..., None], *rest])
        return sums.reshape(len(weights), -1)

    def add(self, ascents, winners):
        """Keep the winning lane of every sequence as the next component."""
        for ascent, lanes in zip(ascents, winners, strict=True):
            self._add(ascent, lanes, ascent.which[lanes])
        self.count, self._newest = self.count + 1, None
        if not self.deflation.is_plain:
            gram = cp_gram([factor[:, : self.count] for factor in self.factors])
            self.mixing = self.deflation.removed(gram)

    def _add(self, ascent, lanes, where):
        p, rank = self.count, ascent.weights.shape[1]
        for kept, factor in zip(self.factors, ascent.factors, strict=True):
            kept[where, p, :, :rank] = factor[lanes]
        self.factors[0][where, p, :, :rank] *= ascent.weights[lanes][:, None]
        self.n_iter[where, p] = ascent.n_iter[lanes]
        self.converged[where, p] = ascent.converged[lanes]
        for a, lane in zip(where, lanes, strict=True):
            self.history[a].append(np.array(ascent.history[lane]))
