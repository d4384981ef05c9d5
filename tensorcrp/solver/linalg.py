"""LAPACK, called in the form in which it is fastest, and only here.

In: symmetric matrices, rows to fold into a root, or the two scatters of a block. Out:
triangular roots, one eigenvector, and the maximiser of a ratio of two quadratic forms.
`products` has the products of many samples with few vectors.

Arrays in C order are transposed before LAPACK sees them: that is its order of columns,
and the transpose is no copy.
"""

import numpy as np
from scipy.linalg.blas import dsyrk, dtrsm
from scipy.linalg.lapack import dposv, dpotrf, dpotrs, dsyevr, dtpqrt, dtrtrs

EPS = np.finfo(float).eps
LOST = 1e-10  # share of a ridge that the rounding of products may take

SMALL_EIGEN = 12  # up to this size all eigenvectors cost what one does
# From this number of matrices on, and up to this size, powers beat LAPACK's calls.
MANY_MATRICES, SMALL_POWERS = 6, 24


# --- roots and factors of symmetric matrices --------------------------------------


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
        raise np.linalg.LinAlgError(f"QR decomposition of shape {rows.shape} failed")
    return triangle


def product_root(blocks):
    """Triangular root of the sum of ``A^T A`` over blocks A (n, P), or None.

    Half of the operations of folding rows in. Products round off what is small beside
    the largest of them; None if so much that they cannot be factored, or if they
    overflow or underflow.
    """
    gram = None
    with np.errstate(over="ignore"):
        for block in blocks:
            gram = dsyrk(1.0, block.T, beta=1.0, c=gram, overwrite_c=1)
    squares = np.diagonal(gram).copy()
    null = squares == 0
    if null.all() or not squares[~null].min() >= 1e-250 or not squares.sum() <= 1e250:
        return None
    gram[null, null] = 1.0  # entries that never vary: a row of their own
    root, info = dpotrf(gram, overwrite_a=1)
    root[null, null] = 0.0
    return None if info else root


def symmetric_gram(blocks):
    """Sum of ``A^T A`` over blocks A (w, n), by half of the operations: (n, n)."""
    gram = None
    for block in blocks:
        gram = dsyrk(1.0, block.T, beta=1.0, c=gram, overwrite_c=1)
    for i in range(len(gram)):  # a copy of the triangle would take as much again
        gram[i + 1 :, i] = gram[i, i + 1 :]
    return gram.T  # in C order


def rounding(matrices):
    """Relative rounding of matrices: that of single precision if a device made them."""
    return np.finfo(matrices.dtype).eps


def choleskys(matrices, ridges):
    """Factors of ``matrix + ridge I`` for `cholesky_solve`, one per matrix and ridge.

    The matrices (B, d, d) are overwritten. A ridge below rounding cannot be factored:
    the caller raises it.
    """
    np.einsum("bii->bi", matrices)[:] += np.reshape(ridges, (-1, 1))
    return [_cholesky(matrix) for matrix in matrices]


def _cholesky(matrix):
    factor, info = dpotrf(matrix.T, lower=1, clean=0, overwrite_a=1)
    if info:
        raise np.linalg.LinAlgError(
            f"a scatter of size {len(matrix)} is not positive definite"
        )
    return factor


def cholesky_solve(factor, right):
    """Solution (n, c) for right sides (n, c)."""
    return dpotrs(factor, right, lower=1)[0]


def lower_solve(lower, right, unit=False):
    """Solution (n, c) of a lower triangular system (n, n), whose rest is not looked at.

    If `unit`, its diagonal is taken for ones. Next to no time in checks: there are
    thousands of small systems.
    """
    return dtrtrs(lower.T, right, lower=0, trans=1, unitdiag=int(unit))[0]


def positive_solve(matrix, right):
    """Solution of a positive system, NaN where rounding left none."""
    _, solution, info = dposv(matrix, right)
    return np.full_like(right, np.nan) if info else solution


def top_eigenvectors(matrices):
    """Unit eigenvectors (B, d) of the largest eigenvalues of symmetric matrices."""
    B, size = matrices.shape[:2]
    if not np.isfinite(matrices).all():
        raise np.linalg.LinAlgError(f"the eigenproblem of size {size} did not converge")
    if B < MANY_MATRICES or size > SMALL_POWERS:
        return _all_lapack(matrices)
    vectors, known = _by_squaring(matrices)
    if not known.all():
        vectors[~known] = _all_lapack(matrices[~known])
    return vectors


def _by_squaring(matrices):
    """Top eigenvectors from the power 4096 of matrices, and which are exact.

    Squares of a stack cost a fraction of LAPACK's calls matrix by matrix. A vector
    counts if it solves the eigenproblem to rounding; near to a double eigenvalue, or
    where the largest in magnitude is negative, it does not.
    """
    with np.errstate(divide="ignore", invalid="ignore", under="ignore"):
        power = matrices
        for _ in range(4):
            power = power / np.einsum("bii->b", power)[:, None, None]
            for _ in range(3):
                power = power @ power
        largest = np.einsum("bii->bi", power).argmax(axis=1)
        v = power[np.arange(len(power)), largest]
        v = v / np.sqrt(np.einsum("bi,bi->b", v, v))[:, None]
        image = (matrices @ v[..., None])[..., 0]
        values = np.einsum("bi,bi->b", v, image)
        error = np.abs(image - values[:, None] * v).max(axis=1)
        return v, (error <= 16 * EPS * values) & (values > 0)


def _all_lapack(matrices):
    if matrices.shape[-1] <= SMALL_EIGEN:  # all of them in one call
        return np.linalg.eigh(matrices)[1][..., -1]
    return np.stack([_top_eigenvector(matrix) for matrix in matrices])


def _top_eigenvector(matrix):
    size = len(matrix)
    _, vectors, _, _, info = dsyevr(matrix.T, range="I", il=size, iu=size)
    if info or not np.isfinite(vectors[0, 0]):
        raise np.linalg.LinAlgError(f"the eigenproblem of size {size} did not converge")
    return vectors[:, 0]


# --- ridge LDA: the maximiser of a ratio of two quadratic forms -------------------
# Lanes are stacked. LAPACK's triangular routines know no stacks: they are called lane
# by lane, everything else once.


def ridge_lda(D, grams, lambdas):
    """Unit maximisers of ``||D^T u||^2 / (u^T G u + lambda ||u||^2)``.

    ``u = L^{-T} a``, a the top left singular vector of ``M = L^{-1} D``, with
    ``G + lambda I = L L^T``.

    Parameters
    ----------
    D : ndarray of shape (B, d, c)
    grams : ndarray of shape (B, d, d)
        G, overwritten.
    lambdas : ndarray of shape (B,)

    Returns
    -------
    ndarray of shape (B, d)
    """
    traces = np.trace(grams, axis1=1, axis2=2)
    factors = choleskys(grams, np.maximum(lambdas, 4 * rounding(grams) * traces))
    pairs = zip(factors, D, strict=True)
    M = np.stack([dtrsm(1.0, L, d.T, side=1, lower=1, trans_a=1).T for L, d in pairs])
    pairs = zip(factors, _top_left(M), strict=True)
    return _units(np.stack([dtrtrs(L, a, lower=1, trans=1)[0] for L, a in pairs]))


def _top_left(M):
    """Top left singular vectors of (B, d, c), of any norm, from the smaller Gram."""
    if M.shape[2] >= M.shape[1]:
        return top_eigenvectors(M @ M.transpose(0, 2, 1))
    top = top_eigenvectors(M.transpose(0, 2, 1) @ M)
    return (M @ top[..., None])[..., 0]


def ridge_lda_of_rows(D, Z, lambdas):
    """The same for ``G = Z Z^T`` of few rows, Z (B, d, n) with n < d.

    By n x n matrices: ``u = lambda N^{-1} D a`` with ``lambda N^{-1} D = D - Z F`` and
    ``F = (Z^T Z + lambda I)^{-1} Z^T D``; a is the top eigenvector of
    ``lambda D^T N^{-1} D = D^T D - D^T Z F``.
    """
    Zt = Z.transpose(0, 2, 1)
    grams, cross = Zt @ Z, Zt @ D
    traces = np.trace(grams, axis1=1, axis2=2)
    if (EPS * traces > LOST * lambdas).any():  # rounding would be left of these
        return ridge_lda(D, Z @ Zt, lambdas)
    pairs = zip(choleskys(grams, lambdas), cross, strict=True)
    F = np.stack([cholesky_solve(*pair) for pair in pairs])
    top = top_eigenvectors(D.transpose(0, 2, 1) @ D - cross.transpose(0, 2, 1) @ F)
    top = top[..., None]
    return _units((D @ top - Z @ (F @ top))[..., 0])


def _units(u):
    """Blocks (B, d) scaled to norm one."""
    norms = np.sqrt(np.einsum("bi,bi->b", u, u))[:, None]
    # Nothing left to separate: any direction is as good, but a white coordinate may be
    # null. The last never is; it is also what LAPACK takes if D D^T underflows.
    u[norms[:, 0] == 0, -1] = 1.0
    return u / np.where(norms > 0, norms, 1.0)
