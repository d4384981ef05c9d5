"""Steps of a pipeline from samples to samples, which no data frame holds.

In: samples (n, l_1, ..., l_N). Out: samples of the same order. Scikit-learn's
``set_output`` and names of features are made for 2-D samples alone; here they let
pipelines of N-D samples pass.
"""

from __future__ import annotations

from functools import wraps
from inspect import unwrap
from math import prod
from typing import Any

import numpy as np
from sklearn.base import OneToOneFeatureMixin
from sklearn.utils.validation import check_is_fitted

from tensorcrp.base.types import Array


class SampleTransformer:
    """Mixin of transformers from samples to samples, before scikit-learn's own.

    ``set_output`` makes data frames of 2-D samples alone: no frame holds the others,
    which stay arrays, so that the next step of a pipeline still gets them.
    """

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)  # scikit-learn wraps `transform` here
        if "transform" in vars(cls):
            cls.transform = _framed_if_flat(vars(cls)["transform"])

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Any:
        """Fit to samples and transform them.

        Parameters
        ----------
        X : array-like of shape (n, l_1, ..., l_N)
            Samples.
        y : array-like of shape (n,), default=None
            Labels, as `fit` takes them.
        **fit_params : dict
            Further arguments of `fit`.

        Returns
        -------
        ndarray of shape (n, l_1, ..., l_N), or as in `transform`
            Transformed samples; a data frame only if they are 2-D.
        """
        return self.fit(X, y, **fit_params).transform(X)


def _framed_if_flat(transform):
    """A ``transform`` that ``set_output`` concerns for 2-D samples alone."""
    plain = unwrap(transform)

    @wraps(transform)
    def of_any_order(self, X):
        tensors = len(getattr(self, "input_shape_", ())) > 1
        return plain(self, X) if tensors else transform(self, X)

    return of_any_order


class EntryNames(OneToOneFeatureMixin):
    """Names of entries that stay what they are, for samples of any order."""

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Names of the entries of a sample.

        Parameters
        ----------
        input_features : array-like of str, default=None
            Names of the entries. Of samples that are not 2-D they are ignored unless
            there is one for each: the steps of a pipeline count entries differently.

        Returns
        -------
        ndarray of str
            The names given, those of the columns in `fit`, or "x" and a number.
        """
        check_is_fitted(self)
        if len(self.input_shape_) == 1:
            return super().get_feature_names_out(input_features)
        n = prod(self.input_shape_)
        if input_features is not None and len(input_features) == n:
            return np.asarray(input_features, dtype=object)
        return np.array([f"x{i}" for i in range(n)], dtype=object)
