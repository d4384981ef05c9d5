"""What many data sets say together: means, ranks and paired differences.

In: rows of ``tensorcrp compare``. Out: tables. Pure functions of rows.

The headline figure of a method is that of its own predictions where it makes any, and
of 1-NN on its features elsewhere ("1-NN or own"). Differences are paired: the same
splits of the same set. Their standard error on one set is over its splits; of a mean
over sets, over the sets.
"""

from dataclasses import dataclass

import numpy as np
from scipy.stats import rankdata

from tensorcrp.base.results import selected, size_words
from tensorcrp.experiments.summaries import rated_by, seconds_of
from tensorcrp.experiments.tables import Score, Table, best_in_columns

REFERENCE = "TensorCRPCV"
HEADLINE = "1-NN or own"
# Defaults were chosen on these, every second set in the order of their names, by the
# accuracy on test samples of other splits (tests/measure_averages.py).
CHOSEN_ON = ("binalpha", "coil20", "gait_usf", "mnist5k", "umist", "weizmann")


@dataclass(frozen=True)
class Difference:
    """A mean difference in points, and its standard error."""

    mean: float
    error: float

    @classmethod
    def of(cls, values):
        """Of paired differences."""
        n = len(values)
        error = float(np.std(values, ddof=1) / np.sqrt(n)) if n > 1 else np.nan
        return cls(float(np.mean(values)), error)

    @property
    def is_loss(self):
        """Whether it is negative by more than one standard error."""
        return self.mean < -self.error

    def __str__(self):
        error = "" if np.isnan(self.error) else f" ± {self.error:.1f}"
        return f"{self.mean:+.1f}{error}"


def accuracies_by_split(rows, data, train, method, classifier=HEADLINE):
    """{split: accuracy in %} under honest selection; empty if there is none."""
    cell = rows.cell(data, train, method)
    if classifier == HEADLINE:
        classifier = rated_by(cell)
    values = selected(cell, classifier, "honest") if cell else None
    if values is None:
        return {}
    return {row["split"]: float(v) for row, v in zip(cell, values, strict=True)}


class Evidence:
    """Accuracies of all methods on all sets, at one training size.

    Attributes
    ----------
    sets, methods : list of str
        Sets with results, and methods, the best mean first; those without results on
        some set come last.
    """

    def __init__(self, rows, train, classifier=HEADLINE):
        self.rows, self.train, self.classifier = rows, train, classifier
        self.sets = [name for name in rows.data() if train in rows.sizes(name)]
        self._found = {
            (data, method): accuracies_by_split(rows, data, train, method, classifier)
            for data in self.sets
            for method in rows.methods()
        }
        known = [m for m in rows.methods() if any(self._found[d, m] for d in self.sets)]
        self.methods = sorted(known, key=lambda m: (self.holes(m) > 0, -self.mean(m)))

    def holes(self, method):
        """Number of sets without a result."""
        return sum(not self._found[data, method] for data in self.sets)

    def score(self, data, method):
        """Mean and deviation over splits, or None."""
        values = list(self._found[data, method].values())
        if not values:
            return None
        return Score(np.mean(values), np.std(values, ddof=1) if values[1:] else None)

    def mean(self, method, sets=None):
        """Mean of the means of the sets that have results; NaN if none has."""
        scores = [self.score(d, method) for d in (self.sets if sets is None else sets)]
        means = [score.mean for score in scores if score is not None]
        return float(np.mean(means)) if means else np.nan

    def complete(self):
        """Methods with results on every set."""
        return [method for method in self.methods if not self.holes(method)]

    def ranks(self):
        """{method: mean rank over the sets}, 1 the best, of complete methods."""
        methods = self.complete()
        if not methods:
            return {}
        means = [[self.score(d, m).mean for m in methods] for d in self.sets]
        ranks = rankdata(-np.round(means, 9), axis=1).mean(axis=0)
        return dict(zip(methods, map(float, ranks), strict=True))

    def difference(self, data, first, second):
        """Of two methods on one set, first minus second; None if not paired."""
        a, b = self._found[data, first], self._found[data, second]
        both = sorted(a.keys() & b.keys())
        return Difference.of([a[i] - b[i] for i in both]) if both else None

    def mean_difference(self, first, second):
        """Over the sets; None if there is none."""
        found = [self.difference(data, first, second) for data in self.sets]
        found = [each.mean for each in found if each is not None]
        return Difference.of(found) if found else None

    def losses(self, first, second):
        """Sets where the first is behind by more than one standard error."""
        found = {data: self.difference(data, first, second) for data in self.sets}
        return [data for data, each in found.items() if each and each.is_loss]

    def seconds(self, method):
        """Median over the sets of the seconds of a fit, the choice included."""
        cells = [self.rows.cell(d, self.train, method) for d in self.sets]
        return float(np.median([seconds_of(cell)[0] for cell in cells if cell]))


def evidence_sizes(rows):
    """Training sizes, in order."""
    sizes = {size for data in rows.data() for size in rows.sizes(data)}
    return sorted(sizes, key=lambda size: (isinstance(size, float), size))


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
        f"Best mean first. rank: mean rank over the sets by {HEADLINE}. "
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
    other = svm.mean(method) if method in svm.methods else np.nan
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
