"""The layers of the package: the table of CONTRIBUTING.md as a picture.

A test compares the table with the layers that imports follow.
"""

import re
from pathlib import Path
from textwrap import fill

import matplotlib.pyplot as plt

TABLE = Path.cwd().parent / "CONTRIBUTING.md"  # Sphinx runs this file in docs
COLOURS = {"scatter": "#dcefdc", "storage": "#dcefdc", "solver": "#fdebc8"}
COLOURS |= {"crp": "#dbe8f6", "model_selection": "#dbe8f6", "baselines": "#dbe8f6"}


def rows():
    """(layer, names of rooms, words) of each line of the table."""
    text = TABLE.read_text(encoding="utf-8")
    for layer, rooms, words in re.findall(
        r"^\| (\d+) \| (.+?) \| (.+?) \|$", text, re.M
    ):
        yield int(layer), re.findall(r"`([\w.]+)`", rooms), words.replace("`", "")


def draw_row(ax, y, names, words):
    """Boxes from left to right, and the words beside them."""
    x = 0.5
    for name in names:
        colour = COLOURS.get(name.split(".")[0], "white")
        style = {"boxstyle": "round,pad=0.3", "ec": "gray", "fc": colour, "lw": 0.8}
        ax.text(x, y, name, va="center", bbox=style, fontsize=9, family="monospace")
        x += 0.092 * len(name) + 0.3
    ax.text(6.2, y, fill(words, 62), va="center", fontsize=9)


drawn = list(rows())
height = len(drawn)
fig, ax = plt.subplots(figsize=(11, 0.42 * height))
fig.subplots_adjust(0, 0, 1, 1)
above = None
for y, (layer, names, words) in enumerate(drawn):
    if layer % 2:
        ax.axhspan(y - 0.5, y + 0.5, color="#f4f5f7", lw=0)
    if layer != above:
        ax.text(0.05, y, str(layer), ha="center", va="center", color="gray")
    draw_row(ax, y, names, words)
    above = layer
down = {"arrowstyle": "->", "color": "gray"}
ax.annotate("", xy=(0.26, height - 0.6), xytext=(0.26, -0.3), arrowprops=down)
ax.text(0.33, -0.75, "imports", color="gray", fontsize=9, va="center")
ax.set(xlim=(-0.15, 11), ylim=(height - 0.4, -1.1))
ax.axis("off")
