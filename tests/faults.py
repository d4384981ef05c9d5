"""Faults at random moments, as one table: tried, survived, lost.

    python tests/faults.py --count 50
    python tests/faults.py --quick
    python tests/faults.py --only "full disk"

Interrupts, full disks, killed workers and processes, memory limits and damaged files.
A fault is *survived* if the outcome is the documented one: the right result or one
clear error, no half file, and a process that can be used afterwards (BLAS has its
threads, a fit that follows equals a sound one). Everything else is *lost*, also a
crash or a hang; the first reason is printed below the table.

Stories are run in a child, which reports one line per fault; one that is lost gets a
new child. A small file system is mounted for full disks where that is allowed;
elsewhere the size of files is limited.
"""

import argparse
import json
import os
import queue
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path

from disks import small_disk

SECONDS = 240  # without a report, a child hangs
MODULES = ["fault_stories", "fault_processes"]


class Skip(Exception):
    """A story that cannot be told on this machine, and why."""


@dataclass
class Row:
    """One line of the table: a story, and how many faults are one of `--count`."""

    title: str
    story: str
    share: float = 1.0
    counts: Counter = field(default_factory=Counter)
    reasons: list = field(default_factory=list)
    skipped: str = ""

    def number(self, count):
        return max(1, round(self.share * count))


def rows():
    """The table, empty."""
    return [
        Row("Ctrl-C in fit", "interrupted_fit", 4),
        Row("Ctrl-C in TensorCRPCV.fit", "interrupted_search"),
        Row("Ctrl-C in save", "interrupted_save", 4),
        Row("Ctrl-C in read_clips(memmap)", "interrupted_clips"),
        Row("Ctrl-C in compare, then resumed", "interrupted_compare", 0.1),
        Row("full disk: save", "full_disk_save"),
        Row("full disk: read_clips(memmap)", "full_disk_clips", 0.2),
        Row("full disk: compare --out, resumed", "full_disk_compare", 0.1),
        Row("killed worker: Dask", "killed_dask_worker", 0.1),
        Row("killed worker: compare --jobs 2", "killed_compare_worker", 0.06),
        Row("killed process: save", "killed_save"),
        Row("killed process: compare, resumed", "killed_compare", 0.1),
        Row("memory limit: load", "short_memory_load"),
        Row("memory limit: fit", "short_memory_fit"),
        Row("memory limit: read_tensors", "short_memory_read"),
        Row("damaged file: model", "damaged_model", 4),
        Row("damaged file: npz", "damaged_npz", 4),
        Row("damaged file: rows.jsonl, resumed", "damaged_rows", 0.1),
    ]


# --- the parent -------------------------------------------------------------------


def run(table, count, seed=0, progress=False):
    """Fill the rows of a table; several children, one after the other."""
    with tempfile.TemporaryDirectory() as folder, full_disk(folder) as disk:
        todo = {row.story: row.number(count) for row in table}
        known = {row.story: row for row in table}
        while any(todo.values()):
            seed += 1
            for report in reports(folder, disk, todo, seed):
                note(known[report["story"]], report, todo)
                if progress:
                    left = sum(todo.values())
                    text = f"\r{report['story']:24} {left:6} to go"
                    print(text, end="", file=sys.stderr, flush=True)
    return table


def note(row, report, todo):
    """Count what one fault came to."""
    if report.get("skip"):
        row.skipped, todo[row.story] = report["skip"], 0
        return
    todo[row.story] -= 1
    row.counts["lost" if report["lost"] else "survived"] += 1
    if report["lost"]:
        row.reasons.append(report["lost"])


def reports(folder, disk, todo, seed):
    """Reports of one child; its own end is the report that is missing."""
    current = next(story for story, n in todo.items() if n)
    with tempfile.TemporaryFile() as errors:
        child = started(folder, disk, todo, seed, errors)
        lines = listened(child)
        try:
            while (line := next_line(lines)) is not None:
                report = json.loads(line)
                current = report["story"]
                if "lost" in report or "skip" in report:
                    current = None
                    yield report
        finally:
            end(child)
        errors.seek(0)
        last = errors.read().decode(errors="replace").strip().splitlines()[-1:]
    if current is not None:
        yield {"story": current, "lost": ended(child.returncode, last)}


def started(folder, disk, todo, seed, errors):
    """A child with a session of its own, for the stories that are left."""
    command = [sys.executable, __file__, "--child", folder, "--seed", str(seed)]
    command += ["--disk", disk] if disk else []
    command += ["--modules", ",".join(MODULES)]
    command += [f"{story}={n}" for story, n in todo.items() if n]
    return subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=errors,
        start_new_session=True,
        # Arrays that are freed go back to the system: limits of memory are felt.
        env=os.environ | {"TMPDIR": folder, "MALLOC_MMAP_THRESHOLD_": "65536"},
    )


def listened(child):
    """Lines of a child in a queue, so that waiting for them can end."""
    lines = queue.Queue()

    def listen():
        with child.stdout:
            for line in child.stdout:
                lines.put(line)
        lines.put(None)

    threading.Thread(target=listen, daemon=True).start()
    return lines


def next_line(lines):
    try:
        return lines.get(timeout=SECONDS)
    except queue.Empty:
        return None


def end(child):
    """End a child of ours and what it started: it leads a session of its own."""
    with suppress(subprocess.TimeoutExpired):
        child.wait(timeout=5)
    with suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()


def ended(code, last):
    words = f": {last[0]}" if last else ""
    if code == -signal.SIGKILL:
        return f"hung for {SECONDS} s{words}"
    how = signal.Signals(-code).name if code < 0 else f"exit code {code}"
    return f"the process ended by {how}{words}"


@contextmanager
def full_disk(folder):
    """A file system of one megabyte, or None where it cannot be mounted."""
    disk = Path(folder) / "disk"
    disk.mkdir()
    with small_disk(disk, "1m") as mounted:
        yield str(disk) if mounted else None


# --- the child --------------------------------------------------------------------


def tell(arguments):
    """Run stories until one is lost; a line before each fault and one after it."""
    out = os.dup(1)
    os.dup2(2, 1)  # whatever is printed is not a report
    modules = [import_module(name) for name in arguments.modules.split(",")]

    def report(**values):
        os.write(out, json.dumps(values).encode() + b"\n")

    for item in arguments.stories:
        name, n = item.split("=")
        story = next(getattr(each, name) for each in modules if hasattr(each, name))
        on_disk = arguments.disk if name.startswith("full_disk") else None
        for i in range(int(n)):
            rng = random.Random(f"{arguments.seed} {name} {i}")
            report(story=name)
            outcome = one(story, on_disk, arguments.child, rng)
            report(story=name, **outcome)
            if outcome.get("lost"):
                return
            if outcome.get("skip"):
                break


def one(story, disk, folder, rng):
    """One fault in a folder of its own."""
    place = Path(tempfile.mkdtemp(dir=disk or folder))
    try:
        story(place, rng)
    except BaseException as error:
        if type(error).__name__ == Skip.__name__:  # here this module is __main__
            return {"skip": str(error)}
        return {"lost": f"{type(error).__name__}: {error}"[:300]}
    finally:
        shutil.rmtree(place, ignore_errors=True)
    return {"lost": None}


# --- the table --------------------------------------------------------------------


def table_text(table):
    """The table and the first reason of every row that lost, 80 columns wide."""
    lines = [f"{'fault':44} | {'tried':>7} | {'survived':>10} | {'lost':>6}"]
    lines.append("-" * 45 + "|" + "-" * 9 + "|" + "-" * 12 + "|" + "-" * 8)
    below = []
    for row in table:
        good, bad = row.counts["survived"], row.counts["lost"]
        lines.append(f"{row.title:44} | {good + bad:7} | {good:10} | {bad:6}")
        if row.skipped:
            below.append(f"{row.title}: not run, {row.skipped}")
        elif row.reasons:
            below.append(f"{row.title}: " + " ".join(row.reasons[0].split()))
    below = [line if len(line) <= 80 else line[:77] + "..." for line in below]
    return "\n".join([*lines, *([""] if below else []), *below])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=50, help="about so many per row")
    parser.add_argument("--quick", action="store_true", help="--count 4")
    parser.add_argument("--only", default="", help="rows whose title contains this")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("--disk", help=argparse.SUPPRESS)
    parser.add_argument("--modules", help=argparse.SUPPRESS)
    parser.add_argument("stories", nargs="*", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        tell(arguments)
        os._exit(0)  # the parent ends workers that are left
    table = [row for row in rows() if arguments.only in row.title]
    run(table, 4 if arguments.quick else arguments.count, arguments.seed, True)
    print("\n" + table_text(table))
    sys.exit(any(row.counts["lost"] for row in table))


if __name__ == "__main__":
    main()
