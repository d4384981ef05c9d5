"""Folders of clips and images: decoded once for all processes, with chosen options.

In: a folder, and in the environment the options of the reader (JSON) and the folder of
the cache, so that the processes that a command starts know both. Out: a Bunch whose
data are a read-only map of one ``.npy`` file.
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
from tensorcrp.experiments.options import say
from tensorcrp.experiments.tables import printable, wrapped
from tensorcrp.preprocessing import Motion

READER, CACHE = "TENSORCRP_READER", "TENSORCRP_CACHE"
NOTES = ("target_names", "mode_names", "skipped", "files")


@contextmanager
def reading(options):
    """Read folders with these options, in this process and those it starts.

    What is decoded is kept in a temporary folder until the block ends.
    """
    given = {
        name: value for name, value in (options or {}).items() if value is not None
    }
    before = {name: os.environ.get(name) for name in (READER, CACHE)}
    with TemporaryDirectory(prefix="tensorcrp-") as folder:
        os.environ[READER], os.environ[CACHE] = json.dumps(given), folder
        try:
            yield
        finally:
            for name, value in before.items():
                os.environ.pop(name, None)
                if value is not None:
                    os.environ[name] = value


def settings():
    """The options that `reading` was given, as text."""
    return os.environ.get(READER, "{}")


def read(path):
    """What is at a path, with the options of `reading`; clips and images once."""
    options = json.loads(settings())
    motion = options.pop("motion", "none")
    if not is_folder(path):
        arrays = {k: options[k] for k in ("data", "target", "samples") if k in options}
        return _moved(datasets.read_tensors(path, **arrays), motion)
    return _moved(decoded(path), motion)


def is_folder(path):
    """Whether clips or images are read from a path."""
    return Path(path).is_dir() and Path(path).suffix != ".zarr"


def decoded(path):
    """The pixels of a folder, before any transformation along time."""
    options = json.loads(settings())
    for name in ("data", "target", "samples", "motion"):
        options.pop(name, None)
    if _are_pictures(path):
        options = {k: options[k] for k in ("size", "color", "on_error") if k in options}
    if "size" in options:
        options["size"] = tuple(options["size"])
    return _cached(path, options)


def _are_pictures(path):
    from tensorcrp.video import labelled_files

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
    folder = os.environ.get(CACHE)
    if folder is None:
        return datasets.read_tensors(path, **options)
    key = sha256(f"{os.path.abspath(path)} {settings()}".encode("utf-8", "replace"))
    stem = Path(folder) / key.hexdigest()[:24]
    notes = stem.with_suffix(".json")
    if not notes.exists():  # written last
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "skipped")
            bunch = datasets.read_tensors(path, **options)
        for file, reason in bunch.skipped:
            words = reason if file in reason else f"{file}: {reason}"
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
