"""What all readers of array files share, and NumPy's own formats.

In: a path. Out: a context with a mapping name -> ndarray of numbers or text. Objects
are rejected before they are read, so no pickle is ever loaded; sizes are compared with
those of the file before memory is allocated.
"""

import os
from collections.abc import Mapping
from contextlib import ExitStack, contextmanager
from math import prod

import numpy as np


class Rejected(ValueError):
    """A file, or a variable in it, that is not read; the message says why."""


class Arrays(Mapping):
    """Variables read when asked for.

    Attributes
    ----------
    shape_of : callable
        Name -> shape of the array, None of a variable that cannot be read as one.
    """

    def __init__(self, names, read, shape_of):
        self._names, self._read, self.shape_of = list(names), read, shape_of

    def __getitem__(self, name):
        return self._read(name)

    def __contains__(self, name):
        return name in self._names

    def __iter__(self):
        return iter(self._names)

    def __len__(self):
        return len(self._names)


def no_objects(path, name, dtype):
    """Reject Python objects: they are stored as pickles, which can run programs."""
    if np.dtype(dtype).hasobject:
        raise Rejected(
            f"{path}: the variable {name!r} holds Python objects, not numbers. They "
            "are pickles, which are never loaded; save it again as a plain array, "
            "e.g. array.astype(float)."
        )


def allowance(n_stored):
    """Bytes that a file of `n_stored` bytes may unpack to.

    Deflate makes 1032 bytes of one at most. Only forged sizes and arrays that were
    never written ask for more.
    """
    return 2**26 + 1100 * n_stored


def check_size(path, name, n_bytes, n_stored):
    """Reject an array that is far larger than the file that should hold it."""
    if n_bytes > allowance(n_stored):
        raise Rejected(
            f"{path}: {name!r} asks for {n_bytes:,} bytes but the file has "
            f"{n_stored:,}; it is damaged, forged or was never filled. Write it again."
        )


def check_regular(path):
    """Reject pipes, sockets and devices, which can block forever or never end."""
    if not (path.is_file() or path.is_dir()):
        raise Rejected(
            f"{path} is neither a file nor a folder but a pipe, a socket or a device; "
            "copy what it gives into a file."
        )


@contextmanager
def open_npz(path):
    """Arrays of a ``.npz`` file; one pickle in it and the whole file is rejected."""
    with ExitStack() as stack:
        file = stack.enter_context(open(path, "rb"))  # numpy leaves it open on errors
        try:
            archive = np.load(file, allow_pickle=False)
        except ValueError as error:  # NumPy would advise to allow pickles
            raise Rejected(
                f"{path} cannot be read as npz: it is no archive of arrays. Copy or "
                "export it again."
            ) from error
        if not hasattr(archive, "files"):
            raise Rejected(f"{path} holds one array, not an archive; name it .npy.")
        stack.enter_context(archive)
        total = 0  # of all members: they can share one place in the file
        for name in archive.files:
            with archive.zip.open(f"{name}.npy") as member:
                total += _check_header(path, name, member)
            check_size(path, name, total, os.path.getsize(path))
        yield archive


@contextmanager
def open_npy(path, mmap):
    """The array of a ``.npy`` file under the name "array"."""
    with open(path, "rb") as file:
        n_bytes = _check_header(path, path.name, file)
    check_size(path, path.name, n_bytes, os.path.getsize(path))
    array = np.load(path, mmap_mode="r" if mmap else None, allow_pickle=False)
    yield {"array": array}


def _check_header(path, name, file):
    """Bytes of the array that a ``.npy`` header describes."""
    version = np.lib.format.read_magic(file)
    read = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }.get(version)
    if read is None:  # version 3: names of fields beyond latin-1, no plain array
        raise Rejected(f"the array has .npy version {version}; save a plain array.")
    shape, _, dtype = read(file)
    no_objects(path, name, dtype)
    return prod(shape) * dtype.itemsize
