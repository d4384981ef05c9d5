"""What rows say: scores under every selection, for any cell of a table.

In: rows as `runs.execute` makes them. Out: `Score` and lists of them, or a data frame
(needs pandas) with a line per classifier. Pure functions; the selections are those of
`tensorcrp.base.results`.
"""

from collections import defaultdict

import numpy as np

from tensorcrp.base.results import chosen, selected, size_order, size_words
from tensorcrp.experiments.classifiers import CENTROID, COMPARED, OWN
from tensorcrp.experiments.tables import Score, printable

ORDER = (*COMPARED, CENTROID, OWN)
# Of the lines of a data frame.
FIELDS = ("data", "train", "split", "method")
MORE = ("n_classes", "n_train", "n_test", "features", "fit_seconds", "tune_seconds")


class ResultRows:
    """Rows in order, found by data set, training size and method."""

    def __init__(self, rows):
        self.all = list(rows)
        self._cells = defaultdict(list)
        for row in sorted(self.all, key=lambda row: row["split"]):
            if "classifiers" in row:
                self._cells[row["data"], row["train"], row["method"]].append(row)

    def cell(self, data, train, method):
        """Rows of all splits; none if the cell was not run or was skipped."""
        return self._cells.get((data, train, method), [])

    def score(self, data, train, method, classifier, selection):
        """Mean and deviation over the splits in %, or None."""
        rows = self.cell(data, train, method)
        return score(rows, classifier, selection) if rows else None

    def sizes(self, data):
        """Training sizes with results, numbers per class first."""
        found = {train for name, train, _ in self._cells if name == data}
        return sorted(found, key=size_order)

    def data(self):
        """Data sets with results, in the order of the rows."""
        return list(
            dict.fromkeys(row["data"] for row in self.all if "classifiers" in row)
        )

    def methods(self):
        """Methods with results, in the order of the rows."""
        return list(
            dict.fromkeys(row["method"] for row in self.all if "classifiers" in row)
        )

    def classifiers(self, data, train):
        """Classifiers with results there, in the order of the rows."""
        cells = [self.cell(data, train, name) for name in self.methods()]
        names = [name for cell in cells for row in cell for name in row["classifiers"]]
        return sorted(dict.fromkeys(names), key=ORDER.index)

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

    def constant(self, data=None, train=None):
        """(data, training size, method, runs, of how many) with useless features.

        Runs in which some setting gave every training sample the same features: the
        fit has failed, and its accuracy says nothing about the method.
        """
        lines = []
        for (name, size, method), cell in self._cells.items():
            failed = sum("constant" in row for row in cell)
            if failed and data in (None, name) and train in (None, size):
                lines.append((name, size, method, failed, len(cell)))
        return lines

    def constant_lines(self, data=None, train=None):
        """The same in words."""
        return [
            printable(f"{name}, {size_words(size)}, {method}: {failed} of {n} splits")
            for name, size, method, failed, n in self.constant(data, train)
        ]

    def skipped_lines(self):
        """The same in words."""
        return [
            printable(f"{data}, {size_words(train)}, {names}: {reason}")
            for data, train, names, reason in self.skipped()
        ]


def score(rows, classifier, selection):
    """Mean and deviation over splits in %, or None where nothing was chosen."""
    values = selected(rows, classifier, selection)
    if values is None:
        return None
    std = float(values.std(ddof=1)) if len(values) > 1 else None
    return Score(float(values.mean()), std)


def rated_by(rows):
    """The classifier that a method is rated by: its own predictions, or 1-NN."""
    own = bool(rows) and all(OWN in row["classifiers"] for row in rows)
    return OWN if own else "1-NN"


def mean_over(rows, cells, method, classifier, selection):
    """Mean of a method's means over several (data, train); None if one is missing."""
    scores = [rows.score(*cell, method, classifier, selection) for cell in cells]
    if not scores or any(each is None for each in scores):
        return None
    return Score(float(np.mean([each.mean for each in scores])))


def seconds_of(rows):
    """Median seconds of fit (choice of settings included) and of transform."""
    fit = [row["fit_seconds"] + row.get("tune_seconds", 0.0) for row in rows]
    return float(np.median(fit)), float(
        np.median([row["transform_seconds"] for row in rows])
    )


def rows_frame(rows):
    """A pandas DataFrame of the settings chosen on the training samples.

    Columns: data, train, split, method, classifier, accuracy (in %), setting, numbers
    of classes, samples and features, seconds, and the reason where a run was skipped.
    """
    try:
        import pandas
    except ImportError as error:
        raise ImportError(
            "as_frame=True needs pandas: pip install pandas, or take the rows."
        ) from error
    lines = [line for row in rows for line in _lines(row)]
    return pandas.DataFrame(lines)


def _lines(row):
    place = {name: row[name] for name in FIELDS}
    if "classifiers" not in row:
        return [{**place, "skipped": row.get("skipped", "")}]
    more = {name: row.get(name) for name in MORE}
    settings, lines = row["parameters"]["settings"], []
    for name in row["classifiers"]:
        accuracy = selected([row], name, "honest")
        if accuracy is not None:
            setting = settings[chosen([row], name, "honest")[0]]
            figures = {"accuracy": float(accuracy[0]), "setting": setting}
            lines.append({**place, "classifier": name, **figures, **more})
    return lines
