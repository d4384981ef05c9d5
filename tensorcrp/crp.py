"""Compound rank-k projections as a scikit-learn transformer.

In: samples ``X`` (n, l_1, ..., l_N) with class labels ``y``.
Out: h unit projections ``W_p`` of CP rank at most k, found one after the other to
maximise the paper's objective (4) on data deflated by the earlier ones (3), and
features ``<X, W_p>`` of the deflated samples, (n, h), by one matrix product. It is the
one place where statistics (`scatter`) and optimisation (`solver`) meet.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from tensorcrp.base.estimator import FitSummary, TensorTransformer
from tensorcrp.base.fit_warnings import warn_of_unfinished
from tensorcrp.base.fitting import ScatterFit
from tensorcrp.base.labelled import LabelledFactors
from tensorcrp.base.projections import check_parameters, check_sizes, metric_of, spec_of
from tensorcrp.base.resources import bounded_threads
from tensorcrp.base.shrinkage import white_mixing
from tensorcrp.base.types import (
    Array,
    Callback,
    ClassWeight,
    Flags,
    Floats,
    Init,
    Integers,
    RandomSource,
    Rank,
    RegScale,
    Weighting,
)
from tensorcrp.solver.cp import mode_products
from tensorcrp.solver.curves import final_values, sweeps_of_each
from tensorcrp.solver.full_rank import is_full
from tensorcrp.solver.path import fit_path


class TensorCRP(ScatterFit, LabelledFactors, FitSummary, TensorTransformer):
    r"""Compound Rank-k Projections: discriminant features of matrices and tensors.

    Each of h features is the inner product of a sample with a tensor of CP rank at
    most k, ``W = sum_r u_r^(1) o ... o u_r^(N)``. Projections are found one at a
    time. Each maximises the ratio of between-class to within-class variation,

    .. math::

        J(W) = \frac{\sum_c \langle \bar X_c - \bar X,\, W \rangle^2}
        {\sum_c \sum_{i \in c} \langle X_i - \bar X_c,\, W \rangle^2
        + \lambda\, \|W\|^2},

    on samples deflated by the earlier projections. Order 2 is the method of [1]_, order
    1 is regularised linear discriminant analysis.

    Parameters
    ----------
    n_components : int, "paper" or None, default=None
        Number of projections h. None for ``3 (c - 1)`` with c classes, at least 27
        unless the rank is full, and at most P, the number of entries of a sample;
        "paper" for ``min((c - 1)**2, P)``.
    rank : int or "full", default=2
        CP rank k of a projection. Ranks of at least ``P / max(l_m)`` represent any
        tensor, as "full" does: ridge LDA on vectorised samples.
    reg : float or "auto", default=0.3
        Strength of the ridge. With "auto" it is that of oracle approximating shrinkage
        of the within-class scatter, from the statistics alone; `reg_scale` is then
        "relative".
    reg_scale : {"relative", "absolute"}, default="relative"
        With "relative", lambda is `reg` times the mean within-class scatter of an
        entry, so that one `reg` suits data of any scale; with "absolute", `reg` is the
        paper's lambda.
    smooth : float, sequence of float or None, default=None
        How smooth weights are along each mode: the ridge is
        ``lambda <W, (R_1 kron ... kron R_N) W>`` with ``R_m = I + mu D^T D``, D first
        differences. One strength mu for all modes, or one per mode; 0 for modes whose
        entries have no order (channels, colours). None for the plain ridge.
    metrics : sequence of ndarray or None, default=None
        Other symmetric positive definite matrices ``R_m`` (l_m, l_m), one per mode;
        None in the sequence for the identity. Not together with `smooth`.
    white : bool, default=False
        Whether features are made white within classes, for classifiers that look at
        distances: by the symmetric inverse root of their covariance, which is shrunk by
        a half towards a multiple of the identity. Feature p still is of projection p.
    between : {"classes", "samples"}, default="classes"
        How class means count in the numerator: each once, as in the paper, or by class
        size, as in classical LDA. With two classes the projections are the same.
    class_weight : dict, "balanced" or None, default=None
        Weights of classes by label, times `sample_weight`; "balanced" gives every class
        the same sum of weights. Not for statistics of batches unless it is a dict.
    init : {"lda", "identity", "random"}, callable, arrays or CPTensor, default="lda"
        Start of each projection: the best tensor of any rank truncated to rank k, the
        paper's identity matrices, normal random numbers, or the arrays ``(l_m, k)``
        that ``init(shape, rank, rng, component)`` returns (the last argument may be
        left out). Or arrays ``(l_m, k)``, the same every time, or ``(h, l_m,
        k)``; or a tensorly ``CPTensor``, or a list of one per projection.
    n_init : int, default=1
        Starts of each projection; the best is kept. All but the first are random.
    max_iter : int, default=20
        Largest number of sweeps over the modes for one projection.
    tol : float, default=0.1
        A projection is done when a sweep raises J by at most this share. With 0,
        every projection gets `max_iter` sweeps and no warning.
    warm_start : bool, default=False
        Whether a fit starts from the projections of the last one, e.g. with another
        ridge. Projections and columns beyond the last number and rank start by `init`.
    sample_shape : tuple of int, default=None
        Shape of a sample when the rows of X are flattened samples.
    random_state : int, RandomState, Generator or None, default=None
        Source of random starts. Nothing else is random.
    max_memory : float, default=None
        Bytes that `fit` may use for a centred copy of the samples, or for P rows if
        there are more samples than entries. If it needs more, every pass reads the
        samples again, in blocks. None for half of the free memory.
    max_rows : int, default=None
        Rows that `partial_fit` and `fit_batches` may keep of all batches. None for P,
        which is exact; fewer rows give an approximation, see `root_error_`.
    callback : callable, default=None
        Called as ``callback(p, objective, n_iter, factors)`` after projection p, see
        `tensorcrp.solver.Spec`; all have one entry. If it returns True, the fit ends
        with the projections 0 to p.
    verbose : int, default=0
        Print a line on memory, and one after each projection.

    Attributes
    ----------
    factors_ : list of ndarray of shape (h, l_m, k)
        CP factors, one array per mode.
    components_ : ndarray of shape (h, l_1, ..., l_N)
        The projections as tensors of norm one (under the metric, if there is one), the
        entry of largest magnitude positive.
    projections_ : ndarray of shape (h, P)
        Rows that give the features of a raw sample, deflation included.
    mixing_ : ndarray of shape (h, h) or None
        The matrix that made features white, if `white` is set.
    objective_ : ndarray of shape (h,)
        J of each projection.
    history_ : list of h arrays
        J after each block update.
    n_iter_ : int
        Largest number of sweeps that a projection took.
    n_iters_ : ndarray of int, shape (h,)
        Sweeps of each projection.
    converged_ : ndarray of bool, shape (h,), or None
        Whether each projection was done by `tol`; None from files of 0.3 or earlier.
    lambda_ : float
        The ridge in the scale of the data, the paper's lambda.
    root_error_ : float
        Bound on the error of the within-class scatter in any direction, as a share of
        its trace: 0 unless `max_rows` was too small.
    classes_ : ndarray of shape (c,)
    sample_shape_ : tuple of int
    input_shape_ : tuple of int
        Shape of a sample as it was given to `fit`: flattened or not.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only when X had column names.

    See Also
    --------
    TensorCRPCV : Chooses rank, ridge and number of components by cross-validation.
    sklearn.discriminant_analysis.LinearDiscriminantAnalysis : The order-1 case.

    References
    ----------
    .. [1] X. Chang, F. Nie, S. Wang, Y. Yang, X. Zhou and C. Zhang, "Compound Rank-k
       Projections for Bilinear Analysis", IEEE Transactions on Neural Networks and
       Learning Systems 27(7), 2016.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from tensorcrp import TensorCRP
    >>> digits = load_digits()
    >>> crp = TensorCRP(rank=2).fit(digits.images, digits.target)
    >>> crp.transform(digits.images).shape
    (1797, 27)
    >>> [factor.shape for factor in crp.factors_]
    [(27, 8, 2), (27, 8, 2)]
    """

    factors_: list[Floats]
    components_: Floats
    projections_: Floats
    objective_: Floats
    history_: list[Floats]
    n_iter_: int
    n_iters_: Integers
    converged_: Flags | None
    lambda_: float
    mixing_: Floats | Any  # None unless `white` is set
    root_error_: float
    classes_: Array

    def __init__(
        self,
        n_components: int | Literal["paper"] | None = None,
        *,
        rank: Rank = 2,
        reg: float | Literal["auto"] = 0.3,
        reg_scale: RegScale = "relative",
        smooth: float | Sequence[float] | None = None,
        metrics: Sequence[Array | None] | None = None,
        white: bool = False,
        between: Weighting = "classes",
        class_weight: ClassWeight = None,
        init: Init = "lda",
        n_init: int = 1,
        max_iter: int = 20,
        tol: float = 0.1,
        warm_start: bool = False,
        sample_shape: Sequence[int] | None = None,
        random_state: RandomSource = None,
        max_memory: float | None = None,
        max_rows: int | None = None,
        callback: Callback | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.rank = rank
        self.reg = reg
        self.reg_scale = reg_scale
        self.smooth = smooth
        self.metrics = metrics
        self.white = white
        self.between = between
        self.class_weight = class_weight
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.warm_start = warm_start
        self.sample_shape = sample_shape
        self.random_state = random_state
        self.max_memory = max_memory
        self.max_rows = max_rows
        self.callback = callback
        self.verbose = verbose

    objective_ = property(final_values)
    n_iters_ = property(sweeps_of_each)

    def _solve_scatter(self, scatter):
        """Statistics -> solver -> fitted attributes."""
        shaped = scatter.reshape(self.sample_shape_)
        earlier = vars(self).pop("_earlier", None)
        (model,) = fit_path(shaped, spec_of(self, shaped, earlier))
        self.classes_ = scatter.classes
        self.root_error_ = scatter.error / scatter.trace if scatter.error else 0.0
        with bounded_threads(0):
            white = self.white
            self.mixing_ = white_mixing(shaped, model.projections) if white else None
            del scatter, shaped  # the working copy makes room for the projections
            self._take(model)
        warn_of_unfinished(model.result.converged, self.tol, self.max_iter)
        return self

    def _take(self, model):
        """Copy what the solver found into the fitted attributes."""
        self.factors_, self.components_ = model.factors, model.components
        self.projections_ = model.projections
        if self.mixing_ is not None:
            self.projections_ = self.mixing_ @ self.projections_
        self.history_, self.lambda_ = model.history, model.lam
        self.n_iter_ = int(model.result.n_iter.max())
        self.converged_ = model.result.converged

    def _metric(self):
        """The metric of the ridge, checked against the shape of a sample."""
        return metric_of(self.smooth, self.metrics, self.sample_shape_)

    def _basis(self):
        """Flat tensors (h, P) that a unit of each feature adds to a sample."""
        matrices = self._metric().matrices(self.sample_shape_)
        basis = mode_products(self.components_, matrices)
        basis = basis.reshape(len(self.components_), -1)
        return basis if self.mixing_ is None else np.linalg.solve(self.mixing_, basis)

    @property
    def _least_ridge(self):
        # Under a metric the ridge may be small beside the rounding of raw products.
        plain = self.reg_scale == "relative" and self._metric().is_plain
        return self.reg if plain and self.reg != "auto" else 0.0

    def _statistics(self, X, y, weight, **limits):
        if is_full(self.rank, X.shape[1:]):  # vectors from the start: no second copy
            X = X.reshape(len(X), -1)
        return super()._statistics(X, y, weight, **limits)

    def _check_sizes(self, labels):
        check_sizes(self, len(np.unique(labels)), vars(self).get("_earlier"))

    def _check_parameters(self):
        check_parameters(self)
        # A fit first forgets the last one. `_solve_scatter` takes this away again.
        self._earlier = vars(self).get("factors_") if self.warm_start else None
