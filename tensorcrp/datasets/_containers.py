"""NumPy, HDF5 and Zarr files as mappings from names to arrays.

In: a path. Out: a context with a mapping name -> ndarray of numbers or text. Objects
are refused before they are read, so no pickle is ever loaded.
"""

import json
from collections.abc import Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

import numpy as np


class Refused(ValueError):
    """A file, or a variable in it, that is not read; the message says why."""


class Arrays(Mapping):
    """Variables read when asked for."""

    def __init__(self, names, read):
        self._names, self._read = list(names), read

    def __getitem__(self, name):
        return self._read(name)

    def __contains__(self, name):
        return name in self._names

    def __iter__(self):
        return iter(self._names)

    def __len__(self):
        return len(self._names)


def no_objects(path, name, dtype):
    """Refuse Python objects: they are stored as pickles, which can run programs."""
    if np.dtype(dtype).hasobject:
        raise Refused(
            f"{path}: the variable {name!r} holds Python objects, not numbers. They "
            "are pickles, which are never loaded; save it again as a plain array, "
            "e.g. array.astype(float)."
        )


@contextmanager
def open_npz(path):
    """Arrays of a ``.npz`` file; one pickle in it and the whole file is refused."""
    with ExitStack() as stack:
        file = stack.enter_context(open(path, "rb"))  # numpy leaves it open on errors
        archive = np.load(file, allow_pickle=False)
        if not hasattr(archive, "files"):
            raise Refused(f"{path} holds one array, not an archive; name it .npy.")
        stack.enter_context(archive)
        for name in archive.files:
            with archive.zip.open(f"{name}.npy") as member:
                no_objects(path, name, _dtype_in_header(member))
        yield archive


@contextmanager
def open_npy(path, mmap):
    """The array of a ``.npy`` file under the name "array"."""
    with open(path, "rb") as file:
        no_objects(path, path.name, _dtype_in_header(file))
    array = np.load(path, mmap_mode="r" if mmap else None, allow_pickle=False)
    yield {"array": array}


def _dtype_in_header(file):
    version = np.lib.format.read_magic(file)
    read = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }.get(version)
    if read is None:  # version 3: names of fields beyond latin-1, no plain array
        raise Refused(f"the array has .npy version {version}; save a plain array.")
    return read(file)[2]


@contextmanager
def open_hdf5(path):
    """Data sets of an HDF5 file by key, e.g. "train/X"."""
    h5py = import_h5py(path)
    with h5py.File(path, "r") as file:
        names = []
        file.visititems(
            lambda name, item: (
                names.append(name) if isinstance(item, h5py.Dataset) else None
            )
        )
        yield Arrays(names, lambda name: read_hdf5(path, file, name))


def import_h5py(path):
    """The package h5py, or an error that says how to get it."""
    try:
        import h5py
    except ImportError as error:
        raise ImportError(
            f"{path} is an HDF5 file: pip install tensorcrp[files]"
        ) from error
    return h5py


def read_hdf5(path, file, name):
    """One data set; text becomes str, references and foreign storage are refused."""
    import h5py

    item = file[name]
    if item.external or item.is_virtual:
        raise Refused(f"{path}: {name!r} lies in other files; copy it into this one.")
    if h5py.check_string_dtype(item.dtype) is not None:
        return np.asarray(item.asstr()[()]).astype(str)
    no_objects(path, name, item.dtype)
    return item[()]


@contextmanager
def open_zarr(path):
    """Arrays of a Zarr folder by key, or one array without a name."""
    _refuse_pickling_codecs(path)
    try:
        import zarr
    except ImportError as error:
        raise ImportError(
            f"{path} is a Zarr folder: pip install tensorcrp[files]"
        ) from error
    root = zarr.open(str(path), mode="r")
    if hasattr(root, "dtype"):
        yield Arrays(["array"], lambda name: _read_zarr(path, root, name))
        return
    names = _zarr_arrays(Path(path))
    yield Arrays(names, lambda name: _read_zarr(path, root[name], name))


def _zarr_arrays(path):
    """Keys of the arrays below a Zarr folder, read off its descriptions."""
    keys = {mark.parent for mark in path.rglob(".zarray")}
    for mark in path.rglob("zarr.json"):
        if json.loads(mark.read_text()).get("node_type") == "array":
            keys.add(mark.parent)
    return sorted(key.relative_to(path).as_posix() for key in keys)


def _read_zarr(path, array, name):
    no_objects(path, name, array.dtype)
    return np.asarray(array[...])


def _refuse_pickling_codecs(path):
    """Zarr can name "pickle" as a filter of any array: look before it is opened."""
    for mark in (".zarray", ".zmetadata", "zarr.json"):
        for file in Path(path).rglob(mark):
            if any("pickle" in name for name in _codecs(json.loads(file.read_text()))):
                raise Refused(
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
