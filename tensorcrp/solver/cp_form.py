"""CP tensors near dense ones, and the standard form of CP tensors.

In: dense tensors ``(B, l_1, ..., l_N)``, or factors ``(h, l_m, k)``, one per mode. Out:
factors of rank k near the tensors, or the same tensors by factors in one form.
"""

import numpy as np

from tensorcrp.solver.cp import column_norms, cp_dense, sign_of_largest, unit_columns
from tensorcrp.solver.linalg import top_eigenvectors


def cp_truncate(tensors, rank):
    """Factors (B, l_m, k) near the given tensors (B, l_1, ..., l_N).

    Rank-one terms are subtracted one after the other. At order 2 these are the leading
    singular vectors and the approximation is the best; above, it is a good start.
    """
    terms = [_leading_term(tensors)]
    rest = tensors
    for _ in range(rank - 1):
        rest = rest - cp_dense(terms[-1])
        terms.append(_leading_term(rest))
    return [np.concatenate(columns, axis=2) for columns in zip(*terms, strict=True)]


def _leading_term(tensors):
    """Factors (B, l_m, 1) of a rank-one tensor, by singular vectors mode by mode.

    The first factor has the weight for which nothing more of the term is left: its
    inner product with the tensor, the product of the singular values.
    """
    B, *shape = tensors.shape
    vectors, part, weight = [], tensors, np.ones((B, 1))
    for size in shape[:-1] or [1]:  # a vector is a row
        u, part, value = _leading_pairs(part.reshape(B, size, -1))
        vectors.append(u)
        weight = weight * value
    # A null column would stay null in block ascent: keep its direction.
    weight = np.where(weight == 0, 1e-100, weight)
    modes = [*vectors, part][-len(shape) :]
    first, *others = (vector[:, :, None] for vector in modes)
    return [first * weight[..., None], *others]


def _leading_pairs(matrices):
    """Leading singular vectors (B, a), (B, b) and values (B, 1) of (B, a, b).

    From the smaller Gram matrices; any unit vectors of a null matrix.
    """
    if matrices.shape[1] > matrices.shape[2]:
        v, u, values = _leading_pairs(matrices.transpose(0, 2, 1))
        return u, v, values
    u = top_eigenvectors(matrices @ matrices.transpose(0, 2, 1))
    v = (u[:, None] @ matrices)[:, 0]
    values = column_norms(v[..., None])
    null = values[:, 0] == 0  # or too small for its square to be a number
    v[null] = np.eye(1, v.shape[1])
    return u, v / np.where(values > 0, values, 1.0), values


def cp_normalize(factors):
    """The same CP tensors in one standard form, with norm one and a fixed sign.

    The entry of largest magnitude of each tensor is positive. Columns are ordered by
    weight and share it equally between the modes; at order 2 they are singular vectors.

    Returns
    -------
    factors : list of ndarray (h, l_m, k)
    dense : ndarray of shape (h, l_1, ..., l_N)
    """
    if len(factors) == 2:
        factors = _singular_columns(*factors)
    units = [unit_columns(factor) for factor in factors]
    weights = np.prod([column_norms(factor) for factor in factors], axis=0)
    order = np.argsort(-weights, axis=1, kind="stable")
    weights = np.take_along_axis(weights, order, axis=1)
    units = [np.take_along_axis(unit, order[:, None, :], axis=2) for unit in units]
    for m in range(1, len(units)):  # signs of the columns go into the first mode
        signs = sign_of_largest(units[m], axis=1)
        units[m], units[0] = units[m] * signs, units[0] * signs
    dense = cp_dense([units[0] * weights[:, None], *units[1:]]).reshape(len(order), -1)
    norms = np.linalg.norm(dense, axis=1, keepdims=True)
    signs = sign_of_largest(dense, axis=1)
    share = (weights / norms)[:, None] ** (1.0 / len(units))
    units = [unit * share for unit in units]
    units[0] = units[0] * signs[:, :, None]
    return units, (dense * signs / norms).reshape(cp_shape(units))


def cp_shape(factors):
    """Shape (h, l_1, ..., l_N) of the tensors with these factors."""
    return (len(factors[0]), *(factor.shape[1] for factor in factors))


def _singular_columns(left, right):
    """Rotate U, V of (h, l, k) so that U V^T shows its singular vectors."""
    q_left, r_left = np.linalg.qr(left)
    q_right, r_right = np.linalg.qr(right)
    u, s, vt = np.linalg.svd(r_left @ r_right.transpose(0, 2, 1))
    u, v = q_left @ u, q_right @ vt.transpose(0, 2, 1)
    have = s.shape[1]
    U, V = np.zeros_like(left), np.zeros_like(right)
    U[:, :, :have] = u[:, :, :have] * s[:, None, :]
    V[:, :, :have] = v[:, :, :have]
    return U, V
