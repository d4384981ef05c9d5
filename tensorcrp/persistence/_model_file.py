"""Models in files: `save` and `load`.

In: a fitted or unfitted estimator of the package and a path. Out: a file of arrays and
texts (`_container`), replaced whole (`replacing`), and the same estimator from it.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np
import sklearn

from tensorcrp.base.files import open_regular, replacing
from tensorcrp.base.types import AnyPath
from tensorcrp.persistence._container import pack, unpack
from tensorcrp.persistence._estimators import kinds, model_from, take_apart
from tensorcrp.persistence._json import ModelFormatError, read_json, write_json
from tensorcrp.persistence._limits import check_trees
from tensorcrp.persistence._plain import Reader, Writer

# A file of a newer minor version is read, with what is unknown left out; one of a
# newer major version is not. The header itself is the same in every version.
MAJOR, MINOR = 1, 4
ONCE = 2  # minor version since which every array is named once
PARTS = {"format", "class", "sample_shape", "versions", "parameters", "state"}


def save(estimator: Any, path: AnyPath) -> None:
    """Save an estimator to a file without pickle.

    The file has the safetensors layout: any reader of that format finds the arrays. It
    is written to a temporary file in the same folder, flushed to the disk and renamed:
    whatever interrupts the process, `path` is the old file or the new one. A symbolic
    link at `path` is replaced, not followed. The same model gives the same bytes.

    Parameters
    ----------
    estimator : estimator of tensorcrp, or Pipeline
        Fitted or not, or in the middle of a stream of batches. Its parameters must be
        plain: numbers, strings, arrays, a RandomState, and for `TensorCRPCV` the
        classifiers and splitters listed in `tensorcrp.persistence`. The steps of a
        scikit-learn `Pipeline` are estimators of the package, `CLASSIFIERS` and
        scalers.
    path : path
        By convention it ends in ``.safetensors``.

    Raises
    ------
    ModelFormatError
        If something in the estimator cannot be saved; nothing is written then.

    Examples
    --------
    >>> import tempfile
    >>> from sklearn.datasets import load_digits
    >>> from tensorcrp import TensorCRP
    >>> from tensorcrp.persistence import load, save
    >>> X, y = load_digits().images, load_digits().target
    >>> crp = TensorCRP(rank=2).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(crp, f"{folder}/digits.safetensors")
    ...     again = load(f"{folder}/digits.safetensors")
    >>> bool((again.transform(X) == crp.transform(X)).all())
    True
    """
    os.fspath(path)  # the wrong type of path, before anything else
    parts = take_apart(estimator)
    own = kinds()
    writer = Writer(own)
    params = writer.json(parts["params"], "")
    state = writer.json(parts["state"], "")
    texts = {
        "format": f"{MAJOR}.{MINOR}",
        "class": parts["class"],
        "sample_shape": write_json(sample_shape(estimator)),
        "versions": write_json(_versions()),
        "parameters": write_json(params),
        "state": write_json(state),
    }
    check_trees([params, state], writer.arrays, {kind.tag for kind in own})
    with replacing(path) as file:
        file.writelines(pack(texts, writer.arrays))


def load(path: AnyPath, *, max_bytes: int = 2**30) -> Any:
    """Load an estimator from a file that `save` wrote.

    No code in the file is executed. A class is looked up in a table of this package,
    every size is compared with that of the file before memory is asked for, shapes must
    agree with each other, and a checksum detects damage. It is not a signature: whoever
    can write the file can write another model.

    Parameters
    ----------
    path : path
        A regular file; a symbolic link is followed.
    max_bytes : int, default=2**30
        Larger files are rejected. Memory is a small multiple of the file.

    Returns
    -------
    estimator
        Equal to the one that was saved.

    Raises
    ------
    ModelFormatError
        If the file is damaged, was not written by `save`, or has a newer major version.
    OSError
        If the file cannot be opened or read.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from tensorcrp.baselines import MPCA
    >>> from tensorcrp.persistence import load, save
    >>> with TemporaryDirectory() as folder:
    ...     save(MPCA(sizes=(4, 3)), f"{folder}/mpca.safetensors")
    ...     print(load(f"{folder}/mpca.safetensors"))
    MPCA(sizes=(4, 3))
    """
    with _open_model(path, max_bytes) as (file, size):
        texts, arrays = unpack(file, size)
    minor = _check_version(texts)
    newer = minor > MINOR
    if PARTS - set(texts) or (set(texts) - PARTS - {"tensorcrp_sha256"} and not newer):
        raise ModelFormatError(f"a header with the texts {sorted(texts)}."[:300])
    written = read_json(texts["versions"])
    if type(written) is not dict or not all(type(v) is str for v in written.values()):
        raise ModelFormatError("the header does not say which versions wrote it.")
    trees = [read_json(texts[name]) for name in ("parameters", "state")]
    known = kinds(newer, written.get("scikit-learn", "unknown"))
    tags = {kind.tag for kind in known}
    uses = 2 if minor < ONCE else 1
    check_trees(trees, arrays, tags, uses=uses, complete=not newer)
    params, state = map(Reader(arrays, known).value, trees)
    parts = {"class": texts["class"], "params": params, "state": state}
    estimator = model_from(parts, newer)
    if read_json(texts["sample_shape"]) != sample_shape(estimator):
        raise ModelFormatError("the header has another sample_shape than the model.")
    return estimator


def describe(path: AnyPath, *, max_bytes: int = 2**30) -> dict[str, Any]:
    """Say what a model file holds, without building the model.

    Parameters
    ----------
    path : path
        A file that `save` wrote.
    max_bytes : int, default=2**30
        Larger files are rejected.

    Returns
    -------
    dict
        "class", "format", "sample_shape", "versions", "checksum" and "arrays", the
        shapes of all arrays by name.

    Raises
    ------
    ModelFormatError
        If the file is damaged, was not written by `save`, or has a newer major version.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from tensorcrp.baselines import MPCA
    >>> from tensorcrp.persistence import describe, save
    >>> with TemporaryDirectory() as folder:
    ...     save(MPCA(sizes=(4, 3)), f"{folder}/mpca.safetensors")
    ...     describe(f"{folder}/mpca.safetensors")["class"]
    'MPCA'
    """
    with _open_model(path, max_bytes) as (file, size):
        texts, arrays = unpack(file, size)
    _check_version(texts)
    if PARTS - set(texts):
        raise ModelFormatError(f"a header with the texts {sorted(texts)}."[:300])
    return {
        "class": texts["class"],
        "format": texts["format"],
        "sample_shape": read_json(texts["sample_shape"]),
        "versions": read_json(texts["versions"]),
        "checksum": texts["tensorcrp_sha256"],
        "arrays": {name: array.shape for name, array in arrays.items()},
    }


def sample_shape(estimator):
    """Sizes of the modes of a sample, as a list, or None if nothing is fitted."""
    steps = getattr(estimator, "steps", [(None, estimator)])
    for _, step in steps:
        shape = getattr(step, "sample_shape_", None)
        if shape is not None:
            return [int(size) for size in shape]
    return None


def _check_version(texts):
    """The minor version; an error if the major version is newer."""
    numbers = texts.get("format", "").split(".")
    if len(numbers) != 2 or not all(n.isdecimal() and len(n) < 6 for n in numbers):
        raise ModelFormatError("the header has no format version.")
    major, minor = map(int, numbers)
    if major > MAJOR:
        raise ModelFormatError(
            f"the file has format {major}.{minor}, and this tensorcrp "
            f"({_versions()['tensorcrp']}) reads {MAJOR}.x: upgrade tensorcrp."
        )
    if major < MAJOR:
        raise ModelFormatError(f"format {major}.{minor} was never written.")
    return minor


def _versions():
    try:
        own = version("tensorcrp")
    except PackageNotFoundError:  # used from a folder, not installed
        own = "unknown"
    return {
        "tensorcrp": own,
        "numpy": np.__version__,
        "scikit-learn": sklearn.__version__,
    }


@contextmanager
def _open_model(path, largest):
    """An open file and its size; pipes, devices, folders and large files raise."""
    with _opened(path) as file:
        size = os.fstat(file.fileno()).st_size
        if size > largest:
            raise ModelFormatError(
                f"{os.fspath(path)} has {size} bytes, more than max_bytes={largest}; "
                "raise max_bytes if you trust it."
            )
        yield file, size


def _opened(path):
    try:
        return open_regular(path)
    except ValueError as error:
        raise ModelFormatError(str(error)) from error
