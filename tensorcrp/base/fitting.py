"""Fitting from class statistics, whole or batch by batch.

In: samples with labels, batches of them, or a `ClassScatter`.
Out: a fitted estimator; each subclass turns statistics into its fitted attributes in
``_solve_scatter``. Statistics of batches merge exactly, so that any number of batches
gives what one `fit` gives. Samples may be outside memory, in files or in the chunks of
a dask array; then only their statistics, or blocks of them, are ever in memory.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import inf, prod
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from tensorcrp.base.batches import joined, statistics_of_batches
from tensorcrp.base.fit_warnings import (
    class_probes,
    warn_if_constant,
    warn_of_a_new_start,
    warn_of_an_offset,
)
from tensorcrp.base.gate import UNLABELLED, check_samples
from tensorcrp.base.parameters import check_common
from tensorcrp.base.resources import memory_limit
from tensorcrp.base.state import forget, replaced_at_once
from tensorcrp.base.targets import (
    NO_RATIO,
    check_batches,
    check_labels,
    check_no_class_weight,
)
from tensorcrp.base.types import Samples
from tensorcrp.base.validation import TooFewSamples, check_range
from tensorcrp.scatter import ClassScatter
from tensorcrp.solver.cp import working_dtype
from tensorcrp.storage.roots import root_bytes
from tensorcrp.storage.sources import is_dask


class ScatterFit:
    """The fit methods of an estimator that needs class statistics and nothing else."""

    _labelled = True  # False: all samples are one class

    def fit(
        self,
        X: Samples,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Fit to samples.

        Parameters
        ----------
        X : array-like of shape (n, l_1, ..., l_N), or (n, P) with `sample_shape`
            Read in blocks and never modified. A memory map, a Zarr array, an HDF5
            dataset or a dask array in chunks of samples is never loaded as a whole
            unless its statistics are as large and fit into memory.
        y : array-like of shape (n,), default=None
            Ignored by methods without labels. A dask array if X is one, in the same
            chunks.
        sample_weight : array-like of shape (n,), default=None
            Weight of each sample; None for equal weights. With a relative ridge the
            features do not depend on the scale of all weights together, unless the
            number of samples matters (``reg="auto"``, ``white=True``): that is the sum
            of the weights. If the largest is below 1e-100 or above 1e100, all are first
            divided by a power of four, which changes the unit of the ridge and the
            objective. With an absolute ridge such weights are an error.

        Returns
        -------
        object
            The fitted estimator. After an error or Ctrl-C it is unchanged.
        """
        with replaced_at_once(self) as new:
            new._check_parameters()
            forget(new)
            # There is no other batch whose weights have to be in the same unit.
            X, y, weight = new._check(X, y, sample_weight, any_unit=new._is_relative)
            if new._labelled:
                new._check_labels(y, weight)
            new._check_sizes(y)
            # No name of our own for the statistics: the solver's is the only one, and
            # can be let go of.
            held = [new._shown_statistics(X, y, weight)]
            probes = class_probes(held[0])
            new._solve_scatter(held.pop())
            warn_if_constant(new, probes)
        return self

    def partial_fit(
        self,
        X: Samples,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Add a batch and fit to all batches so far.

        Batches of any size and order give the result of one `fit`, up to rounding. As
        long as there are fewer than two classes, or nothing varies within classes, the
        estimator keeps the statistics of the batch and stays unfitted. Statistics are
        kept from batch to batch (at most P rows); `fit` keeps none, so a batch after it
        starts over.

        Parameters
        ----------
        X : array-like of shape (n, l_1, ..., l_N), or (n, P) with `sample_shape`
            The samples of this batch alone.
        y : array-like of shape (n,), default=None
            A class may turn up in any batch. Ignored by methods without labels.
        sample_weight : array-like of shape (n,), default=None
            Weight of each sample; None for equal weights. Weights of all batches are in
            one unit, with a largest weight between 1e-100 and 1e100.

        Returns
        -------
        object
            The estimator itself.
        """
        with replaced_at_once(self) as new:
            new._check_parameters()
            check_batches(new)
            so_far = getattr(new, "_scatter", None)
            if so_far is None:
                warn_of_a_new_start(new)
                forget(new)
            X, y, weight = new._check(X, y, sample_weight, reset=so_far is None)
            batch = new._checked_statistics(X, y, weight)
            new._scatter = new._merged(so_far, batch)
            new._check_sizes(new._scatter.classes)
            try:
                new._solve_scatter(new._scatter)
                warn_if_constant(new, class_probes(new._scatter))
            except TooFewSamples:
                if new.__sklearn_is_fitted__():
                    raise
        return self

    def fit_batches(self, batches: Iterable[Any]) -> Self:
        """Fit to all batches of a stream, solving once at its end.

        The same as `partial_fit` batch by batch, without a model after every batch.
        Later batches may follow with `partial_fit`.

        Parameters
        ----------
        batches : iterable of (X, y) or (X, y, sample_weight), or dask collection
            An iterator, e.g. a generator that reads files, is consumed one batch at a
            time. Of a dask bag, or a list of delayed objects, only statistics reach
            this process; they are merged in a tree.

        Returns
        -------
        object
            The fitted estimator. After an error it is unchanged.
        """
        with replaced_at_once(self) as new:
            new._check_parameters()
            check_batches(new)
            forget(new)
            state = None
            for part in statistics_of_batches(new, batches):
                state = joined(new, state, part)
            if state is None:
                raise TooFewSamples("batches is empty: there is nothing to fit to.")
            attributes, new._scatter = state
            vars(new).update(attributes)
            new._check_sizes(new._scatter.classes)
            new._solve_scatter(new._scatter)
            warn_if_constant(new, class_probes(new._scatter))
        return self

    def _merged(self, so_far, batch):
        """Statistics of all batches, in no more rows than `max_rows` if it is set."""
        # Some statistics are of vectors, depending on parameters that may change.
        if so_far is not None:
            batch = so_far.reshape(batch.shape).merge(batch)
        max_rows = getattr(self, "max_rows", None)
        return batch if max_rows is None else batch.shrink(max_rows)

    def fit_scatter(self, scatter: ClassScatter) -> Self:
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
        if not isinstance(scatter, ClassScatter):
            raise TypeError(
                f"fit_scatter takes a ClassScatter, got {type(scatter).__name__}. Make "
                "one by ClassScatter.from_samples(X, y), or call fit(X, y)."
            )
        with replaced_at_once(self) as new:
            new._check_parameters()
            check_no_class_weight(new)
            check_range(scatter.largest, scatter.trace)
            forget(new)
            new.sample_shape_ = new.input_shape_ = scatter.shape
            new.n_features_in_ = scatter.shape[0]
            new._check_sizes(scatter.classes)
            new._solve_scatter(scatter)
            warn_if_constant(new, class_probes(scatter))
        return self

    def _check(self, X, y, sample_weight, **how):
        y = y if self._labelled else UNLABELLED
        return check_samples(self, X, y, sample_weight, lazy=True, **how)

    @property
    def _is_relative(self):
        """Whether all weights times a number give the same features."""
        return getattr(self, "reg_scale", "relative") == "relative"

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
        scaled = hasattr(self, "reg_scale")
        scale = self.reg_scale if scaled else "relative"
        check_labels(y, weight, scale, nothing=None if scaled else NO_RATIO)

    def _check_sizes(self, labels):
        """Reject numbers of features that the samples do not allow."""

    def _check_parameters(self):
        check_common(self)


def statistics(X, y, weight, max_memory, least_ridge=0.0):
    """Class statistics of samples in memory, in a file or in the chunks of dask.

    `max_memory` is a number of bytes, or None for half of what is free.
    """
    wanted = root_bytes(X.shape, working_dtype(X))
    limit = memory_limit(max_memory, wanted)
    if is_dask(X):
        from tensorcrp.storage.chunk_statistics import chunk_statistics

        return chunk_statistics(X, y, weight, limit)
    return ClassScatter.from_samples(X, y, weight, limit, least_ridge)


def _which_root(estimator, scatter, max_memory):
    """A line that says whether there is a copy of the data in memory, and why."""
    root, n_features = scatter.within, prod(scatter.shape)
    megabytes = f"{root.nbytes / 1e6:,.0f} MB"
    if not root.in_memory:
        free = "half of the free memory" if max_memory is None else "max_memory"
        what = f"every pass reads X, as {megabytes} of centred samples exceed {free}"
    elif len(root) == n_features:
        what = f"more samples than entries, so {n_features} rows ({megabytes}) do"
    else:
        what = f"a centred copy of the samples in {len(root)} rows ({megabytes})"
    return f"[{type(estimator).__name__}] {what}"


def check_within(scatter):
    """Reject statistics with one class, or without variation within the classes."""
    scatter.ridge(1.0, nothing=NO_RATIO)
