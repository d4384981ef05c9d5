"""The README's table of questions and answers, from rows.

In: rows of the reproduction, and the content of a file of ``tensorcrp bench``. Out:
Markdown, which ``docs/evidence.py`` writes between two markers of the README.
"""

from tensorcrp.experiments.bench.bench_page import ratio_of
from tensorcrp.experiments.bench.report import Row
from tensorcrp.experiments.paper.page import HONEST, PAPERS, reached

BENCH = "`tensorcrp bench`, [docs/performance.md](docs/performance.md)"
PAPER = "`tensorcrp reproduce`, [docs/reproduction.md](docs/reproduction.md)"
SPEED = {
    "literal Algorithm 1, the paper's largest set": ("paper", "literal"),
    "scikit-learn's LDA(svd), the same set": ("paper", "LDA(svd)"),
    "scikit-learn's LDA(svd), gait-like tensors": ("gait", "LDA(svd)"),
}


def questions(rows, content):
    """The table.

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
            f"{len(below)} below | {PAPER} |"
        )
    found = [Row(**row) for row in content["rows"]]
    version = content["machine"]["tensorcrp"]
    for words, place in SPEED.items():
        ratio = ratio_of(found, *place)
        if ratio is not None:
            answer = f"{ratio:.3g} times the time of TensorCRP (version {version})"
            lines.append(f"| {words} | {answer} | {BENCH} |")
    return "\n".join(lines)
