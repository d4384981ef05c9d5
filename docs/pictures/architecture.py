"""The layers of the package, drawn from the numbers that the tests check."""

import ast
from pathlib import Path

import matplotlib.pyplot as plt

TESTS = Path.cwd().parent / "tests" / "test_architecture.py"  # Sphinx runs it in docs
KNOWS = {
    "cli": "the command",
    "experiments": "comparisons and the paper as rows; speed",
    "__init__": "the public names",
    "persistence": "figures, model files, data elsewhere",
    "model_selection": "choice of rank, ridge and size",
    "crp": "where statistics and optimisation meet",
    "_fitting": "fits, whole or batch by batch",
    "_estimator": "scikit-learn's conventions, checks",
    "scatter": "labels, no projections; the reverse",
    "_ascent": "block updates; where they start",
    "_rows": "the data as updates see them",
    "_algebra": "mode products, LAPACK; readers of files",
}


def ranks():
    """Module -> layer, for modules that exist."""
    for node in ast.parse(TESTS.read_text()).body:
        if isinstance(node, ast.Assign) and node.targets[0].id == "RANK":
            numbers = ast.literal_eval(node.value)
    package = TESTS.parents[1] / "tensorcrp"
    exists = {path.name.removesuffix(".py") for path in package.iterdir()}
    return {name: rank for name, rank in numbers.items() if name in exists}


layers = {}
for name, rank in ranks().items():
    layers.setdefault(rank, []).append(name)
fig, ax = plt.subplots(figsize=(11.5, 6.6), layout="constrained")
box = {"boxstyle": "round,pad=0.35", "ec": "#1f5fa8"}
for row, (rank, names) in enumerate(sorted(layers.items())):
    if row % 2:
        ax.axhspan(row - 0.5, row + 0.5, color="#f1f3f6", lw=0)
    ax.text(0.0, row, str(rank), ha="center", va="center", color="gray")
    for i, name in enumerate(sorted(names)):
        color = "#fdf3d0" if name in ("scatter", "solver", "crp") else "white"
        shown = "tensorcrp" if name == "__init__" else name
        style = {**box, "fc": color}
        x = 0.6 + 9.4 * (i + 0.5) / len(names)
        ax.text(x, row, shown, ha="center", va="center", bbox=style, fontsize=9)
    words = "; ".join(KNOWS[name] for name in names if name in KNOWS)
    ax.text(10.2, row, words, va="center", fontsize=9)
ax.annotate(
    "",
    xy=(0.35, -0.3),
    xytext=(0.35, len(layers) - 0.7),
    arrowprops={"arrowstyle": "->", "color": "gray"},
)
ax.text(0.45, len(layers) - 0.42, "imports", color="gray", fontsize=9, va="bottom")
ax.set(xlim=(-0.3, 14.9), ylim=(-0.6, len(layers) - 0.1))
ax.axis("off")
