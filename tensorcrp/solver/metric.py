"""Metrics: a symmetric positive definite matrix per mode in place of the plain norm.

In: the shape ``(l_1, ..., l_N)`` of a sample. Out: matrices ``R_m`` (l_m, l_m), or None
for the identity, with which the ridge of the objective is

    lambda <W, (R_1 kron ... kron R_N) W>.

With ``S_m = R_m^{-1/2}``, ``W = W' x_m S_m`` and ``X' = X x_m S_m`` this is the plain
problem in X' and W', and mode products keep the CP rank: ``U^(m) = S_m U'^(m)``. So
the solver works on W', contracts the raw data with ``S_m U'^(m)`` and multiplies the
free mode of a block by ``S_m``; X is never transformed, and several metrics are lanes
that share every pass over the data.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from math import prod

import numpy as np

from tensorcrp.base.parameters import check_strengths
from tensorcrp.base.types import Array, Shape
from tensorcrp.solver.cp import mode_products


class Metric(ABC):
    """A symmetric positive definite matrix per mode, which replaces the plain norm.

    Subclasses implement `matrices`.

    Attributes
    ----------
    is_plain : bool
        Whether every matrix is the identity, whatever the shape.

    Examples
    --------
    Weights along the first mode are smooth, those along the others are free:

    >>> import numpy as np
    >>> from tensorcrp.solver import Metric
    >>> class FirstSmooth(Metric):
    ...     def matrices(self, shape: Shape) -> Sequence[Array | None]:
    ...         D = np.diff(np.eye(shape[0]), axis=0)
    ...         return [np.eye(shape[0]) + D.T @ D, *[None] * (len(shape) - 1)]
    >>> [None if S is None else S.shape for S in FirstSmooth().roots((5, 3))]
    [(5, 5), None]
    """

    is_plain: bool = False

    @abstractmethod
    def matrices(self, shape: Shape) -> Sequence[Array | None]:
        """Matrices of every mode of a sample shape.

        Parameters
        ----------
        shape : tuple of int
            ``(l_1, ..., l_N)``.

        Returns
        -------
        list of ndarray (l_m, l_m) or None
            ``R_m``; None for the identity.
        """

    def roots(self, shape: Shape) -> Sequence[Array | None]:
        """Inverse square roots ``S_m = R_m^{-1/2}`` of the matrices.

        Parameters
        ----------
        shape : tuple of int
            ``(l_1, ..., l_N)``.

        Returns
        -------
        list of ndarray (l_m, l_m) or None
            One per mode; None for the identity.
        """
        return [
            None if matrix is None else inverse_root(matrix)
            for matrix in self.matrices(shape)
        ]


class Euclidean(Metric):
    """The identity in every mode: the plain Frobenius norm of the paper.

    Examples
    --------
    >>> from tensorcrp.solver import Euclidean
    >>> Euclidean().matrices((4, 3))
    [None, None]
    """

    is_plain = True

    def matrices(self, shape: Shape) -> Sequence[Array | None]:
        """None for every mode.

        Parameters
        ----------
        shape : tuple of int
            ``(l_1, ..., l_N)``.

        Returns
        -------
        list of None
            The identity in every mode.
        """
        return [None] * len(shape)

    def __repr__(self) -> str:
        return "Euclidean()"


class Smoothness(Metric):
    """Smooth weights along ordered modes: ``R_m = I + mu_m D^T D``.

    D takes first differences, so that the ridge grows with the squared steps between
    neighbouring entries. Of full rank and with the same strength in every mode this is
    near to spatially smooth LDA (D. Cai et al., CVPR 2007).

    Parameters
    ----------
    strengths : float or sequence of float
        The mu of every mode, or one for all. 0 leaves a mode as it is.

    Examples
    --------
    >>> from tensorcrp.solver import Smoothness
    >>> Smoothness((1.0, 0.0)).matrices((2, 3))
    [array([[ 2., -1.],
           [-1.,  2.]]), None]
    """

    def __init__(self, strengths: float | Sequence[float]) -> None:
        self.strengths = strengths

    def matrices(self, shape: Shape) -> Sequence[Array | None]:
        """The matrices ``I + mu_m D^T D``.

        Parameters
        ----------
        shape : tuple of int
            ``(l_1, ..., l_N)``.

        Returns
        -------
        list of ndarray (l_m, l_m) or None
            None where the strength is zero.
        """
        strengths = check_strengths("strengths", self.strengths, shape)
        return [
            _smooth(size, mu) if mu > 0 and size > 1 else None
            for size, mu in zip(shape, strengths, strict=True)
        ]

    def __repr__(self):
        return f"Smoothness({self.strengths})"


class GivenMetric(Metric):
    """Matrices of the user.

    Parameters
    ----------
    given : sequence of ndarray (l_m, l_m) or None
        Symmetric positive definite, one per mode; None for the identity.

    Examples
    --------
    >>> import numpy as np
    >>> from tensorcrp.solver import GivenMetric
    >>> GivenMetric([None, 4 * np.eye(2)]).roots((3, 2))
    [None, array([[0.5, 0. ],
           [0. , 0.5]])]
    """

    def __init__(self, given: Sequence[Array | None]) -> None:
        self.given = given

    def matrices(self, shape: Shape) -> Sequence[Array | None]:
        """The given matrices.

        Parameters
        ----------
        shape : tuple of int
            ``(l_1, ..., l_N)``.

        Returns
        -------
        list of ndarray (l_m, l_m) or None
            As they were given.
        """
        return [None if R is None else np.asarray(R, float) for R in self.given]


def _smooth(size, mu):
    D = np.diff(np.eye(size), axis=0)
    return np.eye(size) + mu * D.T @ D


def inverse_root(matrix):
    """``R^{-1/2}`` of a symmetric positive definite matrix (l, l)."""
    values, vectors = np.linalg.eigh(matrix)
    return (vectors / np.sqrt(values)) @ vectors.T


class LaneRoots:
    """Roots of the metrics of several lanes.

    Parameters
    ----------
    metrics : list of Metric
    shape : tuple of int
    which : ndarray of int, shape (A,)
        The metric of each lane.
    """

    def __init__(self, metrics, shape, which):
        each = [metric.roots(shape) for metric in metrics]
        self.roots = [
            _stacked(some, size)
            for some, size in zip(zip(*each, strict=True), shape, strict=True)
        ]
        self.shape, self.which = shape, np.asarray(which)

    def root(self, lanes, mode):
        """``S_m`` of some lanes, (B, l_m, l_m), or None where all are the identity."""
        root = self.roots[mode]
        return None if root is None else root[self.which[lanes]]

    def raw(self, lanes, factors):
        """Factors (B, l_m, k) that raw data are contracted with: ``S_m U'^(m)``."""
        return [
            factor if self.roots[m] is None else self.root(lanes, m) @ factor
            for m, factor in enumerate(factors)
        ]

    def primed(self, lanes, factors):
        """Factors (B, l_m, k) of samples in the metric: ``U'^(m) = S_m^{-1} U^(m)``."""
        return [
            factor
            if self.roots[m] is None
            else np.linalg.solve(self.root(lanes, m), factor)
            for m, factor in enumerate(factors)
        ]

    def of_metric(self, metric):
        """Roots ``S_m`` of one metric, one per mode; None where all are the identity.

        Rows in its coordinates are ``X x_m S_m``.
        """
        return [None if root is None else root[metric] for root in self.roots]

    def transformed(self, rows):
        """One flat tensor (A, P) of every lane in the coordinates of its metric."""
        out = np.empty_like(rows)
        for metric in np.unique(self.which):
            lanes = self.which == metric
            some = rows[lanes].reshape(-1, *self.shape)
            some = mode_products(some, self.of_metric(metric))
            out[lanes] = some.reshape(len(some), -1)
        return out


def _stacked(roots, size):
    """Roots (M, l, l) of several metrics, None if all are the identity."""
    if all(root is None for root in roots):
        return None
    return np.stack([np.eye(size) if root is None else root for root in roots])


def isotropic_energy(matrices, shape):
    """Expected square of a tensor after mode products, alike in all directions.

    In units of its square before: ``||M_1 kron ... kron M_N||^2 / P`` of matrices
    (r_m, l_m), where None leaves its mode as it is.
    """
    pairs = zip(matrices, shape, strict=True)
    return prod(1.0 if M is None else np.square(M).sum() / size for M, size in pairs)
