"""Hundreds of components: deflated copies of the rows beside growing products.

In: sizes of data to make. Out: rows; the ratio is to the run with copies.

A block update sees the rows without their earlier projections. Either it subtracts a
product of scores and overlaps that grows with their number, or the solver keeps a copy
of the rows per lane, from which each projection is subtracted once.
"""

from functools import partial
from unittest.mock import patch

from tensorcrp.experiments.bench.measure import seconds, synthetic, with_threads
from tensorcrp.experiments.bench.report import Row
from tensorcrp.scatter import ClassScatter
from tensorcrp.solver import Spec, fit_path, lane_rows

REGS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)


@with_threads
def components(args):
    """The paper's (c - 1)^2 = 361 components of COIL-20's shape, seven ridges."""
    h = 36 if args.small else 361
    rows = []
    for per_class in (3,) if args.small else (3, 10):
        X, y = synthetic(args, 20 * per_class, (32, 32), 20)
        spec = Spec(h, regs=REGS)
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
