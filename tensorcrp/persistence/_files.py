"""Files that are replaced whole, and files that are safe to open.

In: a path, and pieces of bytes to put there. Out: at every moment the old file or the
new one, never a mixture, whatever stops the process.
"""

import os
import secrets
import stat
from contextlib import contextmanager, suppress

from tensorcrp.persistence._json import ModelFormatError


def replace_file(path, pieces):
    """Write a file beside `path`, flush it to the disk, and rename it.

    A symbolic link at `path` is replaced itself; what it points to stays as it is.
    An existing file hands its permissions on.
    """
    path = os.path.abspath(os.fspath(path))
    mode = _mode_of(path)
    folder = os.path.dirname(path)
    temporary = os.path.join(folder, f".tensorcrp-{secrets.token_hex(8)}.part")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    try:
        with open(os.open(temporary, flags, 0o666), "wb") as file:
            if mode is not None and hasattr(os, "fchmod"):
                os.fchmod(file.fileno(), mode)
            for piece in pieces:
                file.write(piece)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise
    _flush_folder(folder)


def _mode_of(path):
    """Permissions of the regular file at `path`, None if there is none."""
    try:
        status = os.lstat(path)
    except FileNotFoundError:
        return None
    if stat.S_ISREG(status.st_mode):
        return stat.S_IMODE(status.st_mode)
    if stat.S_ISLNK(status.st_mode):
        return None
    raise ValueError(
        f"{path} is a folder or a device, not a file; give the path of a file."
    )


def _flush_folder(folder):
    """Let the new name reach the disk too, on systems that can."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0))
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


@contextmanager
def open_regular(path, largest):
    """An open file and its size; pipes, devices and folders are refused at once."""
    flags = os.O_RDONLY | getattr(os, "O_BINARY", 0)
    # Without waiting for somebody to write into a pipe.
    flags |= getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)
    handle = os.open(os.fspath(path), flags)
    try:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            raise ModelFormatError(f"{os.fspath(path)} is not a regular file.")
        if status.st_size > largest:
            raise ModelFormatError(
                f"{os.fspath(path)} has {status.st_size} bytes, more than "
                f"max_bytes={largest}; raise max_bytes if you trust it."
            )
        with open(handle, "rb", closefd=False) as file:
            yield file, status.st_size
    finally:
        os.close(handle)
