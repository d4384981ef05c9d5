"""Clusters that fail in the middle of a fit: the right result, or one clear error.

    pytest tests/distributed_faults.py

Not part of the suite: beside other work on few cores, workers that were killed do not
always come back within the time that a test can wait.

Real worker processes and a real scheduler process; whatever is killed, is killed by
SIGKILL. A fit is caught in its middle by its `init`, which is called for every
projection, here in the client.
"""

import os
import signal
import subprocess
import sys
import threading
import time

import dask
import dask.array as da
import numpy as np
import pytest
from clusters import two_workers
from distributed import Client
from sklearn.base import clone

from tensorcrp import TensorCRP
from tensorcrp.storage import tasks as _tasks

SHAPE, N = (4, 3, 5), 120
MEMORY = 2**30  # of a worker
BOUND = 60  # seconds in which every error has to be there, however busy the machine


def samples(n=N):
    rng = np.random.default_rng(0)
    y = np.arange(n) % 3
    means = 2 * rng.standard_normal((3, *SHAPE))
    return means[y] + rng.standard_normal((n, *SHAPE)), y


def chunked(X, function=None):
    lazy = da.from_array(X, chunks=(20, *X.shape[1:]))
    return lazy if function is None else lazy.map_blocks(function, meta=X[:0])


class Starts:
    """Random starts; in the middle of the fit something happens, once."""

    def __init__(self, happens=lambda: None):
        self.calls, self.happens = 0, happens

    def __call__(self, shape, rank, random_state):
        self.calls += 1
        if self.calls == 2:
            self.happens()
        rng = np.random.default_rng(self.calls)
        return [rng.standard_normal((size, rank)) for size in shape]


def crp(happens=lambda: None, max_memory=0):
    return TensorCRP(3, init=Starts(happens), max_iter=4, tol=0, max_memory=max_memory)


@pytest.fixture(scope="module")
def cluster():
    with two_workers(MEMORY) as client:
        yield client


@pytest.fixture
def client(cluster):
    """Both workers at work, whatever the test before has done to them."""
    cluster.wait_for_workers(2, timeout=BOUND)
    with cluster.as_current(), dask.config.set(scheduler="dask.distributed"):
        yield cluster


def kill(pid):
    os.kill(pid, signal.SIGKILL)


def assert_unchanged_error(model, X, y, kind, *words):
    """One error with these words, in bounded time; a fitted model stays as it was."""
    before = dict(vars(model))
    began = time.monotonic()
    with pytest.raises(kind) as caught:
        model.fit(X, y)
    assert time.monotonic() - began < BOUND
    text = "\n".join([str(caught.value), *getattr(caught.value, "__notes__", [])])
    for each in words:
        assert each in text, text
    assert vars(model) == before


# --- workers that are killed ------------------------------------------------------


@pytest.mark.parametrize("delay", [0.0, 0.02], ids=["between passes", "in a pass"])
def test_one_of_two_workers_is_killed(client, delay):
    X, y = samples()
    pids = client.run(os.getpid)
    assert len(pids) == 2
    victim = sorted(pids.values())[0]
    killer = threading.Timer(delay, kill, [victim])
    happens = killer.start if delay else lambda: kill(victim)
    model = crp(happens).fit(chunked(X), y)
    expected = crp(max_memory=None).fit_transform(X, y)
    np.testing.assert_allclose(model.transform(X), expected, rtol=0, atol=1e-10)
    if delay:
        killer.join()
    with pytest.raises(ProcessLookupError):
        os.kill(victim, 0)


def hungry(block):
    """Take more memory than a worker has, and keep it until that is noticed."""
    taken = []
    for _ in range(200):
        if len(taken) < 20:
            taken.append(np.ones(MEMORY // 8 // 8))
        time.sleep(0.05)
    return block


def test_a_worker_out_of_memory(client, monkeypatch):
    # By default a task may end four workers, which takes its time.
    monkeypatch.setattr(client.cluster.scheduler, "allowed_failures", 0)
    X, y = samples(40)
    model = crp(max_memory=None).fit(X, y)
    words = ("ended each", "KilledWorker", "too large for the memory of a worker")
    repairs = ("X.rechunk({0: X.chunksize[0] // 4})", "memory_limit")
    error = _tasks.ClusterError
    assert_unchanged_error(model, chunked(X, hungry), y, error, *words, *repairs)


# --- a chunk that raises ----------------------------------------------------------


@pytest.mark.parametrize("max_memory", [None, 0], ids=["here", "in passes"])
def test_a_corrupt_file(client, tmp_path, max_memory):
    X, y = samples()
    for i in range(6):
        np.save(tmp_path / f"{i}.npy", X[20 * i : 20 * i + 20])
    (tmp_path / "4.npy").write_bytes(b"no array at all")
    blocks = [dask.delayed(np.load)(tmp_path / f"{i}.npy") for i in range(6)]
    lazy = da.concatenate([da.from_delayed(b, (20, *SHAPE), float) for b in blocks])
    model = crp().fit(X, y).set_params(max_memory=max_memory)
    words = ("allow_pickle", "chunk 4 of X, samples 80 to 99")
    assert_unchanged_error(model, lazy, y, ValueError, *words)


# --- a scheduler that is gone -----------------------------------------------------


@pytest.fixture
def machines(tmp_path):
    """A scheduler and a worker as commands of their own: processes of this test."""
    file = tmp_path / "scheduler.json"
    address = ["--scheduler-file", str(file), "--no-dashboard"]
    commands = [
        ["scheduler", *address, "--port", "0", "--host", "127.0.0.1"],
        ["worker", *address, "--no-nanny", "--nthreads", "1", "--death-timeout", "30"],
    ]
    started = [
        subprocess.Popen(
            [sys.executable, "-m", "dask", *command],
            cwd=tmp_path,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for command in commands
    ]
    try:
        with Client(
            scheduler_file=str(file), timeout=BOUND, set_as_default=False
        ) as client:
            client.wait_for_workers(1, timeout=BOUND)
            with client.as_current(), dask.config.set(scheduler="dask.distributed"):
                yield client, *started
    finally:
        for process in started:
            process.kill()
            process.wait()


def fitted_with(happens):
    """A fitted model whose next fit meets what happens in its middle."""
    X, y = samples()
    model = crp().fit(X, y)
    return model.set_params(init=Starts(happens)), chunked(X), y


def test_the_scheduler_is_gone(machines):
    client, scheduler, _ = machines
    address = client.scheduler.address
    words = (f"the dask scheduler at {address} is gone", "make a new Client")
    problem = fitted_with(scheduler.kill)
    assert_unchanged_error(*problem, _tasks.ClusterError, *words)


def test_a_scheduler_that_is_silent_and_workers_that_never_come(machines, monkeypatch):
    _, scheduler, worker = machines
    for name in ("ASK_SECONDS", "WORKER_SECONDS"):
        monkeypatch.setattr(_tasks, name, 1)
    problem = fitted_with(worker.kill)
    words = ("has had no worker for 1 s", "Start workers")
    assert_unchanged_error(*problem, _tasks.ClusterError, *words)
    monkeypatch.setattr(_tasks, "ANSWER_SECONDS", 1)
    os.kill(scheduler.pid, signal.SIGSTOP)
    try:
        problem = fitted_with(lambda: None)
        words = ("does not answer (TimeoutError", "fit again")
        assert_unchanged_error(*problem, _tasks.ClusterError, *words)
    finally:
        os.kill(scheduler.pid, signal.SIGCONT)


def test_a_fit_inside_a_task_of_the_cluster(client):
    X, y = samples()
    model = clone(crp(max_memory=None)).set_params(init="lda", max_memory=0)
    task = dask.delayed(model.fit)(chunked(X), y)
    expected = clone(model).set_params(max_memory=None).fit_transform(X, y)
    got = task.compute().transform(X)
    np.testing.assert_allclose(got, expected, rtol=0, atol=1e-10)
