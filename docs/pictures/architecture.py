"""The layers of the package, drawn from the numbers that the tests check."""

import ast
from pathlib import Path

import matplotlib.pyplot as plt

TESTS = Path.cwd().parent / "tests" / "test_architecture.py"  # Sphinx runs it in docs
MOST = 5  # modules in a row
KNOWS = {
    "cli": "the command",
    "experiments": "comparisons, the paper, benchmarks",
    "__init__": "the public names",
    "persistence": "figures; model files",
    "model_selection": "cross-validated choice of parameters",
    "crp": "where statistics and solver meet",
    "base.fitting": "fits: whole, in batches, from statistics",
    "base.batches": "batches, and statistics on Dask",
    "scatter": "class statistics; chunks of Dask",
    "storage.centred": "centred samples, in memory or not",
    "base.estimator": "scikit-learn's interface; readers of data",
    "solver": "projections; storage",
    "signals": "epochs and windows",
    "video": "video",
    "base.files": "helpers for every layer",
}
COLOURS = {"scatter": "#dcefdc", "storage": "#dcefdc", "solver": "#fdebc8"}
COLOURS |= {"crp": "#dbe8f6", "model_selection": "#dbe8f6", "baselines": "#dbe8f6"}


def ranks():
    """Module -> layer, for modules that exist."""
    for node in ast.parse(TESTS.read_text()).body:
        if isinstance(node, ast.Assign) and node.targets[0].id == "RANK":
            numbers = ast.literal_eval(node.value)
    package = TESTS.parents[1] / "tensorcrp"
    paths = (path.relative_to(package) for path in package.rglob("*.py"))
    exists = {".".join(path.with_suffix("").parts) for path in paths}
    exists |= {name.removesuffix(".__init__") for name in exists}
    return {name: rank for name, rank in numbers.items() if name in exists}


def rows():
    """(layer, names of at most a row, whether it is the first row of the layer)."""
    layers = {}
    for name, rank in ranks().items():
        layers.setdefault(rank, []).append(name)
    for rank, names in sorted(layers.items()):
        for start in range(0, len(names), MOST):
            yield rank, sorted(names)[start : start + MOST], start == 0


drawn = list(rows())
height = len(drawn)
fig, ax = plt.subplots(figsize=(11, 0.48 * height))
fig.subplots_adjust(0, 0, 1, 1)
for y, (rank, names, first) in enumerate(drawn):
    if rank % 2:
        ax.axhspan(y - 0.5, y + 0.5, color="#f4f5f7", lw=0)
    if first:
        ax.text(0.1, y, str(rank), ha="center", va="center", color="gray")
    for i, name in enumerate(names):
        colour = COLOURS.get(name.split(".")[0], "white")
        style = {"boxstyle": "round,pad=0.35", "ec": "gray", "fc": colour, "lw": 0.8}
        shown = "tensorcrp" if name == "__init__" else name
        x = 0.5 + 9.2 * (i + 0.5) / len(names)
        ax.text(x, y, shown, ha="center", va="center", bbox=style, fontsize=9)
    words = "; ".join(KNOWS[name] for name in names if name in KNOWS)
    ax.text(9.9, y, words, va="center", fontsize=9)
down = {"arrowstyle": "->", "color": "gray"}
ax.annotate("", xy=(0.35, -0.3), xytext=(0.35, height - 0.6), arrowprops=down)
ax.text(0.45, height - 0.4, "imports", color="gray", fontsize=9, va="bottom")
ax.set(xlim=(-0.2, 14.2), ylim=(-0.6, height + 0.1))
ax.axis("off")
