"""Tensor discriminant analysis with discriminant tensors of CP rank k.

In: labelled samples ``(n, l_1, ..., l_N)``. Out: up to c - 1 tensors of CP rank at most
k, near the discriminant tensors ``(S_1 kron ... kron S_N)^{-1} D`` of a separable
covariance, D combinations of the class means.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tensorcrp.base.fit_warnings import warn_if_unfinished
from tensorcrp.base.parameters import check_integer
from tensorcrp.base.resources import bounded_threads
from tensorcrp.base.types import Floats
from tensorcrp.baselines.alternating_cp import nearest_cp
from tensorcrp.baselines.ridge_lda import (
    VectorTransformer,
    count_directions,
    discriminants,
)
from tensorcrp.baselines.separable import Separable
from tensorcrp.baselines.tucker import documented
from tensorcrp.solver.cp import cp_dense, sign_of_largest


@documented
class CPTDA(VectorTransformer):
    """Tensor discriminant analysis of CP rank k under a separable covariance.

    Classes have one covariance, a Kronecker product of a matrix per mode, and the
    discriminant tensors ``S^{-1} (M_a - M_b)`` have CP rank k [1]_. The steps are:

    1. ``S_m`` of every mode is the within-class scatter of that mode, with a ridge.
    2. The c - 1 discriminant tensors are Fisher's discriminants under
       ``S_1 kron ... kron S_N``. With two classes there is one,
       ``S^{-1} (M_2 - M_1)`` as in [1]_; with more they do not depend on the order of
       the classes and have unit variance under the model.
    3. Each is cut to k terms of rank one, one after the other, and refined by
       alternating least squares: the sum of squares that the terms leave never rises.

    The start takes the place of the randomised one of [1]_, and least squares that of
    its projections; at order 2 the k terms are the best ones.

    Parameters
    ----------
    n_components : int, default=None
        Number of discriminant tensors; None for all, ``min(c - 1, P)``.
    rank : int, default=2
        CP rank k. From ``P / max(l_m)`` on the tensors are not cut.
    reg : float, default=1.0
        Ridge on the covariance of a mode, in units of its mean eigenvalue.
    max_iter : int, default=50
        Largest number of sweeps over the modes.
    tol : float, default=1e-3
        Stop when a sweep adds no more than this to the share of the squared norm that
        the terms explain.
    $sample_shape

    Attributes
    ----------
    factors_ : list of ndarray of shape (h, l_m, k)
        CP factors of the tensors, one array per mode.
    components_ : ndarray of shape (h, l_1, ..., l_N)
        The tensors, best first, the entry of largest magnitude positive.
    projections_ : ndarray of shape (h, P)
        The same, flattened.
    objective_ : ndarray of shape (h,)
        Share of the squared norm of each discriminant tensor that its terms explain.
    history_ : list of h arrays
        That share after each factor; never falls.
    n_iter_ : int
        Largest number of sweeps that a tensor took.
    $fitted

    See Also
    --------
    RidgeLDA : Full tensors, and a covariance of all entries.
    tensorcrp.TensorCRP : CP rank k by maximising Fisher's ratio itself.

    References
    ----------
    .. [1] E. Chen, Y. Han and J. Li, "High-Dimensional Tensor Discriminant Analysis:
       Low-Rank Discriminant Structure, Representation Synergy, and Theoretical
       Guarantees", arXiv 2512.12122, 2025.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from tensorcrp.baselines import CPTDA
    >>> X, y = load_digits().images, load_digits().target
    >>> CPTDA(rank=3).fit_transform(X, y).shape
    (1797, 9)
    """

    factors_: list[Floats]
    history_: list[Floats]
    n_iter_: int

    def __init__(
        self,
        n_components: int | None = None,
        *,
        rank: int = 2,
        reg: float = 1.0,
        max_iter: int = 50,
        tol: float = 1e-3,
        sample_shape: Sequence[int] | None = None,
    ) -> None:
        self.n_components = n_components
        self.rank = rank
        self.reg = reg
        self.max_iter = max_iter
        self.tol = tol
        self.sample_shape = sample_shape

    def _solve_scatter(self, scatter):
        h = count_directions(self, scatter.classes)
        with bounded_threads(0):  # products are small, however large the data are
            covariance = Separable.of(scatter, self.reg)
            targets = discriminant_tensors(scatter, covariance, h)
            result = nearest_cp(targets, self.rank, self.max_iter, self.tol)
        dense = cp_dense(result.factors)
        signs = sign_of_largest(dense.reshape(h, -1), axis=1) / covariance.unit
        first, *others = result.factors
        self.factors_ = [first * signs[:, :, None], *others]
        self.projections_ = dense.reshape(h, -1) * signs
        self.components_ = self.projections_.reshape(-1, *self.sample_shape_)
        self.history_, self.n_iter_ = result.history, result.n_iter
        self.objective_ = np.array([values[-1] for values in result.history])
        self.classes_ = scatter.classes
        warn_if_unfinished(self, result, stacklevel=4)
        return self

    def _check_sizes(self, labels):
        count_directions(self, np.unique(labels))

    def _check_parameters(self):
        super()._check_parameters()
        check_integer("rank", self.rank)
        if self.n_components is not None:
            check_integer("n_components", self.n_components)


def discriminant_tensors(scatter, covariance, n_components):
    """Fisher's discriminants (h, l_1, ..., l_N) under a separable covariance.

    Of unit variance under the model, of samples in units of ``covariance.unit``.
    """
    between = scatter.between("samples") / covariance.unit
    solved = covariance.times(between, -1.0)
    flat = [rows.reshape(len(rows), -1) for rows in (between, solved)]
    return discriminants(*flat, n_components)[0].reshape(-1, *scatter.shape)
