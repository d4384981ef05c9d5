"""Multilinear principal components: most scatter, without labels.

In: samples ``(n, l_1, ..., l_N)``. Out: orthonormal factors ``(l_m, r_m)`` that keep
most of ``sum_i ||(X_i - Xbar) x_1 U^(1)^T ... x_N U^(N)^T||^2``. The numerator is the
centred samples, there is no denominator, and the rule is the leading eigenvectors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from numbers import Real

import numpy as np

from tensorcrp.base.fit_warnings import warn_if_unfinished
from tensorcrp.base.fitting import ScatterFit
from tensorcrp.base.resources import bounded_threads
from tensorcrp.base.types import Floats, Sizes
from tensorcrp.base.validation import TooFewSamples
from tensorcrp.baselines.forms import Form, Sum
from tensorcrp.baselines.mode_rules import leading
from tensorcrp.baselines.modes import alternate, one_pass
from tensorcrp.baselines.tucker import TuckerTransformer, core_sizes, documented


class _Unlabelled(ScatterFit, TuckerTransformer):
    """Principal components of all samples as one class; y is ignored."""

    _labelled = False
    _offset_counts = False

    def _solve_scatter(self, scatter):
        between = scatter.between("samples")  # of one class: zeros
        total = scatter.trace + np.vdot(between, between)
        if total == 0:
            raise TooFewSamples(_NOTHING_VARIES)
        form = Form(scatter.within)
        if len(between) > 1:
            form = Sum((form, Form(between)))
        with bounded_threads(0):  # products are small, however large the data are
            result = self._modes(form)
        self.factors_ = result.factors
        self.mean_ = np.average(scatter.means, axis=0, weights=scatter.counts)
        self.objective_ = result.objective / total
        return self._keep(result, total)

    def _sizes_or_share(self, given, shape):
        """Core sizes, or None and the share of scatter that sets them."""
        given = KEPT_SHARE if given is None else given
        if isinstance(given, Real) and 0 < given < 1:
            return None, given
        return core_sizes(given, shape, None), None

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = False
        return tags


@documented
class MPCA(_Unlabelled):
    """Multilinear principal component analysis: one orthonormal factor per mode.

    Finds the factors that keep most of the scatter of the centred samples,
    ``sum_i ||(X_i - Xbar) x_1 U^(1)^T ... x_N U^(N)^T||^2``, one mode at a time: the
    eigenvectors of the mode scatter with the other modes projected [1]_. The share of
    scatter kept never falls. Order 1 is principal component analysis.

    Parameters
    ----------
    sizes : int, tuple of int, float or None, default=None
        Number of features ``r_m`` per mode, or a share between 0 and 1 of the scatter
        that every mode must keep on its own. None for the share 0.97 of [1]_.
    max_iter : int, default=10
        Largest number of sweeps over the modes.
    tol : float, default=1e-4
        Stop when a sweep raises the share of scatter kept by no more than this share.
    $sample_shape

    Attributes
    ----------
    $factors
    mean_ : ndarray of shape (l_1, ..., l_N)
        Subtracted before the projection.
    objective_ : float
        Share of the scatter kept.
    history_ : ndarray
        The share after each factor, mode by mode; never falls.
    n_iter_ : int
        Number of sweeps.
    $unlabelled

    References
    ----------
    .. [1] H. Lu, K. N. Plataniotis and A. N. Venetsanopoulos, "MPCA: Multilinear
       Principal Component Analysis of Tensor Objects", IEEE Transactions on Neural
       Networks 19(1), 2008.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from tensorcrp.baselines import MPCA
    >>> images = load_digits().images
    >>> MPCA(sizes=4).fit_transform(images).shape
    (1797, 16)
    """

    mean_: Floats
    history_: Floats
    n_iter_: int

    def __init__(
        self,
        sizes: Sizes | float = None,
        *,
        max_iter: int = 10,
        tol: float = 1e-4,
        sample_shape: Sequence[int] | None = None,
    ) -> None:
        self.sizes = sizes
        self.max_iter = max_iter
        self.tol = tol
        self.sample_shape = sample_shape

    def _modes(self, total):
        raw = [
            total.scatter(m, [None] * len(total.shape)) for m in range(len(total.shape))
        ]
        sizes, share = self._sizes_or_share(self.sizes, total.shape)
        sizes = sizes or [size_for_share(scatter, share) for scatter in raw]
        start = [leading(S, None, r) for S, r in zip(raw, sizes, strict=True)]
        return alternate(total, None, sizes, leading, start, self.max_iter, self.tol)

    def _keep(self, result, total):
        self.history_, self.n_iter_ = result.history / total, result.n_iter
        warn_if_unfinished(self, result)
        return self

    def _check_sizes(self, labels):
        self._sizes_or_share(self.sizes, self.sample_shape_)


@documented
class TwoDPCA(_Unlabelled):
    """Two-dimensional principal component analysis: the last mode alone is projected.

    Features of a matrix are ``X V``, V the leading eigenvectors of the image covariance
    ``sum_i (X_i - Xbar)^T (X_i - Xbar)`` [1]_; one eigenproblem, no iteration. At order
    N the last mode is projected, the others are left as they are. Samples are centred
    first, which moves all features by a constant and no distance.

    Parameters
    ----------
    n_components : int, float or None, default=None
        Number of columns of V, or the share between 0 and 1 of the scatter to keep.
        None for the share 0.97.
    $sample_shape

    Attributes
    ----------
    factors_ : list of ndarray of shape (l_m, r_m)
        Identity matrices, but for the last mode.
    mean_ : ndarray of shape (l_1, ..., l_N)
        Subtracted before the projection.
    objective_ : float
        Share of the scatter kept.
    $unlabelled

    References
    ----------
    .. [1] J. Yang, D. Zhang, A. F. Frangi and J.-Y. Yang, "Two-Dimensional PCA: A New
       Approach to Appearance-Based Face Representation and Recognition", IEEE
       Transactions on Pattern Analysis and Machine Intelligence 26(1), 2004.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from tensorcrp.baselines import TwoDPCA
    >>> images = load_digits().images
    >>> TwoDPCA(n_components=3).fit_transform(images).shape
    (1797, 24)
    """

    mean_: Floats
    _keeps_a_mode = True

    def __init__(
        self,
        n_components: int | float | None = None,
        *,
        sample_shape: Sequence[int] | None = None,
    ) -> None:
        self.n_components = n_components
        self.sample_shape = sample_shape

    def _modes(self, total):
        *others, last = range(len(total.shape))
        size, share = self._sizes_or_share(self.n_components, total.shape[-1:])
        if share is not None:
            raw = total.scatter(last, [None] * len(total.shape))
            size = [size_for_share(raw, share)]
        sizes = (*(total.shape[m] for m in others), *size)
        result = one_pass(total, None, sizes, leading, order=[last])
        factors = [np.eye(total.shape[m]) for m in others] + result.factors[-1:]
        return replace(result, factors=factors)

    def _keep(self, result, total):
        return self

    def _check_sizes(self, labels):
        self._sizes_or_share(self.n_components, self.sample_shape_[-1:])


def size_for_share(scatter, share):
    """Fewest eigenvalues that add up to the share of the trace."""
    values = np.linalg.eigvalsh(scatter)[::-1].clip(0)
    kept = np.cumsum(values) / values.sum()
    return int(np.searchsorted(kept, share * (1 - 1e-12)) + 1)


KEPT_SHARE = 0.97
_NOTHING_VARIES = (
    "nothing varies between the samples (there is one sample, or all are equal), so "
    "there is no scatter to keep. Pass two different samples."
)
