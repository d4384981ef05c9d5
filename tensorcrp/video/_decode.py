"""One video file to clips: decode, choose frames, resize by area.

In: a file and a `Plan`. Out: clips (w, frames, height, width[, 3]) in given memory and
the number of the first frame of each; w is 1 unless the plan cuts windows.
"""

import os
from contextlib import contextmanager
from dataclasses import dataclass
from numbers import Integral

import numpy as np

# FFmpeg draws plain text as pictures of a terminal; that is no video.
_TEXT_FORMATS = {"tty", "bin", "xbin", "adf", "idf"}


class ClipError(ValueError):
    """A file that gives no clip; the message names the file and the repair.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from tensorcrp.video import ClipError, read_clips
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder) / "a.mp4"
    ...     size = file.write_bytes(b"not a video")
    ...     try:
    ...         read_clips([file])
    ...     except ClipError:
    ...         print("no clip")
    no clip
    """


def import_av():
    """PyAV, or an error that says how to get it."""
    try:
        import av
    except ImportError as error:
        raise ImportError(
            "reading and writing video needs PyAV: pip install tensorcrp[video]"
        ) from error
    return av


def check_choice(name, value, choices):
    """Refuse anything but one of the names in `choices`."""
    if not isinstance(value, str) or value not in choices:
        names = ", ".join(map(repr, choices))
        raise ValueError(f"{name} must be one of {names}, got {value!r}.")


def check_count(name, value):
    """Refuse anything but a positive integer."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < 1:
        raise ValueError(f"{name} must be a positive integer, got {value!r}.")


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
        check_count("frames", self.frames)
        check_choice("color", self.color, ("gray", "rgb"))
        check_choice("sampling", self.sampling, ("uniform", "center", "windows"))
        check_choice("dtype", np.dtype(self.dtype).name, ("float32", "uint8"))
        try:
            height, width = self.size
        except (TypeError, ValueError):
            raise ValueError(
                f"size must be (height, width), e.g. (32, 32), got {self.size!r}."
            ) from None
        check_count("size[0]", height)
        check_count("size[1]", width)
        if self.stride is not None:
            check_count("stride", self.stride)
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
            raise ClipError(
                f"{path} has {n} frames, fewer than frames={self.frames}: pass "
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
        wanted = "gray" if self.color == "gray" else "rgb24"
        pixels = _upright(frame, frame.to_ndarray(format=wanted))
        if pixels.shape[:2] != tuple(self.size):
            pixels = resize_area(pixels, self.size)
        if np.dtype(self.dtype) == np.uint8:
            return np.rint(pixels).astype(np.uint8)
        return pixels.astype(np.float32) / np.float32(255)


def _upright(frame, pixels):
    """Turn a picture the way a player shows it (telephones store it sideways)."""
    return np.rot90(pixels, getattr(frame, "rotation", 0) // 90)


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
            f"{path} decodes to {true} frames but announces {n}: write it anew, e.g. "
            "ffmpeg -i old.avi new.mp4."
        )
    if plan.sampling != "windows":
        _decode_into(path, out, index, plan)
    return index[:, 0]


def count_frames(path):
    """Number of frames that a file announces, by counting packets, not decoding."""
    with _opened(path) as (container, stream):
        return sum(packet.size > 0 for packet in container.demux(stream))


def _decode_into(path, out, index, plan):
    """Decode a file once, put frames where `index` (w, frames) says; their number."""
    places = out.reshape(-1, *plan.shape[1:])
    order = np.argsort(index, axis=None, kind="stable")
    due, k, n = index.ravel()[order], 0, 0
    with _opened(path) as (container, stream):
        for n, frame in enumerate(container.decode(stream), 1):
            if k == len(due) or due[k] != n - 1:
                continue
            image = plan.image(frame)
            while k < len(due) and due[k] == n - 1:
                places[order[k]] = image
                k += 1
        _check_whole(path, stream, container.format.name, n)
    return n


@contextmanager
def _opened(path):
    """Container and video stream of a file; every failure becomes a `ClipError`."""
    av = import_av()
    try:
        if os.path.getsize(path) == 0:
            raise ClipError(f"{path} is empty: copy it again or remove it.")
        options = {"protocol_whitelist": "file"}  # a play list must not reach out
        name = os.path.abspath(path)
        with av.open(name, options=options, metadata_errors="replace") as container:
            if container.format.name in _TEXT_FORMATS or not container.streams.video:
                raise ClipError(f"{path} is not a video: {_REPAIR}")
            stream = container.streams.video[0]
            stream.codec_context.thread_count = 1  # files run in parallel instead
            yield container, stream
    except PermissionError as error:
        raise ClipError(
            f"{path} may not be read: change its permissions (chmod u+r) or pass "
            'on_error="skip".'
        ) from error
    except (av.error.FFmpegError, OSError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ClipError(f"{path} cannot be decoded ({reason}): {_REPAIR}") from error


_REPAIR = 'copy or encode it again, move it elsewhere, or pass on_error="skip".'


def _check_whole(path, stream, container_format, n):
    """Refuse a file that was cut off: its index points past its end."""
    index = getattr(stream, "index_entries", None) or ()
    end = max((entry.pos + entry.size for entry in index), default=0)
    short = container_format == "avi" and n < stream.frames
    if short or end > os.path.getsize(path):
        raise ClipError(f"{path} is cut off after {n} frames: {_REPAIR}")
    if n == 0:
        raise ClipError(f"{path} holds no picture: {_REPAIR}")
