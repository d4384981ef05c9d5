"""Experiments survive: SIGKILL at random moments, workers, Ctrl-C, several jobs."""

import os
import signal
import subprocess
import sys
import time
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest

from tensorcrp.base.results import parse_rows
from tensorcrp.experiments import data
from tensorcrp.experiments.compare import compare_plan
from tensorcrp.experiments.data import load_data
from tensorcrp.experiments.runs import run_all
from tensorcrp.experiments.store import Store, without_times

pytestmark = pytest.mark.slow

SECONDS = 300  # far more than needed: only what hangs takes that long
posix = pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")


@pytest.fixture
def plan(tmp_path, make_samples):
    X, y = make_samples((3, 3), n=40, n_classes=2, seed=5)
    path = tmp_path / "small.npz"
    np.savez(path, X=X, y=y)
    methods = ("MPCA", "TwoDPCA", "raw")
    return compare_plan([str(path)], [3, 4, 50], 12, seed=0, methods=methods)


def timeless(rows):
    return sorted(map(repr, map(without_times, rows)))


@posix
def test_killed_twenty_times_and_resumed_it_has_the_rows_of_one_run(plan, tmp_path):
    path = tmp_path / "rows.jsonl"
    undisturbed = run_all(plan, Store(), shown=False)
    context = get_context("forkserver")  # children start in no time
    context.set_forkserver_preload(["tensorcrp.experiments.runs"])
    rng, seen = np.random.default_rng(0), []
    for _ in range(20):
        job = context.Process(target=_resume, args=(plan, path, rng.uniform(0, 0.04)))
        job.start()
        job.join()
        assert job.exitcode == -signal.SIGPROF
        seen.append(path.stat().st_size)
    assert len(set(seen)) == 20  # each made a row at least before its end
    rows = run_all(plan, Store(path, report=lambda text: None), shown=False)
    assert timeless(rows) == timeless(undisturbed)
    in_file, damaged = parse_rows(path.read_text())
    assert not damaged
    assert timeless(in_file) == timeless(undisturbed)


class Doomed(Store):
    """A store whose process dies some processor time after its first new row.

    Like SIGKILL, the signal of that clock ends a process without another step of its
    own. It does not run while other processes have the processor.
    """

    seconds = 0.0

    def add(self, row):
        super().add(row)
        if not any(signal.getitimer(signal.ITIMER_PROF)):
            signal.setitimer(signal.ITIMER_PROF, max(self.seconds, 1e-6))


def _resume(plan, path, seconds):
    store = Doomed(path, report=lambda text: None)
    store.seconds = seconds
    run_all(plan, store, shown=False)


def test_two_processes_give_the_rows_of_one(plan, tmp_path):
    some = plan[:15]
    one = run_all(some, Store(), shown=False)
    two = run_all(some, Store(tmp_path / "rows.jsonl"), jobs=2, shown=False)
    assert [without_times(r) for r in one] == [without_times(r) for r in two]


SCRIPT = """
import signal, sys
from tensorcrp import cli

if __name__ == "__main__":
    # A shell lets what it starts in the background ignore the signal.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.exit(cli.main(sys.argv[1:]))
"""


def start(tmp_path, jobs):
    """The command on the digits, long enough to be interrupted."""
    script, out = tmp_path / "command.py", tmp_path / "out"
    script.write_text(SCRIPT)
    arguments = ["compare", "digits", "--repeats", "40", "--out", str(out)]
    command = [sys.executable, str(script), *arguments, "--jobs", str(jobs)]
    job = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    until = time.monotonic() + SECONDS
    rows = out / "rows.jsonl"
    while time.monotonic() < until and job.poll() is None:
        if rows.exists() and rows.stat().st_size:
            return job, rows
        time.sleep(0.02)
    job.kill()
    raise AssertionError(job.communicate()[1])


def children(pid):
    """Processes whose parent is `pid`."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            text = path.read_text()
        except OSError:
            continue
        if int(text.rpartition(")")[2].split()[1]) == pid:
            found.append(int(path.parent.name))
    return found


def gone(pids, seconds=SECONDS):
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if not any(_runs(pid) for pid in pids):
            return True
        time.sleep(0.05)
    return False


def _runs(pid):
    try:
        text = (Path("/proc") / str(pid) / "stat").read_text()
    except OSError:
        return False
    return text.rpartition(")")[2].split()[0] != "Z"


@posix
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_workers_end_with_their_parent(tmp_path, number):
    if not Path("/proc/self/stat").exists():
        pytest.skip("needs /proc")
    job, rows = start(tmp_path, jobs=2)
    workers = children(job.pid)
    assert len(workers) >= 2
    os.kill(job.pid, number)
    _, err = job.communicate(timeout=SECONDS)
    assert gone(workers)
    found, damaged = parse_rows(rows.read_text())
    assert found and not damaged
    if number == signal.SIGINT:
        assert job.returncode == 130
        assert "rows.jsonl" in err and "resumes" in err
        assert "Traceback" not in err


def test_data_are_loaded_once(plan):
    load_data.cache_clear()
    run_all(plan[:5], Store(), shown=False)
    assert data._load.cache_info().misses == 1
