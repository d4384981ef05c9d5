"""HDF5 files as mappings from names to arrays: the one gate to h5py.

In: a path. Out: a context with an `Hdf5File`. The file is parsed by another process
with limits, see `_hdf5_child`; what comes back are the bytes of plain arrays. Used for
``.h5`` and for MATLAB 7.3.
"""

import importlib.util
import json
import os
import subprocess
import sys
from contextlib import contextmanager
from math import prod
from pathlib import Path

import numpy as np

from tensorcrp.datasets._containers import Arrays, Rejected, allowance, check_size

_SCRIPT = Path(__file__).with_name("_hdf5_child.py")


@contextmanager
def open_hdf5(path):
    """Data sets of an HDF5 file by key, e.g. "train/X"."""
    with opened(path, deep=True) as file:
        yield Arrays(file.names, file.read, file.shape_of)


@contextmanager
def opened(path, *, deep):
    """An `Hdf5File`; `deep` lists the arrays in groups too, else the top only."""
    _check_h5py(path)
    n_stored = os.path.getsize(path)
    command = [sys.executable, "-I", "-S", str(_SCRIPT), os.path.abspath(path)]
    command.append(json.dumps(_settings(n_stored, deep)))
    child = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield Hdf5File(path, child, n_stored)
    finally:
        child.kill()
        child.communicate()


def _check_h5py(path):
    try:
        found = importlib.util.find_spec("h5py")
    except ValueError:  # blocked in sys.modules
        found = None
    if found is None:
        raise ImportError(f"{path} is an HDF5 file: pip install tensorcrp[files]")


def _settings(n_stored, deep):
    """Limits of the process: they grow with the file."""
    limits = {"CPU": 5 + n_stored // 2**20, "AS": 2**31 + 2 * n_stored, "CORE": 0}
    return {
        "sys_path": sys.path,
        "deep": deep,
        "limits": limits,
        "most_bytes": allowance(n_stored),
        "most_chunks": 4096 + n_stored,
    }


class Hdf5File:
    """A file that another process has open.

    Attributes
    ----------
    names : list of str
        Names of the variables.
    """

    def __init__(self, path, child, n_stored):
        self._path, self._child, self._n_stored = path, child, n_stored
        self.names = self._answer()["names"]

    def describe(self, name):
        """Whether a variable is a group, its shape, and MATLAB's notes on it."""
        return self._ask(name, read=False)

    def shape_of(self, name):
        """Shape of an array of numbers or text, None of all else."""
        try:
            return self.describe(name).get("shape")
        except ValueError:  # damaged, or in another file
            return None

    def read(self, name):
        """One array of numbers or text."""
        header = self._ask(name, read=True)
        if header.get("group"):
            raise Rejected(f"{self._path}: {name!r} is a group, not an array.")
        dtype, shape = np.dtype(header["dtype"]), tuple(header["shape"])
        if dtype.kind not in "biufU":
            raise Rejected(f"{self._path}: {name!r} has the type {dtype}.")
        check_size(self._path, name, dtype.itemsize * prod(shape), self._n_stored)
        array = np.empty(shape, dtype)
        left = memoryview(array.reshape(-1).view(np.uint8)) if array.nbytes else b""
        while left:
            n = self._child.stdout.readinto(left)
            if not n:
                self._died()
            left = left[n:]
        return array

    def _ask(self, name, read):
        request = json.dumps({"name": name, "read": read}) + "\n"
        try:
            self._child.stdin.write(request.encode())
            self._child.stdin.flush()
        except BrokenPipeError:
            self._died()
        return self._answer()

    def _answer(self):
        line = self._child.stdout.readline()
        if not line.endswith(b"\n"):
            self._died()
        header = json.loads(line)
        if header.get("elsewhere"):
            raise Rejected(f"{self._path}: {header['elsewhere']}")
        if "error" in header:
            raise ValueError(header["error"])
        return header

    def _died(self):
        """The process ended before its answer did."""
        self._child.kill()
        code = self._child.wait()
        raise ValueError(
            f"the HDF5 library stopped with code {code}, by a crash or at a limit of "
            "time or memory"
        )
