"""Class sums and centred samples on a device.

In: the samples that count (`centred.Used`) of an array on a device, and class means
(c, l_1, ..., l_N) on the host. Out: sums (c, P) on the host, centred rows or their
triangular root on the device, as `DeviceRows`.

Samples are worked on in blocks, in float64, so that no copy of all of them is made
but the result.
"""

from math import prod

import numpy as np

from tensorcrp.base.namespace import as_type, host, namespace_of, put, spans
from tensorcrp.solver.device_rows import BYTES_AS_FLOAT64, DeviceRows, folded


def device_sums(used, first, n_classes):
    """Weighted sums (c, P) over the classes of deviations from one sample (P,)."""
    total = np.zeros((n_classes, len(first)))
    for part, block in _blocks(used):
        codes = used.codes[part]
        member = np.zeros((n_classes, len(codes)))
        member[codes, np.arange(len(codes))] = used.weight[part]
        total += host(put(member, block) @ (block - put(first, block)))
    return total


def device_centred(used, means):
    """Rows ``sqrt(w_i) (X_i - Xbar_c)`` where the samples are, in their precision."""
    flat = means.reshape(len(means), -1)
    columns = [as_type(block.T, used.X.dtype) for block in _centred(used, flat)]
    tensor = _joined(columns)
    return DeviceRows(tensor, used.X.shape[1:])


def device_triangle(used, means):
    """A triangular root of at most P rows of the same scatter, in float64."""
    root = None
    for block in _centred(used, means.reshape(len(means), -1)):
        root = folded(root, block)
    return DeviceRows(root.T, used.X.shape[1:])


def _joined(columns):
    xp = namespace_of(columns[0])
    return columns[0] if len(columns) == 1 else xp.concat(columns, axis=1)


def _centred(used, means):
    """Blocks (b, P) of centred samples, in float64."""
    for part, block in _blocks(used):
        xp, codes = namespace_of(block), put(used.codes[part], block)
        block = block - xp.take(put(means, block), codes, axis=0)
        if used.is_weighted:
            block = block * put(np.sqrt(used.weight[part])[:, None], block)
        yield block


def _blocks(used):
    """Pairs of a slice of the used samples and these, flattened: (b, P)."""
    n, P = len(used.index), prod(used.X.shape[1:])
    step = max(BYTES_AS_FLOAT64 // (8 * P), min(P, n))
    for part in spans(n, step):
        yield part, as_type(used.X.some(used.index[part]), np.float64)
