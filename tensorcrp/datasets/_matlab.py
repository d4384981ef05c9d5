"""MATLAB files as mappings from names to arrays.

In: a ``.mat`` file of version 4 to 7 (scipy) or 7.3 (h5py). Out: a context with a
mapping name -> ndarray. Objects, cells, structures, functions and sparse matrices are
refused by name, before they are read.
"""

from contextlib import contextmanager

import numpy as np
from scipy.io import loadmat, whosmat

from tensorcrp.datasets._containers import Arrays, Refused, import_h5py, no_objects

_NUMBERS = {"double", "single", "logical", "char"}
_NUMBERS |= {f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)}


@contextmanager
def open_mat(path):
    """Variables of a ``.mat`` file; each is read when it is asked for."""
    with open(path, "rb") as file:
        start = file.read(520)
    if start.startswith(b"MATLAB 7.3") or b"\x89HDF\r\n\x1a\n" in start:
        with _open_73(path) as arrays:
            yield arrays
        return
    kinds = {name: kind for name, _, kind in whosmat(path)}
    yield Arrays(kinds, lambda name: _read(path, name, kinds[name]))


def _read(path, name, kind):
    _check_kind(path, name, kind)
    array = loadmat(path, variable_names=[name], chars_as_strings=True)[name]
    no_objects(path, name, array.dtype)
    return np.char.rstrip(array) if array.dtype.kind == "U" else array


def _check_kind(path, name, kind):
    if kind not in _NUMBERS:
        repair = "full(x)" if kind == "sparse" else "double(x) or cell2mat(x)"
        raise Refused(
            f"{path}: the variable {name!r} is of MATLAB class {kind!r}; only plain "
            f"arrays are read. Save {repair} in MATLAB, or name another variable by "
            "data= and target=."
        )


@contextmanager
def _open_73(path):
    """MATLAB 7.3 is HDF5 with the modes in reverse order."""
    h5py = import_h5py(path)
    with h5py.File(path, "r") as file:
        names = [name for name in file if not name.startswith("#")]
        yield Arrays(names, lambda name: _read_73(path, file[name], name))


def _read_73(path, item, name):
    kind = item.attrs.get("MATLAB_class", b"double")
    kind = kind.decode() if isinstance(kind, bytes) else str(kind)
    if "MATLAB_sparse" in item.attrs:
        kind = "sparse"
    _check_kind(path, name, kind if hasattr(item, "dtype") else _group(kind))
    no_objects(path, name, item.dtype)
    array = item[()].T
    if kind == "char":
        return np.array(["".join(map(chr, row)).rstrip() for row in array])
    return array


def _group(kind):
    return kind if kind not in _NUMBERS else "struct"
