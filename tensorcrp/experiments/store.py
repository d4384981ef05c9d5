"""Runs are rows: an append-only file of JSON Lines.

In: rows, dictionaries with a ``key`` that says what was computed and a ``version`` of
the package. Out: a file that holds every finished row exactly once, whatever happens:
a row is one write of one complete line, so that killing the process loses at most the
run in progress. A last line that is not whole (full disk, power cut) is reported and
cut off; rows of another version stay in the file and are not reused. The file is locked
before it is read, so that what is read is all that is in it until it is closed.
"""

import json
import os
from errno import ENOSPC
from hashlib import sha256
from pathlib import Path

from tensorcrp import __version__
from tensorcrp.base.files import check_replaceable, replacing
from tensorcrp.base.results import parse_rows
from tensorcrp.experiments.errors import BadRequest

CPU = "cpu_seconds"  # of the process; other processes do not count
TIMES = ("fit_seconds", "tune_seconds", "transform_seconds", "seconds", CPU)


def row_key(spec):
    """Short hash of what a run computes, the version of the package included."""
    text = json.dumps({**spec, "version": __version__}, sort_keys=True)
    return sha256(text.encode()).hexdigest()[:16]


def without_times(row):
    """The part of a row that the same seed gives again."""
    return {name: value for name, value in row.items() if name not in TIMES}


def as_line(row):
    """One row as one line."""
    return json.dumps(row, separators=(",", ":")) + "\n"


class Store:
    """Rows in a file, or in memory only if `path` is None.

    A context manager: on entry the file is opened, locked against other processes and
    read; on exit it is closed.

    Parameters
    ----------
    path : path or None
    report : callable
        Told in a sentence of whatever is dropped or not reused.
    check : callable, default=None
        ``check(row)`` returns what is wrong with a row of this version, or None.

    Attributes
    ----------
    rows : dict of str -> dict
        Rows of this version by their key.
    """

    def __init__(self, path=None, report=print, check=None):
        self.path, self.rows = path and Path(path), {}
        self._report, self._check, self._file = report, check, None

    def __enter__(self):
        if self.path is None:
            return self
        self._file = _open(self.path)
        try:
            _lock(self._file, self.path)
            self._load()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *error):
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _load(self):
        # Bytes that are no UTF-8 keep their number, which says where to cut.
        text = self.path.read_bytes().decode("utf-8", errors="surrogateescape")
        try:
            rows, unfinished = parse_rows(text, str(self.path), self._defect)
        except ValueError as error:
            raise BadRequest(str(error)) from error
        if unfinished:
            good = text[: len(text) - unfinished].encode("utf-8", "surrogateescape")
            os.ftruncate(self._file, len(good))
            self._report(
                f"{self.path}: the last line was not whole and has been dropped."
            )
        others = [row for row in rows if row["version"] != __version__]
        if others:
            versions = ", ".join(sorted({row["version"] for row in others}))
            self._report(
                f"{self.path}: {len(others)} rows of version {versions} are kept but "
                f"not reused by version {__version__}."
            )
        self.rows = {r["key"]: r for r in rows if r["version"] == __version__}

    def _defect(self, row):
        mine = self._check is not None and row["version"] == __version__
        return self._check(row) if mine else None

    def add(self, row):
        """Keep a row, once: one write of one line, then down to the disk."""
        if row["key"] in self.rows:
            return
        if self._file is not None:
            self._append(as_line(row).encode())
        self.rows[row["key"]] = row

    def _append(self, line):
        try:
            if os.write(self._file, line) != len(line):
                raise OSError(ENOSPC, os.strerror(ENOSPC))
            os.fsync(self._file)
        except OSError as error:  # without a name, it could be any file
            raise OSError(error.errno, error.strerror, str(self.path)) from error

    def __contains__(self, key):
        return key in self.rows

    def __len__(self):
        return len(self.rows)


def _open(path):
    if path.exists() and not path.is_file():
        raise BadRequest(
            f"{path} is not a regular file. Remove it, or give another folder with "
            "--out."
        )
    return os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)


def _lock(file, path):
    try:
        import fcntl
    except ImportError:  # not a POSIX system: nobody watches
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise BadRequest(
            f"another process is writing to {path}. Wait for it, or give another "
            "folder with --out."
        ) from error
    except OSError:  # some network file systems have no locks: nobody watches
        return


def write_whole(path, text):
    """Replace a file by a text, whole or not at all."""
    with replacing(path) as file:
        file.write(text if isinstance(text, bytes) else text.encode())


def check_folder(path, option="--out"):
    """Make a folder for results; reject one that cannot be written to."""
    path = Path(path)
    try:
        path.mkdir(parents=True, exist_ok=True)
        check_replaceable(path / "rows.jsonl")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error).rstrip(".")
        raise BadRequest(
            f"cannot write to the folder {path} ({reason}). Give another one with "
            f"{option}."
        ) from error
    return path


def check_file(path, option="--out"):
    """Make the folder of a file; reject a path that cannot become a regular file."""
    path = Path(path)
    check_folder(path.parent, option)
    if path.exists() and not path.is_file():
        raise BadRequest(
            f"{path} is not a regular file. Remove it, or give another path with "
            f"{option}."
        )
    return path
