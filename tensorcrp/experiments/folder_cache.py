"""Folders of clips and images: decoded once for all processes, with chosen options.

In: a folder, and in the environment the options of the reader (JSON) and the folder of
the cache, so that the processes that a command starts know both. Out: a Bunch whose
data are a read-only map of one ``.npy`` file; of a folder with ``train/`` and
``test/``, the samples of both, in memory. Files of arrays and of MNE's epochs are read
in every process.
"""

import json
import os
import warnings
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from sklearn.utils import Bunch

from tensorcrp import datasets
from tensorcrp.base.files import replacing
from tensorcrp.experiments.errors import BadRequest
from tensorcrp.experiments.options import say
from tensorcrp.experiments.tables import printable, wrapped
from tensorcrp.files.found import MANY, find_files
from tensorcrp.files.reading import OF_KINDS, read_files
from tensorcrp.files.samples import why_skipped
from tensorcrp.files.training import whole_files
from tensorcrp.preprocessing import Motion
from tensorcrp.video import files_below, labelled_files, train_test_folders

READER, DECODED = "TENSORCRP_READER", "TENSORCRP_CACHE"
NOTES = ("target_names", "mode_names", "skipped", "files")


@contextmanager
def reading(options):
    """Read folders with these options, in this process and those it starts.

    What is decoded is kept in a temporary folder until the block ends.
    """
    given = {
        name: value for name, value in (options or {}).items() if value is not None
    }
    before = {name: os.environ.get(name) for name in (READER, DECODED)}
    with TemporaryDirectory(prefix="tensorcrp-") as folder:
        os.environ[READER], os.environ[DECODED] = json.dumps(given), folder
        try:
            yield
        finally:
            for name, value in before.items():
                os.environ.pop(name, None)
                if value is not None:
                    os.environ[name] = value


def reader_settings():
    """The options that `reading` was given, as text."""
    return os.environ.get(READER, "{}")


def read_path(path):
    """What is at a path, with the options of `reading`; clips and images once."""
    options = json.loads(reader_settings())
    motion = options.pop("motion", "none")
    if _has_epochs(path):
        return _moved(_epochs(path, options.get("on_error", "skip")), motion)
    if not is_folder(path):
        arrays = {k: options[k] for k in ("data", "target", "samples") if k in options}
        return _moved(datasets.read_tensors(path, **arrays), motion)
    return _moved(decoded(path), motion)


def is_folder(path):
    """Whether a path is a folder of files, and not one array in a folder."""
    return Path(path).is_dir() and Path(path).suffix != ".zarr"


def has_pictures(path):
    """Whether clips or images are read from a path."""
    return is_folder(path) and not _has_epochs(path)


def check_used(paths):
    """Reject options of `reading` that none of these files and folders has a use for.

    Sets that are built in have none, so that the list may be empty.
    """
    given, kinds = json.loads(reader_settings()), {_kind(path) for path in paths}
    every = {"arrays", "clips", "epochs", "images"}
    for name in given.keys() - {"on_error"}:  # which is always given
        used_by = every & set(OF_KINDS.get(name, every))
        if not kinds & used_by and None not in kinds:
            value = tuple(given[name]) if name == "size" else given[name]
            raise BadRequest(
                f"{name}={value!r} is for {' and '.join(sorted(used_by))}, and none of "
                "the data sets holds them: leave it out."
            )


def _kind(path):
    """Kind of the files at a path; None if the reader will say what is wrong there."""
    try:
        if _has_epochs(path):
            return "epochs"
        if not is_folder(path):
            return "arrays"
        halves = train_test_folders(path)
        pictures = _are_pictures(path if halves is None else halves[0])
    except (ValueError, OSError):
        return None
    return "images" if pictures else "clips"


def _has_epochs(path):
    files = files_below(path) if is_folder(path) else [path]
    return bool(files) and all(str(f).lower().endswith(MANY["epochs"]) for f in files)


def _epochs(path, on_error):
    """Epochs of ``.fif`` files; beside them columns of metadata, and their files."""
    found = find_files(path, labelled=True)
    samples = read_files(found, {"target": None}, on_error)
    files = [each.rpartition("[")[0] for each in samples.files]
    own = {
        "data": samples.X,
        "target": np.array(samples.labels),
        "mode_names": samples.mode_names,
        "file": np.array(files),
    }
    if whole_files(found, samples) is not None:  # they share more than the class
        own["files"] = files
    return Bunch(**samples.more | own)


def decoded(path):
    """The pixels of a folder, before any transformation along time."""
    halves = train_test_folders(path)
    if halves is None:
        return _decoded(path)
    return _joined(halves, *map(_decoded, halves))


def _joined(halves, train, test):
    """Samples of a training and a test folder; ``is_training`` tells them apart."""
    codes = {name: code for code, name in enumerate(train.target_names)}
    unknown = [name for name in test.target_names if name not in codes]
    if unknown:
        raise ValueError(
            f"{halves[1]} has the class {unknown[0]}, which {halves[0]} lacks."
        )
    if train.data.shape[1:] != test.data.shape[1:]:
        raise ValueError(
            f"samples of {halves[0]} have shape {train.data.shape[1:]}, those of "
            f"{halves[1]} {test.data.shape[1:]}: pass size=(height, width)."
        )
    names = np.array([codes[name] for name in test.target_names])
    return Bunch(
        data=np.concatenate([train.data, test.data]),
        target=np.concatenate([train.target, names[test.target]]),
        target_names=train.target_names,
        mode_names=train.mode_names,
        files=[*train.files, *test.files],
        skipped=[*train.skipped, *test.skipped],
        is_training=np.arange(len(train.data) + len(test.data)) < len(train.data),
    )


def _decoded(path):
    options = json.loads(reader_settings())
    for name in ("data", "target", "samples", "motion"):
        options.pop(name, None)
    if _are_pictures(path):
        options = {k: options[k] for k in ("size", "color", "on_error") if k in options}
    if "size" in options:
        options["size"] = tuple(options["size"])
    return _cached(path, options)


def _are_pictures(path):
    return datasets.are_images(labelled_files(path)[0])


def _moved(bunch, motion):
    """The samples after a transformation along their mode of time."""
    if motion == "none":
        return bunch
    names = tuple(bunch.mode_names)
    mode = names.index("time") if "time" in names else 0
    return Bunch(
        **{**bunch, "data": Motion(motion, mode=mode).fit_transform(bunch.data)}
    )


def _cached(path, options):
    """The Bunch of a folder, from the cache if it is there."""
    folder = os.environ.get(DECODED)
    if folder is None:
        return datasets.read_tensors(path, **options)
    name = f"{os.path.abspath(path)} {reader_settings()}"
    key = sha256(name.encode("utf-8", "replace"))
    stem = Path(folder) / key.hexdigest()[:24]
    notes = stem.with_suffix(".json")
    if not notes.exists():  # written last
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "skipped")
            bunch = datasets.read_tensors(path, **options)
        for file, reason in bunch.skipped:
            words = f"{file}: {why_skipped(file, reason)}"
            say("\n".join(wrapped(f"skipped: {printable(words)}")))
        return _stored(bunch, stem)
    known = json.loads(notes.read_text())
    X = np.load(stem.with_suffix(".npy"), mmap_mode="r", allow_pickle=False)
    return Bunch(data=X, target=np.array(known.pop("target")), **known)


def _stored(bunch, stem):
    with replacing(stem.with_suffix(".npy")) as file:
        np.save(file, bunch.data)
    known = {name: bunch.get(name) for name in NOTES}
    known["target"] = bunch.target.tolist()
    with replacing(stem.with_suffix(".json")) as file:
        file.write(json.dumps(known).encode())
    return bunch
