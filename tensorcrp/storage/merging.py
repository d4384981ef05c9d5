"""Class statistics of several batches in one, in no more rows than they need.

In: counts (c,), means (c, l_1, ..., l_N) and a root of the within-class scatter of each
batch, see `tensorcrp.scatter`. Out: those of all samples together, exact to rounding;
or a smaller root whose error is known.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING, Self

import numpy as np

from tensorcrp.base.resources import bounded_threads
from tensorcrp.base.targets import union_of_labels
from tensorcrp.base.types import Array, Floats
from tensorcrp.solver.array_rows import ArrayRows
from tensorcrp.solver.rows import Rows
from tensorcrp.storage.roots import ROWS, as_column, shrink_rows, triangle


class Mergeable:
    """Class statistics that merge: the part of `ClassScatter` that batches need."""

    if TYPE_CHECKING:  # the fields of a ClassScatter, a frozen dataclass
        classes: Array
        counts: Floats
        means: Floats
        root: Array | Rows
        error: float
        missing: float
        shape: tuple[int, ...]
        within: Rows
        trace: float

    def merge(self, other: Self) -> Self:
        """Statistics of both batches together, exact to rounding.

        A class in both batches adds one row: the difference of its two means.

        Parameters
        ----------
        other : ClassScatter
            Statistics of samples of the same shape.

        Returns
        -------
        ClassScatter
            A new one; neither batch is changed.
        """
        if self.shape != other.shape:
            raise ValueError(
                f"cannot merge samples of shape {other.shape} into statistics of "
                f"samples of shape {self.shape}; reshape the new batch."
            )
        mine, theirs = self.within, other.within
        if mine.place != theirs.place:
            raise ValueError(
                f"cannot merge samples of {theirs.place} into statistics of samples of "
                f"{mine.place}; pass all batches as one kind of array, on one device."
            )
        classes = union_of_labels(self.classes, other.classes)
        (n1, m1), (n2, m2) = (part._on(classes) for part in (self, other))
        counts = n1 + n2
        pull = as_column(n2 / counts, m1.ndim)
        with np.errstate(over="ignore", invalid="ignore"):  # rejected when it is made
            means = m1 + pull * (m2 - m1)
            gap = np.sqrt(as_column(n1 * n2 / counts, m1.ndim)) * (m2 - m1)
        root = mine.stacked(theirs, gap).array
        error, missing = self.error + other.error, self.missing + other.missing
        return type(self)(classes, counts, means, root, error, missing).compress()

    def compress(self) -> Self:
        """The same statistics with at most P rows in the root.

        Returns
        -------
        ClassScatter
            Itself if it has no more.
        """
        n_features = prod(self.shape)
        if len(self.root) <= n_features:
            return self
        rows, start = self.within.reshape((n_features,)), None
        if rows.in_memory and not np.tril(rows.array[:n_features], -1).any():
            # New rows below an old root.
            start, rows = rows.array[:n_features], ArrayRows.of(rows.array[n_features:])
        with bounded_threads(0):
            root = triangle((block for _, block in rows.blocks(ROWS)), start)
        return replace(self, root=root.reshape(-1, *self.shape))

    def shrink(self, max_rows: int) -> Self:
        """Nearly the same statistics with at most `max_rows` rows in the root.

        Frequent directions: the scatter of the new root is never more than the
        within-class scatter, and never less by more than `error` in any direction.
        Half of the rows are dropped at once, which makes room for new rows.

        Parameters
        ----------
        max_rows : int
            At least 2.

        Returns
        -------
        ClassScatter
            The same if the root has no more rows than that.
        """
        if len(self.root) <= max_rows:
            return self
        rows = self.within.some(1)
        with bounded_threads(rows.nbytes):
            root, delta = shrink_rows(rows.flat, max_rows // 2)
        smaller = replace(self, root=rows.like(root).array, error=self.error + delta)
        lost = self.trace - smaller.trace
        return replace(smaller, missing=self.missing + max(0.0, lost))

    def _on(self, classes):
        """Counts and means on a larger set of classes, zero where unknown."""
        counts, means = np.zeros(len(classes)), np.zeros((len(classes), *self.shape))
        where = np.searchsorted(classes, self.classes.astype(classes.dtype))
        counts[where], means[where] = self.counts, self.means
        return counts, means
