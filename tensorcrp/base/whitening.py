"""Features that suit distances: white within classes.

In: the within-class scatter (h, h) of features. Out: a symmetric matrix (h, h) that
makes features white within classes.

The covariance S of the features within classes is shrunk by a half towards a multiple
of the identity, ``(S + tr(S) / h I) / 2``: of few samples it is known badly. The
inverse root is symmetric, so feature p still belongs to projection p.
"""

from __future__ import annotations

import numpy as np

from tensorcrp.base.types import Array, Floats


def shrunk_covariance(scatter: Array, weight: float) -> Floats:
    """Covariance of features, shrunk by a half; the identity if nothing varies.

    Parameters
    ----------
    scatter : ndarray of shape (h, h)
        Within-class scatter of features.
    weight : float
        Degrees of freedom: number of samples less number of classes.

    Returns
    -------
    ndarray of shape (h, h)
        Positive definite.
    """
    mean = np.trace(scatter) / len(scatter)
    if not mean > 0:
        return np.eye(len(scatter))
    return (scatter + mean * np.eye(len(scatter))) / (2 * max(weight, 1.0))


def white_root(scatter: Array, weight: float) -> Floats:
    """Symmetric matrix that makes features white within classes.

    Parameters
    ----------
    scatter : ndarray of shape (h, h)
        Within-class scatter of features.
    weight : float
        Degrees of freedom: number of samples less number of classes.

    Returns
    -------
    ndarray of shape (h, h)
        ``R`` with ``R S R = I`` for the shrunk covariance S.
    """
    values, vectors = np.linalg.eigh(shrunk_covariance(scatter, weight))
    return (vectors / np.sqrt(values)) @ vectors.T
