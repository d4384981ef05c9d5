"""Models in files: `save` and `load`.

In: a fitted or unfitted estimator of the package and a path. Out: a file of arrays and
texts (`_container`), replaced whole (`_files`), and the same estimator from it.
"""

import os
from importlib.metadata import PackageNotFoundError, version

import numpy as np
import sklearn

from tensorcrp.persistence._container import pack, unpack
from tensorcrp.persistence._estimators import kinds, model_from, take_apart
from tensorcrp.persistence._files import open_regular, replace_file
from tensorcrp.persistence._json import ModelFormatError, read_json, write_json
from tensorcrp.persistence._plain import Reader, Writer

# A file of a newer minor version is read, with what is unknown left out; one of a
# newer major version is not. The header itself is the same in every version.
MAJOR, MINOR = 1, 1
TEXTS = {"format", "class", "sample_shape", "versions", "parameters", "state"}


def save(estimator, path):
    """Save an estimator to a file without pickle.

    The file has the safetensors layout: any reader of that format finds the arrays.
    It is written beside `path`, flushed to the disk and renamed: whatever interrupts
    the process, `path` is the old file or the new one. A symbolic link at `path` is
    replaced, not followed. The same model gives the same bytes.

    Parameters
    ----------
    estimator : estimator of tensorcrp
        Fitted or not, or in the middle of a stream of batches. Its parameters have to
        be plain: numbers, texts, arrays, a RandomState, and for `TensorCRPCV` the
        classifiers and splitters listed in `tensorcrp.persistence`.
    path : path
        A name ending in ``.safetensors`` tells others what it is.

    Raises
    ------
    ModelFormatError
        If something in the estimator is not plain, before anything is written.

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
    writer = Writer(kinds())
    params = writer.json(parts["params"], "")
    state = writer.json(parts["state"], "")
    shape = [int(size) for size in parts["state"].get("sample_shape_", ())]
    texts = {
        "format": f"{MAJOR}.{MINOR}",
        "class": parts["class"],
        "sample_shape": write_json(shape or None),
        "versions": write_json(_versions()),
        "parameters": write_json(params),
        "state": write_json(state),
    }
    arrays = {name: stored for name, (stored, _) in writer.arrays.items()}
    replace_file(path, pack(texts, arrays))


def load(path, *, max_bytes=2**30):
    """Load an estimator from a file that `save` wrote.

    Nothing in the file is executed. A class is looked up in a table of this package,
    every size is compared with that of the file before memory is asked for, shapes
    have to agree with each other, and a checksum finds damage. It is no signature: who
    can write the file can write another model.

    Parameters
    ----------
    path : path
        A regular file; a symbolic link is followed.
    max_bytes : int, default=2**30
        Larger files are refused. Memory is a small multiple of the file.

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
    with open_regular(path, max_bytes) as (file, size):
        texts, arrays = unpack(file, size)
    newer = _check_version(texts)
    if TEXTS - set(texts) or (set(texts) - TEXTS - {"tensorcrp_sha256"} and not newer):
        raise ModelFormatError(f"a header with the texts {sorted(texts)}."[:300])
    written = read_json(texts["versions"])
    if type(written) is not dict or not all(type(v) is str for v in written.values()):
        raise ModelFormatError("the header does not say which versions wrote it.")
    reader = Reader(arrays, kinds(newer, written.get("scikit-learn", "unknown")))
    parts = {
        "class": texts["class"],
        "params": reader.value(read_json(texts["parameters"])),
        "state": reader.value(read_json(texts["state"])),
    }
    estimator = model_from(parts, newer)
    shape = getattr(estimator, "sample_shape_", None)
    if read_json(texts["sample_shape"]) != (shape and list(shape)):
        raise ModelFormatError("the header has another sample_shape than the model.")
    return estimator


def _check_version(texts):
    """Whether the minor version is newer; an error if the major one is."""
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
    return minor > MINOR


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
