"""Bilinear support vector machines, for any order: linear SVMs of CP rank k.

In: labelled samples ``(n, l_1, ..., l_N)``. Out: for every class (against the rest) a
tensor ``W = [[U^(1), ..., U^(N)]]`` of CP rank at most k and an intercept, found by
`alternating_svm`; the class of a sample is the one with the largest ``<X, W> + b``.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC
from sklearn.utils import check_random_state

from tensorcrp.base.estimator import check_samples, check_tensor
from tensorcrp.base.parameters import (
    check_choice,
    check_common,
    check_integer,
    check_real,
)
from tensorcrp.base.state import OneState, forget, replaced_at_once
from tensorcrp.base.threads import bounded_threads
from tensorcrp.base.types import Array, Floats, RandomState, Rank, Shape, Stored
from tensorcrp.base.validation import check_labels
from tensorcrp.baselines.alternating_svm import LOSSES, Problem
from tensorcrp.baselines.tucker import documented
from tensorcrp.solver.array_rows import ArrayRows
from tensorcrp.solver.cp import cp_dense, cp_from_dense, working_dtype
from tensorcrp.solver.model import final_values

INNER_TOL, INNER_ITER = 1e-6, 5000


@documented
class BilinearSVC(OneState, ClassifierMixin, BaseEstimator):
    """Linear support vector machine whose weights are a tensor of CP rank k.

    At order 2 the weights are ``W = U V^T`` of rank k [1]_, at order N a CP tensor, the
    support tensor machine [2]_ with k terms. U and V are found in turn, each by
    `sklearn.svm.LinearSVC` in coordinates where the regulariser is the plain norm. The
    objective never rises; where it stops depends on the start, the difference of the
    class means cut to rank k. One class against the rest.

    The cost is that of ``c N n_iter`` linear SVMs of size ``n x l_m k``, c the number
    of classes, far above that of one eigenproblem for all classes: about a hundred
    times `RidgeLDA` on 731 samples of 32 x 22 x 10 in 71 classes
    (``python tests/measure_baselines.py BilinearSVC``).

    Parameters
    ----------
    rank : int or "full", default=2
        CP rank k of the weights. From ``P / max(l_m)`` on every tensor is reached, as
        with "full": `sklearn.svm.LinearSVC` on vectorised samples.
    C : float, default=1.0
        Strength of the loss against the regulariser, as in LinearSVC.
    loss : {"squared_hinge", "hinge"}, default="squared_hinge"
        As in LinearSVC.
    max_iter : int, default=20
        Largest number of sweeps over the modes.
    tol : float, default=1e-2
        Stop when a sweep lowers the objective by no more than this share.
    $sample_shape
    random_state : int, RandomState instance or None, default=None
        For the solver of ``loss="hinge"``. Nothing else is random.

    Attributes
    ----------
    coef_ : ndarray of shape (p, l_1, ..., l_N)
        The tensors W, one per class, or one if there are two classes.
    intercept_ : ndarray of shape (p,)
    factors_ : list of ndarray of shape (p, l_m, k)
        CP factors of the tensors, one array per mode.
    objective_ : ndarray of shape (p,)
        The objective of each problem.
    history_ : list of p arrays
        The objective after each factor; never rises.
    n_iter_ : int
        Largest number of sweeps that a class took.
    $fitted

    References
    ----------
    .. [1] H. Pirsiavash, D. Ramanan and C. C. Fowlkes, "Bilinear Classifiers for Visual
       Recognition", Advances in Neural Information Processing Systems 22, 2009.
    .. [2] D. Tao, X. Li, X. Wu, W. Hu and S. J. Maybank, "Supervised Tensor Learning",
       Knowledge and Information Systems 13(1), 2007.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from tensorcrp.baselines import BilinearSVC
    >>> X, y = load_digits().images[:300] / 16, load_digits().target[:300]
    >>> svc = BilinearSVC(rank=1).fit(X, y)
    >>> svc.coef_.shape
    (10, 8, 8)
    >>> svc.score(X, y) > 0.95
    True
    """

    coef_: Floats
    intercept_: Floats
    factors_: list[Floats]
    objective_: Floats
    history_: list[Floats]
    n_iter_: int
    classes_: Array
    sample_shape_: Shape
    input_shape_: Shape
    n_features_in_: int
    feature_names_in_: Array

    if TYPE_CHECKING:  # scikit-learn's methods, which have no types

        def get_params(self, deep: bool = True) -> dict[str, Any]: ...
        def set_params(self, **params: Any) -> Self: ...
        def score(
            self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None
        ) -> float: ...

    def __init__(
        self,
        rank: Rank = 2,
        *,
        C: float = 1.0,
        loss: Literal["squared_hinge", "hinge"] = "squared_hinge",
        max_iter: int = 20,
        tol: float = 1e-2,
        sample_shape: Sequence[int] | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.rank = rank
        self.C = C
        self.loss = loss
        self.max_iter = max_iter
        self.tol = tol
        self.sample_shape = sample_shape
        self.random_state = random_state

    objective_ = property(final_values)

    def fit(self, X: ArrayLike | Stored, y: ArrayLike) -> Self:
        """Fit to samples.

        Parameters
        ----------
        X : array-like of shape (n, l_1, ..., l_N), or (n, P) with `sample_shape`
            Never changed.
        y : array-like of shape (n,)
            Labels.

        Returns
        -------
        BilinearSVC
            The fitted estimator. After an error or Ctrl-C it is unchanged.
        """
        with replaced_at_once(self) as new:
            new._check_parameters()
            forget(new)
            X, y, _ = check_samples(new, X, y)
            check_labels(y, reg_scale="absolute")
            _check_scale(X)
            new.classes_, codes = np.unique(y, return_inverse=True)
            positive = [1] if len(new.classes_) == 2 else range(len(new.classes_))
            targets = [np.where(codes == each, 1.0, -1.0) for each in positive]
            with bounded_threads(8 * X.size):
                problem = new._problem(X)
                new._take([problem.solve(each) for each in targets])
        return self

    def decision_function(self, X: ArrayLike | Stored) -> Floats:
        """Signed scores of samples: ``<X, W> + b``.

        Parameters
        ----------
        X : array-like of shape (n, l_1, ..., l_N), or as in `fit`
            Samples of the shape seen in `fit`.

        Returns
        -------
        ndarray of shape (n,) for two classes, (n, c) for more
            Of two classes the second is meant by positive scores.
        """
        X = check_tensor(self, X, lazy=False)
        dtype = working_dtype(X)
        flat = X.reshape(len(X), -1).astype(dtype, copy=False)
        weights = self.coef_.reshape(len(self.coef_), -1).astype(dtype, copy=False)
        scores = flat @ weights.T + self.intercept_.astype(dtype, copy=False)
        return scores[:, 0] if len(self.coef_) == 1 else scores

    def predict(self, X: ArrayLike | Stored) -> Array:
        """Classes of samples.

        Parameters
        ----------
        X : array-like of shape (n, l_1, ..., l_N), or as in `fit`
            Samples of the shape seen in `fit`.

        Returns
        -------
        ndarray of shape (n,)
            The class with the largest score, per sample.
        """
        scores = self.decision_function(X)
        best = scores > 0 if scores.ndim == 1 else scores.argmax(axis=1)
        return self.classes_[best.astype(int)]

    def _problem(self, X):
        """The shared part of the problems of all classes."""
        shape = X.shape[1:]
        full = self.rank == "full" or self.rank >= prod(shape) // max(shape)
        X = X.reshape(len(X), -1) if full else X
        rows = X.astype(working_dtype(X), copy=False)
        rng = check_random_state(self.random_state)
        solver = LinearSVC(
            C=self.C,
            loss=self.loss,
            dual=self.loss == "hinge",
            tol=INNER_TOL,
            max_iter=INNER_ITER,
            random_state=rng.randint(2**31 - 1) if self.loss == "hinge" else 0,
        )
        rank = 1 if full else self.rank
        return Problem(ArrayRows.of(rows), rank, solver, self.max_iter, self.tol)

    def _take(self, results):
        factors = [
            np.stack(each) for each in zip(*(r.factors for r in results), strict=True)
        ]
        if len(factors) < len(self.sample_shape_):  # vectors stand for tensors
            factors = cp_from_dense(factors[0].reshape(-1, *self.sample_shape_))
        self.factors_, self.coef_ = factors, cp_dense(factors)
        self.intercept_ = np.array([r.intercept for r in results])
        self.history_ = [r.history for r in results]
        self.n_iter_ = max(r.n_iter for r in results)
        unfinished = sum(not r.converged for r in results)
        if unfinished and self.tol > 0:
            warnings.warn(
                f"{unfinished} of {len(results)} classes still gained more than "
                f"tol={self.tol} in sweep max_iter={self.max_iter}; the classifier is "
                "usable. Raise max_iter or tol, or set tol=0 for a fixed number of "
                "sweeps.",
                ConvergenceWarning,
                stacklevel=3,
            )
        return self

    def _check_parameters(self):
        check_common(self)
        check_integer("rank", self.rank, also=("full",))
        check_real("C", self.C)
        if self.C == 0:
            raise ValueError(
                "C must be larger than 0, got 0: the loss would not count."
            )
        check_choice("loss", self.loss, tuple(LOSSES))
        check_random_state(self.random_state)

    def __sklearn_is_fitted__(self):
        return hasattr(self, "coef_")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        return tags


def _check_scale(X):
    """Reject entries whose fourth powers overflow: LIBLINEAR would not return."""
    largest = max(abs(float(X.max())), abs(float(X.min())))
    if not largest <= 1e75:
        raise ValueError(
            f"X has entries of {largest:.1e}, beyond the range of the SVM's solver. "
            "Divide X by a number of that size."
        )
