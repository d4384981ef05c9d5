"""One video file to clips: decode, choose frames, resize by area.

In: a file and a `Plan`. Out: clips (w, frames, height, width[, 3]) in given memory and
the number of the first frame of each; w is 1 unless the plan cuts windows.
"""

from dataclasses import dataclass

import numpy as np

from tensorcrp.base.parameters import (
    check_choice,
    check_integer,
    check_picture_size,
)
from tensorcrp.base.pixels import resize_area
from tensorcrp.video._opening import REPAIR, ClipError, check_end, opened


@dataclass(frozen=True)
class Plan:
    """Which frames make a clip, and what becomes of a frame."""

    frames: int
    size: tuple
    color: str
    sampling: str
    stride: int | None
    dtype: str

    def __post_init__(self):
        check_integer("frames", self.frames)
        check_choice("color", self.color, ("gray", "rgb"))
        check_choice("sampling", self.sampling, ("uniform", "center", "windows"))
        check_choice("dtype", np.dtype(self.dtype).name, ("float32", "uint8"))
        check_picture_size(self.size)
        if self.stride is not None:
            check_integer("stride", self.stride)
            if self.sampling != "windows":
                raise ValueError(
                    f'stride={self.stride} is for sampling="windows"; leave it out '
                    f"with {self.sampling!r}."
                )

    @property
    def shape(self):
        """Shape of a clip."""
        return (self.frames, *self.size) + ((3,) if self.color == "rgb" else ())

    @property
    def mode_names(self):
        names = ("time", "row", "column")
        return (*names, "color") if self.color == "rgb" else names

    def index(self, path, n):
        """Frame numbers (w, frames) of the clips of a file with n frames."""
        if n < self.frames:
            has = "1 frame" if n == 1 else f"{n} frames"
            raise ClipError(
                f"{path} has {has}, fewer than frames={self.frames}: pass "
                f'frames={max(n, 1)} or less, or on_error="skip" to leave it out.'
            )
        if self.sampling == "uniform":
            ends = (0, n - 1) if self.frames > 1 else (n // 2, n // 2)
            return np.linspace(*ends, self.frames).round().astype(int)[None]
        step = np.arange(self.frames)
        if self.sampling == "center":
            return (n - self.frames) // 2 + step[None]
        starts = np.arange(0, n - self.frames + 1, self.stride or self.frames)
        return starts[:, None] + step

    def image(self, frame):
        """A decoded frame as an array (height, width[, 3])."""
        exact = np.dtype(self.dtype) != np.uint8 and _bits(frame) > 8
        names = ("gray16le", "rgb48le") if exact else ("gray", "rgb24")
        pixels = frame.to_ndarray(format=names[self.color == "rgb"])
        largest = np.iinfo(pixels.dtype).max
        pixels = _upright(frame, pixels)
        if pixels.shape[:2] != tuple(self.size):
            pixels = resize_area(pixels, self.size)
        if np.dtype(self.dtype) == np.uint8:
            return np.rint(pixels).astype(np.uint8)
        return pixels.astype(np.float32) / np.float32(largest)


def _bits(frame):
    """Bits of a value of a frame: 8, or 9 to 16 in deep video."""
    return max(part.bits for part in frame.format.components)


def _upright(frame, pixels):
    """Turn a picture the way a player shows it (telephones store it sideways)."""
    return np.rot90(pixels, getattr(frame, "rotation", 0) // 90)


def read_into(path, out, plan):
    """Fill ``out`` (w, frames, height, width[, 3]) from a file.

    Returns
    -------
    ndarray of int, shape (at most w,)
        Number of the first frame of each clip that was written.
    """
    n = count_frames(path)
    index = plan.index(path, n)
    true = _decode_into(path, out, index[: len(out)], plan)
    if true == n:
        return index[:, 0]
    index = plan.index(path, true)  # packets without a picture, or hidden ones
    if len(index) > len(out):
        raise ClipError(
            f"{path} decodes to {true} frames but announces {n}: re-encode it, e.g. "
            "ffmpeg -i old.avi new.mp4."
        )
    if plan.sampling != "windows":
        _decode_into(path, out, index, plan)
    return index[:, 0]


def count_frames(path):
    """Number of frames that a file announces, by counting packets, not decoding."""
    n, last = 0, None
    with opened(path) as (container, stream):
        for packet in container.demux(stream):
            if packet.size > 0:
                n, last = n + 1, packet
        check_end(path, container, last)
    return n


def _decode_into(path, out, index, plan):
    """Decode a file once, put frames where `index` (w, frames) says; their number."""
    places = out.reshape(-1, *plan.shape[1:])
    order = np.argsort(index, axis=None, kind="stable")
    due, k, n = index.ravel()[order], 0, 0
    with opened(path) as (container, stream):
        for n, frame in enumerate(_frames(path, container, stream), 1):
            if k == len(due) or due[k] != n - 1:
                continue
            image = plan.image(frame)
            while k < len(due) and due[k] == n - 1:
                places[order[k]] = image
                k += 1
        _check_number(path, container, stream, n)
    return n


def _frames(path, container, stream):
    """Frames in the order of showing; an error if the last one to be read is torn."""
    last, torn = None, set()
    for packet in container.demux(stream):
        last = packet.pts if packet.size else last
        for frame in packet.decode():
            if frame.is_corrupt:
                torn.add(frame.pts)
            yield frame
    # Others may be torn in a whole file: those before the first key frame.
    if last is not None and last in torn:
        raise ClipError(f"{path} is cut off in its last frame: {REPAIR}")


def _check_number(path, container, stream, n):
    """Raise if there are fewer frames than there should be."""
    promised = {"avi": stream.frames, "mxf": stream.duration or 0}
    if n < promised.get(container.format.name, 0):
        raise ClipError(f"{path} is cut off after {n} frames: {REPAIR}")
    if n == 0:
        raise ClipError(f"{path} holds no picture: {REPAIR}")
