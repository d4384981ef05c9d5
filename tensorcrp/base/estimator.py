"""Scikit-learn's interface: transformers by projections, and scores of classifiers.

In: samples ``X`` (n, l_1, ..., l_N), or flattened (n, P), or features (n, h). Out:
features, tensors reconstructed from them, or the share of labels predicted right.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Literal, Self, overload

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
)
from sklearn.metrics import accuracy_score
from sklearn.utils.validation import check_is_fitted

from tensorcrp.base.gate import check_tensor
from tensorcrp.base.namespace import (
    adopted,
    as_type,
    host,
    is_foreign,
    namespace_of,
    put,
)
from tensorcrp.base.notebook import fit_summary, with_summary
from tensorcrp.base.one_by_one import features_of_each
from tensorcrp.base.state import OneState
from tensorcrp.base.types import Array, DaskArray, Floats, Samples, Shape, Stored
from tensorcrp.base.validation import check_finite, objects_explained, reject_unusable
from tensorcrp.solver.cp import working_dtype
from tensorcrp.storage.sources import as_source, map_samples


class TensorTransformer(
    OneState, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator
):
    """Supervised transformer of tensors of any order, by one matrix product.

    A subclass sets ``components_`` (h, l_1, ..., l_N) and ``projections_`` (h, P);
    `check_samples` sets ``sample_shape_`` and ``input_shape_``.
    """

    sample_shape_: Shape
    input_shape_: Shape
    n_features_in_: int
    feature_names_in_: Array

    if TYPE_CHECKING:  # scikit-learn's methods, which have no types

        def fit_transform(
            self, X: ArrayLike | Stored, y: ArrayLike | None = None, **fit_params: Any
        ) -> Floats: ...
        def get_params(self, deep: bool = True) -> dict[str, Any]: ...
        def set_params(self, **params: Any) -> Self: ...
        def set_output(
            self, *, transform: Literal["default", "pandas", "polars"] | None = None
        ) -> Self: ...

    @overload
    def transform(self, X: DaskArray) -> Any: ...
    @overload
    def transform(self, X: ArrayLike | Stored) -> Floats: ...

    def transform(self, X: Samples) -> Any:
        """Features of samples.

        Parameters
        ----------
        X : array-like of shape (n, l_1, ..., l_N), or as in `fit`
            Samples of the shape seen in `fit`.

        Returns
        -------
        ndarray of shape (n, h)
            Features, in float32 if X is float32, else in float64. A dask array, not
            computed, if X is one. Memory maps, Zarr arrays and HDF5 datasets are read
            in blocks. An array of PyTorch, or of another library that follows the
            array API, gives one of its kind on its device.
        """
        X = check_tensor(self, X)
        return map_samples(
            self._feature_map(), X, working_dtype(X), self._n_features_out
        )

    def _feature_map(self):
        """A function (b, l_1, ..., l_N) -> (b, h) that can be sent elsewhere."""
        return partial(features_alone, self.projections_)

    def _linear_features(self, tensors, magnitudes=False):
        """Features (b, h) of tensors as they are, by weights or their magnitudes."""
        weights = np.abs(self.projections_) if magnitudes else self.projections_
        return flat_features(weights, tensors)

    def inverse_transform(self, X: ArrayLike) -> Floats:
        """Tensors reconstructed from features: ``sum_p x_p W_p``.

        The residual ``X - inverse_transform(transform(X))`` is exactly the sample
        deflated by every component.

        Parameters
        ----------
        X : array-like of shape (n, h)
            Features, as `transform` returns them.

        Returns
        -------
        ndarray of shape (n, l_1, ..., l_N), or flattened as in `fit`
            One tensor per row of features.
        """
        features = check_features(self, X)
        basis = self._basis().astype(working_dtype(features), copy=False)
        tensors = features @ put(basis, features)
        return namespace_of(tensors).reshape(tensors, (-1, *self.input_shape_))

    def _basis(self):
        """Flattened tensors (h, P) that a unit of each feature adds to a sample."""
        return self.components_.reshape(len(self.components_), -1)

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Names of the features.

        Parameters
        ----------
        input_features : array-like of str, default=None
            Names of the columns of 2-D samples, which are only checked. Of other
            samples they are ignored: the steps of a pipeline count entries differently.

        Returns
        -------
        ndarray of str
            The class in lower case and a number.
        """
        check_is_fitted(self)
        columns = input_features if len(self.input_shape_) == 1 else None
        return super().get_feature_names_out(columns)

    @property
    def _n_features_out(self):
        return len(self.projections_)

    def __sklearn_is_fitted__(self):
        return hasattr(self, "projections_")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.three_d_array = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def flat_features(projections, X):
    """Inner products of samples, flattened, with projections (h, P): (b, h)."""
    dtype = working_dtype(X)
    flat = as_type(namespace_of(X).reshape(X, (X.shape[0], -1)), dtype)
    return flat @ put(projections.T.astype(dtype, copy=False), flat)


def features_alone(projections, X):
    """The same, of NumPy's arrays to the last bit whatever else is among them."""
    if is_foreign(X):
        return flat_features(projections, X)
    dtype = working_dtype(X)
    flat = X.reshape(len(X), -1).astype(dtype, copy=False)
    return features_of_each(flat, projections.astype(dtype, copy=False))


def check_features(estimator, X):
    """Features (n, h) of a fitted transformer, in float32 or float64."""
    check_is_fitted(estimator)
    X = adopted(X)
    reject_unusable(X)
    source, h = as_source(X), estimator._n_features_out
    on_device = source is not None and source.on_device
    features = X if on_device else np.asarray(X)
    if features.ndim != 2 or features.shape[1] != h:
        raise ValueError(
            f"X has shape {tuple(features.shape)}; inverse_transform takes features of "
            f"shape (n, {h}), as transform returns them."
        )
    if on_device:
        source.check_finite()
        return features
    with objects_explained():
        features = features.astype(working_dtype(features), copy=False)
    check_finite(features)
    return features


class HostScore(ClassifierMixin):
    """Scikit-learn's classifier, whose labels are compared in host memory."""

    def score(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> float:
        """Accuracy: the share of samples whose label is predicted.

        Parameters
        ----------
        X : array-like of shape (n, l_1, ..., l_N), or as in `fit`
            Samples of the shape seen in `fit`.
        y : array-like of shape (n,)
            Labels, in memory or on a device.
        sample_weight : array-like of shape (n,), default=None
            Weight of each sample; None for equal weights.

        Returns
        -------
        float
            Between 0 and 1.
        """
        weight = None if sample_weight is None else host(sample_weight)
        predicted = host(self.predict(X))  # scikit-learn would not find it on a device
        return float(accuracy_score(host(y), predicted, sample_weight=weight))


class FitSummary(OneState):
    """Shows a fitted estimator at a glance."""

    def _repr_mimebundle_(self, **kwargs):
        """Scikit-learn's representation in notebooks and, once fitted, a summary."""
        bundle = super()._repr_mimebundle_(**kwargs)
        if not self.__sklearn_is_fitted__():
            return bundle
        return with_summary(fit_summary(self), bundle, self.history_)
