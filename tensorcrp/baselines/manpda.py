"""Discriminant analysis by rank-one tensors found together, on manifolds.

In: labelled samples ``(n, l_1, ..., l_N)``. Out: h projections ``u_p^(1) o ... o
u_p^(N)`` that maximise ``tr((K^T S_w K + lambda I)^{-1} K^T S_b K)`` together, K the
Khatri-Rao product of factors ``(l_m, h)`` with orthonormal columns.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from tensorcrp.base.fit_warnings import warn_if_unfinished
from tensorcrp.base.fitting import check_within
from tensorcrp.base.parameters import check_integer
from tensorcrp.base.resources import bounded_threads
from tensorcrp.base.types import Floats
from tensorcrp.baselines.forms import Form
from tensorcrp.baselines.mode_rules import leading
from tensorcrp.baselines.ridge_lda import VectorTransformer
from tensorcrp.baselines.stiefel import ascend
from tensorcrp.baselines.tucker import documented
from tensorcrp.baselines.umlda import count_vectors
from tensorcrp.solver.cp import cp_dense, sign_of_largest
from tensorcrp.solver.lane_rows import at_hand
from tensorcrp.solver.linalg import EPS


@documented
class ManPDA(VectorTransformer):
    """Discriminant analysis by rank-one tensors, optimised on Stiefel manifolds.

    Features are ``<X, u_p^(1) o ... o u_p^(N)>``, p = 1, ..., h: the PARAFAC structure.
    All vectors of all modes are found together, by conjugate gradients on the product
    of the Stiefel manifolds of the modes: the vectors of a mode are orthonormal [1]_.
    The objective is the trace of the ratio of between- to within-class scatter of the
    features, and never falls. Fisher's ratio of the features one by one, as in `UMLDA`
    and with ``rank=1`` in `TensorCRP`, ignores that features overlap.

    The ridge is not in [1]_, nor is the start, which is not random: the leading
    eigenvectors of the between-class scatter of each mode.

    Parameters
    ----------
    n_components : int, default=None
        Number of features h; None for the largest possible number,
        ``min(l_1, ..., l_N)``; at order 1 for ``min(c - 1, P)``.
    reg : float, default=1.0
        Strength of the ridge: lambda is `reg` times the mean within-class scatter of an
        entry, ``tr(S_w) / P``.
    max_iter : int, default=500
        Largest number of steps.
    tol : float, default=1e-2
        Stop when ten steps raise the objective by no more than this share.
    $sample_shape

    Attributes
    ----------
    factors_ : list of ndarray of shape (h, l_m)
        Orthonormal vectors ``u_p^(m)``, one array per mode.
    components_ : ndarray of shape (h, l_1, ..., l_N)
        The projections as tensors of norm one.
    projections_ : ndarray of shape (h, P)
        The same, flattened.
    objective_ : float
        The objective of all features together.
    history_ : ndarray
        The objective after each step; never falls.
    n_iter_ : int
        Number of steps.
    lambda_ : float
        The ridge in the scale of the data.
    $fitted

    See Also
    --------
    UMLDA : Rank-one projections one after the other, with uncorrelated features.
    HODA : A factor per mode, all products of whose columns are features.

    References
    ----------
    .. [1] L. Frolich, T. S. Andersen and M. Morup, "Rigorous Optimisation of
       Multilinear Discriminant Analysis with Tucker and PARAFAC Structures", BMC
       Bioinformatics 19, 197, 2018.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from tensorcrp.baselines import ManPDA
    >>> X, y = load_digits().images, load_digits().target
    >>> ManPDA(n_components=5).fit_transform(X, y).shape
    (1797, 5)
    """

    factors_: list[Floats]
    objective_: float
    history_: Floats
    n_iter_: int
    lambda_: float

    def __init__(
        self,
        n_components: int | None = None,
        *,
        reg: float = 1.0,
        max_iter: int = 500,
        tol: float = 1e-2,
        sample_shape: Sequence[int] | None = None,
    ) -> None:
        self.n_components = n_components
        self.reg = reg
        self.max_iter = max_iter
        self.tol = tol
        self.sample_shape = sample_shape

    def _solve_scatter(self, scatter):
        check_within(scatter)
        h = count_vectors(self, scatter.classes)
        lam = self.reg * scatter.trace / np.prod(scatter.shape)
        between = scatter.between("samples")
        with bounded_threads(0):  # products are small, however large the data are
            function = TraceOfRatio(between, scatter.within, lam)
            result = ascend(function, starting(between, h), self.max_iter, self.tol)
        self.factors_ = [np.ascontiguousarray(U.T) for U in result.factors]
        W = cp_dense([U[:, :, None] for U in self.factors_])
        signs = sign_of_largest(W.reshape(h, -1), axis=1)
        self.factors_[0] = self.factors_[0] * signs
        self.projections_ = W.reshape(h, -1) * signs
        self.components_ = self.projections_.reshape(-1, *self.sample_shape_)
        self.history_, self.n_iter_ = result.history, result.n_iter
        self.objective_, self.lambda_ = float(result.history[-1]), float(lam)
        self.classes_ = scatter.classes
        warn_if_unfinished(self, result, stacklevel=4)
        return self

    def _check_sizes(self, labels):
        count_vectors(self, np.unique(labels))

    def _check_parameters(self):
        super()._check_parameters()
        if self.n_components is not None:
            check_integer("n_components", self.n_components)


def starting(between, size):
    """Leading eigenvectors (l_m, h) of the between-class scatter of every mode."""
    form, nothing = Form(between), [None] * (between.ndim - 1)
    return [leading(form.scatter(m, nothing), None, size) for m in range(len(nothing))]


class TraceOfRatio:
    """``tr((W + lambda I)^{-1} B)`` of the features of rank-one tensors.

    ``B = Y_b^T Y_b`` and ``W = Y_w^T Y_w`` are the scatters of the features
    ``Y = A K`` of the rows A of the between- and the within-class scatter.

    Parameters
    ----------
    between, within : Rows or ndarray of shape (n, l_1, ..., l_N)
    lam : float
    """

    def __init__(self, between, within, lam):
        # A step asks for features of all rows: those on a device are copied once.
        self.rows = [at_hand(rows) for rows in (between, within)]
        self.lam = lam

    def value(self, factors):
        """The objective at factors (l_m, h)."""
        Y = [self._features(rows, factors) for rows in self.rows]
        return float(np.trace(self._solved(Y)[0]))

    def gradient(self, factors):
        """The gradient in every factor: a list of (l_m, h).

        With ``M = (W + lambda I)^{-1}`` the derivative in the features is
        ``2 Y_b M`` between and ``-2 Y_w M B M`` within classes; feature p of row i is
        ``<Z_ip, u_p^(m)>``, with Z the rows contracted with all other factors.
        """
        Y = [self._features(rows, factors) for rows in self.rows]
        MB, M = self._solved(Y)
        weights = Y[0] @ M, -Y[1] @ (MB @ M)
        return [
            2
            * sum(
                np.einsum("pln,np->lp", _contracted(rows, factors, mode), each)
                for rows, each in zip(self.rows, weights, strict=True)
            )
            for mode in range(len(factors))
        ]

    def _features(self, rows, factors):
        """Features (n, h) of rows."""
        last = len(factors) - 1
        return np.einsum("pln,lp->np", _contracted(rows, factors, last), factors[last])

    def _solved(self, Y):
        """``(W + lambda I)^{-1} B`` and the inverse itself, (h, h) both."""
        B, W = (each.T @ each for each in Y)
        # A ridge below rounding cannot be factored.
        lam = max(self.lam, 4 * len(W) * EPS * np.trace(W))
        factored = cho_factor(W + lam * np.eye(len(W)))
        return cho_solve(factored, B), cho_solve(factored, np.eye(len(W)))


def _contracted(rows, factors, mode):
    """Rows contracted with all factors but one: (h, l_m, n)."""
    product = rows.side_product(factors, rows.is_left(mode))
    return rows.finish(product, factors, mode).astype(float, copy=False)
