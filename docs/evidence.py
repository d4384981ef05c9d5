"""Write what real sets say into the pages, from the rows of a comparison.

    TENSORCRP_DATA=FOLDER tensorcrp compare --preset real --out DIR
    tensorcrp compare --out DIR
    python docs/evidence.py DIR
    tensorcrp bench --out docs/results/bench.json
    python docs/evidence.py

In: ``DIR/rows.jsonl`` of either comparison. Out: ``docs/results/real.jsonl`` and
``main.jsonl`` (the rows, without settings
that were not chosen), and between two markers each a section of ``docs/performance.md``
and tables in the README; and the leaderboard in ``docs/_static``. The section on speed
is written from ``docs/results/bench.json``. Rows of DIR join
those that are there and replace those of the same run. Without DIR, the pages are
written again from the rows that are there. A test checks that the pages are what the
rows say.
"""

import json
import sys
from operator import itemgetter
from pathlib import Path
from time import perf_counter

from tensorcrp.base.results import parse_rows
from tensorcrp.experiments.bench.bench_page import bench_section, ratio_of
from tensorcrp.experiments.bench.bench_rows import Row
from tensorcrp.experiments.earlier_rows import compact, expand
from tensorcrp.experiments.evidence_page import (
    headline_table,
    main_command,
    section,
    slim,
    summary_section,
    with_section,
)
from tensorcrp.experiments.leaderboard import leaderboard
from tensorcrp.experiments.paper.page import HONEST, PAPERS, reached
from tensorcrp.experiments.store import TIMES
from tensorcrp.experiments.summaries import ResultRows

DOCS = Path(__file__).parent
ROWS = DOCS / "results" / "real.jsonl"
MAIN_ROWS = DOCS / "results" / "main.jsonl"
MAIN_SETS = ("digits", "moving_shapes")  # of the command without a preset
BOARD = DOCS / "_static" / "leaderboard.html"
PERFORMANCE, README = DOCS / "performance.md", DOCS.parent / "README.md"
BENCH = DOCS / "results" / "bench.json"
PAPER = DOCS / "results" / "reproduction.jsonl"
# The table of questions and answers: where answers are from, rows of the bench.
FROM_BENCH = "`tensorcrp bench`, [docs/performance.md](docs/performance.md)"
FROM_PAPER = "`tensorcrp reproduce`, [docs/reproduction.md](docs/reproduction.md)"
SPEED = {
    "literal Algorithm 1, the paper's largest set": ("paper", "literal"),
    "scikit-learn's LDA(svd), the same set": ("paper", "LDA(svd)"),
    "scikit-learn's LDA(svd), gait-like tensors": ("gait", "LDA(svd)"),
}
# Page: names of its markers, and what stands between them, from the rows of `ROWS`.
PAGES = {
    PERFORMANCE: {"real sets": section},
    DOCS / "index.md": {
        "headline": lambda rows: headline_table(
            rows, '<a href="_static/leaderboard.html">{}</a>'
        )
    },
    README: {
        "headline": lambda rows: headline_table(rows, "[{}](docs/performance.md)"),
        "real sets": summary_section,
    },
}


def page(path, rows):
    """A page as the rows have it."""
    text = path.read_text(encoding="utf-8")
    for name, write in PAGES[path].items():
        text = with_section(text, name, write(rows))
    if path == README:
        text = with_section(text, "main command", main_command(rows_there(MAIN_ROWS)))
        paper = ResultRows(rows_there(PAPER))
        text = with_section(text, "figures", questions(paper, bench()))
    if path == PERFORMANCE:
        text = with_section(text, "speed", bench_section(bench()))
    return text


def questions(rows, content):
    """The README's table of questions and answers.

    Parameters
    ----------
    rows : ResultRows
        Of the reproduction.
    content : dict
        ``{"machine", "minutes", "rows"}`` of the bench.

    Returns
    -------
    str
    """
    lines = ["| question | answer | from |", "|---|---|---|"]
    for name, column in (("CRP", PAPERS), ("TensorCRPCV", HONEST)):
        good, near, below = reached(rows, column)
        selection = column.rpartition(", ")[2]
        lines.append(
            f"| the paper's CRP figures by {name}, {selection} selection | {good} of "
            f"{good + near + len(below)} reached, {near} within a deviation, "
            f"{len(below)} below | {FROM_PAPER} |"
        )
    found = [Row(**row) for row in content["rows"]]
    version = content["machine"]["tensorcrp"]
    for words, place in SPEED.items():
        ratio = ratio_of(found, *place)
        if ratio is not None:
            answer = f"{ratio:.3g} times the time of TensorCRP (version {version})"
            lines.append(f"| {words} | {answer} | {FROM_BENCH} |")
    return "\n".join(lines)


def bench():
    """What the bench has measured."""
    return json.loads(BENCH.read_text(encoding="utf-8"))


def rows_there(path=ROWS):
    """The rows behind the pages."""
    return expand(path.read_text(encoding="utf-8")) if path.exists() else []


def joined(rows, more):
    """Rows with more rows, which replace those of the same run."""
    run = itemgetter("data", "train", "split", "method", "most")
    return list(({run(row): row for row in rows} | {run(r): r for r in more}).values())


if __name__ == "__main__":
    start = perf_counter()
    if len(sys.argv) > 1:
        more, _ = parse_rows((Path(sys.argv[1]) / "rows.jsonl").read_text("utf-8"))
        for path in (ROWS, MAIN_ROWS):
            mine = [r for r in more if (r["data"] in MAIN_SETS) == (path == MAIN_ROWS)]
            if mine:
                rows = joined(rows_there(path), [slim(row) for row in mine])
                path.write_text(compact(rows, times=TIMES), "utf-8")
    for path in PAGES:
        path.write_text(page(path, rows_there()), "utf-8")
    text = leaderboard(rows_there(), home="../index.html")
    BOARD.write_text(text, "utf-8")
    print(f"the pages were written in {perf_counter() - start:.0f} s")
