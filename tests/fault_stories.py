"""Faults inside one process: interrupts, full disks, short memory, damaged files.

Each story takes an empty folder and a random generator, lets one fault happen at a
random moment, and raises unless the outcome is the documented one. `faults.py` runs
them.
"""

import shutil
import tempfile
from functools import cache
from pathlib import Path

import numpy as np
from fault_tools import (
    MODEL,
    OTHER,
    X,
    Y,
    attempted,
    check_names,
    check_resumed,
    check_usable,
    compare,
    damaged,
    interrupted,
    results,
    room,
    samples,
    undisturbed,
)
from sklearn.base import clone

from tensorcrp import TensorCRP, TensorCRPCV
from tensorcrp.datasets import read_tensors
from tensorcrp.persistence import ModelFormatError, load, save

SEARCH = TensorCRPCV(ranks=(1, 2), regs=(0.1, 1.0), cv=2)


def refit_interrupted(template, rng):
    """An estimator is the old one or the new one, never something between."""
    old, new = fitted(template, "first"), fitted(template, "other")
    model = clone(template)

    def work():
        model.fit(OTHER, Y)

    work.__name__ = type(template).__name__
    interrupted(work, rng, lambda: vars(model).update(vars(old)))
    got = model.transform(X)
    assert any(np.array_equal(got, each.transform(X)) for each in (old, new)), (
        "neither the old model nor the new one"
    )
    check_usable()


@cache
def fitted(template, which):
    data = X if which == "first" else OTHER
    return clone(template).fit(data, Y)


def interrupted_fit(place, rng):
    refit_interrupted(MODEL, rng)


def interrupted_search(place, rng):
    refit_interrupted(SEARCH, rng)


def interrupted_save(place, rng):
    path = place / "model"
    old, new = fitted(MODEL, "first"), fitted(MODEL, "other")

    def saving():
        save(new, path)

    interrupted(saving, rng, lambda: save(old, path))
    check_model(path, old, new)
    check_names(place, ["model"])
    check_usable()


def check_model(path, *models):
    found = load(path).transform(X)
    assert any(np.array_equal(found, each.transform(X)) for each in models), (
        "the file is none of the models"
    )


@cache
def clips():
    """A folder of short clips, and what is in them."""
    from faults import Skip

    try:
        import av  # noqa: F401
    except ImportError:
        raise Skip("PyAV is not installed") from None
    from tensorcrp.datasets import make_moving_shapes
    from tensorcrp.video import read_clips

    folder = tempfile.TemporaryDirectory()
    make_moving_shapes(3, random_state=0, folder=folder.name)
    return folder, read_clips(folder.name, frames=8, progress=False).data


def read_to(path):
    from tensorcrp.video import read_clips

    read_clips(clips()[0].name, frames=8, memmap=path, progress=False)


def check_clips(place, path):
    if path.exists():
        assert np.array_equal(np.load(path), clips()[1]), "other clips"
    check_names(place, ["clips.npy", "filler"])


def interrupted_clips(place, rng):
    path = place / "clips.npy"
    clips()

    def reading():
        read_to(path)

    interrupted(reading, rng, lambda: path.unlink(missing_ok=True))
    check_clips(place, path)
    check_usable()


def interrupted_compare(place, rng):
    undisturbed()
    codes = []

    def comparing():
        codes.append(compare(place / "out"))

    interrupted(comparing, rng, lambda: shutil.rmtree(place / "out", True))
    assert codes[-1] in (0, 130), f"exit code {codes[-1]}"
    check_resumed(place / "out")


def full_disk_save(place, rng):
    path = place / "model"
    old, new = fitted(MODEL, "first"), TensorCRP(init=[np.ones((2**14, 2))])
    save(old, path)
    with room(place, rng.randrange(2**17)):
        try:
            save(new, path)
        except OSError as error:
            assert error.errno, "an error without its cause"
        check_model(path, old)
        check_names(place, ["model", "filler"])
    save(new, path)
    check_usable()


def full_disk_clips(place, rng):
    path = place / "clips.npy"
    needed = clips()[1].nbytes
    with room(place, rng.randrange(min(needed, 2**19))):
        try:
            read_to(path)
        except OSError:
            assert not path.exists(), "half a file"
        check_clips(place, path)
    check_usable()


def full_disk_compare(place, rng):
    undisturbed()
    out = place / "out"
    with room(place, rng.randrange(2**17)):
        compare(out)
    check_resumed(out)


def short_memory_load(place, rng):
    path = place / "model"
    array = np.ones((2**20, 2))
    save(TensorCRP(init=[array]), path)
    model = attempted(lambda: load(path), rng, 2**25)
    assert model is None or np.array_equal(model.init[0], array), "another model"
    check_usable()


@cache
def large():
    """Samples of 18 megabytes, the features of a fit, and a file with them."""
    data, y = samples(n=1000, shape=(48, 48))
    path = Path(tempfile.mkdtemp()) / "data.npz"
    np.savez(path, X=data, y=y)
    return data, y, TensorCRP(2).fit_transform(data, y), path


def short_memory_fit(place, rng):
    data, y, features, _ = large()
    model = TensorCRP(2)
    got = attempted(lambda: model.fit_transform(data, y), rng, 2**26)
    assert got is None or np.array_equal(got, features), "other features"
    if got is None:
        assert not hasattr(model, "projections_"), "half fitted"
    assert np.array_equal(model.fit_transform(data, y), features), "other features"
    check_usable()


def short_memory_read(place, rng):
    data, _, _, path = large()
    found = attempted(lambda: read_tensors(path), rng, 2**25)
    assert found is None or np.array_equal(found.data, data), "other samples"
    check_usable()


def damaged_model(place, rng):
    path, model = place / "model", fitted(MODEL, "first")
    save(model, path)
    sound_file = path.read_bytes()
    path.write_bytes(damaged(sound_file, rng))
    try:
        load(path)
    except ModelFormatError:
        return
    assert path.read_bytes() == sound_file, "a damaged file is loaded"


def damaged_npz(place, rng):
    path = place / "data.npz"
    np.savez(path, X=X, y=Y)
    path.write_bytes(damaged(path.read_bytes(), rng))
    try:
        found = read_tensors(path)
    except (ValueError, OSError):
        return
    same = np.array_equal(found.data, X) and np.array_equal(found.target, Y)
    assert same, "other samples or labels"


def damaged_rows(place, rng):
    """Resumed, or rejected by one error.

    Cut or with zeros, as after a power cut: rows have no checksum, and another digit in
    one of them is another result.
    """
    path = place / "rows.jsonl"
    expected, content = undisturbed()
    content = damaged(content, rng, ways=2)
    path.write_bytes(content)
    if compare(place) == 0:
        assert results(place) == expected, "other rows"
    else:
        assert path.read_bytes() == content, "rejected, and changed"
    check_usable()
