"""Distances between features: Euclidean, of the angle, or both.

In: features (n, h). Out: features (n, h) or (n, 2 h) whose Euclidean distances are the
wanted ones, so that any classifier can use them; and the labels of the nearest
training samples.
"""

from __future__ import annotations

from inspect import unwrap
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import (
    _check_sample_weight,
    check_is_fitted,
    validate_data,
)

from tensorcrp.base.parameters import check_choice
from tensorcrp.base.shrinkage import shrunk_covariance
from tensorcrp.base.types import Floats
from tensorcrp.solver.linalg import lower_solve

Distance = Literal["euclidean", "cosine", "both"]
DISTANCES = ("euclidean", "cosine", "both")


class DistanceFeatures(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Features whose Euclidean distances are Euclidean, cosine distances, or both.

    Features are centred at their mean. For cosine distances they are scaled to norm
    one; for both, the centred and the scaled features are put side by side, each kind
    divided by its root mean squared distance.

    Parameters
    ----------
    distance : {"euclidean", "cosine", "both"}, default="both"
        The distance that a classifier will see.

    Attributes
    ----------
    mean_ : ndarray of shape (h,)
        Mean of the features in `fit`.
    scales_ : ndarray of shape (2,)
        Factors of the centred and of the scaled features.
    n_features_in_ : int

    Examples
    --------
    >>> import numpy as np
    >>> from tensorcrp.model_selection import DistanceFeatures
    >>> X = np.array([[1.0, 0.0], [3.0, 0.0], [0.0, 2.0], [0.0, 6.0]])
    >>> DistanceFeatures("both").fit_transform(X).shape
    (4, 4)
    """

    mean_: Floats
    scales_: Floats
    n_features_in_: int

    def __init__(self, distance: Distance = "both") -> None:
        self.distance = distance

    def fit(
        self, X: ArrayLike, y: Any = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Learn the mean and the scales of features.

        Parameters
        ----------
        X : array-like of shape (n, h)
            Features.
        y : object, default=None
            Ignored.
        sample_weight : array-like of shape (n,), default=None
            Weight of each sample; None for equal weights.

        Returns
        -------
        DistanceFeatures
            The fitted transformer.
        """
        check_choice("distance", self.distance, DISTANCES)
        X = validate_data(self, X, dtype=[np.float64, np.float32])
        if sample_weight is not None:
            sample_weight = _check_sample_weight(sample_weight, X)
        self.mean_ = np.average(X.astype(float, copy=False), 0, sample_weight)
        squares = (np.square(each).sum(axis=1) for each in self._kinds(X))
        spread = [np.average(each, weights=sample_weight) for each in squares]
        self.scales_ = np.array([1 / np.sqrt(s) if s > 0 else 1.0 for s in spread])
        return self

    def transform(self, X: ArrayLike) -> Floats:
        """Features with the wanted distances.

        Parameters
        ----------
        X : array-like of shape (n, h)
            Features.

        Returns
        -------
        ndarray of shape (n, h), or (n, 2 h) for both
            In the type of X.
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=[np.float64, np.float32], reset=False)
        centred, units = self._kinds(X)
        if self.distance != "both":
            return units if self.distance == "cosine" else centred
        centred, units = centred * self.scales_[0], units * self.scales_[1]
        return np.hstack([centred, units]).astype(X.dtype, copy=False)

    def _kinds(self, X):
        """Centred features, and the same of norm one."""
        centred = X - self.mean_.astype(X.dtype)
        norms = np.linalg.norm(centred, axis=1, keepdims=True)
        return centred, centred / np.where(norms > 0, norms, 1.0)

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Names of the features.

        Parameters
        ----------
        input_features : array-like of str, default=None
            Names of the features that go in.

        Returns
        -------
        ndarray of str
            For both, the second half ends in ``_unit``.
        """
        names = super().get_feature_names_out(input_features)
        if self.distance != "both":
            return names
        units = [f"{name}_unit" for name in names]
        return np.concatenate([names, np.array(units, dtype=object)])


def seen_features(distances: DistanceFeatures, features: Floats) -> Floats:
    """Features as a classifier of ours sees them: arrays, whatever ``set_output`` says.

    Parameters
    ----------
    distances : DistanceFeatures
        Fitted.
    features : ndarray of shape (n, h)
        Features.

    Returns
    -------
    ndarray of shape (n, h), or (n, 2 h) for both
        What `DistanceFeatures.transform` returns by default.
    """
    return unwrap(DistanceFeatures.transform)(distances, features)


def nearest(train, test):
    """Indices (m,) of the nearest of the features (n, h) to each of (m, h)."""
    mean = train.mean(axis=0)
    train, test = train - mean, test - mean
    return np.argmin(np.square(train).sum(axis=1) / 2 - test @ train.T, axis=1)


def white_alike(scatter, weight, *features):
    """Features (n, h) with the distances of white ones, in fewer operations."""
    L = np.linalg.cholesky(shrunk_covariance(scatter, weight))
    return [lower_solve(L, each.T).T for each in features]
