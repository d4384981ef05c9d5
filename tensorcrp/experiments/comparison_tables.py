"""Tables of a comparison: in, rows of ``tensorcrp compare``; out, tables.

One table per data set and training size: methods down, best first, classifiers across,
then the number of features, the choice of settings and the times. Pure functions.
"""

import numpy as np

from tensorcrp.base.results import size_words
from tensorcrp.experiments.classifiers import OWN
from tensorcrp.experiments.methods import all_methods
from tensorcrp.experiments.smoothing import SMOOTH
from tensorcrp.experiments.summaries import seconds_of
from tensorcrp.experiments.tables import Score, Table, best_in_columns
from tensorcrp.experiments.vector_svms import vector_svms
from tensorcrp.files.scoring import is_near_chance


def tables_of(rows):
    """One table per data set and training size: methods down, classifiers across."""
    return [
        comparison(rows, data, train)
        for data in rows.data()
        for train in rows.sizes(data)
    ]


def comparison(rows, data, train):
    """Honest accuracies of all methods, best first, with times."""
    names = [name for name in rows.methods() if rows.cell(data, train, name)]
    classifiers = rows.classifiers(data, train)
    lines = [_line(rows, (data, train, name), classifiers) for name in names]
    lines.sort(key=lambda line: -max(s.mean for s in line if isinstance(s, Score)))
    header = ["method", *classifiers, "features", "setting", "fit ms", "transform ms"]
    places = tuple(range(1, 1 + len(classifiers)))
    return Table(
        _title(data, train, rows.cell(data, train, names[0])),
        header,
        lines,
        _note(lines, classifiers),
        best_in_columns(lines, places),
        optional=("transform ms", "setting", "features", "fit ms"),
        warning=failed_words(rows, data, train).strip(),
    )


def near_chance(rows, data, train):
    """Whether the best method could be a guess of the largest class."""
    cells = [rows.cell(data, train, name) for name in rows.methods()]
    some = next(cell for cell in cells if cell)
    if not all("majority" in row for row in some):
        return False
    means = [
        rows.score(data, train, name, classifier, "honest")
        for name in rows.methods()
        for classifier in rows.classifiers(data, train)
    ]
    scores = {
        "accuracy": max(each.mean for each in means if each is not None) / 100,
        "files": min(row["n_test"] for row in some),
        "majority": float(np.mean([row["majority"] / row["n_test"] for row in some])),
    }
    return is_near_chance(scores)


def near_chance_lines(rows):
    """For every data set and size at which nothing was learnt, what to try."""
    return [
        f"{data}, {size_words(train)}: every method is near chance. Try "
        "--motion difference (if a mode is time), more --frames, a larger --size, "
        "--color rgb or more --per-class; and check that samples of each class differ."
        for data in rows.data()
        for train in rows.sizes(data)
        if near_chance(rows, data, train)
    ]


def _line(rows, place, classifiers):
    """One method: scores, number of features, choice of settings, times."""
    cell = rows.cell(*place)
    scores = [rows.score(*place, j, "honest") for j in classifiers]
    fit, transform = seconds_of(cell)
    features = _span(row.get("features") for row in cell)
    known = all_methods().get(place[2])
    choice = "-" if known is None else known.choice
    scores = ["-" if score is None else score for score in scores]
    times = [f"{1e3 * fit:.0f}", f"{1e3 * transform:.1f}"]
    return [place[2], *scores, features, choice, *times]


def _title(data, train, cell):
    """What was compared: shape, classes, chance, the largest class, sizes, splits."""
    shape, c = "x".join(map(str, cell[0]["shape"])), cell[0]["n_classes"]
    size, kind = size_words(train), "random"
    if train == 0:
        size, kind = _span(row["n_train"] for row in cell), "given"
    words = f"{data}, {shape}, {c} classes: {size} to train, "
    words += f"{_span(row['n_test'] for row in cell)} to test, {len(cell)} {kind} "
    words += "split, " if len(cell) == 1 else "splits, "
    words += f"accuracy in % (chance {100 / c:.1f}"
    if all("majority" in row for row in cell):
        largest = np.mean([row["majority"] / row["n_test"] for row in cell])
        words += f", always the largest class {100 * largest:.1f}"
    return words + ")"


def failed_words(rows, data=None, train=None):
    """A warning on fits whose features are the same for every sample, or nothing."""
    found = rows.constant_lines(data, train)
    if not found:
        return ""
    return (
        " Failed fits (the same features for every training sample, whatever the "
        f"accuracy beside them): {'; '.join(found)}."
    )


def _note(lines, classifiers):
    own = {OWN: "own: the method's own predictions. "}
    words = "".join(own.get(name, "") for name in classifiers)
    themselves, notes = {"BilinearSVC", "CPLogistic", *vector_svms()}, ""
    if themselves & {line[0].removesuffix(SMOOTH) for line in lines}:
        notes = " BilinearSVC, CPLogistic and SVMs on vectors are classifiers "
        notes += "themselves, with one figure for both columns."
    return (
        f"Best first, by the larger of the means; * is best of its column. {words}"
        "Settings and the C of the SVM are chosen on training samples alone. fit: the "
        f"choice of settings included. transform: all test samples.{notes}"
    )


def _span(values):
    numbers = sorted({value for value in values if value is not None})
    if not numbers:
        return "-"
    return f"{numbers[0]}" if len(numbers) == 1 else f"{numbers[0]} to {numbers[-1]}"
