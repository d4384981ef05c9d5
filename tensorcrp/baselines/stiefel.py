"""Conjugate gradients on a product of Stiefel manifolds, monotone.

In: a function of factors ``(l_m, h)`` with orthonormal columns, one per mode, and its
gradient. Out: factors at which the function is larger, after steps each of which
raised it.

The gradient is projected on the tangent space ``{D : U^T D + D^T U = 0}``. A step goes
along a tangent direction and back to the manifold by a QR decomposition. The old
direction is carried over by projecting it on the new tangent space, with the weight of
Polak and Ribiere, never negative. A step is shortened until it raises the function by
a share of what the gradient promises (Armijo).
"""

from dataclasses import dataclass

import numpy as np

ENOUGH = 1e-4  # share of the promised gain that a step has to bring
ATTEMPTS = 40  # then a step is below rounding
WINDOW = 10  # steps over which a gain counts: single steps may be short
# Share of the value. The length of a step that promises less is decided by rounding of
# the value, and so would be the factors it leads to.
SMALLEST_GAIN = 1e-10


@dataclass(frozen=True)
class StiefelResult:
    """Factors (l_m, h), the value after each step, and how it ended."""

    factors: list
    history: np.ndarray
    n_iter: int
    converged: bool


def ascend(function, factors, max_iter, tol):
    """Maximise from given factors.

    Parameters
    ----------
    function : object
        ``value(factors)`` -> float and ``gradient(factors)`` -> list of (l_m, h).
    factors : list of ndarray of shape (l_m, h)
        With orthonormal columns.
    max_iter : int
        Largest number of steps.
    tol : float
        Done when `WINDOW` steps raise the value by no more than this share.
    """
    value, history, done = function.value(factors), [], False
    values = [value]  # with the start
    gradient = tangent(factors, function.gradient(factors))
    direction, length = gradient, 1.0
    while len(history) < max_iter and not done:
        if inner(gradient, direction) <= 0:  # not an ascent direction: start over
            direction = gradient
        found = _search(function, factors, direction, value, gradient, length)
        if found is not None:
            factors, value, length = found
            new = tangent(factors, function.gradient(factors))
            direction = _next_direction(factors, gradient, new, direction)
            gradient = new
        history.append(value)
        values.append(value)
        few = len(values) <= WINDOW or value - values[-1 - WINDOW] > tol * abs(value)
        done = found is None or not few
    return StiefelResult(factors, np.array(history), len(history), done)


def _search(function, factors, direction, value, gradient, length):
    """Factors, value and length of a step that is long and high enough, or None.

    The first step tried is twice as long as the last one, and moves the factors by at
    most one in norm. A parabola through the value, the slope and what the step reached
    says where to look next.
    """
    slope, size = inner(gradient, direction), np.sqrt(inner(direction, direction))
    if not slope > 0 or not size > 0:
        return None
    step = min(2 * length, 1.0) / size
    if slope * step <= SMALLEST_GAIN * abs(value):
        return None
    for _ in range(ATTEMPTS):
        new = retracted(factors, direction, step)
        reached = function.value(new)
        short = value + slope * step - reached  # what the slope promised in vain
        top = slope * step**2 / (2 * short) if short > 0 else 2 * step
        enough = ENOUGH * step * slope
        if reached >= value + enough:
            better = retracted(factors, direction, min(top, 2 * step))
            best = function.value(better)
            # Not `best > reached`: close to the top rounding would decide.
            if best >= reached - enough / 2:
                return better, best, min(top, 2 * step) * size
            return new, reached, step * size
        step = min(max(top, step / 10), step / 2)
    return None


def _next_direction(factors, old, new, direction):
    """The new gradient and the old direction, by the weight of Polak and Ribiere."""
    carried = tangent(factors, old)
    weight = (inner(new, new) - inner(new, carried)) / inner(old, old)
    along = tangent(factors, direction)
    weight = max(0.0, weight)
    return [g + weight * d for g, d in zip(new, along, strict=True)]


def tangent(factors, directions):
    """Directions (l_m, h) projected on the tangent spaces at the factors."""
    return [_tangent(U, D) for U, D in zip(factors, directions, strict=True)]


def _tangent(U, D):
    inside = U.T @ D
    return D - U @ (inside + inside.T) / 2


def retracted(factors, directions, step):
    """Factors moved along tangent directions, and back to the manifolds."""
    pairs = zip(factors, directions, strict=True)
    return [orthonormal(U + step * D) for U, D in pairs]


def orthonormal(matrix):
    """Q of a QR decomposition (l, h) with a positive diagonal of R."""
    Q, R = np.linalg.qr(matrix)
    return Q * np.where(np.diagonal(R) < 0, -1.0, 1.0)


def inner(some, others):
    """Inner product of two lists of matrices."""
    return float(sum(np.vdot(a, b) for a, b in zip(some, others, strict=True)))
