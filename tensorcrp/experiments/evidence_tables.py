"""Tables of what many data sets say together.

In: rows of ``tensorcrp compare``. Out: tables; chance and the largest class of each
set. The figures are those of `evidence.Evidence`.
"""

import numpy as np

from tensorcrp.base.results import size_words
from tensorcrp.experiments.evidence import (
    CHOSEN_ON,
    HEADLINE,
    PART,
    REFERENCE,
    Evidence,
)
from tensorcrp.experiments.tables import Score, Table, best_in_columns


def summary_table(rows, train, reference=REFERENCE):
    """One line per method: means, mean rank, difference of the reference to it."""
    first, svm = Evidence(rows, train), Evidence(rows, train, "SVM")
    ranks, n = first.ranks(), len(first.sets)
    lines = [_summary_line(first, svm, ranks, m, reference) for m in first.methods]
    halves, gaps = _halves(first.sets), ("gap", "losses")
    if reference not in first.methods:
        gaps, lines = (), [[*line[:3], *line[5:]] for line in lines]
    return Table(
        f"{size_words(train)}, {n} set{'s' * (n > 1)}, {_span_of_tests(first)} test "
        f"samples each: mean accuracy in % (chance {_mean_chance(first):.1f}, always "
        f"the largest class {_majority(first):.1f})",
        ["method", HEADLINE, "rank", *gaps, *halves, "SVM", "fit s"],
        lines,
        f"Best mean first. rank: mean rank over the sets by {HEADLINE}"
        f"{_words_of_parts(first)}. "
        f"{_words_of_gaps(reference) if gaps else ''}{_words_of_halves(halves)}"
        "fit s: median over sets.",
        best_in_columns(lines[: len(first.complete())], (1,)),
        optional=("fit s", *halves, "SVM"),
    )


def _summary_line(first, svm, ranks, method, reference):
    gap = first.mean_difference(reference, method) if reference in first.methods else ""
    lost = len(first.losses(reference, method)) if gap != "" else ""
    same = method == reference
    missing = first.holes(method)
    name = f"{method} ({missing} missing)" if missing else method
    halves = _halves(first.sets).values()
    by_half = [_figure(first.mean(method, sets)) for sets in halves]
    other = svm.mean(method) if method in svm.complete() else np.nan
    return [
        name,
        Score(first.mean(method)),
        f"{ranks[method]:.1f}" if method in ranks else "-",
        *(("", "") if same else (str(gap), str(lost))),
        *by_half,
        _figure(other),
        f"{first.seconds(method):.2f}",
    ]


def _figure(value):
    return "-" if np.isnan(value) else f"{value:.1f}"


def _halves(sets):
    """{"chosen on": sets, "held out": sets} where there are both."""
    mine = [name for name in sets if name in CHOSEN_ON]
    others = [name for name in sets if name not in CHOSEN_ON]
    return {"chosen on": mine, "held out": others} if mine and others else {}


def _words_of_parts(evidence):
    parts = any(method.startswith(PART) for method in evidence.methods)
    return f", of all but {REFERENCE} with a part switched off" if parts else ""


def _words_of_gaps(reference):
    return (
        f"gap: {reference} minus the method, mean over the sets ± its standard error. "
        f"losses: sets where {reference} is behind it by more than one standard error "
        "of the paired difference. "
    )


def _words_of_halves(halves):
    if not halves:
        return ""
    names = ", ".join(halves["chosen on"])
    return (
        "chosen on: mean of the sets on whose test samples, of other splits, defaults "
        f"were chosen ({names}). "
    )


def _mean_chance(evidence):
    return np.mean(
        [100 / _any_row(evidence, data)["n_classes"] for data in evidence.sets]
    )


def _span_of_tests(evidence):
    counts = [_any_row(evidence, data)["n_test"] for data in evidence.sets]
    low, high = min(counts), max(counts)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def _majority(evidence):
    rows = [_any_row(evidence, data) for data in evidence.sets]
    return np.mean([100 * row.get("majority", np.nan) / row["n_test"] for row in rows])


def _any_row(evidence, data):
    cells = [evidence.rows.cell(data, evidence.train, m) for m in evidence.methods]
    return next(cell for cell in cells if cell)[0]


def guessing(evidence):
    """{set: [chance in %, share of the largest class in %, test samples]}."""
    found = {data: _any_row(evidence, data) for data in evidence.sets}
    return {
        data: [*map(float, _guesses(row)), row["n_test"]] for data, row in found.items()
    }


def _guesses(row):
    """Chance and the largest class, in %; where rows do not know it, chance twice."""
    chance = 100 / row["n_classes"]
    known = "majority" in row
    return chance, 100 * row["majority"] / row["n_test"] if known else chance


def sets_table(rows, train, classifier=HEADLINE):
    """Accuracy of every method on every set, best mean first."""
    found = Evidence(rows, train, classifier)
    lines = []
    for method in found.methods:
        scores = [found.score(data, method) or "-" for data in found.sets]
        mean = "-" if found.holes(method) else Score(found.mean(method))
        lines.append([method, mean, *scores])
    about = [_any_row(found, data) for data in found.sets]
    extra = [
        ["chance", "", *(f"{100 / row['n_classes']:.1f}" for row in about)],
        ["largest class", "", *(_share(row) for row in about)],
        ["test samples", "", *(str(row["n_test"]) for row in about)],
    ]
    columns = tuple(range(1, 2 + len(found.sets)))
    return Table(
        f"{classifier}, {size_words(train)}, accuracy in %",
        ["method", "mean", *found.sets],
        [*lines, *extra],
        "Mean ± standard deviation over the splits; best mean first.",
        best_in_columns(lines, columns),
    )


def _share(row):
    return f"{100 * row['majority'] / row['n_test']:.1f}" if "majority" in row else "-"


def gaps_table(rows, train, reference=REFERENCE):
    """Paired differences of the reference to every other method, set by set."""
    found, lines = Evidence(rows, train), []
    for method in found.methods if reference in found.methods else []:
        if method != reference:
            gaps = [found.difference(d, reference, method) or "-" for d in found.sets]
            lines.append(
                [method, str(found.mean_difference(reference, method)), *map(str, gaps)]
            )
    return Table(
        f"{reference} minus the method, {HEADLINE}, {size_words(train)}, in points",
        ["method", "mean", *found.sets],
        lines,
        "Mean ± standard error of the paired differences over the splits.",
    )
