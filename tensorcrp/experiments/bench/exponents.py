"""How the cost of a fit grows with n, P, c, h and the number of lanes.

In: nothing but sizes; the data are synthetic. Out: one row per size, with the exponent
``a`` of ``seconds ~ size^a``, fitted by least squares to the logarithms of both.

One size varies at a time; the others are those of `START`. Fits take two sweeps per
projection, whatever the data, so that only the cost of a sweep is compared.
"""

from functools import partial

import numpy as np

from tensorcrp.experiments.bench.measure import seconds, synthetic, with_threads
from tensorcrp.experiments.bench.report import Row
from tensorcrp.scatter import ClassScatter
from tensorcrp.solver import Spec, fit_path

START = {"n": 400, "P": 1024, "c": 10, "h": 30, "lanes": 1}
SIZES = {
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
    return [_row(args, name, sizes[:few]) for name, sizes in SIZES.items()]


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
