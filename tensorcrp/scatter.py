"""Class statistics that the objective needs, mergeable batch by batch.

In: samples ``X`` of shape (n, l_1, ..., l_N) and labels ``y`` of shape (n,).
Out: class weights (c,), class means (c, l_1, ..., l_N) and a *root* of the
within-class scatter: rows ``A_j`` with

    sum_j <A_j, W>^2 = sum_c sum_{i in c} w_i <X_i - Xbar_c, W>^2    for every W,

the first term of the denominator in the paper's objective (4). Up to P samples the
rows are samples less a centre of their class, one fewer than samples for every class;
beyond P (the number of entries of a sample) they are a triangular factor, from a QR
decomposition or of products, P rows however many samples there are.
A root that is too large for memory is not made: its rows are read from the samples
whenever they are needed (`CentredRows`). Roots of two batches merge exactly; `shrink`
makes them smaller and says by how much they are wrong. Nothing here knows projections.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from math import inf, prod

import numpy as np

from tensorcrp._centred import (
    BLOCK_BYTES,
    ROWS,
    CentredRows,
    Used,
    as_column,
    triangle,
)
from tensorcrp._samples import empty_samples, samples_last
from tensorcrp._sketch import shrink_rows
from tensorcrp._sources import as_source, blocks
from tensorcrp._threads import bounded_threads

FEW_ROWS = 64  # copied at a time


@dataclass(frozen=True)
class ClassScatter:
    """Weights, means and the within-class root of labelled samples.

    Made by `from_samples`; the fields are those of the constructor.

    Parameters
    ----------
    classes : ndarray of shape (c,)
        Sorted labels.
    counts : ndarray of shape (c,)
        Sum of the sample weights per class.
    means : ndarray of shape (c, l_1, ..., l_N)
        In float64.
    root : ndarray or CentredRows of shape (r, l_1, ..., l_N)
        Such rows in the samples' working precision, a triangle in float64, or rows
        that are read from the samples when they are needed.
    error : float, default=0.0
        How much the spectral norm of the within-class scatter and of what the root
        stands for can differ at most: 0 unless `shrink` made the root smaller.
    missing : float, default=0.0
        How much trace the root lacks for the same reason.

    Examples
    --------
    Statistics of two batches merge to those of all samples, and are all that a fit
    needs.

    >>> import numpy as np
    >>> from sklearn.datasets import load_digits
    >>> from tensorcrp import ClassScatter, TensorCRP
    >>> X, y = load_digits().images, load_digits().target
    >>> first = ClassScatter.from_samples(X[:1000], y[:1000])
    >>> both = first.merge(ClassScatter.from_samples(X[1000:], y[1000:]))
    >>> crp = TensorCRP(3).fit_scatter(both)
    >>> np.allclose(crp.transform(X), TensorCRP(3).fit(X, y).transform(X))
    True
    """

    classes: np.ndarray
    counts: np.ndarray
    means: np.ndarray
    root: np.ndarray
    error: float = 0.0
    missing: float = 0.0

    @classmethod
    def from_samples(cls, X, y, sample_weight=None, max_memory=inf, least_ridge=0.0):
        """Statistics of samples, read in blocks and copied at most once.

        Parameters
        ----------
        X : array of shape (n, l_1, ..., l_N)
            Real numbers of any type. The centred samples of float32 stay float32. A
            memory map, Zarr array or HDF5 dataset is never loaded as a whole.
        y : ndarray of shape (n,)
            Labels.
        sample_weight : ndarray of shape (n,), default=None
            Not negative; samples of weight zero count for nothing.
        max_memory : float, default=inf
            Bytes that the root may take. If it takes more, its rows are read from X
            whenever they are needed, so X has to stay as it is.
        least_ridge : float, default=0.0
            The least ridge that will be added to the within-class scatter, as a share
            of the mean square of an entry: `reg` of `TensorCRP`. With more than P
            samples and a ridge beside which rounding is nothing (1e-10 of it), the
            root is made from products of the samples, with half of the operations.

        Returns
        -------
        ClassScatter
            With at most P rows in the root.

        Examples
        --------
        >>> import numpy as np
        >>> X = np.arange(24.0).reshape(6, 2, 2)
        >>> scatter = ClassScatter.from_samples(X, [0, 0, 0, 1, 1, 1])
        >>> scatter.counts
        array([3., 3.])
        >>> scatter.root.shape  # six samples, but four entries
        (4, 2, 2)
        """
        source, y = as_source(X), np.asarray(y)
        X = np.asarray(X) if source is None else source
        weight = _checked_weight(sample_weight, X, y)
        index = np.flatnonzero(weight)
        classes, codes = np.unique(y[index], return_inverse=True)
        counts = np.bincount(codes, weight[index])
        used = Used(X, index, codes, weight[index])
        with bounded_threads(0):  # blocks are small, however many there are
            rows = CentredRows(used, used.means(counts))
            root = rows
            if root_bytes(rows.shape, rows.dtype) <= max_memory:
                tall = len(index) > prod(X.shape[1:])
                fewer = rows.triangle(least_ridge) if tall else rows.fewer()
                root = np.asarray(fewer)
        return cls(classes, counts, rows.means, root)

    @property
    def shape(self):
        """Shape of a sample."""
        return self.root.shape[1:]

    @cached_property
    def _spread(self):
        """Sum of squares and largest magnitude of each entry of the root: (2, P).

        Nought where all samples of a class are equal and differ from their mean by
        rounding alone.
        """
        rows = self.root.reshape(len(self.root), -1)
        with np.errstate(over="ignore"):
            squares, largest = rows.spread() if hasattr(rows, "spread") else _sums(rows)
        means = np.abs(self.means).reshape(len(self.means), -1).max(axis=0)
        varies = largest > 32 * np.finfo(float).eps * means
        return np.where(varies, [squares, largest], 0.0)

    @property
    def trace(self):
        """Trace of the within-class scatter."""
        with np.errstate(over="ignore"):
            return float(self._spread[0].sum() + self.missing)

    @property
    def largest(self):
        """Largest magnitude in the root."""
        return float(self._spread[1].max())

    def between(self, weighting):
        """Rows of the numerator of J: (c, l_1, ..., l_N).

        Parameters
        ----------
        weighting : {"classes", "samples"}
            Every class once, as in the paper, or by its size, as in classical LDA.

        Returns
        -------
        ndarray of shape (c, l_1, ..., l_N)
            Deviations of the class means from the overall mean.
        """
        share = as_column(self.counts / self.counts.sum(), self.means.ndim)
        deviations = self.means - (share * self.means).sum(axis=0)
        if weighting == "samples":
            deviations = deviations * np.sqrt(as_column(self.counts, self.means.ndim))
        return np.moveaxis(samples_last(deviations), -1, 0)  # the solver's order

    def merge(self, other):
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
        kinds = {part.classes.dtype.kind in "biuf" for part in (self, other)}
        if len(kinds) > 1:
            raise ValueError(
                f"cannot merge labels {other.classes} with labels {self.classes}: use "
                "numbers in every batch, or strings in every batch."
            )
        classes = np.union1d(self.classes, other.classes)
        (n1, m1), (n2, m2) = (part._on(classes) for part in (self, other))
        counts = n1 + n2
        pull = as_column(n2 / counts, m1.ndim)
        means = m1 + pull * (m2 - m1)
        gap = np.sqrt(as_column(n1 * n2 / counts, m1.ndim)) * (m2 - m1)
        root = _stack([np.asarray(self.root), np.asarray(other.root), gap])
        error, missing = self.error + other.error, self.missing + other.missing
        return ClassScatter(classes, counts, means, root, error, missing).compress()

    def compress(self):
        """The same statistics with at most P rows in the root.

        Returns
        -------
        ClassScatter
            Itself if it has no more.
        """
        n_features = prod(self.shape)
        if len(self.root) <= n_features:
            return self
        if isinstance(self.root, CentredRows):
            return replace(self, root=self.root.triangle())
        rows, start = self.root.reshape(len(self.root), n_features), None
        if not np.tril(rows[:n_features], -1).any():  # new rows below an old root
            start, rows = rows[:n_features], rows[n_features:]
        with bounded_threads(0):
            root = triangle((block for _, block in blocks(rows, ROWS)), start)
        return replace(self, root=root.reshape(-1, *self.shape))

    def shrink(self, max_rows):
        """Nearly the same statistics with at most `max_rows` rows in the root.

        Frequent directions: what the new root stands for is never more than the
        within-class scatter, and never less by more than `error` in any direction.
        Half of the rows are given up at once, so that the next ones have room.

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
        rows = np.asarray(self.root).reshape(len(self.root), -1)
        with bounded_threads(rows.nbytes):
            root, delta = shrink_rows(rows, max_rows // 2)
        smaller = replace(
            self, root=root.reshape(-1, *self.shape), error=self.error + delta
        )
        lost = self.trace - smaller.trace
        return replace(smaller, missing=self.missing + max(0.0, lost))

    def reshape(self, shape):
        """The same statistics of samples of another shape with as many entries.

        Parameters
        ----------
        shape : tuple of int
            New shape of a sample.

        Returns
        -------
        ClassScatter
            Its arrays are views.
        """
        return replace(
            self,
            means=self.means.reshape(-1, *shape),
            root=self.root.reshape(-1, *shape),
        )

    def _on(self, classes):
        """Counts and means on a larger set of classes, zero where unknown."""
        counts, means = np.zeros(len(classes)), np.zeros((len(classes), *self.shape))
        where = np.searchsorted(classes, self.classes)
        counts[where], means[where] = self.counts, self.means
        return counts, means


def _sums(rows):
    """Sum of squares and largest magnitude of each entry of rows (n, P): (2, P)."""
    if not isinstance(rows, np.ndarray):
        return _read_sums(rows)
    squares, largest = np.zeros((2, rows.shape[1]))
    step = max(1, BLOCK_BYTES // (8 * len(rows)))
    for start in range(0, rows.shape[1], step):
        part = slice(start, start + step)
        entries = np.abs(rows.T[part].astype(float))
        largest[part] = entries.max(axis=1)
        squares[part] = np.square(entries, out=entries).sum(axis=1)
    return squares, largest


def _read_sums(rows):
    """The same of rows that are read from elsewhere."""
    squares, largest = np.zeros((2, rows.shape[1]))
    step = max(1, BLOCK_BYTES // (8 * rows.shape[1]))
    for _, block in rows.blocks(step):
        largest = np.maximum(largest, np.abs(block, out=block).max(axis=0))
        squares += np.square(block, out=block).sum(axis=0)
    return squares, largest


def root_bytes(shape, dtype):
    """Bytes that making the root of samples (n, l_1, ..., l_N) takes.

    The centred samples, or a triangle and as much room to make it.
    """
    n, P = shape[0], prod(shape[1:])
    return 16 * P * P if n > P else n * P * np.dtype(dtype).itemsize


def _stack(parts):
    """Rows of all parts that are not null, at least one row.

    The precision is that of the roots; the last part, the means, is always float64.
    """
    keep = [np.flatnonzero(p.any(axis=tuple(range(1, p.ndim)))) for p in parts]
    if not sum(map(len, keep)):
        keep[0] = np.arange(1)
    dtype = np.result_type(*parts[:-1])
    root = empty_samples((sum(map(len, keep)), *parts[0].shape[1:]), dtype)
    start = 0
    for part, rows in zip(parts, keep, strict=True):
        for few in np.array_split(rows, len(rows) // FEW_ROWS + 1):
            root[start : start + len(few)] = part[few]
            start += len(few)
    return root


def _checked_weight(weight, X, y):
    """Weights (n,) of samples and labels that belong together, or an error."""
    if X.ndim < 2 or y.shape != X.shape[:1]:
        raise ValueError(
            f"X needs shape (n, l_1, ..., l_N) and y shape (n,), got {X.shape} and "
            f"{y.shape}."
        )
    weight = np.ones(len(X)) if weight is None else np.asarray(weight, float)
    if weight.shape != y.shape or not (weight >= 0).all() or not weight.any():
        raise ValueError(
            f"sample_weight needs {len(y)} numbers, none negative and not all zero."
        )
    return weight
