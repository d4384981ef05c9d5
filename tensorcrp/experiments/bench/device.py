"""The same fit with NumPy and with PyTorch, on the host and on a GPU if there is one.

In: sizes of data to make. Out: rows; the ratio is to NumPy.
"""

from functools import partial

import numpy as np

from tensorcrp import TensorCRP
from tensorcrp.experiments.bench.measure import seconds, synthetic, with_threads
from tensorcrp.experiments.bench.report import Row


@with_threads
def device(args):
    """2,000 clips of 8x32x32x3 float32, h=9, and 731 of 32x22x10, 71 classes, h=40."""
    clips = synthetic(args, 2000, (8, 32, 32, 3), 10, np.float32)
    gait = synthetic(args, 731, (32, 22, 10), 71)
    return [
        *_rows(args, f"device: {len(clips[0]):,} of 8x32x32x3 float32, h=9", *clips, 9),
        *_rows(args, f"device: {len(gait[0])} of 32x22x10, h=40", *gait, 40),
    ]


def _rows(args, case, X, y, h):
    """Rows of one fit, NumPy first."""
    fits = {"NumPy": partial(TensorCRP(h).fit, X, y)}
    try:
        import torch
    except ImportError:
        times = seconds(fits, repeats=3)
        missing = Row(case, "PyTorch", note="not installed")
        return [Row(case, "NumPy", times["NumPy"], 1.0), missing]
    devices = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]
    for name in devices:
        there = torch.asarray(X, device=name)
        fits[f"PyTorch on {name}"] = partial(TensorCRP(h).fit, there, y)
    before = torch.get_num_threads()
    torch.set_num_threads(args.threads)  # PyTorch has a number of its own
    try:
        times = seconds(fits, repeats=3)
    finally:
        torch.set_num_threads(before)
    return [Row(case, name, t, t / times["NumPy"]) for name, t in times.items()]
