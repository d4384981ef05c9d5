"""Where a data set is found: a folder of the user, the cache, the source.

In: a name and its entry in the registry. Out: a Bunch. What comes from the cache or the
network has to have the arrays that the registry pins; files in ``TENSORCRP_DATA`` are
the user's own and are taken as they are, with ``verified`` saying whether they have
them.
"""

import os
import urllib.request
import warnings
from pathlib import Path

import numpy as np
from sklearn import datasets as sklearn_datasets

from tensorcrp.base.files import replacing
from tensorcrp.datasets._read import read_tensors
from tensorcrp.datasets.origins import VARIABLE, checksum, indian_pines


def find_dataset(name, source, data_home=None, download_if_missing=True, fetch=None):
    """The data set from the first place that has it."""
    mine = os.environ.get(VARIABLE)
    if mine and (Path(mine) / f"{name}.npz").exists():
        return _load(Path(mine) / f"{name}.npz", source)
    cache = Path(sklearn_datasets.get_data_home(data_home)) / "tensorcrp"
    file = cache / f"{name}.npz"
    if not file.exists():
        try:
            arrays = _obtain(name, source, cache, download_if_missing, fetch)
        except OSError as error:  # no network, no such address, no such file
            raise FileNotFoundError(_advice(name, source, cache, error)) from error
        if fetch is None:  # scikit-learn's fetchers check what they download
            _check(name, source, checksum(arrays["X"], arrays["y"]))
        _save(file, arrays)
    bunch = _load(file, source)
    if fetch is None:
        _check(file, source, checksum(bunch.data, bunch.target))
    return bunch


def _obtain(name, source, cache, download_if_missing, fetch):
    """Arrays from the source, which a file or a fetcher may be."""
    shipped = indian_pines() if name == "indian_pines" else None
    if shipped is not None:
        return shipped
    raw = cache / source.file if source.file else None
    if raw is not None and raw.exists():
        return source.read(raw)
    if not download_if_missing:
        raise OSError("download_if_missing=False")
    if fetch is not None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of retries; what counts is the error
            return fetch()
    if raw is None:
        raise OSError("it has to be prepared by hand")
    _download(source.url, raw)
    return source.read(raw)


def _download(url, file):
    file.parent.mkdir(parents=True, exist_ok=True)
    with replacing(file) as out:
        with urllib.request.urlopen(url, timeout=60) as reply:
            while block := reply.read(2**20):
                out.write(block)


def _save(file, arrays):
    file.parent.mkdir(parents=True, exist_ok=True)
    with replacing(file) as out:
        np.savez_compressed(out, **arrays)


def _load(file, source):
    bunch = read_tensors(file)
    names = source.names
    if isinstance(names, str):
        names = bunch.get(names)
    labels = np.unique(bunch.target)
    if names is not None and len(names) == len(labels):
        bunch.target_names = [str(each) for each in names]
    bunch.mode_names = source.mode_names
    bunch.verified = checksum(bunch.data, bunch.target) == source.checksum
    bunch.file, bunch.DESCR = str(file), f"{source.title} {bunch.DESCR}"
    return bunch


def _check(where, source, found):
    if found != source.checksum:
        raise ValueError(
            f"{where} does not hold the arrays of the registry (checksum {found[:12]}, "
            f"not {source.checksum[:12]}). Remove it and fetch again; to use it as it "
            "is, read it by read_tensors."
        )


def _advice(name, source, cache, error):
    """Which file to put where."""
    lines = [
        f"The data set {name!r} is not here and cannot be fetched ({error}). Either "
        f"put {name}.npz, with arrays X of shape {source.shape} and y, into {cache} or "
        f"into the folder that the environment variable {VARIABLE} names"
    ]
    if source.url:
        lines.append(f"; or put {source.file} from {source.url} into {cache}")
    return "".join(lines) + ". Then call again."
