"""Class statistics that the objective needs, mergeable batch by batch.

In: samples ``X`` of shape (n, l_1, ..., l_N) and labels ``y`` of shape (n,).
Out: class weights (c,), class means (c, l_1, ..., l_N) and a *root* of the
within-class scatter: rows ``A_j`` with

    sum_j <A_j, W>^2 = sum_c sum_{i in c} w_i <X_i - Xbar_c, W>^2    for every W,

the first term of the denominator in the paper's objective (4). Up to P samples the
rows are the centred samples; beyond P (the number of entries of a sample) they are
the triangular factor of a QR decomposition, P rows however many samples there are.
Roots of two batches merge exactly. Nothing here knows projections.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from math import prod

import numpy as np

from tensorcrp._algebra import working_dtype
from tensorcrp._lapack import fold_rows
from tensorcrp._threads import bounded_threads

BLOCK_BYTES = 2**20  # samples are read in blocks of about 1 MB, which stay in cache
ROWS = 1024  # folded into a triangle at a time, at least


@dataclass(frozen=True)
class ClassScatter:
    """Weights, means and the within-class root of labelled samples.

    Attributes
    ----------
    classes : ndarray of shape (c,)
        Sorted labels.
    counts : ndarray of shape (c,)
        Sum of the sample weights per class.
    means : ndarray of shape (c, l_1, ..., l_N)
        In float64.
    root : ndarray of shape (r, l_1, ..., l_N)
        Centred samples in their working precision, a triangle in float64.
    """

    classes: np.ndarray
    counts: np.ndarray
    means: np.ndarray
    root: np.ndarray

    @classmethod
    def from_samples(cls, X, y, sample_weight=None):
        """Statistics of samples, read in blocks and copied at most once.

        Parameters
        ----------
        X : ndarray of shape (n, l_1, ..., l_N)
            Real numbers of any type. The centred samples of float32 stay float32.
        y : ndarray of shape (n,)
        sample_weight : ndarray of shape (n,), optional
            Not negative; samples of weight zero count for nothing.

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
        X, y = np.asarray(X), np.asarray(y)
        weight = _checked_weight(sample_weight, X, y)
        used = np.flatnonzero(weight)
        classes, codes = np.unique(y[used], return_inverse=True)
        counts = np.bincount(codes, weight[used])
        batches = _Batches(X, used, codes, weight[used])
        tall = len(used) > prod(X.shape[1:])
        with bounded_threads(0):  # blocks are small, however many there are
            means = batches.class_means(counts)
            root = batches.triangle(means) if tall else batches.centred(means)
        return cls(classes, counts, means, root)

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
        squares, largest = np.zeros((2, rows.shape[1]))
        step = max(1, BLOCK_BYTES // (8 * rows.shape[1]))
        with np.errstate(over="ignore"):
            for start in range(0, len(rows), step):
                block = rows[start : start + step].astype(float)
                largest = np.maximum(largest, np.abs(block, out=block).max(axis=0))
                squares += np.square(block, out=block).sum(axis=0)
        means = np.abs(self.means).reshape(len(self.means), -1).max(axis=0)
        varies = largest > 8 * np.finfo(float).eps * means
        return np.where(varies, [squares, largest], 0.0)

    @property
    def trace(self):
        """Trace of the within-class scatter."""
        with np.errstate(over="ignore"):
            return float(self._spread[0].sum())

    @property
    def largest(self):
        """Largest magnitude in the root."""
        return float(self._spread[1].max())

    def between(self, weighting):
        """Rows of the numerator of J: (c, l_1, ..., l_N).

        Deviations of the class means from the overall mean, each once
        (``"classes"``, the paper) or by class size (``"samples"``, classical LDA).
        """
        share = _as_column(self.counts / self.counts.sum(), self.means.ndim)
        deviations = self.means - (share * self.means).sum(axis=0)
        if weighting == "samples":
            deviations = deviations * np.sqrt(_as_column(self.counts, self.means.ndim))
        return deviations

    def merge(self, other):
        """Statistics of both batches together, exact to rounding.

        A class in both batches adds one row: the difference of its two means.
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
        pull = _as_column(n2 / counts, m1.ndim)
        means = m1 + pull * (m2 - m1)
        gap = np.sqrt(_as_column(n1 * n2 / counts, m1.ndim)) * (m2 - m1)
        root = _stack([self.root, other.root, gap])
        return ClassScatter(classes, counts, means, root).compress()

    def compress(self):
        """The same statistics with at most P rows in the root."""
        n_features = prod(self.shape)
        if len(self.root) <= n_features:
            return self
        rows = self.root.reshape(len(self.root), n_features)
        with bounded_threads(0):
            triangle = _triangle(rows[i : i + ROWS] for i in range(0, len(rows), ROWS))
        return replace(self, root=triangle.reshape(-1, *self.shape))

    def reshape(self, shape):
        """The same statistics of samples of another shape with as many entries."""
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


@dataclass(frozen=True)
class _Batches:
    """Blocks of the used samples with their class codes and weights."""

    X: np.ndarray
    used: np.ndarray
    codes: np.ndarray
    weight: np.ndarray

    def _blocks(self, rows):
        for start in range(0, len(self.used), rows):
            part = slice(start, start + rows)
            yield part, self.X[self.used[part]].astype(float, copy=False)

    def _rows(self):
        return max(1, BLOCK_BYTES // (8 * prod(self.X.shape[1:])))

    def class_means(self, counts):
        """Means (c, l_1, ..., l_N), by way of the deviations from the first sample.

        Entries that never vary are exact so, and a large offset costs no digits.
        """
        first = self.X[self.used[0]].astype(float)
        sums = np.zeros((len(counts), *first.shape))
        for part, block in self._blocks(self._rows()):
            block -= first
            member = np.zeros((len(counts), len(block)))
            member[self.codes[part], np.arange(len(block))] = self.weight[part]
            sums += np.tensordot(member, block, axes=1)
        return first + sums / _as_column(counts, sums.ndim)

    def _deviations(self, means, rows):
        for part, block in self._blocks(rows):
            for sample, code in zip(block, self.codes[part], strict=True):
                sample -= means[code]  # no array of as many means as samples
            block *= _as_column(np.sqrt(self.weight[part]), block.ndim)
            yield part, block

    def centred(self, means):
        """Weighted deviations from the class means: the one copy of the data."""
        dtype = working_dtype(self.X)
        root = np.empty((len(self.used), *self.X.shape[1:]), dtype)
        for part, block in self._deviations(means, self._rows()):
            root[part] = block
        return root

    def triangle(self, means):
        """Triangular root of all deviations, P rows, blocks folded in one by one."""
        blocks = self._deviations(means, max(ROWS, self._rows()))
        triangle = _triangle(block.reshape(len(block), -1) for _, block in blocks)
        return triangle.reshape(-1, *self.X.shape[1:])


def _triangle(blocks):
    """Triangular root (P, P) of all rows, from blocks (n, P)."""
    triangle = None
    for block in blocks:
        if triangle is None:
            triangle = np.zeros((block.shape[1],) * 2, order="F")
        triangle = fold_rows(triangle, block.astype(float, copy=False))
    return np.ascontiguousarray(triangle)


def _stack(parts):
    """Rows of all parts that are not null, at least one row.

    The precision is that of the roots; the last part, the means, is always float64.
    """
    keep = [np.flatnonzero(p.any(axis=tuple(range(1, p.ndim)))) for p in parts]
    if not sum(map(len, keep)):
        keep[0] = np.arange(1)
    dtype = np.result_type(*parts[:-1])
    root = np.empty((sum(map(len, keep)), *parts[0].shape[1:]), dtype)
    start = 0
    for part, rows in zip(parts, keep, strict=True):
        for row in rows:
            root[start] = part[row]
            start += 1
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


def _as_column(values, ndim):
    """Values (n,) shaped to multiply an array of `ndim` axes along its first."""
    return np.reshape(values, (-1,) + (1,) * (ndim - 1))
