"""Files that are replaced atomically, and files that are safe to open.

In: a path. Out: an open file that takes its place when it is complete, so that the old
file or the new one is there at every moment, never a mixture, whatever stops the
process. Everything in this package that writes a file whole writes it here.
"""

import errno
import io
import os
import secrets
import stat
from contextlib import contextmanager, suppress

_BLOCK = 2**20
# Their entries belong to the system; /dev/shm is a disk in memory like any other.
_SYSTEM, _DISKS = ("/dev", "/proc"), ("/dev/shm",)


@contextmanager
def replacing(path, *, size=0, streams=False):
    """Open a file that replaces `path` when the block ends without an error.

    What is written goes to ``.tensorcrp-*.part`` in the same folder. At the end it is
    flushed to the disk and renamed. After an error or Ctrl-C it is removed, and `path`
    is as it was; only a killed process leaves it behind.

    A device, a pipe, a link to one and everything in ``/dev`` and ``/proc`` are never
    replaced. They are rejected, or written to if `streams` says so: what is written is
    kept in memory and sent there when the block ends.

    Parameters
    ----------
    path : path
        A file that may exist, in a folder that must. An existing file hands its
        permissions on. A symbolic link to a file is replaced itself; its target is not
        touched.
    size : int, default=0
        Bytes to reserve on the disk before the block starts. Needed for memory maps: a
        process that writes to a map of a file without room is killed (SIGBUS).
    streams : bool, default=False
        Whether `path` may be a device or a pipe, which waits for a reader.

    Yields
    ------
    file
        Binary, open for reading and writing; its ``name`` is `path`.

    Raises
    ------
    ValueError
        Before the block starts, if `path` is a folder, a socket, a pipe or a device,
        or if `size` is given for the last two.
    OSError
        Before the block starts, if the folder cannot be written to or has no room for
        `size` bytes; after it, if the disk is full.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from tensorcrp.base.files import replacing
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "rows.txt"
    ...     with replacing(path) as file:
    ...         written = file.write(b"new")
    ...         print(path.exists())
    ...     print(path.read_text())
    False
    new
    """
    path = os.path.abspath(os.fsdecode(path))
    stream = _is_stream(path)
    if stream and not streams:
        kind = "a pipe" if stat.S_ISFIFO(os.stat(path).st_mode) else "a device"
        raise ValueError(f"{path} is {kind}, not a file; give the path of a file.")
    with (_sent if stream else _renamed)(path, size) as file:
        yield file


@contextmanager
def _renamed(path, size):
    """A new file that is renamed to `path` at the end."""
    mode = _mode_of(path)
    folder = os.path.dirname(path)
    temporary = os.path.join(folder, f".tensorcrp-{secrets.token_hex(8)}.part")
    try:
        with _created(temporary, path) as file:
            if mode is not None and hasattr(os, "fchmod"):
                os.fchmod(file.fileno(), mode)
            _reserve(file, size)
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise
    _flush_folder(folder)


# --- devices and pipes --------------------------------------------------------------


def _is_stream(path):
    """Whether a path leads to a device or a pipe, or belongs to the system."""
    folder = os.path.realpath(os.path.dirname(path))
    if _is_below(folder, _SYSTEM) and not _is_below(folder, _DISKS):
        return not os.path.isdir(path)
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return False
    return stat.S_ISCHR(mode) or stat.S_ISBLK(mode) or stat.S_ISFIFO(mode)


def _is_below(folder, roots):
    return any(f"{folder}/".startswith(f"{root}/") for root in roots)


class _Kept(io.BytesIO):
    """Bytes for a path; encoders choose a format by ``name``."""

    name = ""


@contextmanager
def _sent(path, size):
    """Bytes in memory that are sent to a device or a pipe at the end."""
    os.stat(path)  # a name that /dev lacks is a slip, not a file to make there
    if not os.access(path, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
    if size:
        raise ValueError(
            f"{path} is a device or a pipe, which cannot be mapped into memory; give "
            "the path of a file."
        )
    with _Kept() as kept:
        kept.name = path
        yield kept
        with open(path, "wb", opener=_open_to_append) as stream:
            stream.write(kept.getbuffer())


def _open_to_append(path, flags):
    """A handle; a file behind a link of /proc keeps what it has."""
    return os.open(path, (flags | os.O_APPEND) & ~(os.O_TRUNC | os.O_CREAT))


def check_replaceable(path, *, streams=False):
    """Raise now what `replacing` would raise at once, and change nothing.

    Parameters
    ----------
    path : path
        The file that is to be written later.
    streams : bool, default=False
        As in `replacing`.

    Examples
    --------
    >>> from tensorcrp.base.files import check_replaceable
    >>> check_replaceable("/")
    Traceback (most recent call last):
    ...
    ValueError: / is a folder, not a file; give the path of a file.
    """
    with suppress(_Unused), replacing(path, streams=streams):
        raise _Unused


class _Unused(Exception):
    """Leaves `replacing` before anything is replaced."""


def _mode_of(path):
    """Permissions of the regular file at `path`, None if there is none."""
    try:
        mode = os.lstat(path).st_mode
    except FileNotFoundError:
        return None
    if stat.S_ISREG(mode):
        return stat.S_IMODE(mode)
    if stat.S_ISLNK(mode):
        return None
    kind = "a folder" if stat.S_ISDIR(mode) else "a socket"  # devices are streams
    raise ValueError(f"{path} is {kind}, not a file; give the path of a file.")


def _created(temporary, path):
    """A new file under the name `temporary`, open; its attribute ``name`` is `path`."""
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    flags |= getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOINHERIT", 0)
    try:
        # Encoders choose a format by the name of a file: by that which it will have.
        return open(path, "w+b", opener=lambda *_: os.open(temporary, flags, 0o666))
    except OSError as error:
        # Of the folder, not of a name that nobody knows.
        folder = os.path.dirname(path)
        raise OSError(error.errno, error.strerror, folder) from error


def _reserve(file, size):
    """Give an empty file `size` bytes that the disk has set aside for it."""
    if size == 0:
        return
    try:
        _allocate(file, size)
    except OSError as error:
        words = f"{error.strerror} for {size} bytes"
        raise OSError(error.errno, words, file.name) from error


def _allocate(file, size):
    """By the system call where there is one, else by writing zeros."""
    try:
        os.posix_fallocate(file.fileno(), 0, size)
        return
    except AttributeError:  # macOS, Windows
        pass
    except OSError as error:  # a file system that cannot; not a full one
        if error.errno not in (errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL):
            raise
    while size > 0:  # not by file.write: its buffer would be written at the close
        size -= os.write(file.fileno(), bytes(min(_BLOCK, size)))
    os.lseek(file.fileno(), 0, os.SEEK_SET)


def _flush_folder(folder):
    """Let the new name reach the disk too, on systems that can."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0))
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def open_regular(path):
    """Open a regular file for reading; reject pipes, devices and folders at once.

    Parameters
    ----------
    path : path
        Symbolic links are followed.

    Returns
    -------
    file
        Binary, open for reading.

    Raises
    ------
    ValueError
        If `path` is not a regular file. Nothing waits for the other end of a pipe.

    Examples
    --------
    >>> from tempfile import NamedTemporaryFile
    >>> from tensorcrp.base.files import open_regular
    >>> with NamedTemporaryFile() as new, open_regular(new.name) as file:
    ...     file.read()
    b''
    """
    return open(os.fspath(path), "rb", opener=_open_regular)


def _open_regular(path, flags):
    """The opener of `open_regular`: a handle."""
    # Without waiting for somebody to write into a pipe.
    flags |= getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)
    handle = os.open(path, flags)
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise ValueError(f"{os.fsdecode(path)} is not a regular file.")
    except BaseException:
        os.close(handle)
        raise
    return handle
