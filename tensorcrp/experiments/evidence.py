"""What many data sets say together: means, ranks and paired differences.

In: rows of ``tensorcrp compare``. Out: figures. Pure functions of rows.

The headline figure of a method is that of its own predictions where it makes any, and
of 1-NN on its features elsewhere ("1-NN or own"). Differences are paired: the same
splits of the same set. Their standard error on one set is over its splits; of a mean
over sets, over the sets.
"""

from dataclasses import dataclass

import numpy as np
from scipy.stats import rankdata

from tensorcrp.base.results import selected
from tensorcrp.experiments.summaries import rated_by, seconds_of
from tensorcrp.experiments.tables import Score

REFERENCE = "TensorCRPCV"
PART = f"{REFERENCE}, "  # how the names of its versions with a part switched off begin
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
        """Whether it is negative by more than one standard error, if there is one."""
        return self.mean < -np.nan_to_num(self.error)

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
        some split of some set come last.
    """

    def __init__(self, rows, train, classifier=HEADLINE):
        self.rows, self.train, self.classifier = rows, train, classifier
        self.sets = [name for name in rows.data() if train in rows.sizes(name)]
        self._found = {
            (data, method): accuracies_by_split(rows, data, train, method, classifier)
            for data in self.sets
            for method in rows.methods()
        }
        self._splits = dict.fromkeys(self.sets, 0)
        for (data, _), values in self._found.items():
            self._splits[data] = max(self._splits[data], len(values))
        known = [m for m in rows.methods() if any(self._found[d, m] for d in self.sets)]
        self.methods = sorted(known, key=lambda m: (self.holes(m) > 0, -self.mean(m)))

    def holes(self, method):
        """Number of sets with fewer splits than another method has, or without any."""
        return sum(
            len(self._found[data, method]) < self._splits[data] for data in self.sets
        )

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
        """Methods with results on every split of every set."""
        return [method for method in self.methods if not self.holes(method)]

    def ranks(self):
        """{method: mean rank over the sets}, 1 the best, of complete methods.

        The reference with a part switched off is no other method: it has no rank.
        """
        methods = [name for name in self.complete() if not name.startswith(PART)]
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
