"""One solver for every method that gives each mode a factor of its own.

In: a numerator and a denominator, each a quadratic form of rows ``(n, l_1, ..., l_N)``;
the sizes ``(r_1, ..., r_N)`` of the core; a *rule* that turns two mode scatters
``B, W`` of size ``l_m x l_m`` into a factor ``(l_m, r_m)``.
Out: the factors ``U^(1), ..., U^(N)`` of ``Y = X x_1 U^(1)^T ... x_N U^(N)^T``.

The mode scatter of a form is ``sum_i A_i(m) A_i(m)^T``, with ``A_i(m)`` the unfolding
of row i after the other modes have been projected. What is projected when is the
*schedule*: `parallel` (nothing: every mode on the raw rows), `one_pass` (the modes
before it in a given order) or `alternate` (all others, sweep after sweep). Methods
differ in their forms, their rule and their schedule, and in nothing else.
"""

from dataclasses import dataclass, field
from math import prod

import numpy as np

from tensorcrp._algebra import multi_mode_dot
from tensorcrp._sources import blocks

# Rows are projected in blocks of about this many bytes, which stay in the processor's
# cache from one mode product to the next.
BLOCK_BYTES = 2**20


@dataclass(frozen=True)
class Form:
    """The quadratic form ``sum_i <A_i, W>^2`` of rows, its root.

    Attributes
    ----------
    rows : ndarray or CentredRows of shape (n, l_1, ..., l_N)
        Never changed, copied in small blocks only.
    """

    rows: np.ndarray

    @property
    def shape(self):
        """Shape of a row."""
        return self.rows.shape[1:]

    def scatter(self, mode, factors):
        """Mode scatter (l_m, l_m) of the rows projected by all other factors.

        Parameters
        ----------
        mode : int
        factors : list of ndarray (l_m, r_m) or None
            None leaves its mode as it is.
        """
        cores = (project(block, factors, skip=mode) for block in self._blocks())
        unfolded = (unfold(core, mode) for core in cores)
        return sum(matrix @ matrix.T for matrix in unfolded)

    def _blocks(self):
        step = max(1, BLOCK_BYTES // (8 * prod(self.shape)))
        for _, block in blocks(self.rows, step):
            yield np.ascontiguousarray(block, dtype=float)


@dataclass(frozen=True)
class Sum:
    """The sum of several forms, e.g. total = between + within."""

    parts: tuple

    @property
    def shape(self):
        """Shape of a row."""
        return self.parts[0].shape

    def scatter(self, mode, factors):
        """Mode scatter (l_m, l_m), see `Form.scatter`."""
        return sum(part.scatter(mode, factors) for part in self.parts)


@dataclass(frozen=True)
class Ridge:
    """The form ``lam ||W||^2``: that of the unit tensors as rows, times lam."""

    lam: float
    shape: tuple

    def scatter(self, mode, factors):
        """Mode scatter (l_m, l_m): a multiple of the identity."""
        others = [m for m in range(len(self.shape)) if m != mode]
        sizes = [
            self.shape[m] if factors[m] is None else (factors[m] ** 2).sum()
            for m in others
        ]
        return self.lam * np.prod(sizes) * np.eye(self.shape[mode])


def mode_scatters(top, bottom, mode, factors):
    """``B, W`` of one mode; W is None if there is no denominator."""
    B = top.scatter(mode, factors)
    return B, None if bottom is None else bottom.scatter(mode, factors)


def unfold(tensors, mode):
    """Unfoldings of all tensors (n, l_1, ..., l_N) side by side: (l_m, n P / l_m)."""
    return np.moveaxis(tensors, mode + 1, 0).reshape(tensors.shape[mode + 1], -1)


def project(tensors, factors, skip=None):
    """Mode products of tensors (n, l_1, ..., l_N) with all factors but `skip`.

    The mode that shrinks most goes first.
    """
    modes = [m for m, U in enumerate(factors) if U is not None and m != skip]
    modes.sort(key=lambda m: factors[m].shape[1] / factors[m].shape[0])
    if not modes:
        return tensors
    matrices = [factors[m].T.astype(tensors.dtype, copy=False) for m in modes]
    return multi_mode_dot(tensors, matrices, modes=[m + 1 for m in modes])


@dataclass(frozen=True)
class ModesResult:
    """What a schedule found.

    Attributes
    ----------
    factors : list of ndarray (l_m, r_m)
    history : ndarray
        `ratio` after each factor.
    n_iter : int
        Sweeps over all modes.
    converged : bool
    order : tuple of int
        Modes in the order in which they were found.
    """

    factors: list
    history: np.ndarray
    n_iter: int = 1
    converged: bool = True
    order: tuple = field(default=())

    @property
    def objective(self):
        """The last value of the history."""
        return float(self.history[-1])


def ratio(B, W, U):
    """``tr(U^T B U) / tr(U^T W U)``, or the numerator alone if W is None."""
    top = np.vdot(U, B @ U)
    if W is None:
        return top
    bottom = np.vdot(U, W @ U)
    return top / bottom if bottom > 0 else np.inf


def parallel(top, bottom, sizes, rule):
    """Every mode on the raw rows, independently of the others."""
    nothing = [None] * len(sizes)
    factors = [
        rule(*mode_scatters(top, bottom, mode, nothing), size)
        for mode, size in enumerate(sizes)
    ]
    scatters = mode_scatters(top, bottom, 0, factors)
    return ModesResult(factors, np.array([ratio(*scatters, factors[0])]))


def one_pass(top, bottom, sizes, rule, order):
    """Each mode once, in `order`, on rows projected by the modes before it."""
    factors, history = [None] * len(sizes), []
    for mode in order:
        B, W = mode_scatters(top, bottom, mode, factors)
        factors[mode] = rule(B, W, sizes[mode])
        history.append(ratio(B, W, factors[mode]))
    return ModesResult(factors, np.array(history), order=tuple(order))


def alternate(top, bottom, sizes, rule, start, max_iter, tol=None):
    """Sweeps over the modes, each on rows projected by all the others.

    Parameters
    ----------
    top, bottom : Form
        `bottom` may be None: the rule then sees ``W = None``.
    sizes : tuple of int
    rule : callable
        ``rule(B, W, size, now)`` returns the factor that replaces `now`.
    start : list of ndarray (l_m, r_m)
    max_iter : int
    tol : float, optional
        Stop when a sweep raises the ratio by at most this share; never if None.
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


def identity_start(shape, sizes):
    """``(I, 0)^T`` in every mode."""
    return [np.eye(*pair) for pair in zip(shape, sizes, strict=True)]


def ones_start(shape, sizes):
    """All entries one in every mode."""
    return [np.ones(pair) for pair in zip(shape, sizes, strict=True)]
