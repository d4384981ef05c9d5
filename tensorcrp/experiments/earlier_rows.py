"""Rows of an earlier comparison, and what a new method has to run to stand beside them.

In: a file of rows, as ``tensorcrp compare --out`` writes it or as ``docs/results``
holds it. Out: the rows, and a plan: the same data sets, training sizes, splits and test
samples, for other methods.
"""

from collections import defaultdict
from pathlib import Path

from tensorcrp.base.results import parse_rows
from tensorcrp.experiments.data import Skip, known_names, load
from tensorcrp.experiments.errors import BadRequest
from tensorcrp.experiments.paper.compact import expand
from tensorcrp.experiments.random_splits import split
from tensorcrp.experiments.runs import Run


def earlier_rows(path):
    """The rows of a file; `BadRequest` where there are none.

    Parameters
    ----------
    path : path
        ``rows.jsonl`` of a comparison, or its compact form.

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
        raise BadRequest(f"--beside {path}: there are no rows of a comparison in it.")
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
        data = load(name, mine.get("groups", ""))
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
