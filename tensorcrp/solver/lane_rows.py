"""Rows that lanes look at: shared by some of them, or a deflated copy for each.

In: small rows in memory, from one source or several (the folds of a search), and the
source of every sequence of projections. Out: what `blocks.DeflatedRows` promises.

The product of scores and overlaps that `DeflatedRows` subtracts grows with the number
of projections. Where all rows are small, the paper's deflation (equation 3) is carried
out on a copy for every sequence of projections, in the coordinates of its metric:
``X - s W`` once per projection (`LaneRows`).
"""

from __future__ import annotations

from math import prod

import numpy as np

from tensorcrp.solver.array_rows import ArrayRows
from tensorcrp.solver.blocks import Block, DeflatedRows, columns, pass_over
from tensorcrp.solver.cp import stacked_khatri_rao
from tensorcrp.solver.products import consecutive, contract_lanes, subtract_outer
from tensorcrp.solver.rows import empty_rows

# All copies together stay in the cache of the processor: beyond it lanes that share one
# pass over the data are faster.
MOST_BYTES = 2**24
SMALL_BYTES = 2**25  # of all rows that are solved together


def at_hand(given):
    """Rows that may be read as a whole as an array in host memory; others as they are.

    Parameters
    ----------
    given : Rows or ndarray of shape (n, l_1, ..., l_N)

    Returns
    -------
    Rows
        Rows on a device are copied, once.
    """
    rows = ArrayRows.of(given)
    return in_memory(rows) if rows.in_memory else rows


def in_memory(rows):
    """Rows of an array or of any kind, as an array in memory."""
    rows = ArrayRows.of(rows)
    return rows if rows.is_array else ArrayRows.of(np.asarray(rows))


def is_small(sources):
    """Whether pairs of rows are arrays that are solved together at little cost.

    What is saved does not grow with the rows: large ones are solved one by one, so that
    there is one working copy at a time.
    """
    each = [rows for pair in sources for rows in pair]
    return all(rows.is_array for rows in each) and (
        sum(rows.nbytes for rows in each) <= SMALL_BYTES
    )


def of_one_length(parts):
    """Rows of several sources, null rows added to the shorter ones."""
    most = max(map(len, parts))
    return [rows if len(rows) == most else _filled_up(rows, most) for rows in parts]


def _filled_up(rows, n):
    array = empty_rows((n, *rows.row_shape), rows.dtype)
    array[: len(rows)], array[len(rows) :] = rows.array, 0.0
    return ArrayRows.of(array)


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
            if all(first == last for first, last in ends):  # its lanes are all done
                continue
            some = [
                columns([factor[first:last] for factor in each])
                for each, (first, last) in zip(factors, ends, strict=True)
            ]
            for each, product in zip(found, pass_over(rows, some, left), strict=True):
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

    def projected(self, vectors, which):
        """Scores under whole projections (B, P) at order 1."""
        return Block(vectors[:, None] @ self.copies[consecutive(which)])

    def combine(self, weights):
        """Weighted sums (A, P) of the deflated rows, or of those of `start`."""
        step = -(-self.n // weights.shape[1])
        return (self.copies[:, :, ::step] @ weights[..., None])[..., 0]

    def deflate(self, Z, view):
        """Nothing: the copies are deflated."""

    def keep(self, scores):
        """Follow the next projection of every sequence, by its scores (A, n)."""
        super().keep(scores)
        for copy, w, s in zip(
            self.copies, self.found.newest_dense(), scores, strict=True
        ):
            subtract_outer(copy, w, s)


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
    A, h, rows = len(source), found.room, [parts[0] for parts in kinds]
    several = len(kinds[0]) > 1
    # Vectors of one source are looked at once per projection: a copy costs more.
    useful = several or len(rows[0].row_shape) > 1
    if useful and found.deflation.is_plain and worth_copies(rows, A):
        return [LaneRows(parts, source, found, roots) for parts in kinds]
    if not several:
        return [parts[0].deflated(A, h) for parts in kinds]
    return [SharedRows(parts, source, h) for parts in kinds]


def worth_copies(rows, n_lanes):
    """Whether rows are deflated as copies: arrays of which all copies are in cache.

    Not a matter of the number of projections, so that the first ones do not depend on
    how many follow.
    """
    if not all(each.is_array for each in rows):
        return False
    return 8 * n_lanes * sum(prod(each.shape) for each in rows) <= MOST_BYTES
