"""Projections of full rank: any tensor will do, so samples are vectors.

In: rows ``(n, l_1, ..., l_N)`` of both kinds, the metric of the lanes and what is asked
for. Out: rows as vectors in the coordinates of the metric, solved by `path` at order 1,
and results as vectors ``(h, P, 1)`` in these coordinates.

Projections lie in the span of the rows as long as there is something to separate. So
several lanes on fewer rows than entries are solved in orthonormal coordinates of that
span: everything that grows with P is done once, not for each lane and projection.
"""

from dataclasses import dataclass, replace
from math import prod

import numpy as np

from tensorcrp.base.parameters import with_argument
from tensorcrp.solver.array_rows import ArrayRows
from tensorcrp.solver.cp import cp_from_dense, mode_products

# Shares of P up to which a span is worth its QR decomposition.
SMALL_SPAN = 0.5


def is_full(rank, shape):
    """Whether tensors of this rank are all tensors of the shape."""
    return rank == "full" or rank >= prod(shape) // max(shape)


@dataclass(frozen=True)
class Vectors:
    """Both kinds of rows as vectors.

    Attributes
    ----------
    rows : list of Rows
        ``(n, P)``, or coordinates ``(n, r)``.
    basis : ndarray of shape (r, P) or None
        What the coordinates refer to, orthonormal rows; None for the entries.
    """

    rows: list
    basis: np.ndarray = None

    @classmethod
    def of(cls, rows, metric, n_lanes, n_components):
        """Rows of both kinds in the coordinates of a metric, for a number of lanes."""
        rows = [_in_metric(each, metric) for each in rows]
        size = max(sum(map(len, rows)), n_components)
        arrays = all(each.is_array for each in rows)
        if n_lanes == 1 or not arrays or size > SMALL_SPAN * rows[0].row_shape[0]:
            return cls(rows)
        return cls._of_span(rows, size)

    @classmethod
    def _of_span(cls, rows, size):
        """Coordinates of all rows in a space of `size` numbers."""
        flat = np.concatenate([each.flat.astype(float, copy=False) for each in rows])
        # Where nothing is left to separate, any other direction will do: unit vectors.
        more = np.eye(size - len(flat), flat.shape[1])
        basis, coordinates = np.linalg.qr(np.concatenate([flat, more]).T)
        parts = np.split(coordinates.T[: len(flat)], [len(rows[0])])
        return cls(
            [ArrayRows.of(np.ascontiguousarray(each)) for each in parts], basis.T
        )

    def raw(self, vectors):
        """Vectors (..., P) of vectors (..., r) in these coordinates."""
        return vectors if self.basis is None else vectors @ self.basis

    def result(self, result):
        """A result of the solver with vectors (h, P, 1)."""
        (factor,) = result.factors
        return replace(result, factors=[self.raw(factor[:, :, 0])[:, :, None]])

    def spec(self, spec, shape, metric):
        """The spec for these rows, whose callback sees tensors and not vectors."""
        if spec.callback is None:
            return spec
        told, roots = with_argument(spec.callback, "factors"), metric.roots(shape)

        def callback(p, objective, n_iter, factors):
            vectors = self.raw(np.stack([vector[:, 0] for (vector,) in factors]))
            W = mode_products(vectors.reshape(-1, *shape), roots)
            factors = zip(*cp_from_dense(W), strict=True)
            return told(p, objective, n_iter, [list(each) for each in factors])

        return replace(spec, callback=callback)


def _in_metric(rows, metric):
    """Rows as vectors (n, P), in the coordinates of a metric."""
    flat = (prod(rows.row_shape),)
    if metric.is_plain or not rows.in_memory:
        return rows.reshape(flat)
    return rows.transformed(metric.roots(rows.row_shape)).reshape(flat)
