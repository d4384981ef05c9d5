"""Write what real sets say into the pages, from the rows of a comparison.

    TENSORCRP_DATA=FOLDER tensorcrp compare --preset real --out DIR
    python docs/evidence.py DIR

In: ``DIR/rows.jsonl``. Out: ``docs/results/real.jsonl`` (the rows, without settings
that were not chosen), and between two markers each a section of ``docs/performance.md``
and a summary in the README; and the leaderboard in ``docs/_static``. Without DIR, the
pages are written again from the rows that are there. A test checks that the pages are
what the rows say.
"""

import sys
from pathlib import Path

from tensorcrp.base.results import parse_rows
from tensorcrp.experiments.evidence_page import section, slim, summary, with_section
from tensorcrp.experiments.leaderboard import leaderboard
from tensorcrp.experiments.paper.compact import compact, expand

DOCS = Path(__file__).parent
ROWS = DOCS / "results" / "real.jsonl"
BOARD = DOCS / "_static" / "leaderboard.html"
# Page: name of its markers, and what stands between them.
PAGES = {
    DOCS / "performance.md": ("real sets", section),
    DOCS.parent / "README.md": ("real sets", summary),
}


def page(path, rows):
    """A page as the rows have it."""
    name, write = PAGES[path]
    return with_section(path.read_text(encoding="utf-8"), name, write(rows))


def rows_there():
    """The rows behind the pages."""
    return expand(ROWS.read_text(encoding="utf-8"))


if __name__ == "__main__":
    if len(sys.argv) > 1:
        rows, _ = parse_rows((Path(sys.argv[1]) / "rows.jsonl").read_text("utf-8"))
        ROWS.write_text(compact([slim(row) for row in rows], times=True), "utf-8")
    for path in PAGES:
        path.write_text(page(path, rows_there()), "utf-8")
    BOARD.write_text(leaderboard(rows_there()), "utf-8")
