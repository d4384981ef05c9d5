"""Zarr folders as mappings from names to arrays.

In: a folder. Out: a context with a mapping name -> ndarray. What the folder holds is
looked at before zarr opens it: no codec that unpickles, no link that leaves it, no
pipe, no array that is far larger than its files.
"""

import json
from contextlib import contextmanager
from math import ceil, prod
from pathlib import Path

import numpy as np

from tensorcrp.datasets._containers import (
    Arrays,
    Rejected,
    check_regular,
    check_size,
    no_objects,
)

_MARKS = (".zarray", ".zmetadata", "zarr.json")


@contextmanager
def open_zarr(path):
    """Arrays of a Zarr folder by key, or one array without a name."""
    path = Path(path)
    n_stored = _check_inside(path)
    _reject_pickling_codecs(path)
    try:
        import zarr
    except ImportError as error:
        raise ImportError(
            f"{path} is a Zarr folder: pip install tensorcrp[files]"
        ) from error

    def opened(name):
        # Each array by its own description: the consolidated one of a group could say
        # something else.
        folder = path if name == "array" and "." in keys else path / name
        array = zarr.open_array(str(folder), mode="r")
        _check_array(path, array, name, n_stored)
        return array

    keys = _arrays(path)
    names = ["array"] if "." in keys else keys
    yield Arrays(
        names, lambda n: np.asarray(opened(n)[...]), lambda n: _shape(opened, n)
    )


def _shape(opened, name):
    """Shape of an array, None of one that is rejected."""
    try:
        return opened(name).shape
    except Rejected:
        return None


def _check_inside(path):
    """Bytes in a folder of files; anything else in it is rejected."""
    home, n_stored = path.resolve(), 0
    for each in path.rglob("*"):
        if not each.resolve().is_relative_to(home):
            raise Rejected(f"{each} leads out of {path}; copy the file in its place.")
        check_regular(each)
        n_stored += each.stat().st_size
    return n_stored


def _arrays(path):
    """Keys of the arrays below a Zarr folder, read off its descriptions."""
    keys = {mark.parent for mark in path.rglob(".zarray")}
    for mark in path.rglob("zarr.json"):
        if json.loads(mark.read_text()).get("node_type") == "array":
            keys.add(mark.parent)
    return sorted(key.relative_to(path).as_posix() for key in keys)


def _check_array(path, array, name, n_stored):
    no_objects(path, name, array.dtype)
    check_size(path, name, array.dtype.itemsize * prod(array.shape), n_stored)
    sizes = zip(array.shape, array.chunks, strict=True)  # of shards, the inner ones
    n_chunks = prod(ceil(n / max(1, chunk)) for n, chunk in sizes)
    if n_chunks > 4096 + n_stored:
        raise Rejected(
            f"{path}: {name!r} has {n_chunks:,} chunks but its folder {n_stored:,} "
            "bytes; it is damaged, forged or was never filled. Write it again."
        )


def _reject_pickling_codecs(path):
    """Zarr can name "pickle" as a filter of any array: look before it is opened."""
    for mark in _MARKS:
        for file in path.rglob(mark):
            if any("pickle" in name for name in _codecs(json.loads(file.read_text()))):
                raise Rejected(
                    f"{file.parent} is stored as pickles, which are never loaded; "
                    "write it again without object_codec or filters."
                )


def _codecs(description):
    """Names of all codecs in a description of arrays, however deep."""
    if isinstance(description, dict):
        for key, value in description.items():
            if key in ("id", "name") and isinstance(value, str):
                yield value.lower()
            yield from _codecs(value)
    elif isinstance(description, list):
        for value in description:
            yield from _codecs(value)
