"""Files to samples, in one way for training and for use.

In: `Found` and the settings of a reader. Out: `Samples`: an array (m, l_1, ..., l_N)
and, for each of its entries, the file it comes from. A file may give several samples
(windows of a clip); a file of arrays or epochs is a row of samples of their own.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tensorcrp.base.parameters import check_choice, check_integer
from tensorcrp.base.types import Array, Integers
from tensorcrp.datasets import read_images, read_tensors
from tensorcrp.files.cache import cached_clips
from tensorcrp.signals import epochs_to_tensor
from tensorcrp.video import read_clips

KINDS = ("clips", "images", "arrays", "epochs")
SIZE = (32, 32)


@dataclass(frozen=True)
class Samples:
    """Samples and where they come from.

    Attributes
    ----------
    X : ndarray of shape (m, l_1, ..., l_N)
    owner : ndarray of int, shape (m,)
        Index into `files`.
    files : list of str
        A file, or a file and the number of the sample in it, ``a.npz[3]``.
    labels : list of str or None
        Class of each of `files`; None where it is not known.
    mode_names : tuple of str
    skipped : list of (str, str)
        Files that could not be read, with the reason.
    more : dict
        Channel names and times of epochs, further arrays of a file.
    """

    X: Array
    owner: Integers
    files: list[str]
    labels: list[str | None]
    mode_names: tuple[str, ...]
    skipped: list[tuple[str, str]] = field(default_factory=list)
    more: dict[str, Any] = field(default_factory=dict)


def read(found, reader, on_error="raise", n_jobs=1, cache=None, progress=False):
    """Samples of files, read as the settings `reader` say."""
    if found.kind == "clips":
        return _read_clips(found, reader, on_error, n_jobs, cache, progress)
    if found.kind == "images":
        return _read_images(found, reader, on_error)
    one = _read_arrays if found.kind == "arrays" else _read_epochs
    return _joined([one(path, reader) for path in found.files])


def _read_clips(found, reader, on_error, n_jobs, cache, progress):
    names = ("frames", "size", "color", "sampling", "stride")
    options = {name: reader[name] for name in names}
    how = {"n_jobs": n_jobs or 1, "progress": progress, "on_error": on_error}
    with warnings.catch_warnings():  # skipped files are listed by whoever asked
        warnings.filterwarnings("ignore", "skipped")
        if cache is None:
            clips = read_clips(found.files, **options, **how)
        else:
            clips = cached_clips(found.files, cache, options, how)
    return _by_file(found, clips.data, clips.files, clips.mode_names, clips.skipped)


def _read_images(found, reader, on_error):
    options = {name: reader[name] for name in ("size", "color")}
    images = read_images(found.files, **options, on_error=on_error)
    return _by_file(found, images.data, images.files, images.mode_names, images.skipped)


def _by_file(found, X, owners, mode_names, skipped):
    """Samples whose owners are files."""
    folders = dict(zip(found.files, found.folders, strict=True))
    files = list(dict.fromkeys(owners))
    places = {file: i for i, file in enumerate(files)}
    owner = np.array([places[file] for file in owners], int)
    labels = [folders[file] for file in files]
    return Samples(X, owner, files, labels, mode_names, skipped)


def _read_arrays(path, reader):
    """All samples of a file of arrays; new files need no labels."""
    options = {name: reader[name] for name in ("data", "samples")}
    try:
        bunch = read_tensors(path, target=reader["target"], **options)
    except ValueError:
        if reader["target"] is None:
            raise
        bunch = read_tensors(path, **options)
    more = {k: v for k, v in bunch.items() if np.shape(v)[:1] == bunch.data.shape[:1]}
    labels = None if bunch.target is None else [str(each) for each in bunch.target]
    return _numbered(path, bunch.data, labels, bunch.mode_names, more)


def _read_epochs(path, reader):
    """Epochs of MNE; classes are the names of events."""
    try:
        import mne
    except ImportError as error:
        raise ImportError(f"reading {path} needs MNE: pip install mne") from error
    epochs = mne.read_epochs(path, verbose="ERROR")
    bunch = epochs_to_tensor(epochs)
    by_code = dict(zip(np.unique(bunch.target), bunch.target_names, strict=True))
    labels = [by_code[code] for code in bunch.target]
    more = {"channel_names": list(bunch.channel_names), "times": bunch.times}
    return _numbered(path, bunch.data, labels, bunch.mode_names, more)


def _numbered(path, X, labels, mode_names, more):
    files = [f"{path}[{i}]" for i in range(len(X))]
    labels = [None] * len(X) if labels is None else labels
    return Samples(X, np.arange(len(X)), files, labels, mode_names, [], more)


def _joined(parts):
    """Samples of several files one after the other."""
    if len(parts) == 1:
        return parts[0]
    first = parts[0]
    for part in parts[1:]:
        if part.X.shape[1:] != first.X.shape[1:]:
            raise ValueError(
                f"{part.files[0]} has shape {part.X.shape[1:]} where earlier samples "
                f"have {first.X.shape[1:]}; give files of one shape."
            )
    X = np.concatenate([part.X for part in parts])
    files = [file for part in parts for file in part.files]
    labels = [label for part in parts for label in part.labels]
    shared = {k: first.more[k] for k in ("channel_names", "times") if k in first.more}
    return Samples(X, np.arange(len(X)), files, labels, first.mode_names, [], shared)


# --- settings of a reader, and samples that do not agree with them -----------------


def described(kind, samples, options):
    """The settings of a reader: its options, and what its samples are like."""
    X = samples.X
    reader = {"kind": kind, **options, "shape": tuple(map(int, X.shape[1:]))}
    reader |= {"dtype": X.dtype.name, "range": value_range(kind, X)}
    reader["mode_names"] = tuple(samples.mode_names)
    reader["channel_names"] = samples.more.get("channel_names")
    times = samples.more.get("times")
    reader["times"] = None if times is None else np.asarray(times, float)
    return reader


def value_range(kind, X):
    """Smallest and largest value that samples have; of pictures, that they can have."""
    if kind == "clips" and X.dtype.kind == "f":
        return 0.0, 1.0
    if kind in ("clips", "images") and X.dtype.kind in "iu":
        limits = np.iinfo(X.dtype)
        return float(limits.min), float(limits.max)
    return float(np.min(X)), float(np.max(X))


def check_settings(reader):
    """Raise ValueError unless a dict has the settings of a reader."""
    names = {"kind", "frames", "size", "color", "sampling", "stride", "data", "target"}
    names |= {"samples", "shape", "dtype", "range", "mode_names", "channel_names"}
    if type(reader) is not dict or set(reader) != names | {"times"}:
        raise ValueError(f"the settings of a reader are {sorted(names | {'times'})}.")
    check_choice("kind", reader["kind"], KINDS)
    shape, values = reader["shape"], reader["range"]
    if type(shape) is not tuple or not shape:
        raise ValueError(f"shape must be a tuple of sizes, got {shape!r}.")
    for size in shape:
        check_integer("each size", size)
    number = type(values) is tuple and [type(v) for v in values] == [float, float]
    if not number or not isinstance(reader["dtype"], str):
        raise ValueError("range must be two numbers, and dtype a name.")


def check_like(reader, kind, X, more):
    """Raise if samples are not of the kind, shape, type and scale of those at fit."""
    if kind is not None and kind != reader["kind"]:
        raise ValueError(
            f"these files are {kind}; the model was fitted on {_words(reader)}."
        )
    if X.shape[1:] != reader["shape"]:
        raise ValueError(
            f"samples have shape {X.shape[1:]}; the model was fitted on samples of "
            f"shape {reader['shape']} ({', '.join(reader['mode_names'])})."
        )
    _check_values(reader, X)
    _check_channels(reader, more)


def _check_values(reader, X):
    """Type and scale; whole numbers and fractions are never the same pixels."""
    (low, high), whole = reader["range"], np.dtype(reader["dtype"]).kind in "iub"
    if whole != (X.dtype.kind in "iub"):
        raise ValueError(
            f"samples are {X.dtype}; the model was fitted on {reader['dtype']} from "
            f"{low:g} to {high:g}. Convert them in the same way, e.g. 8-bit pixels to "
            "fractions by X / 255."
        )
    found, fitted = float(np.abs(X).max(initial=0)), max(abs(low), abs(high))
    pictures = reader["kind"] in ("clips", "images")
    largest = 1.0001 * fitted if pictures else 100 * fitted
    if found > largest or (not pictures and 0 < found < fitted / 1e4):
        raise ValueError(
            f"the largest value of the samples is {found:g}; the model was fitted on "
            f"values from {low:g} to {high:g}. Bring them to the same unit."
        )


def _check_channels(reader, more):
    names = more.get("channel_names")
    if names is not None and reader["channel_names"] is not None:
        other = [n for n in reader["channel_names"] if n not in names]
        if list(names) != list(reader["channel_names"]):
            raise ValueError(
                f"channels are {names[:5]}...; the model was fitted on "
                f"{reader['channel_names'][:5]}..."
                + (f", and {other[:5]} are missing." if other else " in that order.")
            )
    times = more.get("times")
    if times is not None and reader["times"] is not None:
        if not np.allclose(times, reader["times"], atol=1e-6):
            raise ValueError(
                f"times run from {times[0]:g} to {times[-1]:g} s; the model was fitted "
                f"on {reader['times'][0]:g} to {reader['times'][-1]:g} s."
            )


def _words(reader):
    return f"{reader['kind']} of shape {reader['shape']}"
