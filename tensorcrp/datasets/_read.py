"""One reader for arrays in files and for folders of images or clips.

In: a path. Out: samples (n, l_1, ..., l_N) and labels (n,). Nothing in a file is ever
executed: no pickle is loaded, and what cannot be numbers or text is rejected.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import contextmanager
from math import isqrt, prod
from pathlib import Path
from typing import Any, Literal, overload

import numpy as np

from tensorcrp.base.parameters import check_choice
from tensorcrp.base.types import AnyPath, Array, Fields
from tensorcrp.datasets._bunch import SampleBunch, as_bunch, hand_out

# Names of the data and of the labels that are looked for, in this order.
_PAIRS = [("X", "y"), ("X", "Y"), ("fea", "gnd"), ("data", "target")]
_PAIRS += [("data", "labels"), ("data", "label"), ("x", "y"), ("fea3D", "gnd")]


@overload
def read_tensors(
    path: AnyPath,
    *,
    data: str | None = ...,
    target: str | None = ...,
    sample_shape: Sequence[int] | None = ...,
    order: Literal["C", "F"] | None = ...,
    samples: Literal["first", "last"] = ...,
    mmap: bool = ...,
    return_X_y: Literal[True],
    **options: Any,
) -> tuple[Array, Any]: ...
@overload
def read_tensors(
    path: AnyPath,
    *,
    data: str | None = ...,
    target: str | None = ...,
    sample_shape: Sequence[int] | None = ...,
    order: Literal["C", "F"] | None = ...,
    samples: Literal["first", "last"] = ...,
    mmap: bool = ...,
    return_X_y: Literal[False] = ...,
    **options: Any,
) -> Fields: ...
def read_tensors(
    path: AnyPath,
    *,
    data: str | None = None,
    target: str | None = None,
    sample_shape: Sequence[int] | None = None,
    order: Literal["C", "F"] | None = None,
    samples: Literal["first", "last"] = "first",
    mmap: bool = False,
    return_X_y: bool = False,
    **options: Any,
) -> Fields | tuple[Array, Any]:
    """Read labelled tensors from a file or a folder.

    ============== =================================================================
    path           what is read
    ============== =================================================================
    ``.npz``       arrays ``X`` and ``y``, further arrays as further fields
    ``.npy``       samples; labels from the file `target`, or none
    ``.mat``       MATLAB up to version 7, and 7.3 if h5py is installed; further
                   arrays with one entry per sample as further fields
    ``.h5 .hdf5``  HDF5 data sets by key (extra ``files``), and the same
    ``.zarr``      Zarr arrays by key (extra ``files``), and the same
    folder         one subfolder per class, holding images (extra ``files``) or
                   video clips (extra ``video``)
    ============== =================================================================

    Gray images keep their depth: 8 bits as uint8, 16 bits as uint16, and int32, uint32
    and float32 where TIFF has them; colour is read with 8 bits. Images and clips are
    turned upright, as cameras note (EXIF). Soft links in HDF5
    files are followed; links, storage and virtual data sets in other files are errors.

    Parameters
    ----------
    path : path
        A file or a folder.
    data, target : str, default=None
        Names of the variables. By default the first pair found of X, y; X, Y; fea, gnd;
        data, target; data, labels. `target` may be left out of a file that has none.
    sample_shape : tuple of int, default=None
        Shape of a sample where the file holds flattened ones, e.g. (32, 32). Rows of
        ``fea`` that fit a square are taken as square images.
    order : {"C", "F"}, default=None
        How flattened samples are stored: "C" row after row, "F" column after column,
        as MATLAB does. None is "F" for ``.mat`` and "C" for all else.
    samples : {"first", "last"}, default="first"
        Which axis counts the samples; in many MATLAB files it is the last.
    mmap : bool, default=False
        Map a ``.npy`` file into memory instead of reading it.
    return_X_y : bool, default=False
        Return ``(X, y)`` instead of a Bunch.
    **options
        For folders: `size`, `color`, `on_error`, and for clips everything that
        `tensorcrp.video.read_clips` takes.

    Returns
    -------
    Bunch or (X, y)
        ``target`` is None if there are no labels.

    Examples
    --------
    >>> import numpy as np
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from tensorcrp.datasets import read_tensors
    >>> with TemporaryDirectory() as folder:
    ...     np.savez(Path(folder) / "a.npz", X=np.ones((6, 4, 3)), y=[0, 1] * 3)
    ...     X, y = read_tensors(Path(folder) / "a.npz", return_X_y=True)
    >>> X.shape, y.tolist()
    ((6, 4, 3), [0, 1, 0, 1, 0, 1])
    """
    check_choice("samples", samples, ("first", "last"))
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist; check the path.")
    kind = _kind(path)
    if kind == "folder":
        from tensorcrp.datasets._folders import read_folder

        return hand_out(read_folder(path, **options), return_X_y)
    if options:
        raise TypeError(f"{sorted(options)} are for folders, but {path} is a file.")
    with _opened(kind, path, mmap) as arrays:
        names = _names(path, kind, list(arrays), data, target)
        found = {name: arrays[name] for name in names if name in arrays}
        shape = found[names[0]].shape
        n = shape[-1:] if samples == "last" else shape[:1]
        rest = _rest(kind, arrays, names, n)
    if kind == "npy" and target is not None:
        with _opened("npy", Path(target), False) as arrays:
            found[target] = arrays["array"]
    X, y = found[names[0]], found.get(names[1])
    X = np.moveaxis(X, -1, 0) if samples == "last" else X
    if sample_shape is None and names[0] == "fea" and X.ndim == 2:
        sample_shape = _square(path, X.shape[1])
    X = _unflattened(path, X, sample_shape, order or ("F" if kind == "mat" else "C"))
    y = _labels(path, X, y, names)
    DESCR = f"{len(X)} samples of shape {X.shape[1:]} read from {path}."
    return hand_out(SampleBunch(**{**rest, **as_bunch(X, y, DESCR)}), return_X_y)


def _kind(path):
    """npz, npy, mat, hdf5, zarr or folder."""
    suffix = path.suffix.lower()
    marks = (".zgroup", ".zarray", "zarr.json")
    if suffix == ".zarr" or any((path / mark).exists() for mark in marks):
        return "zarr"
    if path.is_dir():
        return "folder"
    kinds = {
        ".npz": "npz",
        ".npy": "npy",
        ".mat": "mat",
        ".h5": "hdf5",
        ".hdf5": "hdf5",
    }
    if suffix not in kinds:
        raise ValueError(
            f"{path} is not a folder, and ends in {suffix!r}; known endings are "
            f"{', '.join(kinds)} and .zarr."
        )
    return kinds[suffix]


@contextmanager
def _opened(kind, path, mmap):
    """A mapping name -> array; whatever goes wrong becomes an error with the path."""
    from tensorcrp.datasets import _containers, _hdf5, _matlab, _zarr

    open_it = {
        "npz": _containers.open_npz,
        "npy": lambda path: _containers.open_npy(path, mmap),
        "mat": _matlab.open_mat,
        "hdf5": _hdf5.open_hdf5,
        "zarr": _zarr.open_zarr,
    }[kind]
    _containers.check_regular(path)
    try:
        with open_it(path) as arrays:
            yield arrays
    except (_containers.Rejected, ImportError):
        raise
    except PermissionError as error:
        raise PermissionError(
            f"permission to read {path} is denied; change it, e.g. by chmod u+r."
        ) from error
    except Exception as error:  # damaged files make parsers fail in many ways
        raise _containers.Rejected(
            f"{path} cannot be read as {kind} ({type(error).__name__}: {error}); it is "
            "damaged, cut off or of another kind. Copy or export it again."
        ) from error


def _names(path, kind, there, data, target):
    """Names of the two variables; a label name of None for no labels."""
    from tensorcrp.datasets._containers import Rejected

    if kind == "npy":
        return "array", target
    for name in (data, target):
        if name is not None and name not in there:
            raise Rejected(f"{path} has no variable {name!r}; it has {sorted(there)}.")
    for x, y in _PAIRS:
        if (data or x) == x and x in there and (target or y) in there:
            return x, target or y
    if data is not None:
        return data, target
    if len(there) == 1:
        return there[0], None
    raise Rejected(
        f"{path} has the variables {sorted(there)}: say which are the samples and the "
        'labels, e.g. read_tensors(path, data="X", target="y").'
    )


def _rest(kind, arrays, names, n):
    """Further arrays: all of a ``.npz`` file, our own form; else those of samples."""
    others = [name for name in arrays if name not in names]
    if kind == "npz":
        return {name: arrays[name] for name in others}
    vectors = [name for name in others if _is_vector(arrays.shape_of(name), n)]
    return {name: _whole(arrays[name].reshape(-1)) for name in vectors}


def _is_vector(shape, n):
    """Whether an array has one entry per sample; MATLAB has (n, 1) and (1, n)."""
    if shape is None:
        return False
    return (max(shape, default=1),) == (prod(shape),) == n


def _square(path, n_features):
    side = isqrt(n_features)
    if side * side != n_features:
        raise ValueError(
            f"the rows of 'fea' in {path} have {n_features} entries, which is no "
            "square; pass sample_shape, e.g. sample_shape=(112, 92)."
        )
    return side, side


def _unflattened(path, X, sample_shape, order):
    """Samples of the given shape; images stored column by column turned upright."""
    check_choice("order", order, ("C", "F"))
    if X.ndim < 2 or X.dtype.kind not in "biuf" or not len(X):
        raise ValueError(
            f"the samples in {path} have shape {X.shape} and dtype {X.dtype}; numbers "
            "of shape (n, l_1, ..., l_N), n > 0, are needed. Name others by data=."
        )
    if sample_shape is None or X.shape[1:] == tuple(sample_shape):
        return X
    shape = tuple(sample_shape)
    if X.ndim != 2 or prod(shape) != X.shape[1]:
        raise ValueError(
            f"samples of shape {X.shape[1:]} in {path} do not fit sample_shape={shape}."
        )
    if order == "C":
        return X.reshape(len(X), *shape)
    turned = X.reshape(len(X), *shape[::-1])
    return turned.transpose(0, *range(len(shape), 0, -1))


def _labels(path, X, y, names):
    """Labels (n,), whole numbers as integers, or None."""
    if y is None:
        return None
    y = np.squeeze(y) if y.size != 1 else y.reshape(-1)
    if y.shape != (len(X),):
        raise ValueError(
            f"{path}: the labels {names[1]!r} have shape {y.shape} but there are "
            f'{len(X)} samples in {names[0]!r}. Pass samples="last" if samples are '
            "counted last, or name other variables by data= and target=."
        )
    if y.dtype.kind not in "biufUS":
        raise ValueError(
            f"{path}: the labels {names[1]!r} have dtype {y.dtype}; numbers or text "
            "are needed. Name another variable by target=."
        )
    return _whole(y)


def _whole(y):
    """Floats that are whole numbers as integers, and bytes as text."""
    if y.dtype.kind == "S":
        return np.char.decode(y, "utf-8", "backslashreplace")
    # Beyond 2**53 a float is no exact whole number, and beyond 2**63 no integer.
    whole = y.dtype.kind == "f" and np.all(np.abs(y) <= 2**53)
    return y.astype(int) if whole and np.array_equal(y, np.rint(y)) else y
