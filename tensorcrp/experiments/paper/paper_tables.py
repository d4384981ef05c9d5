"""Tables of the paper's experiments by name: in, rows; out, tables. Pure functions.

Here are ranks, starts, sweeps and tensors; `classification_tables` has the accuracies
beside the printed ones.
"""

import numpy as np

from tensorcrp.base.results import size_words
from tensorcrp.experiments.classifiers import COMPARED
from tensorcrp.experiments.methods import library_methods
from tensorcrp.experiments.paper.classification_tables import (
    classification,
    or_dash,
    paper_figure,
    two_class,
)
from tensorcrp.experiments.paper.paper_methods import CLIMBS
from tensorcrp.experiments.paper.plans import FIGURE_SETS, TENSORS
from tensorcrp.experiments.paper.published import PAPER_STARTS
from tensorcrp.experiments.tables import Score, Table, best_in_columns, best_in_lines

RANKS = {1: "CRP k=1", 2: "CRP", 3: "CRP k=3", 4: "CRP k=4", 5: "CRP k=5"}


def rank(rows):
    """The paper's Fig. 2 as a table per classifier."""
    tables = []
    for classifier in COMPARED:
        lines = []
        for data in FIGURE_SETS:
            scores = [
                rows.score(data, 3, m, classifier, "paper") for m in RANKS.values()
            ]
            if all(scores):
                lines.append([data, *scores])
        title = (
            f"Accuracy in % over the rank k, 3 per class, {classifier}, paper selection"
        )
        header = ["data", *(f"k = {k}" for k in RANKS)]
        tables.append(Table(title, header, lines, "", best_in_lines(lines)))
    return [table for table in tables if table.body]


def initialization(rows):
    """The paper's initialisation table, and the library's start beside."""
    names = [*(f"CRP start {start}" for start in PAPER_STARTS), "CRP"]
    tables = []
    for classifier in COMPARED:
        lines = []
        for data in FIGURE_SETS:
            scores = [rows.score(data, 3, name, classifier, "paper") for name in names]
            theirs = [
                paper_figure("initialization", None, 3, data, s) for s in PAPER_STARTS
            ]
            if all(scores) and any(theirs):
                lines.append([data, "published", *theirs, "-"])
            if all(scores):
                lines.append([data, "paper", *scores])
        title = f"Starts, accuracy in %, 3 per class, {classifier}"
        header = ["data", "selection", *PAPER_STARTS, "lda (default)"]
        tables.append(Table(title, header, lines, optional=("1", "random")))
    return [table for table in tables if table.body]


def convergence(rows):
    """Sweeps to 99 % and 99.9 % of the objective after fifty, and the worst step."""
    lines = []
    for row in rows.all:
        if "to_99" in row:
            near, nearer = np.array(row["to_99"]), np.array(row["to_999"])
            shape = "x".join(map(str, row["shape"]))
            start = CLIMBS[row["method"]]
            counts = [_sweeps(near), _within(near), _sweeps(nearer), _within(nearer)]
            if row["curve"][-1] == 0:  # a start whose entries never vary: no climb
                counts = ["stays at 0", "-", "stays at 0", "-"]
            place = [row["data"], shape, start, str(row["features"])]
            lines.append([*place, f"{row['worst_step']:.1e}", *counts])
    lines.sort(key=lambda line: (line[2], line[0]))
    header = ["data", "shape", "start", "projections", "worst step"]
    header += ["sweeps to 99 %", "within ten", "sweeps to 99.9 %", "within ten"]
    table = Table(
        "Convergence: rank 2, 5 per class, reg 0.3, fifty sweeps",
        header,
        lines,
        "Sweeps: median and largest over the projections. Within ten: share of the "
        "projections. The worst step is the smallest relative change of the objective "
        "in any block update of any projection; negative would be a fall.",
        optional=("worst step", "projections", "shape", "within ten", "within ten"),
    )
    return [table] if lines else []


def tensors(rows):
    """Order 3 and up, and matrices of signals: all methods, honest selection."""
    tables = []
    for classifier in COMPARED:
        lines = []
        sets = [d for d in TENSORS if rows.cell(d, TENSORS[d], "TensorCRP")]
        for name, method in library_methods().items():
            scores = [
                rows.score(d, TENSORS[d], name, classifier, "honest") for d in sets
            ]
            if any(scores):
                whole = all(scores) and Score(np.mean([s.mean for s in scores]))
                cells = map(or_dash, [*scores, whole or None])
                lines.append([name, *cells, method.choice])
        header = [f"{data}, {size_words(TENSORS[data])}" for data in sets]
        title = f"Tensors, accuracy in %, {classifier}, honest selection"
        best = best_in_columns(lines, range(1, len(sets) + 2)) if lines else set()
        header = ["method", *header, "mean", "setting"]
        shown = ("setting", *header[1:-2])  # the mean is over all sets
        tables.append(Table(title, header, lines, "", best, optional=shown))
    return [table for table in tables if table.body]


def worst_of_all_steps(rows):
    """Smallest relative step of the objective in all CRP fits of all rows."""
    steps = [row["worst_step"] for row in rows.all if "worst_step" in row]
    return min(steps, default=None), len(steps)


TABLES = {
    "convergence": convergence,
    "rank": rank,
    "initialization": initialization,
    "classification": classification,
    "two-class": two_class,
    "tensors": tensors,
}


def _sweeps(counts):
    return f"{np.median(counts):.0f}, {counts.max()}"


def _within(counts):
    return f"{100 * np.mean(counts <= 10):.0f} %"
