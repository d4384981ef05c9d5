"""``tensorcrp bench``: how fast, beside what, and how near to the machine's limits.

In: names of cases. Out: a table of ratios and, with ``--out``, the rows as JSON.

Every case makes its own data from a fixed seed and measures all its methods in one run,
with the same number of BLAS threads. A time is the least of several repetitions that
take turns; what counts is the ratio to the reference of the case, not the seconds.
"""

import json
from dataclasses import replace
from pathlib import Path
from time import perf_counter

from tensorcrp import __version__
from tensorcrp.base.files import replacing
from tensorcrp.base.progress import progress
from tensorcrp.experiments.bench.bench_rows import table
from tensorcrp.experiments.bench.cases import CASES
from tensorcrp.experiments.bench.measure import machine
from tensorcrp.experiments.errors import check_names
from tensorcrp.experiments.options import how_many, whole_number
from tensorcrp.experiments.store import check_file
from tensorcrp.experiments.tables import wrapped


def add_command(commands):
    """Add ``bench`` to the subparsers of the ``tensorcrp`` command."""
    sub = commands.add_parser(
        "bench",
        description=__doc__,
    )
    sub.add_argument("cases", nargs="*", metavar="CASE", help=f"of {', '.join(CASES)}")
    sub.add_argument(
        "--threads", type=whole_number(1), default=1, metavar="N", help="for BLAS"
    )
    sub.add_argument("--small", action="store_true", help="a tenth of the samples")
    sub.add_argument("--out", type=Path, metavar="FILE.json")
    sub.set_defaults(run=run, error=sub.error, kept=_kept_cases)


def _kept_cases(args):
    """What is left of a bench that ended early."""
    return f"finished cases are in {args.out}" if args.out else "nothing was kept"


def run(args):
    """Measure the cases in the order asked for; returns the exit code."""
    check_names("case", args.cases, list(CASES))
    if args.out is not None:
        check_file(args.out)
    about = {"tensorcrp": __version__, **machine()}
    about |= {"blas_threads": args.threads, "small": args.small}
    words = ", ".join(f"{key}: {value}" for key, value in about.items())
    print("\n".join(wrapped(words)), flush=True)
    rows, minutes = [], {}
    for name in progress(args.cases or list(CASES), "cases", unit="case"):
        start = perf_counter()
        found = CASES[name](args)
        minutes[name] = round((perf_counter() - start) / 60, 2)
        if args.small:  # the bars are for the sizes that they name
            found = [replace(row, met=None, bar="") for row in found]
        print(table(found), flush=True)
        rows += found
        if args.out is not None:  # whole after every case, in case of Ctrl-C
            content = {"machine": about, "minutes": minutes}
            _replace(args.out, {**content, "rows": [vars(row) for row in rows]})
    took = how_many(len(minutes), "case")
    print(f"{took} took {sum(minutes.values()):.1f} minutes")
    return 0


def _replace(path, content):
    with replacing(path) as file:
        file.write(json.dumps(content, indent=1).encode() + b"\n")
