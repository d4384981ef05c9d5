"""The paper's Algorithm 1 with nothing made cheaper, to measure what that costs.

In: matrices ``X`` (n, l_1, l_2), labels, lambda, a start V (l_2, k).
Out: U, V after one sweep, with the Kronecker products of the paper's equations for
``M^v``, ``N^v``, ``D^v`` (and ``M^u``, ``N^u``, ``D^u``) formed sample by sample.
"""

import numpy as np
from scipy.linalg import eigh


def literal_sweep(X, y, V, lam):
    """One update of U and one of V, as Algorithm 1 writes them.

    Parameters
    ----------
    X : ndarray of shape (n, l_1, l_2)
    y : ndarray of shape (n,)
    V : ndarray of shape (l_2, k)
    lam : float

    Returns
    -------
    U, V : ndarray of shapes (l_1, k) and (l_2, k)
    objective : list of two floats, J after each update
    """
    mean = X.mean(axis=0)
    means = {label: X[y == label].mean(axis=0) for label in np.unique(y)}
    between = [each - mean for each in means.values()]
    within = [sample - means[label] for sample, label in zip(X, y, strict=True)]
    U, first = _update(between, within, V, lam)
    V, second = _update([A.T for A in between], [A.T for A in within], U, lam)
    return U, V, [first, second]


def _update(between, within, V, lam):
    """The top generalised eigenvector of ``M^v`` and ``N^v`` as a matrix (l_1, k)."""
    n_rows, k = len(between[0]), V.shape[1]
    v = V.reshape(-1, order="F")
    vv = np.outer(v, v)
    M = sum(_term(A, vv, k) for A in between)
    N = lam * np.kron(V.T @ V, np.eye(n_rows))
    for A in within:
        N += _term(A, vv, k)
    values, vectors = eigh(M, N, subset_by_index=[len(M) - 1] * 2)
    return vectors[:, 0].reshape(n_rows, k, order="F"), float(values[0])


def _term(A, vv, k):
    left = np.kron(np.eye(k), A)
    return left @ vv @ left.T
