"""Fitting from class statistics, whole or batch by batch.

In: samples with labels, batches of them, or a `ClassScatter`.
Out: a fitted estimator; each subclass turns statistics into its fitted attributes in
``_solve_scatter``. Statistics of batches merge exactly, so that any number of batches
gives what one `fit` gives. Samples may be outside memory, in files or in the chunks of
a dask array; then only their statistics, or blocks of them, are ever in memory.
"""

import warnings
from functools import partial
from math import inf, prod

import numpy as np
from sklearn.base import clone
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
from tensorcrp._memory import memory_limit
from tensorcrp._sources import is_collection, is_dask
from tensorcrp.scatter import ClassScatter, root_bytes


class ScatterFit:
    """The fit methods of an estimator that needs class statistics and nothing else."""

    _labelled = True  # False: all samples are one class

    def fit(self, X, y=None, sample_weight=None):
        """Fit to samples.

        Parameters
        ----------
        X : array-like of shape (n, l_1, ..., l_N), or (n, P) with `sample_shape`
            Read in blocks and never changed. A memory map, a Zarr array, an HDF5
            dataset or a dask array in chunks of samples is never loaded as a whole
            unless its statistics are as large and fit into memory.
        y : array-like of shape (n,), default=None
            Ignored by methods without labels. A dask array if X is one, in the same
            chunks.
        sample_weight : array-like of shape (n,), default=None
            How often each sample counts; None for once.

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
            # No name of our own for the statistics: the solver's is the only one, and
            # can be let go of.
            return self._solve_scatter(self._shown_statistics(X, y, weight))

    def partial_fit(self, X, y=None, sample_weight=None):
        """Take in a batch and fit to all batches so far.

        Batches of any size and order give the result of one `fit`, to rounding. As
        long as there are fewer than two classes, or nothing varies within classes, the
        estimator takes the batch in and stays unfitted. Statistics are kept from batch
        to batch (at most P rows); `fit` keeps none, so a batch after it starts over.

        Parameters
        ----------
        X : array-like of shape (n, l_1, ..., l_N), or (n, P) with `sample_shape`
            The samples of this batch alone.
        y : array-like of shape (n,), default=None
            A class may turn up in any batch. Ignored by methods without labels.
        sample_weight : array-like of shape (n,), default=None
            How often each sample counts; None for once.

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
            self._scatter = self._merged(so_far, batch)
            self._check_sizes(self._scatter.classes)
            try:
                return self._solve_scatter(self._scatter)
            except TooFewSamples:
                if self.__sklearn_is_fitted__():
                    raise
                return self

    def fit_batches(self, batches):
        """Fit to all batches of a stream, solving once at its end.

        The same as `partial_fit` batch by batch, without a model after every batch.
        Later batches may follow with `partial_fit`.

        Parameters
        ----------
        batches : iterable of (X, y) or (X, y, sample_weight), or dask collection
            An iterator, e.g. a generator that reads files, is asked for one batch
            after the other. From a dask bag, or a list of delayed objects, of batches
            only statistics come here; they are merged in a tree on the way.

        Returns
        -------
        object
            The fitted estimator. After an error it is what it was before.
        """
        with all_or_nothing(self):
            self._check_parameters()
            forget(self)
            state = None
            for part in _statistics_of_batches(self, batches):
                state = _joined(self, state, part)
            if state is None:
                raise TooFewSamples("batches is empty: there is nothing to fit to.")
            attributes, self._scatter = state
            vars(self).update(attributes)
            self._check_sizes(self._scatter.classes)
            return self._solve_scatter(self._scatter)

    def _merged(self, so_far, batch):
        """Statistics of all batches, in no more rows than `max_rows` if it is set."""
        # Some statistics are of vectors, depending on parameters that may change.
        if so_far is not None:
            batch = so_far.reshape(batch.shape).merge(batch)
        max_rows = getattr(self, "max_rows", None)
        return batch if max_rows is None else batch.shrink(max_rows)

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
        return check_samples(self, X, y, sample_weight, reset=reset, lazy=True)

    def _statistics(self, X, y, weight, **limits):
        y = np.zeros(len(X), int) if y is None else y
        return statistics(X, y, weight, **limits)

    def _shown_statistics(self, X, y, weight):
        """Statistics within `max_memory`; `verbose` says what of them is in memory."""
        max_memory = getattr(self, "max_memory", None)
        limits = {"max_memory": max_memory, "least_ridge": self._least_ridge}
        scatter = self._checked_statistics(X, y, weight, **limits)
        if getattr(self, "verbose", 0):
            print(_which_root(self, scatter, max_memory), flush=True)
        return scatter

    def _checked_statistics(self, X, y, weight, max_memory=inf, **limits):
        """Statistics of numbers that are long enough for their scale and offset."""
        scatter = self._statistics(X, y, weight, max_memory=max_memory, **limits)
        check_range(scatter.largest, scatter.trace)
        if self._offset_counts and working_dtype(X) == np.float32:
            warn_of_an_offset(scatter)
        return scatter

    @property
    def _least_ridge(self):
        """Ridge that `fit` adds to the scatter at least, see `ClassScatter`."""
        return 0.0

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


def statistics(X, y, weight, max_memory, least_ridge=0.0):
    """Class statistics of samples in memory, in a file or in the chunks of dask.

    `max_memory` is a number of bytes, or None for half of what is free.
    """
    wanted = root_bytes(X.shape, working_dtype(X))
    limit = memory_limit(max_memory, wanted)
    if is_dask(X):
        from tensorcrp.distributed import chunk_statistics

        return chunk_statistics(X, y, weight, limit)
    return ClassScatter.from_samples(X, y, weight, limit, least_ridge)


def _statistics_of_batches(estimator, batches):
    """Attributes of the gate and statistics of each batch, or of many at once."""
    if is_collection(batches):
        from tensorcrp.distributed import batch_statistics

        stream, join = (partial(step, clone(estimator)) for step in (_stream, _joined))
        return [batch_statistics(stream, join, batches)]
    return (_stream(clone(estimator), [batch]) for batch in batches)


def _stream(estimator, batches):
    """``(attributes, scatter)`` of some batches by an unfitted estimator; or None."""
    state = None
    for X, y, *weight in batches:
        forget(estimator)
        X, y, weight = estimator._check(X, y, *weight or [None])
        scatter = estimator._checked_statistics(X, y, weight)
        attributes = {k: v for k, v in vars(estimator).items() if k.endswith("_")}
        batch = attributes, estimator._merged(None, scatter)
        state = _joined(estimator, state, batch)
    return state


def _joined(estimator, state, other):
    """Two results of `_stream` in one; the first one's attributes count."""
    if state is None or other is None:
        return state or other
    (attributes, scatter), (others, batch) = state, other
    if attributes["input_shape_"] != others["input_shape_"]:
        raise ValueError(
            f"a batch has samples of shape {others['input_shape_']}, others of shape "
            f"{attributes['input_shape_']}; reshape or resample it to match."
        )
    return attributes, estimator._merged(scatter, batch)


def _which_root(estimator, scatter, max_memory):
    """A line that says whether there is a copy of the data in memory, and why."""
    root, n_features = scatter.root, prod(scatter.shape)
    megabytes = f"{root.nbytes / 1e6:,.0f} MB"
    if not isinstance(root, np.ndarray):
        free = "half of the free memory" if max_memory is None else "max_memory"
        what = f"every pass reads X, as {megabytes} of centred samples exceed {free}"
    elif len(root) == n_features:
        what = f"more samples than entries, so {n_features} rows ({megabytes}) do"
    else:
        what = f"a centred copy of the samples in {len(root)} rows ({megabytes})"
    return f"[{type(estimator).__name__}] {what}"


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
