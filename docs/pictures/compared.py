"""Methods beside each other, from the rows of the reproduction: nothing is computed."""

from pathlib import Path

from tensorcrp.experiments.earlier_rows import expand
from tensorcrp.plotting import ComparisonDisplay

ROWS = list(expand((Path.cwd() / "results" / "reproduction.jsonl").read_text()))
OURS = ("TensorCRP", "CRP")


def _draw(data_sets, train=None):
    rows = [row for row in ROWS if row["data"] in data_sets]
    ComparisonDisplay.from_rows(rows, train=train, highlight=OURS)


def matrices():
    """The paper's own sets that are free to use, five training samples per class."""
    _draw({"usps", "coil20"}, train=5)


def tensors():
    """Sets of signals and of order 3, on which the library's methods were run."""
    _draw({row["data"] for row in ROWS if row["method"] == "TensorCRP"})
