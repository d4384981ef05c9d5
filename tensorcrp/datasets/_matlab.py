"""MATLAB files as mappings from names to arrays.

In: a ``.mat`` file of version 4 to 7 (`_mat5`) or 7.3 (`_hdf5`). Out: a context with a
mapping name -> ndarray. Objects, cells, structures, functions, sparse and complex
matrices are rejected by name, before they are read.
"""

from contextlib import contextmanager

import numpy as np

from tensorcrp.datasets import _hdf5, _mat5
from tensorcrp.datasets._containers import Arrays, Rejected

_NUMBERS = {"double", "single", "logical", "char"}
_NUMBERS |= {f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)}
_REPAIRS = {"sparse": "full(x)", "complex": "real(x) or abs(x)"}


@contextmanager
def open_mat(path):
    """Variables of a ``.mat`` file; each is read when it is asked for."""
    with open(path, "rb") as file:
        start = file.read(520)
        if not start.startswith(b"MATLAB 7.3") and b"\x89HDF\r\n\x1a\n" not in start:
            variables = _mat5.variables(file)
            yield Arrays(
                variables,
                lambda name: _read(path, variables[name]),
                lambda name: _shape(variables[name].kind, variables[name].shape),
            )
            return
    with _hdf5.opened(path, deep=False) as file:
        names = [name for name in file.names if not name.startswith("#")]
        yield Arrays(
            names,
            lambda name: _read_73(path, file, name),
            lambda name: _shape_73(file, name),
        )


def _shape(kind, shape):
    """Of the array that is read: rows of letters are texts."""
    if kind not in _NUMBERS:
        return None
    return shape[:-1] if kind == "char" else shape


def _shape_73(file, name):
    stored = file.shape_of(name)
    return stored and _shape(file.describe(name)["kind"], stored[::-1])


def _read(path, variable):
    _check_kind(path, variable.name, variable.kind)
    return _mat5.read_variable(path, variable)


def _check_kind(path, name, kind):
    if kind not in _NUMBERS:
        repair = _REPAIRS.get(kind, "double(x) or cell2mat(x)")
        raise Rejected(
            f"{path}: the variable {name!r} is of MATLAB class {kind!r}; only plain "
            f"arrays are read. Save {repair} in MATLAB, or name another variable by "
            "data= and target=."
        )


def _read_73(path, file, name):
    """MATLAB 7.3 is HDF5 with the modes in reverse order."""
    about = file.describe(name)
    kind = "sparse" if about["sparse"] else about["kind"]
    if about["group"] and kind in _NUMBERS:
        kind = "struct"
    _check_kind(path, name, kind)
    array = file.read(name).T
    if kind == "char" and array.dtype.kind in "iu" and array.ndim == 2:
        return np.array(["".join(map(chr, row)).rstrip() for row in array])
    return array
