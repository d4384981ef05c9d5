"""Fitting from class statistics, whole or batch by batch.

In: samples with labels, batches of them, or a `ClassScatter`.
Out: a fitted estimator; each subclass turns statistics into its fitted attributes in
``_solve_scatter``. Statistics of batches merge exactly, so that any number of batches
gives what one `fit` gives.
"""

import warnings
from math import prod

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from tensorcrp._algebra import working_dtype
from tensorcrp._estimator import (
    UNLABELLED,
    TooFewSamples,
    all_or_nothing,
    check_integer,
    check_labels,
    check_range,
    check_real,
    check_samples,
    check_shape,
    ridge,
)
from tensorcrp.scatter import ClassScatter


class ScatterFit:
    """The fit methods of an estimator that needs class statistics and nothing else."""

    _labelled = True  # False: all samples are one class

    def fit(self, X, y=None, sample_weight=None):
        """Fit to samples.

        Parameters
        ----------
        X : array-like of shape (n, l_1, ..., l_N), or (n, P) with `sample_shape`
            Read in blocks and never changed; a read-only memory map will do.
        y : array-like of shape (n,)
            Ignored by methods without labels.
        sample_weight : array-like of shape (n,), default=None

        Returns
        -------
        object
            The fitted estimator. After an error or Ctrl-C it is what it was before.
        """
        with all_or_nothing(self):
            self._check_parameters()
            forget(self)
            X, y, weight = self._check(X, y, sample_weight)
            if self._labelled:
                self._check_labels(y, weight)
            self._check_sizes(y)
            return self._solve_scatter(self._checked_statistics(X, y, weight))

    def partial_fit(self, X, y=None, sample_weight=None):
        """Take in a batch and fit to all batches so far.

        Batches of any size and order give the result of one `fit`, to rounding. As
        long as there are fewer than two classes, or nothing varies within classes, the
        estimator takes the batch in and stays unfitted. Statistics are kept from batch
        to batch (at most P rows); `fit` keeps none, so a batch after it starts over.

        Parameters
        ----------
        X : array-like of shape (n, l_1, ..., l_N), or (n, P) with `sample_shape`
        y : array-like of shape (n,)
            A class may turn up in any batch. Ignored by methods without labels.
        sample_weight : array-like of shape (n,), default=None

        Returns
        -------
        object
            The estimator itself.
        """
        with all_or_nothing(self):
            self._check_parameters()
            so_far = getattr(self, "_scatter", None)
            if so_far is None:
                _warn_of_a_new_start(self)
                forget(self)
            X, y, weight = self._check(X, y, sample_weight, reset=so_far is None)
            batch = self._checked_statistics(X, y, weight)
            # Some statistics are of vectors, depending on parameters that may change.
            if so_far is not None:
                batch = so_far.reshape(batch.shape).merge(batch)
            self._scatter = batch
            self._check_sizes(self._scatter.classes)
            try:
                return self._solve_scatter(self._scatter)
            except TooFewSamples:
                if self.__sklearn_is_fitted__():
                    raise
                return self

    def fit_scatter(self, scatter):
        """Fit to class statistics alone.

        Parameters
        ----------
        scatter : ClassScatter
            Statistics of all samples, e.g. merged from many batches.

        Returns
        -------
        object
            The fitted estimator.
        """
        with all_or_nothing(self):
            self._check_parameters()
            forget(self)
            self.sample_shape_ = self.input_shape_ = scatter.shape
            self.n_features_in_ = scatter.shape[0]
            self._check_sizes(scatter.classes)
            return self._solve_scatter(scatter)

    def _check(self, X, y, sample_weight, reset=True):
        y = y if self._labelled else UNLABELLED
        return check_samples(self, X, y, sample_weight, reset=reset)

    def _statistics(self, X, y, weight):
        y = [0] * len(X) if y is None else y
        return ClassScatter.from_samples(X, y, weight)

    def _checked_statistics(self, X, y, weight):
        """Statistics of numbers that are long enough for their scale and offset."""
        scatter = self._statistics(X, y, weight)
        check_range(scatter.largest, scatter.trace)
        if self._offset_counts and working_dtype(X) == np.float32:
            warn_of_an_offset(scatter)
        return scatter

    @property
    def _offset_counts(self):
        """Whether `transform` projects the mean of the samples along with them."""
        return True

    def _check_labels(self, y, weight):
        check_labels(y, weight, nothing=NOTHING_WITHIN)

    def _check_sizes(self, labels):
        """Refuse numbers of features that the samples do not allow."""

    def _check_parameters(self):
        check_common(self)


def check_common(estimator):
    """Refuse bad values of the parameters that several methods share."""
    params = estimator.get_params(deep=False)
    for name in {"reg", "tol"} & set(params):
        check_real(name, params[name])
    for name in {"max_iter", "n_orders"} & set(params):
        check_integer(name, params[name])
    if params["sample_shape"] is not None:
        check_shape("sample_shape", params["sample_shape"])


def check_within(scatter):
    """Refuse statistics with one class, or without variation within the classes."""
    ridge(scatter, 1.0, nothing=NOTHING_WITHIN)


NOTHING_WITHIN = (
    "nothing varies within the classes (every class has one sample, or all its samples "
    "are equal), so there is no ratio to make large. Pass two different samples of "
    "some class."
)


def warn_if_unfinished(estimator, result):
    """Warn of a method that gets better with every sweep and was not done."""
    if not result.converged and estimator.tol > 0:
        warnings.warn(
            f"the objective still gained more than tol={estimator.tol} in sweep "
            f"max_iter={estimator.max_iter}; the features are usable. Raise max_iter "
            "or tol, or set tol=0 for a fixed number of sweeps.",
            ConvergenceWarning,
            stacklevel=5,
        )


def warn_of_an_offset(scatter):
    """Warn if float32 features would lose the deviations behind the means."""
    deviation = np.sqrt(scatter.trace / (scatter.counts.sum() * prod(scatter.shape)))
    offset = np.abs(scatter.means).max()
    if offset > 1e4 * deviation > 0:
        warnings.warn(
            f"the means of X are up to {offset / deviation:.0e} times its deviations: "
            "features in float32 lose digits to them. Pass X.astype(float), or "
            "subtract one tensor from all samples, e.g. their mean.",
            stacklevel=5,
        )


def forget(estimator):
    """Drop everything learnt, so that no state is a mixture of two fits."""
    for name in [name for name in vars(estimator) if name.endswith("_")]:
        delattr(estimator, name)
    vars(estimator).pop("_scatter", None)


def _warn_of_a_new_start(estimator):
    if estimator.__sklearn_is_fitted__():
        warnings.warn(
            "partial_fit starts over: fit keeps no statistics of its samples. "
            "Give every batch to partial_fit to add them up.",
            stacklevel=3,
        )
