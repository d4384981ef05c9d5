"""CP tensors near given tensors, by alternating least squares.

In: tensors ``(h, l_1, ..., l_N)`` and a rank k. Out: factors ``(h, l_m, k)``, one array
per mode, that make ``||T - [[U^(1), ..., U^(N)]]||^2`` small, one factor at a time.

With every factor but ``U^(m)`` fixed, and K the Khatri-Rao product of the others, the
best ``U^(m)`` is ``T_(m) K (K^T K)^+``. In coordinates where ``K T`` has orthonormal
columns (`whitening`) it is a plain product, and its squared norm is what the terms
explain, so that the share of the norm that is explained never falls.
"""

from dataclasses import dataclass
from math import prod

import numpy as np

from tensorcrp.solver.array_rows import ArrayRows
from tensorcrp.solver.cp import cp_from_dense, unit_columns, whitening
from tensorcrp.solver.cp_form import cp_truncate


@dataclass(frozen=True)
class CPResult:
    """Factors (h, l_m, k), the explained share after each factor, and the sweeps."""

    factors: list
    history: list
    n_iter: int
    converged: bool


def nearest_cp(tensors, rank, max_iter, tol):
    """Tensors of CP rank k near tensors (h, l_1, ..., l_N), each for itself.

    The start subtracts terms of rank one, one after the other. A sweep that adds no
    more than `tol` to the explained share is the last. Every tensor has rank
    ``P / max(l_m)``: from there on nothing is cut.
    """
    shape = tensors.shape[1:]
    if rank >= prod(shape) // max(shape):
        return CPResult(cp_from_dense(tensors), [np.ones(1)] * len(tensors), 1, True)
    norms = np.linalg.norm(tensors.reshape(len(tensors), -1), axis=1)
    norms = np.where(norms > 0, norms, 1.0)
    each = [
        _alternate(tensor / norm, rank, max_iter, tol)
        for tensor, norm in zip(tensors, norms, strict=True)
    ]
    factors = [np.stack(f) for f in zip(*(one.factors for one in each), strict=True)]
    factors[0] *= norms[:, None, None]
    return CPResult(
        factors,
        [one.history for one in each],
        max(one.n_iter for one in each),
        all(one.converged for one in each),
    )


def _alternate(tensor, rank, max_iter, tol):
    """The same for one tensor (l_1, ..., l_N) of norm one."""
    rows, modes = ArrayRows.of(tensor[None]), range(tensor.ndim)
    factors = [unit_columns(factor[0]) for factor in cp_truncate(tensor[None], rank)]
    history, n_iter, done, before = [], 0, False, -np.inf
    while n_iter < max_iter and not done:
        n_iter += 1
        for mode in modes:
            factor, share = _update(rows, factors, mode)
            factors[mode], weights = (
                unit_columns(factor),
                np.linalg.norm(factor, axis=0),
            )
            history.append(share)
        done = share - before <= tol
        before = share
    factors[0] = factors[0] * weights
    return CPResult(factors, np.array(history), n_iter, done)


def _update(rows, factors, mode):
    """The best factor (l_m, k) of one mode, and the explained share."""
    white = whitening(factors, mode)[0]
    product = rows.side_product(factors, rows.is_left(mode))
    Z = rows.finish(product, factors, mode)[:, :, 0].T @ white  # (l_m, k)
    return Z @ white.T, float(np.vdot(Z, Z))
