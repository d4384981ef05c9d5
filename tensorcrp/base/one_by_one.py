"""Products that give a sample the same numbers alone and among others.

In: samples (n, P) or (n, l_1, ..., l_N), and rows or matrices to multiply them with.
Out: features (n, h) or cores (n, r_1, ..., r_N), bitwise the same for one sample and
for many.

A matrix product of BLAS sums in an order that depends on the number of samples and on
the place of a sample among them, so that its last digits do. Here every sample meets
products of its own, of the same sizes, and rows go in parts that stay in cache. This
takes longer than one large product.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from tensorcrp.base.types import Array

CACHE = 2**18  # bytes of rows that one sample after the other meets
WIDTH = 4  # rows that BLAS multiplies together


def features_of_each(samples: Array, rows: Array) -> Array:
    """Inner products of samples with rows, one sample at a time.

    Parameters
    ----------
    samples : ndarray of shape (n, P)
        In any layout.
    rows : ndarray of shape (h, P)
        Of the type of `samples`.

    Returns
    -------
    ndarray of shape (n, h)
    """
    samples, rows = np.ascontiguousarray(samples), np.ascontiguousarray(rows)
    h, P = rows.shape
    step = max(WIDTH, CACHE // (P * rows.itemsize) // WIDTH * WIDTH)
    if step >= h:
        return np.matmul(rows, samples[:, :, None])[:, :, 0]
    out = np.empty((len(samples), h), samples.dtype)
    for start in range(0, h, step):
        part = slice(start, start + step)
        np.matmul(rows[part], samples[:, :, None], out=out[:, part, None])
    return out


def cores_of_each(tensors: Array, matrices: Sequence[Array]) -> Array:
    """Mode products of tensors with a matrix per mode, one tensor at a time.

    The mode that shrinks most goes first.

    Parameters
    ----------
    tensors : ndarray of shape (n, l_1, ..., l_N)
        In any layout.
    matrices : list of ndarrays of shape (r_m, l_m)
        One per mode.

    Returns
    -------
    ndarray of shape (n, r_1, ..., r_N)
    """
    n, shares = len(tensors), [len(each) / each.shape[1] for each in matrices]
    for m in np.argsort(shares, kind="stable"):
        matrix = matrices[m].astype(tensors.dtype, copy=False)
        before, after = tensors.shape[1 : m + 1], tensors.shape[m + 2 :]
        X = tensors.reshape(n, prod(before), matrix.shape[1], prod(after))
        X = np.ascontiguousarray(X)
        done = X[..., 0] @ matrix.T if X.shape[-1] == 1 else matrix @ X
        tensors = done.reshape(n, *before, len(matrix), *after)
    return tensors
