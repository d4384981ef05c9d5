"""From rows of an experiment to a table of methods over data sets.

In: rows, as a file of JSON Lines, dictionaries, or a data frame; either those that
``tensorcrp compare --out DIR`` writes, or any with a data set, a method and a score.
Out: scores of all splits, {(data set, method): array}, and their means and deviations.
"""

import json
from os import PathLike
from pathlib import Path

import numpy as np

from tensorcrp.base.results import current_names, parse_rows, selected, size_order


def read_rows(rows):
    """Rows as a list of dictionaries."""
    if isinstance(rows, (str, PathLike)):
        return _from_file(Path(rows))
    if hasattr(rows, "to_dict"):  # a data frame
        rows = rows.to_dict("records")
    rows = list(rows)
    for i, row in enumerate(rows):
        if not isinstance(row, dict):
            raise ValueError(
                f"rows[{i}] is {row!r}; pass dictionaries, a data frame, or the path "
                "of a file of JSON Lines."
            )
    return [current_names(row) for row in rows]


def _from_file(path):
    path = path / "rows.jsonl" if path.is_dir() else path
    if not path.exists():
        raise FileNotFoundError(
            f"{path} does not exist; tensorcrp compare --out DIR writes DIR/rows.jsonl."
        )
    return parse_rows(path.read_text(encoding="utf-8"), str(path))[0]


def run_scores(rows, classifier, selection, train=None):
    """Scores in % of rows of `tensorcrp compare`, at one training size.

    `train` is the size; None for the largest of each data set.
    """
    rows = [row for row in rows if isinstance(row.get("classifiers"), dict)]
    cells, seen = {}, {}
    for row in rows:
        cell = row["data"], row["train"], row["method"]
        _check_once(row, seen, (*cell, row["split"]))
        if classifier not in row["classifiers"]:
            known = ", ".join(map(repr, row["classifiers"]))
            raise ValueError(
                f"classifier={classifier!r} is in no row; there are {known}."
            )
        cells.setdefault(cell, []).append(row)
    sizes = sorted({size for _, size, _ in cells}, key=size_order)
    if train is not None and train not in sizes:
        raise ValueError(f"train={train!r} is in no row; there are {sizes}.")
    largest = {data: size for s in sizes for data, size, _ in cells if size == s}
    scores = {}
    for (data, size, method), cell in cells.items():
        if size == (largest[data] if train is None else train):
            values = selected(cell, classifier, selection)
            if values is not None:  # nothing was chosen on training samples
                scores[data, method] = values
    return scores


def _check_once(row, seen, place):
    """A file may keep rows of earlier versions: one mean must not mix them."""
    version = row.get("version")
    if place in seen:
        raise ValueError(
            f"rows hold {json.dumps(place)} (data set, training size, method, split) "
            f"twice, of versions {seen[place]} and {version}; pass rows of one "
            "version, e.g. [row for row in rows if row['version'] == ...]."
        )
    seen[place] = version


def plain_scores(rows, data, method, score):
    """Scores of rows with three columns, one row per split."""
    scores = {}
    for i, row in enumerate(rows):
        missing = [name for name in (data, method, score) if name not in row]
        if missing:
            raise ValueError(
                f"rows[{i}] has no {missing[0]!r}, only {sorted(map(str, row))}; name "
                "the columns by data=, method= and score=."
            )
        place = str(row[data]), str(row[method])
        scores.setdefault(place, []).append(float(row[score]))
    return {place: np.array(values) for place, values in scores.items()}


def score_table(scores, methods=None):
    """Methods, data sets, and a table (2, data sets, methods) of means and deviations.

    Of scores of all splits; `methods` says which, None for all. NaN where a method was
    not run, and for the deviation of a single split.
    """
    if not scores:
        raise ValueError("no row holds a score; pass rows of finished runs.")
    known = list(dict.fromkeys(method for _, method in scores))
    for name in methods or []:
        if name not in known:
            raise ValueError(f"method {name!r} is in no row; there are {known}.")
    methods = known if methods is None else list(methods)
    data_sets = list(dict.fromkeys(data for data, _ in scores))
    table = np.full((2, len(data_sets), len(methods)), np.nan)
    for i, data in enumerate(data_sets):
        for j, method in enumerate(methods):
            values = scores.get((data, method), [])
            if len(values):
                table[0, i, j] = np.mean(values)
            if len(values) > 1:
                table[1, i, j] = np.std(values, ddof=1)
    return methods, data_sets, table
