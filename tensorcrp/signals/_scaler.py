"""Channels on one scale, learned from training samples alone.

In: samples ``(n, l_1, ..., l_N)`` of which one mode is channels. Out: the same samples
with every channel in units of its own standard deviation over the *training* samples,
so that a window is scaled in the same way alone and among others.
"""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from tensorcrp.base.gate import compare_shape
from tensorcrp.base.namespace import checked_host, followed
from tensorcrp.base.parameters import check_choice, check_integer
from tensorcrp.base.sample_steps import EntryNames, SampleTransformer
from tensorcrp.base.types import Array, Floats, Shape
from tensorcrp.base.validation import check_finite, reject_unusable

CENTRES = ("channel", "sample", "none")


class ChannelScaler(SampleTransformer, EntryNames, TransformerMixin, BaseEstimator):
    """Subtract the mean of each channel and divide by its standard deviation.

    Both are taken over the training samples and over all other modes. Nothing of the
    samples in `transform` enters them, so nothing leaks from test samples, and a
    window that arrives alone is scaled as it would be in a batch.

    Parameters
    ----------
    mode : int, default=0
        Mode of a sample whose entries are scaled, each by its own deviation: 0 for
        samples channel x time. Scikit-learn's ``StandardScaler`` is the case of order
        1.
    centre : {"channel", "sample", "none"}, default="channel"
        What is subtracted: the mean of a channel over all training samples; the mean
        of each channel over the one sample, which removes slow drifts; or nothing.

    Attributes
    ----------
    mean_ : ndarray of shape (l_mode,)
        What is subtracted from each channel: zero unless ``centre="channel"``.
    scale_ : ndarray of shape (l_mode,)
        Standard deviation of each channel after centring; one for a constant channel.
    input_shape_ : tuple of int
        Shape of a sample.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only when X had column names.

    See Also
    --------
    epochs_to_tensor : Samples channel x time from MNE's epochs.
    sklearn.preprocessing.StandardScaler : One mean and deviation per feature.

    Examples
    --------
    >>> import numpy as np
    >>> from tensorcrp.signals import ChannelScaler
    >>> units = np.array([1e-6, 1.0, 1e3])[:, None]
    >>> X = units * np.random.default_rng(0).standard_normal((50, 3, 20))
    >>> scaler = ChannelScaler().fit(X)
    >>> scaler.transform(X).std(axis=(0, 2)).round(6)
    array([1., 1., 1.])
    >>> bool((scaler.transform(X[7:8]) == scaler.transform(X)[7:8]).all())
    True
    """

    mean_: Floats
    scale_: Floats
    input_shape_: Shape
    n_features_in_: int
    feature_names_in_: Array

    def __init__(
        self,
        mode: int = 0,
        *,
        centre: Literal["channel", "sample", "none"] = "channel",
    ) -> None:
        self.mode = mode
        self.centre = centre

    def fit(self, X: ArrayLike, y: Any = None) -> Self:
        """Means and standard deviations of the channels.

        Parameters
        ----------
        X : array-like of shape (n, l_1, ..., l_N)
            Training samples.
        y : object, default=None
            Ignored.

        Returns
        -------
        ChannelScaler
            The fitted scaler.
        """
        check_integer("mode", self.mode, least=0)
        check_choice("centre", self.centre, CENTRES)
        X = self._checked(X, reset=True)
        if self.mode >= X.ndim - 1:
            raise ValueError(
                f"mode={self.mode} is none of the {X.ndim - 1} modes of samples of "
                f"shape {X.shape[1:]}; they are numbered from 0."
            )
        self.input_shape_ = X.shape[1:]
        self.mean_, self.scale_ = _moments(self._rows(X), self.centre)
        return self

    def transform(self, X: ArrayLike) -> Floats:
        """Scaled samples.

        Parameters
        ----------
        X : array-like of shape (n, l_1, ..., l_N)
            Samples of the shape seen in `fit`.

        Returns
        -------
        ndarray of shape (n, l_1, ..., l_N)
            In float32 if X is float32, else in float64. Each sample depends on itself
            and on what `fit` has learned, to the last bit. An array of the kind of X on
            its device, computed on the host.
        """
        check_is_fitted(self)
        given, X = X, self._checked(X, reset=False)
        dtype = X.dtype
        mean, scale = (self._along(each, dtype) for each in (self.mean_, self.scale_))
        if self.centre == "sample":
            own = _sample_means(self._rows(X)).astype(dtype)
            others = [m + 1 for m in range(X.ndim - 1) if m != self.mode]
            mean = np.expand_dims(own, tuple(others))
        return followed((X - mean) / scale, given)

    def inverse_transform(self, X: ArrayLike) -> Floats:
        """Samples in their own units.

        Parameters
        ----------
        X : array-like of shape (n, l_1, ..., l_N)
            Scaled samples.

        Returns
        -------
        ndarray of shape (n, l_1, ..., l_N)
            What was given to `transform`; with ``centre="sample"`` less the means of
            each sample, which are not kept.
        """
        check_is_fitted(self)
        given, X = X, self._checked(X, reset=False)
        scale, mean = (self._along(a, X.dtype) for a in (self.scale_, self.mean_))
        return followed(X * scale + mean, given)

    def _checked(self, X, reset):
        """Samples in float32 or float64, finite and of the shape that was fitted."""
        reject_unusable(X)
        X = checked_host(X)
        if not reset:
            compare_shape(self, X)
        X = validate_data(
            self,
            X,
            reset=reset,
            dtype=[np.float64, np.float32],
            allow_nd=True,
            ensure_all_finite=False,
        )
        check_finite(X)
        return X

    def _rows(self, X):
        """Channels of samples, contiguous: (n, l_mode, rest)."""
        rows = np.moveaxis(X, self.mode + 1, 1)
        return np.ascontiguousarray(rows.reshape(len(X), rows.shape[1], -1))

    def _along(self, values, dtype):
        """Values of the channels (l_mode,) in the place of their mode."""
        after = len(self.input_shape_) - 1 - self.mode
        return values.reshape(-1, *[1] * after).astype(dtype)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _sample_means(rows):
    """Means of the channels of each sample, whatever its neighbours: (n, l_mode)."""
    return rows.mean(axis=2, dtype=np.float64)


def _moments(rows, centre):
    """Mean that is subtracted, and standard deviation: twice (l_mode,)."""
    own = _sample_means(rows)
    mean = own.mean(axis=0)
    offset = {"channel": mean, "sample": own, "none": np.zeros_like(mean)}[centre]
    offset = np.broadcast_to(offset, own.shape)
    squares = np.zeros_like(mean)
    for sample, middle in zip(rows, offset, strict=True):  # no copy as large as X
        squares += np.square(sample - middle[:, None]).mean(axis=1, dtype=np.float64)
    deviation = np.sqrt(squares / len(rows))
    # Equal numbers differ from their mean by rounding alone.
    noise = 16 * np.finfo(float).eps * np.abs(own).max(axis=0)
    scale = np.where(deviation > noise, deviation, 1.0)
    return mean if centre == "channel" else np.zeros_like(mean), scale
