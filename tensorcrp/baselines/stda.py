"""Spatio-temporal discriminant analysis: a factor per mode, then one discriminant.

In: labelled samples ``(n, l_1, ..., l_N)``. Out: factors ``(l_m, r_m)`` as in
multilinear discriminant analysis, and up to c - 1 directions in the span of their
products: Fisher's discriminants of the cores.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from tensorcrp.base.fitting import check_within
from tensorcrp.base.resources import bounded_threads
from tensorcrp.base.types import Floats, Sizes
from tensorcrp.baselines.forms import Form, project
from tensorcrp.baselines.mode_rules import fisher
from tensorcrp.baselines.modes import alternate
from tensorcrp.baselines.ridge_lda import VectorTransformer, ridge_discriminants
from tensorcrp.baselines.tucker import discriminant_sizes, documented
from tensorcrp.solver.cp import mode_products, sign_of_largest


@documented
class STDA(VectorTransformer):
    """Spatio-temporal discriminant analysis of signals channel x time, of any order.

    Sweeps over the modes as `MultilinearLDA` does, starting from identity matrices.
    Fisher's discriminant analysis of the cores ``X x_1 U^(1)^T ... x_N U^(N)^T`` then
    combines their entries into c - 1 features [1]_.

    Parameters
    ----------
    $sizes
    reg : float, default=1e-6
        Ridge on the within-class scatter of a mode and of the cores, in units of its
        mean eigenvalue.
    max_iter : int, default=10
        Number of sweeps over the modes.
    $sample_shape

    Attributes
    ----------
    $factors
        Columns have norm one and need not be orthogonal.
    components_ : ndarray of shape (h, l_1, ..., l_N)
        The directions as tensors, best first, the entry of largest magnitude positive.
    projections_ : ndarray of shape (h, P)
        The same, flattened.
    objective_ : ndarray of shape (h,)
        The ratio that each direction reaches.
    history_ : ndarray
        The ratio of all entries of the cores after each factor, mode by mode.
    n_iter_ : int
        Number of sweeps.
    $fitted

    See Also
    --------
    MultilinearLDA : The entries of the cores as features.

    References
    ----------
    .. [1] Y. Zhang, G. Zhou, Q. Zhao, J. Jin, X. Wang and A. Cichocki,
       "Spatial-Temporal Discriminant Analysis for ERP-Based Brain-Computer Interface",
       IEEE Transactions on Neural Systems and Rehabilitation Engineering 21(2), 2013.

    Examples
    --------
    >>> from tensorcrp.baselines import STDA
    >>> from tensorcrp.datasets import make_multichannel
    >>> X, y = make_multichannel(60, n_times=32, random_state=0, return_X_y=True)
    >>> STDA().fit_transform(X, y).shape
    (60, 2)
    """

    factors_: list[Floats]
    history_: Floats
    n_iter_: int

    def __init__(
        self,
        sizes: Sizes = None,
        *,
        reg: float = 1e-6,
        max_iter: int = 10,
        sample_shape: Sequence[int] | None = None,
    ) -> None:
        self.sizes = sizes
        self.reg = reg
        self.max_iter = max_iter
        self.sample_shape = sample_shape

    def _solve_scatter(self, scatter):
        check_within(scatter)
        sizes = discriminant_sizes(self, scatter.classes)
        between = Form(scatter.between("samples"))
        within = Form(scatter.within, scatter.trace)
        start = [np.eye(size) for size in scatter.shape]
        with bounded_threads(0):  # products are small, however large the data are
            rule = fisher(self.reg)
            found = alternate(between, within, sizes, rule, start, self.max_iter)
            cores = [cores_of(form, found.factors) for form in (between, within)]
            core, self.objective_ = self._core_directions(*cores)
        W = core * np.sqrt(scatter.counts.sum())
        W = mode_products(W.reshape(-1, *sizes), found.factors)
        self.factors_, self.classes_ = found.factors, scatter.classes
        self.history_, self.n_iter_ = found.history, found.n_iter
        self.projections_ = W.reshape(len(W), -1)
        self.projections_ *= sign_of_largest(self.projections_, axis=1)
        self.components_ = self.projections_.reshape(-1, *self.sample_shape_)
        return self

    def _core_directions(self, between, within):
        """Fisher's discriminants (h, r_1 ... r_N) of the cores, and their ratios."""
        n_features = within.shape[1]
        lam = self.reg * np.vdot(within, within) / n_features
        h = min(len(between) - 1, n_features)
        return ridge_discriminants(between, within, lam, h)

    def _check_sizes(self, labels):
        discriminant_sizes(self, np.unique(labels))


def cores_of(form, factors):
    """Cores of the rows of a form, flattened: (n, r_1 ... r_N)."""
    cores = [project(block, factors) for block in form.blocks()]
    return np.concatenate(cores).reshape(-1, prod(U.shape[1] for U in factors))
