"""Figures of rows: bars over methods, curves over training sizes, ranks and sweeps.

In: rows. Out: matplotlib figures (extra ``plot``), made without pyplot, so that no
global state is touched. Colours are told apart by colour-blind readers and, with
markers, in gray.
"""

import io

import numpy as np

from tensorcrp.base.results import size_words
from tensorcrp.experiments.tables import printable
from tensorcrp.plotting import ComparisonDisplay, ConvergenceDisplay
from tensorcrp.plotting.axes import check_matplotlib
from tensorcrp.plotting.style import series

LONGEST_LABEL = 60


def new_figure(width=7.0, height=4.0):
    """An empty figure with one pair of axes."""
    check_matplotlib()
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.add_subplot()


def label(name):
    """The name of a data set as matplotlib shows it to the letter, cut if it is long.

    The end of a path says more than its beginning; a dollar sign would begin a formula.
    """
    text = printable(name)
    text = text if len(text) <= LONGEST_LABEL else f"...{text[3 - LONGEST_LABEL :]}"
    return text.replace("$", r"\$")


def bars(rows, data, train, classifier, methods, selection="honest"):
    """Accuracy of every method on one data set, with deviations, best on top."""
    scores = {m: rows.score(data, train, m, classifier, selection) for m in methods}
    scores = {m: s for m, s in scores.items() if s is not None}
    figure, axes = new_figure(7.0, 1.0 + 0.28 * len(scores))
    ComparisonDisplay(
        [[score.mean for score in scores.values()]],
        [[score.std or 0.0 for score in scores.values()]],
        methods=list(map(label, scores)),
        data_sets=[f"{label(data)}, {size_words(train)} ({selection} selection)"],
        label=f"accuracy of {classifier} in %",
    ).plot(ax=axes, highlight=("TensorCRP", "CRP"))
    return figure


def over_sizes(rows, data, classifier, methods, selection="honest"):
    """Accuracy over the training size, one line per method."""
    sizes = rows.sizes(data)
    figure, axes = new_figure()
    for i, name in enumerate(methods):
        scores = [rows.score(data, size, name, classifier, selection) for size in sizes]
        means = [np.nan if each is None else each.mean for each in scores]
        axes.plot(range(len(sizes)), means, label=label(name), **series(i))
    axes.set_xticks(range(len(sizes)), [size_words(size) for size in sizes])
    axes.set_ylabel(f"accuracy of {classifier} in %")
    axes.set_title(f"{label(data)} ({selection} selection)")
    _legend(figure)
    return figure


def climbing(rows, start):
    """The paper's Fig. 1: objective over sweeps, one line per data set."""
    figure, axes = new_figure()
    found = [row for row in rows.all if row["method"] == start and "curve" in row]
    curves, names = [row["curve"] for row in found], [row["data"] for row in found]
    axes.set_xscale("log")
    axes.axvline(10, color="gray", linestyle=":")
    ConvergenceDisplay(curves, labels=names).plot(ax=axes, unit="sweep", relative=True)
    axes.set_xlabel("sweeps over the modes (the paper: within ten)")
    axes.set_title(f"first projection, {start.removeprefix('objective, ')}")
    return figure


def over_ranks(rows, data_sets, ranks, classifier):
    """The paper's Fig. 2: accuracy over the rank k, one line per data set."""
    figure, axes = new_figure()
    for i, data in enumerate(data_sets):
        scores = [
            rows.score(data, 3, name, classifier, "paper") for name in ranks.values()
        ]
        means = [np.nan if each is None else each.mean for each in scores]
        axes.plot(list(ranks), means, label=data, **series(i))
    axes.set_xticks(list(ranks))
    axes.set_xlabel("rank k")
    axes.set_ylabel(f"accuracy of {classifier} in %")
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
