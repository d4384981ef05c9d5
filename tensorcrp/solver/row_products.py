"""Rows contracted with CP factors: products that block updates are made of.

In: rows (n, l_1, ..., l_N), in blocks, and factors (l_m, K), one per mode. Out: the
rows contracted with every factor but one, ``(K, l_m, n)``.

The modes are divided into two sides: a row is a matrix (L, R), L the product of the
left modes and R that of the right ones. The product with all right factors serves every
left mode and vice versa, so that a sweep reads the data twice for any N.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from math import prod
from typing import Any

import numpy as np

from tensorcrp.base.types import Array, Shape
from tensorcrp.solver.cp import khatri_rao_of, split_modes, working_dtype
from tensorcrp.solver.products import block_contraction


class RowProducts:
    """What `Rows` are contracted to; a kind of rows that knows a faster way overrides.

    See `Rows` for the attributes.
    """

    row_shape: Shape
    dtype: Any
    block_size: int
    blocks: Any
    __len__: Any

    @cached_property
    def split(self) -> int:
        """Modes before this one are left modes."""
        return split_modes(self.row_shape)

    def is_left(self, mode: int) -> bool:
        """Whether a mode is one of the left modes.

        Parameters
        ----------
        mode : int
            Number of the mode.

        Returns
        -------
        bool
            See `split`.
        """
        return mode < self.split

    def mapped(self, linear: Callable[[Array], Array]) -> Iterator[tuple[slice, Array]]:
        """What a linear function makes of blocks of rows.

        Parameters
        ----------
        linear : callable
            Rows (b, l_1, ..., l_N) -> ndarray of shape (b, ...).

        Yields
        ------
        tuple of slice and ndarray
            Where the block is among all rows, and the result.
        """
        for part, block in self.blocks(self.block_size):
            yield part, linear(block.astype(working_dtype(self), copy=False))

    def side_product(self, factors: Sequence[Array], left: bool) -> Array:
        """Contract the modes of the other side: one pass over the data.

        Parameters
        ----------
        factors : list of ndarray (l_m, K)
            One per mode.
        left : bool
            Which side is kept.

        Returns
        -------
        ndarray of shape (K, kept modes, n)
            One contraction per column.
        """
        s, shape = self.split, self.row_shape
        gone = khatri_rao_of(factors[s:] if left else factors[:s], factors)
        # Of the type of the rows, or these were converted; integers are anyway.
        vectors = np.ascontiguousarray(gone.T, working_dtype(self))
        kept = shape[:s] if left else shape[s:]
        return self._product(vectors, left, prod(kept)).reshape(-1, *kept, len(self))

    def _product(self, vectors, left, size):
        """Vectors (K, R or L) -> (K, size, n), block by block."""
        product = np.empty((len(vectors), size, len(self)), vectors.dtype)
        contracted = block_contraction(vectors, left, prod(self.row_shape))
        L = prod(self.row_shape[: self.split])

        def linear(block):
            return contracted(block.reshape(len(block), L, -1))

        for part, rows in self.mapped(linear):
            product[:, :, part] = rows.transpose(1, 2, 0)[: len(vectors)]
        return product

    def finish(self, product: Array, factors: Sequence[Array], mode: int) -> Array:
        """Contract the kept side but one mode.

        Parameters
        ----------
        product : ndarray of shape (K, kept modes, n)
            From `side_product`.
        factors : list of ndarray (l_m, K)
            One per mode.
        mode : int
            The mode that is left.

        Returns
        -------
        ndarray of shape (K, l_m, n)
            The rows contracted with every factor but one.
        """
        K, *kept, n = product.shape
        first = 0 if self.is_left(mode) else self.split
        before, after = factors[first:mode], factors[mode + 1 : first + len(kept)]
        Z = product
        if after:
            weights = khatri_rao_of(after, factors).T.astype(Z.dtype, copy=False)
            Z = weights[:, None, None] @ Z.reshape(K, -1, weights.shape[1], n)
        if before:
            weights = khatri_rao_of(before, factors).T.astype(Z.dtype, copy=False)
            Z = weights[:, None] @ Z.reshape(K, weights.shape[1], -1)
        return Z.reshape(K, -1, n)
