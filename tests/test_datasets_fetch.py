"""Fetching by name: where is looked, what is checked, what an error advises."""

import dataclasses
import os
from pathlib import Path

import numpy as np
import pytest
from scipy.io import savemat
from sklearn.utils import Bunch

from tensorcrp.datasets import (
    _fetch,
    _places,
    fetch_dataset,
    fetch_olivetti,
    fetch_umist,
    fetch_usps,
    list_datasets,
)
from tensorcrp.datasets.origins import SOURCES, checksum

OUTSIDE = os.environ.get("TENSORCRP_DATA")
NOWHERE = "http://127.0.0.1:9/nowhere/"  # the discard port: nobody answers


@pytest.fixture(autouse=True)
def no_folder(monkeypatch):
    monkeypatch.delenv("TENSORCRP_DATA", raising=False)


def _no_network(*args, **kwargs):
    raise OSError("no network")


@pytest.fixture
def offline(monkeypatch):
    monkeypatch.setattr(_places.urllib.request, "urlopen", _no_network)
    monkeypatch.setattr(_fetch.sklearn_datasets, "fetch_openml", _no_network)
    monkeypatch.setattr(_fetch.sklearn_datasets, "fetch_olivetti_faces", _no_network)


def small(shape, n=6):
    X = np.random.default_rng(0).integers(0, 9, (n, *shape[1:])).astype(np.uint8)
    return X, (np.arange(n) % 3).astype(np.int16)


def pin(monkeypatch, name, X, y, **changes):
    """The registry with made arrays in place of the real ones."""
    changed = {"checksum": checksum(X, y), "shape": X.shape, **changes}
    source = dataclasses.replace(SOURCES[name], **changed)
    monkeypatch.setitem(SOURCES, name, source)
    return source


def everything():
    """Functions by the name of their file."""
    named = {
        name: lambda name=name, **kw: fetch_dataset(name, **kw) for name in SOURCES
    }
    return {
        **named,
        "usps": fetch_usps,
        "umist": fetch_umist,
        "olivetti": fetch_olivetti,
    }


@pytest.mark.parametrize("name", sorted(everything()))
def test_folder_of_ready_files_is_looked_at_first(name, tmp_path, monkeypatch, offline):
    X, y = small(SOURCES[name].shape if name in SOURCES else (1, 64, 64))
    np.savez_compressed(tmp_path / f"{name}.npz", X=X, y=y, train=y > 0)
    monkeypatch.setenv("TENSORCRP_DATA", str(tmp_path))
    found = everything()[name](data_home=tmp_path / "unused")
    np.testing.assert_array_equal(found.data, X)
    np.testing.assert_array_equal(found.target, y)
    np.testing.assert_array_equal(found.train, y > 0)
    assert found.verified is False and found.file == str(tmp_path / f"{name}.npz")
    assert len(found.mode_names) == X.ndim - 1 and len(found.target_names) == 3
    again = everything()[name](data_home=tmp_path / "unused", return_X_y=True)
    np.testing.assert_array_equal(again[0], X)
    assert not (tmp_path / "unused").exists()


def test_the_real_files_are_those_of_the_registry(tmp_path, monkeypatch):
    """With TENSORCRP_DATA set outside, on the real files; else on made ones."""
    folder = OUTSIDE
    if not folder:
        folder = tmp_path
        for name in ("usps", "coil20"):
            X, y = small(SOURCES[name].shape)
            np.savez(tmp_path / f"{name}.npz", X=X, y=y)
            pin(monkeypatch, name, X, y)
    monkeypatch.setenv("TENSORCRP_DATA", str(folder))
    names = [file.stem for file in Path(folder).glob("*.npz")]
    assert names
    for name in set(names) & set(SOURCES):
        found = fetch_dataset(name)
        assert found.verified, name
        assert found.data.shape == SOURCES[name].shape


@pytest.mark.parametrize("name", sorted(set(everything()) - {"indian_pines"}))
def test_without_network_the_error_says_which_file_to_put_where(
    name, tmp_path, offline
):
    with pytest.raises(FileNotFoundError) as error:
        everything()[name](data_home=tmp_path)
    message = str(error.value)
    assert f"put {name}.npz" in message and "TENSORCRP_DATA" in message
    assert str(tmp_path / "tensorcrp") in message
    source = SOURCES.get(name)
    if source is not None and source.url:
        assert f"put {source.file} from {source.url}" in message
    assert not list(tmp_path.rglob("*.part"))


def test_a_source_that_does_not_answer(tmp_path, monkeypatch):
    pin(monkeypatch, "orl", *small((1, 32, 32)), url=NOWHERE + "ORL.mat")
    with pytest.raises(FileNotFoundError, match=r"refused.*put orl\.npz"):
        fetch_dataset("orl", data_home=tmp_path)


def test_download_is_checked_and_cached(tmp_path, monkeypatch):
    X, y = small((1, 32, 32))
    flat = X.transpose(0, 2, 1).reshape(6, -1)
    savemat(tmp_path / "ORL.mat", {"X": flat.astype(float), "Y": y[:, None]})
    url = (tmp_path / "ORL.mat").as_uri()
    pin(monkeypatch, "orl", X, y, url=url)
    home = tmp_path / "home"
    with pytest.raises(FileNotFoundError, match="download_if_missing=False"):
        fetch_dataset("orl", data_home=home, download_if_missing=False)
    found = fetch_dataset("orl", data_home=home)
    np.testing.assert_array_equal(found.data, X)
    assert found.verified and found.mode_names == ("row", "column")
    (tmp_path / "ORL.mat").unlink()
    again = fetch_dataset("orl", data_home=home)  # from the cache
    np.testing.assert_array_equal(again.target, y)
    assert again.file == str(home / "tensorcrp" / "orl.npz")


def test_wrong_arrays_are_refused(tmp_path, monkeypatch):
    X, y = small((1, 32, 32))
    savemat(tmp_path / "ORL.mat", {"X": X.reshape(6, -1), "Y": y[:, None]})
    url = (tmp_path / "ORL.mat").as_uri()
    pin(monkeypatch, "orl", X, y, url=url)  # the file has them lying on their side
    with pytest.raises(ValueError, match=r"orl does not hold.*checksum"):
        fetch_dataset("orl", data_home=tmp_path)
    assert not (tmp_path / "tensorcrp" / "orl.npz").exists()
    np.savez(tmp_path / "tensorcrp" / "orl.npz", X=X + 1, y=y)
    with pytest.raises(ValueError, match=r"orl\.npz does not hold.*Remove it"):
        fetch_dataset("orl", data_home=tmp_path)


def test_gait_with_samples_last(tmp_path, monkeypatch, offline):
    """A file put into the cache by hand will do."""
    X, y = small((1, 32, 22, 10))
    source = pin(monkeypatch, "gait_usf", X, y)
    (tmp_path / "tensorcrp").mkdir()
    variables = {"fea3D": np.moveaxis(X, 0, -1), "gnd": y[:, None]}
    savemat(tmp_path / "tensorcrp" / source.file, variables)
    found = fetch_dataset("gait_usf", data_home=tmp_path)
    assert found.verified and found.mode_names == ("row", "column", "time")


def test_indian_pines_out_of_tensorly(tmp_path, monkeypatch, offline):
    """Real and checked where tensorly ships the scene (not in its early versions)."""
    if _places.indian_pines() is not None:
        found = fetch_dataset("indian_pines", data_home=tmp_path)
        assert found.verified and found.data.shape == (1200, 5, 5, 200)
        assert found.mode_names == ("row", "column", "band")
    monkeypatch.setattr(_places, "indian_pines", lambda: None)
    with pytest.raises(FileNotFoundError, match=r"put indian_pines\.npz"):
        fetch_dataset("indian_pines", data_home=tmp_path / "other")


def test_usps_through_openml(tmp_path, monkeypatch):
    flat = np.random.default_rng(0).uniform(-1, 1, (5, 256))
    asked = []

    def fetch_openml(**which):
        asked.append(which["data_id"])
        return Bunch(data=flat, target=np.array(["1", "10", "2", "1", "10"], object))

    monkeypatch.setattr(_fetch.sklearn_datasets, "fetch_openml", fetch_openml)
    for _ in range(2):
        X, y = fetch_usps(data_home=tmp_path, return_X_y=True)
        np.testing.assert_allclose(X, flat.reshape(5, 16, 16), rtol=1e-6)
        assert y.tolist() == [0, 9, 1, 0, 9]
    assert asked == [41082]  # the second time from the cache


@pytest.mark.parametrize("order", ["C", "F"])
def test_umist_through_openml_is_upright(order, tmp_path, monkeypatch):
    rows, columns = np.mgrid[:112, :92] / 20.0
    faces = np.stack([np.sin(rows + i) * np.cos(columns) for i in range(4)])
    flat = np.stack([face.ravel(order=order) for face in faces])
    reply = Bunch(data=flat, target=np.array(["1", "2", "1", "2"], object))
    monkeypatch.setattr(_fetch.sklearn_datasets, "fetch_openml", lambda **which: reply)
    np.testing.assert_array_equal(fetch_umist(data_home=tmp_path).data, faces)


def test_olivetti_through_scikit_learn(tmp_path, monkeypatch):
    images = np.random.default_rng(0).uniform(0, 1, (4, 64, 64)).astype(np.float32)
    reply = Bunch(images=images, target=np.array([0, 0, 1, 1]))
    fetcher = "fetch_olivetti_faces"
    monkeypatch.setattr(_fetch.sklearn_datasets, fetcher, lambda **which: reply)
    np.testing.assert_array_equal(fetch_olivetti(data_home=tmp_path).data, images)


def test_unknown_name():
    assert {"usps", "coil20", "gait_usf"} <= set(list_datasets())
    with pytest.raises(ValueError, match=r"one of \['basic_motions'.*got 'imagenet'"):
        fetch_dataset("imagenet")


def test_an_interrupted_write_leaves_nothing(tmp_path, monkeypatch):
    X, y = small((1, 32, 32))
    flat = X.transpose(0, 2, 1).reshape(6, -1)
    savemat(tmp_path / "ORL.mat", {"X": flat, "Y": y[:, None]})
    pin(monkeypatch, "orl", X, y, url=(tmp_path / "ORL.mat").as_uri())

    def interrupted(file, **arrays):
        file.write(b"half")
        raise KeyboardInterrupt

    monkeypatch.setattr(_places.np, "savez_compressed", interrupted)
    with pytest.raises(KeyboardInterrupt):
        fetch_dataset("orl", data_home=tmp_path)
    left = [path.name for path in (tmp_path / "tensorcrp").iterdir()]
    assert left == ["ORL.mat"]
