"""The reader of MATLAB 4 to 7 beside scipy's, on files of MATLAB and of scipy."""

from pathlib import Path

import numpy as np
import pytest
import scipy.io.matlab
from scipy.io import loadmat, savemat, whosmat

from tensorcrp.datasets import read_tensors
from tensorcrp.datasets._matlab import open_mat

# Files that MATLAB 4 to 7 wrote, on processors of both byte orders.
MATLAB = Path(scipy.io.matlab.__file__).parent / "tests" / "data"
HOW = pytest.mark.parametrize(
    "how", [{}, {"do_compression": True}, {"format": "4"}], ids=str
)
KINDS = {"double", "single", "char", "logical", "int8", "uint8", "int16", "uint16"}


def same(path, name, expected):
    """What we read is what scipy reads, in the byte order of this machine."""
    with open_mat(path) as arrays:
        found = arrays[name]
    expected = np.char.rstrip(expected) if expected.dtype.kind == "U" else expected
    np.testing.assert_array_equal(found, expected)
    assert found.dtype == expected.dtype.newbyteorder("=")
    assert found.flags.writeable


@pytest.mark.skipif(not MATLAB.is_dir(), reason="scipy is installed without its tests")
@pytest.mark.parametrize(
    "name", ["double", "matrix", "minus", "onechar", "string", "stringarray"]
)
@pytest.mark.parametrize("version", ["4.2c_SOL2", "6.1_SOL2", "7.4_GLNX86"])
def test_files_of_matlab(name, version):
    path = MATLAB / f"test{name}_{version}.mat"
    kinds = {variable: kind for variable, _, kind in whosmat(path)}
    for variable, array in loadmat(path).items():
        if kinds.get(variable) in KINDS and array.dtype.kind != "c":
            same(path, variable, array)


@HOW
@pytest.mark.parametrize("dtype", "f8 f4 i1 u1 i2 u2 i4 u4 i8 u8 ?".split())
def test_files_of_scipy(how, dtype, tmp_path):
    rng = np.random.default_rng(0)
    shapes = {"X": (5, 4), "empty": (0, 3), "one": (1, 1)}
    if "format" not in how:
        shapes |= {"cube": (3, 4, 2), "long_name_of_a_variable": (1, 2, 1, 3)}
    arrays = {name: rng.integers(0, 2, n).astype(dtype) for name, n in shapes.items()}
    savemat(tmp_path / "a.mat", arrays, **how)
    loaded = loadmat(tmp_path / "a.mat")
    for name in arrays:
        same(tmp_path / "a.mat", name, loaded[name])


@HOW
def test_texts_of_scipy(how, tmp_path):
    names = np.array(["anna", "bo", "", "carla"])
    savemat(tmp_path / "a.mat", {"X": np.ones((4, 2)), "who": names}, **how)
    same(tmp_path / "a.mat", "who", loadmat(tmp_path / "a.mat")["who"])
    found = read_tensors(tmp_path / "a.mat", data="X", target="who")
    assert found.target.tolist() == names.tolist()


def test_complex_numbers_are_rejected_by_name(tmp_path):
    for form in ("4", "5"):
        savemat(tmp_path / "a.mat", {"X": np.ones((2, 2)) * 1j, "Z": 1.0}, format=form)
        with pytest.raises(ValueError, match=r"'X'.*class 'complex'.*real\(x\)"):
            read_tensors(tmp_path / "a.mat", data="X")


def test_compressed_entries_are_compared_with_their_checksum(tmp_path):
    savemat(tmp_path / "a.mat", {"X": np.eye(30)}, do_compression=True)
    content = bytearray((tmp_path / "a.mat").read_bytes())
    content[-1] ^= 1
    (tmp_path / "a.mat").write_bytes(content)
    with pytest.raises(ValueError, match=r"a.mat cannot be read.*data check"):
        read_tensors(tmp_path / "a.mat")


@pytest.mark.parametrize("large", [2.0**70, np.inf, 2.0**63])
def test_labels_beyond_integers_stay_apart(large, tmp_path):
    y = [1.0, 2.0**60, large, 2.0**53]
    np.savez(tmp_path / "a.npz", X=np.ones((4, 3)), y=y)
    assert read_tensors(tmp_path / "a.npz").target.tolist() == y
