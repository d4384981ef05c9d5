"""Fewer rows with nearly the same scatter: frequent directions.

In: rows ``A`` (n, P) and a number of rows. Out: that many rows ``B`` at most, with

    0 <= A^T A - B^T B <= delta I    and    delta <= ||A||_F^2 / (number of rows + 1).

Directions of little scatter are given up, and every other one loses as much scatter as
the largest of those (E. Liberty, "Simple and deterministic matrix sketching", 2013).
"""

import numpy as np


def shrink_rows(rows, number):
    """At most `number` rows of nearly the same scatter, and delta.

    Parameters
    ----------
    rows : ndarray of shape (n, P)
        With n > number.
    number : int

    Returns
    -------
    shrunk : ndarray of shape (at most number, P)
        In float64.
    delta : float
        Largest eigenvalue that ``A^T A - B^T B`` can have.
    """
    rows = rows.astype(float, copy=False)
    squares, vectors = np.linalg.eigh(rows @ rows.T)  # of the singular values of A
    delta = max(0.0, squares[-number - 1])
    keep = squares > delta
    if not keep.any():  # all directions alike: none is worth more than the others
        return np.zeros((1, rows.shape[1])), float(delta)
    shares = np.sqrt(1 - delta / squares[keep])
    return (vectors[:, keep] * shares).T @ rows, float(delta)
