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
    split = train_test_folders(folder)
    if split is not None:
        raise ValueError(
            f"{folder} holds a split, not two classes: read {split[0]} and {split[1]} "
            "one after the other."
        )
    classes = sorted(_children(folder)[0])
    if not classes:
        raise ValueError(
            f"{folder} has no subfolder, so there are no classes; {_LAYOUT}."
        )
    for path in classes:  # before they are listed
        _check_inside(path, folder)
    inside = [_files_in(each) for each in classes]
    for path in chain(*inside):
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


def files_below(folder: AnyPath) -> list[str]:
    """All files of a folder, however deep.

    Parameters
    ----------
    folder : path
        Hidden files and folders are ignored. A subfolder that may not be read and a
        link that leads out of the folder are errors.

    Returns
    -------
    list of str
        Sorted.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from tensorcrp.video import files_below
    >>> with TemporaryDirectory() as folder:
    ...     (Path(folder) / "new").mkdir()
    ...     (Path(folder) / "new" / "a.mp4").touch()
    ...     [Path(file).name for file in files_below(folder)]
    ['a.mp4']
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise FileNotFoundError(f"{folder} is not a folder; check the path.")
    found = _files_in(folder)
    for path in found:
        _check_inside(path, folder)
    return [str(path) for path in found]


_TRAIN = ("train", "training")
_TEST = ("test", "testing")
_VALIDATION = ("val", "valid", "validation")


def train_test_folders(folder: AnyPath) -> tuple[str, str] | None:
    """The two halves of a folder that is split for training and test.

    Parameters
    ----------
    folder : path
        A split is a folder with two subfolders, called ``train`` (or ``training``) and
        ``test`` (or ``testing``), both with one subfolder per class. A third one called
        ``val``, ``valid`` or ``validation`` is left out.

    Returns
    -------
    (str, str) or None
        Folder of the training files and folder of the test files; None if the folder
        is not a split.

    Raises
    ------
    ValueError
        If the two subfolders hold files and no classes, if there are other subfolders
        beside them, or if one of the two is missing.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from tensorcrp.video import train_test_folders
    >>> with TemporaryDirectory() as folder:
    ...     for name in ("train/run", "train/walk", "test/run", "test/walk", "val/run"):
    ...         (Path(folder) / name).mkdir(parents=True)
    ...     [Path(half).name for half in train_test_folders(folder)]
    ['train', 'test']
    """
    children = {path.name.lower(): path for path in _children(Path(folder))[0]}
    train, test, validation = (
        next((children.pop(name) for name in names if name in children), None)
        for names in (_TRAIN, _TEST, _VALIDATION)
    )
    halves = [half for half in (train, test) if half is not None]
    others = sorted(children.values())
    if not halves or (len(halves) == 1 and _are_classes(halves[0], others, validation)):
        return None
    if others:
        raise ValueError(_mixed_words(folder, halves, others))
    if train is None or test is None:
        raise ValueError(_half_words(halves[0], validation))
    for half in (train, test):
        if not _children(half)[0]:
            raise ValueError(
                f"{half} holds files and no class folders; {_LAYOUT}, in "
                f"{train.name}/ and in {test.name}/. If these are names of classes, "
                "rename the folders."
            )
    return str(train), str(test)


def _are_classes(half, others, validation):
    """Whether one folder called train or test is a class: a train is a vehicle, too.

    A half of a split has folders inside, where classes beside it have files.
    """
    deep = bool(_children(half)[0])
    if validation is not None and not others:
        return not deep
    return bool(others) and (not deep or all(_children(each)[0] for each in others))


def _mixed_words(folder, halves, others):
    names = " and ".join(f"{half.name}/" for half in halves)
    few = ", ".join(f"{each.name}/" for each in others[:3])
    return (
        f"{folder} has {names}, as a split has, beside {few}, as classes are called. "
        "Keep folder/train/class/file and folder/test/class/file alone (and val/, "
        "which is left out), or rename what are classes."
    )


def _half_words(half, validation):
    beside = "" if validation is None else f" beside {validation.name}/"
    return (
        f"{half} is one half of a split{beside}, without the other: name it train/ or "
        f"test/ and add the other half, or give {half} itself."
    )


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
            f"permission to read the folder {folder} is denied: change it (chmod u+rx) "
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
