"""Class statistics that the objective needs, mergeable batch by batch.

In: samples ``X`` of shape (n, l_1, ..., l_N) and labels ``y`` of shape (n,).
Out: class weights (c,), class means (c, l_1, ..., l_N) and a *root* of the
within-class scatter: rows ``A_j`` with

    sum_j <A_j, W>^2 = sum_c sum_{i in c} w_i <X_i - Xbar_c, W>^2    for every W,

the first term of the denominator in the paper's objective (4). With at most P samples
(P entries per sample) the rows are centred samples, one fewer per class; with more they
are a triangular factor of P rows, from a QR decomposition or from products.
A root too large for memory is not formed: its rows are read from the samples when they
are needed (`CentredRows`). Roots of batches merge (`Mergeable`). No projections here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf, prod
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from tensorcrp.base.resources import bounded_threads
from tensorcrp.base.targets import (
    NOTHING_WITHIN,
    ONE_CLASS,
    check_present,
    checked_weights,
)
from tensorcrp.base.types import Array, Floats, RegScale, Samples, Shape, Weighting
from tensorcrp.base.validation import (
    TooFewSamples,
    check_range,
    check_stored,
    reject_unusable,
)
from tensorcrp.solver.array_rows import ArrayRows
from tensorcrp.solver.metric import Metric, isotropic_energy
from tensorcrp.solver.rows import Rows
from tensorcrp.storage.centred import centred_rows
from tensorcrp.storage.merging import Mergeable
from tensorcrp.storage.roots import as_column, check_definite
from tensorcrp.storage.sources import as_source

__all__ = ["ClassScatter"]


@dataclass(frozen=True)
class ClassScatter(Mergeable):
    """Weights, means and the within-class root of labelled samples.

    Usually created by `from_samples`.

    Parameters
    ----------
    classes : ndarray of shape (c,)
        Sorted labels.
    counts : ndarray of shape (c,)
        Sum of the sample weights per class.
    means : ndarray of shape (c, l_1, ..., l_N)
        In float64.
    root : ndarray or Rows of shape (r, l_1, ..., l_N)
        Such rows in the samples' working precision, a triangle in float64, rows on a
        device, or rows that are read from the samples when they are needed.
    error : float, default=0.0
        Bound on the error of the scatter of the root, in spectral norm: 0 unless
        `shrink` made the root smaller.
    missing : float, default=0.0
        Trace that the root lacks for the same reason.

    Examples
    --------
    Statistics of two batches merge to those of all samples, and are all that a fit
    needs.

    >>> import numpy as np
    >>> from sklearn.datasets import load_digits
    >>> from tensorcrp import ClassScatter, TensorCRP
    >>> X, y = load_digits().images, load_digits().target
    >>> first = ClassScatter.from_samples(X[:1000], y[:1000])
    >>> both = first.merge(ClassScatter.from_samples(X[1000:], y[1000:]))
    >>> crp = TensorCRP(3).fit_scatter(both)
    >>> np.allclose(crp.transform(X), TensorCRP(3).fit(X, y).transform(X))
    True
    """

    classes: Array
    counts: Floats
    means: Floats
    root: Array | Rows
    error: float = 0.0
    missing: float = 0.0

    @classmethod
    def from_samples(
        cls,
        X: Samples,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        max_memory: float = inf,
        least_ridge: float = 0.0,
    ) -> Self:
        """Statistics of samples, read in blocks and copied at most once.

        Parameters
        ----------
        X : array of shape (n, l_1, ..., l_N)
            Real numbers of any type. The centred samples of float32 stay float32. A
            memory map, Zarr array or HDF5 dataset is never loaded as a whole. Of an
            array on a device, or of another library than NumPy, the root stays there.
        y : ndarray of shape (n,)
            Labels.
        sample_weight : ndarray of shape (n,), default=None
            Not negative; samples of weight zero are ignored. The largest weight must
            be between 1e-100 and 1e100.
        max_memory : float, default=inf
            Bytes that the root may take. If it takes more, its rows are read from X
            whenever they are needed, so X must not change.
        least_ridge : float, default=0.0
            The smallest ridge that will be added to the within-class scatter, as a
            share of the mean square of an entry: `reg` of `TensorCRP`. With more than P
            samples and a ridge beyond which rounding is negligible (1e-10 of it), the
            root is computed from products of the samples, in half of the operations.

        Returns
        -------
        ClassScatter
            With at most P rows in the root.

        Examples
        --------
        >>> import numpy as np
        >>> X = np.arange(24.0).reshape(6, 2, 2)
        >>> scatter = ClassScatter.from_samples(X, [0, 0, 0, 1, 1, 1])
        >>> scatter.counts
        array([3., 3.])
        >>> scatter.root.shape  # six samples, but four entries
        (4, 2, 2)
        """
        reject_unusable(X)
        source, y = as_source(X), np.asarray(y)
        X = np.asarray(X) if source is None else source
        check_stored(X)
        check_present(y)
        weight = checked_weights(sample_weight, X, y)
        index = np.flatnonzero(weight)
        classes, codes = np.unique(y[index], return_inverse=True)
        counts = np.bincount(codes, weight[index])
        with bounded_threads(0):  # blocks are small, however many there are
            rows = centred_rows(X, index, codes, weight[index], counts)
            root = rows.root(max_memory, least_ridge)
        scatter = cls(classes, counts, rows.means, root)
        check_range(scatter.largest, scatter.trace)
        return scatter

    def __post_init__(self) -> None:
        """Check what is small; the root is checked by its trace, where it is used."""
        sound = np.all(self.counts > 0) and np.isfinite(self.counts.sum())
        if not sound or not np.isfinite([self.means.min(), self.means.max()]).all():
            raise ValueError(
                "class statistics with NaN, infinity or a class of no weight: the "
                "samples, or the difference of two batches, exceeded the range of "
                "float64. Remove such samples, or divide X by a number of their size."
            )

    @property
    def shape(self) -> Shape:
        """Shape of a sample."""
        return self.root.shape[1:]

    @property
    def within(self) -> Rows:
        """Rows of the denominator of J, wherever they are: a `Rows`."""
        return ArrayRows.of(self.root)

    @cached_property
    def spread(self) -> Floats:
        """Sum of squares and largest magnitude of each entry of the root: (2, P).

        Zero where all samples of a class are equal and differ from their mean by
        rounding alone: the root mean square deviation is no more than a few units in
        the last place of the mean, whatever the scale of the weights.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            squares, largest = self.within.spread()
            means = np.abs(self.means).reshape(len(self.means), -1).max(axis=0)
            noise = 16 * np.finfo(float).eps * means * np.sqrt(self.counts.sum())
            # NaN is not constant; squares that underflow leave the largest magnitude.
            constant = np.maximum(np.sqrt(squares), largest) <= noise
        return np.where(constant, 0.0, [squares, largest])

    @property
    def trace(self) -> float:
        """Trace of the within-class scatter."""
        with np.errstate(over="ignore"):
            return float(self.spread[0].sum() + self.missing)

    @property
    def largest(self) -> float:
        """Largest magnitude in the root."""
        return float(self.spread[1].max())

    def _energy(self, metric):
        """Sum of squares of the within rows in the coordinates of a metric, or None."""
        if metric is None or metric.is_plain:
            return self.trace
        if metric not in self._energies:  # one pass, however many ridges there are
            roots = metric.roots(self.shape)
            lost = self.missing * isotropic_energy(roots, self.shape)
            self._energies[metric] = self.within.energy(roots) + lost
        return self._energies[metric]

    @cached_property
    def _energies(self):
        return {}

    def ridge(
        self,
        reg: float,
        reg_scale: RegScale = "relative",
        metric: Metric | None = None,
        nothing: str | None = None,
    ) -> float:
        """The ridge lambda in the scale of the data, or an error that says why not.

        Parameters
        ----------
        reg : float
            Strength of the ridge.
        reg_scale : {"relative", "absolute"}, default="relative"
            With "relative", lambda is `reg` times the mean square of an entry of the
            within-class deviations, in the coordinates of the metric; with "absolute",
            lambda is `reg`.
        metric : Metric, default=None
            None for the plain norm.
        nothing : str, default=None
            Message of the error that is raised if nothing varies within the classes.

        Returns
        -------
        float
            Lambda.
        """
        if len(self.classes) < 2:
            raise TooFewSamples(ONE_CLASS.format(self.classes))
        check_range(self.largest, self.trace)
        relative = reg_scale == "relative"
        if relative and self.trace == 0:
            raise TooFewSamples(nothing or NOTHING_WITHIN)
        if reg == 0:
            check_definite(self.within)
        scale = self._energy(metric) / prod(self.shape) if relative else 1.0
        if not reg < np.finfo(float).max / max(scale, 1.0):
            raise ValueError(
                f"reg={reg} times the mean square deviation, {scale:.1e}, overflows. "
                "Lower reg."
            )
        return float(reg * scale)

    def between(self, weighting: Weighting) -> Floats:
        """Rows of the numerator of J: (c, l_1, ..., l_N).

        Parameters
        ----------
        weighting : {"classes", "samples"}
            Every class once, as in the paper, or by its size, as in classical LDA.

        Returns
        -------
        ndarray of shape (c, l_1, ..., l_N)
            Deviations of the class means from the overall mean.
        """
        share = as_column(self.counts / self.counts.sum(), self.means.ndim)
        deviations = self.means - (share * self.means).sum(axis=0)
        if weighting == "samples":
            deviations = deviations * np.sqrt(as_column(self.counts, self.means.ndim))
        return ArrayRows.of(deviations).array  # the solver's order in memory

    def reshape(self, shape: Sequence[int]) -> ClassScatter:
        """The same statistics of samples of another shape with as many entries.

        Parameters
        ----------
        shape : tuple of int
            New shape of a sample.

        Returns
        -------
        ClassScatter
            Its arrays are views.
        """
        means, root = self.means.reshape(-1, *shape), self.within.reshape(shape).array
        other = replace(self, means=means, root=root)
        if "spread" in vars(self):  # of entries, whatever the shape: known already
            vars(other)["spread"] = self.spread
        return other
