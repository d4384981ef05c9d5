"""What there is at a path: which files, of which kind, in which class folders.

In: a path or a list of paths. Out: `Found`; nothing is decoded.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from tensorcrp.datasets import are_images
from tensorcrp.video import files_below, labelled_files

ARRAYS = (".npz", ".npy", ".mat", ".h5", ".hdf5", ".zarr")
EPOCHS = (".fif", ".fif.gz")


@dataclass(frozen=True)
class Found:
    """Files, their kind, and the class folder of each, or None where there is none."""

    kind: str
    files: list[str]
    folders: list[str | None]


def find(data, labelled):
    """Look at a path or at a list of paths.

    Parameters
    ----------
    data : path, or list of paths
    labelled : bool
        Insist on one subfolder per class, as training needs it.

    Returns
    -------
    Found
    """
    if isinstance(data, (str, os.PathLike)):
        return _at(Path(data), labelled)
    paths = [Path(path) for path in data]
    if not paths:
        raise ValueError("the list of files is empty; give at least one file.")
    parts = [_at(path, False) for path in paths]
    kinds = sorted({part.kind for part in parts})
    if set(kinds) == {"clips", "images"}:  # stray pictures among clips, or the reverse
        files = [file for part in parts for file in part.files]
        kinds = ["images" if are_images(files) else "clips"]
    if len(kinds) > 1:
        raise ValueError(
            f"the files are of several kinds, {' and '.join(kinds)}; give those of one "
            "kind at a time."
        )
    files = [file for part in parts for file in part.files]
    return Found(kinds[0], files, [each for part in parts for each in part.folders])


def _at(path, labelled):
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist; check the path.")
    name = path.name.lower()
    if name.endswith(EPOCHS):
        return Found("epochs", [str(path)], [None])
    marks = (".zgroup", ".zarray", "zarr.json")
    if name.endswith(ARRAYS) or any((path / mark).exists() for mark in marks):
        return Found("arrays", [str(path)], [None])
    if not path.is_dir():
        return Found(_kind([path]), [str(path)], [None])
    if labelled:
        files, codes, names = labelled_files(path)
        return Found(_kind(files), files, [names[code] for code in codes])
    files = files_below(path)
    if not files:
        raise ValueError(f"the folder {path} has no files; check the path.")
    return Found(_kind(files), files, [_first_folder(path, file) for file in files])


def _kind(files):
    return "images" if are_images(files) else "clips"


def _first_folder(root, file):
    """The subfolder of `root` that a file lies in, or None."""
    inside = Path(file).relative_to(root).parts
    return inside[0] if len(inside) > 1 else None
