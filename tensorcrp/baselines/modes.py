"""One solver for every method that gives each mode a factor of its own.

In: a numerator and a denominator, each a quadratic form of tensors (`forms`); the sizes
``(r_1, ..., r_N)`` of the core; a *rule* (`mode_rules`) that turns two mode scatters
``B, W`` of size ``l_m x l_m`` into a factor ``(l_m, r_m)``.
Out: the factors ``U^(1), ..., U^(N)`` of ``Y = X x_1 U^(1)^T ... x_N U^(N)^T``.

What is projected when the scatters of a mode are made is the *schedule*: `parallel`
(nothing: every mode on the raw rows), `one_pass` (the modes before it in a given order)
or `alternate` (all others, sweep after sweep). Methods differ in their forms, their
rule and their schedule, and in nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from tensorcrp.base.types import Array, Shape
from tensorcrp.baselines.forms import FormLike, mode_scatters

Rule: TypeAlias = Callable[..., Array]  # (B, W, size, now) -> factor


@dataclass(frozen=True)
class ModesResult:
    """Factors of all modes, and how they were found.

    Parameters
    ----------
    factors : list of ndarray of shape (l_m, r_m)
        One factor per mode.
    history : ndarray
        ``tr(U^T B U) / tr(U^T W U)`` after each factor, the numerator alone if there
        is no denominator.
    n_iter : int, default=None
        Sweeps over all modes; None for a schedule without iteration.
    converged : bool, default=True
        False if the last sweep gained more than the tolerance.
    order : tuple of int, default=()
        Modes in the order in which they were found, if the method chooses it.

    Examples
    --------
    >>> import numpy as np
    >>> from tensorcrp.baselines import ModesResult
    >>> ModesResult([np.eye(3, 1), np.eye(2, 1)], np.array([0.5, 0.7])).objective
    0.7
    """

    factors: list
    history: np.ndarray
    n_iter: int | None = None
    converged: bool = True
    order: tuple = ()

    @property
    def objective(self) -> float:
        """The last value of the history."""
        return float(self.history[-1])


def ratio(B, W, U):
    """``tr(U^T B U) / tr(U^T W U)``, or the numerator alone if W is None."""
    top = np.vdot(U, B @ U)
    if W is None:
        return top
    bottom = np.vdot(U, W @ U)
    return top / bottom if bottom > 0 else np.inf


def parallel(
    top: FormLike, bottom: FormLike | None, sizes: Sequence[int], rule: Rule
) -> ModesResult:
    """Every mode on the raw rows, independently of the others.

    Parameters
    ----------
    top, bottom : Form
        Numerator and denominator; without one (None), the rule sees ``W = None``.
    sizes : sequence of int
        Core sizes ``r_m``.
    rule : callable
        ``rule(B, W, size)`` returns a factor of shape (l_m, size).

    Returns
    -------
    ModesResult
        The factors, and the ratio of all features together.

    Examples
    --------
    >>> import numpy as np
    >>> from tensorcrp.baselines import Form, leading, parallel
    >>> rows = np.random.default_rng(0).standard_normal((20, 4, 3))
    >>> [U.shape for U in parallel(Form(rows), None, (2, 1), leading).factors]
    [(4, 2), (3, 1)]
    """
    nothing = [None] * len(sizes)
    factors = [
        rule(*mode_scatters(top, bottom, mode, nothing), size)
        for mode, size in enumerate(sizes)
    ]
    scatters = mode_scatters(top, bottom, 0, factors)
    return ModesResult(factors, np.array([ratio(*scatters, factors[0])]))


def one_pass(
    top: FormLike,
    bottom: FormLike | None,
    sizes: Sequence[int],
    rule: Rule,
    order: Sequence[int],
) -> ModesResult:
    """Each mode once, on rows projected by the modes before it.

    Parameters
    ----------
    top, bottom : Form
        Numerator and denominator; without one (None), the rule sees ``W = None``.
    sizes : sequence of int
        Core sizes ``r_m``.
    rule : callable
        ``rule(B, W, size)`` returns a factor of shape (l_m, size).
    order : sequence of int
        The modes, first one first.

    Returns
    -------
    ModesResult
        The factors; None for a mode that is not in `order`.

    Examples
    --------
    >>> import numpy as np
    >>> from tensorcrp.baselines import Form, leading, one_pass
    >>> rows = np.random.default_rng(0).standard_normal((20, 4, 3))
    >>> one_pass(Form(rows), None, (2, 1), leading, order=(1, 0)).order
    (1, 0)
    """
    factors, history = [None] * len(sizes), []
    for mode in order:
        B, W = mode_scatters(top, bottom, mode, factors)
        factors[mode] = rule(B, W, sizes[mode])
        history.append(ratio(B, W, factors[mode]))
    return ModesResult(factors, np.array(history), order=tuple(order))


def alternate(
    top: FormLike,
    bottom: FormLike | None,
    sizes: Sequence[int],
    rule: Rule,
    start: Sequence[Array],
    max_iter: int,
    tol: float | None = None,
) -> ModesResult:
    """Sweeps over the modes, each on rows projected by all the others.

    Parameters
    ----------
    top, bottom : Form
        Numerator and denominator; without one (None), the rule sees ``W = None``.
    sizes : sequence of int
        Core sizes ``r_m``.
    rule : callable
        ``rule(B, W, size, now)`` returns the factor that replaces `now`.
    start : list of ndarray of shape (l_m, r_m)
        Factors to begin with.
    max_iter : int
        Largest number of sweeps.
    tol : float, default=None
        Stop when a sweep raises the ratio by at most this share; never if None.

    Returns
    -------
    ModesResult
        The factors, and the ratio after each of them.

    Examples
    --------
    >>> import numpy as np
    >>> from tensorcrp.baselines import Form, alternate, eye_factors, leading
    >>> form = Form(np.random.default_rng(0).standard_normal((20, 4, 3)))
    >>> start = eye_factors((4, 3), (2, 1))
    >>> result = alternate(form, None, (2, 1), leading, start, max_iter=5)
    >>> result.n_iter, bool((np.diff(result.history) >= 0).all())
    (5, True)
    """
    factors, history = list(start), []
    n_iter, done = 0, False
    while n_iter < max_iter and not done:
        n_iter += 1
        before = history[-1] if history else -np.inf
        for mode, size in enumerate(sizes):
            B, W = mode_scatters(top, bottom, mode, factors)
            factors[mode] = rule(B, W, size, factors[mode])
            history.append(ratio(B, W, factors[mode]))
        done = tol is not None and history[-1] - before <= tol * abs(history[-1])
    return ModesResult(factors, np.array(history), n_iter, done or tol is None)


def eye_factors(shape: Shape, sizes: Sequence[int]) -> list[Array]:
    """Start with ``(I, 0)^T`` in every mode.

    Parameters
    ----------
    shape, sizes : sequence of int
        Shape of a sample, and core sizes.

    Returns
    -------
    list of ndarray of shape (l_m, r_m)
        One factor per mode.

    Examples
    --------
    >>> from tensorcrp.baselines import eye_factors
    >>> eye_factors((3, 2), (2, 1))[0]
    array([[1., 0.],
           [0., 1.],
           [0., 0.]])
    """
    return [np.eye(*pair) for pair in zip(shape, sizes, strict=True)]


def varying_factors(form: FormLike, sizes: Sequence[int]) -> list[Array]:
    """Start with ``(I, 0)^T``, or with the strongest slices if nothing varies there.

    Silhouettes have a border that never varies: with the first slices of all modes but
    one, there may be nothing to see of the remaining mode.

    Parameters
    ----------
    form : Form
        Of what has to vary, e.g. class means.
    sizes : sequence of int
        Core sizes.

    Returns
    -------
    list of ndarray of shape (l_m, r_m)
        One factor per mode.

    Examples
    --------
    >>> import numpy as np
    >>> from tensorcrp.baselines import Form, varying_factors
    >>> rows = np.zeros((5, 3, 2))
    >>> rows[:, 2, 1] = 1.0
    >>> varying_factors(Form(rows), (2, 1))[0]
    array([[1., 0.],
           [0., 0.],
           [0., 1.]])
    """
    start, modes = eye_factors(form.shape, sizes), range(len(sizes))
    if all(np.trace(form.scatter(mode, start)) > 0 for mode in modes):
        return start
    squares = [np.diagonal(form.scatter(mode, [None] * len(sizes))) for mode in modes]
    best = [
        np.sort(np.argsort(-each, kind="stable")[:size])
        for each, size in zip(squares, sizes, strict=True)
    ]
    pairs = zip(form.shape, best, strict=True)
    return [np.eye(length)[:, some] for length, some in pairs]


def ones_factors(shape: Shape, sizes: Sequence[int]) -> list[Array]:
    """Start with one in every entry of every mode.

    Parameters
    ----------
    shape, sizes : sequence of int
        Shape of a sample, and core sizes.

    Returns
    -------
    list of ndarray of shape (l_m, r_m)
        One factor per mode.

    Examples
    --------
    >>> from tensorcrp.baselines import ones_factors
    >>> ones_factors((3, 2), (1, 2))[1]
    array([[1., 1.],
           [1., 1.]])
    """
    return [np.ones(pair) for pair in zip(shape, sizes, strict=True)]
