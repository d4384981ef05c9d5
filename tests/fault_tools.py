"""What the stories of `faults.py` share: faults to let happen, and checks afterwards.

Ctrl-C at a random moment, a disk or memory with little room, damaged bytes, the command
``tensorcrp compare``; a process that can be used, files that are left, rows that a
resumed run has to have.
"""

import io
import json
import os
import resource
import signal
import tempfile
import time
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from functools import cache
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_info

from tensorcrp import TensorCRP

MODEL = TensorCRP(3, rank=2)


def samples(seed=0, n=60, shape=(6, 5)):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    return rng.standard_normal((n, *shape)) + 2 * y.reshape(-1, *[1] * len(shape)), y


X, Y = samples()
OTHER, _ = samples(seed=1)


def threads():
    return [each["num_threads"] for each in threadpool_info()]


@cache
def sound():
    """Features and threads before any fault."""
    return MODEL.fit_transform(X, Y), threads()


def check_usable():
    """BLAS has its threads, and a fit gives what it gave."""
    features, before = sound()
    assert threads() == before, f"threads of BLAS are {threads()}, were {before}"
    assert np.array_equal(TensorCRP(3, rank=2).fit_transform(X, Y), features), (
        "the next fit differs"
    )


def check_names(folder, names):
    found = sorted(each.name for each in Path(folder).iterdir())
    assert set(found) <= set(names), f"left behind: {found}"


def interrupted(work, rng, prepare=lambda: None):
    """Do the work, with Ctrl-C at a random moment of it; prepared for every time."""
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    moment = rng.uniform(1e-5, 1.1 * seconds_of(work, prepare))
    prepare()
    try:
        try:
            signal.setitimer(signal.ITIMER_REAL, moment)
            work()
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    except KeyboardInterrupt:
        pass


_SECONDS = {}


def seconds_of(work, prepare):
    """How long the work of a story takes undisturbed, measured once when warm."""
    story = work.__name__
    if story not in _SECONDS:
        sound()
        for _ in range(2):
            prepare()
            start = time.perf_counter()
            work()
            _SECONDS[story] = time.perf_counter() - start
    return _SECONDS[story]


def compare(place, jobs=1):
    """Exit code of ``tensorcrp compare`` in this process; no exception may escape."""
    from tensorcrp import cli

    argv = ["compare", str(data_file()), "--per-class", "5", "--repeats", "6"]
    text = io.StringIO()
    with redirect_stdout(io.StringIO()), redirect_stderr(text), quick_methods():
        try:
            code = cli.main([*argv, "--out", str(place), "--jobs", str(jobs)])
        except SystemExit as end:
            code = end.code
    assert "Traceback" not in text.getvalue(), text.getvalue()[-200:]
    assert not code or text.getvalue().strip(), f"exit code {code} without a word"
    return code


@contextmanager
def quick_methods():
    """Plans of the quickest methods alone."""
    from tensorcrp.experiments import compare as module

    def plan(*args):
        return [run for run in whole(*args) if run.method in ("raw", "TwoDPCA")]

    whole, module.compare_plan = module.compare_plan, plan
    try:
        yield
    finally:
        module.compare_plan = whole


@cache
def data_file():
    folder = Path(tempfile.mkdtemp(prefix="tensorcrp-faults-"))
    np.savez(folder / "data.npz", X=X, y=Y)
    return folder / "data.npz"


def results(place):
    """The rows in a folder, without their times."""
    lines = (place / "rows.jsonl").read_text().splitlines()
    kept = [
        {
            name: value
            for name, value in json.loads(line).items()
            if "second" not in name
        }
        for line in lines
    ]
    return sorted(map(repr, kept))


@cache
def undisturbed():
    with tempfile.TemporaryDirectory() as folder:
        assert compare(folder) == 0
        return results(Path(folder)), (Path(folder) / "rows.jsonl").read_bytes()


def check_resumed(place):
    """The same command again ends what was begun, with the rows of one run."""
    code = compare(place)
    assert code == 0, f"resumed: exit code {code}"
    assert results(place) == undisturbed()[0], "other rows than those of one run"
    check_usable()


@contextmanager
def room(place, free):
    """Let the disk of a folder have so many free bytes, or files such a size."""
    if not os.path.ismount(place.parent):
        with soft_limit(resource.RLIMIT_FSIZE, free):
            yield
        return
    filler = place / "filler"
    with open(filler, "wb") as file:
        status = os.statvfs(place)
        file.write(bytes(max(0, status.f_bavail * status.f_frsize - free)))
    try:
        yield
    finally:
        filler.unlink()


@contextmanager
def soft_limit(what, number):
    before = resource.getrlimit(what)
    resource.setrlimit(what, (int(number), before[1]))
    try:
        yield
    finally:
        resource.setrlimit(what, before)


@contextmanager
def short_memory(more):
    """Address space for what is there and so many bytes more."""
    from faults import Skip

    status = Path("/proc/self/statm")
    if not status.exists():
        raise Skip("this system does not say how much memory is used")
    sound()
    pages = int(status.read_text().split()[0])
    with soft_limit(resource.RLIMIT_AS, pages * resource.getpagesize() + more):
        yield


def attempted(work, rng, most):
    """The result of work with little memory, or None after an error that says so."""
    with short_memory(rng.randrange(most)):
        try:
            return work()
        except (MemoryError, ValueError) as error:
            assert "memory" in f"{type(error).__name__} {error}".lower(), error
            return None


def damaged(content, rng, ways=4):
    """Cut, with a block of zeros or of noise, or a block that is there twice."""
    start = rng.randrange(len(content))
    end = min(len(content), start + rng.choice([1, 16, 512, 4096]))
    return rng.choice(
        [
            content[:start],
            content[:start] + bytes(end - start) + content[end:],
            content[:start] + rng.randbytes(end - start) + content[end:],
            content[:end] + content[start:],
        ][:ways]
    )
