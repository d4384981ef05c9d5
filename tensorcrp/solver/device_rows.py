"""Rows on a device: contracted, summed and deflated there.

In: an array (P, n) of PyTorch or of another library that follows the array API, one
column per row. Out: what `solver.rows.Rows` promises. What comes to the host is small:
``Z Z^T`` of a block, (d, d), inner products of at most as many rows as a start looks
at, sums of the size of a sample. The data stay where they are.
"""

from __future__ import annotations

from math import prod

import numpy as np

from tensorcrp.base.namespace import (
    as_type,
    host,
    namespace_of,
    place_of,
    put,
    spans,
    type_name,
)
from tensorcrp.solver.cp import khatri_rao_of, mode_products
from tensorcrp.solver.device_blocks import DeflatedDevice
from tensorcrp.solver.rows import Rows

BYTES_AS_FLOAT64 = 2**26  # converted to float64 at a time


class DeviceRows(Rows):
    """Rows in an array of another library than NumPy, on any device.

    Parameters
    ----------
    tensor : array of shape (P, n)
        One column per row, in float32 or float64.
    row_shape : tuple of int
        ``(l_1, ..., l_N)``.
    """

    in_memory = True

    def __init__(self, tensor, row_shape):
        self.tensor, self._shape = tensor, (tensor.shape[1], *row_shape)

    @property
    def shape(self):
        """``(n, l_1, ..., l_N)``."""
        return self._shape

    @property
    def dtype(self):
        """NumPy's name of the type."""
        return np.dtype(type_name(self.tensor))

    @property
    def place(self):
        """Library and device, in words."""
        return place_of(self.tensor)

    @property
    def flat(self):
        """The rows as vectors (n, P), there."""
        return self.tensor.T

    def reshape(self, shape):
        """The same rows, each of another shape."""
        return DeviceRows(self.tensor, tuple(shape))

    def like(self, flat):
        """Rows of the same shape from vectors (r, P) there."""
        return DeviceRows(flat.T, self.row_shape)

    def blocks(self, size):
        """Blocks (slice, array of at most `size` rows), copied to the host in turn."""
        for part in spans(len(self), size):
            columns = host(self.tensor[:, part])
            yield part, columns.T.reshape(-1, *self.row_shape)

    def some(self, step):
        """Every `step`-th row, there."""
        return self if step == 1 else DeviceRows(self.tensor[:, ::step], self.row_shape)

    def deflated(self, n_lanes, n_components):
        """These rows with their scores, which stay there."""
        return DeflatedDevice(self, n_lanes, n_components)

    # --- contractions -------------------------------------------------------------

    def side_product(self, factors, left):
        """Contract the modes of the other side: (K, kept modes, n), there."""
        s, n, xp = self.split, len(self), namespace_of(self.tensor)
        gone = khatri_rao_of(factors[s:] if left else factors[:s], factors)
        vectors = put(np.ascontiguousarray(gone.T, self.dtype), self.tensor)
        L, K = prod(self.row_shape[:s]), gone.shape[1]
        if left:
            rows = xp.reshape(self.tensor, (L, -1, n))
            product = xp.permute_dims(vectors @ rows, (1, 0, 2))
        else:
            product = vectors @ xp.reshape(self.tensor, (L, -1))
        kept = self.row_shape[:s] if left else self.row_shape[s:]
        return xp.reshape(product, (K, *kept, n))

    def finish(self, product, factors, mode):
        """Contract the kept side but one mode: (K, l_m, n), there."""
        xp, (K, *kept, n) = namespace_of(product), product.shape
        first = 0 if self.is_left(mode) else self.split
        before, after = factors[first:mode], factors[mode + 1 : first + len(kept)]
        Z = product
        if after:
            weights = self._columns(after, factors)
            Z = xp.reshape(Z, (K, -1, weights.shape[1], n))
            Z = xp.reshape(weights, (K, 1, 1, -1)) @ Z
        if before:
            weights = self._columns(before, factors)
            Z = xp.reshape(weights, (K, 1, -1)) @ xp.reshape(
                Z, (K, weights.shape[1], -1)
            )
        return xp.reshape(Z, (K, -1, n))

    def _columns(self, some, factors):
        """Columns of a Khatri-Rao product as rows (K, l), there."""
        columns = khatri_rao_of(some, factors).T
        return put(np.ascontiguousarray(columns, self.dtype), self.tensor)

    # --- sums over rows and over entries ------------------------------------------

    def spread(self):
        """Sum of squares and largest magnitude of every entry: (2, P)."""
        xp, parts = namespace_of(self.tensor), []
        for entries in self._entries():
            squares = xp.sum(entries * entries, axis=1)
            parts.append(host(xp.stack([squares, xp.max(xp.abs(entries), axis=1)])))
        return np.concatenate(parts, axis=1)

    def combine(self, weights):
        """Weighted sums (B, P) of the rows, for weights (B, n)."""
        weights = put(weights.astype(self.dtype), self.tensor)
        return host(weights @ self.tensor.T)

    def unit_sums(self, weights, least):
        """Weighted sums (B, P) of the rows divided by their sizes, weights (B, n)."""
        xp, sizes = namespace_of(self.tensor), np.zeros(len(self))
        for entries in self._entries():
            sizes = np.maximum(sizes, host(xp.max(xp.abs(entries), axis=0)))
        return self.combine(weights / np.where(sizes > least, sizes, np.inf))

    def gram(self, other):
        """Inner products (n, m) with other rows, these or some on the host."""
        theirs = None if other is self else put(np.asarray(other.flat.T), self.tensor)
        total, start = 0.0, 0
        for mine in self._entries():
            part = slice(start, start + mine.shape[0])
            their = mine if theirs is None else as_type(theirs[part, :], np.float64)
            total, start = total + mine.T @ their, part.stop
        return host(total)

    def inner(self):
        """``A^T A`` of the rows as vectors: (P, P)."""
        return host(sum(block.T @ block for block in self._vectors()))

    def singular_values(self):
        """Singular values of the rows as vectors, the largest first."""
        xp = namespace_of(self.tensor)
        return host(xp.linalg.svdvals(as_type(self.tensor, np.float64)))

    def feature_scatter(self, projections):
        """Scatter (h, h) of the features under projections (h, P)."""
        rows = put(projections.astype(self.dtype), self.tensor)
        features = as_type(rows @ self.tensor, np.float64)
        return host(features @ features.T)

    def energy(self, matrices):
        """Sum of squares of the rows after mode products."""
        xp = namespace_of(self.tensor)
        parts = (mode_products(block, matrices) for block in self._tensors())
        return float(sum(float(xp.sum(part * part)) for part in parts))

    def mode_scatter(self, mode, matrices):
        """Scatter (l_m, l_m) along one mode after mode products along the others."""
        others = [None if m == mode else each for m, each in enumerate(matrices)]
        axes, xp = list(range(len(self.shape))), namespace_of(self.tensor)
        axes.insert(0, axes.pop(mode + 1))
        total = 0.0
        for block in self._tensors():
            core = xp.permute_dims(mode_products(block, others), tuple(axes))
            unfolded = xp.reshape(core, (self.row_shape[mode], -1))
            total = total + unfolded @ unfolded.T
        return np.array(host(total))

    # --- other rows ---------------------------------------------------------------

    def transformed(self, matrices):
        """The rows after mode products, there."""
        xp, n = namespace_of(self.tensor), len(self)
        tensors = mode_products(xp.reshape(self.flat, (n, *self.row_shape)), matrices)
        return DeviceRows(xp.reshape(tensors, (n, -1)).T, tuple(tensors.shape[1:]))

    def stacked(self, other, more):
        """These rows, other rows there and some more (r, l_1, ..., l_N) of the host.

        At most P rows: of more than that, a triangular root.
        """
        dtype = np.result_type(self.dtype, other.dtype)
        more = more.reshape(len(more), -1)
        more = put(more[more.any(axis=1)].T.astype(dtype), self.tensor)
        each = (as_type(part, dtype) for part in (self.tensor, other.tensor, more))
        tensor = namespace_of(self.tensor).concat(list(each), axis=1)
        if tensor.shape[1] <= tensor.shape[0]:
            return DeviceRows(tensor, self.row_shape)
        root = folded(None, as_type(tensor.T, np.float64))
        return DeviceRows(root.T, self.row_shape)

    def _entries(self):
        """Entries of all rows, some (e, n) at a time, in float64."""
        step = max(1, BYTES_AS_FLOAT64 // (8 * len(self)))
        for part in spans(self.tensor.shape[0], step):
            yield as_type(self.tensor[part, :], np.float64)

    def _vectors(self):
        """Rows as vectors, some (b, P) at a time, in float64."""
        step = max(1, BYTES_AS_FLOAT64 // (8 * self.tensor.shape[0]))
        for part in spans(len(self), step):
            yield as_type(self.tensor[:, part], np.float64).T

    def _tensors(self):
        """Rows as tensors, some (b, l_1, ..., l_N) at a time, in float64."""
        for block in self._vectors():
            yield namespace_of(block).reshape(block, (-1, *self.row_shape))


def folded(root, rows):
    """Triangular root (at most P, P) of rows (b, P) and of an earlier root, there."""
    xp = namespace_of(rows)
    both = rows if root is None else xp.concat([root, rows], axis=0)
    return xp.linalg.qr(both, mode="reduced")[1]
