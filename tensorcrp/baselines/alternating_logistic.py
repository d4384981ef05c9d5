"""Alternating multinomial logistic regressions: the solver of `CPLogistic`.

In: arranged samples ``(n, l_1, ..., l_N)`` and class codes (n,). Out: CP factors
``(p, l_m, k)`` of one tensor W per class (p = c; of two classes, of the second, p = 1)
and intercepts (p,) that make

    sum_c ||W_c||_F^2 / 2 + C sum_i -log P(y_i | X_i),  P(c | X) ~ exp(<X, W_c> + b_c),

small, one mode at a time and all classes together. With every factor but those of one
mode fixed, ``<X, W_c> = <z_c, u_c>`` in coordinates where ``||W_c||_F = ||u_c||``: a
convex problem, solved by L-BFGS from the factors that are there. What would raise the
objective is not taken.

L-BFGS stops by absolute numbers, so it sees a problem without units: with ``W = t V``,

    r / 2 sum_c ||V_c||_F^2 + mean_i -log P(y_i | X_i),  r = t^2 / (C n),

the objective divided by ``C n``. The unit t makes both curvatures, r and that of the
loss, at most one.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.optimize import minimize

from tensorcrp.baselines.cp_classifier import mean_differences
from tensorcrp.solver.array_rows import ArrayRows
from tensorcrp.solver.cp import unit_columns, whitening
from tensorcrp.solver.cp_form import cp_truncate

# L-BFGS where one mode is all there is, and where other modes move the target anyway.
ALONE = {"maxiter": 5000, "ftol": 1e-14, "gtol": 1e-10, "maxcor": 20}
IN_TURN = {"maxiter": 100, "ftol": 1e-11, "gtol": 1e-9, "maxcor": 20}
# A gradient that rounding keeps from becoming smaller ends a line search; it is done.
SMALL_GRADIENT = 1e-6


@dataclass(frozen=True)
class Weights:
    """Unit columns (p, l_m, k) per mode, weights (p, k) and intercepts (p,).

    With the objective, and whether L-BFGS ended by its tolerance.
    """

    columns: list
    weights: np.ndarray
    intercept: np.ndarray
    value: float
    finished: bool = True

    @property
    def factors(self):
        """CP factors (p, l_m, k) that include the weights."""
        return [self.columns[0] * self.weights[:, None], *self.columns[1:]]


@dataclass(frozen=True)
class LogisticResult:
    """Weights, the objective after each mode, and how it ended."""

    weights: Weights
    history: np.ndarray
    n_iter: int
    converged: bool


@dataclass(frozen=True)
class LogisticProblem:
    """Samples, class codes, targets (p, n) of -1 and 1, and settings."""

    samples: ArrayRows
    rank: int
    codes: np.ndarray
    targets: np.ndarray
    C: float

    @cached_property
    def unit(self):
        """The unit t of the weights, from the root mean square norm of a sample."""
        square = self.samples.spread()[0].sum() / len(self.samples)
        strength = np.sqrt(self.C * len(self.samples))
        return min(strength, 1 / np.sqrt(square)) if square > 0 else strength

    @property
    def is_alone(self):
        """Whether one mode is the whole problem: order 1, or full rank."""
        return len(self.samples.row_shape) == 1

    @property
    def ridge(self):
        """The ridge r beside a mean loss."""
        return self.unit**2 / (self.C * len(self.samples))

    def solve(self, max_iter, tol):
        """Sweeps over the modes until one lowers the objective by no more than `tol`.

        As a share of the objective.
        """
        now, modes = self._start(), range(len(self.samples.row_shape))
        history, n_iter, done = [], 0, False
        while n_iter < max_iter and not done:
            n_iter, before = n_iter + 1, now.value
            for mode in modes:
                now = self._update(now, mode)
                history.append(now.value)
            done = self.is_alone or before - now.value <= tol * now.value
        done = now.finished if self.is_alone else done
        history = self.C * len(self.samples) * np.array(history)
        weights = replace(now, weights=self.unit * now.weights, value=history[-1])
        return LogisticResult(weights, history, n_iter, done)

    def _start(self):
        """Weights zero along the differences of the class means, cut to rank k."""
        means = mean_differences(self.samples, self.targets)
        columns = [unit_columns(each) for each in cp_truncate(means, self.rank)]
        p = len(self.targets)
        none = np.zeros((p, self.targets.shape[1]))
        value = self._shares_and_losses(none)[1].mean()
        zero = np.zeros((p, self.rank)), np.zeros(p)
        return Weights(columns, *zero, float(value))

    def _update(self, now, mode):
        """The best factors of one mode, kept if they do not raise the objective."""
        white, back = whitening(now.columns, mode)
        Z = self._features(now.columns, mode, white)
        u = (now.columns[mode] * now.weights[:, None]) @ back
        u = u.swapaxes(1, 2).reshape(len(u), -1)
        found = self._minimum(np.hstack([u, now.intercept[:, None]]), Z)
        finished = found.success or np.abs(found.jac).max() <= SMALL_GRADIENT
        if not found.fun <= now.value:
            return replace(now, finished=finished)
        u, intercept = np.split(found.x.reshape(len(u), -1), [-1], axis=1)
        factor = u.reshape(len(u), self.rank, -1).swapaxes(1, 2) @ white.swapaxes(1, 2)
        columns = [*now.columns]
        columns[mode] = unit_columns(factor)
        sizes = np.linalg.norm(factor, axis=1)
        return Weights(columns, sizes, intercept[:, 0], float(found.fun), finished)

    def _minimum(self, start, Z):
        """What L-BFGS finds from weights and intercepts (p, k l_m + 1)."""
        how = ALONE if self.is_alone else IN_TURN
        return minimize(
            self._objective, start.ravel(), (Z,), "L-BFGS-B", jac=True, options=how
        )

    def _features(self, columns, mode, white):
        """Samples contracted with all factors but one, white, by t: (p, k l_m, n)."""
        p, k = len(white), self.rank
        factors = [each.swapaxes(0, 1).reshape(-1, p * k) for each in columns]
        product = self.samples.side_product(factors, self.samples.is_left(mode))
        Z = self.samples.finish(product, factors, mode).astype(float, copy=False)
        Z = (self.unit * white.swapaxes(1, 2)) @ Z.reshape(p, k, -1)
        return Z.reshape(p, -1, Z.shape[2] // len(columns[mode][0]))

    def _objective(self, flat, Z):
        """Value and gradient at (p, k l_m + 1) weights and intercepts, flattened."""
        given = flat.reshape(len(Z), -1)
        u, intercept = given[:, :-1], given[:, -1:]
        scores = (u[:, None] @ Z)[:, 0] + intercept
        shares, losses = self._shares_and_losses(scores)
        slopes = (shares[-len(scores) :] - (self.targets > 0)) / len(self.samples)
        along = self.ridge * u + (Z @ slopes[:, :, None])[:, :, 0]
        gradient = np.hstack([along, slopes.sum(axis=1, keepdims=True)])
        value = self.ridge * np.vdot(u, u) / 2 + losses.mean()
        return float(value), gradient.ravel()

    def _shares_and_losses(self, scores):
        """``P(c | X_i)`` (c, n) and ``-log P(y_i | X_i)`` (n,) of scores (p, n)."""
        shares, logs = softmax(scores)
        return shares, -logs[self.codes, np.arange(len(self.codes))]


def softmax(scores):
    """Probabilities (c, n) and their logarithms from scores (p, n).

    Of two classes, the first has the score zero.
    """
    if len(scores) == 1:
        scores = np.vstack([np.zeros_like(scores), scores])
    logs = scores - scores.max(axis=0)
    shares = np.exp(logs)
    total = shares.sum(axis=0)
    return shares / total, logs - np.log(total)
