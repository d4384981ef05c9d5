"""Rows in one block update: contracted, in white coordinates, deflated.

In: rows (`rows.Rows`) and, in each block update, factors ``(B, l_m, k)`` of B lanes.
Out: per lane, the features Z (d, n) of the deflated rows in the block's coordinates,
``d = l_m k``, by what an update needs of them: ``Z Z^T`` (d, d) and ``Z^T u`` (n,).

What the earlier projections explain is subtracted after the contraction, from the rows'
*scores* under these projections, which stay here (`DeflatedRows`). The rows themselves
are never changed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tensorcrp.base.types import Array
from tensorcrp.solver.products import consecutive, subtract_products


@dataclass(frozen=True)
class BlockView:
    """How one block update looks at the rows.

    Attributes
    ----------
    factors : list of ndarray (B, l_m, k)
        What the data are contracted with.
    mode : int
        The mode that is not contracted.
    white : ndarray of shape (B, k, k)
        Its columns are mixed by these, see `cp.whitening`.
    overlaps : ndarray of shape (B, d, p) or None
        What is subtracted per unit of each of the p earlier scores, seen in the same
        way; None where the rows are deflated.
    which : ndarray of int, shape (B,)
        The sequence of projections that a lane belongs to.
    root : ndarray of shape (B, l_m, l_m) or None
        Root of the metric of this mode, see `metric`; None for the identity.
    """

    factors: list
    mode: int
    white: np.ndarray
    overlaps: np.ndarray
    which: np.ndarray
    root: np.ndarray = None

    def lane(self, lane):
        """The same for one lane alone."""
        part = slice(lane, lane + 1)
        factors = [factor[part] for factor in self.factors]
        arrays = (each[part] for each in (self.white, self.overlaps, self.which))
        root = None if self.root is None else self.root[part]
        return BlockView(factors, self.mode, *arrays, root)


class DeflatedRows:
    """Rows and their scores under the projections found so far.

    Attributes
    ----------
    rows : Rows
    parts : list of Rows
        One per source of rows: here one, that all lanes share.
    scores : ndarray of shape (A, h, n)
        Filled as far as projections have been found, for A sequences of projections.
    has_copies : bool
        Whether the rows are deflated themselves, in the coordinates of the metrics:
        see `LaneRows`.
    """

    has_copies = False

    def __init__(self, rows, n_lanes, n_components):
        self.rows, self.n, self.count = rows, len(rows), 0
        self.parts = [rows]
        self.scores = np.zeros((n_lanes, n_components, self.n))

    def begin(self, factors, left, which=None):
        """One pass over the data, for all modes of one side: see `Rows.side_product`.

        One product for each of several lists of factors, whose ranks may differ.
        """
        return pass_over(self.rows, [columns(some) for some in factors], left)

    def block(self, product, view):
        """What an update needs to know, from the product of the side of its mode."""
        lanes, size, rank = view.factors[view.mode].shape
        Z = self.rows.finish(product, columns(view.factors), view.mode)
        if view.root is not None:
            Z = view.root[:, None] @ Z.reshape(lanes, rank, size, -1)
        Z = mixed(view.white, Z.reshape(lanes, rank, -1).astype(float, copy=False))
        Z = Z.reshape(lanes, rank * size, self.n)
        self.deflate(Z, view)
        return Block(Z)

    def deflate(self, Z, view):
        """Subtract from the features Z (B, d, n) what earlier projections explain."""
        if self.count:
            scores = self.so_far()[consecutive(view.which)]
            subtract_products(Z, view.overlaps, scores)

    def projected(self, vectors, which):
        """The same at order 1, where vectors (B, P) are whole projections: d = 1.

        They are orthogonal to the earlier ones: deflated rows have the same scores.
        """
        (scores,) = self.begin([[vectors[:, :, None]]], True, [which])
        return Block(scores[:, None].astype(float, copy=False))

    def no_scores(self, lanes):
        """An array for the scores of B lanes, as `Block.scores` gives them."""
        return np.zeros((lanes, self.n))

    def keep(self, scores):
        """Follow the next projection of every sequence, by its scores (A, n)."""
        self.scores[:, self.count] = scores
        self.count += 1

    def so_far(self):
        """Scores under the projections found so far: (A, p, n)."""
        return self.scores[:, : self.count]

    def start(self, most):
        """At most `most` evenly spaced rows (None: all) of every source, in memory."""
        step = 1 if most is None else -(-self.n // most)
        return [each if most is None else each.some(step) for each in self.parts]

    def start_scores(self, most):
        """Scores so far of the rows of `start`: (A, p, at most `most`)."""
        step = 1 if most is None else -(-self.n // most)
        return self.so_far()[:, :, ::step]


def pass_over(rows, columns, left):
    """One pass over rows for several lists of factors (l_m, K): a product for each."""
    together = [np.hstack(mode) for mode in zip(*columns, strict=True)]
    ends = np.cumsum([some[0].shape[1] for some in columns])
    return np.split(rows.side_product(together, left), ends[:-1])


@dataclass(frozen=True)
class Block:
    """Features ``Z`` (B, d, n) of the rows in one block update."""

    Z: Array

    @property
    def is_long(self) -> bool:
        """Whether a block has more entries than there are rows."""
        return self.Z.shape[1] > self.Z.shape[2]

    def gram(self) -> Array:
        """``Z Z^T`` of every lane: (B, d, d)."""
        return np.stack([Z @ Z.T for Z in self.Z])

    def scores(self, u: Array) -> Array:
        """What blocks (B, d) make of the rows: (B, n)."""
        return (u[:, None] @ self.Z)[:, 0]

    def energy(self, u: Array) -> Array:
        """Sums of squared scores: (B,)."""
        return (self.scores(u) ** 2).sum(axis=1)


def mixed(white, Z):
    """Columns mixed by T (B, k, k) of `cp.whitening`: Z (B, k, size) -> the same."""
    return Z * white if white.shape[1] == 1 else white.transpose(0, 2, 1) @ Z


def columns(factors):
    """Factors (B, l_m, k) as matrices (l_m, B k): lanes are more columns."""
    return [f.transpose(1, 0, 2).reshape(f.shape[1], -1) for f in factors]
