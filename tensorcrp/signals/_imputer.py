"""Missing channels filled from those that are there, by what training samples say.

In: samples ``(n, l_1, ..., l_N)`` with NaN, of which one mode is channels. Out: the
same samples without NaN.

The channels of a sample at one place of its other modes (one time, say) are a vector x
with mean m and covariance S. Those that are missing get the best linear guess given
those that are there: ``m_a + S_ab S_bb^-1 (x_b - m_b)``. The class of a new sample is
not known, so m and S are those of all classes together: under the covariance within
classes, a difference between classes would be taken for an unlikely deviation.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from tensorcrp.base.gate import compare_shape
from tensorcrp.base.namespace import checked_host, followed
from tensorcrp.base.parameters import check_integer, check_real
from tensorcrp.base.sample_steps import EntryNames, SampleTransformer
from tensorcrp.base.types import Array, Floats, Shape
from tensorcrp.base.validation import reject_unusable


class ChannelImputer(SampleTransformer, EntryNames, TransformerMixin, BaseEstimator):
    """Fill missing channels with their best linear guess, given the other channels.

    Training samples and new samples are filled in the same way, without labels: those
    of new samples are not known. A sample alone is filled as it is in a batch.

    Parameters
    ----------
    mode : int, default=0
        Mode of a sample that is channels: 0 for samples channel x time.
    reg : float, default=0.01
        Added to the diagonal of the covariance, as a share of its mean; more than 0.

    Attributes
    ----------
    mean_ : ndarray of shape (l_1, ..., l_N)
        Mean of every entry over the training samples that have it.
    covariance_ : ndarray of shape (l_mode, l_mode)
        Of the channels, from places where none is missing; with the ridge.
    input_shape_ : tuple of int
        Shape of a sample.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only when X had column names.

    See Also
    --------
    ChannelScaler : Puts channels on one scale.
    sklearn.impute.SimpleImputer : The mean of every entry, for vectors.

    Examples
    --------
    >>> import numpy as np
    >>> from tensorcrp.signals import ChannelImputer
    >>> source = np.random.default_rng(0).standard_normal((40, 1, 20))
    >>> X = source * np.array([1.0, 2.0, -1.0])[:, None]  # three channels hear it
    >>> broken = X.copy()
    >>> broken[7, 1] = np.nan
    >>> filled = ChannelImputer(reg=1e-6).fit_transform(broken)
    >>> bool(np.abs(filled - X)[7, 1].mean() < 0.1)  # the mean is 1.6 away
    True
    """

    mean_: Floats
    covariance_: Floats
    input_shape_: Shape
    n_features_in_: int
    feature_names_in_: Array

    def __init__(self, mode: int = 0, *, reg: float = 0.01) -> None:
        self.mode = mode
        self.reg = reg

    def fit(self, X: ArrayLike, y: Any = None) -> Self:
        """Means of the entries and covariance of the channels.

        Parameters
        ----------
        X : array-like of shape (n, l_1, ..., l_N)
            Training samples; NaN is what is missing.
        y : object, default=None
            Ignored.

        Returns
        -------
        ChannelImputer
            The fitted imputer.
        """
        check_integer("mode", self.mode, least=0)
        check_real("reg", self.reg)
        if not self.reg > 0:
            raise ValueError("reg=0 leaves a covariance without an inverse; try 0.01.")
        X = self._checked(X, reset=True)
        if self.mode >= X.ndim - 1:
            raise ValueError(
                f"mode={self.mode} is none of the {X.ndim - 1} modes of samples of "
                f"shape {X.shape[1:]}; they are numbered from 0."
            )
        self.input_shape_ = X.shape[1:]
        columns = self._columns(X)
        mean = _mean(columns)
        S = _covariance(columns, mean)
        ridge = self.reg * np.trace(S) / len(S)
        self.covariance_ = S + (ridge if ridge > 0 else 1.0) * np.eye(len(S))
        self.mean_ = self._samples(mean[None])[0]
        return self

    def transform(self, X: ArrayLike) -> Floats:
        """Samples with all channels.

        Parameters
        ----------
        X : array-like of shape (n, l_1, ..., l_N)
            Samples of the shape seen in `fit`; never modified.

        Returns
        -------
        ndarray of shape (n, l_1, ..., l_N)
            In float32 if X is float32, else in float64. What was there is unchanged. An
            array of the kind of X on its device, computed on the host.
        """
        check_is_fitted(self)
        given, X = X, self._checked(X, reset=False)
        columns = np.array(self._columns(X))
        mean = self._columns(self.mean_[None])[0]
        for sample in columns:
            if np.isnan(sample).any():
                _fill(sample, mean, self.covariance_)
        return followed(self._samples(columns), given)

    def _checked(self, X, reset):
        """Samples in float32 or float64, of the shape that was fitted, NaN allowed."""
        reject_unusable(X)
        X = checked_host(X)
        if not reset:
            compare_shape(self, X)
        return validate_data(
            self,
            X,
            reset=reset,
            dtype=[np.float64, np.float32],
            allow_nd=True,
            ensure_all_finite="allow-nan",
        )

    def _columns(self, X):
        """Channels of samples at every place: (n, l_mode, places)."""
        columns = np.moveaxis(X, self.mode + 1, 1)
        return columns.reshape(len(X), columns.shape[1], -1)

    def _samples(self, columns):
        """What `_columns` took apart: (n, l_1, ..., l_N)."""
        shape = self.input_shape_
        others = shape[: self.mode] + shape[self.mode + 1 :]
        samples = columns.reshape(len(columns), shape[self.mode], *others)
        return np.ascontiguousarray(np.moveaxis(samples, 1, self.mode + 1))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _mean(columns):
    """Means (l, places) of what is there; of a channel elsewhere where nothing is."""
    there = ~np.isnan(columns)
    counts = there.sum(axis=0)
    sums = np.where(there, columns, 0.0).sum(axis=0, dtype=float)
    whole = counts.sum(axis=1)
    if not whole.all():
        absent = np.flatnonzero(whole == 0).tolist()
        raise ValueError(
            f"channels {absent[:10]} are missing in every training sample; leave them "
            "out."
        )
    channel = sums.sum(axis=1) / whole
    return np.where(counts > 0, sums / np.maximum(counts, 1), channel[:, None])


def _covariance(columns, mean):
    """Covariance (l, l) of channels, from places where all of them are there."""
    S, n = np.zeros((columns.shape[1],) * 2), 0
    for sample in columns:  # no copy as large as X
        whole = (sample - mean)[:, ~np.isnan(sample).any(axis=0)]
        S, n = S + whole @ whole.T, n + whole.shape[1]
    if n == 0:
        raise ValueError(
            "no training sample has all channels at any place, so that nothing is "
            "known of how they vary together; leave out channels that are often "
            "missing."
        )
    return S / n


def _fill(sample, mean, S):
    """Fill one sample (l, places) in place, all places with the same gaps at once."""
    gaps = np.isnan(sample)
    patterns, which = np.unique(gaps.T, axis=0, return_inverse=True)
    for number, gap in enumerate(patterns):
        if not gap.any():
            continue
        places = np.flatnonzero(which.reshape(-1) == number)
        known = np.ix_(~gap, places)
        weights = np.linalg.solve(S[np.ix_(~gap, ~gap)], S[np.ix_(~gap, gap)]).T
        filled = mean[np.ix_(gap, places)] + weights @ (sample[known] - mean[known])
        sample[np.ix_(gap, places)] = filled
