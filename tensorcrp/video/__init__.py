"""Folders of video files as labelled tensors, on PyAV (extra ``video``).

In: ``folder/class/clip.mp4``, any usual container and any codec that FFmpeg decodes.
Out: ``X`` (n, frames, height, width) or (n, frames, height, width, 3), a class number
and a file per clip. Also the way back: `write_clip`.

Files are decoded frame by frame. A wanted frame is resized by area, written to its
place in the result and forgotten, so memory is the result and one frame. Frames are
counted, never taken from a header; where the frame rate varies, sampling is even in
the number of frames, not in seconds. FFmpeg decodes inside this process. It is given
open files and can open no other file and no network address, but it is a large parser
written in C, so give it files that you trust.
"""

from tensorcrp.video._folder import Clips, read_clips
from tensorcrp.video._listing import (
    files_below,
    labelled_files,
    train_test_folders,
)
from tensorcrp.video._opening import ClipError
from tensorcrp.video._write import write_clip

__all__ = [
    "ClipError",
    "Clips",
    "files_below",
    "labelled_files",
    "read_clips",
    "train_test_folders",
    "write_clip",
]
