"""Discriminant tensors with few entries: a group lasso under a separable covariance.

In: differences ``D_k`` ``(h, l_1, ..., l_N)`` of class means, the mode covariances
``S = S_1 kron ... kron S_N``, a strength lambda. Out: tensors ``B_k`` that minimise

    sum_k <B_k, S B_k> / 2 - <B_k, D_k>  +  lambda sum_j ||(B_1j, ..., B_hj)||,

j over the entries of a sample: an entry counts for all tensors or for none. The problem
is convex. Accelerated proximal gradients with steps of one over the largest eigenvalue
of S; a step that would raise the objective is replaced by a plain one, which cannot.
"""

from dataclasses import dataclass

import numpy as np

from tensorcrp.solver.cp import mode_products


@dataclass(frozen=True)
class LassoResult:
    """Tensors (h, l_1, ..., l_N), the objective after each step, and how it ended."""

    tensors: np.ndarray
    history: np.ndarray
    n_iter: int
    converged: bool


def group_sizes(tensors):
    """Norm of the entries j of all tensors (h, l_1, ..., l_N): (l_1, ..., l_N)."""
    return np.linalg.norm(tensors, axis=0)


def group_lasso(differences, covariance, lam, max_iter, tol):
    """Minimise from zero; done when a step moves B by no more than `tol` of its norm.

    Parameters
    ----------
    differences : ndarray of shape (h, l_1, ..., l_N)
    covariance : Separable
    lam : float
    max_iter : int
    tol : float
    """
    problem = _Problem(differences, covariance, lam)
    now = ahead = np.zeros_like(differences)
    S_now = S_ahead = now
    value, momentum, history, done = 0.0, 1.0, [], False
    while len(history) < max_iter and not done:
        new, S_new, new_value = problem.step(ahead, S_ahead)
        if new_value > value:  # the momentum led uphill: a plain step, and start over
            momentum, (new, S_new, new_value) = 1.0, problem.step(now, S_now)
        following = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        push = (momentum - 1) / following
        ahead, S_ahead = new + push * (new - now), S_new + push * (S_new - S_now)
        done = np.linalg.norm(new - now) <= tol * np.linalg.norm(new)
        # A plain step gains, or loses what the value is rounded by.
        now, S_now, value = new, S_new, min(value, new_value)
        momentum = following
        history.append(value)
    return LassoResult(now, np.array(history), len(history), bool(done))


class _Problem:
    def __init__(self, differences, covariance, lam):
        self.differences, self.lam = differences, lam
        self.matrices, self.largest = covariance.powers(), covariance.largest

    def step(self, B, SB):
        """A proximal gradient step from B: the new B, S times it, and its value."""
        B = shrunk(B - (SB - self.differences) / self.largest, self.lam / self.largest)
        SB = mode_products(B, self.matrices)
        value = np.vdot(B, SB / 2 - self.differences)
        return B, SB, float(value + self.lam * group_sizes(B).sum())


def shrunk(tensors, threshold):
    """Every group of entries shortened by a threshold, to zero if it is shorter."""
    sizes = group_sizes(tensors)
    scale = np.where(
        sizes > threshold, 1 - threshold / np.where(sizes > 0, sizes, 1), 0
    )
    return tensors * scale
