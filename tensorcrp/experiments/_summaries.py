"""What rows say: scores under both selections, for any cell of a table.

In: rows as `_runs.execute` makes them. Out: `Score` and lists of them. Pure functions.

*paper*: the one setting with the best mean accuracy on the test samples of all splits,
as "the best result is reported" has it. *honest*: in every split the setting with the
best cross-validation on its training samples; of equal ones the strongest ridge.
*weakest*: the first setting, next to no ridge; nothing is selected.
"""

from collections import defaultdict

import numpy as np

from tensorcrp.experiments._tables import Score

SELECTIONS = ("paper", "honest", "weakest")


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
        return sorted(found, key=lambda train: (isinstance(train, float), train))

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


def accuracies(rows, judge):
    """Test accuracies (splits, settings) in %."""
    right = np.array([row["judges"][judge]["right"] for row in rows], float)
    return 100 * right / np.array([[row["n_test"]] for row in rows])


def chosen(rows, judge, selection):
    """Index of the setting that counts in each split."""
    values = accuracies(rows, judge)
    if values.shape[1] == 1 or selection == "weakest":
        return np.zeros(len(values), int)
    if selection == "paper":
        return np.full(len(values), int(np.argmax(values.mean(axis=0))))
    if any("cv_right" not in row["judges"][judge] for row in rows):
        return None
    cv = np.array([row["judges"][judge]["cv_right"] for row in rows])
    return cv.shape[1] - 1 - np.argmax(cv[:, ::-1], axis=1)


def score(rows, judge, selection):
    """Mean and deviation over splits in %, or None where nothing was chosen."""
    index = chosen(rows, judge, selection)
    if index is None:
        return None
    values = accuracies(rows, judge)[np.arange(len(rows)), index]
    std = float(values.std(ddof=1)) if len(values) > 1 else None
    return Score(float(values.mean()), std)


def mean_over(rows, cells, method, judge, selection):
    """Mean of a method's means over several (data, train); None if one is missing."""
    scores = [rows.score(*cell, method, judge, selection) for cell in cells]
    if not scores or any(each is None for each in scores):
        return None
    return Score(float(np.mean([each.mean for each in scores])))


def size_words(train):
    """3 -> "3 per class", 0.8 -> "80 %"."""
    return f"{train} per class" if isinstance(train, int) else f"{100 * train:.0f} %"
