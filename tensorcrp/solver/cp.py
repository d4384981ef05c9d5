"""CP tensors: their Khatri-Rao products, dense forms and norms, and mode products.

In: factors ``(..., l_m, k)``, one array per mode, or dense tensors
``(h, l_1, ..., l_N)``.
Out: the other of the two, or coordinates in which the norm of a CP tensor is that of
one of its factors. This module alone talks to tensorly.

Which backend tensorly has is the user's business. tensorly computes here in the library
of the arrays that it is given, in the calling thread alone and only during a call.
"""

from math import prod

import numpy as np
import tensorly as tl
from tensorly.backend import BackendManager
from tensorly.cp_tensor import CPTensor
from tensorly.tenalg import khatri_rao, multi_mode_dot

from tensorcrp.base.namespace import kind_of, namespace_of, put, type_name

# Singular values below this share of the largest are null: dividing by them would turn
# rounding (1e-16) into more than 1e-8.
NULL = 1e-8


# tensorly's backend for the arrays of a library.
BACKENDS = {"numpy": "numpy", "torch": "pytorch", "jax": "jax", "cupy": "cupy"}


def working_dtype(X):
    """float32 for float32 of any byte order, float64 for everything else."""
    kind = getattr(X.dtype, "kind", None)
    if kind is None:  # of another library
        return np.float32 if type_name(X) == "float32" else np.float64
    return np.float32 if kind == "f" and X.dtype.itemsize == 4 else np.float64


def split_modes(shape):
    """Number of left modes: the split of `shape` with the smallest L + R."""
    return min(range(len(shape)), key=lambda s: prod(shape[:s]) + prod(shape[s:]))


def khatri_rao_of(some, factors):
    """Khatri-Rao product of `some` of the factors; a row of ones for none."""
    if not some:
        return np.ones((1, factors[0].shape[1]))
    return _by_tensorly("numpy", khatri_rao, some) if len(some) > 1 else some[0]


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
    root = _khatri_rao_root(factors, mode)
    if root.shape[-1] == 1:
        E, s = np.ones_like(root), root
    else:
        _, s, Et = np.linalg.svd(root, full_matrices=False)
        E, s = Et[..., ::-1, :].swapaxes(-1, -2), s[..., None, ::-1]
    keep = s > NULL * np.maximum(s[..., -1:], 1e-100)  # columns that underflow are null
    s = np.where(keep, s, 1.0)
    return np.where(keep, E / s, 0.0), np.where(keep, E * s, 0.0)


def _khatri_rao_root(factors, mode):
    """R (..., at least k, k) with ``R^T R = K^T K``, K as in `whitening`."""
    root, *rest = factors[:mode] + factors[mode + 1 :] or [_ones(factors)]
    if root.shape[-1] == 1:  # of one column only the norm counts
        norms = column_norms(root)
        for factor in rest:
            norms = norms * column_norms(factor)
        return norms[..., None, :]
    for factor in rest:
        # Triangles have the Gram matrices of the factors, in k rows for l_m.
        pair = [np.linalg.qr(each, mode="r") for each in (root, factor)]
        root = stacked_khatri_rao(pair, factors)
    *lead, rows, k = root.shape
    if rows >= k:
        return root
    return np.concatenate([root, np.zeros((*lead, k - rows, k))], axis=-2)


def unit_columns(factor):
    """Columns scaled to norm one, null columns left as they are: (..., l_m, k)."""
    norms = column_norms(factor)[..., None, :]
    return factor / np.where(norms > 0, norms, 1.0)


def column_norms(factor):
    """Norms (..., k) of the columns of factors (..., l_m, k)."""
    return np.sqrt(np.einsum("...ik,...ik->...k", factor, factor))


def cp_dense(factors):
    """Dense tensors (h, l_1, ..., l_N) of factors (h, l_m, k), one per mode."""
    shape = tuple(factor.shape[1] for factor in factors)
    split = split_modes(shape)
    left = stacked_khatri_rao(factors[:split], factors)
    right = stacked_khatri_rao(factors[split:], factors)
    return (left @ right.transpose(0, 2, 1)).reshape(len(left), *shape)


def cp_sum(factors):
    """Sums (A, l_1, ..., l_N) over p of CP tensors with factors (A, p, l_m, k)."""
    flat = [f.transpose(0, 2, 1, 3).reshape(len(f), f.shape[2], -1) for f in factors]
    return cp_dense(flat)


def stacked_khatri_rao(some, factors):
    """Khatri-Rao products (..., rows, k) of `some` of the factors (..., l_m, k)."""
    if not some:
        return _ones(factors)
    product = some[0]
    for factor in some[1:]:
        product = product[..., :, None, :] * factor[..., None, :, :]
        *lead, rows, size, rank = product.shape
        product = product.reshape(*lead, rows * size, rank)
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


def sign_of_largest(values, axis):
    """Sign of the first entry within 1e-6 of the largest magnitude along `axis`."""
    magnitude = np.abs(values)
    near = magnitude >= (1 - 1e-6) * magnitude.max(axis=axis, keepdims=True)
    first = np.expand_dims(np.argmax(near, axis=axis), axis)
    return np.where(np.take_along_axis(values, first, axis=axis) < 0, -1.0, 1.0)


def cp_tensor(factors):
    """A ``CPTensor`` of factors (l_m, k) with weights one, of tensorly's backend."""
    weights = np.ones(factors[0].shape[1])
    return CPTensor((tl.tensor(weights), [tl.tensor(factor) for factor in factors]))


def mode_products(tensors, matrices):
    """Mode products of tensors (n, l_1, ..., l_N) with a matrix (r_m, l_m) per mode.

    None leaves its mode as it is. The mode that shrinks most goes first. The tensors
    may be on a device, where the products are made.
    """
    modes = [m for m, matrix in enumerate(matrices) if matrix is not None]
    modes.sort(key=lambda m: matrices[m].shape[0] / matrices[m].shape[1])
    if not modes:
        return tensors
    dtype, backend = working_dtype(tensors), BACKENDS.get(kind_of(tensors))
    some = [put(matrices[m].astype(dtype, copy=False), tensors) for m in modes]
    modes = [m + 1 for m in modes]
    if backend is None:  # a library that tensorly does not know
        return _mode_products(tensors, some, modes)
    return _by_tensorly(backend, multi_mode_dot, tensors, some, modes=modes)


def _mode_products(tensors, matrices, modes):
    xp = namespace_of(tensors)
    for matrix, mode in zip(matrices, modes, strict=True):
        order = list(range(1, tensors.ndim))
        order.insert(mode, 0)  # the mode comes first out of a product
        product = xp.tensordot(matrix, tensors, axes=((1,), (mode,)))
        tensors = xp.permute_dims(product, tuple(order))
    return tensors


def _by_tensorly(backend, function, *args, **kwargs):
    """Call a function of tensorly with a backend for this call and thread alone.

    ``tl.backend_context`` would set the backend of all threads when it ends.
    """
    if tl.get_backend() == backend:
        return function(*args, **kwargs)
    own = BackendManager._THREAD_LOCAL_DATA.__dict__  # what this thread has chosen
    chosen = own.get("backend")
    try:
        tl.set_backend(backend, local_threadsafe=True)
        return function(*args, **kwargs)
    finally:
        if chosen is None:
            own.pop("backend", None)
        else:
            own["backend"] = chosen


def cp_gram(factors):
    """Inner products (A, h, h) of CP tensors with factors (A, h, l_m, k)."""
    A, h, _, k = factors[0].shape
    cross = np.ones((A, h * k, h * k))
    for factor in factors:
        columns = factor.transpose(0, 1, 3, 2).reshape(A, h * k, -1)
        cross *= columns @ columns.transpose(0, 2, 1)
    return cross.reshape(A, h, k, h, k).sum(axis=(2, 4))
