"""Shrunk covariances: a ridge without cross-validation, and white features.

In: class statistics and a metric, or the within-class scatter (h, h) of features. Out:
`reg`, in units of the mean square of an entry; a symmetric matrix (h, h) that makes
features white within classes.

The ridge is that of oracle approximating shrinkage. OAS (Chen, Wiesel, Eldar and Hero,
IEEE Transactions on Signal Processing 58(10), 2010) replaces a covariance S of n
samples in P entries by ``(1 - rho) S + rho tr(S) / P I`` with

    rho = ((1 - 2 / P) tr(S^2) + tr(S)^2) / ((n + 1 - 2 / P) (tr(S^2) - tr(S)^2 / P)).

Up to a factor that is ``S + reg tr(S) / P I`` with ``reg = rho / (1 - rho)``.

The covariance S of features is shrunk by a half, ``(S + tr(S) / h I) / 2``: of few
samples it is known badly. Its inverse root is symmetric, so feature p still belongs to
projection p.
"""

from __future__ import annotations

from math import prod

import numpy as np

from tensorcrp.base.types import Array, Floats
from tensorcrp.scatter import ClassScatter
from tensorcrp.solver.array_rows import ArrayRows
from tensorcrp.solver.metric import Metric, isotropic_energy

MOST_ROWS = 2048  # largest number of rows whose inner products are formed
LARGEST_RIDGE = 1e3  # no scatter beyond the identity: S says nothing


def oas_reg(scatter: ClassScatter, metric: Metric) -> float:
    """The relative ridge of OAS for the within-class scatter.

    Parameters
    ----------
    scatter : ClassScatter
        Class statistics.
    metric : Metric
        In whose coordinates samples are looked at.

    Returns
    -------
    float
        `reg` of `TensorCRP`.
    """
    P, n = prod(scatter.shape), scatter.counts.sum() - len(scatter.classes)
    square, energy = _moments(scatter, metric)
    mean = energy**2 / P
    top = (1 - 2 / P) * square + energy**2
    bottom = (max(n, 1.0) + 1 - 2 / P) * (square - mean)
    rho = top / bottom if bottom > top else 1.0
    return float(min(LARGEST_RIDGE, rho / (1 - rho))) if rho < 1 else LARGEST_RIDGE


def _moments(scatter, metric):
    """``tr(S^2)`` and ``tr(S)`` of the within-class scatter S.

    Of many samples some are used for all: the squared inner products of different rows
    are averaged over the pairs that there are, those of rows with themselves over the
    rows. Rows of a triangle, or of the root of a stream, are no samples: all are used.
    """
    rows, roots = scatter.within, metric.roots(scatter.shape)
    n, are_samples = len(rows), not rows.in_memory
    are_samples |= scatter.missing == 0 and n != prod(scatter.shape)
    if n > MOST_ROWS and are_samples:
        few = rows.some(-(-n // MOST_ROWS)).transformed(roots)
        gram = few.gram(few)
        own, m = np.diagonal(gram), len(gram)
        pairs = (np.square(gram).sum() - np.square(own).sum()) / (m * (m - 1))
        return n * (n - 1) * pairs + n * np.square(own).mean(), n * own.mean()
    square, energy = _all_moments(rows, roots)
    if scatter.missing > 0:  # m K more: K = S_1^2 kron ... kron S_N^2 of the roots S_m
        twice, m = [_squared(S) for S in roots], scatter.missing / prod(scatter.shape)
        square += 2 * m * rows.energy(twice)
        square += m * scatter.missing * isotropic_energy(twice, scatter.shape)
        energy += scatter.missing * isotropic_energy(roots, scatter.shape)
    return square, energy


def _all_moments(rows, roots):
    """The same of all rows, by inner products of some with some."""
    blocks = rows.some(1).blocks(MOST_ROWS)
    parts = [ArrayRows.of(block).transformed(roots) for _, block in blocks]
    square = energy = 0.0
    for i, part in enumerate(parts):
        gram = part.gram(part)
        energy += np.trace(gram)
        square += np.square(gram).sum()
        square += 2 * sum(np.square(part.gram(other)).sum() for other in parts[:i])
    return square, energy


def _squared(root):
    return None if root is None else root @ root


# --- features -----------------------------------------------------------------------


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
    """Symmetric ``R`` (h, h) with ``R S R = I`` for the `shrunk_covariance` S."""
    values, vectors = np.linalg.eigh(shrunk_covariance(scatter, weight))
    return (vectors / np.sqrt(values)) @ vectors.T


def white_mixing(scatter: ClassScatter, projections: Array) -> Floats:
    """The matrix (h, h) that makes features of projections (h, P) white."""
    weight = scatter.counts.sum() - len(scatter.classes)
    features = scatter.within.feature_scatter(projections)
    if scatter.missing > 0:  # lost alike in all directions
        lost = scatter.missing / projections.shape[1]
        features = features + lost * (projections @ projections.T)
    return white_root(features, weight)
