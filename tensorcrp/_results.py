"""Rows of runs: how they are read, and which of its accuracies a row stands for.

In: JSON Lines as ``tensorcrp compare --out`` writes them; a row counts right answers of
every classifier for every setting of a method. Out: rows, and accuracies in %.

*paper*: the one setting with the best mean accuracy on the test samples of all splits,
as "the best result is reported" has it. *honest*: in every split the setting with the
best cross-validation on its training samples; of equal ones the strongest ridge.
*weakest*: the first setting, next to no ridge; nothing is selected.
"""

import json

import numpy as np

SELECTIONS = ("paper", "honest", "weakest")


def parse_rows(text, name="the rows"):
    """Rows of a text, and how many characters at its end are no whole row."""
    lines = text.splitlines(keepends=True)
    rows = []
    for number, line in enumerate(lines, start=1):
        row = _parsed(line)
        if row is not None:
            rows.append(row)
        elif number == len(lines):
            return rows, len(line)
        else:
            raise ValueError(
                f"{name} is damaged in line {number} of {len(lines)}, which no "
                "interrupted run leaves behind. Mend or remove that line, or give "
                "another folder."
            )
    return rows, 0


def _parsed(line):
    try:
        row = json.loads(line)
    except ValueError:
        return None
    whole = isinstance(row, dict) and {"key", "version"} <= set(row)
    return row if whole and line.endswith("\n") else None


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


def selected(rows, judge, selection):
    """Accuracies (splits,) that count, in %, or None where nothing was chosen."""
    index = chosen(rows, judge, selection)
    if index is None:
        return None
    return accuracies(rows, judge)[np.arange(len(rows)), index]


def size_order(train):
    """Sorts training sizes: numbers per class first, then shares."""
    return isinstance(train, float), train


def size_words(train):
    """3 -> "3 per class", 0.8 -> "80 %"."""
    return f"{train} per class" if isinstance(train, int) else f"{100 * train:.0f} %"
