"""Products of many samples with few vectors, in the form in which BLAS is fastest.

In: rows of many samples, with the sample axis last or first, and few vectors. Out:
their products; and what is subtracted from rows in place. `linalg` has LAPACK.

A plain matrix product would first copy the samples into an order of its own, which
takes longer than to multiply them with a few vectors.
"""

from functools import partial
from itertools import product

import numpy as np
from scipy.linalg.blas import dgemm, dger

# Up to this many vectors are multiplied one by one with samples that are in cache:
# matrix-vector products run at the speed of memory, skinny matrix products do not.
# What has fewer entries, M x T or one sample of a block, is not worth a call each.
FEW, LARGE, LARGE_SAMPLE, LARGE_LANE = 3, 2**12, 2**9, 2**15
# More go together, with null vectors up to a multiple of this: the inner loops have
# this width, and what is left over takes them longer than zeros.
PADDED = 8
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


def contract_lanes(X, lanes, vectors):
    """`contract` of some lanes of X (A, L, M, T) with vectors (B, K, M) of each.

    Returns
    -------
    ndarray of shape (B, K, L, T)
    """
    _, L, M, T = X.shape
    out = np.empty((*vectors.shape[:2], L, T), X.dtype)
    if isinstance(lanes, slice) and M * T < LARGE_LANE:
        np.matmul(vectors[:, None], X[lanes], out=out.transpose(0, 2, 1, 3))
        return out
    each = np.arange(len(X))[lanes]
    for lane, a in enumerate(each):
        out[lane] = contract(X[a], vectors[lane])
    return out


def consecutive(lanes):
    """Numbers of lanes (B,) as a slice if they are consecutive: it takes no copy."""
    if not len(lanes):
        return lanes
    first, last = int(lanes[0]), int(lanes[-1])
    if last - first + 1 == len(lanes) and (lanes[1:] > lanes[:-1]).all():
        return slice(first, last + 1)
    return lanes


def subtract_products(Z, A, B):
    """``Z -= A B`` in place, for Z (B, d, n), A (B, d, p) and B (B, p, n)."""
    if Z[0].size < LARGE:
        Z -= A @ B
        return
    for z, a, b in zip(Z, A, B, strict=True):
        dgemm(-1.0, b.T, a.T, 1.0, z.T, overwrite_c=1)


def subtract_outer(X, w, s):
    """``X -= w s^T`` in place, for X (P, n) in C order."""
    dger(-1.0, s, w, a=X.T, overwrite_x=0, overwrite_y=0, overwrite_a=1)


def block_contraction(vectors, left, size):
    """A function that multiplies blocks of samples with vectors.

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
    padded = np.zeros((-(-K // PADDED) * PADDED, size), vectors.dtype)
    padded[:K] = vectors
    return padded
