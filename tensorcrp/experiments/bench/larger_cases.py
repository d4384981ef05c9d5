"""Cases of ``tensorcrp bench``: many components, growing sizes, other devices.

In: sizes of data to make. Out: rows.

`components`: a block update sees the rows without their earlier projections. Either it
subtracts a product of scores and overlaps that grows with their number, or the solver
keeps a copy of the rows per lane, from which each projection is subtracted once.

`exponents`: one size varies at a time, the others are those of `START`. Fits take two
sweeps per projection, whatever the data, so that only the cost of a sweep is compared;
``a`` of ``seconds ~ size^a`` is fitted by least squares to the logarithms of both.

`device`: the same fit with NumPy and with PyTorch, on the host and on a GPU if there is
one.
"""

from functools import partial
from unittest.mock import patch

import numpy as np

from tensorcrp import TensorCRP
from tensorcrp.experiments.bench.bench_rows import Row
from tensorcrp.experiments.bench.measure import seconds, synthetic, with_threads
from tensorcrp.scatter import ClassScatter
from tensorcrp.solver import Spec, fit_path, lane_rows

BENCH_REGS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)


@with_threads
def components(args):
    """The paper's (c - 1)^2 = 361 components of COIL-20's shape, seven ridges."""
    h = 36 if args.small else 361
    rows = []
    for per_class in (3,) if args.small else (3, 10):
        X, y = synthetic(args, 20 * per_class, (32, 32), 20)
        spec = Spec(h, regs=BENCH_REGS)
        fit = partial(fit_path, ClassScatter.from_samples(X, y), spec)
        fits = {"deflated copies": fit, "growing products": partial(growing, fit)}
        times = seconds(fits, repeats=1)
        first = times["deflated copies"]
        case = f"components: {len(X)} of 32x32, 20 classes, h={h}, 7 ridges"
        copies, growing_rows = (
            Row(case, name, time, time / first) for name, time in times.items()
        )
        rows += [copies, growing_rows.at_least(3)]
    return rows


def growing(fit):
    """What a function returns that fits without copies."""
    with patch.object(lane_rows, "MOST_BYTES", 0):
        return fit()


START = {"n": 400, "P": 1024, "c": 10, "h": 30, "lanes": 1}
GROWING = {
    "n": (100, 200, 400, 800),
    "P": (256, 576, 1024, 2304),  # squares: samples are 16x16 to 48x48
    "c": (5, 10, 20, 40),
    "h": (15, 30, 60, 120),
    "lanes": (1, 4, 16, 64),
}


@with_threads
def exponents(args):
    """Exponents of n, P, c, h and lanes in the time of a fit."""
    few = 2 if args.small else None
    return [_row(args, name, sizes[:few]) for name, sizes in GROWING.items()]


def _row(args, name, sizes):
    fits = {size: _fit(args, **(START | {name: size})) for size in sizes}
    times = seconds(fits, repeats=1 if args.small else 3)
    power = exponent(list(times), list(times.values()))
    others = ", ".join(f"{k}={v}" for k, v in START.items() if k != name)
    note = f"seconds ~ {name}^{power:.2f}; {others}"
    which = f"{name} = {', '.join(map(str, sizes))}"
    last, first = times[sizes[-1]], times[sizes[0]]
    case = "exponents: two sweeps at rank 2; seconds of the last size"
    return Row(case, which, last, last / first, note=note)


def _fit(args, n, P, c, h, lanes):
    side = round(P**0.5)
    scatter = ClassScatter.from_samples(*synthetic(args, n, (side, side), c))
    regs = np.geomspace(0.01, 10.0, lanes)
    h = 2 if args.small else h
    return partial(fit_path, scatter, Spec(h, regs=regs, max_iter=2, tol=0.0))


def exponent(sizes, times):
    """The a of ``time ~ size^a`` by least squares on the logarithms.

    Parameters
    ----------
    sizes, times : sequence of positive float
    """
    return float(np.polyfit(np.log(sizes), np.log(times), 1)[0])


@with_threads
def device(args):
    """2,000 clips of 8x32x32x3 float32, h=9, and 731 of 32x22x10, 71 classes, h=40."""
    clips = synthetic(args, 2000, (8, 32, 32, 3), 10, np.float32)
    gait = synthetic(args, 731, (32, 22, 10), 71)
    return [
        *_device_rows(
            args, f"device: {len(clips[0]):,} of 8x32x32x3 float32, h=9", *clips, 9
        ),
        *_device_rows(args, f"device: {len(gait[0])} of 32x22x10, h=40", *gait, 40),
    ]


def _device_rows(args, case, X, y, h):
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
