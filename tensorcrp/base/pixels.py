"""Resizing of images and video frames.

In: pixels (rows, columns) or (rows, columns, colours). Out: means over the areas of new
pixels, in float64.
"""

import numpy as np


def resize_area(pixels, size):
    """Means over the areas of new pixels: (rows, columns[, 3]) -> (*size[, 3])."""
    for mode, new in enumerate(size):
        pixels = _area_means(pixels, mode, new)
    return pixels


def _area_means(values, mode, new):
    """Means over `new` equal parts of one mode, pixels at the edges in part.

    By running sums, not by a matrix product: BLAS threads that wait for each other
    made this ten times slower on a busy machine.
    """
    old = values.shape[mode]
    exact = np.uint32 if values.dtype == np.uint8 else np.float64
    total = np.cumsum(values, axis=mode, dtype=exact)
    edges = np.linspace(0, old, new + 1)
    last = np.minimum(edges.astype(int), old - 1)  # the pixel that an edge lies in
    inside = np.expand_dims(edges - last - 1, tuple(range(1, values.ndim - mode)))
    integral = np.take(total, last, mode) + inside * np.take(values, last, mode)
    return np.diff(integral, axis=mode) * (new / old)
