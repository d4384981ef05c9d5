"""Roots of a scatter: rows ``A_j`` with ``sum_j <A_j, W>^2`` the scatter of W.

In: rows (n, l_1, ..., l_N), as arrays or in blocks. Out: a triangular root with at most
P rows, or fewer rows with the same scatter, or nearly; how many bytes a root takes, and
whether the scatter can do without a ridge.
"""

from math import prod

import numpy as np

from tensorcrp.base.namespace import as_type, host, put
from tensorcrp.base.validation import TooFewSamples
from tensorcrp.solver.linalg import fold_rows

ROWS = 1024  # folded into a triangle at a time, at least


def triangle(blocks, start=None):
    """Triangular root (P, P) of all rows, from blocks (n, P).

    `start` is a triangular root of rows that come before.
    """
    root = None if start is None else np.array(start, order="F")
    for block in blocks:
        if root is None:
            root = np.zeros((block.shape[1],) * 2, order="F")
        root = fold_rows(root, block.astype(float, copy=False))
    return root  # LAPACK's order of columns is that of samples that come last


def shrink_rows(rows, number):
    """At most `number` rows ``B`` of nearly the same scatter, and delta.

    Frequent directions: ``0 <= A^T A - B^T B <= delta I`` and ``delta <= ||A||_F^2 /
    (number + 1)``. Directions of little scatter are given up, and every other one loses
    as much scatter as the largest of those (E. Liberty, "Simple and deterministic
    matrix sketching", 2013).

    Parameters
    ----------
    rows : array of shape (n, P)
        With n > number; on a device, products are made there.
    number : int

    Returns
    -------
    shrunk : array of shape (at most number, P)
        In float64, of the kind of `rows`.
    delta : float
        Largest eigenvalue that ``A^T A - B^T B`` can have.
    """
    rows = as_type(rows, np.float64)
    inner = host(rows @ rows.T)
    squares, vectors = np.linalg.eigh(inner)  # of the singular values of A
    delta = max(0.0, squares[-number - 1])
    keep = squares > delta
    if not keep.any():  # all directions alike: none is worth more than the others
        return put(np.zeros((1, rows.shape[1])), rows), float(delta)
    shares = np.sqrt(1 - delta / squares[keep])
    return put((vectors[:, keep] * shares).T, rows) @ rows, float(delta)


def reflected(codes, weight):
    """How deviations from class means (r,) become one fewer per class.

    The weighted deviations of a class sum to zero. A reflection that maps the vector of
    ``s_i = sqrt(w_i)`` to the axis of sample 0 makes that row zero and the others

        ``s_i (X_i - Xbar) + s_0 (X_0 - Xbar) s_i / (|s| - s_0)``:

    deviations from another centre, ``Xbar - s_0 / (|s| - s_0) (X_0 - Xbar)``. Sample 0
    is the one of smallest weight, so that rounding errors do not grow.

    Returns
    -------
    firsts : ndarray of int, shape (c,)
        Sample 0 of each class.
    shares : ndarray of shape (c,)
        ``s_0 / (|s| - s_0)``, or 0 where there is no other sample.
    """
    order = np.lexsort([weight, codes])
    classes, starts = np.unique(codes[order], return_index=True)
    firsts = order[starts]
    roots = np.sqrt(weight[firsts])
    rest = np.sqrt(np.bincount(codes, weight))[classes] - roots
    return firsts, np.divide(roots, rest, where=rest > 0, out=np.zeros(len(rest)))


def root_bytes(shape, dtype):
    """Bytes that making the root of samples (n, l_1, ..., l_N) takes.

    The centred samples, or a triangle and as much room to make it.
    """
    n, P = shape[0], prod(shape[1:])
    return 16 * P * P if n > P else n * P * np.dtype(dtype).itemsize


def check_definite(rows):
    """Reject rows whose scatter needs a ridge: J would have no maximum."""
    n_features = prod(rows.row_shape)
    if not rows.in_memory:
        raise ValueError(
            "reg=0 with a within-class scatter that is not in memory: whether the "
            "objective has a maximum is not known. Set reg > 0, e.g. 0.3, or raise "
            "max_memory."
        )
    singular = len(rows) < n_features
    if not singular:
        values = rows.singular_values()
        singular = values[-1] <= n_features * np.finfo(rows.dtype).eps * values[0]
    if singular:
        raise TooFewSamples(
            f"reg=0 with a singular within-class scatter ({len(rows)} rows for "
            f"{n_features} entries of a sample): the objective has no maximum. Set "
            "reg > 0, e.g. 0.3."
        )


def as_column(values, ndim):
    """Values (n,) shaped to multiply an array of `ndim` axes along its first."""
    return np.reshape(values, (-1,) + (1,) * (ndim - 1))
