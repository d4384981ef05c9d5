"""What the solver found, and what it means for samples.

In: projections of one lane as CP factors ``(h, l_m, k)``. Out: the same in one standard
form, dense projections ``(h, l_1, ..., l_N)``, the rows ``(h, P)`` that turn a raw
sample into features (deflation included), and the tensors that features add up to.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Self

import numpy as np

from tensorcrp.base.namespace import spans
from tensorcrp.base.types import Array, Flags, Floats, Integers, Rank, Shape
from tensorcrp.solver.cp import (
    cp_dense,
    cp_from_dense,
    mode_products,
    sign_of_largest,
    working_dtype,
)
from tensorcrp.solver.cp_form import cp_normalize
from tensorcrp.solver.curves import FinalValues
from tensorcrp.solver.deflation import Deflation, Found, deflated_scores, feature_rows
from tensorcrp.solver.metric import Metric

CONVERTED = 2**25  # bytes that samples of another type take at a time


@dataclass(frozen=True)
class Result:
    """What the solver found for one lane.

    Parameters
    ----------
    factors : list of ndarray of shape (h, l_m, k)
        CP factors, one array per mode.
    history : list of h arrays
        J after each block update, non-decreasing.
    n_iter : ndarray of int, shape (h,)
        Sweeps over all modes.
    converged : ndarray of bool, shape (h,)
        Whether a projection was done before the last sweep.

    Examples
    --------
    >>> import numpy as np
    >>> from tensorcrp.solver import solve
    >>> rng = np.random.default_rng(0)
    >>> between, within = rng.normal(size=(3, 4, 5)), rng.normal(size=(30, 4, 5))
    >>> (result,) = solve(between, within, [1.0], rank=2, n_components=3)
    >>> all((np.diff(curve) >= 0).all() for curve in result.history)
    True
    """

    factors: list[Floats]
    history: list[Floats]
    n_iter: Integers
    converged: Flags

    @classmethod
    def of_all(cls, found: Found) -> list[Self]:
        """One result per sequence of projections.

        Parameters
        ----------
        found : Found
            What the solver has found.

        Returns
        -------
        list of Result
            In the order of the sequences.
        """
        h = found.count  # fewer than asked for if a callback ended the search
        return [
            cls(
                [factor[a, :h, :, :rank] for factor in found.factors],
                found.history[a],
                found.n_iter[a, :h],
                found.converged[a, :h],
            )
            for a, rank in enumerate(found.ranks)
        ]

    @property
    def objective(self) -> Floats:
        """J of each projection: (h,)."""
        return FinalValues.of(self.history)


@dataclass(frozen=True)
class Model:
    """Projections of one combination of metric, rank and ridge.

    Parameters
    ----------
    result : Result
        Projections in the coordinates of the metric; vectors (h, P, 1) at full rank.
    shape : tuple of int
        ``(l_1, ..., l_N)``.
    metric : Metric
        Of the ridge.
    deflation : Deflation
        What was subtracted after each projection.
    rank : int or "full"
        The rank, as in the `Spec`.
    reg : float
        The ridge, as in the `Spec`.
    lam : float
        The ridge in the scale of the data.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from tensorcrp import ClassScatter
    >>> from tensorcrp.solver import Spec, fit_path
    >>> X, y = load_digits().images, load_digits().target
    >>> (model,) = fit_path(ClassScatter.from_samples(X, y), Spec(3))
    >>> model.transform(X).shape, model.components.shape
    ((1797, 3), (3, 8, 8))
    """

    result: Result
    shape: Shape
    metric: Metric
    deflation: Deflation
    rank: Rank
    reg: float
    lam: float

    @cached_property
    def _unit(self):
        """Dense projections (h, l_1, ..., l_N) of norm one, in metric coordinates."""
        factors = self.result.factors
        vectors = len(factors) == 1  # whatever the shape of a sample
        W = (factors[0][:, :, 0] if vectors else cp_dense(factors)).reshape(
            -1, prod(self.shape)
        )
        W = W / np.linalg.norm(W, axis=1, keepdims=True)
        return W.reshape(-1, *self.shape)

    @cached_property
    def _roots(self):
        """Roots of the metric, None for the identity: one per mode."""
        plain = self.metric.is_plain
        return [None] * len(self.shape) if plain else self.metric.roots(self.shape)

    @cached_property
    def _signs(self):
        """Signs (h,) that make the largest entry of each component positive."""
        W = mode_products(self._unit, self._roots)
        return sign_of_largest(W.reshape(len(W), -1), axis=1)[:, 0]

    @property
    def factors(self) -> list[Floats]:
        """CP factors (h, l_m, k), one array per mode, in the form of `cp_normalize`."""
        factors = self.result.factors
        if len(factors) == 1:
            factors = cp_from_dense(self._unit)
        factors, dense = cp_normalize(factors)
        W = mode_products(dense, self._roots)
        signs = sign_of_largest(W.reshape(len(W), -1), axis=1)
        pairs = zip(factors, self._roots, strict=True)
        factors = [U if root is None else root @ U for U, root in pairs]
        return [factors[0] * signs[:, :, None], *factors[1:]]

    @property
    def components(self) -> Floats:
        """Projections (h, l_1, ..., l_N), of norm one under the metric.

        The entry of largest magnitude is positive.
        """
        W = mode_products(self._unit, self._roots)
        return W * self._signs.reshape(-1, *[1] * len(self.shape))

    @property
    def projections(self) -> Floats:
        """Rows (h, P) that give the features of a raw sample, deflation included."""
        W, T = self._mixed()
        return feature_rows(W, T, self.components.reshape(len(W), -1))

    @property
    def basis(self) -> Floats:
        """Tensors (h, P) that a unit of each feature adds to a sample.

        What is left of a sample is the sample deflated by every projection.
        """
        W, T = self._mixed()
        V = self.components if T is None else T @ self.components.reshape(len(W), -1)
        V = V.reshape(-1, *self.shape)
        return mode_products(V, self.metric.matrices(self.shape)).reshape(len(W), -1)

    def _mixed(self):
        """Unit projections (h, P) in the metric's coordinates, and T of `Deflation`."""
        W = self._unit.reshape(len(self._signs), -1) * self._signs[:, None]
        return W, None if self.deflation.is_plain else self.deflation.removed(W @ W.T)

    def transform(self, X: Array) -> Floats:
        """Features of raw samples.

        Parameters
        ----------
        X : ndarray of shape (n, l_1, ..., l_N)
            Samples.

        Returns
        -------
        ndarray of shape (n, h)
            Scores of the deflated samples.
        """
        return X.reshape(len(X), -1) @ self.projections.T

    def unsigned_features(self, X: Array) -> Floats:
        """Features of raw samples up to the sign of each, from the factors alone.

        Distances between samples are those of `transform`. The standard form of the
        factors, which costs more than the features of a few samples, is not formed.

        Parameters
        ----------
        X : ndarray of shape (n, l_1, ..., l_N)
            Samples.

        Returns
        -------
        ndarray of shape (n, h)
            Scores of the deflated samples.
        """
        T = None if self.deflation.is_plain else self.deflation.removed(self._gram)
        overlaps = self._gram if T is None else self._gram @ T.T
        W = mode_products(self._unit, self._roots).reshape(len(self._gram), -1)
        scores = _products(X.reshape(len(X), -1), W.T.astype(working_dtype(X)))
        return deflated_scores(scores, overlaps)

    @cached_property
    def _gram(self):
        """Inner products (h, h) of the projections in the metric's coordinates."""
        W = self._unit.reshape(len(self._unit), -1)
        return W @ W.T

    @property
    def history(self) -> list[Floats]:
        """J after each block update, one curve per projection."""
        return self.result.history

    @property
    def objective(self) -> Floats:
        """J of each projection: (h,)."""
        return self.result.objective


def _products(flat, W):
    """``X W`` of vectors (n, P) and (P, h); NumPy converts other types as a whole."""
    alike, most = flat.dtype == W.dtype, CONVERTED // (W.itemsize * len(W))
    scores = np.empty((len(flat), W.shape[1]), W.dtype)
    for part in spans(len(flat), max(1, len(flat) if alike else most)):
        scores[part] = flat[part] @ W
    return scores
