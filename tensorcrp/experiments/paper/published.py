"""The numbers that the paper printed, as data.

In: ``published.csv`` beside this file: one line per row of a table of the paper, a mean
and a standard deviation in % per method. Out: a dictionary from `Cell` to `Figure`:
480 figures of the ten classification tables, 24 of the initialisation table, 24 of the
two-class table (whose classifier and training size the paper leaves open).
"""

import csv
from functools import cache
from pathlib import Path
from typing import NamedTuple

METHODS = ("LDA", "2DPCA", "2DLDA", "S2DLDA", "P2DLDA", "T-LPP", "B-SVM", "CRP")
PAPER_STARTS = ("0.5", "1", "2", "random")
SIZES = (3, 5, 10, 20, 0.8)  # training samples per class, or the share of all


class Cell(NamedTuple):
    """Where a figure stands; `train` and `classifier` are None where not stated."""

    table: str
    classifier: str | None
    train: int | float | None
    data: str
    method: str


class Figure(NamedTuple):
    """Accuracy in %: mean and standard deviation over five splits."""

    mean: float
    std: float


@cache
def published():
    """Every figure of the paper: dict of `Cell` -> `Figure`."""
    figures, header = {}, None
    with open(Path(__file__).with_name("published.csv"), newline="") as file:
        for line in csv.reader(file):
            if line[0] == "table":
                header = line[4:]
                continue
            table, classifier, train, data, *values = line
            for method, value in zip(header, values, strict=True):
                cell = Cell(table, classifier or None, _size(train), data, method)
                figures[cell] = Figure(*map(float, value.split()))
    return figures


def _size(text):
    if not text:
        return None
    return float(text) if "." in text else int(text)
