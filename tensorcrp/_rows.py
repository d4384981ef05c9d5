"""Rows of the numerator and the denominator of J, as block ascent sees them.

In: n rows of shape ``(l_1, ..., l_N)`` that stand for a scatter ``sum_i <A_i, W>^2``,
and in each block update the factors ``(B, l_m, k)`` of B lanes.
Out: per lane, the features Z (d, n) of the deflated rows in the block's coordinates,
``d = l_m k``, by what an update needs of them: ``Z Z^T`` (d, d) and ``Z^T u`` (n,).

Rows are never changed. What the earlier projections explain of them is taken off after
the contraction, from the rows' *scores* under these projections, which stay here: rows
that live elsewhere (on disk, on other machines) give away sums alone.
"""

from dataclasses import dataclass

import numpy as np

from tensorcrp._blas import subtract_product
from tensorcrp._samples import Samples

# A start needs a fair picture of the scatter, not all of it: this many rows at most.
START_ROWS = 1024


@dataclass(frozen=True)
class View:
    """How one block update looks at the rows.

    Attributes
    ----------
    factors : list of ndarray (B, l_m, k)
    mode : int
        The mode that is not contracted.
    white : ndarray of shape (B, k, k)
        Its columns are mixed by these, see `whitening`.
    overlaps : ndarray of shape (B, d, p)
        The p earlier projections seen in the same way.
    which : ndarray of int, shape (B,)
        The lambda that a lane belongs to.
    """

    factors: list
    mode: int
    white: np.ndarray
    overlaps: np.ndarray
    which: np.ndarray

    def lane(self, lane):
        """The same for one lane alone."""
        part = slice(lane, lane + 1)
        factors = [factor[part] for factor in self.factors]
        arrays = (each[part] for each in (self.white, self.overlaps, self.which))
        return View(factors, self.mode, *arrays)

    @property
    def columns(self):
        """The factors as matrices (l_m, B k)."""
        return columns(self.factors)


class Rows:
    """Rows in memory, with their scores under the projections found so far.

    Attributes
    ----------
    samples : Samples
    scores : ndarray of shape (A, h, n)
        Filled as far as projections have been found, for A values of lambda.
    """

    def __init__(self, samples, n_lambdas, n_components):
        self.samples, self.count = samples, 0
        self.scores = np.zeros((n_lambdas, n_components, len(samples)))

    def begin(self, factors, left):
        """One pass over the data, for all modes of one side: see `side_product`.

        One product for each of several lists of factors, whose ranks may differ.
        """
        each = [columns(some) for some in factors]
        together = [np.hstack(mode) for mode in zip(*each, strict=True)]
        ends = np.cumsum([some[0].shape[1] for some in each])
        return np.split(self.samples.side_product(together, left), ends[:-1])

    def block(self, product, view):
        """What an update needs to know, from the product of the side of its mode."""
        lanes, size, rank = view.factors[view.mode].shape
        Z = self.samples.finish(product, view.columns, view.mode)
        Z = Z.reshape(lanes, rank, -1).astype(float, copy=False)
        Z = view.white.transpose(0, 2, 1) @ Z
        Z = Z.reshape(lanes, rank * size, len(self.samples))
        for lane, a in enumerate(view.which if self.count else ()):
            subtract_product(Z[lane], view.overlaps[lane], self.so_far()[a])
        return Block(Z)

    def projected(self, vectors, overlaps, which):
        """The same at order 1, where vectors (B, P) are whole projections: d = 1."""
        scores = self.samples.side_product([vectors.T], left=True).astype(float)
        for lane, a in enumerate(which):
            scores[lane] -= overlaps[lane] @ self.so_far()[a]
        return Block(scores[:, None])

    def no_scores(self, lanes):
        """Room for the scores of so many lanes, as `Block.scores` gives them."""
        return np.zeros((lanes, len(self.samples)))

    def keep(self, scores):
        """Follow the next projection of every lambda, by its scores (A, n)."""
        self.scores[:, self.count] = scores
        self.count += 1

    def so_far(self):
        """Scores under the projections found so far: (A, p, n)."""
        return self.scores[:, : self.count]

    def start(self, most):
        """Evenly spaced rows, at most so many (None: all), and what share they are."""
        some = self.samples if most is None else self.samples.some(most)
        return some, len(some) / len(self.samples)

    def start_scores(self, most):
        """Scores so far of the rows of `start`: (A, p, at most `most`)."""
        step = 1 if most is None else -(-len(self.samples) // most)
        return self.so_far()[:, :, ::step]


@dataclass(frozen=True)
class Block:
    """Features ``Z`` (B, d, n) of the rows in one block update."""

    Z: np.ndarray

    @property
    def is_long(self):
        """Whether a block has more entries than there are rows."""
        return self.Z.shape[1] > self.Z.shape[2]

    def gram(self):
        """``Z Z^T`` of every lane: (B, d, d)."""
        return np.stack([Z @ Z.T for Z in self.Z])

    def scores(self, u):
        """What blocks (B, d) make of the rows: (B, n)."""
        return (u[:, None] @ self.Z)[:, 0]

    def energy(self, u):
        """Sums of squared scores: (B,)."""
        return (self.scores(u) ** 2).sum(axis=1)


def columns(factors):
    """Factors (B, l_m, k) as matrices (l_m, B k): lanes are more columns."""
    return [f.transpose(1, 0, 2).reshape(f.shape[1], -1) for f in factors]


def as_rows(rows, n_lambdas, n_components):
    """Rows from an array, or from what has its own way of making them."""
    if isinstance(rows, np.ndarray):
        return Rows(Samples.of(rows), n_lambdas, n_components)
    return rows.rows(n_lambdas, n_components)
