"""Mode products on samples stored the way that makes them cheap.

In: ``n`` samples of shape ``(l_1, ..., l_N)`` and CP factors, one array
``(l_m, K)`` per mode whose K columns may belong to several problems (lanes).
Out: the samples contracted with every factor but one, ``(K, n, l_m)``: the ``Z`` of
``<X, W> = <Z, U^(m)>``, which at order 2 is the paper's
``Tr(U^T X V) = vec(U)^T (I kron X) vec(V)`` (its fifth lemma).

A plain ``(n, l_1, ..., l_N)`` array makes a mode product copy itself. Here samples
stand as ``(L, n, R)``: L the product of the left modes, R that of the right ones.
Both products that a sweep needs, with the right factors and with the left factors,
are then plain matrix products inside `tensorly.tenalg.mode_dot`, whatever N is.
This module alone talks to tensorly.
"""

from dataclasses import dataclass
from math import prod

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dsyevr
from tensorly.cp_tensor import CPTensor
from tensorly.tenalg import khatri_rao, mode_dot, multi_mode_dot

# Directions of a Gram matrix below this share of its largest eigenvalue are null:
# dividing by their square root would turn rounding (1e-16) into more than 1e-10.
NULL = 1e-12
FEW = 3
CACHED = 2**19  # bytes: below, the calls cost more than the memory traffic


def working_dtype(X):
    """float32 for float32 of any byte order, float64 for everything else."""
    single = X.dtype.kind == "f" and X.dtype.itemsize == 4
    return np.float32 if single else np.float64


def split_modes(shape):
    """Number of left modes: the split of `shape` with the smallest L + R."""
    sums = [prod(shape[:s]) + prod(shape[s:]) for s in range(len(shape))]
    return int(np.argmin(sums))


def empty_samples(n, shape, dtype):
    """Uninitialised ``(n, l_1, ..., l_N)`` array whose memory is ``(L, n, R)``."""
    split = split_modes(shape)
    memory = np.empty((*shape[:split], n, *shape[split:]), dtype)
    return np.moveaxis(memory, split, 0)


@dataclass(frozen=True)
class Samples:
    """Samples of one shape, arranged for mode products.

    Attributes
    ----------
    tensor : ndarray of shape (L, n, R)
    shape : tuple of int
        ``(l_1, ..., l_N)``.
    split : int
        Modes before it are left modes.
    """

    tensor: np.ndarray
    shape: tuple
    split: int

    @classmethod
    def arrange(cls, X):
        """Arrange ``X`` of shape (n, l_1, ..., l_N); no copy after `empty_samples`."""
        shape = X.shape[1:]
        split = split_modes(shape)
        memory = np.ascontiguousarray(np.moveaxis(X, 0, split))
        sizes = prod(shape[:split]), len(X), prod(shape[split:])
        return cls(memory.reshape(sizes), shape, split)

    def __len__(self):
        return self.tensor.shape[1]

    def is_left(self, mode):
        """Whether `mode` stands left of the samples in memory."""
        return mode < self.split

    def side_product(self, factors, left):
        """Contract the modes of the other side: one pass over the data.

        Parameters
        ----------
        factors : list of ndarray (l_m, K)
        left : bool
            Which side is kept.

        Returns
        -------
        ndarray of shape (K, n, *kept modes)
        """
        s = self.split
        if left:
            right = _khatri_rao(factors[s:], factors)
            kept = _columnwise(self.tensor, right, 2).transpose(0, 2, 1)
        else:
            kept = _columnwise(self.tensor, _khatri_rao(factors[:s], factors), 0)
        return kept.reshape(*kept.shape[:2], *self._side(left))

    def finish(self, product, factors, mode):
        """Contract the kept side but `mode`: (K, n, *kept modes) -> (K, n, l_m)."""
        first = 0 if self.is_left(mode) else self.split
        others = [m for m in range(product.ndim - 2) if m != mode - first]
        if not others:
            return product
        return np.stack(
            [
                multi_mode_dot(
                    column,
                    [factors[first + m][:, r] for m in others],
                    modes=[m + 1 for m in others],
                )
                for r, column in enumerate(product)
            ]
        )

    def combine(self, weights):
        """Weighted sums of the samples: (B, n) -> (B, P), slab by slab, no copy."""
        weights = np.asarray(weights, self.tensor.dtype)
        slabs = [mode_dot(slab, weights, 0) for slab in self.tensor]
        return np.stack(slabs, axis=1).reshape(len(weights), -1)

    def gram(self, other=None):
        """Inner products ``<X_i, Y_j>`` with the samples of `other`, in float64.

        Not a mode product: BLAS does ``A @ A.T`` at half the cost.
        """
        if other is None:
            return sum(block @ block.T for block in self._blocks())
        pairs = zip(self._blocks(), other._blocks(), strict=True)
        return sum(mine @ theirs.T for mine, theirs in pairs)

    def _blocks(self, width=256):
        """Entries of all samples, (n, at most `width`) at a time, in float64."""
        for slab in self.tensor:
            for start in range(0, slab.shape[1], width):
                yield slab[:, start : start + width].astype(float, copy=False)

    def _side(self, left):
        return self.shape[: self.split] if left else self.shape[self.split :]


def _columnwise(tensor, matrix, mode):
    """Mode products with the columns of a matrix (l, K), the column first.

    Memory bandwidth is the limit, and up to FEW columns BLAS comes closer to it by
    matrix-vector products, one per column, than by one matrix product.
    """
    matrix = matrix.astype(tensor.dtype, copy=False)  # or the data would be converted
    if matrix.shape[1] <= FEW and tensor.nbytes > CACHED:
        return np.stack([mode_dot(tensor, column, mode) for column in matrix.T])
    return np.moveaxis(mode_dot(tensor, matrix.T, mode), mode, 0)


def _khatri_rao(some, factors):
    """Khatri-Rao product of `some` of the factors; a row of ones for none."""
    if not some:
        return np.ones((1, factors[0].shape[1]))
    return khatri_rao(some) if len(some) > 1 else some[0]


def gram_except(grams, mode):
    """Hadamard product of the factors' Gram matrices but one: (..., k, k).

    At order 2 this is ``V^T V`` of the paper's ``D^v = (V^T V) kron I``.
    """
    others = [gram for m, gram in enumerate(grams) if m != mode]
    return np.prod(others, axis=0) if others else np.ones_like(grams[0])


def whitening(gram):
    """Coordinates in which the ridge of a block is the plain norm.

    ``gram = E diag(g) E^T``, (..., k, k). Returns ``T = E g^{-1/2}`` with null
    directions set to zero: ``||W||_F = ||u||`` for ``U = u T^T``.
    """
    g, E = np.linalg.eigh(gram)
    keep = g > NULL * g[..., -1:]
    scale = np.where(keep, 1.0 / np.sqrt(np.where(keep, g, 1.0)), 0.0)
    return E * scale[..., None, :]


def top_eigenvector(matrix):
    """Unit eigenvector (d,) of the largest eigenvalue of a symmetric matrix."""
    size = len(matrix)
    _, vectors, _, _, info = dsyevr(matrix, range="I", il=size, iu=size)
    if info or not np.isfinite(vectors[0, 0]):
        raise np.linalg.LinAlgError(f"eigenproblem of size {size} has no solution")
    return vectors[:, 0]


def unit_columns(factor):
    """Columns scaled to norm one, null columns left as they are: (..., l_m, k)."""
    norms = np.linalg.norm(factor, axis=-2, keepdims=True)
    return factor / np.where(norms > 0, norms, 1.0)


def cp_dense(factors):
    """Dense tensors (h, l_1, ..., l_N) of factors (h, l_m, k), one per mode."""
    shape = tuple(factor.shape[1] for factor in factors)
    split = split_modes(shape)
    left = _stacked_khatri_rao(factors[:split], factors)
    right = _stacked_khatri_rao(factors[split:], factors)
    return (left @ right.transpose(0, 2, 1)).reshape(-1, *shape)


def cp_sum(factors):
    """Sums (A, l_1, ..., l_N) over p of CP tensors with factors (A, p, l_m, k)."""
    flat = [f.transpose(0, 2, 1, 3).reshape(len(f), f.shape[2], -1) for f in factors]
    return cp_dense(flat)


def _stacked_khatri_rao(some, factors):
    h, _, k = factors[0].shape
    product = np.ones((h, 1, k))
    for factor in some:
        product = (product[:, :, None] * factor[:, None]).reshape(h, -1, k)
    return product


def cp_from_dense(dense):
    """Exact CP factors of any tensors (h, l_1, ..., l_N), of rank P / max(l_m).

    The columns of the longest mode are its fibres; the other factors select them.
    """
    h, shape = len(dense), dense.shape[1:]
    longest = int(np.argmax(shape))
    others = [m for m in range(len(shape)) if m != longest]
    fibres = np.moveaxis(dense, longest + 1, 1).reshape(h, shape[longest], -1)
    index = np.indices([shape[m] for m in others]).reshape(-1, fibres.shape[2])
    factors = [fibres] * len(shape)
    for m, which in zip(others, index, strict=True):
        select = np.zeros((shape[m], fibres.shape[2]))
        select[which, np.arange(fibres.shape[2])] = 1.0
        factors[m] = np.tile(select, (h, 1, 1))
    return factors


def cp_truncate(tensors, rank):
    """Factors (B, l_m, k) near the given tensors (B, l_1, ..., l_N).

    Rank-one terms are taken off one after the other. At order 2 these are the leading
    singular vectors and the approximation is the best; above, it is a good start.
    """
    rest, terms = tensors, []
    for _ in range(rank):
        terms.append(_leading_term(rest))
        rest = rest - cp_dense(terms[-1])
    return [np.concatenate(columns, axis=2) for columns in zip(*terms, strict=True)]


def _leading_term(tensors):
    """Factors (B, l_m, 1) of a rank-one tensor, by singular vectors mode by mode.

    The first factor has the weight for which nothing more of the term is left.
    """
    B, *shape = tensors.shape
    vectors, part = [], tensors
    for size in shape[:-1]:
        u, _, vt = np.linalg.svd(part.reshape(B, size, -1), full_matrices=False)
        vectors.append(u[:, :, 0])
        part = vt[:, 0]
    factors = [vector[:, :, None] for vector in [*vectors, part]]
    factors[-1] = np.where(factors[-1].any(axis=1, keepdims=True), factors[-1], 1.0)
    factors[-1] = unit_columns(factors[-1])
    weight = (tensors * cp_dense(factors)).reshape(B, 1, -1).sum(axis=2, keepdims=True)
    # A null column would stay null in block ascent: keep its direction.
    weight[weight == 0] = 1e-100
    return [factors[0] * weight, *factors[1:]]


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
    weights = np.prod([np.linalg.norm(f, axis=1) for f in factors], axis=0)
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
    """Shape (h, l_1, ..., l_N) of the tensors that the factors stand for."""
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


def sign_of_largest(values, axis):
    """Sign of the first entry within 1e-6 of the largest magnitude along `axis`."""
    magnitude = np.abs(values)
    near = magnitude >= (1 - 1e-6) * magnitude.max(axis=axis, keepdims=True)
    first = np.expand_dims(np.argmax(near, axis=axis), axis)
    return np.where(np.take_along_axis(values, first, axis=axis) < 0, -1.0, 1.0)


def cp_tensor(factors):
    """A tensorly ``CPTensor`` with weights one of factors (l_m, k)."""
    return CPTensor((np.ones(factors[0].shape[1]), list(factors)))


def deflated_rows(W):
    """Rows that include the deflation of a new sample: ``C^{-1} W``, (h, P).

    Feature p is ``<X - sum_{q<p} y_q W_q, W_p>``, so ``C y = W vec(X)`` with
    ``C = tril(W W^T, -1) + I``.
    """
    return solve_triangular(np.tril(W @ W.T, -1), W, lower=True, unit_diagonal=True)
