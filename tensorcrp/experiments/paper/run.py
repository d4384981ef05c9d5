"""``tensorcrp reproduce``: the paper's experiments beside its published numbers.

In: names of experiments, data sets found as `tensorcrp.datasets.fetch_dataset` finds
them. Out: rows in a folder (a second call goes on where the first was stopped), tables,
figures, a report, and with ``--page`` the page of the documentation.
"""

from collections import Counter
from pathlib import Path
from time import perf_counter

from tensorcrp.base.results import size_words
from tensorcrp.experiments.classifiers import COMPARED
from tensorcrp.experiments.data import VARIABLE, check_data, data_folder
from tensorcrp.experiments.earlier_rows import by_cell, compact, expand
from tensorcrp.experiments.errors import BadRequest, check_names
from tensorcrp.experiments.figures import climbing, over_ranks
from tensorcrp.experiments.options import (
    add_common,
    kept_runs,
    say,
    training_size,
    whole_number,
)
from tensorcrp.experiments.output import check_output, typed, write_all
from tensorcrp.experiments.paper import paper_tables
from tensorcrp.experiments.paper.page import reproduction_page
from tensorcrp.experiments.paper.paper_methods import CLIMBS
from tensorcrp.experiments.paper.plans import (
    EXPERIMENTS,
    FIGURE_SETS,
    part_of,
    plan,
    sets_of,
)
from tensorcrp.experiments.protocol_page import protocol_page, protocol_tables
from tensorcrp.experiments.protocols import PROTOCOL_EXPERIMENTS
from tensorcrp.experiments.runs import run_all, run_defect
from tensorcrp.experiments.store import CPU, Store, check_file, write_whole
from tensorcrp.experiments.summaries import ResultRows
from tensorcrp.experiments.tables import texts, wrapped

ANALYSIS, RESULTS = "analysis.md", "reproduction.jsonl"
PROTOCOL_RESULTS = "protocols.jsonl"


def add_command(commands):
    """Add the command to the parser of ``tensorcrp``."""
    parser = commands.add_parser(
        "reproduce",
        description="Run the paper's experiments (without names, all of them), or "
        "published protocols of other authors beside published numbers. Finished "
        "runs are kept in the folder and never computed again.",
    )
    names = f"of the paper: {', '.join(EXPERIMENTS)}; published protocols, only where "
    names += f"named: {', '.join(PROTOCOL_EXPERIMENTS)}"
    parser.add_argument("experiment", nargs="*", metavar="EXPERIMENT", help=names)
    parser.add_argument(
        "--only", nargs="+", metavar="DATA", help="only these data sets"
    )
    parser.add_argument(
        "--methods", nargs="+", metavar="METHOD", help="run only these methods now"
    )
    parser.add_argument(
        "--per-class",
        nargs="+",
        type=training_size,
        metavar="N",
        help="run only these training sizes now: samples per class, or a share such as "
        "80%%",
    )
    parser.add_argument(
        "--splits",
        type=whole_number(1),
        metavar="N",
        help="run only the first N splits now (default: all of the protocol)",
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
    parser.set_defaults(run=run, kept=kept_runs)


def run(args):
    """Run the command; returns the exit code."""
    with data_folder(args.data), typed(args.command_line):
        return _run(args)


def _run(args):
    start = perf_counter()
    experiments = args.experiment or list(EXPERIMENTS)
    check_names("experiment", experiments, [*EXPERIMENTS, *PROTOCOL_EXPERIMENTS])
    sets = {name for each in experiments for name in sets_of(each)}
    check_names("data set of these experiments", args.only or [], sorted(sets))
    check_data([])
    if args.page is not None:
        check_page(args.page, experiments)
    folder = check_output(args.out)
    whole = plan(experiments, args.only, args.seed)
    there = [run for run in whole if run.checksum]
    if there:  # rows of all other sets say why these cannot be run
        known = list(dict.fromkeys(run.method for run in there))
        check_names("method of these experiments", args.methods or [], known)
        _check_sizes(args.per_class or [], there)
    runs = part_of(whole, args.methods, args.splits, args.per_class)
    store = Store(folder / "rows.jsonl", say, run_defect)
    run_all(runs, store, args.jobs)
    # What an earlier call has run of the same experiments is shown, too.
    rows = ResultRows([store.rows[r.key] for r in whole if r.key in store])
    if args.page is not None:
        write_page(args.page, rows.all, of_protocols(experiments), whole)
    _show(experiments, rows, folder)
    print(f"{len(runs)} runs; this took {perf_counter() - start:.0f} s")
    return 0


def _check_sizes(wanted, runs):
    """Reject training sizes that no run has."""
    known = {run.train: size_words(run.train) for run in runs}
    for size in wanted:
        if size not in known:
            number = size_words(size).removesuffix(" per class")
            raise BadRequest(
                f"--per-class {number}: these experiments have no such training size, "
                f"but {', '.join(known.values())}."
            )


def of_protocols(experiments):
    """Whether these are published protocols; the paper's have another page."""
    found = {name in PROTOCOL_EXPERIMENTS for name in experiments}
    if len(found) > 1:
        raise BadRequest(
            "--page is for the paper's experiments or for published protocols, not for "
            f"both: {', '.join(experiments)}. Write one page at a time."
        )
    return found.pop()


def _show(experiments, rows, folder):
    """Write everything that is made of rows, then print the tables."""
    tables = [table for name in experiments for table in _tables(name, rows)]
    figures = figures_of(experiments, rows)
    write_all(folder, "tensorcrp reproduce", tables, rows, figures)
    print(texts(tables))
    for line in rows.skipped_lines():
        print("\n".join(wrapped(f"skipped: {line}")))
    worst, fits = paper_tables.worst_of_all_steps(rows)
    if fits:
        print(f"worst relative step of the objective in {fits} runs: {worst:.1e}")
    print(f"rows, tables, figures and report.html are in {folder}")


def _tables(name, rows):
    if name in PROTOCOL_EXPERIMENTS:
        return protocol_tables(name, rows)
    return paper_tables.TABLES[name](rows)


def figures_of(experiments, rows):
    """Names and drawings of the paper's two figures."""
    figures = {}
    if "convergence" in experiments:
        for start, slug in CLIMBS.items():
            figures[f"convergence_{slug}"] = lambda s=start: climbing(rows, s)
    if "rank" in experiments:
        sets = [d for d in FIGURE_SETS if rows.cell(d, 3, "CRP k=1")]
        for classifier in COMPARED:
            figures[f"rank_{classifier}"] = lambda j=classifier: over_ranks(
                rows, sets, paper_tables.RANKS, j
            )
    return figures


def check_page(path, experiments):
    """Reject a path that the page and the rows beside it cannot be written to."""
    name = PROTOCOL_RESULTS if of_protocols(experiments) else RESULTS
    if not str(path).endswith(".md"):
        raise BadRequest(f"--page {path} is a page in Markdown: name a file in .md.")
    check_file(path, "--page")
    check_file(Path(path).parent / "results" / name, "--page")


def write_page(path, rows, protocols=False, plan=()):
    """The page, and beside it ``results/`` with the rows behind it.

    What has not been run wholly keeps the rows that the page has now, which may be of
    an earlier version; the page says so.
    """
    path = Path(path)
    results = path.parent / "results"
    name = PROTOCOL_RESULTS if protocols else RESULTS
    if (results / name).exists():
        wanted = Counter((run.data, run.train, run.method) for run in plan)
        rows = by_cell(expand((results / name).read_text()), rows, wanted)
    write_whole(results / name, compact(rows, times=[CPU]))
    write_whole(path, protocols_from(results) if protocols else page_from(results))


def page_from(results):
    """The page of the paper's experiments that the rows in a folder of results give."""
    rows = ResultRows(expand((results / RESULTS).read_text()))
    analysis = results / ANALYSIS
    return reproduction_page(rows, analysis.read_text() if analysis.exists() else "")


def protocols_from(results):
    """The same of published protocols."""
    return protocol_page(ResultRows(expand((results / PROTOCOL_RESULTS).read_text())))
