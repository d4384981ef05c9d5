"""The short version of ``python tests/faults.py``, and that its table is honest."""

import os

import faults
import pytest

pytestmark = pytest.mark.slow

STORIES = [
    "interrupted_save",
    "full_disk_save",
    "killed_save",
    "short_memory_load",
    "damaged_model",
    "damaged_npz",
]
posix = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")


@posix
def test_faults_around_files_are_survived():
    table = [row for row in faults.rows() if row.story in STORIES]
    assert [row.story for row in table] == STORIES
    faults.run(table, 3)
    for row in table:
        assert row.skipped or row.counts == {"survived": row.number(3)}, row.reasons


@posix
def test_crashes_errors_and_skips_are_told_apart(monkeypatch):
    """A child that dies or raises is a loss, and the next child goes on."""
    table = [faults.Row(name, name) for name in ("dies", "raises", "survives", "skips")]
    monkeypatch.setattr(faults, "MODULES", ["test_faults"])
    faults.run(table, 2)
    counts = {row.title: dict(row.counts) for row in table}
    assert counts == {
        "dies": {"lost": 2},
        "raises": {"lost": 2},
        "survives": {"survived": 2},
        "skips": {},
    }
    text = faults.table_text(table)
    assert "dies: the process ended by SIGABRT" in text
    assert "raises: ZeroDivisionError" in text
    assert "skips: not run, no such disk" in text
    assert max(map(len, text.splitlines())) <= 80


def dies(place, rng):
    os.abort()


def raises(place, rng):
    return 1 / 0


def survives(place, rng):
    assert not any(place.iterdir())


def skips(place, rng):
    import faults

    raise faults.Skip("no such disk")
