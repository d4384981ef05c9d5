"""Rows in memory: one entry of all rows is one row of an array.

In: an array ``(n, l_1, ..., l_N)``. Out: what `rows.Rows` promises, by products of few
vectors with long rows; and weighted sums and inner products of rows, which starts need.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod
from typing import Any

import numpy as np

from tensorcrp.base.types import Array, Floats, Shape
from tensorcrp.solver.cp import mode_products, working_dtype
from tensorcrp.solver.linalg import symmetric_gram
from tensorcrp.solver.products import contract, weighted_sums
from tensorcrp.solver.rows import BLOCK_BYTES, Rows, empty_rows

FEW_ROWS = 64  # copied at a time


class ArrayRows(Rows):
    """Rows in memory: one entry of all rows is one row of an array.

    Every product is then one of few vectors with long rows.

    Parameters
    ----------
    tensor : ndarray of shape (P, n), in C order
        One column per row.
    row_shape : tuple of int
        ``(l_1, ..., l_N)``.
    step : int, default=1
        Use every `step`-th row, where only `combine`, `gram` and `flat` are asked for.

    Examples
    --------
    >>> import numpy as np
    >>> from tensorcrp.solver import ArrayRows
    >>> rows = ArrayRows.of(np.arange(12.0).reshape(2, 3, 2))
    >>> rows.shape, rows.combine(np.ones((1, 2))).tolist()
    ((2, 3, 2), [[6.0, 8.0, 10.0, 12.0, 14.0, 16.0]])
    """

    in_memory = True
    is_array = True

    def __init__(self, tensor: Array, row_shape: Shape, step: int = 1) -> None:
        self.tensor, self.step = tensor, step
        self._shape = -(-tensor.shape[1] // step), *row_shape

    @classmethod
    def of(cls, array: Array | Rows) -> Rows:
        """Rows of an array; not copied if these are floats that come last in memory.

        Parameters
        ----------
        array : ndarray of shape (n, l_1, ..., l_N) or Rows
            Rows of any kind are returned as they are.

        Returns
        -------
        Rows
            An `ArrayRows` of an array.
        """
        if isinstance(array, Rows):
            return array
        shape = array.shape[1:]
        last = np.ascontiguousarray(np.moveaxis(array, 0, -1), working_dtype(array))
        return cls(last.reshape(prod(shape), len(array)), shape)

    @property
    def shape(self) -> Shape:
        """``(n, l_1, ..., l_N)``."""
        return self._shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the numbers."""
        return self.tensor.dtype

    @property
    def array(self) -> Array:
        """The rows (n, l_1, ..., l_N), a view."""
        array = self.tensor[:, :: self.step].reshape(*self.row_shape, -1)
        return np.moveaxis(array, -1, 0)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        """The rows themselves."""
        return self.array.astype(dtype or self.dtype, copy=bool(copy))

    def blocks(self, size: int) -> Iterator[tuple[slice, Array]]:
        """Consecutive blocks of rows, views.

        Parameters
        ----------
        size : int
            Most rows in a block.

        Yields
        ------
        tuple of slice and ndarray (b, l_1, ..., l_N)
            Where the block is among all rows, and the block.
        """
        for start in range(0, len(self), size):
            yield slice(start, start + size), self.array[start : start + size]

    def reshape(self, shape: Shape) -> ArrayRows:
        """The same rows in another shape, a view.

        Parameters
        ----------
        shape : tuple of int
            Shape of a row, with as many entries.

        Returns
        -------
        ArrayRows
            Of the same array.
        """
        return ArrayRows(self.tensor, tuple(shape), self.step)

    def some(self, step: int) -> ArrayRows:
        """Every `step`-th row, a view.

        Parameters
        ----------
        step : int
            1 for all.

        Returns
        -------
        ArrayRows
            Of the same array.
        """
        return ArrayRows(self.tensor, self.row_shape, step)

    def _product(self, vectors, left, size):
        L = prod(self.row_shape[: self.split])
        rows = self.tensor.reshape(L, -1, self.tensor.shape[1])
        return contract(rows if left else rows.reshape(1, L, -1), vectors)

    def spread(self) -> Floats:
        """Sum of squares and largest magnitude of each entry.

        Returns
        -------
        ndarray of shape (2, P)
            In float64.
        """
        squares, largest = np.zeros((2, len(self.tensor)))
        step = max(1, BLOCK_BYTES // (8 * len(self)))
        for start in range(0, len(self.tensor), step):
            part = slice(start, start + step)
            entries = np.abs(self.tensor[part].astype(float))
            largest[part] = entries.max(axis=1)
            squares[part] = np.square(entries, out=entries).sum(axis=1)
        return np.stack([squares, largest])

    def combine(self, weights: Array) -> Array:
        """Weighted sums of the rows.

        Parameters
        ----------
        weights : ndarray of shape (B, n)
            One weight per row.

        Returns
        -------
        ndarray of shape (B, P)
            As vectors.
        """
        spread = np.zeros((len(weights), self.tensor.shape[1]), self.dtype)
        spread[:, :: self.step] = weights
        return weighted_sums(spread, self.tensor)

    def unit_sums(self, weights: Array, least: float) -> Floats:
        """Weighted sums of the rows, each divided by its entry of largest magnitude.

        Parameters
        ----------
        weights : ndarray of shape (B, n)
            One weight per row.
        least : float
            Rows without an entry of more than this are left out.

        Returns
        -------
        ndarray of shape (B, P)
            As vectors.
        """
        sizes = np.zeros(len(self))
        for entries in self._entries():
            np.maximum(sizes, np.abs(entries).max(axis=0), out=sizes)
        return self.combine(weights / np.where(sizes > least, sizes, np.inf))

    def gram(self, other: Rows) -> Floats:
        """Inner products with other rows.

        Parameters
        ----------
        other : Rows
            Any number m of rows of the same shape.

        Returns
        -------
        ndarray of shape (n, m)
            ``<A_i, B_j>``, in float64.
        """
        if other is self:
            return symmetric_gram(self._entries())
        other = other if isinstance(other, ArrayRows) else self.of(np.asarray(other))
        pairs = zip(self._entries(), other._entries(), strict=True)
        return sum(mine.T @ theirs for mine, theirs in pairs)

    def inner(self) -> Floats:
        """Inner products of the entries over all rows.

        Returns
        -------
        ndarray of shape (P, P)
            ``A^T A`` of the rows as vectors, in float64.
        """
        flat = self.flat.astype(float, copy=False)
        return flat.T @ flat

    def transformed(self, matrices: Sequence[Array | None]) -> ArrayRows:
        """The rows after mode products.

        Parameters
        ----------
        matrices : sequence of ndarray (r_m, l_m) or None
            One per mode; None leaves its mode as it is.

        Returns
        -------
        ArrayRows
            Of another array, unless all matrices are None.
        """
        return self.of(mode_products(self.array, matrices))

    def like(self, flat: Array) -> ArrayRows:
        """Other rows of the same shape, in the same place.

        Parameters
        ----------
        flat : ndarray of shape (r, P)
            The rows as vectors.

        Returns
        -------
        ArrayRows
            Of these rows.
        """
        return self.of(flat.reshape(-1, *self.row_shape))

    def stacked(self, other: Rows, more: Array) -> ArrayRows:
        """These rows, other rows and some more, without null rows.

        Parameters
        ----------
        other : Rows
            Rows of the same shape, in the same place.
        more : ndarray of shape (r, l_1, ..., l_N)
            Further rows, in float64.

        Returns
        -------
        ArrayRows
            At least one row, in the precision of the two.
        """
        parts = [self.array, np.asarray(other), more]
        keep = [np.flatnonzero(p.any(axis=tuple(range(1, p.ndim)))) for p in parts]
        if not sum(map(len, keep)):
            keep[0] = np.arange(1)
        dtype = np.result_type(*parts[:-1])
        rows = empty_rows((sum(map(len, keep)), *self.row_shape), dtype)
        start = 0
        for part, which in zip(parts, keep, strict=True):
            for few in np.array_split(which, len(which) // FEW_ROWS + 1):
                rows[start : start + len(few)] = part[few]
                start += len(few)
        return self.of(rows)

    @property
    def flat(self) -> Array:
        """The rows as vectors (n, P), a view."""
        return self.tensor[:, :: self.step].T

    def _entries(self, width=128):
        """Entries of all rows, (at most `width`, n) at a time, in float64."""
        entries = self.flat.T
        for start in range(0, len(entries), width):
            yield np.ascontiguousarray(entries[start : start + width], float)
