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
        return _pass(self.rows, [columns(some) for some in factors], left)

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


class SharedRows(DeflatedRows):
    """Rows of several sources, each shared by lanes that are consecutive.

    Parameters
    ----------
    parts : list of ArrayRows
        As many rows of the same shape from every source.
    source : ndarray of int, shape (A,)
        That of every sequence of projections.
    n_components : int
    """

    def __init__(self, parts, source, n_components):
        super().__init__(parts[0], len(source), n_components)
        self.parts, self.source = parts, source

    def begin(self, factors, left, which):
        """One pass over every source, for its lanes: as in `DeflatedRows`."""
        found = [[] for _ in factors]
        lanes = [self.source[each] for each in which]
        for number, rows in enumerate(self.parts):
            ends = [np.searchsorted(each, [number, number + 1]) for each in lanes]
            some = [
                columns([factor[first:last] for factor in each])
                for each, (first, last) in zip(factors, ends, strict=True)
            ]
            for each, product in zip(found, _pass(rows, some, left), strict=True):
                each.append(product)
        return [np.concatenate(each) for each in found]


class LaneRows(DeflatedRows):
    """Copies of rows, one per sequence of projections, deflated as these are found.

    Parameters
    ----------
    parts : list of ArrayRows
        As many rows of the same shape from every source.
    source : ndarray of int, shape (A,)
        That of every sequence of projections.
    found : Found
        The projections, by the paper's deflation.
    roots : LaneRoots or None
        Metric of every sequence; None where all are plain.
    """

    has_copies = True

    def __init__(self, parts, source, found, roots):
        super().__init__(parts[0], len(source), found.room)
        rows, self.parts, self.found = parts[0], parts, found
        self.shape, self.split = rows.row_shape, rows.split
        self.copies = np.empty((len(source), prod(self.shape), self.n))
        for lanes, rows in rows_in_metrics(parts, source, roots):
            self.copies[lanes] = np.moveaxis(rows.array, 0, -1).reshape(-1, self.n)

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


def _pass(rows, columns, left):
    """One pass over rows for several lists of factors (l_m, K): a product for each."""
    together = [np.hstack(mode) for mode in zip(*columns, strict=True)]
    ends = np.cumsum([some[0].shape[1] for some in columns])
    return np.split(rows.side_product(together, left), ends[:-1])


def rows_in_metrics(parts, source, roots):
    """Rows in the coordinates of their metric, with the lanes that look at them.

    Parameters
    ----------
    parts : list of Rows
        In memory, one per source.
    source : ndarray of int, shape (A,)
        That of every lane.
    roots : LaneRoots or None
        Metric of every lane; None where all are plain.

    Yields
    ------
    tuple of ndarray of int and Rows
    """
    metric = np.zeros(len(source), int) if roots is None else roots.which
    for number, kind in np.unique([source, metric], axis=1).T:
        rows = parts[number]
        if roots is not None:
            rows = rows.transformed(roots.of_metric(kind))
        yield np.flatnonzero((source == number) & (metric == kind)), rows


def deflated_rows(kinds, source, found, roots):
    """Both kinds of rows, deflated as copies where these are small.

    Parameters
    ----------
    kinds : list of lists of Rows
        Of the numerator and of the denominator, one per source.
    source : ndarray of int, shape (A,)
        That of every sequence of projections.
    found : Found
        The projections to deflate by, none as yet.
    roots : LaneRoots or None
        Metric of every sequence of projections; None where all are plain.
    """
    A, h = len(source), found.room
    if found.deflation.is_plain and worth_copies([parts[0] for parts in kinds], A):
        return [LaneRows(parts, source, found, roots) for parts in kinds]
    if len(kinds[0]) == 1:
        return [parts[0].deflated(A, h) for parts in kinds]
    return [SharedRows(parts, source, h) for parts in kinds]


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


def mixed(white, Z):
    """Columns mixed by T (B, k, k) of `cp.whitening`: Z (B, k, size) -> the same."""
    return Z * white if white.shape[1] == 1 else white.transpose(0, 2, 1) @ Z


def columns(factors):
    """Factors (B, l_m, k) as matrices (l_m, B k): lanes are more columns."""
    return [f.transpose(1, 0, 2).reshape(f.shape[1], -1) for f in factors]
