"""Thousands of damaged and forged data files: none crashes, hangs or reaches others.

    python tests/fuzz_files.py --count 10000

Every reader is given mutants and traps, see `hostile_files`, in a process with limits
on memory and time. Each has to give arrays or an error that says what is wrong
(ValueError). Prints a table with a row for every format:

    tried read rejected failed crashed hung reached, largest memory, longest time

*failed* counts other exceptions, *crashed* processes that died, *hung* cases beyond
the limit of time, *reached* files that were opened outside the folder of the case,
and pickles that were loaded.

What is opened is seen in two ways. An audit hook sees what Python opens in the process
of the reader. With ``strace``, which is used if it is here and may trace, every file
that this process or one that it starts opens, also in compiled libraries, is seen with
links resolved. Libraries and time zones of the system are no findings. The command ends
with 1 if anything failed, crashed, hung or was reached.
"""

import argparse
import os
import re
import selectors
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections import Counter, defaultdict
from contextlib import suppress
from pathlib import Path

from hostile_files import FORMATS, IMAGES, VIDEOS, cases, plant, target

SECONDS, BYTES = 60, 4 * 2**30  # limits of a case
BATCH = 500
FREE = (sys.prefix, sys.base_prefix, "/usr", "/lib", "/proc", "/sys", "/etc/ld.so")
FREE += ("/dev/null", "/dev/urandom", "/dev/shm", "/etc/locale", "/etc/os-release")
FREE += (str(Path(__file__).parent.parent), "pipe:", "socket:", "anon_inode:")
FREE += tuple(filter(None, [*sys.path, sys.pycache_prefix]))  # what is imported


# --- the process that reads -------------------------------------------------------


def work(folder):
    """Read all cases of a folder from the given one on; one line for each."""
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    warnings.simplefilter("ignore")
    hook, tried = Hook(), []
    for case in sorted(Path(folder).iterdir()):
        form = case.name.split("-")[1]
        print("start", case.name, flush=True)
        start, hook.home = time.perf_counter(), str(case)
        outcome = attempt(case, form)
        hook.home = None
        seconds = time.perf_counter() - start
        print(outcome, case.name, f"{seconds:.3f}", peak_bytes(form), flush=True)
        for path in hook.drain():
            # Threads of a reader may still look at a case that came before.
            if not any(Path(path).is_relative_to(each) for each in tried):
                print("reached", case.name, path, flush=True)
        tried.append(case)


def attempt(case, form):
    """What comes of reading one case."""
    from tensorcrp.datasets import read_tensors
    from tensorcrp.video import read_clips

    try:
        if form in VIDEOS:
            read_clips(case, progress=False)
        elif form in IMAGES:
            read_tensors(case, size=(4, 4))
        else:
            read_tensors(target(case, form))
    except ValueError:
        return "rejected"
    except BaseException as error:
        print("why", case.name, type(error).__name__, str(error)[:100].split("\n")[0])
        return "failed"
    return "read"


class Hook:
    """Notes pickles, and files that Python opens outside `home`, once that is set."""

    def __init__(self):
        self.home, self._seen = None, []
        sys.addaudithook(self)

    def __call__(self, event, args):
        if self.home and event == "pickle.find_class":
            self._seen.append("a pickle")
        elif self.home and event == "open" and isinstance(args[0], (str, bytes)):
            path = os.path.realpath(os.fsdecode(args[0]))
            if is_outside(path, os.path.realpath(self.home)):
                self._seen.append(path)

    def drain(self):
        seen, self._seen = self._seen, []
        return seen


def is_outside(path, home):
    return not path.startswith((home + os.sep, *FREE)) and path != home


def peak_bytes(form):
    """Largest memory since the last call; of HDF5, that of the largest child so far."""
    import resource

    try:
        status = Path("/proc/self/status").read_text()
        peak = 1024 * int(re.search(r"VmHWM:\s+(\d+)", status)[1])
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:  # not on Linux: the largest so far
        peak = 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    if form in ("h5", "mat73"):
        children = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
        peak = max(peak, 1024 * children)
    return peak


# --- the process that watches -----------------------------------------------------


class Table:
    """Counts per format, and findings in words."""

    COLUMNS = "tried read rejected failed crashed hung reached".split()

    def __init__(self):
        self.counts = defaultdict(Counter)
        self.memory, self.seconds = Counter(), Counter()
        self.findings = []

    def add(self, outcome, name, *more):
        form = name.split("-")[1]
        if outcome == "why":
            self.findings.append(" ".join((name, *more)))
        elif outcome == "reached":
            self.counts[form][outcome] += 1
            self.findings.append(f"{name} reached {more[0]}")
        else:
            self.counts[form].update(["tried", outcome])
            self.seconds[form] = max(self.seconds[form], float(more[0]))
            self.memory[form] = max(self.memory[form], int(more[1]))

    def bad(self, forms=FORMATS):
        """How many findings there are in some formats."""
        kinds = self.COLUMNS[3:]
        return sum(self.counts[form][kind] for form in forms for kind in kinds)

    def __str__(self):
        head = "".join(f"{name:>9}" for name in self.COLUMNS)
        lines = [f"{'format':8}{head}{'MB':>9}{'seconds':>9}"]
        for form in (form for form in FORMATS if self.counts[form]):
            row = "".join(f"{self.counts[form][name]:>9}" for name in self.COLUMNS)
            largest = f"{self.memory[form] / 2**20:9.0f}{self.seconds[form]:9.2f}"
            lines.append(f"{form:8}{row}{largest}")
        return "\n".join([*lines, *self.findings])


def run(count, seed=0, forms=FORMATS, trace=True, progress=False, table=None):
    """Make cases, have them read, and return the `Table`."""
    table = Table() if table is None else table
    with tempfile.TemporaryDirectory(prefix="tensorcrp-fuzz-") as top:
        top = Path(os.path.realpath(top))
        plant(top / "outside")
        for start in range(0, count, BATCH):
            folder = top / "cases"
            folder.mkdir()
            # Traps come first, in the first batch; the next ones are mutants.
            size = min(BATCH, count - start)
            cases(folder, forms, size, f"{seed}.{start}", top / "outside", not start)
            while any(folder.iterdir()):
                watch(folder, table, top / "trace" if trace else None)
            folder.rmdir()
            if progress:
                print(f"\r{start + size}/{count}", end="", file=sys.stderr, flush=True)
    return table


def watch(folder, table, trace):
    """Have a process read the cases until it is done, dies or hangs."""
    process = start(folder, trace)
    try:
        now = listen(process, folder, table, trace)
        hung = process.poll() is None
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        code = process.wait()
        process.stdout.close()
    if now:
        table.add("hung" if hung else "crashed", now, SECONDS * hung, 0)
        table.add("why", now, "hung" if hung else f"died with code {code}")
        shutil.rmtree(folder / now)
    elif code:
        raise RuntimeError(f"the process that reads ended with {code}.")
    if trace:
        add_traced(table, trace, folder)


def start(folder, trace):
    """The process that reads, under strace if there is a file for it."""
    command = [sys.executable, __file__, "--work", str(folder)]
    if trace:
        strace = ["strace", "-f", "--seccomp-bpf", "-qq", "-y", "-o", str(trace)]
        calls = "trace=open,openat,openat2,creat"
        command = [*strace, "-e", calls, "-s", "500", "--", *command]
    return subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,  # libtiff says there what it thinks of a file
        start_new_session=True,
    )


def listen(process, folder, table, trace):
    """Count what the process says; the case at which it fell silent, or None."""
    now = None
    for line in filter(None, lines_in_time(process)):
        outcome, name, *more = line.split(maxsplit=2)
        if outcome == "start":
            now = name
        elif outcome in ("read", "rejected", "failed"):
            table.add(outcome, name, *more[0].split())
            now = None
            shutil.rmtree(folder / name)
        elif not (trace and outcome == "reached" and more[0].startswith("/")):
            table.add(outcome, name, *more)  # else strace sees it too
    return now


def lines_in_time(process):
    """Lines of a process until it ends, or is silent for too long."""
    os.set_blocking(process.stdout.fileno(), False)
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        rest = b""
        while selector.select(SECONDS):
            block = os.read(process.stdout.fileno(), 2**16)
            if not block:
                process.wait()
                return
            *lines, rest = (rest + block).split(b"\n")
            yield from (line.decode(errors="replace") for line in lines)


def add_traced(table, trace, folder):
    """Files that were opened outside the case that was read at that time."""
    case = None
    opened = re.compile(r"= \d+<(.*)>$")
    for line in trace.read_text(errors="replace").splitlines():
        if not (found := opened.search(line)):
            continue
        path = found[1].removesuffix(" (deleted)").split(">(")[0]
        if inside := re.match(re.escape(str(folder)) + r"/(\d+-\w+)", path):
            case = inside[1]
        elif case and is_outside(path, str(folder)):
            table.add("reached", case, path)


def can_trace():
    """Whether strace is here and may be used."""
    command = ["strace", "--seccomp-bpf", "-f", "-y", "-o", os.devnull, "true"]
    try:
        return subprocess.run(command, capture_output=True).returncode == 0
    except OSError:
        return False


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--formats", nargs="+", default=FORMATS, choices=FORMATS)
    parser.add_argument("--work", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        return work(options.work)
    trace, table = can_trace(), Table()
    with suppress(KeyboardInterrupt):  # Ctrl-C: the table so far
        run(options.count, options.seed, options.formats, trace, True, table)
    print("\nopened files seen by", "strace" if trace else "the audit hook only")
    print(table)
    return int(table.bad() > 0)


if __name__ == "__main__":
    sys.exit(main())
