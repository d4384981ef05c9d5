"""Groups of files that stay together in every split.

In: files and a rule: the parent folder, a regular expression, a column of a CSV. Out:
one name per file.
"""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tensorcrp.base.targets import is_missing
from tensorcrp.base.types import AnyPath, Array


def file_groups(rule: str, files: Sequence[AnyPath]) -> Array:
    """Groups of files, such as the person or the recording that they show.

    Parameters
    ----------
    rule : str
        ``"parent"`` is the name of the folder that a file lies in, for files in
        ``folder/class/group/file``. ``"FILE.csv:COLUMN"`` is a column of a table whose
        column ``file`` has paths or names of files. Anything else is a regular
        expression that is searched in the path: the group is its first pair of
        parentheses, or all of it.
    files : list of paths
        Nothing is opened.

    Returns
    -------
    ndarray of str, shape (n,)
        The group of each file.

    Examples
    --------
    >>> from tensorcrp.files import file_groups
    >>> files = ["walk/anna_1.mp4", "walk/bo_1.mp4", "run/anna_2.mp4"]
    >>> file_groups(r"([a-z]+)_[0-9]", files).tolist()
    ['anna', 'bo', 'anna']
    """
    files = [os.fspath(path) for path in files]
    if rule == "parent":
        return np.array([Path(file).parent.name for file in files])
    table, _, column = rule.partition(".csv:")
    if rule.endswith(".csv") or column:
        path = rule if rule.endswith(".csv") else f"{table}.csv"
        return _from_table(path, column or "group", files)
    return _from_pattern(rule, files)


def check_groups(rule: object, names: Sequence[object], labels: Sequence[Any]) -> None:
    """Raise ValueError if a group is missing, or if groups cannot be told from classes.

    Parameters
    ----------
    rule : object
        What gave the groups, for the message.
    names, labels : sequences of length n
        Group and class of each sample.
    """
    gone = [i for i, name in enumerate(names) if is_missing(name) or name == ""]
    if gone:
        raise ValueError(
            f"groups {rule!r} has no value for {len(gone)} of {len(names)} samples, "
            f"first for number {gone[0]}, counted from 0: they could be of a person or "
            "recording that is on the other side of a split. Fill them in, or leave "
            "these samples out."
        )
    groups, numbers = np.unique(names, return_inverse=True)
    if len(groups) < 2:
        raise ValueError(
            f"groups {rule!r} puts all samples into one group, {str(groups[0])!r}: "
            "then none is left to test. Use groups such as people or recordings."
        )
    classes, codes = np.unique(labels, return_inverse=True)
    pairs = set(zip(numbers.tolist(), codes.tolist(), strict=True))
    if len(pairs) == len(groups) <= len(classes):
        raise ValueError(
            f"groups {rule!r} puts each class into a single group, such as "
            f"{groups[:3].tolist()}: then a class cannot be in training and test "
            "samples. Use groups of which each class has several, such as people or "
            "recordings."
        )


def check_apart(rule: str, train: Sequence[AnyPath], test: Sequence[AnyPath]) -> None:
    """Raise ValueError if training and test files share a group.

    Parameters
    ----------
    rule : str
        As in `file_groups`.
    train, test : lists of paths
        The files of both folders. A table may know the training files alone.
    """
    known = file_groups(rule, train)
    try:
        shared = np.intersect1d(known, file_groups(rule, test))
    except ValueError:
        return
    if len(shared):
        raise ValueError(
            f"groups {rule!r}: {len(shared)} of them, such as {str(shared[0])!r}, have "
            "training and test files, so the test would be on people or recordings "
            "that the model knows. Move the files, or put all of them into folders of "
            "classes, without train and test."
        )


def _from_pattern(rule, files):
    try:
        pattern = re.compile(rule)
    except re.error as error:
        raise ValueError(
            f"groups {rule!r} is not a regular expression ({error})."
        ) from error
    found = []
    for file in files:
        match = pattern.search(file)
        if match is None:
            raise ValueError(f"groups {rule!r} does not occur in {file}.")
        parts = match.groups() if pattern.groups else (match[0],)
        group = next((part for part in parts if part is not None), None)
        if group is None:
            raise ValueError(
                f"no group in parentheses of {rule!r} takes part in {file}."
            )
        found.append(group)
    return np.array(found)


def _from_table(path, column, files):
    rows = _rows(path)
    for name in ("file", column):
        if not rows or name not in rows[0]:
            there = ", ".join(rows[0]) if rows else "no rows"
            raise ValueError(
                f"groups {path!r} has no column {name!r}; it has {there}. A table "
                "needs a column 'file', with paths or names of files, and a column of "
                f"groups: 'group', or COLUMN in {path}:COLUMN."
            )
    known = {}
    for row in rows:
        file = os.path.normpath(row["file"])
        if known.setdefault(file, row[column]) != row[column]:
            raise ValueError(
                f"groups {path!r} has {file} twice, in {known[file]!r} and in "
                f"{row[column]!r}; give paths, such as CLASS/{os.path.basename(file)}."
            )
    return np.array([_looked_up(path, known, file) for file in files])


def _rows(path):
    try:
        with open(path, newline="", encoding="utf-8-sig") as opened:
            return list(csv.DictReader(opened))
    except FileNotFoundError as error:
        raise FileNotFoundError(
            f"groups {path!r}: there is no such table; check the path."
        ) from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise ValueError(
            f"groups {path!r} is no table of comma-separated text ({error}); save it "
            "as UTF-8."
        ) from error


def _looked_up(path, known, file):
    """By the path, or by as much of its end as the table gives."""
    parts = Path(os.path.normpath(file)).parts
    for start in range(len(parts)):
        group = known.get(os.path.join(*parts[start:]))
        if group is not None:
            return group
    raise ValueError(
        f"groups {path!r} has no row for {file}; add one, or leave the file out."
    )
