"""Sums over rows that statistics and baselines ask for, wherever the rows are.

In: rows ``A_i`` (n, l_1, ..., l_N), in blocks, with a matrix per mode, projections or
weights. Out: one number, a symmetric matrix of the size of a mode, of the features or
of a sample, or weighted sums of the rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorcrp.base.types import Array, Floats, Shape
from tensorcrp.solver.cp import mode_products, working_dtype

if TYPE_CHECKING:
    from tensorcrp.solver.rows import Rows


class RowSums:
    """What `Rows` can sum; a kind of rows that knows a faster way overrides it."""

    row_shape: Shape
    dtype: Any
    block_size: int
    blocks: Any
    mapped: Any
    some: Any
    flat: Any

    def energy(self, matrices: Sequence[Array | None]) -> float:
        """Sum of squares of the rows after mode products.

        Parameters
        ----------
        matrices : sequence of ndarray (r_m, l_m) or None
            One per mode; None leaves its mode as it is.

        Returns
        -------
        float
            ``sum_i ||A_i x_1 M_1 ... x_N M_N||^2``.
        """
        blocks = (block.astype(float) for _, block in self.blocks(self.block_size))
        each = (mode_products(block, matrices) for block in blocks)
        return float(sum(np.vdot(part, part) for part in each))

    def feature_scatter(self, projections: Array) -> Floats:
        """Scatter of the features of the rows, in one pass over them.

        Parameters
        ----------
        projections : ndarray of shape (h, P)
            Of raw samples.

        Returns
        -------
        ndarray of shape (h, h)
            ``sum_i f_i f_i^T`` of features ``f_i``.
        """
        total = np.zeros((len(projections), len(projections)))
        weights = projections.T.astype(working_dtype(self))
        for _, part in self.mapped(lambda rows: rows.reshape(len(rows), -1) @ weights):
            features = part.astype(float, copy=False)
            total += features.T @ features
        return total

    def mode_scatter(self, mode: int, matrices: Sequence[Array | None]) -> Floats:
        """Scatter along one mode after mode products along the others.

        Parameters
        ----------
        mode : int
            The mode that is left.
        matrices : sequence of ndarray (r_m, l_m) or None
            One per mode; None leaves its mode as it is.

        Returns
        -------
        ndarray of shape (l_m, l_m)
            The sum of ``A_i(m) A_i(m)^T``, ``A_i(m)`` the unfolding along the mode.
        """
        others = [None if m == mode else each for m, each in enumerate(matrices)]
        size, total = self.row_shape[mode], 0.0
        # Blocks stay in the processor's cache from one mode product to the next.
        for _, block in self.blocks(self.block_size):
            core = mode_products(np.ascontiguousarray(block, dtype=float), others)
            unfolded = np.moveaxis(core, mode + 1, 0).reshape(size, -1)
            total = total + unfolded @ unfolded.T
        return total

    def combine(self, weights: Array) -> Floats:
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
        total = 0.0
        for part, block in self.blocks(self.block_size):
            total = total + weights[:, part] @ block.reshape(len(block), -1)
        return total

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
        total = 0.0
        for part, block in self.blocks(self.block_size):
            flat = block.reshape(len(block), -1)
            total = total + weights[:, part] @ unit_rows(flat, least)
        return total

    def inner(self) -> Floats:
        """Inner products of the entries over all rows.

        Returns
        -------
        ndarray of shape (P, P)
            ``A^T A`` of the rows as vectors, in float64.
        """
        total = 0.0
        for _, block in self.blocks(self.block_size):
            flat = block.reshape(len(block), -1).astype(float, copy=False)
            total = total + flat.T @ flat
        return total

    def gram(self, other: Rows) -> Floats:
        """Inner products with other rows, after these were read into memory.

        Parameters
        ----------
        other : Rows
            Any number m of rows of the same shape.

        Returns
        -------
        ndarray of shape (n, m)
            ``<A_i, B_j>``, in float64.
        """
        mine = self.some(1)
        return mine.gram(mine if other is self else other)

    def singular_values(self) -> Floats:
        """Singular values of the rows as vectors.

        Returns
        -------
        ndarray of shape (min(n, P),)
            The largest first.
        """
        return np.linalg.svd(self.flat, compute_uv=False)


def unit_rows(rows, least):
    """Rows (n, P) whose largest entry is one, so that none hides the others.

    Zero for a row without an entry of more than `least`.
    """
    sizes = np.abs(rows).max(axis=1, keepdims=True)
    return rows / np.where(sizes > least, sizes, np.inf)
