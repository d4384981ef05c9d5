"""Data sets by name or path.

In: a name (digits, synthetic sets, sets of `tensorcrp.datasets.fetch_dataset`, tasks on
them, sets that only the user has) or a path that `read_tensors` takes.
Out: samples (n, l_1, ..., l_N) in float64, class codes (n,), groups (n,) or None, and a
checksum. `random_splits` divides them.
"""

import os
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from tensorcrp import datasets
from tensorcrp.datasets.origins import VARIABLE, checksum
from tensorcrp.experiments import folder_cache
from tensorcrp.experiments.errors import (
    FORM,
    BadRequest,
    check_labelled,
    check_names,
)
from tensorcrp.experiments.given_splits import PROTOCOLS, check_apart, folder_split
from tensorcrp.files import file_groups
from tensorcrp.files.grouping import check_groups

SYNTHETIC = {
    "digits": datasets.load_digits,
    "moving_shapes": lambda: datasets.make_moving_shapes(
        30, frames=8, size=(16, 16), random_state=0
    ),
    "multichannel": lambda: datasets.make_multichannel(random_state=0),
    "tensor_classes": lambda: datasets.make_tensor_classification(random_state=0),
}
# The paper's sets that nobody may pass on: read from the user's own files.
PRIVATE_SETS = ("uuim", "cvl", "pointing04_tilt", "pointing04_pan")
# Another array of the file as labels.
RELABELLED = {"cmu_sunglasses": ("cmu_faces", "sunglasses")}
# Samples that belong together are never on both sides of a split.
GROUPS = {"weizmann": "subject"}


class Skip(Exception):
    """This run cannot be done; the message is the reason that its row gives."""


@dataclass(frozen=True)
class Data:
    """Samples with codes, and how they are split.

    Attributes
    ----------
    X : ndarray of shape (n, l_1, ..., l_N)
    y, groups : ndarrays of shape (n,)
        Class codes 0 to c - 1; groups or None.
    checksum : str
    labels : tuple of str
        Names of the classes.
    splits : tuple of (train, test)
        Given splits, of a protocol or of ``train/`` and ``test/`` folders; empty where
        they are random.
    classifiers : tuple of str
        Classifiers of a published protocol; empty for those of every method.
    """

    name: str
    X: np.ndarray
    y: np.ndarray
    groups: np.ndarray | None
    checksum: str
    labels: tuple = ()
    splits: tuple = ()
    classifiers: tuple = ()

    def class_name(self, code):
        """The label of a class as the user wrote it."""
        return self.labels[code] if self.labels else str(code)

    @property
    def n_classes(self):
        return int(self.y.max()) + 1


def known_names():
    """Names that need no path."""
    named = [*SYNTHETIC, *RELABELLED, *PROTOCOLS, *PRIVATE_SETS]
    return sorted([*named, *datasets.list_datasets()])


def check_data(names):
    """Reject a data folder that does not exist, and names that are known nowhere."""
    folder = os.environ.get(VARIABLE)
    if folder and not Path(folder).is_dir():
        raise BadRequest(
            f"the data folder {folder} ({VARIABLE}, or --data of tensorcrp reproduce) "
            "does not exist. Give the folder that holds NAME.npz files, or none."
        )
    for name in names:
        if name in known_names() and Path(name).exists():
            raise BadRequest(
                f"{name} is a built-in data set, and there is a file or folder {name} "
                f"here: write .{os.sep}{name} for yours, or rename it."
            )
    unknown = [n for n in names if n not in known_names() and not Path(n).exists()]
    for name in unknown:
        if os.sep in name or Path(name).suffix:
            raise BadRequest(f"{name} does not exist; check the path.")
    check_names("data set", unknown, known_names())


@contextmanager
def data_folder(path):
    """Look for data in this folder first, in this process and those it starts.

    What was loaded before is read again, and nothing stays loaded: a session may write
    a file again between two comparisons.
    """
    load_data.cache_clear()
    before = os.environ.get(VARIABLE)
    if path is not None:
        os.environ[VARIABLE] = path
    try:
        yield
    finally:
        load_data.cache_clear()
        os.environ.pop(VARIABLE, None)
        if before is not None:
            os.environ[VARIABLE] = before


def load_data(name, groups=""):
    """A data set as `Data`; `Skip` if it is not available.

    Parameters
    ----------
    name : str
        Name or path.
    groups : str
        Name of an array of the file; samples with the same entry are never on both
        sides of a split. Empty for what is known of the set.
    """
    if name in PROTOCOLS:
        if groups:
            raise BadRequest(
                f"{name} has splits of its own: leave --groups {groups} out."
            )
        return _by_protocol(name)
    return _load(name, groups or GROUPS.get(name), folder_cache.reader_settings())


@lru_cache(maxsize=2)
def _load(name, groups, settings):
    bunch = _bunch(name)
    X, y = bunch.data, bunch.target
    check_labelled(name, bunch)
    labels, codes = np.unique(y, return_inverse=True)
    of_files = name not in known_names() and _files(bunch) is not None
    names, splits = _names(labels, bunch), folder_split(bunch) if of_files else ()
    groups = _windows(bunch) if groups is None else _groups(name, bunch, groups, codes)
    digest = checksum(X, y)
    for part in (groups, *(ids for pair in splits for ids in pair)):
        if part is not None:
            digest = checksum(np.frombuffer(digest.encode(), np.uint8), part)
    check_apart(name, groups, splits)
    return Data(name, _scaled(X), codes, groups, digest, names, splits)


def _files(bunch):
    """The clips or images that samples come from; None if there are none.

    They are a list; an array of a file, or a column of a table, may be called so, too.
    """
    files = bunch.get("files")
    return files if isinstance(files, list) else None


def _windows(bunch):
    """Windows of one file belong together, whatever was asked for; None without any."""
    files = _files(bunch)
    if files is None or len(set(files)) == len(files):
        return None
    return np.unique(files, return_inverse=True)[1]


@lru_cache(maxsize=2)
def _by_protocol(name):
    """Samples of a set as a published protocol has them."""
    how = PROTOCOLS[name]
    plain, bunch = load_data(how.source), _bunch(how.source)
    X = plain.X if how.prepare is None else how.prepare(plain.X)
    splits = () if how.splits is None else tuple(how.splits(bunch, plain.y))
    groups = plain.groups
    if how.groups is not None:
        groups = _groups(name, bunch, how.groups, plain.y)
    ids = [np.zeros(1, int), *(part for pair in splits for part in pair)]
    digest = checksum(X, plain.y).encode()
    digest = checksum(np.frombuffer(digest, np.uint8), np.concatenate(ids))
    more = {"splits": splits, "classifiers": how.classifiers}
    return Data(name, X, plain.y, groups, digest, plain.labels, **more)


def _clear():
    """Forget what was loaded."""
    _load.cache_clear()
    _by_protocol.cache_clear()


load_data.cache_clear = _clear


def _groups(name, bunch, rule, codes):
    """Codes of the groups of samples: an array of a file, or a rule for its files."""
    if _files(bunch) is None:
        names = _column(name, bunch, rule, len(codes))
    else:
        try:
            names = file_groups(rule, bunch.files)
        except (ValueError, OSError) as error:
            raise BadRequest(f"{name}: {error}") from error
    groups = np.unique(names, return_inverse=True)[1]
    try:
        check_groups(rule, names, codes)
    except ValueError as error:
        raise BadRequest(f"{name}: {error}") from error
    return groups


def _column(name, bunch, array, n):
    """The array of a file that says which samples belong together."""
    others = [
        key
        for key, value in bunch.items()
        if key not in ("data", "target") and np.shape(value) == (n,)
    ]
    if array not in others:
        there = ", ".join(others) if others else "none"
        raise BadRequest(
            f"{name} has no array {array!r} with one entry per sample (--groups); "
            f"there are: {there}."
        )
    return np.asarray(bunch[array])


def _names(labels, bunch):
    """Names of the classes: those of folders, or the labels themselves."""
    names = bunch.get("target_names")
    if names is not None and len(names) == len(labels):
        return tuple(map(str, names))
    return tuple(map(str, labels))


def _bunch(name):
    if name in SYNTHETIC:
        return SYNTHETIC[name]()
    if name in RELABELLED:
        source, labels = RELABELLED[name]
        bunch = _bunch(source)
        bunch.target = bunch[labels].astype(int)
        return bunch
    if name in PRIVATE_SETS:
        return datasets.read_tensors(_own_path(name))
    if name in datasets.list_datasets():
        try:
            return datasets.fetch_dataset(name)
        except FileNotFoundError as error:
            raise Skip(f"data not found: {error}") from error
    try:
        return folder_cache.read_path(name)
    except ImportError as error:
        raise BadRequest(f"cannot read {name}: {error}") from error
    except (ValueError, TypeError, OSError) as error:
        form = "" if folder_cache.is_folder(name) else f" {FORM}"
        raise BadRequest(f"cannot read {name}: {error}{form}") from error


def _own_path(name):
    folder = os.environ.get(VARIABLE)
    kinds = ("", ".npz", ".mat", ".h5", ".zarr")
    places = [Path(folder or "") / f"{name}{kind}" for kind in kinds]
    for place in places if folder else []:
        if place.exists():
            return place
    raise Skip(
        f"data not found: {name} is not a public download; put {name}.npz (or .mat, "
        f"or a folder of images {name}/) into the folder that {VARIABLE} names"
    )


def _scaled(X):
    """float64; whole numbers (grey values) divided by the largest magnitude."""
    whole = X.dtype.kind in "iub"
    X = np.asarray(X, dtype=float)
    largest = np.abs(X).max() if whole else 1.0
    return X / largest if largest > 0 else X
