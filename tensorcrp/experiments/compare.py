"""``tensorcrp compare``: every method on data sets of the user's choice.

In: names or paths of data sets. Out: a table per data set and classifier, and with
``--out`` rows, tables, figures and a report.
"""

import sys
from time import perf_counter

from tensorcrp._results import size_words
from tensorcrp.experiments._data import Skip, check_data, load
from tensorcrp.experiments._engine import run_all
from tensorcrp.experiments._errors import BadRequest
from tensorcrp.experiments._judges import JUDGES
from tensorcrp.experiments._methods import library_methods
from tensorcrp.experiments._options import (
    add_common,
    guarded,
    training_size,
    whole_number,
)
from tensorcrp.experiments._output import check_drawing, write_all
from tensorcrp.experiments._plans import compare_plan
from tensorcrp.experiments._rows import Store, check_folder
from tensorcrp.experiments._summaries import Rows
from tensorcrp.experiments._tables import Score, Table, best_in_columns
from tensorcrp.experiments._timing import seconds_of

DEFAULT_DATA = ("digits", "moving_shapes")


def add_command(commands):
    """Add the command to the parser of ``tensorcrp``."""
    parser = commands.add_parser(
        "compare",
        help="every method on your data, or on digits and a made video set",
        description="Fit TensorCRP, TensorCRPCV and every rival to a few training "
        "samples per class, and judge their features by 1-NN and a linear SVM on the "
        "remaining samples. Ridges are chosen on the training samples alone.",
    )
    parser.add_argument(
        "data",
        nargs="*",
        default=list(DEFAULT_DATA),
        metavar="DATA",
        help="a built-in name, or a file or folder that read_tensors takes",
    )
    parser.add_argument(
        "--per-class",
        nargs="+",
        type=training_size,
        default=[5, 10],
        metavar="N",
        help="training samples per class, or a share such as 80%%",
    )
    parser.add_argument("--repeats", type=whole_number(2), default=5, metavar="N")
    parser.add_argument("--out", metavar="DIR", help="keep rows, tables, figures here")
    add_common(parser)
    parser.set_defaults(run=run, error=parser.error)


@guarded
def run(args):
    """Run the command; returns the exit code."""
    start = perf_counter()
    check_data(args.data)
    folder = None if args.out is None else check_folder(args.out)
    if folder is not None:
        check_drawing()
    _check_usable(args.data)
    plan = compare_plan(args.data, args.per_class, args.repeats, args.seed)
    store = Store(folder and folder / "rows.jsonl", report=_say)
    rows = Rows(run_all(plan, store, args.jobs))
    tables = tables_of(rows)
    for table in tables:
        print(table.text())
    for data, train, methods, reason in rows.skipped():
        print(f"skipped: {data}, {size_words(train)}, {methods}: {reason}")
    if folder is not None:
        write_all(folder, "tensorcrp compare", tables, rows)
        print(f"rows, tables, figures and report.html are in {folder}")
    print(f"{len(plan)} runs in {perf_counter() - start:.0f} s")
    return 0


def _check_usable(names):
    """Refuse data that cannot be had, before any work."""
    for name in names:
        try:
            data = load(name)
        except Skip as skip:
            raise BadRequest(f"{name}: {skip}") from skip
        if data.n_classes < 2:
            raise BadRequest(f"{name} has one class; there is nothing to tell apart.")


def tables_of(rows):
    """One table per data set and training size: methods down, classifiers across."""
    return [
        comparison(rows, data, train)
        for data in rows.data()
        for train in rows.sizes(data)
    ]


def comparison(rows, data, train):
    """Honest accuracies of all methods, best first, with times."""
    methods = library_methods()
    lines = []
    for name, method in methods.items():
        cell = rows.cell(data, train, name)
        if cell:
            scores = [rows.score(data, train, name, j, "honest") for j in JUDGES]
            fit, transform = seconds_of(cell)
            features = _span(row.get("features") for row in cell)
            times = [f"{1e3 * fit:.0f}", f"{1e3 * transform:.1f}"]
            lines.append([name, *scores, features, method.choice, *times])
    lines.sort(key=lambda line: -max(s.mean for s in line if isinstance(s, Score)))
    cell = rows.cell(data, train, lines[0][0])
    shape = "x".join(map(str, cell[0]["shape"]))
    return Table(
        f"{data}, {shape}, {cell[0]['n_classes']} classes: {size_words(train)} to "
        f"train, {len(cell)} random splits, accuracy in %",
        ["method", *JUDGES, "features", "setting", "fit ms", "transform ms"],
        lines,
        "* is best. Settings are chosen on training samples alone. fit: the choice of "
        "settings included. transform: all test samples. BilinearSVC is a classifier "
        "itself. TwoDLDA is MultilinearLDA at order 2.",
        best_in_columns(lines, (1, 2)),
    )


def _span(values):
    numbers = sorted({value for value in values if value is not None})
    if not numbers:
        return "-"
    return f"{numbers[0]}" if len(numbers) == 1 else f"{numbers[0]} to {numbers[-1]}"


def _say(sentence):
    print(sentence, file=sys.stderr)
