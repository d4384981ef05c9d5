"""Thousands of damaged and forged model files: none crashes, hangs, grows or runs.

    python tests/fuzz_models.py --count 10000

Every file is a sound one that was mutated: bytes flipped, cut, repeated; the length of
the header; the header's JSON (dtypes, shapes, offsets, names like paths, tags,
parameters, attributes, terabytes, depth, size); the data; the checksum. Most are
signed again, so that what stands behind the checksum is reached; some lie behind
symbolic links. Loading has to give a model that can be used, or ModelFormatError.

A *canary* proves that nothing in a file runs: payloads name a function of this module,
a module of a planted folder on the path, and shell commands; all would leave a file.
An audit hook notes what is imported, compiled, opened for writing or started.

Prints how many were refused and loaded, the longest time, the largest memory above the
baseline and the canary. With --atheris, where it is installed, coverage guides it.
"""

import argparse
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from collections import Counter
from contextlib import suppress
from pathlib import Path

import numpy as np
from model_files import FIRST, resigned, split_file

from tensorcrp import TensorCRP, TensorCRPCV, baselines
from tensorcrp.persistence import ModelFormatError, load, save

LIMIT_SECONDS, LIMIT_BYTES = 2.0, 200 * 2**20
BATCH = 500
HUGE = [0, 1, -1, 2**31, 2**32 - 1, 2**40, 2**53, 2**62, 2**63, 2**64, 10**30, 1.5]
PATHS = ["../../etc/passwd", "/etc/passwd", "a/../b", "C:\\x", "x\0y", "", "." * 300]
DTYPES = ["F64", "F32", "I64", "U8", "BOOL", "O", "object", "F128", "<f8", "", None, 7]
ODD = [None, True, -1, 1e308, "", "x" * 1000, [], {}, [[]], {"array": "nothing"}]
TAGS = "array tuple dict range scalar texts objects float model classifier splitter"
TAGS = [*TAGS.split(), "random_state", "scatter", "pickle", "__reduce__", "eval", "py"]


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


# --- mutations --------------------------------------------------------------------


def flip_bits(content, rng):
    content = bytearray(content)
    for _ in range(rng.choice([1, 1, 2, 8, 64])):
        content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
    return bytes(content)


def cut_or_grow(content, rng):
    where = rng.randrange(len(content) + 1)
    return rng.choice(
        [
            content[:where],
            content[where:],
            content + bytes(rng.randrange(1, 5000)),
            content[:where] + bytes(rng.randrange(1, 100)) + content[where:],
            content[:where] + content[:where],
        ]
    )


def forge_length(content, rng):
    header, data = split_file(content)
    length = rng.choice([0, 1, len(header) - 1, len(header) + 1, 2**21, 2**31, 2**40])
    length = rng.choice([length, 2**63, 2**64 - 1, rng.randrange(2**64)])
    return resigned(header, data, length)


def flip_header(content, rng):
    """Characters of the header, signed again."""
    header, data = split_file(content)
    header = bytearray(header)
    for _ in range(rng.choice([1, 1, 3, 20])):
        where = rng.randrange(len(FIRST) + 64, len(header))
        header[where] = rng.choice(
            b'0123456789"[]{},:.\\-eaN ' + header[where : where + 1]
        )
    return resigned(bytes(header), data)


def flip_data(content, rng):
    """Numbers of the arrays, signed again: also NaN, infinity and huge ones."""
    header, data = split_file(content)
    data = bytearray(data)
    for _ in range(rng.choice([1, 1, 5, 50]) if data else 0):
        where = 8 * rng.randrange(max(1, len(data) // 8))
        eight = rng.choice(
            [b"\xff" * 8, bytes(8), rng.randbytes(8), b"\0" * 6 + b"\xf0\x7f"]
        )
        data[where : where + 8] = eight[: len(data[where : where + 8])]
    return resigned(header, bytes(data))


def forge_arrays(content, rng):
    """dtype, shape, offsets and names of arrays."""
    header, data = split_file(content)
    header = json.loads(header)
    names = [name for name in header if name != "__metadata__"]
    for _ in range(rng.choice([1, 1, 3]) if names else 0):
        entry = header[rng.choice(names)]
        what = rng.choice(["dtype", "shape", "data_offsets", "key", "name"])
        if what == "dtype":
            entry["dtype"] = rng.choice(DTYPES)
        elif what == "key":
            entry[rng.choice(["dtype", "shape", "x"])] = rng.choice(ODD)
        elif what == "name":
            header[rng.choice(PATHS)] = dict(entry)
        elif isinstance(entry.get(what), list) and entry[what]:
            entry[what][rng.randrange(len(entry[what]))] = rng.choice(HUGE)
        else:
            entry[what] = rng.choice(ODD) or [rng.choice(HUGE)] * rng.choice([1, 40])
    return resigned(_dump(header), data)


def terabytes(content, rng):
    """Sizes that agree with each other and not with the file."""
    header, data = split_file(content)
    header = json.loads(header)
    size = rng.choice([2**30, 2**40, 2**43, 2**60])
    shape = rng.choice(
        [[size // 8], [size // 64, 8], [1] * 31 + [size // 8], [0, size]]
    )
    end = len(data) + (0 if 0 in shape else size)
    header["big"] = {"dtype": "F64", "shape": shape, "data_offsets": [len(data), end]}
    return resigned(_dump(header), data)


def forge_texts(content, rng):
    """Class, version, parameters and attributes: a node of the tree replaced."""
    header, data = split_file(content)
    header = json.loads(header)
    texts = header["__metadata__"]
    name = rng.choice(["class", "format", "versions", "sample_shape"] + ["state"] * 4)
    name = rng.choice([name, "parameters"])
    if name in ("class", "format"):
        texts[name] = rng.choice(
            [*PATHS, "os.system", "TensorCRP", "MPCA", "9.9", "1.5"]
        )
    else:
        tree = json.loads(texts[name])
        _spoil(tree, rng)
        texts[name] = json.dumps(tree)
    return resigned(_dump(header), data)


def _spoil(tree, rng):
    """Change one place of a tree of JSON."""
    places = []

    def walk(node):
        for key in range(len(node)) if isinstance(node, list) else list(node):
            places.append((node, key))
            if isinstance(node[key], (list, dict)):
                walk(node[key])

    if isinstance(tree, (list, dict)):
        walk(tree)
    if not places:
        return
    node, key = rng.choice(places)
    old = node[key]
    tag = rng.choice(TAGS)
    node[key] = rng.choice(
        [
            rng.choice(ODD),
            rng.choice(HUGE),
            {tag: old},
            {tag: rng.choice(ODD)},
            rng.choice(places)[0],
            _payload(rng),
            {
                "dict": [
                    ["class", rng.choice(["os.system", "TensorCRP"])],
                    ["params", old],
                ]
            },
        ]
    )
    try:
        json.dumps(tree)
    except (ValueError, RecursionError):  # a tree that holds itself
        node[key] = old


def _payload(rng):
    """What would run if anything ran."""
    words = ["fuzz_models.canary", "planted_canary", "os.system", "builtins.eval"]
    command = f"touch {CANARY}"
    return rng.choice(
        [
            {"model": {"dict": [["class", rng.choice(words)], ["params", command]]}},
            {"__reduce__": [rng.choice(words), [command]]},
            {"py/reduce": [{"py/function": rng.choice(words)}, [command]]},
            f"__import__('os').system({command!r})",
            f"!!python/object/apply:os.system [{command}]",
        ]
    )


def deep_or_large(content, rng):
    header, data = split_file(content)
    n = rng.choice([10**3, 10**5, 10**6])
    piece = rng.choice(
        [
            b"[" * n + b"]" * n,
            b'{"a":' * n,
            b'{"":1},' * (2**21 // 7),
            b"[]," * (2**21 // 3),
        ]
    )
    header = header.rstrip()[:-1] + b',"x":[' + piece[: rng.choice([len(piece), 2**20])]
    return resigned(header + rng.choice([b"0]}", b"]}", b""]), data)


def nested_text(content, rng):
    """Many values in the JSON of the attributes, within the size of a header."""
    header, data = split_file(content)
    header = json.loads(header)
    piece = rng.choice(
        ["[],", '{"":1},', "1.5,", '{"tuple":[]},', "[" * 50 + "]" * 50 + ","]
    )
    n = rng.choice(
        [1000, 14_000, 40_000, (2**21 - len(_dump(header))) // (len(piece) + 4)]
    )
    header["__metadata__"]["state"] = "[" + piece * max(n, 0) + "0]"
    return resigned(_dump(header), data)


def without_checksum(content, rng):
    where = rng.randrange(8 + len(FIRST), 8 + len(FIRST) + 64)
    return (
        content[:where] + rng.choice([b"0", b"g", b'"', b"\xff"]) + content[where + 1 :]
    )


def other_formats(content, rng):
    header, _ = split_file(content)
    return rng.choice(
        [
            b"\x80\x04c" + b"fuzz_models\ncanary\n(tR.",
            b"PK\x03\x04" + content,  # a zip archive
            b"\x1f\x8b\x08" + content,  # gzip
            b"\x93NUMPY\x01\x00" + content,
            resigned(b" " + header, b""),
            b"",
        ]
    )


MUTATIONS = [
    flip_bits,
    cut_or_grow,
    forge_length,
    flip_header,
    flip_data,
    forge_arrays,
    terabytes,
    forge_texts,
    forge_texts,
    deep_or_large,
    nested_text,
    without_checksum,
    other_formats,
]


def _dump(header):
    """The header with the checksum first, where it belongs."""
    return json.dumps(header, separators=(",", ":")).encode()


def make(folder, count, seed):
    """Write `count` mutants into the folder."""
    contents = [each.read_bytes() for each in sorted(Path(folder).glob("seed-*"))]
    rng = random.Random(seed)
    for i in range(count):
        mutate = rng.choice(MUTATIONS)
        content = mutate(rng.choice(contents), rng)
        if rng.random() < 0.1:  # two at once
            with suppress(Exception):  # some need a file that is still whole
                content = rng.choice(MUTATIONS)(content, rng)
        (Path(folder) / f"mutant-{i:05d}-{mutate.__name__}").write_bytes(content)


# --- the canary -------------------------------------------------------------------

CANARY = Path(tempfile.gettempdir()) / f"tensorcrp-canary-{os.getpid()}"


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
        self.link.symlink_to(self.path)
        for content in self.contents:  # whatever the first load of a class imports
            self.attempt(content, "sound")
        assert self.counts["loaded"] == len(self.contents)
        self.counts.clear()
        self.baseline = peak_bytes()

    def attempt(self, content, kind, path=None):
        """Load one file; a model that comes out has to work or refuse its input."""
        self.path.write_bytes(content)
        start = time.perf_counter()
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
            seconds = time.perf_counter() - start
            self.slowest = max(self.slowest, (seconds, kind))
        if model is not None:
            self.counts["loaded"] += 1
            self.use(model, kind)

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
            for each in sorted(self.folder.glob("mutant-*")):
                kind = each.name.split("-")[2]
                link = self.link if len(kind) % 2 and done % 10 == 0 else None
                self.attempt(each.read_bytes(), kind, link)
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
            f"slowest {self.slowest[0]:.3f} s ({self.slowest[1]})",
            f"peak memory above the baseline {grown / 2**20:.0f} MB",
            f"canary: {'SUNG ' + str(dict(self.audit.seen)) if sung else 'silent'}",
            *(f"FAILURE {failure}" for failure in self.failures[:20]),
        ]
        good = not self.failures and not sung and grown <= LIMIT_BYTES
        return "\n".join(lines), good and self.slowest[0] <= LIMIT_SECONDS


def peak_bytes():
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


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


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", default="0")
    parser.add_argument("--atheris", action="store_true")
    parser.add_argument("--make", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.make:
        return make(arguments.make, arguments.count, arguments.seed)
    with tempfile.TemporaryDirectory() as folder:
        fuzzer = Fuzzer(folder)
        if arguments.atheris:
            guided(fuzzer)
        text, good = fuzzer.run(arguments.count, arguments.seed).report()
    print("\n" + text)
    sys.exit(not good)


if __name__ == "__main__":
    main()
