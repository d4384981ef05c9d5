"""The path of a call through the package: measured, and drawn.

    python docs/pictures/journey.py

follows a few calls on 30 samples of 6x7 and prints, for each, the number of rooms
(packages, or modules beside them), modules and functions that run, the number of calls
from one module to another, and the depth of nested calls. Sphinx calls `draw`, which
draws ``TensorCRP.fit``: one line per call from one module to another, in the order in
which they happen.
"""

import sys
import tempfile
import threading
import warnings
from collections import Counter
from functools import cache
from pathlib import Path

import numpy as np

import tensorcrp

PACKAGE = Path(tensorcrp.__file__).parent


class Call:
    """A function that ran, how often, and what it called, in order."""

    def __init__(self, code):
        self.code, self.count, self.calls = code, 0, {}


class Journey:
    """Calls of functions of the package while the object is entered."""

    def __init__(self):
        self.modules, self.functions = [], set()
        self.across, self.deepest = Counter(), 0
        self.root, self.open = Call(None), {}

    def __enter__(self):
        sys.setprofile(self._seen)
        threading.setprofile(self._seen)
        return self

    def __exit__(self, *error):
        threading.setprofile(None)
        sys.setprofile(None)

    def _seen(self, frame, event, argument):
        if event == "return":
            self.open.pop(frame, None)
        module = _module(frame) if event == "call" else None
        if module is None:
            return
        if module not in self.modules:
            self.modules.append(module)
        self.functions.add(frame.f_code)
        callers = [each for each in _outer(frame) if _module(each)]
        if callers and _module(callers[0]) != module:
            self.across[_module(callers[0]), module] += 1
        self.deepest = max(self.deepest, 1 + len(callers))
        caller = self.open.get(callers[0]) if callers else None
        calls = (caller or self.root).calls
        call = calls.setdefault(frame.f_code, Call(frame.f_code))
        call.count += 1
        self.open[frame] = call

    def row(self):
        """Rooms, modules, functions, calls across modules, depth."""
        rooms = {module.partition(".")[0] for module in self.modules} - {"__init__"}
        across = sum(self.across.values())
        sizes = (len(each) for each in (rooms, self.modules, self.functions))
        return *sizes, across, self.deepest


def _outer(frame):
    while frame := frame.f_back:
        yield frame


def _module(frame):
    return _module_of(frame.f_code)


@cache
def _module_of(code):
    """Dotted name inside the package of a function's module; None for others.

    What a module does when it is imported is not part of a journey.
    """
    path = code.co_filename
    if not path.startswith(str(PACKAGE)) or code.co_name == "<module>":
        return None
    parts = Path(path).relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts)


# --- what is followed -------------------------------------------------------------


def samples():
    rng, y = np.random.default_rng(0), np.arange(30) % 3
    return rng.standard_normal((30, 6, 7)) + rng.standard_normal((3, 6, 7))[y], y


def calls():
    """Name -> a function to be followed."""
    X, y = samples()
    fitted = tensorcrp.TensorCRP().fit(X, y)
    search = tensorcrp.TensorCRPCV()
    yield "TensorCRP.fit", lambda: tensorcrp.TensorCRP().fit(X, y)
    yield "TensorCRP.transform", lambda: fitted.transform(X)
    yield "TensorCRPCV.fit", lambda: search.fit(X, y)
    yield "TensorCRP.fit, dask", lambda: _dask(X, y)
    yield "compare_methods", lambda: _compare(X, y)


def _dask(X, y):
    import dask
    import dask.array as da

    with dask.config.set(scheduler="synchronous"):
        chunks = da.from_array(X, chunks=(10, 6, 7))
        tensorcrp.TensorCRP(max_memory=0).fit(chunks, y)


def _compare(X, y):
    from tensorcrp.experiments import compare_methods

    few = {"methods": ["TensorCRP", "MPCA"], "per_class": 5, "repeats": 2}
    with tempfile.TemporaryDirectory() as folder:
        np.savez(f"{folder}/data.npz", X=X, y=y)
        compare_methods(f"{folder}/data.npz", **few)


def follow(call):
    with warnings.catch_warnings(), Journey() as journey:
        warnings.simplefilter("ignore")
        call()
    return journey


def table():
    """The printed table, 80 columns at most."""
    names = "call", "rooms", "modules", "functions", "calls across", "depth"
    form = "{:<22}{:>7}{:>9}{:>11}{:>14}{:>7}"
    lines = [form.format(*names)]
    for name, call in calls():
        lines.append(form.format(name, *follow(call).row()))
    return "\n".join(lines)


# --- the drawing ------------------------------------------------------------------
# The calls that are drawn, of all that are followed, and what they do. A test fails if
# one of them no longer happens.
DRAWN = {
    "ScatterFit.fit": "fit of every estimator that needs class statistics alone",
    "TensorCRP._check_parameters": "check the parameters",
    "check_samples": "check X, y and sample_weight",
    "ScatterFit._check_labels": "check that there are classes to separate",
    "ClassScatter.from_samples": "class statistics: means and centred samples",
    "Used.means": "class means, read in blocks",
    "CentredRows.fewer": "centred samples, one fewer per class, same scatter",
    "TensorCRP._solve_scatter": "where statistics and solver meet",
    "fit_path": "a model for each combination of metric, rank and ridge",
    "ClassScatter.ridge": "the ridge in the scale of the data",
    "DiscriminantRatio.numerator": "rows of the numerator of J",
    "ClassScatter.between": "class means, centred",
    "ridge_directions": "prepare the start: ridge LDA at full rank",
    "Starter.lanes": "for each component: where block ascent starts",
    "DualDirections.directions": "the best direction on the deflated data",
    "cp_truncate": "truncated to rank k: one factor per mode",
    "climb": "for each component: block updates until J stops rising",
    "LaneRows.begin": "one pass over the data, for the modes of one side",
    "contract_lanes": "BLAS",
    "whitening": "coordinates in which the ridge of a block is plain",
    "DeflatedRows.block": "contracted rows of the deflated copy",
    "DiscriminantRatio.maximise": "the exact maximiser of J: the new factor",
    "ridge_lda": "LAPACK",
    "DiscriminantRatio.value": "J, before and after an update",
    "Found.add": "keep the component",
    "LaneRows.keep": "deflate the copy of the rows",
    "Starter.deflate": "deflate the start",
    "Model.factors": "factors_",
    "Model.projections": "projections_: the matrix of transform",
    "feature_rows": "deflation of new samples, as one matrix",
}
ROOMS = {  # first part of a module's name -> what it is, colour
    "crp": ("estimator", "#dbe8f6"),
    "base": ("estimator", "#dbe8f6"),
    "scatter": ("statistics", "#dcefdc"),
    "storage": ("statistics", "#dcefdc"),
    "solver": ("solver", "#fdebc8"),
}


def drawn(call, depth=0):
    """(call, its depth) of the calls to draw, in order; the others give way."""
    for each in call.calls.values():
        shown = each.code.co_qualname in DRAWN
        if shown:
            yield each, depth
        yield from drawn(each, depth + shown)


def merged(lines):
    """The same with a line for each function and depth; numbers of calls add up."""
    found = {}
    for call, depth in lines:
        first, _ = found.setdefault((call.code, depth), (call, depth))
        first.count += call.count if first is not call else 0
    return list(found.values())


def fit_lines():
    """(call, depth) of a fit."""
    X, y = samples()
    tensorcrp.TensorCRP().fit(X, y)  # imports are not part of the journey
    return merged(drawn(follow(lambda: tensorcrp.TensorCRP().fit(X, y)).root))


def draw():
    """The path of a fit: an indented line per call, in the colour of its room."""
    import matplotlib.pyplot as plt

    lines = fit_lines()
    fig, ax = plt.subplots(figsize=(10.5, 0.31 * len(lines) + 0.7))
    fig.subplots_adjust(0, 0, 1, 1)
    above = {}  # depth -> line of the last call at that depth
    for i, (call, depth) in enumerate(lines):
        above[depth] = i
        if depth:
            x = 0.35 * depth - 0.17
            ax.plot([x, x, x + 0.12], [above[depth - 1] + 0.36, i, i], c="gray", lw=0.8)
        _line(ax, i, call, depth)
    for place, (words, colour) in enumerate(dict(ROOMS.values()).items()):
        box = {"fc": colour, "ec": "gray", "boxstyle": "round,pad=0.3"}
        ax.text(0.1 + 1.2 * place, -1.3, words, fontsize=9, va="center", bbox=box)
    heads = {3.75: "module", 5.7: "calls", 5.95: "what it does"}
    for x, words in heads.items():
        ha = "right" if words == "calls" else "left"
        ax.text(x, -1.3, words, fontsize=9, va="center", ha=ha, weight="bold")
    ax.set(xlim=(-0.05, 10.4), ylim=(len(lines) - 0.3, -2))
    ax.axis("off")


def _line(ax, i, call, depth):
    module = _module_of(call.code)
    colour = ROOMS[module.split(".")[0]][1]
    box = {"fc": colour, "ec": "gray", "lw": 0.6, "boxstyle": "round,pad=0.25"}
    style = {"va": "center", "fontsize": 9}
    name = call.code.co_qualname
    ax.text(0.35 * depth + 0.03, i, name, bbox=box, family="monospace", **style)
    ax.text(3.75, i, module, color="#444444", family="monospace", **style)
    ax.text(5.7, i, f"{call.count}", ha="right", **style)
    ax.text(5.95, i, DRAWN[name], **style)


# Sphinx runs this file under the same name, and then calls `draw`.
if Path(getattr(sys.modules["__main__"], "__file__", "")).name == "journey.py":
    print(table())
