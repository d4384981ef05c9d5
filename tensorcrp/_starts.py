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
from scipy.linalg.lapack import dposv

from tensorcrp._algebra import top_eigenvector

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

    In the dual form all that counts is ``M = lambda I + A A^T`` of the within rows A,
    factored once. Deflating by unit tensors with scores S (p, n) of those rows leaves
    ``M - S^T S``, whose inverse needs one matrix of size p (Woodbury), and the data
    are read once for a direction.

    Parameters
    ----------
    between, within : Samples
        c and n rows; the numerator and the denominator of J.
    lambdas : ndarray of shape (A,)
    share : float
        Least ridge, in mean squares of the within rows. The dual form divides rounding
        by the ridge; a start may do with a larger one.
    """

    def __init__(self, between, within, lambdas, share=0.0):
        self.between, self.within = between, within
        gram = within.gram()
        # A ridge below rounding cannot be factored.
        least = max(len(gram) * EPS, share / len(gram)) * np.trace(gram)
        eye = np.eye(len(gram))
        self.chol = [cho_factor(gram + lam * eye) for lam in np.maximum(lambdas, least)]
        self.cross, self.inner = within.gram(between), between.gram()
        self.solved = [cho_solve(chol, self.cross) for chol in self.chol]
        self.solved_scores = [np.empty((0, len(gram))) for _ in lambdas]

    def directions(self, found):
        """Maximisers of J on data deflated by the projections in `found`.

        Returns
        -------
        ndarray of shape (A, P), null where nothing is left to separate.
        """
        S, T = found.all_scores()
        both = [self._dual(a, S[a], T[a]) for a in range(len(self.chol))]
        top, dual = (np.stack(each) for each in zip(*both, strict=True))
        w = self.between.combine(top) - self.within.combine(dual)
        if found.count:
            # The rows above are raw: take the earlier projections' share off.
            shift = T @ top[:, :, None] - S @ dual[:, :, None]
            w = w - found.weighted_sum(shift)
        return w

    def _dual(self, a, S, T):
        """Weights of the between (c,) and within rows (n,) in the direction."""
        Y = self.solved_scores[a]
        F, info = self.solved[a] - Y.T @ T, 0
        if len(S):
            _, more, info = dposv(np.eye(len(S)) - S @ Y.T, S @ F)
            F = F + Y.T @ more
        schur = self.inner - T.T @ T - (self.cross - S.T @ T).T @ F
        if info or not np.isfinite(schur).all():
            return np.zeros(len(schur)), np.zeros(len(F))
        top = top_eigenvector(schur)
        return top, F @ top

    def deflate(self, scores):
        """Follow the newest projections: scores of the within rows, (A, n)."""
        for a, s in enumerate(scores):
            solved = cho_solve(self.chol[a], s)
            self.solved_scores[a] = np.vstack([self.solved_scores[a], solved])
