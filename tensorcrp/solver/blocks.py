"""Rows in one block update: contracted, in white coordinates, deflated.

In: rows (`rows.Rows`) and, in each block update, factors ``(B, l_m, k)`` of B lanes.
Out: per lane, the features Z (d, n) of the deflated rows in the block's coordinates,
``d = l_m k``, by what an update needs of them: ``Z Z^T`` (d, d) and ``Z^T u`` (n,).

What the earlier projections explain is subtracted after the contraction, from the rows'
*scores* under these projections, which stay here (`DeflatedRows`). That product of
scores and overlaps grows with the number of projections. Where all rows are small, the
paper's deflation (equation 3) is carried out on a copy for every sequence of
projections, in the coordinates of its metric: ``X - s W`` once per projection
(`LaneRows`). The rows themselves are never changed.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np

from tensorcrp.base.types import Array
from tensorcrp.solver.cp import stacked_khatri_rao
from tensorcrp.solver.linalg import (
    consecutive,
    contract_lanes,
    subtract_outer,
    subtract_products,
)

# All copies together stay in the cache of the processor: beyond it lanes that share one
# pass over the data are faster.
MOST_BYTES = 2**24


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
    scores : ndarray of shape (A, h, n)
        Filled as far as projections have been found, for A sequences of projections.
    has_copies : bool
        Whether the rows are deflated themselves, in the coordinates of the metrics:
        see `LaneRows`.
    """

    has_copies = False

    def __init__(self, rows, n_lanes, n_components):
        self.rows, self.n, self.count = rows, len(rows), 0
        self.scores = np.zeros((n_lanes, n_components, self.n))

    def begin(self, factors, left, which=None):
        """One pass over the data, for all modes of one side: see `Rows.side_product`.

        One product for each of several lists of factors, whose ranks may differ.
        """
        each = [columns(some) for some in factors]
        together = [np.hstack(mode) for mode in zip(*each, strict=True)]
        ends = np.cumsum([some[0].shape[1] for some in each])
        return np.split(self.rows.side_product(together, left), ends[:-1])

    def block(self, product, view):
        """What an update needs to know, from the product of the side of its mode."""
        lanes, size, rank = view.factors[view.mode].shape
        Z = self.rows.finish(product, columns(view.factors), view.mode)
        if view.root is not None:
            Z = view.root[:, None] @ Z.reshape(lanes, rank, size, -1)
        Z = Z.reshape(lanes, rank, -1).astype(float, copy=False)
        Z = view.white.transpose(0, 2, 1) @ Z
        Z = Z.reshape(lanes, rank * size, self.n)
        self.deflate(Z, view)
        return Block(Z)

    def deflate(self, Z, view):
        """Subtract from the features Z (B, d, n) what earlier projections explain."""
        if self.count:
            scores = self.so_far()[consecutive(view.which)]
            subtract_products(Z, view.overlaps, scores)

    def projected(self, vectors, overlaps, which):
        """The same at order 1, where vectors (B, P) are whole projections: d = 1."""
        scores = self.rows.side_product([vectors.T], left=True).astype(float)
        for lane, a in enumerate(which):
            scores[lane] -= overlaps[lane] @ self.so_far()[a]
        return Block(scores[:, None])

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
        """At most `most` evenly spaced rows (None: all), in memory."""
        return self.rows if most is None else self.rows.some(-(-self.n // most))

    def start_scores(self, most):
        """Scores so far of the rows of `start`: (A, p, at most `most`)."""
        step = 1 if most is None else -(-self.n // most)
        return self.so_far()[:, :, ::step]


class LaneRows(DeflatedRows):
    """Copies of rows, one per sequence of projections, deflated as these are found.

    Parameters
    ----------
    rows : ArrayRows
    found : Found
        The projections, by the paper's deflation.
    n_components : int
    roots : LaneRoots or None
        Metric of every sequence; None where all are plain.
    """

    has_copies = True

    def __init__(self, rows, found, n_components, roots):
        A = len(found.lambdas)
        super().__init__(rows, A, n_components)
        self.found, self.shape, self.split = found, rows.row_shape, rows.split
        self.copies = np.empty((A, prod(self.shape), self.n))
        metrics = np.zeros(A, int) if roots is None else roots.which
        for number in np.unique(metrics):
            some = rows
            if roots is not None:
                some = rows.transformed(roots.of_metric(number))
            flat = np.moveaxis(some.array, 0, -1).reshape(-1, self.n)
            self.copies[metrics == number] = flat

    def begin(self, factors, left, which):
        """One product per list of factors, each lane with its own rows."""
        return [self._product(*each, left) for each in zip(factors, which, strict=True)]

    def _product(self, factors, which, left):
        s, shape = self.split, self.shape
        gone = stacked_khatri_rao(factors[s:] if left else factors[:s], factors)
        L, kept = prod(shape[:s]), shape[:s] if left else shape[s:]
        X = self.copies.reshape(len(self.copies), L, -1, self.n)
        X = X if left else X.reshape(len(X), 1, L, -1)
        vectors = np.ascontiguousarray(gone.transpose(0, 2, 1))
        return contract_lanes(X, consecutive(which), vectors).reshape(-1, *kept, self.n)

    def deflate(self, Z, view):
        """Nothing: the copies are deflated."""

    def keep(self, scores):
        """Follow the next projection of every sequence, by its scores (A, n)."""
        super().keep(scores)
        for copy, w, s in zip(
            self.copies, self.found.newest_dense(), scores, strict=True
        ):
            subtract_outer(copy, w, s)


def deflated_rows(rows, found, roots):
    """Both kinds of rows, deflated as copies where these are small.

    Parameters
    ----------
    rows : list of Rows
    found : Found
        The projections to deflate by, none as yet.
    roots : LaneRoots or None
        Metric of every sequence of projections; None where all are plain.
    """
    if found.deflation.is_plain and worth_copies(rows, len(found.ranks)):
        return [LaneRows(each, found, found.room, roots) for each in rows]
    return [each.deflated(len(found.ranks), found.room) for each in rows]


def worth_copies(rows, n_lanes):
    """Whether rows are deflated as copies: arrays of which all copies are in cache.

    Not a matter of the number of projections, so that the first ones do not depend on
    how many follow.
    """
    if len(rows[0].row_shape) == 1 or not all(each.is_array for each in rows):
        return False
    return 8 * n_lanes * sum(prod(each.shape) for each in rows) <= MOST_BYTES


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


def columns(factors):
    """Factors (B, l_m, k) as matrices (l_m, B k): lanes are more columns."""
    return [f.transpose(1, 0, 2).reshape(f.shape[1], -1) for f in factors]
