"""Files that hold many samples each: arrays, and epochs of recordings.

In: `FoundFiles` and the settings of a reader. Out: `Samples`, one after the other. The
class of a sample is that of its file's folder, or its label in the file.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tensorcrp.base.targets import unlabelled
from tensorcrp.base.validation import nothing_read
from tensorcrp.datasets import read_tensors
from tensorcrp.files.samples import Samples, same_times
from tensorcrp.signals import epochs_to_tensor


def read_many(found, reader, on_error, labelled):
    """Samples of files of arrays or epochs.

    Parameters
    ----------
    found : FoundFiles
    reader : dict
        Settings; "channel_names", where they are known, are those that are picked.
    on_error : {"raise", "skip"}
    labelled : bool
        Insist on one label per sample.
    """
    one = _read_arrays if found.kind == "arrays" else _read_epochs
    parts, skipped = [], []
    for path, folder in zip(found.files, found.folders, strict=True):
        try:
            part = one(path, reader, labelled)
            parts.append(_in_folder(part, folder, reader["target"], labelled))
        except (ValueError, OSError) as error:
            if on_error == "raise" or len(found.files) == 1:
                raise
            skipped.append((path, str(error)))
    if not parts:
        raise nothing_read(skipped)
    return _joined(parts, skipped)


def _read_arrays(path, reader, labelled):
    """All samples of a file of arrays; new files need no labels."""
    options = {name: reader[name] for name in ("data", "samples")}
    try:
        bunch = read_tensors(path, target=reader["target"], **options)
    except ValueError:
        if labelled or reader["target"] is None:
            raise
        bunch = read_tensors(path, **options)
    _check_finite(path, bunch.data)
    more = {k: v for k, v in bunch.items() if np.shape(v)[:1] == bunch.data.shape[:1]}
    labels = None if bunch.target is None else label_texts(bunch.target)
    return _numbered(path, bunch.data, labels, bunch.mode_names, more)


def label_texts(y):
    """Labels (n,) as text, None where they are missing; whole numbers 3.0 are 3."""
    missing = unlabelled(y)
    known = y[~missing]
    if y.dtype.kind == "f" and np.all(known == np.rint(known)):
        return [
            None if gone else f"{each:.0f}"
            for each, gone in zip(y, missing, strict=True)
        ]
    return [None if gone else str(each) for each, gone in zip(y, missing, strict=True)]


def _check_finite(path, X):
    for i, x in enumerate(X if X.dtype.kind == "f" else ()):
        if not np.isfinite(x).all():
            raise ValueError(
                f"{path}: sample {i} has NaN or infinity. Leave out or fill such "
                "samples before they are saved."
            )


def _read_epochs(path, reader, labelled):
    """Epochs of MNE; classes are the names of events."""
    epochs = _opened(path)
    names = reader.get("channel_names")
    missing = [name for name in names or () if name not in epochs.ch_names]
    if missing:
        raise ValueError(
            f"{path} lacks channels of the model: {', '.join(missing)}. Interpolate or "
            "rename them, or fit a model without them."
        )
    try:
        bunch = epochs_to_tensor(epochs, picks=names or "data")
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error
    by_code = dict(zip(np.unique(bunch.target), bunch.target_names, strict=True))
    labels = [by_code[code] for code in bunch.target]
    part = _numbered(path, bunch.data, labels, bunch.mode_names, _columns(epochs))
    return replace(part, channel_names=list(bunch.channel_names), times=bunch.times)


def _opened(path):
    """MNE's epochs, or an error that says what else the file is."""
    try:
        import mne
    except ImportError as error:
        raise ImportError(f"reading {path} needs MNE: pip install mne") from error
    try:
        return mne.read_epochs(path, verbose="ERROR")
    except Warning:  # an error where the user says so, and not of the file
        raise
    except Exception as error:  # damaged files make parsers fail in many ways
        if not _is_sound(mne, path):
            raise ValueError(
                f"{path} cannot be read as epochs ({type(error).__name__}: {error}); "
                "it is damaged, cut off or of another kind. Save it again."
            ) from error
        raise ValueError(
            f"{path} has no epochs: make them with mne.Epochs(raw, events, ...) or "
            "mne.make_fixed_length_epochs(raw, duration), and save them as "
            "NAME-epo.fif."
        ) from error


def _is_sound(mne, path):
    try:
        mne.io.read_info(path, verbose="ERROR")
    except Exception:
        return False
    return True


def _columns(epochs):
    """Columns of the epochs' metadata, which may be groups."""
    table = epochs.metadata
    names = () if table is None else table.columns
    return {str(name): table[name].to_numpy() for name in names}


def _numbered(path, X, labels, mode_names, more):
    files = [f"{path}[{i}]" for i in range(len(X))]
    labels = [None] * len(X) if labels is None else labels
    return Samples(X, np.arange(len(X)), files, labels, mode_names, [], more)


def _in_folder(samples, folder, target, labelled):
    """Samples of a file in a class folder have that class, unless labels are named."""
    own = sorted({label for label in samples.labels if label is not None})
    if folder is None or (own and target) or (len(own) > 1 and not labelled):
        return samples
    if len(own) > 1:
        raise ValueError(
            f"{samples.files[0]} is in the folder {folder}/ and has labels of its own, "
            f"{', '.join(own[:3])}: put all files into one folder to use their labels, "
            "or save one class per file to use the names of folders."
        )
    labels = [folder] * len(samples.files)
    return replace(samples, labels=labels)


def _joined(parts, skipped):
    """Samples of several files one after the other."""
    first = parts[0]
    for part in parts[1:]:
        _check_alike(part, first)
    n = sum(len(part.X) for part in parts)
    names = [name for name in first.more if all(name in part.more for part in parts)]
    more = {
        name: np.concatenate([np.asarray(part.more[name]) for part in parts])
        for name in names
    }
    return Samples(
        np.concatenate([part.X for part in parts]) if len(parts) > 1 else first.X,
        np.arange(n),
        [file for part in parts for file in part.files],
        [label for part in parts for label in part.labels],
        first.mode_names,
        skipped,
        more,
        first.channel_names,
        first.times,
    )


def _check_alike(part, first):
    """Reject files whose samples are not alike, the channels by their names."""
    names, earlier = (each.channel_names or [] for each in (part, first))
    if names != earlier:
        other = sorted(set(names) ^ set(earlier))
        what = f"only one has {', '.join(other[:5])}" if other else "in another order"
        raise ValueError(
            f"{part.files[0]} has other channels than {first.files[0]} ({what}): mark "
            "the same channels as bad in all files, or interpolate them."
        )
    if part.X.shape[1:] != first.X.shape[1:]:
        raise ValueError(
            f"{part.files[0]} has shape {part.X.shape[1:]} where earlier samples "
            f"have {first.X.shape[1:]}; give files of one shape."
        )
    if part.times is not None and not same_times(part.times, first.times):
        raise ValueError(
            f"{part.files[0]} has times from {part.times[0]:g} to {part.times[-1]:g} "
            f"s, {first.files[0]} from {first.times[0]:g} to {first.times[-1]:g} s: "
            "crop or resample all files to the same times."
        )
