"""Rows in a few lines: the splits of a cell together, what they share written once.

In: rows. Out: lines of JSON that `expand` turns into the same rows again, but for the
times, the mistakes, the checksum and the parameters of the method, which are behind
the key.
"""

import json
from collections import defaultdict

from tensorcrp.base.results import current_names
from tensorcrp.experiments.mistakes import FIELD
from tensorcrp.experiments.store import TIMES

DROPPED = {*TIMES, FIELD, "checksum", "parameters", "protocol"}


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
