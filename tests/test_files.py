"""The one writer of files: whole or not at all, and nothing left behind."""

import errno
import os
import signal
import socket
import stat
import tempfile
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest
from disks import small_disk, small_files

from tensorcrp.base import files
from tensorcrp.base.files import check_replaceable, open_regular, replacing


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def write(path, data, **how):
    with replacing(path, **how) as file:
        file.write(data)


# Whole or not at all ----------------------------------------------------------------


def test_the_new_file_appears_at_the_end(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"old")
    with replacing(path) as file:
        file.write(b"new")
        file.flush()
        assert path.read_bytes() == b"old"
        (part,) = set(names(tmp_path)) - {"a"}
        assert part.startswith(".tensorcrp-") and part.endswith(".part")
        assert file.name == str(path)  # encoders choose a format by it
    assert path.read_bytes() == b"new" and names(tmp_path) == ["a"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("old", [None, b"old"])
def test_any_exception_leaves_what_was_there(error, old, tmp_path):
    path = tmp_path / "a"
    if old is not None:
        path.write_bytes(old)
    before = names(tmp_path)
    with pytest.raises(error), replacing(path, size=100) as file:
        file.write(b"half")
        raise error
    assert names(tmp_path) == before
    assert old is None or path.read_bytes() == old


@pytest.mark.parametrize("call", ["fsync", "replace", "fchmod", "posix_fallocate"])
def test_ctrl_c_in_any_step_leaves_what_was_there(call, tmp_path, monkeypatch):
    if not hasattr(os, call):
        pytest.skip(f"this system has no {call}")
    path = tmp_path / "a"
    path.write_bytes(b"old")

    def ctrl_c(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, call, ctrl_c)
    with pytest.raises(KeyboardInterrupt), replacing(path, size=10) as file:
        file.write(b"new")
    assert path.read_bytes() == b"old" and names(tmp_path) == ["a"]


def test_a_block_that_is_left_open_is_cleaned_up(tmp_path):
    """A generator dropped between __enter__ and the block: nobody calls __exit__."""
    block = replacing(tmp_path / "a")
    block.__enter__()
    assert len(names(tmp_path)) == 1
    del block
    assert names(tmp_path) == []


def test_flushed_before_renamed_and_the_folder_after(tmp_path, disk_calls):
    write(tmp_path / "a", b"new")
    assert disk_calls == ["file", "rename", "folder"]


def test_permissions_are_those_of_the_old_file_or_the_usual_ones(tmp_path):
    path = tmp_path / "a"
    write(path, b"new")
    umask = os.umask(0)
    os.umask(umask)
    assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~umask
    path.chmod(0o600)
    write(path, b"newer")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize("kind", [str, os.fsencode, Path])
def test_any_kind_of_path(kind, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("m" * 255, "a name", "./b"):
        write(kind(name), b"new")
        assert Path(name).read_bytes() == b"new"


# What cannot be written is found before the block -----------------------------------


@contextmanager
def odd_paths(tmp_path):
    """Everything that is not a file, and how it is called."""
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "folder").mkdir()
    with socket.socket(socket.AF_UNIX) as server:
        short = tempfile.mkdtemp()  # names of sockets have at most 107 bytes
        server.bind(f"{short}/s")
        yield {
            tmp_path / "fifo": "a pipe",
            tmp_path / "folder": "a folder",
            Path(short, "s"): "a socket",
            Path("/dev/null"): "a device",
        }
        os.unlink(f"{short}/s")
        os.rmdir(short)


def test_what_is_no_file_is_rejected_before_the_block(tmp_path):
    with odd_paths(tmp_path) as odd:
        for path, kind in odd.items():
            before = path.lstat()
            with pytest.raises(ValueError, match=f"is {kind}, not a file"):
                with replacing(path):
                    raise AssertionError("the block ran")
            with pytest.raises(ValueError, match="give the path of a file"):
                check_replaceable(path)
            assert path.lstat().st_ino == before.st_ino
    assert names(tmp_path) == ["fifo", "folder"]


def test_a_link_is_replaced_and_its_target_is_not(tmp_path):
    (tmp_path / "target").write_bytes(b"somebody's")
    for target in ("target", "nothing"):
        (tmp_path / "link").symlink_to(target)
        write(tmp_path / "link", b"new")
        assert not (tmp_path / "link").is_symlink()
        (tmp_path / "link").unlink()
    assert (tmp_path / "target").read_bytes() == b"somebody's"


# Devices and pipes: a program that replaces /dev/stdout as root breaks the machine ----


def test_a_device_or_a_link_to_one_is_written_to_and_stays(tmp_path):
    (tmp_path / "link").symlink_to("/dev/null")
    for path in (tmp_path / "link", Path("/dev/null")):
        before = path.lstat().st_ino
        with pytest.raises(ValueError, match="is a device, not a file"):
            check_replaceable(path)
        check_replaceable(path, streams=True)
        write(path, b"new", streams=True)
        assert path.lstat().st_ino == before
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
    assert names(tmp_path) == ["link"]


def test_a_pipe_gets_all_of_it_at_the_end(tmp_path):
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "link").symlink_to("fifo")
    check_replaceable(tmp_path / "fifo", streams=True)  # waits for nobody
    reader = os.open(tmp_path / "fifo", os.O_RDONLY | os.O_NONBLOCK)
    try:
        for name in ("fifo", "link"):
            with replacing(tmp_path / name, streams=True) as file:
                file.write(b"new")
                file.seek(0)  # as archives are written
                assert file.read() == b"new" and file.name == str(tmp_path / name)
            assert os.read(reader, 100) == b"new"
    finally:
        os.close(reader)
    with pytest.raises(ValueError, match="cannot be mapped"):
        with replacing(tmp_path / "fifo", size=1, streams=True):
            raise AssertionError("the block ran")
    assert names(tmp_path) == ["fifo", "link"]


def test_what_belongs_to_the_system_is_never_replaced(tmp_path, monkeypatch):
    """In a folder that plays /dev: a link to a file, as /dev/stdout is after ``>``."""
    system = tmp_path / "dev"
    (system / "shm").mkdir(parents=True)
    (tmp_path / "log").write_bytes(b"before ")
    (system / "stdout").symlink_to(tmp_path / "log")
    (tmp_path / "other").symlink_to(system)
    monkeypatch.setattr(files, "_SYSTEM", (str(system),))
    monkeypatch.setattr(files, "_DISKS", (str(system / "shm"),))
    for path in (system / "stdout", tmp_path / "other" / "stdout"):
        check_replaceable(path, streams=True)
        write(path, b"new ", streams=True)
    assert (tmp_path / "log").read_bytes() == b"before new new "
    assert names(system) == ["shm", "stdout"] and (system / "stdout").is_symlink()
    for call in (check_replaceable, partial(write, data=b"")):
        with pytest.raises(FileNotFoundError):
            call(system / "stdoutt", streams=True)
    with replacing(system / "shm" / "a", size=10) as file:
        file.write(b"a disk")
    assert names(system / "shm") == ["a"]


def test_a_folder_that_is_missing_or_may_not_be_written_to():
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o555)
        root = os.geteuid() == 0
        try:
            if root:  # who may write everywhere, so becomes somebody else
                os.seteuid(65534)
            for call in (check_replaceable, lambda path: write(path, b"")):
                with pytest.raises(PermissionError, match=folder):
                    call(Path(folder, "a"))
                with pytest.raises(FileNotFoundError, match=f"{folder}/nowhere'"):
                    call(Path(folder, "nowhere", "a"))
        finally:
            if root:
                os.seteuid(0)


def test_a_check_changes_nothing(tmp_path):
    check_replaceable(tmp_path / "a")
    assert names(tmp_path) == []
    (tmp_path / "a").write_bytes(b"old")
    inode = (tmp_path / "a").stat().st_ino
    check_replaceable(tmp_path / "a")
    assert names(tmp_path) == ["a"] and (tmp_path / "a").stat().st_ino == inode


# Room on the disk -------------------------------------------------------------------


def no_fallocate(monkeypatch):
    monkeypatch.delattr(os, "posix_fallocate", raising=False)


def unsupported(monkeypatch):
    def fallocate(*args):
        raise OSError(errno.EOPNOTSUPP, "Operation not supported")

    monkeypatch.setattr(os, "posix_fallocate", fallocate, raising=False)


WAYS = {"system": lambda patch: None, "none": no_fallocate, "not here": unsupported}
ways = pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)


@ways
def test_reserved_bytes_are_on_the_disk(way, tmp_path, monkeypatch):
    way(monkeypatch)
    size = 3 * 2**20 + 17
    with replacing(tmp_path / "a", size=size) as file:
        status = os.fstat(file.fileno())
        assert status.st_size == size and status.st_blocks * 512 >= size
        assert file.tell() == 0
        file.write(b"begin")
    data = (tmp_path / "a").read_bytes()
    assert data == b"begin" + bytes(size - 5)


@ways
def test_a_full_disk_is_found_before_the_block(way, tmp_path, monkeypatch):
    way(monkeypatch)
    with small_disk(tmp_path, 2**20) as mounted:
        if not mounted:
            pytest.skip("needs root and Linux; the test of limits is for everyone")
        (tmp_path / "a").write_bytes(b"old")
        with pytest.raises(OSError, match="for 2097152 bytes") as caught:
            with replacing(tmp_path / "a", size=2**21):
                raise AssertionError("the block ran")
        assert caught.value.errno == errno.ENOSPC
        assert caught.value.filename == str(tmp_path / "a")
        assert names(tmp_path) == ["a"] and (tmp_path / "a").read_bytes() == b"old"
        with pytest.raises(OSError, match="No space"):
            write(tmp_path / "a", bytes(2**21))
        assert names(tmp_path) == ["a"] and (tmp_path / "a").read_bytes() == b"old"


@ways
def test_a_limit_on_sizes_is_found_before_the_block(way, tmp_path, monkeypatch):
    """As a full disk, for everyone: no root, no mount."""
    way(monkeypatch)
    with small_files(2**20), pytest.raises(OSError, match="for 2097152") as caught:
        with replacing(tmp_path / "a", size=2**21):
            raise AssertionError("the block ran")
    assert caught.value.errno == errno.EFBIG and names(tmp_path) == []


# Reading ----------------------------------------------------------------------------


def test_only_regular_files_are_opened(tmp_path):
    (tmp_path / "a").write_bytes(b"old")
    (tmp_path / "link").symlink_to("a")
    for name in ("a", "link"):
        with open_regular(tmp_path / name) as file:
            assert file.read() == b"old"

    def too_late(*args):
        raise AssertionError("waits for the other end of a pipe")

    signal.signal(signal.SIGALRM, too_late)
    signal.alarm(20)
    try:
        with odd_paths(tmp_path) as odd:
            for path, kind in odd.items():
                error = OSError if kind == "a socket" else ValueError
                with pytest.raises(error):
                    open_regular(path)
    finally:
        signal.alarm(0)
    with pytest.raises(FileNotFoundError):
        open_regular(tmp_path / "nothing")


def test_nothing_stays_open(tmp_path):
    os.mkfifo(tmp_path / "fifo")
    before = len(os.listdir("/proc/self/fd")) if Path("/proc").exists() else 0
    for _ in range(20):
        with pytest.raises(ValueError):
            open_regular(tmp_path / "fifo")
        with pytest.raises(files._Unused), replacing(tmp_path / "a", size=10):
            raise files._Unused
    after = len(os.listdir("/proc/self/fd")) if Path("/proc").exists() else 0
    assert after == before
