"""Alternating linear support vector machines: the solver of `BilinearSVC`.

In: arranged samples ``(n, l_1, ..., l_N)``, targets (n,) of -1 and 1, a linear SVM.
Out: CP factors ``(l_m, k)`` of W and an intercept b that make

    (||W||_F^2 + b^2) / 2 + C sum_i loss(t_i (<X_i, W> + b))

small, one factor at a time. With every factor but ``U^(m)`` fixed, ``<X, W> = <z, u>``
in coordinates where ``||W||_F = ||u||``: an ordinary linear SVM. A factor that would
raise the objective by the tolerance of its solver is not taken.
"""

import warnings
from dataclasses import dataclass
from threading import Lock

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from tensorcrp.baselines.cp_classifier import mean_differences
from tensorcrp.solver.array_rows import ArrayRows
from tensorcrp.solver.cp import unit_columns, whitening
from tensorcrp.solver.cp_form import cp_truncate

# The dual solver of LIBLINEAR has one source of random numbers for the whole process.
_ONE_AT_A_TIME = Lock()
LOSSES = {
    "squared_hinge": lambda margin: np.maximum(0.0, 1.0 - margin) ** 2,
    "hinge": lambda margin: np.maximum(0.0, 1.0 - margin),
}


@dataclass(frozen=True)
class SvcResult:
    """One class against the rest: factors (l_m, k), b, and how it got there."""

    factors: list
    intercept: float
    history: np.ndarray
    n_iter: int
    converged: bool


@dataclass(frozen=True)
class SvmProblem:
    """Samples and settings that the problems of all classes share."""

    samples: ArrayRows
    rank: int
    solver: LinearSVC
    max_iter: int
    tol: float

    def solve(self, targets):
        """Alternate over the modes for targets (n,) of -1 and 1."""
        state, modes = _State(self._start(targets)), range(len(self.samples.row_shape))
        n_iter, done = 0, False
        while n_iter < self.max_iter and not done:
            n_iter += 1
            before = state.value
            for mode in modes:
                self._update(state, mode, targets)
            # One factor is the whole problem at order 1.
            gain = before - state.value
            done = len(modes) == 1 or gain <= self.tol * state.value
        factors = [state.factors[0] * state.weights, *state.factors[1:]]
        history = np.array(state.history)
        return SvcResult(factors, state.intercept, history, n_iter, done)

    def _start(self, targets):
        """Difference of the class means, cut to rank k."""
        means = mean_differences(self.samples, targets[None])
        factors = cp_truncate(means, self.rank)
        return [unit_columns(factor[0]) for factor in factors]

    def _update(self, state, mode, targets):
        """One linear SVM for one factor, kept if it does not raise the objective."""
        white = whitening(state.factors, mode)[0]
        Z = self._features(state.factors, mode, white)
        u, intercept = self._linear_svm(Z, targets)
        margin = targets * (Z @ u + intercept)
        loss = LOSSES[self.solver.loss](margin).sum()
        value = (u @ u + intercept**2) / 2 + self.solver.C * loss
        if value <= state.value:
            state.keep(mode, u.reshape(self.rank, -1).T @ white.T, intercept, value)
        state.history.append(state.value)

    def _features(self, factors, mode, white):
        """Samples contracted with all factors but one, in white coordinates."""
        product = self.samples.side_product(factors, self.samples.is_left(mode))
        Z = self.samples.finish(product, factors, mode).astype(float, copy=False)
        Z = np.tensordot(white, Z, axes=(0, 0))  # (k, l_m, n)
        return Z.reshape(-1, Z.shape[2]).T

    def _linear_svm(self, Z, targets):
        with warnings.catch_warnings():  # one warning of ours tells of the whole fit
            warnings.simplefilter("ignore", ConvergenceWarning)
            with _ONE_AT_A_TIME:
                fitted = self.solver.fit(Z, targets)
        return fitted.coef_[0], float(fitted.intercept_[0])


class _State:
    """Factors with unit columns, the weights of the columns, and the objective."""

    def __init__(self, factors):
        self.factors = factors
        self.weights = np.ones(factors[0].shape[1])
        self.intercept, self.value = 0.0, np.inf
        self.history = []

    def keep(self, mode, factor, intercept, value):
        self.factors[mode] = unit_columns(factor)
        self.weights = np.linalg.norm(factor, axis=0)
        self.intercept, self.value = intercept, value
