"""Products of many samples with few vectors, in the form in which BLAS is fastest.

In: an array ``(L, M, T)`` whose rows are long, T some or all entries of all samples, or
blocks ``(b, L, R)`` of samples that are read one after the other, and K vectors of
length M, L or R, K from one to a few dozen.
Out: the products ``(K, L, T)``; of blocks ``(b, K, L)`` or ``(b, K, R)``.

Matrix products copy the samples into an order of their own first, which takes longer
than to multiply them with a few vectors.
"""

from functools import partial
from itertools import product

import numpy as np
from scipy.linalg.blas import dgemm

# Up to this many vectors are multiplied one by one with samples that are in cache:
# matrix-vector products run at the speed of memory, skinny matrix products do not.
# What has fewer entries, M x T or one sample of a block, is not worth a call each.
FEW, LARGE, LARGE_SAMPLE = 3, 2**12, 2**9
# More go together, with null vectors up to a multiple of this: the inner loops have
# this width, and what is left over takes them longer than noughts.
WIDTH = 8
CACHE = 2**22  # bytes of samples that one vector after the other is multiplied with


def contract(X, vectors):
    """``sum_m X[l, m, t] V[k, m]``: an array (L, M, T), vectors (K, M) -> (K, L, T)."""
    L, M, T = X.shape
    if len(vectors) > FEW or M * T < LARGE:
        padded = _padded(vectors)
        out = np.empty((len(padded), L, T), X.dtype)
        np.matmul(padded, X, out=out.transpose(1, 0, 2))
        return out[: len(vectors)]
    out = np.empty((len(vectors), L, T), X.dtype)
    width = max(LARGE, CACHE // (M * X.itemsize))
    height = max(1, CACHE // (M * T * X.itemsize))
    for first, start in product(range(0, L, height), range(0, T, width)):
        part = slice(first, first + height), slice(None), slice(start, start + width)
        results = out.swapaxes(0, 1)[part][:, :, None]
        np.matmul(vectors[:, None], X[part][:, None], out=results)
    return out


def weighted_sums(weights, entries):
    """Sums over samples: weights (K, n), entries (P, n) of the samples -> (K, P)."""
    if len(weights) <= FEW:
        return np.stack([entries @ each for each in weights])
    return (_padded(weights) @ entries.T)[: len(weights)]


def subtract_product(Z, A, B):
    """``Z -= A B`` in place, for Z (d, n) and B (p, n) in C order and A (d, p)."""
    # BLAS has columns where C order has rows: the same with all transposed.
    dgemm(-1.0, B.T, A.T, 1.0, Z.T, overwrite_c=1)


def contraction(vectors, left, size):
    """A function of blocks that multiplies them with vectors.

    Parameters
    ----------
    vectors : ndarray of shape (K, R) if `left`, else (K, L)
        In C order, of the type of the samples.
    left : bool
        Which side is kept.
    size : int
        Number of entries of a sample.

    Returns
    -------
    callable
        (b, L, R) -> (b, at least K, L or R), of which the first K count.
    """
    if len(vectors) <= FEW and size >= LARGE_SAMPLE:
        return partial(_one_by_one, vectors=vectors, left=left)
    return partial(_together, vectors=_padded(vectors), left=left)


def _one_by_one(block, vectors, left):
    if left:
        return (block[:, None] @ vectors[:, :, None])[..., 0]
    return (vectors[:, None] @ block[:, None])[:, :, 0]


def _together(block, vectors, left):
    if not left:
        return vectors @ block
    b, K, rows = len(block), len(vectors), block.reshape(-1, block.shape[2])
    if block.dtype == np.float32:  # there it is the other operand that has the width
        return (rows @ vectors.T).reshape(b, -1, K).transpose(0, 2, 1)
    return (vectors @ rows.T).reshape(K, b, -1).transpose(1, 0, 2)


def _padded(vectors):
    """Vectors (K, l) and, unless they are few, null ones up to a multiple of 8."""
    K, size = vectors.shape
    if K <= FEW:
        return vectors
    padded = np.zeros((-(-K // WIDTH) * WIDTH, size), vectors.dtype)
    padded[:K] = vectors
    return padded
