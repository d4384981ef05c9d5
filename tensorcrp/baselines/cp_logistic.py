"""Multinomial logistic regression whose weights are tensors of CP rank k.

In: labelled samples ``(n, l_1, ..., l_N)``. Out: for every class a tensor
``W = [[U^(1), ..., U^(N)]]`` of CP rank at most k and an intercept, found by
`alternating_logistic`; the probability of a class is in proportion to
``exp(<X, W> + b)``.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning

from tensorcrp.base.namespace import followed, host
from tensorcrp.base.types import Floats, Rank, Stored
from tensorcrp.baselines.alternating_logistic import LogisticProblem, softmax
from tensorcrp.baselines.cp_classifier import CPClassifier
from tensorcrp.baselines.tucker import documented

UNFINISHED = (
    "L-BFGS ended before the gradient was small; the classifier is usable, but is not "
    "the minimum. Subtract the mean of X, divide its entries by their standard "
    "deviations, or lower C."
)


@documented
class CPLogistic(CPClassifier):
    """Multinomial logistic regression whose weights are tensors of CP rank k.

    At order 2 the weights of a class are ``U V^T`` of rank k, as in bilinear
    discriminant component analysis [1]_, which has two classes and another prior; at
    order N they are a CP tensor, as in tensor regression [2]_. All classes are fitted
    together, with the ridge of `sklearn.linear_model.LogisticRegression`. The factors
    of one mode are found at a time, a convex problem, and the objective never rises;
    where it stops depends on the start, the differences of the class means cut to rank
    k.

    Parameters
    ----------
    rank : int or "full", default=2
        CP rank k of the weights. From ``P / max(l_m)`` on every tensor is reached, as
        with "full": LogisticRegression on vectorised samples.
    C : float, default=1.0
        Strength of the loss against the ridge, as in LogisticRegression. X times a
        number and C divided by its square give the same probabilities.
    max_iter : int, default=20
        Largest number of sweeps over the modes.
    tol : float, default=1e-2
        Stop when a sweep lowers the objective by no more than this share.
    $sample_shape

    Attributes
    ----------
    coef_ : ndarray of shape (p, l_1, ..., l_N)
        The tensors W, one per class, or that of the second of two classes.
    intercept_ : ndarray of shape (p,)
    factors_ : list of ndarray of shape (p, l_m, k)
        CP factors of the tensors, one array per mode.
    objective_ : float
        The objective of all classes together.
    history_ : ndarray
        The objective after each mode; never rises.
    n_iter_ : int
        Number of sweeps.
    $fitted

    See Also
    --------
    BilinearSVC : The same weights with the loss of support vector machines.

    References
    ----------
    .. [1] M. Dyrholm, C. Christoforou and L. C. Parra, "Bilinear Discriminant Component
       Analysis", Journal of Machine Learning Research 8, 2007.
    .. [2] H. Zhou, L. Li and H. Zhu, "Tensor Regression with Applications in
       Neuroimaging Data Analysis", Journal of the American Statistical Association
       108(502), 2013.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from tensorcrp.baselines import CPLogistic
    >>> X, y = load_digits().images[:300] / 16, load_digits().target[:300]
    >>> logistic = CPLogistic(rank=1).fit(X, y)
    >>> logistic.coef_.shape
    (10, 8, 8)
    >>> logistic.score(X, y) > 0.95
    True
    >>> logistic.predict_proba(X[:2]).sum(axis=1).round(12)
    array([1., 1.])
    """

    objective_: float
    history_: Floats

    def __init__(
        self,
        rank: Rank = 2,
        *,
        C: float = 1.0,
        max_iter: int = 20,
        tol: float = 1e-2,
        sample_shape: Sequence[int] | None = None,
    ) -> None:
        self.rank = rank
        self.C = C
        self.max_iter = max_iter
        self.tol = tol
        self.sample_shape = sample_shape

    def predict_proba(self, X: ArrayLike | Stored) -> Floats:
        """Probabilities of the classes of samples.

        Parameters
        ----------
        X : array-like of shape (n, l_1, ..., l_N), or as in `fit`
            Samples of the shape seen in `fit`.

        Returns
        -------
        ndarray of shape (n, c)
            In the order of ``classes_``; every row sums to one. An array of the kind of
            X on its device.
        """
        scores = host(self.decision_function(X))
        rows = scores[None] if scores.ndim == 1 else scores.T
        return followed(np.ascontiguousarray(softmax(rows)[0].T), X)

    def _solve(self, X, codes):
        problem = LogisticProblem(
            *self._arranged(X), codes, self._targets(codes), self.C
        )
        result = problem.solve(self.max_iter, self.tol)
        self._take(result.weights.factors, result.weights.intercept)
        self.history_, self.n_iter_ = result.history, result.n_iter
        self.objective_ = float(result.history[-1])
        if problem.is_alone and not result.converged:
            warnings.warn(UNFINISHED, ConvergenceWarning, stacklevel=3)
        elif not result.converged:
            self._warn_if_unfinished("the objective")
