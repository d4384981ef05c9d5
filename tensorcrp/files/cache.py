"""Decoded clips in one memory-mapped file, for every process and the next run.

In: files and the options of the reader. Out: `Clips`, whose data are a read-only map of
``FOLDER/clips-<checksum>.npy``; the checksum covers paths, sizes and dates of the files
and the options. A file that changes is decoded again, and so is everything that the
cache does not have whole.
"""

from __future__ import annotations

import json
import os
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from tensorcrp.base.files import replacing
from tensorcrp.video import Clips, read_clips


@contextmanager
def folder_of_clips(cache):
    """The given folder, or a temporary one that is gone at the end of the block."""
    if cache is not None:
        yield cache
        return
    # Windows keeps files that are mapped; a map that is deleted elsewhere stays valid.
    with TemporaryDirectory(prefix="tensorcrp-", ignore_cleanup_errors=True) as folder:
        yield folder


def cached_clips(files, folder, options, how):
    """Clips from the cache, decoded first if they are not there, or not whole."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    stem = f"clips-{_checksum(files, options)}"
    array, notes = folder / f"{stem}.npy", folder / f"{stem}.json"
    clips = _kept(array, notes, files, options)
    if clips is None:
        notes.unlink(missing_ok=True)  # they would not belong to the new array
        clips = read_clips(files, memmap=array, **options, **how)
        _note(clips, notes)
    elif clips.skipped and how["on_error"] == "raise":
        file, reason = clips.skipped[0]
        raise ValueError(f"{file}: {reason}")
    return clips


def _note(clips, notes):
    """Write what the array does not say, with absolute paths as in the checksum."""
    fields = {"files": list(map(os.path.abspath, clips.files))}
    fields |= {"starts": clips.starts.tolist(), "mode_names": clips.mode_names}
    skipped = [(os.path.abspath(file), reason) for file, reason in clips.skipped]
    with replacing(notes) as file:
        file.write(json.dumps(fields | {"skipped": skipped}).encode())


def _kept(array, notes, files, options):
    """Clips of an earlier run; None if there are none, or if anything is damaged."""
    given = {os.path.abspath(file): file for file in files}
    try:
        fields = json.loads(notes.read_bytes())  # written last
        clips = Clips(
            np.lib.format.open_memmap(array, mode="r"),
            None,
            [given[file] for file in fields["files"]],
            [],
            np.array(fields["starts"]),
            tuple(fields["mode_names"]),
            [(given[file], str(reason)) for file, reason in fields["skipped"]],
        )
        return clips if _is_whole(clips, files, options) else None
    except Exception:  # whatever another program left here: it is decoded again
        return None


def _is_whole(clips, files, options):
    """Whether there is an array entry for all that the notes say, and of every file."""
    pixels = (3,) if options["color"] == "rgb" else ()
    names = ("time", "row", "column", *["color"] * len(pixels))
    shape = (len(clips.files), options["frames"], *options["size"], *pixels)
    numbered = clips.starts.dtype.kind == "i" and clips.starts.shape == shape[:1]
    of_files = {*clips.files, *(file for file, _ in clips.skipped)} == set(files)
    alike = clips.data.shape == shape and clips.data.dtype == np.float32
    return numbered and of_files and alike and clips.mode_names == names


def _checksum(files, options):
    digest = sha256(json.dumps(options, sort_keys=True, default=str).encode())
    for path in files:
        known = os.stat(path) if os.path.exists(path) else None
        facts = (known.st_size, known.st_mtime_ns) if known else None
        digest.update(f"{os.path.abspath(path)} {facts}\n".encode("utf-8", "replace"))
    return digest.hexdigest()[:24]
