"""Data sets by name or path, and their random splits.

In: a name (digits, made sets, sets of `tensorcrp.datasets.fetch_dataset`, tasks on
them, sets that only the user has) or a path that `read_tensors` takes.
Out: samples (n, l_1, ..., l_N) in float64, class codes (n,), groups (n,) or None, and a
checksum; training and test indices of a split.
"""

import os
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from tensorcrp import datasets
from tensorcrp.datasets._sources import checksum
from tensorcrp.experiments._errors import BadRequest, check_names

VARIABLE = "TENSORCRP_DATA"
MADE = {
    "digits": datasets.load_digits,
    "moving_shapes": lambda: datasets.make_moving_shapes(
        30, frames=8, size=(16, 16), random_state=0
    ),
    "multichannel": lambda: datasets.make_multichannel(random_state=0),
    "tensor_classes": lambda: datasets.make_tensor_classification(random_state=0),
}
# The paper's sets that nobody may pass on: read from the user's own files.
OWN = ("uuim", "cvl", "pointing04_tilt", "pointing04_pan")
# Another array of the file as labels.
RELABELLED = {"cmu_sunglasses": ("cmu_faces", "sunglasses")}
# Samples that belong together are never on both sides of a split.
GROUPS = {"weizmann": "subject"}


class Skip(Exception):
    """This run cannot be done; the message is the reason that its row gives."""


@dataclass(frozen=True)
class Data:
    """Samples, class codes 0 to c - 1, groups or None, and what identifies them."""

    name: str
    X: np.ndarray
    y: np.ndarray
    groups: np.ndarray | None
    checksum: str

    @property
    def n_classes(self):
        return int(self.y.max()) + 1


def known_names():
    """Names that need no path."""
    return sorted([*MADE, *RELABELLED, *OWN, *datasets.list_datasets()])


def check_data(names):
    """Refuse a data folder that is not there, and names that are known nowhere."""
    folder = os.environ.get(VARIABLE)
    if folder and not Path(folder).is_dir():
        raise BadRequest(
            f"the data folder {folder} (from --data or {VARIABLE}) does not exist. "
            "Give the folder that holds NAME.npz files, or leave it out."
        )
    unknown = [n for n in names if n not in known_names() and not Path(n).exists()]
    for name in unknown:
        if os.sep in name or Path(name).suffix:
            raise BadRequest(f"{name} does not exist; check the path.")
    check_names("data set", unknown, known_names())


@contextmanager
def data_folder(path):
    """Look for data in this folder first, in this process and those it starts."""
    before = os.environ.get(VARIABLE)
    if path is not None:
        os.environ[VARIABLE] = path
    try:
        yield
    finally:
        os.environ.pop(VARIABLE, None)
        if before is not None:
            os.environ[VARIABLE] = before


@lru_cache(maxsize=2)
def load(name):
    """A data set as `Data`; `Skip` if it is not to be had here."""
    bunch = _bunch(name)
    X, y = bunch.data, bunch.target
    if y is None:
        raise BadRequest(f"{name} has no labels, and there is nothing to tell apart.")
    groups = bunch.get(GROUPS[name]) if name in GROUPS else None
    digest = checksum(X, y)
    if groups is not None:
        digest = checksum(np.frombuffer(digest.encode(), np.uint8), groups)
    _, codes = np.unique(y, return_inverse=True)
    return Data(name, _scaled(X), codes, groups, digest)


def _bunch(name):
    if name in MADE:
        return MADE[name]()
    if name in RELABELLED:
        source, labels = RELABELLED[name]
        bunch = _bunch(source)
        bunch.target = bunch[labels].astype(int)
        return bunch
    if name in OWN:
        return datasets.read_tensors(_own_path(name))
    if name in datasets.list_datasets():
        try:
            return datasets.fetch_dataset(name)
        except FileNotFoundError as error:
            raise Skip(f"data not found: {error}") from error
    try:
        return datasets.read_tensors(name)
    except (ValueError, TypeError, ImportError) as error:
        raise BadRequest(f"cannot read {name}: {error}") from error


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


def split(data, train, seed, repeat):
    """Training and test indices of one random split.

    Parameters
    ----------
    data : Data
    train : int or float
        Training samples per class, or the share of every class (of all groups, where
        there are groups). With groups and an integer, one half of the groups gives
        training samples, the other half is for test.
    seed, repeat : int

    Returns
    -------
    (train, test) : ndarrays of int, in random order within the classes
    """
    rng = np.random.default_rng([seed, repeat])
    order = rng.permutation(len(data.y))
    for_training = for_test = np.ones(len(order), bool)
    if data.groups is not None:
        groups = rng.permutation(np.unique(data.groups))
        share = train if isinstance(train, float) else 0.5
        for_training = np.isin(data.groups, groups[: round(share * len(groups))])
        for_test = ~for_training
    parts = []
    for code in range(data.n_classes):
        ids = order[data.y[order] == code]
        mine = ids[for_training[ids]]
        grouped = data.groups is not None
        wanted = train if isinstance(train, int) else _share(train, mine, grouped)
        chosen = mine[:wanted]
        rest = ids[for_test[ids] & ~np.isin(ids, chosen)]
        _check_sizes(code, len(mine), len(rest), wanted)
        parts.append((chosen, rest))
    return tuple(np.concatenate(part) for part in zip(*parts, strict=True))


def _share(train, mine, grouped):
    return len(mine) if grouped else round(train * len(mine))


def _check_sizes(code, available, rest, wanted):
    if available < wanted or rest == 0 or wanted < 2:
        raise Skip(
            f"class {code} has {available} samples to train on and {rest} left to test "
            f"on, too few for {wanted} training samples per class"
        )
