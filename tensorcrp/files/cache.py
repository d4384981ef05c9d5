"""Decoded clips in one memory-mapped file, for every process and the next run.

In: files and the options of the reader. Out: `Clips`, whose data are a read-only map of
``FOLDER/clips-<checksum>.npy``; the checksum covers paths, sizes and dates of the files
and the options. A file that changes is decoded again.
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
    """Clips from the cache, decoded first if they are not there."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    stem = f"clips-{_checksum(files, options)}"
    array, notes = folder / f"{stem}.npy", folder / f"{stem}.json"
    if not notes.exists():  # written last
        clips = read_clips(files, memmap=array, **options, **how)
        fields = {"files": clips.files, "starts": clips.starts.tolist()}
        fields |= {"mode_names": clips.mode_names, "skipped": clips.skipped}
        with replacing(notes) as file:
            file.write(json.dumps(fields).encode())
        return clips
    fields = json.loads(notes.read_text())
    if fields["skipped"] and how["on_error"] == "raise":
        file, reason = fields["skipped"][0]
        raise ValueError(f"{file}: {reason}")
    return Clips(
        np.load(array, mmap_mode="r", allow_pickle=False),
        None,
        fields["files"],
        [],
        np.array(fields["starts"], int),
        tuple(fields["mode_names"]),
        [tuple(pair) for pair in fields["skipped"]],
    )


def _checksum(files, options):
    digest = sha256(json.dumps(options, sort_keys=True, default=str).encode())
    for path in files:
        known = os.stat(path) if os.path.exists(path) else None
        facts = (known.st_size, known.st_mtime_ns) if known else None
        digest.update(f"{os.path.abspath(path)} {facts}\n".encode("utf-8", "replace"))
    return digest.hexdigest()[:24]
