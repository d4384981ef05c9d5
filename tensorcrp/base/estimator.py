"""Validation of the input of estimators; the only user of scikit-learn's private parts.

In: what a caller passes as X ``(n, l_1, ..., l_N)``, or flattened ``(n, P)``, and y.
Out: checked arrays (never copied, never converted unless they must be), or one error
that names the value and the repair.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Literal, Self, overload

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
)
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    _check_sample_weight,
    check_is_fitted,
    validate_data,
)

from tensorcrp.base.namespace import (
    adopted,
    as_type,
    check_same_device,
    host,
    is_foreign,
    namespace_of,
    put,
)
from tensorcrp.base.one_by_one import features_of_each
from tensorcrp.base.state import OneState
from tensorcrp.base.targets import (
    check_present,
    check_weights,
    class_weighted,
    weights_in_range,
)
from tensorcrp.base.types import Array, DaskArray, Floats, Samples, Shape, Stored
from tensorcrp.base.validation import (
    check_alike,
    check_chunks,
    check_finite,
    check_modes,
    check_stored,
    compare_shape,
    objects_explained,
    reject_unusable,
    sample_shape_of,
)
from tensorcrp.solver.cp import working_dtype
from tensorcrp.storage.sources import as_source, is_dask, map_samples


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
        def get_feature_names_out(self, input_features: Any = None) -> Array: ...
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


def check_samples(
    estimator, X, y, sample_weight=None, *, reset=True, lazy=False, any_unit=False
):
    """Checked ``X`` (n, l_1, ..., l_N), labels (n,) and weights (n,) or None.

    Sets ``sample_shape_`` and ``input_shape_`` if `reset`, else compares with them.
    An estimator that takes ``y = UNLABELLED`` gets ``y = None`` back. If `lazy`, what
    is not in memory stays there: ``X`` is a `Source`, and NaN in it is not noticed
    before it is read. If `any_unit`, the scale of all weights together does not count.
    """
    X = adopted(X)
    source = _outside(estimator, X, lazy)
    y = _local(y, X, source, "y")
    sample_weight = _local(sample_weight, X, source, "sample_weight")
    if not reset:
        compare_shape(estimator, X)
    given = X if source is None else source.stand_in()
    if y is not None and not isinstance(y, str):
        check_present(y)
    with objects_explained():
        checked = validate_data(estimator, given, y, reset=reset, **_RULES)
    given, y = (checked, None) if isinstance(y, str) else checked
    check_modes(given)
    if y is not None:
        check_classification_targets(y)
    weight = _weights(estimator, given, y, sample_weight, any_unit)
    X = given if source is None else _at_hand(source, lazy)
    if source is None or not lazy:
        check_finite(X)
    _set_shapes(estimator, X, reset)
    return X.reshape(len(X), *estimator.sample_shape_), y, weight


def _weights(estimator, X, y, sample_weight, any_unit):
    """Checked weights of samples times those of their classes, or None."""
    if sample_weight is not None:
        sample_weight = _check_sample_weight(
            sample_weight, X, dtype=np.float64, ensure_non_negative=True
        )
        if not sample_weight.any():  # scikit-learn before 1.7 lets this pass
            raise ValueError("Sample weights must contain a non-zero number.")
    class_weight = getattr(estimator, "class_weight", None)
    weight = class_weighted(class_weight, y, sample_weight)
    if weight is None:
        return None
    if any_unit:
        weight = weights_in_range(weight)
    check_weights(weight)
    return weight


def _set_shapes(estimator, X, reset):
    """Set the shapes of a sample, or compare them with those of earlier batches."""
    shape = sample_shape_of(estimator, X)
    if reset:
        estimator.input_shape_, estimator.sample_shape_ = X.shape[1:], shape
    elif shape != estimator.sample_shape_:
        raise ValueError(
            f"sample_shape={estimator.sample_shape} makes samples of shape {shape}, "
            f"those of the batches so far had shape {estimator.sample_shape_}. Set it "
            "back, or start over with fit or with a clone."
        )


def check_tensor(estimator, X, lazy=True):
    """Checked ``X`` of the fitted sample shape, in the layout given to fit.

    What is not in memory becomes a `Source` if `lazy`, see `check_samples`.
    """
    check_is_fitted(estimator)
    X = adopted(X)
    source = _outside(estimator, X, lazy)
    compare_shape(estimator, X)
    given = X if source is None else source.stand_in()
    with objects_explained():
        X = validate_data(estimator, given, reset=False, **_RULES)
    if source is not None and source.on_device:
        source.check_finite()
    if source is not None:
        return _at_hand(source, lazy)
    check_finite(X)
    return X


def _at_hand(source, lazy):
    """The source itself if `lazy`, else its samples, copied to the host."""
    return source if lazy else source.read(0, len(source), own=False)


def _outside(estimator, X, lazy):
    """A `Source` of samples outside memory; None if they are, or have to be, in it."""
    reject_unusable(X)
    if not lazy and is_dask(X):
        raise TypeError(
            f"{type(estimator).__name__} needs all samples in memory, and X is a "
            "dask array: pass X.compute()."
        )
    source = as_source(X)
    if source is None or source.on_device:
        return source
    if not lazy:
        return None
    check_stored(source.array)
    if is_dask(source):
        check_chunks(source.array)
    return source


def _local(values, X, source, name):
    """Labels or weights (n,) in memory, where X is or in the chunks of X."""
    if is_foreign(values):
        check_same_device(values, X, name)
        return host(values)
    if not is_dask(values):
        return values
    if source is not None and is_dask(source):
        check_alike(values, source.array, name)
    return np.asarray(values)


UNLABELLED = "no_validation"  # scikit-learn's word for: there is no y to look at
_RULES = {"dtype": "numeric", "allow_nd": True, "ensure_all_finite": False}


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
