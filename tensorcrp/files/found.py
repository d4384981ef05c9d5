"""What there is at a path: which files, of which kind, in which class folders.

In: a path or a list of paths. Out: `FoundFiles`; nothing is decoded.
"""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from tensorcrp.base.validation import nothing_read
from tensorcrp.datasets import are_images
from tensorcrp.video import files_below, labelled_files

# Kinds of files that hold many samples, and their endings.
MANY = {
    "arrays": (".npz", ".npy", ".mat", ".h5", ".hdf5", ".zarr"),
    "epochs": (".fif", ".fif.gz"),
}


@dataclass(frozen=True)
class FoundFiles:
    """Files, their kind, and the class folder of each, or None where there is none."""

    kind: str
    files: list[str]
    folders: list[str | None]


def find_files(data, labelled, on_error="raise"):
    """Look at a path or at a list of paths.

    Parameters
    ----------
    data : path, or list of paths
    labelled : bool
        Insist on one subfolder per class, as training needs it.
    on_error : {"raise", "skip"}, default="raise"
        What to do with a path of a list at which there is nothing; "skip" leaves it to
        the reader, which lists it among other files that cannot be read.

    Returns
    -------
    FoundFiles
    """
    if isinstance(data, (str, os.PathLike)):
        return _at(Path(data), labelled)
    paths = _listed(data)
    if not paths:
        raise ValueError("the list of files is empty; give at least one file.")
    gone = [path for path in paths if not path.exists()]
    if gone and on_error == "raise":
        raise _not_there(gone[0])
    if len(gone) == len(paths):
        raise nothing_read([(str(path), str(_not_there(path))) for path in gone])
    there = {path: _at(path, False) for path in paths if path not in gone}
    kind = _one_kind(there.values())
    parts = [there.get(path, FoundFiles(kind, [str(path)], [None])) for path in paths]
    files = [file for part in parts for file in part.files]
    twice = [file for file, times in Counter(files).items() if times > 1]
    if twice:  # one label would stand for two entries of the list
        raise ValueError(f"{twice[0]} is listed twice; list every file once.")
    return FoundFiles(kind, files, [each for part in parts for each in part.folders])


def _listed(data):
    """A list of paths; samples in memory and all else are rejected."""
    items = list(data) if hasattr(data, "__iter__") else [data]
    if all(isinstance(each, (str, os.PathLike)) for each in items):
        return [Path(each) for each in items]
    shape = f" of shape {data.shape}" if hasattr(data, "shape") else ""
    raise TypeError(
        f"a path or a list of paths is needed, got {type(data).__name__}{shape}. "
        "Samples in memory are for TensorCRPCV, or for predict of a fitted model."
    )


def _not_there(path):
    return FileNotFoundError(f"{path} does not exist; check the path.")


def _one_kind(parts):
    """The kind of all files, or an error."""
    kinds = sorted({part.kind for part in parts})
    if set(kinds) == {"clips", "images"}:  # stray pictures among clips, or the reverse
        files = [file for part in parts for file in part.files]
        return "images" if are_images(files) else "clips"
    if len(kinds) > 1:
        raise ValueError(
            f"the files are of several kinds, {' and '.join(kinds)}; give those of one "
            "kind at a time."
        )
    return kinds[0]


def _at(path, labelled):
    if not path.exists():
        raise _not_there(path)
    name = path.name.lower()
    marks = (".zgroup", ".zarray", "zarr.json")
    if name.endswith(".zarr") or any((path / mark).exists() for mark in marks):
        return FoundFiles("arrays", [str(path)], [None])
    if not path.is_dir():
        return FoundFiles(_kind([path]), [str(path)], [None])
    files = files_below(path)
    kind = _kind(files)
    if labelled and kind not in MANY:
        files, codes, names = labelled_files(path)
        return FoundFiles(_kind(files), files, [names[code] for code in codes])
    if not files:
        raise ValueError(f"the folder {path} has no files; check the path.")
    return FoundFiles(kind, files, [_first_folder(path, file) for file in files])


def _kind(files):
    """Of most of the files, by their names; what is not known may be a clip."""
    for kind, endings in MANY.items():
        found = sum(str(path).lower().endswith(endings) for path in files)
        if 2 * found > len(files):
            return kind
    return "images" if are_images(files) else "clips"


def _first_folder(root, file):
    """The subfolder of `root` that a file lies in, or None."""
    inside = Path(file).relative_to(root).parts
    return inside[0] if len(inside) > 1 else None
