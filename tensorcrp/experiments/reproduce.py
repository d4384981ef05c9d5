"""``tensorcrp reproduce``: the paper's experiments beside its published numbers.

In: names of experiments, data sets found as `tensorcrp.datasets.fetch_dataset` finds
them. Out: rows in a folder (a second call goes on where the first was stopped), tables,
figures, a report, and with ``--page`` the page of the documentation.
"""

import sys
from pathlib import Path
from time import perf_counter

from tensorcrp._results import size_words
from tensorcrp.experiments import _figures, _paper_tables
from tensorcrp.experiments._compact import compact, expand
from tensorcrp.experiments._convergence import STARTS
from tensorcrp.experiments._data import VARIABLE, check_data, data_folder
from tensorcrp.experiments._engine import run_all
from tensorcrp.experiments._errors import check_names
from tensorcrp.experiments._judges import JUDGES
from tensorcrp.experiments._options import add_common, guarded
from tensorcrp.experiments._output import check_drawing, write_all
from tensorcrp.experiments._page import page
from tensorcrp.experiments._plans import EXPERIMENTS, FIGURE_SETS, plan
from tensorcrp.experiments._rows import Store, check_folder, write_whole
from tensorcrp.experiments._summaries import Rows

ANALYSIS, RESULTS = "analysis.md", "reproduction.jsonl"


def add_command(commands):
    """Add the command to the parser of ``tensorcrp``."""
    parser = commands.add_parser(
        "reproduce",
        help="the paper's experiments beside its published numbers",
        description="Run the paper's experiments; without names, all of them. Finished "
        "runs are kept in the folder and never computed again.",
    )
    names = ", ".join(EXPERIMENTS)
    parser.add_argument("experiment", nargs="*", metavar="EXPERIMENT", help=names)
    parser.add_argument(
        "--only", nargs="+", metavar="DATA", help="only these data sets"
    )
    parser.add_argument(
        "--data", metavar="FOLDER", help=f"folder of NAME.npz files (sets {VARIABLE})"
    )
    parser.add_argument(
        "--out", metavar="DIR", default="reproduction", help="folder of the results"
    )
    parser.add_argument(
        "--page", metavar="FILE", help="write the page, and its rows in results/ there"
    )
    add_common(parser)
    parser.set_defaults(run=run, error=parser.error)


@guarded
def run(args):
    """Run the command; returns the exit code."""
    with data_folder(args.data):
        return _run(args)


def _run(args):
    start = perf_counter()
    experiments = args.experiment or list(EXPERIMENTS)
    check_names("experiment", experiments, list(EXPERIMENTS))
    sets = {name for each in experiments for name in EXPERIMENTS[each][0]}
    check_names("data set of these experiments", args.only or [], sorted(sets))
    check_data([])
    folder = check_folder(args.out)
    if args.page is not None:
        check_folder(Path(args.page).parent / "results")
    check_drawing()
    runs = plan(experiments, args.only, args.seed)
    store = Store(folder / "rows.jsonl", report=_say)
    rows = Rows(run_all(runs, store, args.jobs))
    _show(experiments, rows, folder)
    if args.page is not None:
        write_page(args.page, rows.all)
    print(f"{len(runs)} runs; this took {perf_counter() - start:.0f} s")
    return 0


def _show(experiments, rows, folder):
    """Print the tables and write everything that is made of rows."""
    tables = [t for name in experiments for t in _paper_tables.TABLES[name](rows)]
    for table in tables:
        print(table.text())
    for data, train, names, reason in rows.skipped():
        print(f"skipped: {data}, {size_words(train)}, {names}: {reason}")
    worst, fits = _paper_tables.worst_step(rows)
    if fits:
        print(f"worst relative step of the objective in {fits} runs: {worst:.1e}")
    figures = figures_of(experiments, rows)
    write_all(folder, "tensorcrp reproduce", tables, rows, figures)
    print(f"rows, tables, figures and report.html are in {folder}")


def figures_of(experiments, rows):
    """Names and drawings of the paper's two figures."""
    figures = {}
    if "convergence" in experiments:
        for start, slug in STARTS.items():
            figures[f"convergence_{slug}"] = lambda s=start: _figures.climbing(rows, s)
    if "rank" in experiments:
        sets = [d for d in FIGURE_SETS if rows.cell(d, 3, "CRP k=1")]
        for judge in JUDGES:
            figures[f"rank_{judge}"] = lambda j=judge: _figures.over_ranks(
                rows, sets, _paper_tables.RANKS, j
            )
    return figures


def write_page(path, rows):
    """The page, and beside it ``results/`` with the rows behind it."""
    path = Path(path)
    results = path.parent / "results"
    write_whole(results / RESULTS, compact(rows))
    write_whole(path, page_from(results))


def page_from(results):
    """The page that the rows in a folder of results stand for."""
    rows = Rows(expand((results / RESULTS).read_text()))
    analysis = results / ANALYSIS
    return page(rows, analysis.read_text() if analysis.exists() else "")


def _say(sentence):
    print(sentence, file=sys.stderr)
