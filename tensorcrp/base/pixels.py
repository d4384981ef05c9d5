"""Resizing of images and video frames, and film strips of them.

In: pixels (rows, columns) or (rows, columns, colours), or frames of them. Out: means
over the areas of new pixels, in float64; or a PNG file inside a page.
"""

import zlib
from base64 import b64encode

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


def strip(pixels, most=8, signed=False):
    """Frames side by side, enlarged: bytes (height, width, 2 or 4), opacity last.

    The gaps between frames are transparent, so that they have the colour of the page.
    """
    pixels = np.asarray(pixels, float)
    colour = pixels.ndim > 2 and pixels.shape[-1] == 3
    if pixels.ndim - colour == 2:
        pixels = pixels[None]
    take = np.unique(np.linspace(0, len(pixels) - 1, most).round().astype(int))
    frames = pixels[take]
    low, span = frames.min(), np.ptp(frames) or 1.0
    if signed:
        largest = np.abs(frames).max() or 1.0
        low, span = -largest, 2 * largest
    frames = np.rint(255 * (frames - low) / span).astype(np.uint8)
    frames = frames if colour else frames[..., None]
    opaque = np.pad(frames, [(0, 0)] * 3 + [(0, 1)], constant_values=255)
    gapped = np.pad(opaque, [(0, 0), (0, 0), (0, 1), (0, 0)])
    joined = np.concatenate(list(gapped), axis=1)[:, :-1]
    times = max(1, 64 // frames.shape[1])
    return joined.repeat(times, axis=0).repeat(times, axis=1)


def png(pixels):
    """Bytes (height, width, 2 or 4), the last one opacity, as a PNG file."""
    height, width = pixels.shape[:2]
    kind = {2: 4, 4: 6}[pixels.shape[2]]  # gray or coloured, with opacity
    rows = np.ascontiguousarray(pixels).reshape(height, -1)
    raw = np.insert(rows, 0, 0, axis=1).tobytes()  # filter 0 before every row
    size = width.to_bytes(4, "big") + height.to_bytes(4, "big")
    head = size + bytes([8, kind, 0, 0, 0])
    parts = [(b"IHDR", head), (b"IDAT", zlib.compress(raw, 9)), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(*part) for part in parts)


def _chunk(name, data):
    check = zlib.crc32(name + data).to_bytes(4, "big")
    return len(data).to_bytes(4, "big") + name + data + check


def png_address(pixels):
    """A PNG inside the page."""
    return "data:image/png;base64," + b64encode(png(pixels)).decode()
