"""The layers of the package, drawn from the numbers that the tests check."""

import ast
from pathlib import Path

import matplotlib.pyplot as plt

TESTS = Path.cwd().parent / "tests" / "test_architecture.py"  # Sphinx runs it in docs
MOST = 7  # modules in a row
KNOWS = {
    "cli": "the command",
    "experiments": "comparisons and the paper as rows; speed",
    "__init__": "the public names",
    "persistence": "figures; model files",
    "model_selection": "choice of rank, ridge and size",
    "crp": "where statistics and optimisation meet",
    "_fitting": "fits, whole or batch by batch",
    "_estimator": "scikit-learn's conventions",
    "distributed": "batches elsewhere",
    "scatter": "labels, no projections; the reverse",
    "_ascent": "block updates; where they start",
    "_rows": "the data as updates see them",
    "_samples": "mode products of samples",
    "_algebra": "CP tensors; readers of data",
    "_lapack": "BLAS, LAPACK, memory, progress",
    "video": "threads; clips and signals",
}


def ranks():
    """Module -> layer, for modules that exist."""
    for node in ast.parse(TESTS.read_text()).body:
        if isinstance(node, ast.Assign) and node.targets[0].id == "RANK":
            numbers = ast.literal_eval(node.value)
    package = TESTS.parents[1] / "tensorcrp"
    exists = {path.name.removesuffix(".py") for path in package.iterdir()}
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
fig, ax = plt.subplots(figsize=(11.5, 0.55 * height), layout="constrained")
box = {"boxstyle": "round,pad=0.35", "ec": "#1f5fa8"}
for y, (rank, names, first) in enumerate(drawn):
    if rank % 2:
        ax.axhspan(y - 0.5, y + 0.5, color="#f1f3f6", lw=0)
    if first:
        ax.text(0.0, y, str(rank), ha="center", va="center", color="gray")
    for i, name in enumerate(names):
        color = "#fdf3d0" if name in ("scatter", "solver", "crp") else "white"
        shown = "tensorcrp" if name == "__init__" else name
        style = {**box, "fc": color}
        x = 0.6 + 9.4 * (i + 0.5) / len(names)
        ax.text(x, y, shown, ha="center", va="center", bbox=style, fontsize=9)
    words = "; ".join(KNOWS[name] for name in names if name in KNOWS)
    ax.text(10.2, y, words, va="center", fontsize=9)
down = {"arrowstyle": "->", "color": "gray"}
ax.annotate("", xy=(0.35, -0.3), xytext=(0.35, height - 0.7), arrowprops=down)
ax.text(0.45, height - 0.42, "imports", color="gray", fontsize=9, va="bottom")
ax.set(xlim=(-0.3, 14.9), ylim=(-0.6, height - 0.1))
ax.axis("off")
