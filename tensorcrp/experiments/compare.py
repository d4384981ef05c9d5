"""``tensorcrp compare``: every method on data sets of the user's choice.

In: names or paths of data sets. Out: a table per data set and training size, and
with ``--out`` rows, tables, figures and a report.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from numbers import Real
from os import PathLike
from time import perf_counter
from typing import Any

from tensorcrp.base.types import AnyPath
from tensorcrp.experiments.comparison_tables import near_chance_lines, tables_of
from tensorcrp.experiments.data import check_data, data_folder, known_names, load_data
from tensorcrp.experiments.earlier_rows import beside_plan, earlier_rows, merged
from tensorcrp.experiments.errors import BadRequest
from tensorcrp.experiments.evidence import evidence_sizes
from tensorcrp.experiments.evidence_tables import summary_table
from tensorcrp.experiments.folder_cache import check_used, reading
from tensorcrp.experiments.leaderboard import leaderboard
from tensorcrp.experiments.methods import chosen_methods
from tensorcrp.experiments.options import (
    add_common,
    add_settings,
    given_settings,
    how_many,
    kept_runs,
    say,
    training_size,
    whole_number,
)
from tensorcrp.experiments.output import check_output, typed, write_all
from tensorcrp.experiments.presets import PRESETS, preset_plan, real_folder
from tensorcrp.experiments.random_splits import check_splits, splits_of, usual_sizes
from tensorcrp.experiments.runs import Run, run_all, run_defect
from tensorcrp.experiments.store import Store, write_whole
from tensorcrp.experiments.summaries import ResultRows, rows_frame
from tensorcrp.experiments.tables import texts, wrapped

DEFAULT_DATA = ("digits", "moving_shapes")


def add_command(commands):
    """Add the command to the parser of ``tensorcrp``."""
    parser = commands.add_parser(
        "compare",
        usage="tensorcrp compare [DATA ...] [options]; --help lists them",
        description="Fit TensorCRP, TensorCRPCV and every baseline to a few "
        "training samples per class, and classify the remaining samples by 1-NN and a "
        "linear SVM on their features. Ridges are chosen on training samples alone.",
    )
    parser.add_argument(
        "data",
        nargs="*",
        metavar="DATA",
        help="folder/class/file, folder/train and folder/test, a .npz, .mat, .h5, "
        f".zarr or .fif file, or a built-in name (default: {' '.join(DEFAULT_DATA)})",
    )
    parser.add_argument(
        "--preset",
        choices=list(PRESETS),
        help="real: every set in the data folder, 5, 10 and 20 per class, every method "
        "also after smoothing, TensorCRPCV in parts; other options change that",
    )
    parser.add_argument(
        "--per-class",
        nargs="+",
        type=training_size,
        metavar="N",
        help="training samples per class, or a share such as 80%% (default: 5 10, as "
        "far as classes allow)",
    )
    parser.add_argument(
        "--methods",
        nargs="+",
        metavar="METHOD",
        help="run only these, e.g. MPCA raw; module:Class adds a class of yours to "
        "them, or to all methods if no other is named",
    )
    parser.add_argument("--repeats", type=whole_number(2), default=5, metavar="N")
    parser.add_argument(
        "--max-test",
        type=whole_number(1),
        metavar="N",
        help="at most this many test samples, drawn once per split (default: all)",
    )
    parser.add_argument(
        "--groups",
        metavar="NAME",
        help="an array of the file, e.g. people; of a folder: parent, TABLE.csv:COLUMN "
        "or a regular expression on the path. Never on both sides of a split",
    )
    parser.add_argument(
        "--beside",
        metavar="ROWS",
        help="rows of an earlier comparison (rows.jsonl): run --methods alone, on its "
        "sets and splits, and show both",
    )
    parser.add_argument("--out", metavar="DIR", help="keep rows, tables, figures here")
    add_common(parser)
    add_settings(parser.add_argument_group("reading of files and folders"))
    parser.set_defaults(run=run, kept=kept_runs)


def run(args):
    """Run the command; returns the exit code: 1 if every run was skipped."""
    start = perf_counter()
    names = ("methods", "per_class", "repeats", "seed", "jobs", "out", "max_test")
    how = {name: getattr(args, name) for name in (*names, "preset", "groups", "beside")}
    with typed(args.command_line):
        rows = compare_methods(args.data or None, options=given_settings(args), **how)
    tables = printed_tables(ResultRows(rows), args.preset or args.beside)
    print(texts(tables))
    lines = [f"skipped: {line}" for line in ResultRows(rows).skipped_lines()]
    for line in (*near_chance_lines(ResultRows(rows)), *lines):
        print("\n".join(wrapped(line)))
    if args.out is not None:
        print(f"rows, tables, figures, report.html and leaderboard.html: {args.out}")
    print(f"{how_many(len(rows), 'run')} in {perf_counter() - start:.0f} s")
    if not tables:
        say("every run was skipped; there is nothing to compare.")
    return 0 if tables else 1


def compare_methods(
    data: Sequence[str] | None = None,
    *,
    methods: Sequence[str] | None = None,
    per_class: float | Sequence[float] | None = None,
    repeats: int = 5,
    seed: int = 0,
    jobs: int = 1,
    out: AnyPath | None = None,
    options: dict[str, Any] | None = None,
    max_test: int | None = None,
    preset: str | None = None,
    groups: str | None = None,
    beside: AnyPath | None = None,
    as_frame: bool = False,
) -> Any:
    """Fit methods to a few training samples, and classify the others.

    Parameters
    ----------
    data : sequence of str, default=None
        Names of built-in data sets, paths that `tensorcrp.datasets.read_tensors` takes,
        or MNE's epochs in ``.fif`` files; None for digits and synthetic clips, or the
        sets of `preset`. A folder with ``train/`` and ``test/`` is a split: the only
        one.
    methods : sequence of str, default=None
        Names of registered methods, or ``"MODULE:CLASS"``; None for all methods. See
        `register_method`.
    per_class : int, float or sequence of them, default=None
        Training samples per class, at least 3, or their share of all; None for 5 and
        10 as far as every class allows, or the sizes of `preset`.
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
    max_test : int, default=None
        At most this many test samples, drawn once per split; None for all.
    preset : {"real"}, default=None
        "real": every set in the folder that ``TENSORCRP_DATA`` names, 5, 10 and 20
        samples per class as far as the smallest class allows, at most 1,000 test
        samples, and more methods: each also after smoothing, and TensorCRPCV in parts.
    groups : str, default=None
        Name of an array of the file; samples with the same entry (a person, a
        recording) are never on both sides of a split, nor of a fold. Of a folder, a
        rule of `tensorcrp.files.file_groups`. Windows of one file are a group anyway.
    beside : path, default=None
        Rows of an earlier comparison (``rows.jsonl``). Only `methods` are run, on its
        sets, sizes and splits, or on those of them that `data` and `per_class` name,
        and the rows of both are returned.
    as_frame : bool, default=False
        Return a pandas DataFrame (needs pandas).

    Returns
    -------
    list of dict, or DataFrame
        One row per data set, training size, split and method, which
        `tensorcrp.plotting.ComparisonDisplay.from_rows` draws. The data frame has one
        row per classifier, too, with the accuracy in % of the settings that were chosen
        on the training samples.

    Examples
    --------
    >>> from tensorcrp.experiments import compare_methods
    >>> rows = compare_methods("digits", methods=["raw"], per_class=3, repeats=2)
    >>> [(row["method"], row["train"], row["split"]) for row in rows]
    [('raw', 3, 0), ('raw', 3, 1)]
    """
    with data_folder(str(real_folder()) if preset else None), reading(options):
        earlier = [] if beside is None else _earlier(beside, data, per_class)
        wanted = (data, per_class, methods, repeats, seed, max_test, groups or "")
        plan = _plan(preset, *wanted) if not earlier else _beside(earlier, methods)
        folder = None if out is None else check_output(out)
        store = Store(folder and folder / "rows.jsonl", say, run_defect)
        rows = merged(earlier, run_all(plan, store, jobs))
        if folder is not None:  # in here, what was decoded for the runs is still there
            _write(folder, rows, preset, beside)
    return rows_frame(rows) if as_frame else rows


def _write(folder, rows, preset, beside):
    """Everything that is made of rows."""
    tables = [
        *printed_tables(ResultRows(rows), preset or beside),
        *tables_of(ResultRows(rows)),
    ]
    tables = list({table.title: table for table in tables}.values())
    write_all(folder, "tensorcrp compare", tables, ResultRows(rows))
    page = leaderboard(rows, _command(preset, beside))
    write_whole(folder / "leaderboard.html", page)


def _earlier(path, data, sizes):
    """Rows of an earlier comparison, of the sets and sizes that are asked for."""
    names = None if data is None else list(map(str, _listed(data)))
    return earlier_rows(path, names, None if sizes is None else _listed(sizes))


def _beside(earlier, methods):
    """Runs of the given methods on the splits of earlier rows."""
    if not methods:
        raise BadRequest("--beside needs --methods: name the methods to add.")
    return beside_plan(earlier, chosen_methods(_listed(methods), default=()))


def _command(preset, beside=None):
    """The command that a reader repeats."""
    chosen = f" --preset {preset}" if preset else " DATA"
    if beside is not None:
        chosen = f" --beside {beside} --methods module:Class"
    return f"tensorcrp compare{chosen} --out DIR"


def _plan(preset, data, sizes, methods, repeats, seed, most, groups):
    """Runs, after a check of all that can be wrong with the request."""
    how = PRESETS[preset] if preset else None
    if data is None:
        data = how.data() if how else DEFAULT_DATA
    data = list(map(str, _listed(data)))
    names = chosen_methods(methods and _listed(methods), how and how.methods())
    check_data(data)
    check_used([name for name in data if name not in known_names()])
    if how is not None:
        sizes = _listed(sizes or how.sizes)
        wanted = sizes, repeats, seed, names, most or how.most, groups
        return preset_plan(data, *wanted)
    if sizes:
        sizes = _listed(sizes)
        check_splits(data, sizes, repeats, seed, groups)
    else:
        sizes = usual_sizes(data, repeats, seed, groups)
    return compare_plan(data, sizes, repeats, seed, names, most or 0, groups)


def _listed(value):
    """A sequence as a list; one value alone as a list of it."""
    single = isinstance(value, (str, PathLike, Real))
    return [value] if single else list(value)


def compare_plan(data, sizes, repeats, seed, methods, most=0, groups=""):
    """Runs of all methods on data sets, training sizes and splits."""
    plan = []
    for name in data:
        found = load_data(name, groups)
        places = product(*splits_of(found, sizes, repeats), methods)
        plan += [
            Run(
                *(name, found.checksum, train, split, seed, each),
                0,
                False,
                most,
                groups,
            )
            for train, split, each in places
        ]
    return plan


def printed_tables(rows, preset=None):
    """The tables of a terminal: of many sets, one per training size."""
    if preset is None:
        return tables_of(rows)
    return [summary_table(rows, train) for train in evidence_sizes(rows)]
