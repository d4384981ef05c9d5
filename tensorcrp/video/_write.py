"""One clip to a video file.

In: frames (frames, height, width) or (frames, height, width, 3). Out: a file whose
name chooses container and codec; it appears under its name when it is complete.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path

import numpy as np

from tensorcrp.base.files import replacing
from tensorcrp.base.types import AnyPath, Array
from tensorcrp.video._opening import import_av

_X264 = ("libx264", {"crf": "12", "preset": "veryfast"})
CODECS = {
    ".mp4": _X264,
    ".mov": _X264,
    ".avi": ("mjpeg", {"qmin": "2", "qmax": "2"}),
    ".mkv": ("ffv1", {}),
}


def write_clip(
    path: AnyPath,
    clip: Array,
    *,
    fps: float = 25,
    times: Sequence[float] | Array | None = None,
    codec: str | None = None,
    options: dict[str, str] | None = None,
) -> Path:
    """Write a clip as a video file.

    Parameters
    ----------
    path : path
        The ending chooses container and codec: ``.mp4`` and ``.mov`` H.264, ``.avi``
        MJPEG, ``.mkv`` FFV1, which is lossless.
    clip : ndarray of shape (frames, height, width) or (frames, height, width, 3)
        Frames of uint8 in 0 to 255, or of floats in [0, 1]; values outside are clipped.
        Sizes may be odd.
    fps : number, default=25
        Frames per second.
    times : sequence of float, default=None
        Seconds at which the frames are shown, rising: a variable frame rate (not in
        ``.avi``, which has none).
    codec : str, default=None
        Another encoder of FFmpeg.
    options : dict of str to str, default=None
        Options of the encoder, instead of the defaults.

    Returns
    -------
    pathlib.Path
        The file.

    Examples
    --------
    >>> import numpy as np
    >>> from tempfile import TemporaryDirectory
    >>> from tensorcrp.video import read_clips, write_clip
    >>> clip = np.random.default_rng(0).integers(0, 256, (5, 7, 9), dtype=np.uint8)
    >>> with TemporaryDirectory() as folder:
    ...     file = write_clip(f"{folder}/a.mkv", clip)
    ...     X, y, files = read_clips([file], frames=5, size=(7, 9), dtype="uint8")
    >>> bool((X[0] == clip).all())
    True
    """
    av = import_av()
    path, clip = Path(path), _as_uint8(clip)
    usual = CODECS.get(path.suffix.lower())
    if usual is None and codec is None:
        raise ValueError(
            f"{path.name!r} does not end in one of {sorted(CODECS)}; rename it or "
            "pass codec=, the name of an encoder of FFmpeg."
        )
    times = _times(times, len(clip), fps, path)
    chosen = usual[1] if options is None and not codec else options or {}
    with replacing(path) as file, _writing(av, file) as container:
        stream = _stream(container, clip, fps, codec or usual[0])
        stream.options = chosen
        _encode(av, container, stream, clip, times)
    return path


@contextmanager
def _writing(av, file):
    """PyAV's container on an open file, whose name chooses the format."""
    out = _Out(file)
    try:
        with av.open(out, "w") as container:
            yield container
    except av.error.FFmpegError as error:
        raise (out.error or error) from None


class _Out:
    """A file that remembers why it could not be written: PyAV may forget it."""

    def __init__(self, file):
        self.file, self.name, self.error = file, file.name, None
        self.seek, self.tell = file.seek, file.tell

    def write(self, data):
        try:
            return self.file.write(data)
        except OSError as error:
            self.error = error
            raise


def _as_uint8(clip):
    clip = np.asarray(clip)
    if clip.ndim not in (3, 4) or (clip.ndim == 4 and clip.shape[3] != 3):
        raise ValueError(
            f"clip has shape {clip.shape}; pass (frames, height, width) or "
            "(frames, height, width, 3)."
        )
    if clip.dtype.kind == "f":
        clip = np.rint(np.clip(clip, 0, 1) * 255).astype(np.uint8)
    if clip.dtype != np.uint8 or not clip.size:
        raise ValueError(
            f"clip has shape {clip.shape} and dtype {clip.dtype}; pass at least one "
            "frame of uint8 in 0 to 255 or of floats in [0, 1]."
        )
    return np.ascontiguousarray(clip)


def _times(times, n, fps, path):
    """Time stamps in units of 1/90000 s, or None for a constant rate."""
    if times is None:
        return None
    stamps = np.rint(np.asarray(times, float) * 90000).astype(int)
    if stamps.shape != (n,) or (np.diff(stamps) <= 0).any():
        raise ValueError(
            f"times must be {n} rising numbers of seconds, one per frame of {path}."
        )
    return stamps


def _stream(container, clip, fps, codec):
    stream = container.add_stream(codec, rate=Fraction(fps).limit_denominator(10000))
    stream.height, stream.width = clip.shape[1:3]
    offered = {each.name for each in stream.codec_context.codec.video_formats or ()}
    odd = clip.shape[1] % 2 or clip.shape[2] % 2
    # Full colour at every pixel where nothing may be lost or a size is odd: 4:2:0
    # stores colour for blocks of 2x2 pixels. It is what every player understands.
    exact = ("gray",) if clip.ndim == 3 else ("bgr0", "gbrp")
    usual = ("yuvj444p", "yuv444p") if odd else ("yuvj420p", "yuv420p")
    if codec == "libx264":  # its full-range formats are out of use
        usual = usual[1:]
    wanted = exact + usual if codec == "ffv1" else usual
    stream.pix_fmt = next((each for each in wanted if each in offered), "yuv420p")
    return stream


def _encode(av, container, stream, clip, times):
    if times is not None:
        stream.codec_context.time_base = Fraction(1, 90000)
    pixels = "gray" if clip.ndim == 3 else "rgb24"
    for i, image in enumerate(clip):
        frame = av.VideoFrame.from_ndarray(image, format=pixels)
        if times is not None:
            frame.pts, frame.time_base = int(times[i]), Fraction(1, 90000)
        container.mux(stream.encode(frame))
    container.mux(stream.encode())
