"""One video file, opened so that FFmpeg sees this file and nothing else.

In: a path. Out: PyAV's container and its first video stream, or a `ClipError`.

FFmpeg gets an open file, never a path. Formats that name further files or addresses
(play lists, ``concat``, ``.sdp``, numbered images, MLV) are not on the list of formats,
and no protocol is on the list of protocols, so that a container that is on the list
(``.mov`` with references to other files) cannot open anything either.
"""

import errno
import os
from contextlib import contextmanager

from tensorcrp.base.files import open_regular
from tensorcrp.video._whole import is_cut_off

# FFmpeg's names of containers, and of streams without one. Not here: whatever opens
# further files, devices, drawings of text as pictures, and single images.
FORMATS = (
    *("mov", "matroska", "avi", "flv", "mpegts", "mpeg", "ogg", "asf", "mxf", "nut"),
    *("gif", "apng", "rm", "dv", "gxf", "wtv", "nsv", "ivf", "yuv4mpegpipe"),
    *("h261", "h263", "h264", "hevc", "vvc", "av1", "obu", "m4v", "mpegvideo"),
    *("mjpeg", "vc1", "vc1test", "dirac", "dnxhd", "cavsvideo", "flic", "dhav"),
)
# Pixels of a frame; "8K" has 2**25. A file of 100 bytes can ask for far more.
MOST_PIXELS = 2**27
_OPTIONS = {
    "format_whitelist": ",".join(FORMATS),
    "protocol_whitelist": "none",  # not empty: an old FFmpeg could read that as unset
}
REPAIR = 'copy or encode it again, or move it elsewhere, or pass on_error="skip".'


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
    """PyAV, or an error that names the extra."""
    try:
        import av
    except ImportError as error:
        raise ImportError(
            "reading and writing video needs PyAV: pip install tensorcrp[video]"
        ) from error
    return av


@contextmanager
def opened(path):
    """Container and video stream of a file; every failure becomes a `ClipError`."""
    av = import_av()
    try:
        with _regular(path) as file, _container(av, path, file) as container:
            if not container.streams.video:
                raise ClipError(f"{path} is not a video: {REPAIR}")
            stream = container.streams.video[0]
            if stream.codec_context is None:
                raise ClipError(f"{path} has a codec that FFmpeg does not know.")
            stream.codec_context.thread_count = 1  # files run in parallel instead
            stream.codec_context.options = {"max_pixels": str(MOST_PIXELS)}
            yield container, stream
    except FileNotFoundError as error:
        raise ClipError(f"{path} does not exist: check the path.") from error
    except PermissionError as error:
        raise ClipError(
            f"permission to read {path} is denied: change it (chmod u+r) or pass "
            'on_error="skip".'
        ) from error
    except (av.error.FFmpegError, OSError, MemoryError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ClipError(f"{path} cannot be decoded ({reason}): {REPAIR}") from error


def _regular(path):
    """The open file, if it is one and not empty."""
    try:
        file = open_regular(path)
    except ValueError as error:
        raise ClipError(f"{path} is not a regular file: {REPAIR}") from error
    if os.fstat(file.fileno()).st_size == 0:
        file.close()
        raise ClipError(f"{path} is empty: copy it again or remove it.")
    return file


def _container(av, path, file):
    try:
        # Not options=, for streams too: PyAV 14 crashes where they are found later.
        how = {"container_options": dict(_OPTIONS), "metadata_errors": "replace"}
        return av.open(file, **how)
    except av.error.FFmpegError as error:
        if error.errno != errno.EINVAL:  # that is a format which is not listed
            raise
        raise ClipError(
            f"{path} is not a video, or of a format that is not read (play lists and "
            f"others that name further files, single images): {REPAIR}"
        ) from error


def check_end(path, container, last):
    """Raise if a file was cut off; `last` is the last packet of its video."""
    size = os.path.getsize(path)
    index = getattr(container.streams.video[0], "index_entries", None) or ()
    end = max((entry.pos + entry.size for entry in index), default=0)
    cut = end > size or (last is not None and last.is_corrupt)
    # Frames of one size and nothing behind them: what is left over is part of a frame.
    if container.format.name in ("yuv4mpegpipe", "dv") and last is not None:
        cut = cut or (last.pos or 0) + last.size != size
    with open_regular(path) as file:
        cut = cut or is_cut_off(file, container.format.name)
    if cut:
        raise ClipError(f"{path} is cut off: {REPAIR}")
