"""Products of many samples with few vectors, in the form in which BLAS is fastest.

In: blocks of samples ``(b, L, R)`` and vectors ``(K, R)`` or ``(K, L)``, K from one to
a few dozen; or weights ``(K, n)`` of samples ``(n, P)``.
Out: the products ``(b, K, L)`` or ``(b, K, R)``; or weighted sums ``(K, P)``.

Matrix products copy the samples into an order of their own first, which takes longer
than to multiply them with a few vectors.
"""

from functools import partial

import numpy as np

# Up to this many vectors are multiplied one by one with a sample that is in cache:
# matrix-vector products run at the speed of memory, skinny matrix products do not.
# Samples of fewer entries are not worth a call each.
FEW, LARGE_SAMPLE = 3, 512
# More go together, with null vectors up to a multiple of this: the inner loops have
# this width, and what is left over takes them longer than noughts.
WIDTH = 8


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
        (b, L, R) -> (b, at least K, L or R), of which the first K count. Blocks may
        lack their first slices of the left side, as if these were null.
    """
    if len(vectors) <= FEW and size >= LARGE_SAMPLE:
        return partial(_one_by_one, vectors=vectors, left=left)
    return partial(_together, vectors=_padded(vectors), left=left)


def _one_by_one(block, vectors, left):
    if left:
        return (block[:, None] @ vectors[:, :, None])[..., 0]
    return (vectors[:, None, -block.shape[1] :] @ block[:, None])[:, :, 0]


def _together(block, vectors, left):
    if not left:
        return vectors[:, -block.shape[1] :] @ block
    b, K, rows = len(block), len(vectors), block.reshape(-1, block.shape[2])
    if block.dtype == np.float32:  # there it is the other operand that has the width
        return (rows @ vectors.T).reshape(b, -1, K).transpose(0, 2, 1)
    return (vectors @ rows.T).reshape(K, b, -1).transpose(1, 0, 2)


def weighted_sums(weights, rows):
    """``weights @ rows`` for weights (K, n) and rows (n, P)."""
    if len(weights) <= FEW:
        return np.stack([each @ rows for each in weights])
    return (_padded(weights) @ rows)[: len(weights)]


def _padded(vectors):
    """Vectors (K, l) and, unless they are few, null ones up to a multiple of 8."""
    K, size = vectors.shape
    if K <= FEW:
        return vectors
    padded = np.zeros((-(-K // WIDTH) * WIDTH, size), vectors.dtype)
    padded[:K] = vectors
    return padded
