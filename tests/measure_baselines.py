"""Fit times of the baselines as multiples of RidgeLDA's, in one run, one thread.

    python tests/measure_baselines.py [NAME ...]

On the gait samples (731 of 32 x 22 x 10, 71 people) if TENSORCRP_DATA has them, else on
random ones of that size. Not a test: times depend on the machine.
"""

import os
import sys
import time
from pathlib import Path

import numpy as np
import threadpoolctl

from tensorcrp import TensorCRP, baselines


def gait():
    """The gait samples, or random ones of the same size where there are none."""
    path = Path(os.environ.get("TENSORCRP_DATA", "")) / "gait_usf.npz"
    if path.is_file():
        with np.load(path) as data:
            return data["X"], data["y"]
    X = np.random.default_rng(0).integers(0, 2, (731, 32, 22, 10), dtype=np.uint8)
    return X, np.arange(731) % 71


def cpu_seconds(model, X, y):
    """Processor time of one fit."""
    start = time.process_time()
    model.fit(X, y)
    return time.process_time() - start


def main(names):
    """Print a line per method."""
    X, y = gait()
    with threadpoolctl.threadpool_limits(1):
        baselines.RidgeLDA().fit(X[::3], y[::3])  # whatever the first call has to load
        unit = min(cpu_seconds(baselines.RidgeLDA(), X, y) for _ in range(3))
        print(f"RidgeLDA: {unit:.2f} s")
        for name in names or [each.name for each in baselines.BASELINES]:
            cls = TensorCRP if name == "TensorCRP" else getattr(baselines, name)
            print(f"{name}: {cpu_seconds(cls(), X, y) / unit:.2f}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
