"""Files to samples, in one way for training and for use.

In: `FoundFiles` and the settings of a reader. Out: `Samples`: an array
(m, l_1, ..., l_N) and, for each of its entries, the file it comes from. A file may give
several samples (windows of a clip); a file of arrays or epochs is a row of samples of
their own.
"""

from __future__ import annotations

import warnings

import numpy as np

from tensorcrp.base.parameters import check_choice, check_integer
from tensorcrp.datasets import read_images
from tensorcrp.files.cache import cached_clips
from tensorcrp.files.recordings import read_many
from tensorcrp.files.samples import Samples, same_times
from tensorcrp.video import read_clips

FILE_KINDS = ("clips", "images", "arrays", "epochs")
SIZE = (32, 32)


def read_files(found, reader, on_error="raise", labelled=True, **how):
    """Samples of files, read as the settings `reader` say.

    Parameters
    ----------
    found : FoundFiles
    reader : dict
        Settings.
    on_error : {"raise", "skip"}, default="raise"
    labelled : bool, default=True
        Insist on one label per sample of a file of many.
    **how
        `n_jobs`, `cache` and `progress` for clips.

    Returns
    -------
    Samples
    """
    if found.kind == "clips":
        return _read_clips(found, reader, on_error, **how)
    if found.kind == "images":
        return _read_images(found, reader, on_error)
    return read_many(found, reader, on_error, labelled)


def _read_clips(found, reader, on_error, n_jobs=1, cache=None, progress=False):
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


# --- options ----------------------------------------------------------------------

# Parameters of a FileClassifier that some kinds of files have no use for.
OF_ARRAYS = ("data", "target", "samples")
OF_KINDS = {
    **dict.fromkeys(OF_ARRAYS, ("arrays",)),
    **dict.fromkeys(("frames", "sampling", "stride"), ("clips",)),
    **dict.fromkeys(("size", "color"), ("clips", "images")),
}


def check_options(kind, params, defaults):
    """Raise ValueError if an option is given that files of this kind ignore."""
    for name, kinds in OF_KINDS.items():
        if kind not in kinds and params[name] != defaults[name]:
            raise ValueError(
                f"{name}={params[name]!r} is for {' and '.join(kinds)}, and these "
                f"files are {kind}: leave it out."
            )


# --- settings of a reader, and samples that do not agree with them -----------------


def described(kind, samples, options):
    """The settings of a reader: its options, and what its samples are like."""
    X = samples.X
    reader = {"kind": kind, **options, "shape": tuple(map(int, X.shape[1:]))}
    reader |= {"dtype": X.dtype.name, "range": value_range(kind, X)}
    reader["mode_names"] = tuple(samples.mode_names)
    reader["channel_names"], times = samples.channel_names, samples.times
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
        raise ValueError(
            f"a reader must have the settings {sorted(names | {'times'})}."
        )
    check_choice("kind", reader["kind"], FILE_KINDS)
    shape, values = reader["shape"], reader["range"]
    if type(shape) is not tuple or not shape:
        raise ValueError(f"shape must be a tuple of sizes, got {shape!r}.")
    for size in shape:
        check_integer("each size", size)
    number = type(values) is tuple and [type(v) for v in values] == [float, float]
    if not number or not isinstance(reader["dtype"], str):
        raise ValueError("range must be two floats, and dtype a string.")


def check_kind(reader, kind):
    """Raise if files are not of the kind of those at fit."""
    if kind != reader["kind"]:
        raise ValueError(
            f"these files are {kind}; the model was fitted on {_words(reader)}."
        )


def check_like(reader, samples):
    """Raise if samples are not of the shape, type and scale of those at fit."""
    X = samples.X
    if X.shape == reader["shape"]:
        raise ValueError(
            f"X has shape {X.shape}, that of a single sample; add an axis of samples: "
            "X[None]."
        )
    if X.shape[1:] != reader["shape"]:
        raise ValueError(
            f"samples have shape {X.shape[1:]}; the model was fitted on samples of "
            f"shape {reader['shape']} ({', '.join(reader['mode_names'])})."
        )
    _check_values(reader, X)
    _check_channels(reader, samples)


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


def _check_channels(reader, samples):
    names, times = samples.channel_names, samples.times
    if names is not None and reader["channel_names"] is not None:
        other = [n for n in reader["channel_names"] if n not in names]
        if list(names) != list(reader["channel_names"]):
            raise ValueError(
                f"channels are {names[:5]}...; the model was fitted on "
                f"{reader['channel_names'][:5]}..."
                + (f", and {other[:5]} are missing." if other else " in that order.")
            )
    if times is not None and reader["times"] is not None:
        if not same_times(times, reader["times"]):
            raise ValueError(
                f"times run from {times[0]:g} to {times[-1]:g} s; the model was fitted "
                f"on {reader['times'][0]:g} to {reader['times'][-1]:g} s."
            )


def _words(reader):
    return f"{reader['kind']} of shape {reader['shape']}"
