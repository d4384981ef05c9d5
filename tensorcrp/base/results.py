"""Rows of runs: how they are read, and which accuracy of a row is reported.

In: JSON Lines as ``tensorcrp compare --out`` writes them; a row counts right answers of
every classifier for every setting of a method. Out: rows, and accuracies in %.

*paper*: the one setting with the best mean accuracy on the test samples of all splits,
as "the best result is reported" has it. *honest*: in every split the setting with the
best cross-validation on its training samples; of equal ones the strongest ridge, or the
middle one where the row says so. *weakest*: the first setting, next to no ridge;
nothing is selected.
"""

import io
import json
from numbers import Integral, Real

import numpy as np

SELECTIONS = ("paper", "honest", "weakest")


def parse_rows(text, name="the rows", check=None):
    """Read rows, and report the unfinished line that an interrupted run leaves.

    Parameters
    ----------
    text : str
        JSON Lines.
    name : str
        What the text is called in errors.
    check : callable, default=None
        ``check(row)`` returns what else is wrong with a row, or None.

    Returns
    -------
    rows : list of dict
    unfinished : int
        Number of characters after the last end of a line.

    Raises
    ------
    ValueError
        If any complete line is not a row.
    """
    lines = io.StringIO(text, newline="\n").readlines()
    unfinished = len(lines.pop()) if lines and not lines[-1].endswith("\n") else 0
    rows = []
    for number, line in enumerate(lines, start=1):
        row = _parsed(line)
        wrong = row_defect(row) or (check and check(row))
        if wrong:
            raise ValueError(
                f"{name} is damaged in line {number} of {len(lines)}: {wrong}. No "
                "interrupted run leaves this behind. Fix or remove that line, or give "
                "another folder."
            )
        rows.append(row)
    return rows, unfinished


def _parsed(line):
    try:
        return current_names(json.loads(line))
    except (ValueError, RecursionError):
        return None


def current_names(row):
    """A row with today's names; until version 0.2, "classifiers" were "judges"."""
    if not isinstance(row, dict) or "judges" not in row:
        return row
    return {"classifiers" if k == "judges" else k: v for k, v in row.items()}


def row_defect(row):
    """What is wrong with a row, in words, or None."""
    if not isinstance(row, dict):
        return "it is not a JSON object"
    for field in ("key", "version"):
        if not isinstance(row.get(field), str):
            return f"its {field!r} is {row.get(field)!r} and not a string"
    return _outcome_defect(row) if "classifiers" in row else None


def _outcome_defect(row):
    """What is wrong with the counts of a run, or None."""
    kinds = {"data": str, "method": str, "train": Real, "split": Integral}
    for field, kind in {**kinds, "n_test": Integral}.items():
        if not isinstance(row.get(field), kind):
            return f"its {field!r} is {row.get(field)!r}"
    classifiers = row["classifiers"]
    if not isinstance(classifiers, dict) or not classifiers:
        return f"its 'classifiers' are {classifiers!r}"
    for name, counts in classifiers.items():
        right = counts.get("right") if isinstance(counts, dict) else None
        both = [right, counts.get("cv_right", right)] if right else [None]
        if not all(_is_counts(each, right) for each in both):
            return f"its counts of {name!r} are {counts!r}"
    return None


def _is_counts(values, like):
    """Whether these are as many numbers as `like` has, and at least one."""
    if not isinstance(values, list) or not isinstance(like, list) or not values:
        return False
    return len(values) == len(like) and all(isinstance(v, Integral) for v in values)


def accuracies(rows, classifier, selection="honest"):
    """Test accuracies (splits, settings) in %; None if a row has no such classifier.

    A classifier whose own parameter is tuned as the paper does has counts of its own
    for every selection but the honest one.
    """
    counts = [row["classifiers"].get(classifier) for row in rows]
    if None in counts:
        return None
    honest = selection == "honest"
    right = [c["right"] if honest else c.get("paper_right", c["right"]) for c in counts]
    return 100 * np.array(right, float) / np.array([[row["n_test"]] for row in rows])


def chosen(rows, classifier, selection):
    """Index of the setting that counts in each split."""
    values = accuracies(rows, classifier, selection)
    if values is None:
        return None
    if values.shape[1] == 1 or selection == "weakest":
        return np.zeros(len(values), int)
    if selection == "paper":
        return np.full(len(values), int(np.argmax(values.mean(axis=0))))
    if any("cv_right" not in row["classifiers"][classifier] for row in rows):
        return None
    cv = np.array([row["classifiers"][classifier]["cv_right"] for row in rows])
    ties = [row.get("ties", "strongest") for row in rows]
    return np.array([_best(*pair) for pair in zip(cv, ties, strict=True)])


def _best(counts, ties):
    """Index of the largest count; of several, the last or the (lower) middle one."""
    best = np.flatnonzero(counts == counts.max())
    return int(best[(len(best) - 1) // 2 if ties == "middle" else -1])


def selected(rows, classifier, selection):
    """Accuracies (splits,) that count, in %, or None where nothing was chosen."""
    index = chosen(rows, classifier, selection)
    if index is None:
        return None
    return accuracies(rows, classifier, selection)[np.arange(len(rows)), index]


def size_order(train):
    """Sorts training sizes: numbers per class first, then shares."""
    return isinstance(train, float), train


def size_words(train):
    """3 -> "3 per class", 0.8 -> "80 %", 0 -> "given splits"."""
    if train == 0:
        return "given splits"
    return f"{train} per class" if isinstance(train, int) else f"{100 * train:.0f} %"
