"""Fewer rows with nearly the same scatter: frequent directions.

In: rows ``A`` (n, P) and a number of rows. Out: that many rows ``B`` at most, with

    0 <= A^T A - B^T B <= delta I    and    delta <= ||A||_F^2 / (number of rows + 1).

Directions of little scatter are given up, and every other one loses as much scatter as
the largest of those (E. Liberty, "Simple and deterministic matrix sketching", 2013).
"""

import numpy as np

from tensorcrp.base.namespace import as_type, host, put


def shrink_rows(rows, number):
    """At most `number` rows of nearly the same scatter, and delta.

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
