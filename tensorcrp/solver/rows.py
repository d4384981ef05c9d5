"""Rows: n tensors of one shape, in memory or elsewhere, as block ascent sees them.

In: rows ``A_i`` of shape ``(l_1, ..., l_N)`` whose scatter is ``sum_i <A_i, W>^2``, and
CP factors, one array ``(l_m, K)`` per mode whose K columns may belong to several lanes.
Out: the rows contracted with every factor but one, ``(K, l_m, n)``: the ``Z`` of
``<A, W> = <Z, U^(m)>``, which at order 2 is the paper's
``Tr(U^T X V) = vec(U)^T (I kron X) vec(V)`` (its fifth lemma).

Rows are never modified: see `blocks.DeflatedRows` for how they are deflated.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorcrp.base.namespace import place_of
from tensorcrp.base.types import Array, Floats, Shape
from tensorcrp.solver.blocks import DeflatedRows
from tensorcrp.solver.row_products import RowProducts
from tensorcrp.solver.row_sums import RowSums

if TYPE_CHECKING:
    from tensorcrp.solver.array_rows import ArrayRows

BLOCK_BYTES = 2**20  # rows are worked on in blocks of about 1 MB, which are in cache


class Rows(RowProducts, RowSums, ABC):
    """Tensors of one shape that can be contracted with CP factors.

    A new kind of rows implements `shape`, `blocks` and `reshape`; everything else
    follows from these. Kinds with a faster way override it: arrays (`ArrayRows`),
    centred samples in files, chunks of dask and arrays on a device
    (`tensorcrp.storage`).

    Vectors, projections of full rank and a ridge of zero need all rows at once. They
    are rejected unless `in_memory` is True, which allows to read the rows as a whole.

    Rows are immutable, and `blocks` can be called any number of times. Each call gives
    the same rows in the same order.

    Examples
    --------
    Rows that are read from a list of files, one after the other:

    >>> import numpy as np
    >>> from tensorcrp.solver import Rows
    >>> class FileRows(Rows):
    ...     def __init__(self, paths, row_shape):
    ...         self.paths, self.own_shape = paths, row_shape
    ...
    ...     @property
    ...     def shape(self):
    ...         return len(self.paths), *self.own_shape
    ...
    ...     def blocks(self, size):
    ...         for i, path in enumerate(self.paths):
    ...             yield slice(i, i + 1), np.load(path).reshape(1, *self.own_shape)
    ...
    ...     def reshape(self, shape):
    ...         return FileRows(self.paths, shape)
    >>> FileRows(["a.npy", "b.npy"], (4, 3)).nbytes
    192
    """

    in_memory: bool = False
    is_array: bool = False  # one NumPy array, that lanes may copy
    place: str = place_of(np.empty(0))
    dtype: np.dtype[Any] = np.dtype(float)

    @property
    @abstractmethod
    def shape(self) -> Shape:
        """``(n, l_1, ..., l_N)``."""

    @abstractmethod
    def blocks(self, size: int) -> Iterable[tuple[slice, Array]]:
        """Blocks of rows, in order.

        Parameters
        ----------
        size : int
            Most rows in a block.

        Yields
        ------
        tuple of slice and ndarray (b, l_1, ..., l_N)
            Where the block is among all rows, and the block.
        """

    @abstractmethod
    def reshape(self, shape: Shape) -> Rows:
        """The same rows in another shape.

        Parameters
        ----------
        shape : tuple of int
            Shape of a row, with as many entries.

        Returns
        -------
        Rows
            Of the same kind.
        """

    def __len__(self) -> int:
        return self.shape[0]

    @property
    def row_shape(self) -> Shape:
        """``(l_1, ..., l_N)``."""
        return self.shape[1:]

    @property
    def array(self) -> Array | Rows:
        """The rows as an array (n, l_1, ..., l_N) if they are one, else themselves."""
        return self

    @property
    def nbytes(self) -> int:
        """Bytes that all rows take, or would take in memory."""
        return prod(self.shape) * self.dtype.itemsize

    @property
    def block_size(self) -> int:
        """Number of rows that are worked on together."""
        return max(1, BLOCK_BYTES // (8 * prod(self.row_shape)))

    def spread(self) -> Floats:
        """Sum of squares and largest magnitude of each entry.

        Returns
        -------
        ndarray of shape (2, P)
            In float64.
        """
        squares, largest = np.zeros((2, prod(self.row_shape)))
        for _, block in self.blocks(self.block_size):
            entries = np.abs(block.reshape(len(block), -1).astype(float))
            largest = np.maximum(largest, entries.max(axis=0))
            squares += np.square(entries, out=entries).sum(axis=0)
        return np.stack([squares, largest])

    def some(self, step: int) -> ArrayRows:
        """Every `step`-th row, in memory.

        Parameters
        ----------
        step : int
            1 for all.

        Returns
        -------
        ArrayRows
            The first row is one of them.
        """
        parts = [
            block[-part.start % step :: step]
            for part, block in self.blocks(self.block_size)
        ]
        from tensorcrp.solver.array_rows import ArrayRows  # a kind of rows itself

        return ArrayRows.of(np.concatenate(parts).astype(self.dtype, copy=False))

    @property
    def flat(self) -> Array:
        """The rows as vectors (n, P)."""
        return np.asarray(self).reshape(len(self), -1)

    def like(self, flat: Array) -> Rows:
        """Other rows of the same shape, in the same place.

        Parameters
        ----------
        flat : ndarray of shape (r, P)
            The rows as vectors.

        Returns
        -------
        Rows
            In memory.
        """
        return self.some(1).like(flat)

    def transformed(self, matrices: Sequence[Array | None]) -> Rows:
        """The rows after mode products.

        Parameters
        ----------
        matrices : sequence of ndarray (r_m, l_m) or None
            One per mode; None leaves its mode as it is.

        Returns
        -------
        Rows
            In memory.
        """
        return self.some(1).transformed(matrices)

    def stacked(self, other: Rows, more: Array) -> Rows:
        """These rows, other rows and some more, without null rows.

        Parameters
        ----------
        other : Rows
            Rows of the same shape, in the same place.
        more : ndarray of shape (r, l_1, ..., l_N)
            Further rows, in float64.

        Returns
        -------
        Rows
            In memory, in the precision of the two.
        """
        return self.some(1).stacked(other, more)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        """All rows in memory, in the solver's order."""
        array = empty_rows(self.shape, dtype or self.dtype)
        for part, block in self.blocks(self.block_size):
            array[part] = block
        return array

    def deflated(self, n_lanes: int, n_components: int) -> DeflatedRows:
        """These rows with room for the scores of projections.

        Parameters
        ----------
        n_lanes : int
            Number of sequences of projections.
        n_components : int
            Projections in each.

        Returns
        -------
        DeflatedRows
            What the solver works with.
        """
        if len(self.row_shape) == 1 and not self.in_memory:
            raise ValueError(
                "vectors, and samples of any order at full rank, need the centred "
                f"samples in memory ({self.nbytes / 1e6:,.3g} MB), but these are read "
                "in blocks. Raise max_memory, or choose a finite rank (TensorCRPCV: "
                "ranks). Rows of another kind that may be read as a whole have "
                "in_memory = True."
            )
        return DeflatedRows(self, n_lanes, n_components)


def empty_rows(shape, dtype):
    """Uninitialised rows (n, l_1, ..., l_N), with the sample axis last in memory."""
    n, *shape = shape
    return np.moveaxis(np.empty((*shape, n), dtype), -1, 0)
