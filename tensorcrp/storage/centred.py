"""Class means and centred samples: in memory or read when needed.

In: samples ``X`` (n, l_1, ..., l_N), an array or a `Source`, the numbers ``used`` (r,)
of those that count, and their class codes and weights (r,).
Out: class means (c, l_1, ..., l_N), and rows ``sqrt(w_i) (X_i - Xbar_c)`` as a
`CentredRows`, which has the attributes of an array (r, l_1, ..., l_N), yields blocks of
it, and turns into the array itself or into its triangular root (P, P).
"""

from dataclasses import dataclass, replace
from functools import cached_property
from math import prod

import numpy as np

from tensorcrp.base.validation import check_finite
from tensorcrp.solver.array_rows import ArrayRows
from tensorcrp.solver.cp import working_dtype
from tensorcrp.solver.linalg import EPS, LOST, product_root
from tensorcrp.solver.rows import BLOCK_BYTES, Rows
from tensorcrp.storage.device_samples import (
    device_centred,
    device_sums,
    device_triangle,
)
from tensorcrp.storage.roots import ROWS, as_column, reflected, root_bytes, triangle
from tensorcrp.storage.sources import source_of

LOOK = 64  # rows that tell how large deviations are
OFFSET = 8  # means that are so many times the deviations cost about a digit
LOOK_BYTES = 2**24  # of a source that are looked at together, where they are not copied


@dataclass(frozen=True)
class Used:
    """The samples that count, with their class codes and weights.

    Attributes
    ----------
    X : Source of shape (n, l_1, ..., l_N)
    index : ndarray of int, shape (r,)
        Numbers of the samples, increasing.
    codes : ndarray of int, shape (r,)
    weight : ndarray of shape (r,)
    """

    X: object
    index: np.ndarray
    codes: np.ndarray
    weight: np.ndarray

    def some(self, part):
        """Some of them, by a slice or their numbers among the used ones."""
        arrays = (each[part] for each in (self.index, self.codes, self.weight))
        return type(self)(self.X, *arrays)

    def blocks(self, rows, dtype=float):
        """Blocks (slice of the used ones, array of our own)."""
        step = max(rows, self.X.step)
        for start in range(0, len(self.index), step):
            fetched = self.fetch(slice(start, start + step))
            for inner in range(0, len(fetched), rows):
                block = fetched[inner : inner + rows]
                here = slice(start + inner, start + inner + len(block))
                yield here, block.astype(dtype, copy=False)

    def mapped(self, function, dtype):
        """Pairs (slice of the used ones, what a function makes of these samples).

        It has to leave them as they are. Samples elsewhere are not copied.
        """
        step = max(self.rows, self.X.samples_in(LOOK_BYTES))
        for start in range(0, len(self.index), step):
            part = slice(start, start + step)
            yield part, function(self.fetch(part, own=False).astype(dtype, copy=False))
            self.X.release(self.index[part][0], self.index[part][-1] + 1)

    def fetch(self, part, own=True):
        """The samples of a slice of the used ones, see `Source.read`."""
        return self.X.take(self.index[part], own)

    @property
    def rows(self):
        """Number of samples that are worked on together."""
        return max(1, BLOCK_BYTES // (8 * prod(self.X.shape[1:])))

    @cached_property
    def is_weighted(self):
        """Whether some samples count more or less than once."""
        return bool((self.weight != 1).any())

    def means(self, counts):
        """Class means (c, l_1, ..., l_N), by the deviations from the first sample.

        Entries that never vary are exact so, and a large offset costs no digits. Of
        all passes over the samples this is the first: it rejects NaN and infinity.
        """
        with np.errstate(invalid="ignore", over="ignore"):  # rejected below
            first = self.fetch(slice(0, 1))[0].astype(float)
            sums = np.zeros((len(counts), *first.shape))
            for part, block in self.blocks(self.rows):
                block -= first
                self._add(sums, part, block)
        if not np.isfinite(sums).all():
            for part, block in self.blocks(self.rows, self.X.dtype):
                check_finite(block, self.index[part])
        return class_means(first, sums, counts)

    def _add(self, sums, part, block):
        """Add weighted samples to the sums of their classes."""
        codes, weight = self.codes[part], self.weight[part]
        if len(block) < len(sums):  # large samples: one by one, no product with zeros
            for sample, code, w in zip(block, codes, weight, strict=True):
                sums[code] += sample if w == 1 else w * sample
            return
        member = np.zeros((len(sums), len(block)))
        member[codes, np.arange(len(block))] = weight
        sums += np.tensordot(member, block, axes=1)


@dataclass(frozen=True)
class CentredRows(Rows):
    """Weighted deviations from the class means, made when they are read.

    Attributes
    ----------
    used : Used
    means : ndarray of shape (c, l_1, ..., l_N)
    """

    used: Used
    means: np.ndarray

    @property
    def shape(self):
        """``(r, l_1, ..., l_N)``."""
        return len(self.used.index), *self.means.shape[1:]

    @property
    def dtype(self):
        """float32 for samples of float32, else float64."""
        return np.dtype(working_dtype(self.used.X))

    def reshape(self, shape):
        """The same rows, each of another shape."""
        X = self.used.X.reshape(len(self.used.X), *shape)
        return CentredRows(
            replace(self.used, X=X), self.means.reshape(len(self.means), *shape)
        )

    def blocks(self, rows, dtype=float):
        """Blocks (slice, array of at most `rows` rows)."""
        means = _parts(self.means, dtype)
        for part, block in self.used.blocks(rows, dtype=dtype):
            yield part, self._centre(part, block, means)

    def mapped(self, linear):
        """Apply a linear function (b, ...) -> (b, ...) to blocks of rows.

        The function is applied to samples and class means, and its values, which are
        smaller, are centred; unless the means would hide the deviations.
        """
        if self._is_offset:
            rows = max(self.used.rows, self.used.X.step)
            for part, block in self.blocks(rows, self.dtype):
                yield part, linear(block)
            return
        means = linear(self.means).astype(self.dtype)
        for part, result in self.used.mapped(linear, self.dtype):
            result = result - means[self.used.codes[part]]
            yield part, self._weighted(part, result)

    @cached_property
    def _is_offset(self):
        """Whether a few rows show means that are large beside the deviations."""
        some = self[:: -(-len(self) // LOOK)].astype(float)
        deviation, offset = (np.sqrt((each**2).mean()) for each in (some, self.means))
        return offset > OFFSET * deviation

    def __getitem__(self, part):
        """The rows of a slice, as an array in working precision."""
        return np.asarray(replace(self, used=self.used.some(part)))

    def _centre(self, part, block, means):
        codes = self.used.codes[part]
        for sample, code in zip(block, codes, strict=True):
            for mean in means:
                sample -= mean[code]  # no array of as many means as samples
        return self._weighted(part, block)

    def _weighted(self, part, block):
        if self.used.is_weighted:
            weight = self.used.weight[part]
            block *= as_column(np.sqrt(weight), block.ndim).astype(block.dtype)
        return block

    def some(self, step):
        """Every `step`-th row, in memory; the others are not read."""
        return ArrayRows.of(self[::step])

    def fewer(self):
        """Rows with the same scatter, one fewer for every class, see `reflected`."""
        used, centres = self.used, self.means.copy()
        firsts, shares = reflected(used.codes, used.weight)
        others = np.delete(np.arange(len(self)), firsts)
        if not len(others):
            return self
        for first, share in zip(firsts, shares, strict=True):
            if share > 0:  # zero for one sample alone
                code = used.codes[first]
                deviation = used.fetch(slice(first, first + 1))[0] - self.means[code]
                centres[code] -= share * deviation
        return type(self)(used.some(others), centres)

    def root(self, max_memory, least_ridge=0.0):
        """A root of at most P rows, in memory; these rows if it is too large for that.

        Parameters
        ----------
        max_memory : float
            Bytes that it may take.
        least_ridge : float
            See `triangle`.
        """
        if root_bytes(self.shape, self.dtype) > max_memory:
            return self
        tall = len(self) > prod(self.shape[1:])
        return np.asarray(self.triangle(least_ridge) if tall else self.fewer())

    def triangle(self, least_ridge=0.0):
        """Triangular root (P, l_1, ..., l_N), from blocks one by one.

        From products if their rounding error is small compared with the ridge that
        follows (in mean squares of an entry); otherwise by QR decompositions.
        """
        root = None
        if EPS * prod(self.shape[1:]) <= LOST * least_ridge:
            root = product_root(self._flat_blocks())
        root = triangle(self._flat_blocks()) if root is None else root
        return root.reshape(-1, *self.shape[1:])

    def _flat_blocks(self):
        for _, block in self.blocks(max(ROWS, self.used.rows)):
            yield block.reshape(len(block), -1)


class DeviceUsed(Used):
    """Samples that count in an array on a device."""

    def means(self, counts):
        """Class means (c, l_1, ..., l_N), summed where the samples are."""
        first = self.fetch(slice(0, 1))[0].astype(float)
        with np.errstate(invalid="ignore", over="ignore"):  # rejected below
            sums = device_sums(self, first.ravel(), len(counts))
        if not np.isfinite(sums).all():
            self.X.check_finite()
        return class_means(first, sums.reshape(-1, *first.shape), counts)


class DeviceCentred(CentredRows):
    """Deviations from the class means of samples on a device."""

    def root(self, max_memory, least_ridge=0.0):
        """At most P rows, there; `max_memory` is about the host."""
        if len(self) > prod(self.shape[1:]):
            return device_triangle(self.used, self.means)
        fewer = self.fewer()
        return device_centred(fewer.used, fewer.means)


def centred_rows(X, index, codes, weight, counts):
    """Centred samples, wherever they are: a `CentredRows`."""
    X = source_of(X)
    kinds = (DeviceUsed, DeviceCentred) if X.on_device else (Used, CentredRows)
    used = kinds[0](X, index, codes, weight)
    return kinds[1](used, used.means(counts))


def class_means(first, sums, counts):
    """Class means (c, l_1, ..., l_N) from the sums of deviations from one sample.

    An error if the sums overflow, which they do before any mean can.
    """
    if not np.isfinite(sums).all():
        raise ValueError(
            "samples of X differ by more than the largest number of float64. Divide X "
            "by a number of the size of its largest entry, or fill that entry if it "
            "marks a missing value."
        )
    return first + sums / as_column(counts, sums.ndim)


def _parts(means, dtype):
    """Arrays of a type that add up to the means, to twice its digits.

    They are subtracted from float32 samples one after the other, which keeps the
    digits that a large mean would hide.
    """
    high = means.astype(dtype)
    return [high] if high.dtype == means.dtype else [high, (means - high).astype(dtype)]
