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
from tensorcrp.solver.metric import Euclidean

# Shares of P up to which a span is worth its QR decomposition.
SMALL_SPAN = 0.5


def is_full(rank, shape):
    """Whether tensors of this rank are all tensors of the shape."""
    return rank == "full" or rank >= prod(shape) // max(shape)


@dataclass(frozen=True)
class Vectors:
    """Rows of both kinds as vectors, for lanes that may differ in source and metric.

    Lanes of one source and metric are consecutive.

    Attributes
    ----------
    sources : list of pairs of Rows
        ``(n, P)``, or coordinates ``(n, r)``: one pair per source and metric.
    lanes : list of Lane
        Whose sources are these pairs.
    bases : list of ndarray of shape (r, P) or None
        What the coordinates of a pair refer to, orthonormal rows; None for the entries.
    metrics : list of Metric
        Of the lanes, as they were.
    shape : tuple of int
        Of a sample.
    """

    sources: list
    lanes: list
    bases: list
    metrics: list
    shape: tuple

    @classmethod
    def of(cls, sources, lanes, n_components):
        """Rows in the coordinates of the metric of each lane."""
        keys = [(lane.source, id(lane.metric)) for lane in lanes]
        pairs = [
            [_in_metric(rows, lane.metric) for rows in sources[lane.source]]
            for lane in dict(zip(keys, lanes, strict=True)).values()
        ]
        number = {key: i for i, key in enumerate(dict.fromkeys(keys))}
        alone = [
            replace(lane, source=number[key], rank=1, metric=Euclidean())
            for lane, key in zip(lanes, keys, strict=True)
        ]
        bases = [None] * len(pairs)
        size = max(n_components, *(sum(map(len, pair)) for pair in pairs))
        arrays = all(rows.is_array for rows in pairs[0])
        P = pairs[0][0].row_shape[0]
        if len(lanes) > len(pairs) and arrays and size <= SMALL_SPAN * P:
            pairs, bases = zip(*(_in_span(pair, size) for pair in pairs), strict=True)
        metrics = [lane.metric for lane in lanes]
        return cls(list(pairs), alone, list(bases), metrics, sources[0][0].row_shape)

    def raw(self, number, vectors):
        """Vectors (..., P) of the vectors (..., r) of a lane."""
        basis = self.bases[self.lanes[number].source]
        return vectors if basis is None else vectors @ basis

    def result(self, number, result):
        """The result of a lane with vectors (h, P, 1)."""
        (factor,) = result.factors
        return replace(result, factors=[self.raw(number, factor[:, :, 0])[:, :, None]])

    def spec(self, spec):
        """The spec for these rows, whose callback sees tensors and not vectors."""
        spec = replace(spec, modes=None)  # of a vector there is one
        if spec.callback is None:
            return spec
        told = with_argument(spec.callback, "factors")

        def callback(p, objective, n_iter, factors):
            each = [self._tensor(a, vector) for a, (vector,) in enumerate(factors)]
            return told(p, objective, n_iter, each)

        return replace(spec, callback=callback)

    def _tensor(self, number, vector):
        """Factors (l_m, k) of the tensor that a vector (r, 1) of a lane is."""
        W = self.raw(number, vector.T).reshape(-1, *self.shape)
        W = mode_products(W, self.metrics[number].roots(self.shape))
        return [factor[0] for factor in cp_from_dense(W)]


def _in_span(rows, size):
    """Coordinates of both kinds of rows in a space of `size` numbers, and its basis."""
    flat = np.concatenate([each.flat.astype(float, copy=False) for each in rows])
    # Where nothing is left to separate, any other direction will do: unit vectors.
    more = np.eye(size - len(flat), flat.shape[1])
    basis, coordinates = np.linalg.qr(np.concatenate([flat, more]).T)
    parts = np.split(coordinates.T[: len(flat)], [len(rows[0])])
    return [ArrayRows.of(np.ascontiguousarray(each)) for each in parts], basis.T


def _in_metric(rows, metric):
    """Rows as vectors (n, P), in the coordinates of a metric."""
    flat = (prod(rows.row_shape),)
    if metric.is_plain or not rows.in_memory:
        return rows.reshape(flat)
    return rows.transformed(metric.roots(rows.row_shape)).reshape(flat)
