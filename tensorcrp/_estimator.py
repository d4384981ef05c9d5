"""The gate between callers and estimators; all of scikit-learn's private parts.

In: what a caller passes as X ``(n, l_1, ..., l_N)``, or flattened ``(n, P)``, and y.
Out: checked arrays (never copied, never converted unless they must be), or one error
that names the value and the repair; an estimator that is fitted whole or left alone.
"""

from contextlib import contextmanager
from math import prod
from numbers import Integral, Real

import numpy as np
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


class TooFewSamples(ValueError):
    """The samples cannot determine the model yet; more of them could."""


class TensorTransformer(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator
):
    """Supervised transformer of tensors of any order, by one matrix product.

    A subclass sets ``sample_shape_``, ``components_`` (h, l_1, ..., l_N) and
    ``projections_`` (h, P).
    """

    def transform(self, X):
        """Features of samples.

        Parameters
        ----------
        X : array-like of shape (n, l_1, ..., l_N), or as in `fit`

        Returns
        -------
        ndarray of shape (n, h)
            float32 if X is float32, else float64.
        """
        X = check_tensor(self, X)
        dtype = np.float32 if X.dtype == np.float32 else np.float64
        flat = X.reshape(len(X), -1).astype(dtype, copy=False)
        return flat @ self.projections_.T.astype(dtype, copy=False)

    def inverse_transform(self, X):
        """Tensors that the features stand for: ``sum_p x_p W_p``.

        What is missing from a sample, ``X - inverse_transform(transform(X))``, is
        exactly the sample deflated by every component.

        Parameters
        ----------
        X : array-like of shape (n, h)

        Returns
        -------
        ndarray of shape (n, l_1, ..., l_N), or flattened as in `fit`
        """
        features = np.asarray(X)
        if features.ndim != 2 or features.shape[1] != len(self.projections_):
            raise ValueError(
                f"X has shape {features.shape}; inverse_transform takes features of "
                f"shape (n, {len(self.projections_)}), as transform returns them."
            )
        basis = self.components_.reshape(len(self.components_), -1)
        dtype = np.float32 if features.dtype == np.float32 else np.float64
        tensors = features @ basis.astype(dtype, copy=False)
        return tensors.reshape(-1, *self.input_shape_)

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


def check_samples(estimator, X, y, sample_weight=None, *, reset=True):
    """Checked ``X`` (n, l_1, ..., l_N), labels (n,) and weights (n,) or None.

    Sets ``sample_shape_`` and ``input_shape_`` if `reset`, else compares with them.
    """
    _refuse_ragged(X)
    if not reset:
        _check_shape(estimator, X)
    X, y = validate_data(estimator, X, y, reset=reset, **_RULES)
    _check_modes(X)
    _check_finite(X)
    check_classification_targets(y)
    if sample_weight is not None:
        sample_weight = _check_sample_weight(
            sample_weight, X, dtype=np.float64, ensure_non_negative=True
        )
    if reset:
        estimator.input_shape_ = X.shape[1:]
        estimator.sample_shape_ = _sample_shape(estimator, X)
    return X.reshape(len(X), *estimator.sample_shape_), y, sample_weight


def check_tensor(estimator, X):
    """Checked ``X`` of the fitted sample shape, in the layout given to fit."""
    check_is_fitted(estimator)
    _refuse_ragged(X)
    _check_shape(estimator, X)
    X = validate_data(estimator, X, reset=False, **_RULES)
    _check_finite(X)
    return X


_RULES = {"dtype": "numeric", "allow_nd": True, "ensure_all_finite": False}


def _sample_shape(estimator, X):
    """Shape of one sample: ``sample_shape`` if X is flattened, else X's own."""
    given = estimator.sample_shape
    if given is None or tuple(given) == X.shape[1:]:
        return X.shape[1:]
    shape = tuple(given)
    if X.ndim != 2 or prod(shape) != X.shape[1]:
        raise ValueError(
            f"sample_shape={given} stands for {prod(shape)} entries, but the samples "
            f"of X have shape {X.shape[1:]}; give the shape that multiplies up to "
            f"{prod(X.shape[1:])}."
        )
    return shape


def _refuse_ragged(X):
    if not isinstance(X, (list, tuple)):
        return
    try:
        np.shape(X)
    except ValueError as error:
        raise ValueError(
            "X is ragged: its samples do not all have the same shape. Crop, pad or "
            "resample them to one shape, then stack them with numpy.stack."
        ) from error


def _check_shape(estimator, X):
    """Compare every mode; scikit-learn itself looks at the first one alone."""
    shape = tuple(getattr(X, "shape", None) or np.asarray(X).shape)[1:]
    fitted = estimator.input_shape_
    if shape != fitted and (len(shape) > 1 or len(fitted) > 1):
        raise ValueError(
            f"X has samples of shape {shape}, but {type(estimator).__name__} was "
            f"fitted on samples of shape {fitted}; reshape or resample X to match."
        )


def _check_modes(X):
    for mode, size in enumerate(X.shape[1:]):
        if size == 0:
            raise ValueError(
                f"X has shape {X.shape}: mode {mode} of its samples has size 0. "
                "Every mode needs at least one entry."
            )


def _check_finite(X):
    """Refuse NaN and infinity and say where the first one is."""
    if X.dtype.kind != "f":
        return
    with np.errstate(all="ignore"):
        if np.isfinite(X.sum(dtype=np.float64)):
            return
    for i, sample in enumerate(X):  # sample by sample: no mask as large as X
        bad = ~np.isfinite(sample)
        if bad.any():
            entry = tuple(int(j) for j in np.argwhere(bad)[0])
            what = "NaN" if np.isnan(sample[entry]) else "infinity (inf)"
            raise ValueError(
                f"Input X contains {what}, first in sample {i} at entry {entry}. "
                "Remove such samples or fill the entries, e.g. by "
                "numpy.nan_to_num or sklearn.impute."
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
