"""What rows say: scores under every selection, for any cell of a table.

In: rows as `_runs.execute` makes them. Out: `Score` and lists of them. Pure functions;
the selections are those of `tensorcrp._results`.
"""

from collections import defaultdict

import numpy as np

from tensorcrp._results import selected, size_order
from tensorcrp.experiments._tables import Score


class Rows:
    """Rows in order, found by data set, training size and method."""

    def __init__(self, rows):
        self.all = list(rows)
        self._cells = defaultdict(list)
        for row in sorted(self.all, key=lambda row: row["split"]):
            if "judges" in row:
                self._cells[row["data"], row["train"], row["method"]].append(row)

    def cell(self, data, train, method):
        """Rows of all splits; none if the cell was not run or was skipped."""
        return self._cells.get((data, train, method), [])

    def score(self, data, train, method, judge, selection):
        """Mean and deviation over the splits in %, or None."""
        rows = self.cell(data, train, method)
        return score(rows, judge, selection) if rows else None

    def sizes(self, data):
        """Training sizes with results, numbers per class first."""
        found = {train for name, train, _ in self._cells if name == data}
        return sorted(found, key=size_order)

    def data(self):
        """Data sets with results, in the order of the rows."""
        return list(dict.fromkeys(row["data"] for row in self.all if "judges" in row))

    def skipped(self):
        """(data, training size, method or "all methods", reason) without repetition."""
        reasons = defaultdict(set)
        for row in self.all:
            if "skipped" in row:
                place = row["data"], row["train"], row["skipped"]
                reasons[place].add(row["method"])
        lines = []
        for (data, train, reason), methods in reasons.items():
            ran = any(self.cell(data, train, row["method"]) for row in self.all)
            names = ", ".join(sorted(methods)) if ran else "all methods"
            lines.append((data, train, names, reason))
        return lines


def score(rows, judge, selection):
    """Mean and deviation over splits in %, or None where nothing was chosen."""
    values = selected(rows, judge, selection)
    if values is None:
        return None
    std = float(values.std(ddof=1)) if len(values) > 1 else None
    return Score(float(values.mean()), std)


def mean_over(rows, cells, method, judge, selection):
    """Mean of a method's means over several (data, train); None if one is missing."""
    scores = [rows.score(*cell, method, judge, selection) for cell in cells]
    if not scores or any(each is None for each in scores):
        return None
    return Score(float(np.mean([each.mean for each in scores])))
