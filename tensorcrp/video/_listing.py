"""Which files there are, and of which class.

In: ``folder/class/file``. Out: files, class numbers (n,) and class names.
"""

import os
from pathlib import Path

import numpy as np


def labelled_files(folder):
    """Files of a folder with one subfolder per class.

    Parameters
    ----------
    folder : path
        Files may lie deeper inside a class; hidden ones are passed over.

    Returns
    -------
    files : list of str
        Sorted by class, then by name.
    codes : ndarray of int, shape (n,)
        Class of each file.
    names : list of str
        Names of the classes, sorted.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from tensorcrp.video import labelled_files
    >>> with TemporaryDirectory() as folder:
    ...     for name in ("walk/a.mp4", "run/b.mp4", "run/c.mp4"):
    ...         (Path(folder) / name).parent.mkdir(exist_ok=True)
    ...         (Path(folder) / name).touch()
    ...     files, codes, names = labelled_files(folder)
    >>> codes.tolist(), names
    ([0, 0, 1], ['run', 'walk'])
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise FileNotFoundError(f"{folder} is not a folder; {_LAYOUT}.")
    classes = sorted(each for each in _visible(folder.iterdir()) if each.is_dir())
    if not classes:
        raise ValueError(
            f"{folder} has no subfolder, so there are no classes; {_LAYOUT}."
        )
    inside = [
        sorted(each for each in _visible(c.rglob("*")) if each.is_file())
        for c in classes
    ]
    for each, files in zip(classes, inside, strict=True):
        if not files:
            raise ValueError(f"the class folder {each} is empty; fill or remove it.")
    names = [each.name for each in classes]
    if len(names) == 1:
        raise ValueError(
            f"{folder} has one class only, {names[0]!r}; a classifier needs two or "
            f"more. {_LAYOUT.capitalize()}, or pass a list of files to read them "
            "without labels."
        )
    codes = np.repeat(np.arange(len(names)), [len(files) for files in inside])
    return [str(path) for files in inside for path in files], codes, names


_LAYOUT = "put the files of each class into a subfolder of its own: folder/class/file"


def _visible(paths):
    """Without hidden files and what Windows leaves behind."""
    litter = {"thumbs.db", "desktop.ini"}
    return [
        p for p in paths if not p.name.startswith(".") and p.name.lower() not in litter
    ]


def listed(folder):
    """Files, codes and class names of a folder, or of a plain list of files."""
    if isinstance(folder, (str, os.PathLike)):
        return labelled_files(folder)
    files = [str(path) for path in folder]
    if not files:
        raise ValueError("the list of files is empty; pass at least one file.")
    return files, None, []
