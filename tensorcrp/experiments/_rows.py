"""Runs are rows: an append-only file of JSON Lines.

In: rows, dictionaries with a ``key`` that says what was computed and a ``version`` of
the package. Out: a file that holds every finished row exactly once, whatever happens:
a row is one write of one complete line, so that killing the process loses at most the
run in progress. A last line that is not whole (full disk, power cut) is reported and
cut off; rows of another version stay in the file and are not reused.
"""

import json
import os
import tempfile
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

from tensorcrp import __version__
from tensorcrp._results import parse_rows
from tensorcrp.experiments._errors import BadRequest

TIMES = ("fit_seconds", "tune_seconds", "transform_seconds", "seconds")


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

    Parameters
    ----------
    path : path or None
    report : callable
        Told in a sentence of whatever is dropped or not reused.
    """

    def __init__(self, path=None, report=print):
        self.path, self._file = path and Path(path), None
        self.rows = {}
        if self.path is not None and self.path.exists():
            self._load(report)

    def _load(self, report):
        text = self.path.read_bytes().decode("utf-8", errors="replace")
        try:
            rows, damaged = parse_rows(text, str(self.path))
        except ValueError as error:
            raise BadRequest(str(error)) from error
        if damaged:
            good = len(text[: len(text) - damaged].encode())
            os.truncate(self.path, good)
            report(f"{self.path}: the last line was not whole and has been dropped.")
        others = [row for row in rows if row["version"] != __version__]
        if others:
            versions = ", ".join(sorted({row["version"] for row in others}))
            report(
                f"{self.path}: {len(others)} rows of version {versions} are kept but "
                f"not reused by version {__version__}."
            )
        self.rows = {r["key"]: r for r in rows if r["version"] == __version__}

    @contextmanager
    def writing(self):
        """Open the file for appending; one process at a time."""
        if self.path is None:
            yield self
            return
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
        self._file = os.open(self.path, flags, 0o644)
        try:
            _lock(self._file, self.path)
            yield self
        finally:
            os.close(self._file)
            self._file = None

    def add(self, row):
        """Keep a row, once: one write of one line, then down to the disk."""
        if row["key"] in self.rows:
            return
        if self._file is not None:
            line = as_line(row).encode()
            if os.write(self._file, line) != len(line):
                raise OSError(f"{self.path}: no room for another row.")
            os.fsync(self._file)
        self.rows[row["key"]] = row

    def __contains__(self, key):
        return key in self.rows

    def __len__(self):
        return len(self.rows)


def _lock(file, path):
    try:
        import fcntl
    except ImportError:  # not a POSIX system: nobody watches
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        raise BadRequest(
            f"another process is writing to {path}. Wait for it, or give another "
            "folder with --out."
        ) from error


def write_whole(path, text):
    """Replace a file by a text, whole or not at all."""
    path = Path(path)
    data = text if isinstance(text, bytes) else text.encode()
    handle, part = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as out:
            out.write(data)
            out.flush()
            os.fsync(out.fileno())
        os.chmod(part, 0o644)
        os.replace(part, path)
    finally:
        Path(part).unlink(missing_ok=True)


def check_folder(path):
    """Make a folder for results and refuse one that cannot be written to."""
    path = Path(path)
    try:
        path.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path):
            pass
    except OSError as error:
        raise BadRequest(
            f"cannot write to the folder {path} ({error.strerror}). Give another one "
            "with --out."
        ) from error
    return path
