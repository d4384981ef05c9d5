"""``tensorcrp bench``: how fast, beside what, and how near to the machine's limits.

In: names of cases. Out: a table of ratios and, with ``--out``, the rows as JSON.

Every case makes its own data from a fixed seed and measures all its methods in one run,
with the same number of BLAS threads. A time is the least of several repetitions that
take turns; what counts is the ratio to the reference of the case, not the seconds.
"""

import json
import os
import sys
from dataclasses import replace
from pathlib import Path

from tensorcrp.bench._cases import CASES
from tensorcrp.bench._measure import machine
from tensorcrp.bench._report import table


def add_command(commands):
    """Add ``bench`` to the subparsers of the ``tensorcrp`` command."""
    sub = commands.add_parser(
        "bench",
        help="speed and memory beside rivals and the machine's limits",
        description=__doc__,
    )
    sub.add_argument("cases", nargs="*", metavar="CASE", help=f"of {', '.join(CASES)}")
    sub.add_argument("--threads", type=int, default=1, metavar="N", help="for BLAS")
    sub.add_argument("--small", action="store_true", help="a tenth of the samples")
    sub.add_argument("--out", type=Path, metavar="FILE.json")
    sub.set_defaults(run=run, parser=sub)


def run(args):
    """Measure the cases in the order asked for; returns the exit code."""
    unknown = [name for name in args.cases if name not in CASES]
    if unknown:
        args.parser.error(f"no case {unknown[0]!r}; there are {', '.join(CASES)}")
    if args.threads < 1:
        args.parser.error(f"--threads must be at least 1, got {args.threads}")
    if args.out is not None and not os.access(args.out.parent, os.W_OK):
        args.parser.error(f"--out: cannot write to the folder {args.out.parent}")
    about = {**machine(), "blas_threads": args.threads, "small": args.small}
    print(", ".join(f"{key}: {value}" for key, value in about.items()), flush=True)
    rows = []
    for name in args.cases or CASES:
        print(f"measuring {name} ...", file=sys.stderr, flush=True)
        found = CASES[name](args)
        if args.small:  # the bars are for the sizes that they name
            found = [replace(row, met=None, bar="") for row in found]
        print(table(found), flush=True)
        rows += found
        if args.out is not None:  # whole after every case, in case of Ctrl-C
            _replace(args.out, {"machine": about, "rows": [vars(row) for row in rows]})
    return 0


def _replace(path, content):
    part = path.with_name(path.name + ".part")
    part.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    part.replace(path)
