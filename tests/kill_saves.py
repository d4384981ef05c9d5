"""kill -9 in the middle of saves: the file always loads, as the old or the new model.

    python tests/kill_saves.py --count 200

A child process saves models of changing size to one path, without a pause. It is killed
at random moments; each time the file has to load as one of those models, not older
than the last one that the child reported as saved. What a killed child may leave is a
temporary file, never another thing. Prints the number of kills and what they hit.
"""

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from tensorcrp.persistence import load

SERVER = """
import os, sys
import numpy as np
from tensorcrp import TensorCRP
from tensorcrp.persistence import save

y = np.arange(40) % 2
X = np.random.default_rng(0).standard_normal((40, 16, 16)) + y[:, None, None]
models = [TensorCRP(h, max_iter=1, tol=0).fit(X, y) for h in (1, 60)]

def save_for_ever(i):
    while True:
        save(models[i % 2].set_params(verbose=i), sys.argv[1])
        # One short write to a pipe is whole or not there; print() may write twice.
        os.write(1, b"%d" % i + os.linesep.encode())
        i += 1

for line in sys.stdin:
    child = os.fork()
    if child == 0:
        save_for_ever(int(line))
    print("child", child, flush=True)
    os.waitpid(child, 0)
    print("dead", flush=True)
"""


class Server:
    """A process that has everything loaded and forks children that save."""

    def __init__(self, path):
        self.path = path
        self.process = subprocess.Popen(
            [sys.executable, "-c", SERVER, str(path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {"OMP_NUM_THREADS": "1"},
        )

    def kill_once(self, number, rng):
        """Let a child save from `number` on and kill it; the last number reported."""
        print(number, file=self.process.stdin, flush=True)
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

    def close(self):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()


def check(path, reported):
    """The number of the model in the file: the one reported last, or the next."""
    found = load(path)
    rows = 1 if found.verbose % 2 == 0 else 60
    assert len(found.projections_) == rows, "parts of two models"
    assert found.verbose in (reported, reported + 1), "neither the old nor the new"
    return found.verbose


def run(count, seed=0, progress=False):
    """Kill `count` children; returns what was hit."""
    rng, hits, number = random.Random(seed), Counter(), 0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.safetensors"
        server = Server(path)
        try:
            for i in range(count):
                reported = server.kill_once(number, rng)
                found = check(path, reported)
                left = [each for each in Path(folder).iterdir() if each != path]
                assert all(each.name.endswith(".part") for each in left)
                hits["during a write"] += bool(left)
                hits["after the rename"] += found > reported
                for each in left:
                    each.unlink()
                number = found + 1
                if progress:
                    print(f"\r{i + 1}/{count}", end="", file=sys.stderr, flush=True)
        finally:
            server.close()
    return hits


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    hits = run(arguments.count, arguments.seed, progress=True)
    print(
        f"\n{arguments.count} kills, the file always loaded: {hits['during a write']} "
        f"left a temporary file, {hits['after the rename']} fell between the rename "
        "and the report"
    )


if __name__ == "__main__":
    main()
