"""Faults between processes: workers and whole processes killed by SIGKILL.

Each story takes an empty folder and a random generator, kills something at a random
moment, and raises unless the outcome is the documented one. `faults.py` runs them.
"""

import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from functools import cache

from fault_tools import check_resumed, check_usable, compare, undisturbed

from tensorcrp.persistence import load

# --- saves ------------------------------------------------------------------------

# A process that has everything loaded and forks children that save for ever.
SERVER = """
import os, sys
import numpy as np
from tensorcrp import TensorCRP
from tensorcrp.persistence import save

y = np.arange(40) % 2
X = np.random.default_rng(0).standard_normal((40, 16, 16)) + y[:, None, None]
models = [TensorCRP(h, max_iter=1, tol=0).fit(X, y) for h in (1, 60)]

def save_for_ever(path, i):
    while True:
        save(models[i % 2].set_params(verbose=i), path)
        # One short write to a pipe is whole or not there; print() may write twice.
        os.write(1, b"%d" % i + os.linesep.encode())
        i += 1

for line in sys.stdin:
    child = os.fork()
    if child == 0:
        save_for_ever(line.rstrip(), 0)
    print("child", child, flush=True)
    os.waitpid(child, 0)
    print("dead", flush=True)
"""


class Server:
    """Children that save models of changing size to one path, without a pause."""

    def __init__(self):
        self.process = subprocess.Popen(
            [sys.executable, "-c", SERVER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {"OMP_NUM_THREADS": "1"},
        )

    def kill_once(self, path, rng):
        """Let a child save and kill it; the last number that it reported."""
        print(path, file=self.process.stdin, flush=True)
        child, reported = None, None
        while child is None or reported is None:  # the first save has ended
            line = self.process.stdout.readline().split()
            assert line, "the server ended by itself"
            if line[0] == "child":
                child = int(line[1])
            else:
                reported = int(line[0])
        # Somewhere in the next saves: each takes a few milliseconds.
        time.sleep(rng.uniform(0, 0.05))
        os.kill(child, signal.SIGKILL)
        while (line := self.process.stdout.readline().strip()) != "dead":
            reported = int(line)
        return reported


@cache
def server():
    return Server()


def killed_save(place, rng):
    """The file loads as the model reported last, or as the next one."""
    path = place / "model.safetensors"
    reported = server().kill_once(path, rng)
    found = load(path)
    rows = 1 if found.verbose % 2 == 0 else 60
    assert len(found.projections_) == rows, "parts of two models"
    assert found.verbose in (reported, reported + 1), "neither the old nor the new"
    left = [each.name for each in place.iterdir() if each != path]
    assert all(name.endswith(".part") for name in left), f"left behind: {left}"


# --- the command ------------------------------------------------------------------


@cache
def seconds_of_compare():
    undisturbed()
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        compare(folder)
        return time.perf_counter() - start


def killed_compare(place, rng):
    """Killed, the folder has whole rows; resumed, those of one run."""
    most = seconds_of_compare()
    child = os.fork()
    if child == 0:
        try:
            compare(place / "out")
        finally:
            os._exit(0)
    time.sleep(rng.uniform(0, most))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    check_resumed(place / "out")


def killed_compare_worker(place, rng):
    """One error, and the rows of the workers that came through."""
    undisturbed()
    killer = threading.Thread(target=kill_a_worker, args=(rng,))
    killer.start()
    compare(place / "out", jobs=2)
    killer.join()
    check_resumed(place / "out")


def kill_a_worker(rng, seconds=60):
    """Kill one of the workers of this process, some time after it is there."""
    until = time.monotonic() + seconds
    while time.monotonic() < until and not multiprocessing.active_children():
        time.sleep(0.01)
    time.sleep(rng.uniform(0, 4))
    for worker in multiprocessing.active_children()[:1]:
        worker.kill()


# --- Dask -------------------------------------------------------------------------


@cache
def cluster():
    """Two workers for all faults of this process, which ends them with itself."""
    from faults import Skip

    try:
        from clusters import two_workers
    except ImportError:
        raise Skip("distributed is not installed") from None
    workers = two_workers()
    return workers, workers.__enter__()


def killed_dask_worker(place, rng):
    """The right result, or one ClusterError."""
    client = cluster()[1]
    import dask
    import numpy as np
    from distributed_faults import chunked, crp, samples

    from tensorcrp.storage.tasks import ClusterError

    client.wait_for_workers(2, timeout=600)  # only what hangs takes that long
    victim = rng.choice(sorted(client.run(os.getpid).values()))
    killer = threading.Timer(rng.uniform(0, 0.5), os.kill, [victim, signal.SIGKILL])
    data, y = samples()
    expected = crp(max_memory=None).fit_transform(data, y)
    with client.as_current(), dask.config.set(scheduler="dask.distributed"):
        killer.start()
        try:
            features = crp().fit(chunked(data), y).transform(data)
            assert np.allclose(features, expected, rtol=0, atol=1e-10), "other features"
        except ClusterError:
            pass
        killer.join()
    check_usable()
