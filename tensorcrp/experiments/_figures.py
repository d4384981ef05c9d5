"""Figures of rows: bars over methods, curves over training sizes, ranks and sweeps.

In: rows. Out: matplotlib figures (extra ``plot``), made without pyplot, so that no
global state is touched. Colours are told apart by colour-blind readers and, with
markers, in gray.
"""

import io

import numpy as np

from tensorcrp._results import size_words

# Okabe and Ito's colours, dark to light.
COLOURS = ("#000000", "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
MARKERS = "osD^vPX*"


def new_figure(width=7.0, height=4.0):
    """An empty figure with one pair of axes."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError(
            'figures need matplotlib: pip install "tensorcrp[plot]"'
        ) from error
    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.add_subplot()


def bars(rows, data, train, judge, methods, selection="honest"):
    """Accuracy of every method on one data set, with deviations, best on top."""
    scores = {m: rows.score(data, train, m, judge, selection) for m in methods}
    scores = {m: s for m, s in scores.items() if s is not None}
    names = sorted(scores, key=lambda name: scores[name].mean)
    figure, axes = new_figure(7.0, 1.0 + 0.28 * len(names))
    ours = [name.startswith(("TensorCRP", "CRP")) for name in names]
    axes.barh(
        names,
        [scores[name].mean for name in names],
        xerr=[scores[name].std or 0.0 for name in names],
        color=[COLOURS[1] if mine else "#BBBBBB" for mine in ours],
        edgecolor="black",
        linewidth=0.6,
        hatch=None,
        capsize=3,
    )
    axes.set_xlabel(f"accuracy of {judge} in %")
    axes.set_title(f"{data}, {size_words(train)} ({selection} selection)")
    return figure


def over_sizes(rows, data, judge, methods, selection="honest"):
    """Accuracy over the training size, one line per method."""
    sizes = rows.sizes(data)
    figure, axes = new_figure()
    for i, name in enumerate(methods):
        scores = [rows.score(data, size, name, judge, selection) for size in sizes]
        means = [np.nan if each is None else each.mean for each in scores]
        style = _style(i)
        axes.plot(range(len(sizes)), means, label=name, markersize=4, **style)
    axes.set_xticks(range(len(sizes)), [size_words(size) for size in sizes])
    axes.set_ylabel(f"accuracy of {judge} in %")
    axes.set_title(f"{data} ({selection} selection)")
    _legend(figure)
    return figure


def climbing(rows, start):
    """The paper's Fig. 1: objective over sweeps, one line per data set."""
    figure, axes = new_figure()
    found = [row for row in rows.all if row["method"] == start and "curve" in row]
    for i, row in enumerate(found):
        curve = np.array(row["curve"]) / row["curve"][-1]
        sweeps = np.arange(1, len(curve) + 1)
        axes.plot(sweeps, curve, label=row["data"], markevery=7, **_style(i))
    axes.axvline(10, color="gray", linestyle=":")
    axes.set_xscale("log")
    axes.set_xlabel("sweeps over the modes (the paper: within ten)")
    axes.set_ylabel("objective, share of the last")
    axes.set_title(f"first projection, {start.removeprefix('objective, ')}")
    _legend(figure)
    return figure


def over_ranks(rows, data_sets, ranks, judge):
    """The paper's Fig. 2: accuracy over the rank k, one line per data set."""
    figure, axes = new_figure()
    for i, data in enumerate(data_sets):
        scores = [rows.score(data, 3, name, judge, "paper") for name in ranks.values()]
        means = [np.nan if each is None else each.mean for each in scores]
        axes.plot(list(ranks), means, label=data, **_style(i))
    axes.set_xticks(list(ranks))
    axes.set_xlabel("rank k")
    axes.set_ylabel(f"accuracy of {judge} in %")
    axes.set_title("3 per class (paper selection)")
    _legend(figure)
    return figure


def image(figure, kind):
    """A figure as the bytes of a PNG or SVG file, the same every time."""
    out = io.BytesIO()
    if kind == "svg":
        from matplotlib import rc_context

        # Without these, every SVG has another date and other names of its parts.
        with rc_context({"svg.hashsalt": "tensorcrp"}):
            figure.savefig(out, format="svg", metadata={"Date": None})
    else:
        figure.savefig(out, format=kind, dpi=150)
    return out.getvalue()


def _legend(figure):
    """Beside the axes, where it hides nothing."""
    figure.legend(loc="outside right upper", fontsize="x-small")


def _style(i):
    return {
        "color": COLOURS[i % len(COLOURS)],
        "marker": MARKERS[i % len(MARKERS)],
        "linestyle": ("-", "--", ":")[i // len(COLOURS) % 3],
        "linewidth": 1.2,
    }
