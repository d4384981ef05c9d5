"""What TensorCRP is measured beside: Algorithm 1 written out, and other packages.

`literal_sweep`: U and V after one sweep of the paper's Algorithm 1, with the Kronecker
products of its equations for ``M^v``, ``N^v``, ``D^v`` (and ``M^u``, ``N^u``, ``D^u``)
formed sample by sample: nothing is made cheaper.

`kale_mpca`, `cp_plsr`: methods of other packages, fitted as their authors intend, where
these are installed; and the projections (h, P) of any fitted linear model (`rows_of`).
"""

from math import prod

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


def kale_mpca(X, h):
    """MPCA of `kalelinear`: 97 % of the variation (its default), then h features."""
    try:
        from kalelinear.transformer import MPCA
    except ImportError:
        return None

    def fit():
        return MPCA(vectorize=True, n_components=h).fit(X)

    return fit


def cp_plsr(X, y, h):
    """Tensorly's CP_PLSR on one-hot labels."""
    try:
        from tensorly.regression import CP_PLSR
    except ImportError:
        return None
    targets = (y[:, None] == np.unique(y)).astype(float)

    def fit():
        return CP_PLSR(h).fit(X, targets)

    return fit


def rows_of(model, shape):
    """Projections (h, P) of a fitted model whose transform is affine."""
    if hasattr(model, "projections_"):
        return model.projections_
    if hasattr(model, "scalings_"):
        return model.scalings_.T
    basis = np.eye(prod(shape)).reshape(-1, *shape)
    origin = model.transform(np.zeros((2, *shape)))[:1]
    steps = [model.transform(part) - origin for part in np.array_split(basis, 20)]
    return np.concatenate(steps).T
