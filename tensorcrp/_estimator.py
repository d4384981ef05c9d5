"""The gate between callers and estimators; all of scikit-learn's private parts.

In: what a caller passes as X ``(n, l_1, ..., l_N)``, or flattened ``(n, P)``, and y.
Out: checked arrays (never copied, never converted unless they must be), or one error
that names the value and the repair; an estimator that is fitted whole or left alone.
"""

from contextlib import contextmanager
from functools import partial
from math import prod
from numbers import Integral, Real

import numpy as np
from scipy.sparse import issparse
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

from tensorcrp._algebra import working_dtype
from tensorcrp._checks import (
    check_alike,
    check_chunks,
    check_modes,
    check_stored,
    objects_explained,
    refuse,
)
from tensorcrp._sources import as_source, check_finite, is_dask, map_samples


class TooFewSamples(ValueError):
    """The samples cannot determine the model yet; more of them could."""


class TensorTransformer(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator
):
    """Supervised transformer of tensors of any order, by one matrix product.

    A subclass sets ``components_`` (h, l_1, ..., l_N) and ``projections_`` (h, P);
    `check_samples` sets ``sample_shape_`` and ``input_shape_``.
    """

    def transform(self, X):
        """Features of samples.

        Parameters
        ----------
        X : array-like of shape (n, l_1, ..., l_N), or as in `fit`
            Samples of the shape that `fit` has seen.

        Returns
        -------
        ndarray of shape (n, h)
            Features, in float32 if X is float32, else in float64. A dask array, not
            computed, if X is one. Memory maps, Zarr arrays and HDF5 datasets are read
            in blocks.
        """
        X = check_tensor(self, X)
        return map_samples(
            self._feature_map(), X, working_dtype(X), self._n_features_out
        )

    def _feature_map(self):
        """A function (b, l_1, ..., l_N) -> (b, h) that can be sent elsewhere."""
        return partial(flat_features, self.projections_)

    def inverse_transform(self, X):
        """Tensors that the features stand for: ``sum_p x_p W_p``.

        What is missing from a sample, ``X - inverse_transform(transform(X))``, is
        exactly the sample deflated by every component.

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
        tensors = features @ self._basis().astype(features.dtype, copy=False)
        return tensors.reshape(-1, *self.input_shape_)

    def _basis(self):
        """Flat tensors (h, P) that a unit of each feature stands for."""
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
    flat = X.reshape(len(X), -1).astype(dtype, copy=False)
    return flat @ projections.T.astype(dtype, copy=False)


@contextmanager
def all_or_nothing(estimator):
    """Give the estimator its earlier state back if the block is left by an error.

    Ctrl-C counts: a fit is whole or has not happened.
    """
    before = dict(vars(estimator))
    try:
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise


def check_samples(estimator, X, y, sample_weight=None, *, reset=True, lazy=False):
    """Checked ``X`` (n, l_1, ..., l_N), labels (n,) and weights (n,) or None.

    Sets ``sample_shape_`` and ``input_shape_`` if `reset`, else compares with them.
    An estimator that takes ``y = UNLABELLED`` gets ``y = None`` back. If `lazy`, what
    is not in memory stays there: ``X`` is a `Source`, and NaN in it is not noticed
    before it is read.
    """
    source = _outside(estimator, X, lazy)
    y = _local(y, source, "y")
    sample_weight = _local(sample_weight, source, "sample_weight")
    if not reset:
        _compare_shape(estimator, X)
    given = X if source is None else source.stand_in()
    with objects_explained():
        checked = validate_data(estimator, given, y, reset=reset, **_RULES)
    given, y = (checked, None) if isinstance(y, str) else checked
    check_modes(given)
    if y is not None:
        check_classification_targets(y)
    if sample_weight is not None:
        sample_weight = _check_sample_weight(
            sample_weight, given, dtype=np.float64, ensure_non_negative=True
        )
        if not sample_weight.any():  # scikit-learn before 1.7 lets this pass
            raise ValueError("Sample weights must contain a non-zero number.")
    X = given if source is None else source
    if source is None:
        check_finite(X)
    if reset:
        estimator.input_shape_ = X.shape[1:]
        estimator.sample_shape_ = _sample_shape(estimator, X)
    return X.reshape(len(X), *estimator.sample_shape_), y, sample_weight


def check_tensor(estimator, X, lazy=True):
    """Checked ``X`` of the fitted sample shape, in the layout given to fit.

    What is not in memory becomes a `Source` if `lazy`, see `check_samples`.
    """
    check_is_fitted(estimator)
    source = _outside(estimator, X, lazy)
    _compare_shape(estimator, X)
    given = X if source is None else source.stand_in()
    with objects_explained():
        X = validate_data(estimator, given, reset=False, **_RULES)
    if source is not None:
        return source
    check_finite(X)
    return X


def _outside(estimator, X, lazy):
    """A `Source` of samples outside memory; None if they are, or have to be, in it."""
    refuse(X)
    if not lazy:
        if is_dask(X):
            raise TypeError(
                f"{type(estimator).__name__} needs all samples in memory, and X is a "
                "dask array: pass X.compute()."
            )
        return None
    source = as_source(X)
    if source is not None:
        check_stored(source.array)
        if is_dask(source):
            check_chunks(source.array)
    return source


def _local(values, source, name):
    """Labels or weights (n,) in memory, whose chunks have to be those of X."""
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
    features, h = np.asarray(X), estimator._n_features_out
    if features.ndim != 2 or features.shape[1] != h:
        raise ValueError(
            f"X has shape {features.shape}; inverse_transform takes features of "
            f"shape (n, {h}), as transform returns them."
        )
    dtype = working_dtype(features)
    return features.astype(dtype, copy=False)


def check_labels(y, weight=None, reg_scale="relative", nothing=None):
    """Refuse labels that cannot work before any statistics are made.

    `nothing` says what to do if no class can have two different samples; by default
    the words of an estimator that has a parameter `reg_scale`.
    """
    used = y if weight is None else y[weight > 0]
    classes, counts = np.unique(used, return_counts=True)
    if len(classes) < 2:
        raise TooFewSamples(ONE_CLASS.format(classes))
    if reg_scale == "relative" and counts.max() == 1:
        raise TooFewSamples(nothing or NOTHING_WITHIN)


def ridge(scatter, reg, reg_scale="relative", nothing=None):
    """The ridge in the scale of the data, or why there is none."""
    if len(scatter.classes) < 2:
        raise TooFewSamples(ONE_CLASS.format(scatter.classes))
    trace = scatter.trace
    check_range(scatter.largest, trace)
    if reg_scale == "relative" and trace == 0:
        raise TooFewSamples(nothing or NOTHING_WITHIN)
    if reg == 0 and not isinstance(scatter.root, np.ndarray):
        raise ValueError(
            "reg=0 with a within-class scatter that is not in memory: whether the "
            "objective has a maximum is not known. Set reg > 0, e.g. 0.3, or raise "
            "max_memory."
        )
    if reg == 0 and _is_singular(scatter.root):
        raise TooFewSamples(
            f"reg=0 with a singular within-class scatter ({len(scatter.root)} rows "
            f"for {prod(scatter.shape)} entries of a sample): the objective has no "
            "maximum. Set reg > 0, e.g. 0.3."
        )
    scale = trace / prod(scatter.shape) if reg_scale == "relative" else 1.0
    if not reg < np.finfo(float).max / max(scale, 1.0):
        raise ValueError(
            f"reg={reg} times the mean square deviation, {scale:.1e}, is more than the "
            "largest number. Lower reg."
        )
    return float(reg * scale)


def check_range(largest, total):
    """Refuse deviations whose sum of squares is more or less than numbers can be."""
    if not np.isfinite(total) or (total == 0 and largest > 0):
        raise ValueError(
            f"samples differ by up to {largest:.1e}, the square of which is beyond the "
            "range of numbers. Divide X by a number of that size."
        )


def _is_singular(root):
    n_features = prod(root.shape[1:])
    if len(root) < n_features:
        return True
    values = np.linalg.svd(root.reshape(-1, n_features), compute_uv=False)
    return values[-1] <= n_features * np.finfo(root.dtype).eps * values[0]


ONE_CLASS = (
    "y has fewer than two classes, {}: one class leaves nothing to tell apart. "
    "Pass samples of two classes or more."
)
NOTHING_WITHIN = (
    "nothing varies within the classes (every class has one sample, or all its samples "
    'are equal), so reg_scale="relative" has no scale. Pass two different samples of '
    'some class, or set reg_scale="absolute".'
)


def _sample_shape(estimator, X):
    """Shape of one sample: ``sample_shape`` if X is flattened, else X's own."""
    given = estimator.sample_shape
    if given is None or tuple(given) == X.shape[1:]:
        return X.shape[1:]
    if X.ndim != 2:
        raise ValueError(
            f"sample_shape={given} is for flattened samples, but those of X have shape "
            f"{X.shape[1:]}; leave sample_shape out."
        )
    if prod(given) != X.shape[1]:
        raise ValueError(
            f"sample_shape={given} stands for {prod(given)} entries, but the samples "
            f"of X have {X.shape[1]}; give the shape that multiplies up to that."
        )
    return tuple(given)


def _compare_shape(estimator, X):
    """Compare every mode; scikit-learn itself looks at the first one alone."""
    if issparse(X):
        return  # scikit-learn says how to convert it
    shape = tuple(getattr(X, "shape", None) or np.asarray(X).shape)[1:]
    fitted = estimator.input_shape_
    if shape != fitted and (len(shape) > 1 or len(fitted) > 1):
        raise ValueError(
            f"X has samples of shape {shape}, but {type(estimator).__name__} was "
            f"fitted on samples of shape {fitted}; reshape or resample X to match."
        )


def check_integer(name, value, least=1, also=()):
    """Refuse anything but an integer of at least `least` or a name in `also`."""
    if isinstance(value, str) and value in also:
        return
    integer = isinstance(value, Integral) and not isinstance(value, bool)
    if not integer or value < least:
        names = "".join(f" or {each!r}" for each in also)
        raise ValueError(
            f"{name} must be an integer of at least {least}{names}, got {value!r}."
        )


def check_real(name, value):
    """Refuse anything but a finite number that is not negative."""
    real = isinstance(value, Real) and not isinstance(value, bool)
    if not real or not 0 <= value < np.inf:
        raise ValueError(f"{name} must be a finite number, 0 or more, got {value!r}.")


def check_choice(name, value, choices):
    """Refuse anything but one of the names in `choices`."""
    if not isinstance(value, str) or value not in choices:
        names = ", ".join(map(repr, choices))
        raise ValueError(f"{name} must be one of {names}, got {value!r}.")


def check_shape(name, value):
    """Refuse anything but a sequence of positive integers."""
    try:
        sizes = list(value)
    except TypeError:
        sizes = []
    if not sizes or not all(isinstance(s, Integral) and s > 0 for s in sizes):
        raise ValueError(
            f"{name} must be a sequence of positive integers, e.g. (16, 16), "
            f"got {value!r}."
        )
