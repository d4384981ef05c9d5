"""Files and their classes.

In: ``folder/class/file``. Out: files, class numbers (n,) and class names.
"""

from __future__ import annotations

import os
import stat
from itertools import chain
from pathlib import Path

import numpy as np

from tensorcrp.base.types import AnyPath, Integers


def labelled_files(folder: AnyPath) -> tuple[list[str], Integers, list[str]]:
    """Files of a folder with one subfolder per class.

    Parameters
    ----------
    folder : path
        Files may lie deeper inside a class; hidden files and folders are ignored. A
        subfolder that may not be read and a link that leads out of the folder are
        errors.

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
    classes = sorted(_children(folder)[0])
    if not classes:
        raise ValueError(
            f"{folder} has no subfolder, so there are no classes; {_LAYOUT}."
        )
    inside = [_files_in(each) for each in classes]
    for path in (*classes, *chain(*inside)):
        _check_inside(path, folder)
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


def _visible(names):
    """Without hidden files and what Windows leaves behind."""
    litter = {"thumbs.db", "desktop.ini"}
    return [n for n in names if not n.startswith(".") and n.lower() not in litter]


def _files_in(folder):
    """Regular files of a folder, however deep, sorted."""
    found, waiting = [], [folder]
    while waiting:
        here = waiting.pop()
        folders, files = _children(here)
        found += files
        waiting += [each for each in folders if not each.is_symlink()]  # no circles
    return sorted(found)


def _check_inside(path, folder):
    """Reject links that lead out: a folder from others must not name other files."""
    if not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder)):
        raise ValueError(
            f"{path} is a link that leads out of {folder}; put copies in the place of "
            "links, e.g. cp -rL folder copy."
        )


def _children(folder):
    """Folders and regular files in a folder, links followed."""
    try:
        paths = [folder / name for name in _visible(os.listdir(folder))]
        kinds = [(path, _mode(path)) for path in paths]
    except PermissionError as error:
        raise PermissionError(
            f"the folder {folder} may not be read: change its permissions (chmod u+rx) "
            "or move it elsewhere."
        ) from error
    folders = [path for path, mode in kinds if stat.S_ISDIR(mode)]
    return folders, [path for path, mode in kinds if stat.S_ISREG(mode)]


def _mode(path):
    """What a path is; 0 for a link to nothing or to itself."""
    try:
        return os.stat(path).st_mode
    except PermissionError:
        raise
    except OSError:
        return 0


def listed(folder):
    """Files, codes and class names of a folder, or of a plain list of files."""
    if isinstance(folder, (str, os.PathLike)):
        return labelled_files(folder)
    files = [str(path) for path in folder]
    if not files:
        raise ValueError("the list of files is empty; pass at least one file.")
    return files, None, []
