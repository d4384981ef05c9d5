"""Rows in memory, with a deflated copy for every sequence of projections.

In: rows, the roots of the lanes' metrics, and in each block update factors
``(B, l_m, k)`` of B lanes. Out: the same as from `blocks.DeflatedRows`, whose product
of scores and overlaps grows with the number p of projections. Here the paper's
deflation (equation 3) is carried out on a copy, in the coordinates of the lane's
metric: ``X - s W`` once per projection, whatever p is. The rows themselves are never
changed.
"""

from math import prod

import numpy as np

from tensorcrp.solver.blocks import DeflatedRows
from tensorcrp.solver.cp import stacked_khatri_rao
from tensorcrp.solver.linalg import consecutive, contract_lanes, subtract_outer

# All copies together stay in the cache of the processor: beyond it lanes that share one
# pass over the data are faster.
MOST_BYTES = 2**24


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
        self.found, self.copies = found, np.empty((A, prod(rows.row_shape), self.n))
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
        s, shape = self.rows.split, self.rows.row_shape
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
