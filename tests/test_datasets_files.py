"""`read_tensors`: every container there and back, and what it refuses."""

import json
import os
import pickle
import sys
from pathlib import Path

import h5py
import numpy as np
import pytest
import zarr
from scipy import sparse
from scipy.io import savemat

from tensorcrp.datasets import read_tensors

CANARY = []


class Bomb:
    """Runs when it is unpickled."""

    def __reduce__(self):
        return (CANARY.append, ("boom",))


@pytest.fixture(autouse=True)
def nothing_was_executed():
    CANARY.clear()
    yield
    assert CANARY == []


@pytest.fixture
def Xy():
    rng = np.random.default_rng(0)
    return rng.standard_normal((6, 4, 3)), np.array([0, 1, 2] * 2)


def write_npz(path, X, y, **more):
    np.savez(path, X=X, y=y, **more)


def write_mat(path, X, y, **more):
    savemat(path, {"X": X, "y": y[:, None], **more})


def write_mat73(path, X, y, **more):
    """As MATLAB writes version 7.3: HDF5 behind 512 bytes, modes in reverse."""
    with h5py.File(path, "w", userblock_size=512) as file:
        for name, array in {"X": X, "y": y[:, None].astype(float), **more}.items():
            letters = array.dtype.kind == "U"  # of one row per text
            stored = array.view(np.uint32).reshape(len(array), -1) if letters else array
            item = file.create_dataset(name, data=stored.T)
            item.attrs["MATLAB_class"] = np.bytes_("char" if letters else "double")
    with open(path, "r+b") as file:
        file.write(b"MATLAB 7.3 MAT-file, Platform: GLNXA64")


def write_hdf5(path, X, y, **more):
    with h5py.File(path, "w") as file:
        for name, array in {"X": X, "y": y, **more}.items():
            text = array.dtype.kind == "U"
            file[name] = array.astype(h5py.string_dtype()) if text else array


def write_zarr(path, X, y, **more):
    group = zarr.open_group(str(path), mode="w")
    for name, array in {"X": X, "y": y, **more}.items():
        group[name] = array


FORMS = {
    "a.npz": write_npz,
    "a.mat": write_mat,
    "b.mat": write_mat73,
    "a.h5": write_hdf5,
    "a.hdf5": write_hdf5,
    "a.zarr": write_zarr,
}


@pytest.mark.parametrize("name", FORMS)
def test_there_and_back(name, Xy, tmp_path):
    FORMS[name](tmp_path / name, *Xy)
    bunch = read_tensors(tmp_path / name)
    np.testing.assert_array_equal(bunch.data, Xy[0])
    np.testing.assert_array_equal(bunch.target, Xy[1])
    assert bunch.target.dtype.kind == "i"
    assert bunch.mode_names == ("row", "column") and bunch.target_names == [
        "0",
        "1",
        "2",
    ]
    assert name in bunch.DESCR
    X, y = read_tensors(str(tmp_path / name), return_X_y=True)
    assert X.shape == (6, 4, 3) and y.shape == (6,)


@pytest.mark.parametrize("name", FORMS)
def test_named_variables(name, Xy, tmp_path):
    FORMS[name](tmp_path / name, *Xy)
    found = read_tensors(tmp_path / name, data="X", target="y")
    np.testing.assert_array_equal(found.data, Xy[0])
    with pytest.raises(ValueError, match=r"no variable 'Z'; it has \['X', 'y'\]"):
        read_tensors(tmp_path / name, data="Z")


def test_npy_with_labels_in_a_second_file(Xy, tmp_path):
    X, y = Xy
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "y.npy", y)
    assert read_tensors(tmp_path / "X.npy").target is None
    both = read_tensors(tmp_path / "X.npy", target=tmp_path / "y.npy", mmap=True)
    assert isinstance(both.data, np.memmap)
    np.testing.assert_array_equal(both.data, X)
    np.testing.assert_array_equal(both.target, y)


def test_npz_keeps_further_arrays(Xy, tmp_path):
    X, y = Xy
    np.savez(tmp_path / "a.npz", X=X, y=y, train=y > 0, names=["a", "b", "c"])
    bunch = read_tensors(tmp_path / "a.npz")
    np.testing.assert_array_equal(bunch.train, y > 0)
    assert bunch.names.tolist() == ["a", "b", "c"]


@pytest.mark.parametrize("name", FORMS)
def test_further_arrays_of_samples(name, Xy, tmp_path):
    """What has one entry per sample can be groups, in every kind of file."""
    more = {"subject": np.arange(6.0) // 2, "who": np.array(["bo", "anna", "c"] * 2)}
    if name == "a.zarr":  # warns of text that its third version does not specify
        del more["who"]
    FORMS[name](tmp_path / name, *Xy, **more, other=np.ones((6, 2)), long=np.ones(7))
    bunch = read_tensors(tmp_path / name)
    for key, array in more.items():
        np.testing.assert_array_equal(bunch[key], array)
    assert name == "a.npz" or not {"other", "long"} & set(bunch)


@pytest.mark.parametrize("write", [write_mat, write_mat73, write_hdf5])
def test_arrays_that_cannot_be_read_are_no_fields(write, Xy, tmp_path):
    """They were not asked for, so they are no reason to reject the file."""
    path = tmp_path / ("a.h5" if write is write_hdf5 else "a.mat")
    write(path, *Xy, many=np.ones(6) + (0 if write is write_mat73 else 1j))
    if write is write_mat73:
        with h5py.File(path, "r+") as file:
            file["many"].attrs["MATLAB_class"] = np.bytes_("cell")
    assert "many" not in read_tensors(path)


def test_samples_counted_last_have_their_arrays(Xy, tmp_path):
    write_mat(tmp_path / "a.mat", np.moveaxis(Xy[0], 0, -1), Xy[1], rows=np.arange(6))
    found = read_tensors(tmp_path / "a.mat", samples="last")
    np.testing.assert_array_equal(found.rows, np.arange(6))


def test_faces_of_cai_are_turned_upright(tmp_path):
    images = np.random.default_rng(0).integers(0, 256, (5, 8, 8), dtype=np.uint8)
    gnd = np.array([1, 1, 2, 2, 3], float)[:, None]
    fea = images.transpose(0, 2, 1).reshape(5, 64)  # column after column, as MATLAB
    savemat(tmp_path / "faces.mat", {"fea": fea, "gnd": gnd})
    X, y = read_tensors(tmp_path / "faces.mat", return_X_y=True)
    np.testing.assert_array_equal(X, images)
    assert X.dtype == np.uint8 and y.tolist() == [1, 1, 2, 2, 3]
    X, _ = read_tensors(tmp_path / "faces.mat", order="C", return_X_y=True)
    np.testing.assert_array_equal(X, images.transpose(0, 2, 1))


def test_flattened_images_that_are_not_square(tmp_path):
    images = np.arange(2 * 7 * 4.0).reshape(2, 7, 4)
    fea = images.transpose(0, 2, 1).reshape(2, 28)
    savemat(tmp_path / "faces.mat", {"fea": fea, "gnd": [[1], [2]]})
    with pytest.raises(ValueError, match=r"28 entries.*sample_shape=\(112, 92\)"):
        read_tensors(tmp_path / "faces.mat")
    X = read_tensors(tmp_path / "faces.mat", sample_shape=(7, 4)).data
    np.testing.assert_array_equal(X, images)
    with pytest.raises(ValueError, match=r"do not fit sample_shape=\(5, 5\)"):
        read_tensors(tmp_path / "faces.mat", sample_shape=(5, 5))


@pytest.mark.parametrize("write", [write_mat, write_mat73])
def test_samples_last(write, Xy, tmp_path):
    X, y = Xy
    write(tmp_path / "a.mat", np.moveaxis(X, 0, -1), y)
    with pytest.raises(ValueError, match=r'shape \(6,\).*4 samples.*"last"'):
        read_tensors(tmp_path / "a.mat")
    found = read_tensors(tmp_path / "a.mat", samples="last")
    np.testing.assert_array_equal(found.data, X)


def test_keys_deep_inside(Xy, tmp_path):
    X, _ = Xy
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["run/one/X"], file["run/one/who"] = X, ["anna", "bert", "carl"] * 2
    group = zarr.open_group(str(tmp_path / "a.zarr"), mode="w")
    group["run/one/X"] = X
    found = read_tensors(tmp_path / "a.h5", data="run/one/X", target="run/one/who")
    np.testing.assert_array_equal(found.data, X)
    assert found.target_names == ["anna", "bert", "carl"]
    found = read_tensors(tmp_path / "a.zarr", data="run/one/X")
    np.testing.assert_array_equal(found.data, X)


def test_zarr_folder_of_one_array(Xy, tmp_path):
    array = zarr.open_array(str(tmp_path / "a.zarr"), mode="w", shape=(6, 4, 3))
    array[...] = Xy[0]
    np.testing.assert_array_equal(read_tensors(tmp_path / "a.zarr").data, Xy[0])


def test_folder_of_images(tmp_path):
    from PIL import Image

    rng = np.random.default_rng(0)
    images = rng.integers(0, 256, (2, 3, 9, 7, 3), dtype=np.uint8)
    for name, group in zip(("cat", "dog"), images, strict=True):
        (tmp_path / name).mkdir()
        for i, pixels in enumerate(group):
            Image.fromarray(pixels).save(tmp_path / name / f"{i}.png")
    (tmp_path / "cat" / ".DS_Store").write_text("litter")
    found = read_tensors(tmp_path, color="rgb")
    np.testing.assert_array_equal(found.data, images.reshape(6, 9, 7, 3))
    assert found.target.tolist() == [0] * 3 + [1] * 3
    assert found.target_names == ["cat", "dog"]
    assert found.mode_names == ("row", "column", "color")
    small = read_tensors(tmp_path, size=(3, 7))
    gray = read_tensors(tmp_path).data
    means = gray.reshape(6, 3, 3, 7).mean(axis=2)
    np.testing.assert_allclose(small.data, means, atol=0.5 + 1e-4)
    Image.fromarray(images[0, 0, :4]).save(tmp_path / "dog" / "small.png")
    with pytest.raises(ValueError, match=r"small.png has shape \(4, 7\).*size="):
        read_tensors(tmp_path)
    (tmp_path / "dog" / "small.png").write_bytes(b"no image")
    with pytest.raises(ValueError, match=r"small.png cannot be read as an image"):
        read_tensors(tmp_path)
    assert [
        Path(f).name for f, _ in read_tensors(tmp_path, on_error="skip").skipped
    ] == ["small.png"]


def test_folder_of_clips(tmp_path):
    from tensorcrp.datasets import make_moving_shapes

    made = make_moving_shapes(2, 2, folder=tmp_path, suffix=".mkv", random_state=0)
    found = read_tensors(tmp_path, frames=16, size=(32, 32))
    order = np.argsort(made.files, kind="stable")
    np.testing.assert_allclose(found.data, made.data[order], atol=0.5 / 255 + 1e-6)
    assert found.target_names == ["left", "right"]
    assert found.files == [made.files[i] for i in order]


# What is refused --------------------------------------------------------------------


def mat_of(**variables):
    return lambda path: savemat(path, {"y": [[1], [2]], **variables})


def npz_with_pickle(path):
    np.savez(path, X=np.zeros((2, 3, 3)), y=[0, 1], extra=np.array([Bomb()], object))


def pickled(path):
    path.write_bytes(pickle.dumps(Bomb()))


def zarr_with_pickle(path):
    """A plain array whose description names pickle as its filter."""
    path.mkdir()
    description = {
        "zarr_format": 2,
        "shape": [1],
        "chunks": [1],
        "dtype": "<f8",
        "compressor": None,
        "fill_value": 0.0,
        "order": "C",
        "filters": [{"id": "pickle", "protocol": 5}],
    }
    (path / ".zarray").write_text(json.dumps(description))
    (path / "0").write_bytes(pickle.dumps(Bomb()))


def zarr_with_hidden_pickle(path):
    """The same, said in the consolidated description only."""
    write_zarr(path, np.zeros((2, 3)), np.zeros(2))
    inner = {"metadata": {"X/.zarray": {"filters": [{"id": "pickle"}]}}}
    (path / ".zmetadata").write_text(json.dumps(inner))


def mat73_struct(path):
    with h5py.File(path, "w") as file:
        file.create_group("X").attrs["MATLAB_class"] = np.bytes_("struct")
        file["y"] = np.zeros((1, 2))


def mat73_sparse(path):
    with h5py.File(path, "w") as file:
        group = file.create_group("X")
        group.attrs["MATLAB_class"] = np.bytes_("double")
        group.attrs["MATLAB_sparse"] = 3
        file["y"] = np.zeros((1, 2))


def mat73_cell(path):
    with h5py.File(path, "w") as file:
        file["y"] = np.zeros((1, 2))
        item = file.create_dataset("X", (2, 1), dtype=h5py.ref_dtype)
        item.attrs["MATLAB_class"] = np.bytes_("cell")


def hdf5_external(path):
    secret = path.with_suffix(".raw")
    secret.write_bytes(bytes(48))
    with h5py.File(path, "w") as file:
        file.create_dataset("X", (2, 3), "f8", external=[(str(secret), 0, 48)])
        file["y"] = np.zeros(2)


def text_labels_only(path):
    np.savez(path, X=np.array(["a", "b"]), y=[0, 1])


REFUSED = {
    "sparse": ("a.mat", mat_of(X=sparse.eye(2, format="csc")), r"'X'.*'sparse'.*full"),
    "cell": ("a.mat", mat_of(X=np.array([1, "a"], object)), "'X'.*'cell'.*double"),
    "struct": ("a.mat", mat_of(X={"a": 1}), "'X' is of MATLAB class 'struct'"),
    "7.3 struct": ("a.mat", mat73_struct, "'X' is of MATLAB class 'struct'"),
    "7.3 sparse": ("a.mat", mat73_sparse, r"'X' .* 'sparse'.*full\(x\)"),
    "7.3 cell": ("a.mat", mat73_cell, "'X' is of MATLAB class 'cell'"),
    "npz pickle": ("a.npz", npz_with_pickle, "'extra' holds Python objects.*never"),
    "npz is pickle": ("a.npz", pickled, "a.npz cannot be read as npz"),
    "npy is pickle": ("a.npy", pickled, "a.npy cannot be read as npy"),
    "zarr pickle": ("a.zarr", zarr_with_pickle, "stored as pickles.*never loaded"),
    "zarr hidden": ("a.zarr", zarr_with_hidden_pickle, "stored as pickles"),
    "hdf5 external": ("a.h5", hdf5_external, "'X' lies in other files"),
    "text": ("a.npz", text_labels_only, r"a.npz have shape \(2,\) and dtype <U1"),
    "ending": ("a.csv", lambda path: path.write_text("1,2"), "ends in '.csv'; known"),
    "empty": ("a.npz", lambda path: path.touch(), "a.npz cannot be read as npz"),
    "noise": ("a.mat", lambda path: path.write_bytes(bytes(range(256)) * 8), "a.mat"),
    "no hdf5": ("a.h5", lambda path: path.write_bytes(b"text"), "a.h5 cannot be read"),
}


@pytest.mark.parametrize("name, write, words", REFUSED.values(), ids=REFUSED)
def test_refused_with_a_clear_error(name, write, words, tmp_path):
    write(tmp_path / name)
    with pytest.raises(ValueError, match=words):
        read_tensors(tmp_path / name)


def test_object_arrays_are_refused_by_their_header(tmp_path):
    np.save(tmp_path / "a.npy", np.array([Bomb()], object), allow_pickle=True)
    for mmap in (False, True):
        with pytest.raises(ValueError, match=r"a.npy.*holds Python objects"):
            read_tensors(tmp_path / "a.npy", mmap=mmap)


@pytest.mark.parametrize("name", [name for name in FORMS if name != "a.zarr"])
@pytest.mark.parametrize("share", [0.02, 0.3, 0.6, 0.9, 0.99])
def test_cut_off_files(name, share, Xy, tmp_path):
    X = np.random.default_rng(0).standard_normal((40, 12, 10))
    FORMS[name](tmp_path / name, X, np.arange(40) % 3)
    whole = (tmp_path / name).read_bytes()
    (tmp_path / name).write_bytes(whole[: int(share * len(whole))])
    with pytest.raises(ValueError, match=f"{name} cannot be read.*damaged, cut off"):
        read_tensors(tmp_path / name)


def test_a_header_that_promises_terabytes(tmp_path):
    with open(tmp_path / "a.npy", "wb") as file:
        header = {"descr": "<f8", "fortran_order": False, "shape": (10**9, 10**6)}
        np.lib.format.write_array_header_1_0(file, header)
    with pytest.raises(ValueError, match=r"a.npy' asks for 8,000,000,000,000,000"):
        read_tensors(tmp_path / "a.npy")


def test_which_variables_is_asked_for(tmp_path):
    np.savez(tmp_path / "a.npz", left=np.zeros((2, 3)), right=np.zeros((2, 3)))
    with pytest.raises(ValueError, match=r"\['left', 'right'\].*data=\"X\""):
        read_tensors(tmp_path / "a.npz")
    assert read_tensors(tmp_path / "a.npz", data="left").target is None
    savemat(tmp_path / "b.mat", {"X": sparse.eye(2, format="csc"), "Z": np.eye(2)})
    assert read_tensors(tmp_path / "b.mat", data="Z").data.shape == (2, 2)


def test_missing_and_unreadable(tmp_path, as_nobody):
    with pytest.raises(FileNotFoundError, match=r"nowhere.npz does not exist"):
        read_tensors(tmp_path / "nowhere.npz")
    path = as_nobody / "a.npz"
    np.savez(path, X=np.zeros((2, 3)), y=[0, 1])
    path.chmod(0)
    with as_nobody.user(), pytest.raises(PermissionError, match=r"a.npz.*chmod u\+r"):
        read_tensors(path)


@pytest.mark.parametrize(
    "module, name", [("h5py", "a.h5"), ("zarr", "a.zarr"), ("h5py", "b.mat")]
)
def test_missing_package_says_what_to_install(module, name, Xy, tmp_path, monkeypatch):
    FORMS[name](tmp_path / name, *Xy)
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ImportError, match=r"pip install tensorcrp\[files\]"):
        read_tensors(tmp_path / name)


def test_options_of_folders_are_refused_for_files(Xy, tmp_path):
    write_npz(tmp_path / "a.npz", *Xy)
    with pytest.raises(TypeError, match=r"\['frames'\] are for folders"):
        read_tensors(tmp_path / "a.npz", frames=3)


class _Unprivileged(type(Path())):
    def user(self):
        return _AsNobody()


class _AsNobody:
    """Give up root's right to read everything; nothing to do for other users."""

    def __enter__(self):
        if os.geteuid() == 0:
            os.seteuid(65534)

    def __exit__(self, *error):
        if os.getuid() == 0:
            os.seteuid(0)


@pytest.fixture
def as_nobody(tmp_path_factory):
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        yield _Unprivileged(folder)
