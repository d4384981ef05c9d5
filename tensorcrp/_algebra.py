"""Mode products of many samples with CP factors, and what else tensors need.

In: ``n`` samples of shape ``(l_1, ..., l_N)`` and CP factors, one array
``(l_m, K)`` per mode whose K columns may belong to several problems (lanes).
Out: the samples contracted with every factor but one, ``(K, n, l_m)``: the ``Z`` of
``<X, W> = <Z, U^(m)>``, which at order 2 is the paper's
``Tr(U^T X V) = vec(U)^T (I kron X) vec(V)`` (its fifth lemma).

The modes are cut in two sides: a sample is a matrix (L, R), L the product of the left
modes and R that of the right ones. The product with all right factors serves every
left mode and the other way round, so that a sweep reads the data twice whatever N is.
Samples stay as they are given, one after the other: each is small enough to be in
cache while all columns are multiplied with it.
This module alone talks to tensorly.
"""

from dataclasses import dataclass, replace
from math import prod

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dsfrk
from tensorly.cp_tensor import CPTensor
from tensorly.tenalg import khatri_rao, multi_mode_dot  # noqa: F401, for `baselines`

from tensorcrp._blas import contraction, weighted_sums
from tensorcrp._lapack import top_eigenvector

# Singular values below this share of the largest are null: dividing by them would turn
# rounding (1e-16) into more than 1e-8.
NULL = 1e-8
BLOCK_BYTES = 2**20  # samples that are contracted before their products are put away


def working_dtype(X):
    """float32 for float32 of any byte order, float64 for everything else."""
    single = X.dtype.kind == "f" and X.dtype.itemsize == 4
    return np.float32 if single else np.float64


def split_modes(shape):
    """Number of left modes: the split of `shape` with the smallest L + R."""
    sums = [prod(shape[:s]) + prod(shape[s:]) for s in range(len(shape))]
    return int(np.argmin(sums))


@dataclass(frozen=True)
class Samples:
    """Samples of one shape, cut in a left and a right side.

    Attributes
    ----------
    tensor : ndarray of shape (n, L, R)
        Or what is like one but read from elsewhere, in ``mapped(linear)``; then
        only `side_product` and `some` work.
    shape : tuple of int
        ``(l_1, ..., l_N)``.
    split : int
        Modes before it are left modes.
    triangular : bool
        Whether the samples are the rows of a triangular matrix (P, P): sample i begins
        with i noughts, which are left out of products.
    """

    tensor: np.ndarray
    shape: tuple
    split: int
    triangular: bool = False

    @classmethod
    def of(cls, X):
        """Samples of an array (n, l_1, ..., l_N); in C order it is not copied."""
        shape = X.shape[1:]
        split = split_modes(shape)
        sizes = len(X), prod(shape[:split]), prod(shape[split:])
        if not isinstance(X, np.ndarray):
            return cls(X.reshape(*sizes), shape, split)
        X = np.ascontiguousarray(X)
        return cls(X.reshape(*sizes), shape, split, _is_triangular(X))

    def __len__(self):
        return len(self.tensor)

    def is_left(self, mode):
        """Whether `mode` is one of the left modes."""
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
        s, n = self.split, len(self)
        gone = _khatri_rao(factors[s:] if left else factors[:s], factors)
        dtype = self.tensor.dtype
        vectors = np.ascontiguousarray(gone.T, dtype)  # or the data were converted
        contracted = contraction(vectors, left, prod(self.shape))
        kept = self.shape[:s] if left else self.shape[s:]
        make = np.zeros if self.triangular else np.empty
        product = make((len(vectors), n, prod(kept)), dtype)
        for part, rows in self._each(contracted):
            rows = rows.transpose(1, 0, 2)[: len(vectors)]
            product[:, part, -rows.shape[2] :] = rows
        return product.reshape(-1, n, *kept)

    def _each(self, linear):
        """What a linear function makes of parts (b, L, R), read one after the other.

        Of a triangle it gets the last slices of the left side, the first are null.
        """
        if not isinstance(self.tensor, np.ndarray):
            yield from self.tensor.mapped(linear)
            return
        step = max(1, BLOCK_BYTES // (self.tensor.nbytes // len(self)))
        for start in range(0, len(self), step):
            part = slice(start, min(start + step, len(self)))
            null = start // self.tensor.shape[2] if self.triangular else 0
            yield part, linear(self.tensor[part, null:])

    def finish(self, product, factors, mode):
        """Contract the kept side but `mode`: (K, n, *kept modes) -> (K, n, l_m)."""
        K, n, *kept = product.shape
        first = 0 if self.is_left(mode) else self.split
        before, after = factors[first:mode], factors[mode + 1 : first + len(kept)]
        Z = product
        if after:
            weights = _khatri_rao(after, factors).T.astype(Z.dtype, copy=False)
            Z = Z.reshape(K, -1, weights.shape[1]) @ weights[:, :, None]
        if before:
            weights = _khatri_rao(before, factors).T.astype(Z.dtype, copy=False)
            Z = weights[:, None, None] @ Z.reshape(K, n, weights.shape[1], -1)
        return Z.reshape(K, n, -1)

    def some(self, most):
        """Evenly spaced samples, at most so many, in memory; a view of an array."""
        some = self.tensor[:: -(-len(self) // most)]
        return replace(self, tensor=some, triangular=False)

    def combine(self, weights):
        """Weighted sums of the samples: (B, n) -> (B, P)."""
        return weighted_sums(np.asarray(weights, self.tensor.dtype), self.flat)

    def gram(self, other):
        """Inner products ``<X_i, Y_j>`` with the samples of `other`, in float64."""
        pairs = zip(self._blocks(), other._blocks(), strict=True)
        return sum(mine @ theirs.T for mine, theirs in pairs)

    def packed_gram(self):
        """Inner products ``<X_i, X_j>`` in float64, of which one half is kept.

        Returns
        -------
        ndarray of shape (n (n + 1) / 2,)
            In the packed form of LAPACK's routines ``dpftrf`` and ``dpftrs``.
        """
        n = len(self)
        packed = np.zeros(n * (n + 1) // 2)
        for block in self._blocks():
            packed = dsfrk(
                n, block.shape[1], 1.0, block.T, 1.0, packed, trans="T", overwrite_c=1
            )
        return packed

    @property
    def flat(self):
        """The samples as vectors, (n, P)."""
        return self.tensor.reshape(len(self), -1)

    def _blocks(self, width=128):
        """Entries of all samples, (n, at most `width`) at a time, in float64."""
        for start in range(0, self.flat.shape[1], width):
            yield self.flat[:, start : start + width].astype(float, copy=False)


def _is_triangular(X):
    """Whether sample i of an array (P, l_1, ..., l_N) begins with i noughts."""
    rows = X.reshape(len(X), -1)
    square = rows.shape[0] == rows.shape[1]
    return square and not any(row[:i].any() for i, row in enumerate(rows))


def _khatri_rao(some, factors):
    """Khatri-Rao product of `some` of the factors; a row of ones for none."""
    if not some:
        return np.ones((1, factors[0].shape[1]))
    return khatri_rao(some) if len(some) > 1 else some[0]


def whitening(factors, mode):
    """Coordinates in which the ridge of a block is the plain norm.

    Parameters
    ----------
    factors : list of ndarray of shape (..., l_m, k)
    mode : int

    Returns
    -------
    T : ndarray of shape (..., k, k)
        ``K T`` has orthonormal columns, K the Khatri-Rao product of all factors but
        one: ``||W||_F = ||u||`` for ``U = u T^T``. Columns of null directions are zero;
        the last column never is.
    back : ndarray of shape (..., k, k)
        ``u = U back`` for the U that is there.

    At order 2, K is V of the paper's ``D^v = (V^T V) kron I``. The Gram matrix itself
    would square the condition of columns that nearly cancel.
    """
    _, s, Et = np.linalg.svd(_khatri_rao_root(factors, mode), full_matrices=False)
    E, s = Et[..., ::-1, :].swapaxes(-1, -2), s[..., None, ::-1]
    keep = s > NULL * np.maximum(s[..., -1:], 1e-100)  # columns that underflow are null
    s = np.where(keep, s, 1.0)
    return np.where(keep, E / s, 0.0), np.where(keep, E * s, 0.0)


def _khatri_rao_root(factors, mode):
    """R (..., at least k, k) with ``R^T R = K^T K``, K as in `whitening`."""
    root, *rest = factors[:mode] + factors[mode + 1 :] or [_ones(factors)]
    for factor in rest:
        # Triangles stand for the factors: k rows for l_m.
        pair = [np.linalg.qr(each, mode="r") for each in (root, factor)]
        root = _stacked_khatri_rao(pair, factors)
    *lead, rows, k = root.shape
    return np.concatenate([root, np.zeros((*lead, max(0, k - rows), k))], axis=-2)


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
    product = _ones(factors)
    for factor in some:
        product = product[..., :, None, :] * factor[..., None, :, :]
        product = product.reshape(*factor.shape[:-2], -1, factor.shape[-1])
    return product


def _ones(factors):
    return np.ones_like(factors[0][..., :1, :])


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
        pairs = [_leading_pair(matrix) for matrix in part.reshape(B, size, -1)]
        u, part = (np.stack(each) for each in zip(*pairs, strict=True))
        vectors.append(u)
    factors = [vector[:, :, None] for vector in [*vectors, part]]
    factors[-1] = np.where(factors[-1].any(axis=1, keepdims=True), factors[-1], 1.0)
    factors[-1] = unit_columns(factors[-1])
    weight = (tensors * cp_dense(factors)).reshape(B, 1, -1).sum(axis=2, keepdims=True)
    # A null column would stay null in block ascent: keep its direction.
    weight[weight == 0] = 1e-100
    return [factors[0] * weight, *factors[1:]]


def _leading_pair(matrix):
    """Leading left and right singular vector of a matrix (a, b), from its Gram matrix.

    Any unit vectors of a null matrix.
    """
    if matrix.shape[0] > matrix.shape[1]:
        return _leading_pair(matrix.T)[::-1]
    u = top_eigenvector(matrix @ matrix.T)
    v = u @ matrix
    size = np.linalg.norm(v)
    return u, v / size if size > 0 else np.eye(1, len(v))[0]


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
