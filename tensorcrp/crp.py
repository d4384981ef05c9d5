"""Compound rank-k projections as a scikit-learn transformer.

In: samples ``X`` (n, l_1, ..., l_N) with class labels ``y``.
Out: h unit projections ``W_p`` of CP rank at most k, found one after the other to
maximise the paper's objective (4) on data deflated by the earlier ones (3), and
features ``<X, W_p>`` of the deflated samples, (n, h), by one matrix product.

The one place where statistics (`scatter`) and optimisation (`solver`) meet.
"""

import warnings
from math import prod

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from tensorcrp._algebra import cp_from_dense, cp_normalize, cp_tensor, deflated_rows
from tensorcrp._estimator import (
    TensorTransformer,
    check_choice,
    check_integer,
    check_labels,
    check_real,
    check_shape,
    ridge,
)
from tensorcrp._fitting import ScatterFit
from tensorcrp._notebook import with_summary
from tensorcrp._threads import bounded_threads
from tensorcrp.solver import INITS, solve


class TensorCRP(ScatterFit, TensorTransformer):
    """Compound Rank-k Projections: discriminant features of matrices and tensors.

    Each of h features is the inner product of a sample with a tensor of CP rank at
    most k, ``W = sum_r u_r^(1) o ... o u_r^(N)``. Projections are found one after the
    other; each maximises the ratio of between-class to within-class variation,

    ``J(W) = sum_c <Xbar_c - Xbar, W>^2
    / (sum_c sum_{i in c} <X_i - Xbar_c, W>^2 + lambda ||W||^2)``,

    on samples from which the earlier ones have been taken off. Order 2 is the method
    of [1]_, order 1 is regularised linear discriminant analysis.

    Parameters
    ----------
    n_components : int, "paper" or None, default=None
        Number of projections h. None stands for ``min(3 (c - 1), P)``, with c classes
        and P entries in a sample, "paper" for ``min((c - 1)**2, P)``.
    rank : int or "full", default=2
        CP rank k of a projection. From the largest rank on that a sample's shape
        allows for sure, ``P / max(l_m)``, every tensor is reached, as with "full":
        ridge LDA on vectorised samples.
    reg : float, default=0.3
        Strength of the ridge.
    reg_scale : {"relative", "absolute"}, default="relative"
        With "relative", lambda is `reg` times the mean within-class scatter of an
        entry, so that one `reg` suits data of any scale; with "absolute", `reg` is the
        paper's lambda.
    between : {"classes", "samples"}, default="classes"
        How class means count in the numerator: each once, as in the paper, or by the
        size of the class, as in classical LDA.
    init : {"lda", "identity", "random"}, callable or list of arrays, default="lda"
        Start of each projection: the best tensor of any rank cut to rank k, the
        paper's identity matrices, normal random numbers, the arrays ``(l_m, k)`` that
        ``init(shape, rank, random_state)`` returns, or arrays given once for all.
    n_init : int, default=1
        Number of starts of each projection, of which the best is kept. All but the
        first are random.
    max_iter : int, default=20
        Largest number of sweeps over the modes for one projection.
    tol : float, default=0.1
        A projection is done when a sweep raises J by no more than this share. With 0,
        every projection gets `max_iter` sweeps and no warning.
    sample_shape : tuple of int, default=None
        Shape of a sample when the rows of X are flattened samples.
    random_state : int, RandomState instance or None, default=None
        Source of random starts. Nothing else is random.
    max_memory : float, default=None
        Bytes that `fit` may take for what it keeps of the samples: a centred copy, or
        P rows if there are more samples than entries. If that is more, every pass
        reads the samples again, in blocks. None stands for half of what is free.
    max_rows : int, default=None
        Rows that `partial_fit` and `fit_batches` may keep of all batches. None stands
        for P, which is exact; fewer give an approximation whose error is known, see
        `root_error_`.
    verbose : int, default=0
        Print a line on memory, and one after each projection.

    Attributes
    ----------
    factors_ : list of ndarray of shape (h, l_m, k)
        CP factors, one array per mode.
    components_ : ndarray of shape (h, l_1, ..., l_N)
        The projections as tensors of norm one, the entry of largest magnitude positive.
    projections_ : ndarray of shape (h, P)
        Rows that give the features of a raw sample, deflation included.
    objective_ : list of h arrays
        J after each block update.
    n_iter_ : int
        Largest number of sweeps that a projection took.
    lambda_ : float
        The ridge in the scale of the data, the paper's lambda.
    root_error_ : float
        Largest share of the trace of the within-class scatter by which that scatter
        can be wrong in any direction: 0 unless `max_rows` was too few.
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
    sklearn.discriminant_analysis.LinearDiscriminantAnalysis : The order-1 case with at
        most c - 1 components.

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

    def __init__(
        self,
        n_components=None,
        *,
        rank=2,
        reg=0.3,
        reg_scale="relative",
        between="classes",
        init="lda",
        n_init=1,
        max_iter=20,
        tol=0.1,
        sample_shape=None,
        random_state=None,
        max_memory=None,
        max_rows=None,
        verbose=0,
    ):
        self.n_components = n_components
        self.rank = rank
        self.reg = reg
        self.reg_scale = reg_scale
        self.between = between
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.sample_shape = sample_shape
        self.random_state = random_state
        self.max_memory = max_memory
        self.max_rows = max_rows
        self.verbose = verbose

    def cp_tensor(self, component):
        """One projection as a tensorly ``CPTensor``.

        Parameters
        ----------
        component : int
            Number p of the projection, from 0 on.

        Returns
        -------
        tensorly.cp_tensor.CPTensor
            Weights of one and a factor (l_m, k) per mode.
        """
        check_is_fitted(self)
        return cp_tensor([factor[component] for factor in self.factors_])

    def _repr_mimebundle_(self, **kwargs):
        """Scikit-learn's representation in notebooks and, once fitted, a summary."""
        bundle = super()._repr_mimebundle_(**kwargs)
        fitted = self.__sklearn_is_fitted__()
        return with_summary(self, bundle) if fitted else bundle

    def _solve_scatter(self, scatter):
        """Statistics -> solver -> fitted attributes."""
        ((result, lam),) = self._path(scatter, [self.reg])
        classes, error = scatter.classes, relative_error(scatter)
        del scatter  # the working copy makes room for the projections
        with bounded_threads(0):
            self._take(result, lam, classes)
        self.root_error_ = error
        unfinished = int((~result.converged).sum())
        if unfinished and self.tol > 0:
            warnings.warn(
                f"{unfinished} of {len(result.converged)} projections still gained "
                f"more than tol={self.tol} in sweep max_iter={self.max_iter}; their "
                "features are usable. Raise max_iter or tol, or set tol=0 for a fixed "
                "number of sweeps.",
                ConvergenceWarning,
                stacklevel=3,
            )
        return self

    def _path(self, scatter, regs, ranks=None):
        """Results for several `reg` in one run of the solver: [(Result, lambda)].

        Of several ranks, none of them full, one after the other.
        """
        lambdas = [ridge(scatter, reg, self.reg_scale) for reg in regs]
        h = self._n_components(scatter.classes)
        full = self._is_full()
        work = scatter.reshape((prod(scatter.shape),) if full else self.sample_shape_)
        results = solve(
            work.between(self.between),
            work.root,
            lambdas,
            rank=1 if full else ranks or self.rank,
            n_components=h,
            init="lda" if full else self._init(),
            n_init=1 if full else self.n_init,
            max_iter=self.max_iter,
            tol=self.tol,
            rng=check_random_state(self.random_state),
            callback=self._report(h) if self.verbose else None,
        )
        return list(zip(results, lambdas * len(ranks or [self]), strict=True))

    def _take(self, result, lam, classes):
        """Turn the solver's factors into the fitted attributes."""
        factors = result.factors
        if self._is_full():
            dense = factors[0][:, :, 0].reshape(-1, *self.sample_shape_)
            factors = cp_from_dense(dense)
        self.factors_, self.components_ = cp_normalize(factors)
        self.projections_ = deflated_rows(self.components_.reshape(len(factors[0]), -1))
        self.objective_, self.n_iter_ = result.objective, int(result.n_iter.max())
        self.lambda_, self.classes_ = lam, classes
        return self

    @property
    def _least_ridge(self):
        return self.reg if self.reg_scale == "relative" else 0.0

    def _statistics(self, X, y, weight, **limits):
        if self._is_full():  # vectors from the start: no second copy later
            X = X.reshape(len(X), -1)
        return super()._statistics(X, y, weight, **limits)

    def _check_labels(self, y, weight):
        check_labels(y, weight, self.reg_scale)

    def _check_sizes(self, labels):
        self._n_components(np.unique(labels))
        self._init()

    def _is_full(self):
        shape = self.sample_shape_
        return self.rank == "full" or self.rank >= prod(shape) // max(shape)

    def _n_components(self, classes):
        """The number of projections h for these classes, checked."""
        n_features, others = prod(self.sample_shape_), len(classes) - 1
        if self.n_components is None:
            return min(3 * others, n_features)
        if self.n_components == "paper":
            return min(others**2, n_features)
        if self.n_components > n_features:
            raise ValueError(
                f"n_components={self.n_components} is more than the {n_features} "
                f"entries of a sample of shape {self.sample_shape_}; ask for at most "
                f"{n_features}."
            )
        return self.n_components

    def _init(self):
        """The start, checked against the sample shape if it is given as arrays."""
        init, shape, rank = self.init, self.sample_shape_, self.rank
        if isinstance(init, str):
            return init
        if callable(init):
            return lambda *args: _check_factors(init(*args), *args[:2])
        if rank == "full":
            raise ValueError(
                'init as arrays has no use with rank="full"; leave it out.'
            )
        return _check_factors(init, shape, rank)

    def _check_parameters(self):
        if self.n_components is not None:
            check_integer("n_components", self.n_components, also=("paper",))
        check_integer("rank", self.rank, also=("full",))
        check_real("reg", self.reg)
        check_real("tol", self.tol)
        check_choice("reg_scale", self.reg_scale, ("relative", "absolute"))
        check_choice("between", self.between, ("classes", "samples"))
        check_integer("n_init", self.n_init)
        check_integer("max_iter", self.max_iter)
        check_random_state(self.random_state)
        if self.max_memory is not None:
            check_real("max_memory", self.max_memory)
        if self.max_rows is not None:
            check_integer("max_rows", self.max_rows, least=2)
        if isinstance(self.init, str):
            check_choice("init", self.init, INITS)
        if self.sample_shape is not None:
            check_shape("sample_shape", self.sample_shape)

    def _report(self, n_components):
        def line(p, objective, n_iter):
            print(
                f"[TensorCRP] projection {p + 1}/{n_components}: "
                f"J = {objective[0]:.4g} after {n_iter[0]} sweeps",
                flush=True,
            )

        return line


def relative_error(scatter):
    """The error of the root as a share of the trace of the within-class scatter."""
    return scatter.error / scatter.trace if scatter.error else 0.0


def _check_factors(factors, shape, rank):
    """Given start factors as arrays, or an error that lists the shapes."""
    wanted = [(size, rank) for size in shape]
    try:
        factors = [np.array(factor, float) for factor in factors]
        got = [factor.shape for factor in factors]
    except (TypeError, ValueError):
        got = repr(factors)
    if got != wanted:
        raise ValueError(
            f"init must be one of {INITS} or give one array (l_m, rank) of numbers per "
            f"mode, of shapes {wanted}; got {got}."
        )
    if not all(np.isfinite(factor).all() and factor.any() for factor in factors):
        raise ValueError("init gives factors with NaN, infinity or only zeros.")
    return factors
