"""Bilinear support vector machines, for any order: linear SVMs of CP rank k.

In: labelled samples ``(n, l_1, ..., l_N)``. Out: for every class (against the rest) a
tensor ``W = [[U^(1), ..., U^(N)]]`` of CP rank at most k and an intercept, found by
`alternating_svm`; the class of a sample is the one with the largest ``<X, W> + b``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from sklearn.svm import LinearSVC
from sklearn.utils import check_random_state

from tensorcrp.base.parameters import check_choice
from tensorcrp.base.types import Floats, RandomState, Rank
from tensorcrp.baselines.alternating_svm import LOSSES, SvmProblem
from tensorcrp.baselines.cp_classifier import CPClassifier
from tensorcrp.baselines.tucker import documented
from tensorcrp.solver.curves import final_values

INNER_TOL, INNER_ITER = 1e-6, 5000


@documented
class BilinearSVC(CPClassifier):
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

    objective_: Floats
    history_: list[Floats]

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

    def _solve(self, X, codes):
        problem = self._problem(X)
        results = [problem.solve(targets) for targets in self._targets(codes)]
        factors = zip(*(each.factors for each in results), strict=True)
        intercept = np.array([each.intercept for each in results])
        self._take([np.stack(each) for each in factors], intercept)
        self.history_ = [each.history for each in results]
        self.n_iter_ = max(each.n_iter for each in results)
        unfinished = sum(not each.converged for each in results)
        words = f"{unfinished} of {len(results)} classes"
        self._warn_if_unfinished(words if unfinished else "")

    def _problem(self, X):
        """The shared part of the problems of all classes."""
        rng = check_random_state(self.random_state)
        solver = LinearSVC(
            C=self.C,
            loss=self.loss,
            dual=self.loss == "hinge",
            tol=INNER_TOL,
            max_iter=INNER_ITER,
            random_state=rng.randint(2**31 - 1) if self.loss == "hinge" else 0,
        )
        return SvmProblem(*self._arranged(X), solver, self.max_iter, self.tol)

    def _check_parameters(self):
        super()._check_parameters()
        check_choice("loss", self.loss, tuple(LOSSES))
        check_random_state(self.random_state)
