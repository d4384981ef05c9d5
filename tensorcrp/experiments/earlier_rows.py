"""Rows of an earlier comparison, and what a new method has to run to stand beside them.

In: a file of rows, as ``tensorcrp compare --out`` writes it or, compact, as
``docs/results`` holds it. Out: the rows, and a plan: the same data sets, training
sizes, splits and test samples, for other methods. In compact form the splits of a cell
are together, and what they share is written once; the times, the mistakes, the checksum
and the parameters of the method, which are behind the key, are left out.
"""

import json
from collections import defaultdict
from pathlib import Path

from tensorcrp.base.results import current_names, parse_rows
from tensorcrp.experiments.data import Skip, known_names, load_data
from tensorcrp.experiments.errors import BadRequest
from tensorcrp.experiments.mistakes import FIELD
from tensorcrp.experiments.random_splits import split
from tensorcrp.experiments.runs import Run
from tensorcrp.experiments.store import TIMES

DROPPED = {*TIMES, FIELD, "checksum", "parameters", "protocol"}


def earlier_rows(path, names=None, sizes=None):
    """The rows of a file; `BadRequest` where there are none.

    Parameters
    ----------
    path : path
        ``rows.jsonl`` of a comparison, or its compact form.
    names, sizes : lists, default=None
        Data sets and training sizes to keep; None for all.

    Returns
    -------
    list of dict
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
        compact = '"by_split"' in text.partition("\n")[0]
        rows = expand(text) if compact else parse_rows(text)[0]
    except (OSError, ValueError, KeyError) as error:
        raise BadRequest(f"--beside {path}: cannot be read ({error}).") from error
    rows = [row for row in rows if "classifiers" in row]
    if not rows:
        raise BadRequest(f"--beside {path}: it has no rows of a comparison.")
    rows = [row for row in rows if names is None or row["data"] in names]
    rows = [row for row in rows if sizes is None or row["train"] in sizes]
    if not rows:
        raise BadRequest(
            f"--beside {path}: it has no rows of these data sets and sizes."
        )
    return rows


def beside_plan(rows, methods):
    """Runs of other methods on the splits of these rows.

    Parameters
    ----------
    rows : list of dict
    methods : sequence of str

    Returns
    -------
    list of Run
    """
    cells = {_place(row): row for row in rows}
    found = {name: _same_data(name, cells) for name in {row["data"] for row in rows}}
    return [
        Run(
            *(row["data"], found[row["data"]].checksum, row["train"], row["split"]),
            *(row["seed"], method),
            **{name: row.get(name, default) for name, default in OPTIONS.items()},
        )
        for row in cells.values()
        for method in methods
    ]


OPTIONS = {"n_features": 0, "paper": False, "most": 0, "groups": ""}


def _place(row):
    return row["data"], row["train"], row["split"]


def _same_data(name, cells):
    """The data set; `BadRequest` if the rows are of other samples."""
    mine = next(row for row in cells.values() if row["data"] == name)
    try:
        data = load_data(name, mine.get("groups", ""))
        _, test = split(*_arguments(data, mine))
    except Skip as skip:
        raise BadRequest(f"{name}: {skip}.") from skip
    here = list(data.X.shape[1:]), data.n_classes, len(test)
    there = list(mine["shape"]), mine["n_classes"], mine["n_test"]
    if here != there:
        raise BadRequest(
            f"{name} has samples of shape {here[0]}, {here[1]} classes and {here[2]} "
            f"test samples here, and {there[0]}, {there[1]} and {there[2]} in the "
            "earlier rows: these are different data. Leave it out by naming the other "
            "sets."
        )
    _check_checksum(data, mine)
    return data


def _check_checksum(data, row):
    """Reject files that were changed, or are read in another way, since then.

    Sets that are built in may differ by rounding from machine to machine; rows in
    compact form have no checksum.
    """
    same = row.get("checksum", data.checksum) == data.checksum
    if not same and data.name not in known_names():
        raise BadRequest(
            f"{data.name} has other samples here than in the earlier rows. Read it "
            "with the same options, such as --motion, or leave it out by naming the "
            "other sets."
        )


def _arguments(data, row):
    return data, row["train"], row["seed"], row["split"], row.get("most", 0)


def merged(earlier, rows):
    """Earlier rows and new ones; of a run that is in both, the new one."""
    new = {(*_place(row), row["method"]) for row in rows}
    return [r for r in earlier if (*_place(r), r["method"]) not in new] + rows


def by_cell(earlier, rows, wanted):
    """The same for whole cells: data set, training size and method.

    Parameters
    ----------
    earlier, rows : list of dict
    wanted : dict of cell -> int
        Number of runs of each cell; others are dropped. A cell keeps its earlier rows
        if there are more of them than new ones, and not all runs are new.
    """
    old, new = (defaultdict(list) for _ in range(2))
    for found, some in ((old, earlier), (new, rows)):
        for row in some:
            found[row["data"], row["train"], row["method"]].append(row)
    kept = [
        new[cell] if len(new[cell]) >= min(count, len(old[cell])) else old[cell]
        for cell, count in wanted.items()
    ]
    return [row for cell in kept for row in cell]


# --- compact form -------------------------------------------------------------------


def compact(rows, times=()):
    """Text of JSON Lines, one per data set, training size and method.

    Of the times of a row, those named in `times` are kept.
    """
    cells = defaultdict(list)
    dropped = DROPPED - {*times}
    for row in rows:
        small = {name: value for name, value in row.items() if name not in dropped}
        cells[row["data"], row["train"], row["method"]].append(small)
    order = sorted(cells, key=lambda cell: (cell[0], str(cell[1]), cell[2]))
    lines = [_line(sorted(cells[cell], key=lambda r: r["split"])) for cell in order]
    return "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)


def _line(rows):
    fields = list(dict.fromkeys(name for row in rows for name in row))
    shared, by_split = {}, {}
    for name in fields:
        values = [row.get(name) for row in rows]
        if all(value == values[0] for value in values):
            shared[name] = values[0]
        else:
            by_split[name] = values
    return {**shared, "n_splits": len(rows), "by_split": by_split}


def expand(text):
    """Rows of a text that `compact` made."""
    rows = []
    for line in text.splitlines():
        shared = json.loads(line)
        by_split = shared.pop("by_split")
        for i in range(shared.pop("n_splits")):
            mine = {name: values[i] for name, values in by_split.items()}
            row = {**shared, **mine}
            row = {name: value for name, value in row.items() if value is not None}
            rows.append(current_names(row))
    return rows
