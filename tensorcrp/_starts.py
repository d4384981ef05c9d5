"""Where block ascent begins.

In: the shape ``(l_1, ..., l_N)`` and rank k, or the data and lambda.
Out: factors ``(B, l_m, k)`` for B lanes, or unconstrained directions ``(B, P)``.

`RidgeDirections` gives the maximiser of J over *all* tensors, that is ridge LDA on
the vectorised, deflated data. Cut to rank k it is the start ``"lda"``; at order 1,
where every tensor has rank one, it is the answer itself.
"""

from itertools import chain, cycle, islice

import numpy as np
from scipy.linalg import cho_factor, cho_solve

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


class RidgeDirections:
    """Ridge-LDA directions of the deflated data, one per lambda.

    Deflating by a unit tensor with scores ``s`` (within rows) and ``t`` (between
    rows) takes ``s s^T`` off the Gram matrix of the rows, so the data are read once
    for a direction and the Gram matrix is factored once for all of them.

    Parameters
    ----------
    between, within : Samples
        c and n rows; the numerator and the denominator of J.
    lambdas : ndarray of shape (A,)
    """

    def __init__(self, between, within, lambdas):
        self.between, self.within = between, within
        gram = within.gram()
        # A ridge below rounding cannot be factored. For a start that is no loss.
        self.lambdas = np.maximum(lambdas, len(gram) * EPS * np.trace(gram))
        eye = np.eye(len(gram))
        self.chol = [cho_factor(gram + lam * eye) for lam in self.lambdas]
        A = len(lambdas)
        self.cross = np.repeat(within.gram(between)[None], A, axis=0)  # A_p D_p^T
        self.inner = np.repeat(between.gram()[None], A, axis=0)  # D_p D_p^T
        self.solved = np.stack(  # F = (lambda I + A_p A_p^T)^{-1} A_p D_p^T
            [cho_solve(chol, self.cross[0]) for chol in self.chol]
        )
        self.updates = [np.empty((len(gram), 0))] * A

    def directions(self, found):
        """Maximisers of J on data deflated by the projections in `found`.

        Returns
        -------
        ndarray of shape (A, P), null where nothing is left to separate.
        """
        schur = self.inner - self.cross.transpose(0, 2, 1) @ self.solved
        top = np.linalg.eigh(schur)[1][:, :, -1:]
        dual = self.solved @ top
        w = self.between.combine(top[:, :, 0]) - self.within.combine(dual[:, :, 0])
        if found.count:
            # The rows above are raw: take the earlier projections' share off.
            scores, scores_between = found.all_scores()
            w -= found.weighted_sum(scores_between @ top - scores @ dual)
        return w

    def deflate(self, scores, scores_between):
        """Take the newest projections off: scores (A, n) and (A, c)."""
        for a, (s, t) in enumerate(zip(scores, scores_between, strict=True)):
            G = self.updates[a]
            g = cho_solve(self.chol[a], s) + G @ (G.T @ s)
            # 1 - s^T g is positive; rounding can spoil it when lambda is tiny.
            left = max(1.0 - s @ g, EPS)
            self.solved[a] += np.outer(g / left, s @ self.solved[a] - t)
            self.cross[a] -= np.outer(s, t)
            self.inner[a] -= np.outer(t, t)
            self.updates[a] = np.column_stack([G, g / np.sqrt(left)])
