"""Data files that attack their reader: what they are answered, and a short fuzz run."""

import os
import signal
import subprocess
import sys
from contextlib import contextmanager

import fuzz_files
import h5py
import numpy as np
import pytest
from hostile_files import HEAD_73, VIDEOS, hdf5_bytes, write_zarr
from scipy.io import savemat

from tensorcrp.datasets import _hdf5, read_tensors

SECRET = np.frombuffer(b"SECRET OF ANOTHER FILE..", np.uint8).reshape(4, 6)
IN_TWO_FORMS = pytest.mark.parametrize("name", ["a.h5", "a.mat"])


def write(path, fill):
    """An HDF5 file, or one of MATLAB 7.3 by the ending."""
    head = HEAD_73 if path.suffix == ".mat" else b""
    path.write_bytes(hdf5_bytes(fill, head))
    return path


@contextmanager
def no_hang(seconds=60):
    """An error instead of a test that never ends; no time is asserted."""

    def late(*args):
        raise TimeoutError(f"still waiting after {seconds} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def in_a_process(code, *args):
    """The finished process of a fresh interpreter."""
    command = [sys.executable, "-c", code, *map(str, args)]
    return subprocess.run(command, capture_output=True, text=True)


# --- HDF5 and MATLAB 7.3: one gate ------------------------------------------------


def raw_storage(file, folder):
    where = [(str(folder / "secret.raw"), 0, SECRET.size)]
    file.create_dataset("X", SECRET.shape, "u1", external=where)


def external_link(file, folder):
    file["X"] = h5py.ExternalLink(str(folder / "secret.h5"), "/s")


def virtual(file, folder):
    layout = h5py.VirtualLayout(SECRET.shape, "u1")
    source = h5py.VirtualSource(str(folder / "secret.h5"), "s", SECRET.shape)
    layout[:] = source
    file.create_virtual_dataset("X", layout)


def link_to_a_link(file, folder):
    file["away"] = h5py.ExternalLink(str(folder / "secret.h5"), "/")
    file["X"] = h5py.SoftLink("/away/s")


@IN_TWO_FORMS
@pytest.mark.parametrize("point", [raw_storage, external_link, virtual, link_to_a_link])
def test_other_files_are_not_read(name, point, tmp_path):
    (tmp_path / "secret.raw").write_bytes(SECRET.tobytes())
    write(tmp_path / "secret.h5", lambda file: file.create_dataset("s", data=SECRET))
    path = write(tmp_path / name, lambda file: point(file, tmp_path))
    with pytest.raises(ValueError, match=r"'/?(X|away/s)' lies in other files"):
        read_tensors(path, data="X")


def test_labels_do_not_take_the_place_of_linked_samples(tmp_path):
    def fill(file):
        file["X"] = h5py.ExternalLink("big.h5", "/X")
        file["y"] = np.arange(6.0)[:, None]

    with pytest.raises(ValueError, match="'X' lies in other files"):
        read_tensors(write(tmp_path / "a.h5", fill))


@IN_TWO_FORMS
def test_links_inside_the_file_are_followed(name, tmp_path):
    samples = np.arange(24.0).reshape(6, 4)

    def fill(file):
        file["deep/labels"] = np.arange(6) % 2
        file["samples"] = samples.T if name == "a.mat" else samples
        file["y"] = h5py.SoftLink("/deep/labels")
        file["X"] = file["samples"]  # a second name of one data set

    found = read_tensors(write(tmp_path / name, fill))
    np.testing.assert_array_equal(found.data, samples)
    assert found.target.tolist() == [0, 1] * 3


def test_links_and_groups_without_end(tmp_path):
    def fill(file):
        file["X"], file["y"] = h5py.SoftLink("/y"), h5py.SoftLink("/X")
        group = file.create_group("g")
        group["itself"], group["Z"] = group, np.ones((3, 2))

    path = write(tmp_path / "a.h5", fill)
    with pytest.raises(ValueError, match="link without end"):
        read_tensors(path)
    assert read_tensors(path, data="g/Z").data.shape == (3, 2)


ODD = {
    "null": (lambda f: f.create_dataset("X", data=h5py.Empty("f8")), "null data set"),
    "terabytes": (
        lambda f: f.create_dataset("X", (10**9, 10**3), "f8"),
        "8,000,000,000,000 bytes",
    ),
    "chunks": (
        lambda f: f.create_dataset("X", (7000, 7000), "u1", chunks=(1, 1)),
        "49,000,000 chunks",
    ),
    "compound": (lambda f: f.create_dataset("X", (3, 2), [("a", "f8")]), "neither"),
    "references": (lambda f: f.create_dataset("X", (3, 2), h5py.ref_dtype), "neither"),
}


@pytest.mark.parametrize("fill, words", ODD.values(), ids=ODD)
def test_what_is_no_array_in_the_file(fill, words, tmp_path):
    with pytest.raises(ValueError, match=f"a.h5: 'X' .*{words}"):
        read_tensors(write(tmp_path / "a.h5", fill))


@pytest.mark.parametrize(
    "code", ["os.kill(os.getpid(), 11)", "print('{}'); raise SystemExit", "print('[')"]
)
def test_a_library_that_crashes(code, tmp_path, monkeypatch):
    path = write(tmp_path / "a.h5", lambda file: file.create_dataset("X", (3, 2), "f8"))
    (tmp_path / "child.py").write_text(f"import os; {code}")
    monkeypatch.setattr(_hdf5, "_SCRIPT", tmp_path / "child.py")
    with pytest.raises(ValueError, match=r"a.h5 cannot be read as hdf5.*damaged"):
        read_tensors(path)


def test_the_process_cannot_open_a_second_file():
    code = """
import errno, runpy, sys
runpy.run_path(sys.argv[1])["_open_no_more"]()
try:
    open("/dev/null")
except OSError as error:
    print(error.errno == errno.EMFILE)
"""
    assert in_a_process(code, _hdf5._SCRIPT).stdout == "True\n"


@pytest.mark.parametrize("dtype", [">f8", "<f4", "i1", "?"], ids=lambda dtype: dtype)
def test_arrays_come_through_the_process_as_they_are(dtype, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (5, 0, 3)), rng.integers(0, 2, (300, 90, 40)).astype(dtype)

    def fill(file):
        file["none"] = X[0]
        file.create_dataset("X", data=X[1], chunks=(50, 90, 7), compression="gzip")
        file["one"], file["text"] = np.array(3.5), ["ä", "", "abc"]

    path = write(tmp_path / "a.h5", fill)
    found = read_tensors(path, data="X").data
    np.testing.assert_array_equal(found, X[1])
    assert found.dtype == X[1].dtype.newbyteorder("=") and found.flags.writeable
    with _hdf5.open_hdf5(path) as arrays:
        assert arrays["none"].shape == (5, 0, 3) and arrays["one"] == 3.5
        assert arrays["text"].tolist() == ["ä", "", "abc"]


# --- MATLAB 4 to 7 ----------------------------------------------------------------

READ_MUTANTS = """
import sys
from tensorcrp.datasets import read_tensors
for path in sys.argv[1:]:
    content = open(path, "rb").read()
    for where in range(128, len(content)):
        for value in (15, 128):
            with open(path, "wb") as file:
                file.write(content[:where] + bytes([value]) + content[where + 1:])
            try:
                read_tensors(path)
            except ValueError:
                pass
print("survived")
"""


@pytest.mark.slow
def test_one_changed_byte_of_a_matlab_file(tmp_path):
    arrays = {"X": np.arange(24.0).reshape(6, 2, 2), "y": np.arange(6) % 2}
    savemat(tmp_path / "a.mat", arrays)
    savemat(tmp_path / "b.mat", arrays, do_compression=True)
    done = in_a_process(READ_MUTANTS, tmp_path / "a.mat", tmp_path / "b.mat")
    assert done.stdout == "survived\n", (done.returncode, done.stderr)


def test_a_matlab_file_that_leads_back_to_its_start(tmp_path):
    header = np.array([0, -3, 1, 0, 2], "<i4").tobytes() + b"X\0" + bytes(24)
    (tmp_path / "a.mat").write_bytes(header)
    with no_hang(), pytest.raises(ValueError, match="header of version 4 is wrong"):
        read_tensors(tmp_path / "a.mat")


# --- pipes, sizes, links ----------------------------------------------------------


@pytest.mark.parametrize("ending", ["npy", "npz", "mat", "h5", "zarr"])
def test_a_pipe_does_not_block(ending, tmp_path):
    os.mkfifo(tmp_path / f"p.{ending}")
    with no_hang(), pytest.raises(ValueError, match="is neither a file nor a folder"):
        read_tensors(tmp_path / f"p.{ending}")


def test_a_pipe_of_labels_and_a_pipe_in_a_folder(tmp_path):
    np.save(tmp_path / "X.npy", np.ones((3, 2)))
    os.mkfifo(tmp_path / "y.npy")
    with no_hang(), pytest.raises(ValueError, match=r"y.npy is neither a file"):
        read_tensors(tmp_path / "X.npy", target=tmp_path / "y.npy")
    write_zarr(tmp_path / "a.zarr")
    (tmp_path / "a.zarr" / "X" / "0.0.0").unlink()
    os.mkfifo(tmp_path / "a.zarr" / "X" / "0.0.0")
    with no_hang(), pytest.raises(ValueError, match=r"0.0.0 is neither a file"):
        read_tensors(tmp_path / "a.zarr")


def test_a_zarr_folder_does_not_lead_elsewhere(tmp_path):
    (tmp_path / "secret").write_bytes(bytes(96))
    write_zarr(tmp_path / "a.zarr")
    (tmp_path / "a.zarr" / "X" / "0.0.0").unlink()
    (tmp_path / "a.zarr" / "X" / "0.0.0").symlink_to(tmp_path / "secret")
    with pytest.raises(ValueError, match=r"0.0.0 leads out of"):
        read_tensors(tmp_path / "a.zarr")


# --- all together -----------------------------------------------------------------


@pytest.mark.slow
def test_a_short_run_of_the_fuzzer():
    """Traps and mutants of the formats of arrays and images; HDF5 is slow to start."""
    slow = {"h5", "mat73", *VIDEOS}
    forms = [form for form in fuzz_files.FORMATS if form not in slow]
    table = fuzz_files.run(320, forms=forms, trace=False)
    tried = {form: table.counts[form]["tried"] for form in forms}
    assert sum(tried.values()) == 320 and min(tried.values()) >= 20
    assert not table.bad(), str(table)
    assert all(table.counts[form]["read"] for form in forms), str(table)
