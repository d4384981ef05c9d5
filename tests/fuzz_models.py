"""Thousands of damaged and forged model files: none crashes, hangs, grows or runs.

    python tests/fuzz_models.py --count 10000

Two kinds of files: sound ones that were mutated (`mutated_models`: bytes, lengths, the
header's JSON, data, checksum), which have to give a model that can be used or
ModelFormatError; and files crafted with a correct checksum (`crafted_models`: one array
named often, deep nesting, shapes, types and classes that are none), which have to give
ModelFormatError. Some are behind symbolic links.

They are loaded in a child with limits of memory and of time per file: a file that ends
the child is named. A *canary* proves that nothing in a file runs: payloads name a
function of this module, a module of a planted folder on the path, and shell commands;
all would leave a file. An audit hook notes what is compiled, started or opened for
writing.

Prints how many were refused and loaded, the longest time, the largest memory above the
baseline and the canary. With --atheris, where it is installed, coverage guides it.
"""

import argparse
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections import Counter
from contextlib import suppress
from pathlib import Path

import numpy as np
from crafted_models import CRAFTED
from model_files import resigned, split_file
from mutated_models import CANARY, MUTATIONS

from tensorcrp import TensorCRP, TensorCRPCV, baselines
from tensorcrp.persistence import ModelFormatError, load, save

LIMIT_SECONDS, LIMIT_BYTES = 2.0, 200 * 2**20
HANG_SECONDS, MOST_BYTES = 30, 2**30  # what ends the child
BATCH = 500


# --- seeds ------------------------------------------------------------------------


def seeds(folder):
    """Sound files: several classes, fitted, unfitted, streaming, with a judge."""
    rng = np.random.default_rng(0)
    y = np.arange(24) % 3
    X = rng.standard_normal((24, 4, 3)) + y[:, None, None]
    names = np.array(["a", "b", "c"])
    models = [
        TensorCRP(2, init=[np.ones((4, 2)), np.ones((3, 2))]).fit(X, y),
        TensorCRP(random_state=np.random.RandomState(0)).partial_fit(X, names[y]),
        TensorCRPCV(ranks=(1,), regs=(0.1, 1.0), cv=2).fit(X, names[y]),
        baselines.MPCA().fit(X),
        baselines.SelectiveLDA().fit(X, y),
        baselines.BilinearSVC(),
    ]
    contents = []
    for i, model in enumerate(models):
        save(model, folder / f"seed-{i}")
        contents.append((folder / f"seed-{i}").read_bytes())
    return contents, X


# --- files ------------------------------------------------------------------------


def make(folder, count, seed):
    """Write `count` files into the folder: three in four mutants, the rest crafted."""
    contents = [each.read_bytes() for each in sorted(Path(folder).glob("seed-*"))]
    rng = random.Random(seed)
    for i in range(count):
        if i % 4 == 3:
            kind = rng.choice([*CRAFTED])
            content = CRAFTED[kind](rng)
        else:
            kind, content = mutant(rng.choice(contents), rng)
        (Path(folder) / f"made-{i:05d}-{kind}").write_bytes(content)


def mutant(content, rng):
    """Name of a mutation, and the file that it makes of a sound one."""
    mutate = rng.choice(MUTATIONS)
    content = mutate(content, rng)
    if rng.random() < 0.1:  # two at once
        with suppress(Exception):  # some need a file that is still whole
            content = rng.choice(MUTATIONS)(content, rng)
    return mutate.__name__, content


# --- the canary -------------------------------------------------------------------


def canary(*args):
    """Leaves a file: only a file that runs could call it."""
    CANARY.write_text("sung")


class Audit:
    """Notes what code that runs would do: start, compile, import, write."""

    EVENTS = ("os.system", "subprocess.Popen", "os.exec", "os.posix_spawn", "compile")

    def __init__(self):
        self.active, self.seen = False, Counter()
        sys.addaudithook(self)

    def __call__(self, event, args):
        if not self.active:
            return
        if event in self.EVENTS or event.startswith(("pickle.", "marshal.", "ctypes.")):
            self.seen[event] += 1
        elif event == "open" and isinstance(args[2], int) and args[2] & os.O_WRONLY:
            self.seen["write"] += 1


# --- the run ----------------------------------------------------------------------


class Fuzzer:
    """Loads one file after the other and keeps the worst."""

    def __init__(self, folder):
        self.folder, self.counts = Path(folder), Counter()
        self.contents, self.X = seeds(self.folder)
        self.slowest, self.failures = (0.0, ""), []
        self.audit = Audit()
        planted = self.folder / "planted_canary.py"
        planted.write_text(f"open({str(CANARY)!r}, 'w').close()")
        sys.path.insert(0, str(self.folder))
        self.path, self.link = self.folder / "model", self.folder / "link"
        self.current = self.folder / "current"
        self.link.symlink_to(self.path)
        for content in self.contents:  # whatever the first load of a class imports
            self.attempt(content, "sound")
        assert self.counts["loaded"] == len(self.contents)
        self.counts.clear()
        self.baseline = peak_bytes()

    def attempt(self, content, kind, path=None):
        """Load one file; a model that comes out has to work or reject its input."""
        self.path.write_bytes(content)
        self.current.write_text(kind)
        start = time.process_time()
        self.audit.active = True
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model = load(path or self.path)
        except ModelFormatError:
            self.counts["refused"] += 1
            model = None
        except BaseException as error:
            self.failures.append((kind, type(error).__name__, str(error)[:200]))
            return
        finally:
            self.audit.active = False
            seconds = time.process_time() - start
            self.slowest = max(self.slowest, (seconds, kind))
        if model is not None:
            self.counts["loaded"] += 1
            self.use(model, kind)
            if kind in CRAFTED:
                self.failures.append((kind, "loaded", repr(model)[:200]))

    def use(self, model, kind):
        """The right kind of thing: features of the shape that the model promises."""
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                if hasattr(model, "projections_") and model.input_shape_ == (4, 3):
                    features = np.asarray(model.transform(self.X))
                    assert features.shape == (24, len(model.projections_))
                repr(model)
        except Exception as error:
            self.failures.append((kind, "unusable", repr(error)[:200]))

    def run(self, count, seed):
        """Files that another process makes: its memory is not that of loading."""
        batches = [min(BATCH, count - start) for start in range(0, count, BATCH)]
        done = 0
        for batch, size in enumerate(batches):
            command = [sys.executable, __file__, "--make", str(self.folder)]
            command += ["--count", str(size), "--seed", f"{seed}.{batch}"]
            subprocess.run(command, check=True)
            for each in sorted(self.folder.glob("made-*")):
                kind = each.name.split("-")[2]
                link = self.link if done % 10 == 0 else None
                signal.alarm(HANG_SECONDS)  # unhandled: it ends the process
                self.attempt(each.read_bytes(), kind, link)
                signal.alarm(0)
                each.unlink()
                done += 1
            print(f"\r{done}/{count}", end="", file=sys.stderr, flush=True)
        return self

    def report(self):
        grown = max(0, peak_bytes() - self.baseline)
        sung = CANARY.exists() or bool(self.audit.seen)
        lines = [
            f"{sum(self.counts.values()) + len(self.failures)} files: "
            f"{self.counts['refused']} refused, {self.counts['loaded']} loaded, "
            f"{len(self.failures)} failures",
            f"slowest {self.slowest[0]:.3f} s of processor ({self.slowest[1]})",
            f"peak memory above the baseline {grown / 2**20:.0f} MB",
            f"canary: {'SUNG ' + str(dict(self.audit.seen)) if sung else 'silent'}",
            *(f"FAILURE {failure}" for failure in self.failures[:20]),
        ]
        good = not self.failures and not sung and grown <= LIMIT_BYTES
        return "\n".join(lines), good and self.slowest[0] <= LIMIT_SECONDS


def peak_bytes():
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def limit_memory():
    """Address space for what is there and MOST_BYTES more."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * resource.getpagesize() + MOST_BYTES
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


def guided(fuzzer):
    """An endless search by atheris, each input the bytes of a file, signed or not."""
    import atheris

    def one(data):
        provider = atheris.FuzzedDataProvider(data)
        signed = provider.ConsumeBool()
        content = provider.ConsumeBytes(2**16)
        if signed and len(content) > 8:
            content = resigned(*split_file(content))
        fuzzer.attempt(content, "atheris")
        assert not fuzzer.failures, fuzzer.failures

    atheris.instrument_all()
    atheris.Setup(sys.argv[:1], one)
    atheris.Fuzz()


def load_all(arguments):
    """The child: load every file within limits, and print the report."""
    fuzzer = Fuzzer(arguments.child)
    if arguments.atheris:
        guided(fuzzer)
    if Path("/proc/self/statm").exists():
        limit_memory()
    text, good = fuzzer.run(arguments.count, arguments.seed).report()
    print("\n" + text)
    return not good


def in_a_child():
    """This command again in a child; a file that ends it is kept and named."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, __file__, *sys.argv[1:], "--child", folder]
        code = subprocess.run(command).returncode
        if code < 0:
            kind = (Path(folder) / "current").read_text()
            kept = Path(tempfile.gettempdir()) / f"tensorcrp-fuzz-{os.getpid()}"
            kept.write_bytes((Path(folder) / "model").read_bytes())
            print(f"FAILURE {kind} ended the process by signal {-code}: {kept}")
    return code


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", default="0")
    parser.add_argument("--atheris", action="store_true")
    parser.add_argument("--make", help=argparse.SUPPRESS)
    parser.add_argument("--child", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.make:
        return make(arguments.make, arguments.count, arguments.seed)
    sys.exit(load_all(arguments) if arguments.child else in_a_child())


if __name__ == "__main__":
    main()
