"""Rules: two mode scatters in, one factor out.

In: symmetric positive semi-definite ``B, W`` of size ``l x l`` (numerator and
denominator of a criterion), a size r, and the factor so far where a rule needs it.
Out: a factor ``(l, r)`` whose columns are ordered, best first, and have a fixed sign
(the entry of largest magnitude is positive).

Only symmetric routines are used, so nothing turns complex. Where a rule needs an
inverse, ``W`` gets a ridge of `reg` times its mean eigenvalue ``tr(W) / l``, and at
least what rounding needs.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.linalg import cho_factor, cho_solve, eigh

from tensorcrp.base.types import Array
from tensorcrp.solver.cp import sign_of_largest, unit_columns
from tensorcrp.solver.linalg import EPS

NOTHING_VARIES = 1e-10  # share of the largest eigenvalue below which nothing varies


def leading(B: Array, W: Array | None, size: int, now: Array | None = None) -> Array:
    """Eigenvectors of B of the largest eigenvalues: most scatter.

    Parameters
    ----------
    B, W : ndarray of shape (l, l)
        Mode scatters of the numerator and the denominator; W is ignored.
    size : int
        Number of columns.
    now : ndarray of shape (l, size), default=None
        Ignored.

    Returns
    -------
    ndarray of shape (l, size)
        Orthonormal columns, best first.

    Examples
    --------
    >>> import numpy as np
    >>> from tensorcrp.baselines import leading
    >>> leading(np.diag([1.0, 4.0]), None, 1)
    array([[0.],
           [1.]])
    """
    return _last_columns(eigh(B)[1], size)


def fisher(reg: float) -> Callable[..., Array]:
    """Largest ``u^T B u / u^T W u``: eigenvectors of ``W^{-1} B``, of norm one.

    Parameters
    ----------
    reg : float
        Ridge on W, in units of its mean eigenvalue.

    Returns
    -------
    callable
        ``rule(B, W, size, now=None)``, which returns a factor of shape (l, size).

    Examples
    --------
    >>> import numpy as np
    >>> from tensorcrp.baselines import fisher
    >>> fisher(1e-6)(np.diag([1.0, 4.0]), np.eye(2), 1)
    array([[0.],
           [1.]])
    """

    def rule(B, W, size, now=None):
        return unit_columns(_last_columns(eigh(B, ridged(W, B, reg))[1], size))

    return rule


def smallest(reg):
    """Smallest ``u^T B u / u^T W u``: eigenvectors of ``W^{-1} B``, of norm one.

    Directions in which nothing varies, as the border of silhouettes or the difference
    of two equal frames, have no ratio; beside the ridge theirs would be the smallest.
    They come last, after all others.
    """

    def rule(B, W, size, now=None):
        values, vectors = eigh(W)
        some = values > NOTHING_VARIES * values[-1]
        basis, nothing = vectors[:, some], vectors[:, ~some]
        B, W = (basis.T @ each @ basis for each in (B, W))
        best = basis @ eigh(B, ridged(W, B, reg))[1] if some.any() else basis
        ordered = np.hstack([best, nothing[:, ::-1]])
        return unit_columns(_last_columns(ordered[:, ::-1], size))

    return rule


def singular(reg: float) -> Callable[..., Array]:
    """Left singular vectors of ``W^{-1} B`` of the largest singular values.

    Parameters
    ----------
    reg : float
        Ridge on W, in units of its mean eigenvalue.

    Returns
    -------
    callable
        ``rule(B, W, size, now=None)``, which returns a factor of shape (l, size).

    Examples
    --------
    >>> import numpy as np
    >>> from tensorcrp.baselines import singular
    >>> singular(1e-6)(np.diag([1.0, 4.0]), np.eye(2), 1)
    array([[0.],
           [1.]])
    """

    def rule(B, W, size, now=None):
        product = cho_solve(cho_factor(ridged(W, B, reg)), B)
        return _last_columns(eigh(product @ product.T)[1], size)

    return rule


def difference(reg: float) -> Callable[..., Array]:
    """Eigenvectors of ``B - phi W`` of the largest algebraic eigenvalues.

    phi is the largest ratio ``u^T B u / u^T W u`` of any direction, so that no
    eigenvalue is positive: those of largest magnitude are the worst directions.

    Parameters
    ----------
    reg : float
        Ridge on W, in units of its mean eigenvalue.

    Returns
    -------
    callable
        ``rule(B, W, size, now=None)``, which returns a factor of shape (l, size).

    Examples
    --------
    >>> import numpy as np
    >>> from tensorcrp.baselines import difference
    >>> difference(1e-6)(np.diag([1.0, 4.0]), np.eye(2), 1)
    array([[0.],
           [1.]])
    """

    def rule(B, W, size, now=None):
        W = ridged(W, B, reg)
        phi = eigh(B, W, eigvals_only=True)[-1]
        return _last_columns(eigh(B - phi * W)[1], size)

    return rule


def trace_ratio(B: Array, W: Array, size: int, now: Array) -> Array:
    """Eigenvectors of ``B - phi W`` of the largest algebraic eigenvalues.

    phi is the ratio ``tr(U^T B U) / tr(U^T W U)`` of the factor so far, which the new
    factor cannot make smaller. Within its span the columns are turned to the
    eigenvectors of the total scatter ``B + W``, so that they have an order.

    Parameters
    ----------
    B, W : ndarray of shape (l, l)
        Mode scatters of the numerator and the denominator.
    size : int
        Number of columns.
    now : ndarray of shape (l, size)
        The factor so far.

    Returns
    -------
    ndarray of shape (l, size)
        Orthonormal columns, best first.

    Examples
    --------
    >>> import numpy as np
    >>> from tensorcrp.baselines import trace_ratio
    >>> trace_ratio(np.diag([1.0, 4.0]), np.eye(2), 1, np.ones((2, 1)))
    array([[0.],
           [1.]])
    """
    W = ridged(W, B, 0.0)
    phi = np.vdot(now, B @ now) / np.vdot(now, W @ now)
    span = eigh(B - phi * W)[1][:, -size:]
    turn = eigh(span.T @ (B + W) @ span)[1]
    return _last_columns(span @ turn, size)


def ridged(W, B, reg):
    """W plus a ridge of ``reg tr(W) / l``, and at least what rounding needs."""
    size = len(W)
    trace = np.trace(W)
    least = size * EPS * (trace + np.trace(B))
    return W + (max(reg * trace / size, least) or 1.0) * np.eye(size)


def _last_columns(vectors, size):
    """The last columns (of the largest eigenvalues), largest first, sign fixed."""
    chosen = vectors[:, ::-1][:, :size]
    return chosen * sign_of_largest(chosen, axis=0)
