"""Fits beyond memory and on a cluster: memory, time, killed workers, bytes on the wire.

    python tests/measure_scaling.py [--folder DIR] [--gigabytes 8] [--part NAME ...]

`file`: made clips in a memory map, read in every pass by a fresh process. `workers`:
two worker processes beside one. `kills`: a worker killed in the middle of a fit, ten
times. `wire`: what goes through the sockets in a pass, for n and 4 n samples. `model`:
what the cost model makes of those rows for more workers. Times are ratios inside one
run, each the least of a few, of CPU time in `file` (whose data are in the page cache);
one BLAS thread everywhere. Rows go to docs/results/scaling.json, with --part in place
of the same part's, and from there to the table in docs/scaling.md. Not a test.
"""

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter, process_time

if __name__ == "__main__":
    for name in ("OPENBLAS", "MKL", "OMP"):  # before numpy, and for all workers
        os.environ[f"{name}_NUM_THREADS"] = "1"

import dask
import dask.array as da
import numpy as np
from distributed import Client, LocalCluster

from tensorcrp import TensorCRP
from tensorcrp.storage.chunks import DeflatedChunks
from tensorcrp.storage.sources import as_source

SHAPE, N_CLASSES = (8, 32, 32, 3), 10
SIZE = 4 * int(np.prod(SHAPE))  # bytes of a clip
BLOCK = 2**22  # bytes read at a time
MORE = 8  # sweeps by which two fits differ
DOCS = Path(__file__).parents[1] / "docs"
RESULTS, PAGE = DOCS / "results" / "scaling.json", DOCS / "scaling.md"
HEADER = "| what | figure | bar |\n|---|---|---|"


def clips(n, seed, noise=1.0):
    """Clips (n, 8, 32, 32, 3) of ten classes: class means and noise."""
    means = np.random.default_rng(0).standard_normal((N_CLASSES, *SHAPE), np.float32)
    X = np.random.default_rng(seed).standard_normal((n, *SHAPE), np.float32)
    X *= noise
    X += means[np.arange(n) % N_CLASSES]
    return X


def row(what, value, bar=""):
    print(line(what, value, bar), flush=True)
    return [what, value, bar]


def line(what, value, bar):
    return f"| {what} | {value} | {bar} |"


def page_with(text, results):
    """The page with a table of all rows in the place of the one that it has."""
    start = text.index(HEADER)
    end = text.index("\n\n", start)
    rows = [line(*each) for part in PARTS for each in results.get(part, ())]
    return "\n".join([text[:start] + HEADER, *rows]) + text[end:]


def judged(value, limit):
    return f"at most {limit:g}: {'met' if value <= limit else 'NOT met'}"


# --- a file that does not fit -------------------------------------------------------


def part_file(folder, gigabytes):
    """Peak memory, and a sweep beside reading the file."""
    size = SIZE
    n = int(gigabytes * 1e9 / size) // N_CLASSES * N_CLASSES
    free = shutil.disk_usage(folder).free
    if free < 1.1 * n * size:
        sys.exit(f"{folder} has {free / 1e9:.1f} GB free, {n * size / 1e9:.1f} needed.")
    with tempfile.TemporaryDirectory(dir=folder) as made:  # removed on Ctrl-C too
        path = Path(made) / "clips.dat"
        with open(path, "wb") as file:
            for i in range(0, n, 500):
                clips(min(500, n - i), seed=i + 1).tofile(file)
        command = [sys.executable, __file__, "--child", str(path), str(n)]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    got = json.loads(done.stdout)
    peak = got["peak"]
    name = f"{n * size / 1e9:.1f} GB of clips {SHAPE} float32"
    rows = [row(f"{name}: peak resident memory, GB", round(peak, 2), judged(peak, 1.5))]
    for way in WAYS:
        ratio = got["sweep"] / got[way] / 2
        what = f"a sweep over reading twice ({WAYS[way].__doc__})"
        rows.append(row(what, round(ratio, 2), judged(ratio, 1.5)))
    return [
        *rows,
        row("all but the sweeps of a fit, in sweeps", round(got["rest"], 1)),
        row("a sweep, GB/s (two passes)", round(2 * n * size / 1e9 / got["sweep"], 2)),
    ]


def child(path, n):
    """Fits in a process of its own, which knows the most memory it ever had."""
    X = np.memmap(path, np.float32, "r", shape=(n, *SHAPE))
    y = np.arange(n) % N_CLASSES
    read(path, X)
    reads, fits = {way: [] for way in WAYS}, {1: [], 1 + MORE: []}
    for sweeps in (1, 1 + MORE) * 3:
        for way, function in WAYS.items():
            reads[way].append(timed(function, path, X))
        model = TensorCRP(1, max_iter=sweeps, tol=0, max_memory=2**28)
        fits[sweeps].append(timed(model.fit, X, y))
    status = Path("/proc/self/status").read_text()
    peak = int(status.split("VmHWM:")[1].split()[0]) * 1024 / 1e9
    fit, more = (min(each) for each in fits.values())
    sweep = (more - fit) / MORE
    got = {way: min(each) for way, each in reads.items()}
    print(json.dumps(got | {"peak": peak, "sweep": sweep, "rest": fit / sweep - 1}))


def read(path, X):
    """by read() into one buffer of 4 MB"""
    buffer = bytearray(BLOCK)
    with open(path, "rb", buffering=0) as file:
        while file.readinto(buffer):
            pass


def copy(path, X):
    """by copies of 4 MB of the memory map"""
    source = as_source(X)
    for start in range(0, len(X), source.step):
        source.read(start, start + source.step)


def product(path, X):
    """by matrix-vector products with the memory map"""
    source, vector = as_source(X), np.ones(X[0].size, X.dtype)
    for start in range(0, len(X), 4 * source.step):
        stop = start + 4 * source.step
        source.read(start, stop, own=False).reshape(-1, len(vector)) @ vector
        source.release(start, stop)


WAYS = {"read": read, "map": copy, "product": product}


def timed(function, *args):
    """Seconds of this process alone: others on the machine do not count."""
    began = process_time()
    function(*args)
    return process_time() - began


def clocked(function, *args):
    """Seconds on the wall: workers are other processes."""
    began = perf_counter()
    function(*args)
    return perf_counter() - began


# --- clusters -----------------------------------------------------------------------


@contextmanager
def cluster(n_workers):
    with LocalCluster(
        n_workers=n_workers,
        threads_per_worker=1,
        dashboard_address=None,
        silence_logs=60,
    ) as workers:
        with Client(workers) as client:
            yield client


def made(n, chunks):
    """A dask array whose chunks the workers make themselves."""
    rows = n // chunks
    parts = [dask.delayed(clips)(rows, seed + 1) for seed in range(chunks)]
    shape = (rows, *SHAPE)
    X = da.concatenate([da.from_delayed(p, shape, np.float32) for p in parts])
    return X, np.arange(n) % N_CLASSES


def crp(sweeps, init="identity", components=1):
    return TensorCRP(components, init=init, max_iter=sweeps, tol=0, max_memory=0)


def part_workers(n=16000, sweeps=4):
    """Two workers beside one: the same chunks, the same passes."""
    X, y = made(n, 8)
    times = {1: [], 2: []}
    for n_workers in (1, 2, 1, 2):
        with cluster(n_workers) as client:
            client.run(np.zeros, 1)
            there = X.persist()
            crp(1).fit(there, y)  # everything imported, chunks in place
            times[n_workers].append(clocked(crp(sweeps).fit, there, y))
    ratio = min(times[2]) / min(times[1])
    what = (
        f"2 workers over 1 worker, {X.nbytes / 1e9:.1f} GB in 8 chunks, {sweeps} sweeps"
    )
    return [row(what, round(ratio, 2), judged(ratio, 0.65))]


def part_kills(count=10, n=800):
    """Features of fits in which one of two workers is killed."""
    X, y = made(n, 8)
    with dask.config.set(scheduler="synchronous"):
        here = X.compute().astype(float)
    X = X.astype(float)
    expected = crp(4, Starts(None, 0), 3).set_params(max_memory=None)
    expected = expected.fit_transform(here, y)
    right, moments = 0, np.random.default_rng(0).uniform(0, 1, count)
    for moment in moments:
        with cluster(2) as client:
            victim = sorted(client.run(os.getpid).values())[0]
            model = crp(4, Starts(victim, moment), 3).fit(X, y)
            off = np.abs(model.transform(here) - expected).max()
            right += off <= 1e-6 * np.abs(expected).max() and not alive(victim)
    bar = f"{count}: {'met' if right == count else 'NOT met'}"
    return [row(f"fits with a killed worker that are right, of {count}", right, bar)]


class Starts:
    """Random starts; a while after the second one is asked for, a process is killed."""

    def __init__(self, victim, delay):
        self.calls, self.victim, self.delay = 0, victim, delay

    def __call__(self, shape, rank, random_state):
        self.calls += 1
        if self.calls == 2 and self.victim is not None:
            threading.Timer(self.delay, os.kill, (self.victim, signal.SIGKILL)).start()
        rng = np.random.default_rng(self.calls)
        return [rng.standard_normal((size, rank)) for size in shape]


def alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def part_wire(n=400, sweeps=5):
    """Bytes that all processes send in one pass; and what a pass of no work takes."""
    with cluster(2) as client:
        client.run(count_writes)
        count_writes()
        got = {m: bytes_per_pass(client, *made(m, 8), sweeps) for m in (n, 4 * n)}
        small = np.random.default_rng(0).standard_normal((80, 2, 2, 2))
        small = da.from_array(small, chunks=(10, 2, 2, 2))
        y = np.arange(80) % N_CLASSES
        one, many = (clocked(crp(s).fit, small, y) for s in (1, 1 + sweeps))
    passes, tasks = 3 * sweeps, 2 * 8 - 1
    ratio = got[4 * n] / got[n]
    chunk = SIZE * n // 8
    idle = 1e3 * (many - one) / passes / tasks
    names = [f"bytes per pass, 2 workers, 8 chunks, n={m}" for m in got]
    return [
        *map(row, names, map(round, got.values())),
        row("bytes per pass, 4 n over n (4 if they grew with n)", round(ratio, 2)),
        row(f"the same over one chunk of n={n}", round(got[n] / chunk, 3)),
        row("a task without work, milliseconds", round(idle, 2)),
    ]


def count_writes():
    """Add up what this process sends, but for signs of life."""
    from distributed.comm.tcp import TCP

    if hasattr(TCP, "sent"):
        return
    TCP.sent, write = 0, TCP.write

    async def counted(self, msg, *args, **kwargs):
        size = await write(self, msg, *args, **kwargs)
        if not (isinstance(msg, dict) and "heartbeat" in str(msg.get("op"))):
            TCP.sent += size
        return size

    TCP.write = counted


def sent():
    from distributed.comm.tcp import TCP

    return TCP.sent


def bytes_per_pass(client, X, y, sweeps):
    """The median over the passes of a fit, each of them counted.

    Now and then dask moves a chunk to a worker that has less to do: once, not in
    every pass.
    """
    passes, plain = [], DeflatedChunks.block

    def total():
        return sent() + sum(client.run(sent).values())

    def counted(self, product, view):
        before = total()
        asking = total() - before
        before = total()
        block = plain(self, product, view)
        passes.append(total() - before - asking)
        return block

    DeflatedChunks.block = counted
    try:
        crp(sweeps).fit(X.persist(), y)
    finally:
        DeflatedChunks.block = plain
    return np.median(passes)


# --- the cost model -----------------------------------------------------------------


def part_model():
    """Seconds of a pass = bytes / (workers B) + tasks t, B and t from rows above."""
    measured = json.loads(RESULTS.read_text())
    B = named(measured["file"], "a sweep, GB/s")
    t = named(measured["wire"], "a task without work")
    rows = []
    for workers, chunks in ((16, 16), (1000, 50), (1000, 1)):
        data, scheduler = 10 / B, 1e-3 * t * (2 * workers * chunks - 1)
        what = f"{workers} workers of 10 GB in chunks of {10 / chunks:g} GB"
        what = f"model: a pass, {what}, s"
        rows.append(row(what, f"{data:.1f} data, {scheduler:.0f} scheduler"))
    return rows


def named(rows, start):
    return next(value for what, value, _ in rows if what.startswith(start))


PARTS = {
    "file": None,
    "workers": part_workers,
    "kills": part_kills,
    "wire": part_wire,
    "model": part_model,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", default=tempfile.gettempdir())
    parser.add_argument("--gigabytes", type=float, default=8.0)
    parser.add_argument("--part", nargs="*", choices=PARTS, default=list(PARTS))
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child(options.child[0], int(options.child[1]))
        return
    print(HEADER)
    start = perf_counter()
    for name in options.part:
        if name == "file":
            got = part_file(options.folder, options.gigabytes)
        else:
            got = PARTS[name]()
        rows = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
        rows = rows | {name: got}
        RESULTS.write_text(json.dumps(rows, indent=1) + "\n")
        PAGE.write_text(page_with(PAGE.read_text(), rows))
    print(f"{(perf_counter() - start) / 60:.0f} minutes")


if __name__ == "__main__":
    main()
