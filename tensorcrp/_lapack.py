"""Matrices in LAPACK's triangular and packed forms, and one eigenvector alone.

In: rows (n, P) that become a triangular root (P, P), the size n of a symmetric matrix,
or the matrix. Out: the root; where the diagonal stands in the packed form; the
eigenvector of the largest eigenvalue.
"""

import numpy as np
from scipy.linalg.blas import dsyrk
from scipy.linalg.lapack import dpotrf, dsyevr, dtpqrt

LOST = 1e-10  # share of a ridge that the rounding of products may take


def fold_rows(triangle, rows):
    """Triangular root of ``R^T R + A^T A``, without forming either product.

    Parameters
    ----------
    triangle : ndarray of shape (P, P), in Fortran order
        R, upper triangular; overwritten.
    rows : ndarray of shape (n, P)
        A. It is folded in below the triangle (LAPACK's ``tpqrt``), whose zeros are
        known: fewer operations than a QR decomposition of the stack, in larger steps.

    Returns
    -------
    ndarray of shape (P, P), in Fortran order
    """
    triangle, _, _, info = dtpqrt(
        0, min(32, len(triangle)), triangle, rows, overwrite_a=1, overwrite_b=0
    )
    if info:
        raise np.linalg.LinAlgError(f"no QR decomposition of {rows.shape} numbers")
    return triangle


def product_root(blocks):
    """Triangular root of the sum of ``A^T A`` over blocks A (n, P), or None.

    Half of the operations of folding rows in. Products round off what is small beside
    the largest of them; None if so much that they cannot be factored, or if they leave
    the range of numbers.
    """
    gram = None
    with np.errstate(over="ignore"):
        for block in blocks:
            # LAPACK's order of columns: the transpose is no copy.
            gram = dsyrk(1.0, block.T, beta=1.0, c=gram, overwrite_c=1)
    squares = np.diagonal(gram).copy()
    null = squares == 0
    if null.all() or squares[~null].min() < 1e-250 or squares.sum() > 1e250:
        return None
    gram[null, null] = 1.0  # entries that never vary stand alone
    root, info = dpotrf(gram, overwrite_a=1)
    root[null, null] = 0.0
    return None if info else root


def packed_diagonal(n):
    """Where the diagonal of an n x n matrix stands in LAPACK's packed form: (n,).

    The matrix is cut in two triangles that fill one rectangle, column by column.
    """
    half, step = n // 2, n + 2 - n % 2
    return np.concatenate(
        [half + 1 + step * np.arange(half), half + step * np.arange(n - half)]
    )


def top_eigenvector(matrix):
    """Unit eigenvector (d,) of the largest eigenvalue of a symmetric matrix."""
    size = len(matrix)
    # The transpose is the same matrix, in LAPACK's order of columns.
    _, vectors, _, _, info = dsyevr(matrix.T, range="I", il=size, iu=size)
    if info or not np.isfinite(vectors[0, 0]):
        raise np.linalg.LinAlgError(f"eigenproblem of size {size} has no solution")
    return vectors[:, 0]
