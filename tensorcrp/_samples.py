"""Mode products of many samples with CP factors.

In: ``n`` samples of shape ``(l_1, ..., l_N)`` and CP factors, one array
``(l_m, K)`` per mode whose K columns may belong to several problems (lanes).
Out: the samples contracted with every factor but one, ``(K, l_m, n)``: the ``Z`` of
``<X, W> = <Z, U^(m)>``, which at order 2 is the paper's
``Tr(U^T X V) = vec(U)^T (I kron X) vec(V)`` (its fifth lemma).

The modes are cut in two sides: a sample is a matrix (L, R), L the product of the left
modes and R that of the right ones. The product with all right factors serves every
left mode and the other way round, so that a sweep reads the data twice whatever N is.
In memory the samples come last: one entry of all samples is one row. Every product is
then one of few vectors with long rows, and features come out as matrices (d, n).
"""

from dataclasses import dataclass, replace
from math import prod

import numpy as np
from scipy.linalg.lapack import dsfrk

from tensorcrp._algebra import khatri_rao_of, split_modes
from tensorcrp._blas import contract, contraction, weighted_sums


def samples_last(X):
    """Samples (n, l_1, ..., l_N) as an array (l_1, ..., l_N, n) in C order."""
    return np.ascontiguousarray(np.moveaxis(X, 0, -1))


def empty_samples(shape, dtype):
    """Room for samples (n, l_1, ..., l_N), last in memory."""
    n, *shape = shape
    return np.moveaxis(np.empty((*shape, n), dtype), -1, 0)


@dataclass(frozen=True)
class Samples:
    """Samples of one shape, cut in a left and a right side.

    Attributes
    ----------
    tensor : ndarray of shape (L, R, n), in C order
        Or what is like an array (n, L, R) but read from elsewhere, in
        ``mapped(linear)``; then only `side_product` and `some` work.
    shape : tuple of int
        ``(l_1, ..., l_N)``.
    split : int
        Modes before it are left modes.
    step : int
        Every so-manieth sample counts, where only `combine` and inner products are
        asked for.
    """

    tensor: np.ndarray
    shape: tuple
    split: int
    step: int = 1

    @classmethod
    def of(cls, X):
        """Samples of an array (n, l_1, ..., l_N); not copied if last in memory."""
        shape = X.shape[1:]
        split = split_modes(shape)
        sides = prod(shape[:split]), prod(shape[split:])
        if isinstance(X, np.ndarray):
            return cls(samples_last(X).reshape(*sides, len(X)), shape, split)
        return cls(X.reshape(len(X), *sides), shape, split)

    @property
    def in_memory(self):
        """Whether the samples are an array."""
        return isinstance(self.tensor, np.ndarray)

    def __len__(self):
        n = self.tensor.shape[2] if self.in_memory else len(self.tensor)
        return -(-n // self.step)

    def is_left(self, mode):
        """Whether `mode` is one of the left modes."""
        return mode < self.split

    def side_product(self, factors, left):
        """Contract the modes of the other side: one pass over the data.

        Parameters
        ----------
        factors : list of ndarray (l_m, K)
        left : bool
            Which side is kept.

        Returns
        -------
        ndarray of shape (K, *kept modes, n)
        """
        s, dtype = self.split, self.tensor.dtype
        gone = khatri_rao_of(factors[s:] if left else factors[:s], factors)
        vectors = np.ascontiguousarray(gone.T, dtype)  # or the data were converted
        kept = self.shape[:s] if left else self.shape[s:]
        if self.in_memory:
            rows = self.tensor if left else self.tensor.reshape(1, len(self.tensor), -1)
            product = contract(rows, vectors)
        else:
            product = self._read_product(vectors, left, prod(kept))
        return product.reshape(-1, *kept, len(self))

    def _read_product(self, vectors, left, size):
        """The same (K, size, n) of samples that are read one after the other."""
        product = np.empty((len(vectors), size, len(self)), vectors.dtype)
        contracted = contraction(vectors, left, prod(self.shape))
        for part, rows in self.tensor.mapped(contracted):
            product[:, :, part] = rows.transpose(1, 2, 0)[: len(vectors)]
        return product

    def finish(self, product, factors, mode):
        """Contract the kept side but `mode`: (K, *kept modes, n) -> (K, l_m, n)."""
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

    def some(self, most):
        """Evenly spaced samples, at most so many, in memory; of an array no copy."""
        step = -(-len(self) // most)
        if self.in_memory:
            return replace(self, step=step)
        return Samples.of(self.tensor[::step].reshape(-1, *self.shape))

    def combine(self, weights):
        """Weighted sums of the samples: (B, n) -> (B, P)."""
        spread = np.zeros((len(weights), self.tensor.shape[2]), self.tensor.dtype)
        spread[:, :: self.step] = weights
        return weighted_sums(spread, self.tensor.reshape(-1, spread.shape[1]))

    def gram(self, other):
        """Inner products ``<X_i, Y_j>`` with the samples of `other`, in float64."""
        pairs = zip(self._blocks(), other._blocks(), strict=True)
        return sum(mine.T @ theirs for mine, theirs in pairs)

    def packed_gram(self):
        """Inner products ``<X_i, X_j>`` in float64, of which one half is kept.

        Returns
        -------
        ndarray of shape (n (n + 1) / 2,)
            In the packed form of LAPACK's routines ``dpftrf`` and ``dpftrs``.
        """
        n = len(self)
        packed = np.zeros(n * (n + 1) // 2)
        for block in self._blocks():
            packed = dsfrk(n, len(block), 1.0, block.T, 1.0, packed, overwrite_c=1)
        return packed

    @property
    def flat(self):
        """The samples as vectors (n, P), a view."""
        return self.tensor.reshape(-1, self.tensor.shape[2])[:, :: self.step].T

    def _blocks(self, width=128):
        """Entries of all samples, (at most `width`, n) at a time, in float64."""
        entries = self.flat.T
        for start in range(0, len(entries), width):
            yield np.ascontiguousarray(entries[start : start + width], float)
