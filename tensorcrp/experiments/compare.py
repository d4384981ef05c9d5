"""``tensorcrp compare``: every method on data sets of the user's choice.

In: names or paths of data sets. Out: a table per data set and classifier, and with
``--out`` rows, tables, figures and a report.
"""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from os import PathLike
from time import perf_counter
from typing import Any

from tensorcrp.base.results import size_words
from tensorcrp.base.types import AnyPath
from tensorcrp.experiments.classifiers import CLASSIFIERS
from tensorcrp.experiments.data import check_data, check_splits, load
from tensorcrp.experiments.engine import run_all
from tensorcrp.experiments.folder_cache import reading
from tensorcrp.experiments.methods import all_methods, chosen_methods
from tensorcrp.experiments.options import (
    add_common,
    add_settings,
    given_settings,
    kept_runs,
    say,
    training_size,
    whole_number,
)
from tensorcrp.experiments.output import check_output, write_all
from tensorcrp.experiments.runs import Run, row_defect
from tensorcrp.experiments.store import Store
from tensorcrp.experiments.summaries import Rows, seconds_of
from tensorcrp.experiments.tables import Score, Table, best_in_columns

DEFAULT_DATA = ("digits", "moving_shapes")


def add_command(commands):
    """Add the command to the parser of ``tensorcrp``."""
    parser = commands.add_parser(
        "compare",
        description="Fit TensorCRP, TensorCRPCV and every baseline to a few "
        "training samples per class, and classify the remaining samples by 1-NN and a "
        "linear SVM on their features. Ridges are chosen on training samples alone.",
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
    parser.add_argument(
        "--methods",
        nargs="+",
        metavar="METHOD",
        help="only these (MPCA raw), or a class of yours beside all (module:Class)",
    )
    parser.add_argument("--repeats", type=whole_number(2), default=5, metavar="N")
    parser.add_argument("--out", metavar="DIR", help="keep rows, tables, figures here")
    add_common(parser)
    add_settings(parser.add_argument_group("reading of files and folders"))
    parser.set_defaults(run=run, error=parser.error, kept=kept_runs)


def run(args):
    """Run the command; returns the exit code: 1 if every run was skipped."""
    start = perf_counter()
    rows = compare_methods(
        args.data,
        methods=args.methods,
        per_class=args.per_class,
        repeats=args.repeats,
        seed=args.seed,
        jobs=args.jobs,
        out=args.out,
        options=given_settings(args),
    )
    tables = tables_of(Rows(rows))
    for table in tables:
        print(table.text())
    for line in Rows(rows).skipped_lines():
        print(f"skipped: {line}")
    if args.out is not None:
        print(f"rows, tables, figures and report.html are in {args.out}")
    print(f"{len(rows)} runs in {perf_counter() - start:.0f} s")
    if not tables:
        say("every run was skipped; there is nothing to compare.")
    return 0 if tables else 1


def compare_methods(
    data: Sequence[str] = DEFAULT_DATA,
    *,
    methods: Sequence[str] | None = None,
    per_class: Sequence[float] = (5, 10),
    repeats: int = 5,
    seed: int = 0,
    jobs: int = 1,
    out: AnyPath | None = None,
    options: dict[str, Any] | None = None,
) -> list[dict[str, Any]]:
    """Fit methods to a few training samples, and classify the others.

    Parameters
    ----------
    data : sequence of str, default=("digits", "moving_shapes")
        Names of built-in data sets, or paths that `tensorcrp.datasets.read_tensors`
        takes.
    methods : sequence of str, default=None
        Names of registered methods, or ``"MODULE:CLASS"``; None for all methods. See
        `register_method`.
    per_class : sequence of int or float, default=(5, 10)
        Training samples per class, at least 3, or their share of all.
    repeats : int, default=5
        Number of random splits.
    seed : int, default=0
        Of the splits.
    jobs : int, default=1
        Number of processes.
    out : path, default=None
        Folder for rows, tables, figures and a report; finished rows that are in it
        already are used again.
    options : dict, default=None
        How files and folders are read, as in `tensorcrp.datasets.read_tensors`, and
        "motion", as in `tensorcrp.preprocessing.Motion`. Folders are decoded once.

    Returns
    -------
    list of dict
        One row per data set, training size, split and method, which
        `tensorcrp.plotting.ComparisonDisplay.from_rows` draws.

    Examples
    --------
    >>> from tensorcrp.experiments import compare_methods
    >>> rows = compare_methods("digits", methods=["raw"], per_class=3, repeats=2)
    >>> [(row["method"], row["train"], row["split"]) for row in rows]
    [('raw', 3, 0), ('raw', 3, 1)]
    """
    data, per_class = list(map(str, _listed(data))), _listed(per_class)
    names = chosen_methods(methods and _listed(methods))
    check_data(data)
    folder = None if out is None else check_output(out)
    with reading(options):
        check_splits(data, per_class, repeats, seed)
        plan = compare_plan(data, per_class, repeats, seed, names)
        store = Store(folder and folder / "rows.jsonl", say, row_defect)
        rows = run_all(plan, store, jobs)
    if folder is not None:
        write_all(folder, "tensorcrp compare", tables_of(Rows(rows)), Rows(rows))
    return rows


def _listed(value):
    """A sequence as a list; one value alone as a list of it."""
    single = isinstance(value, (str, PathLike, Real))
    return [value] if single else list(value)


def compare_plan(data, sizes, repeats, seed, methods):
    """Runs of all methods on data sets, training sizes and splits."""
    return [
        Run(name, load(name).checksum, train, split, seed, method)
        for name in data
        for train in sizes
        for split in range(repeats)
        for method in methods
    ]


def tables_of(rows):
    """One table per data set and training size: methods down, classifiers across."""
    return [
        comparison(rows, data, train)
        for data in rows.data()
        for train in rows.sizes(data)
    ]


def comparison(rows, data, train):
    """Honest accuracies of all methods, best first, with times."""
    choices = {name: each.choice for name, each in all_methods().items()}
    lines = []
    for name in rows.methods():
        cell = rows.cell(data, train, name)
        if cell:
            scores = [rows.score(data, train, name, j, "honest") for j in CLASSIFIERS]
            fit, transform = seconds_of(cell)
            features = _span(row.get("features") for row in cell)
            times = [f"{1e3 * fit:.0f}", f"{1e3 * transform:.1f}"]
            lines.append([name, *scores, features, choices[name], *times])
    lines.sort(key=lambda line: -max(s.mean for s in line if isinstance(s, Score)))
    cell = rows.cell(data, train, lines[0][0])
    shape = "x".join(map(str, cell[0]["shape"]))
    return Table(
        f"{data}, {shape}, {cell[0]['n_classes']} classes: {size_words(train)} to "
        f"train, {len(cell)} random splits, accuracy in %",
        ["method", *CLASSIFIERS, "features", "setting", "fit ms", "transform ms"],
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
