"""The leaderboard: one HTML page of all methods on all sets, from rows.

In: rows of ``tensorcrp compare``. Out: HTML that needs no other file and no host. The
browser sorts, filters and draws (`leaderboard.js`): means, mean ranks, the
critical-difference diagram, and accuracy over time.
"""

import json
from html import escape
from importlib.resources import files

import numpy as np
from scipy.stats import studentized_range

from tensorcrp.base.results import size_words
from tensorcrp.experiments.evidence import (
    HEADLINE,
    PART,
    Evidence,
    evidence_sizes,
)
from tensorcrp.experiments.evidence_page import COMMAND, ablation_table, hours_of
from tensorcrp.experiments.evidence_tables import guessing
from tensorcrp.experiments.evidence_words import verdicts
from tensorcrp.experiments.options import how_many
from tensorcrp.experiments.smoothing import SMOOTH
from tensorcrp.experiments.summaries import ResultRows, seconds_of
from tensorcrp.report.html_page import Part, page, wide

BOARD_STYLE = """<style>
body { max-width: 76rem; }
.board { display: flex; flex-wrap: wrap; gap: .6rem 1.2rem; align-items: end; }
.board label { display: block; } fieldset { border: 1px solid var(--line);
  display: flex; flex-wrap: wrap; gap: .2rem 1rem; margin: 1rem 0; }
input, select, button { font: inherit; color: inherit; background: var(--panel);
  border: 1px solid var(--edge); border-radius: .25rem; padding: .15rem .4rem; }
th button { border: 0; background: none; padding: 0; font-weight: 600;
  cursor: pointer; } th[aria-sort] button { text-decoration: underline; }
th[aria-sort=descending] button::after { content: " ↓"; }
th[aria-sort=ascending] button::after { content: " ↑"; }
#board { max-height: 85vh; overflow: auto; border-bottom: 1px solid var(--line); }
#board table { border-collapse: separate; border-spacing: 0; }
#board thead th { position: sticky; top: 0; z-index: 2; background: var(--page);
  white-space: nowrap; }
#board th:first-child { position: sticky; left: 0; z-index: 1; white-space: nowrap;
  background: var(--page); } #board thead th:first-child { z-index: 3; }
#board td { text-align: right; } tbody th { font-weight: 400; }
.ours th, .best { font-weight: 700; } tfoot { color: var(--soft); }
tfoot th { font-weight: 400; }
td.figure { background: color-mix(in srgb, var(--accent) var(--share), transparent); }
svg .front { fill: none; stroke: var(--accent); } svg .other { fill: var(--soft); }
svg .axis { stroke: var(--ink); } svg .strong { font-weight: 700; }
svg .leader { fill: none; stroke: var(--soft); }
svg .group { stroke: var(--ink); stroke-width: 5; }
@media (max-width: 40rem) { #board th:first-child { max-width: 8.5rem;
  white-space: normal; } }
</style>"""
CONTROLS = """<div class="board">
<label>training samples<br><select id="size"></select></label>
<label>classifier<br><select id="classifier"></select></label>
<label>methods with<br><input id="text" placeholder="SVM | LDA"></label>
<label><input id="smooth" type="checkbox"> after smoothing</label>
<label><input id="parts" type="checkbox"> TensorCRPCV in parts</label>
<span id="count" class="soft" role="status"></span></div>
<fieldset id="sets"><legend>sets</legend></fieldset>
<div id="board" role="region" aria-label="all methods, all sets" tabindex="0"><table>
<thead><tr id="head"></tr></thead><tbody id="body"></tbody><tfoot id="foot"></tfoot>
</table></div>
<p class="soft">Accuracy in %, means over the splits; the best of a column is bold, and
the stronger the colour of a cell, the nearer to the best. A click on a heading sorts,
and a second click turns the order. "1-NN or own": the method's own predictions where it
makes any, 1-NN on its features elsewhere. rank: mean rank over the sets, among the
methods shown that have results on all. seconds: mean over the sets of the median fit,
the choice of settings included. Settings are chosen on training samples alone.
"smooth": samples go through a filter first. The address of this page keeps the
view.</p>
"""
PLOT = '<svg id="{}" role="img" aria-label="{}"></svg>'
PARETO = """<p class="soft">Every method that is shown in the table and has results on
all sets. No other method is both faster and more accurate than one on the line.</p>"""
DEMSAR = """<p class="soft">Mean ranks over the sets, of the methods shown in the table.
A bar joins methods that Nemenyi's test does not tell apart at the level of 5 %
(J. Demsar, Journal of Machine Learning Research 7, 2006). Few sets tell few methods
apart, and several sizes of a set count as one set.</p>
<p id="ranks-words" class="soft" role="status"></p>"""
REAL_ROWS = "docs/results/real.jsonl"
ADDING = f"tensorcrp compare --beside {REAL_ROWS} --methods module:Class --out DIR"
HOW = """<p>One command runs a class of yours, with scikit-learn's interface, on the
sets and splits of a comparison, and writes this page with it in DIR:</p>
<p><code>{}</code></p><p>The class has <code>fit(X, y)</code> and <code>transform</code>
or <code>predict</code> for arrays (n, l_1, ..., l_N); nothing else is computed again.
The data sets are read from the folder that TENSORCRP_DATA names.
<code>--beside DIR/rows.jsonl</code> does the same to a comparison of your own.</p>"""


def leaderboard(rows, command=COMMAND, home=""):
    """The page.

    Parameters
    ----------
    rows : list of dict
    command : str
        What made the rows.
    home : str
        Address of the documentation, where the page is a part of it.

    Returns
    -------
    str
    """
    rows = ResultRows(rows)
    plots = {
        "pareto": wide(
            PLOT.format("pareto", "accuracy over time"), "accuracy over time"
        ),
        "ranks": wide(PLOT.format("ranks", "mean ranks"), "mean ranks"),
    }
    parts = [
        Part("In short", _in_short(rows, home)),
        Part("All methods, all sets", BOARD_STYLE + CONTROLS),
        Part("Time and accuracy", PARETO + plots["pareto"]),
        Part("Mean ranks", DEMSAR + plots["ranks"]),
        *_ablation(rows),
        Part("Add a method", HOW.format(escape(ADDING)) + _scripts(rows)),
    ]
    return page("Leaderboard", parts, command=command)


def _in_short(rows, home):
    """How much was run, and where the reference leads and loses."""
    runs = sum("classifiers" in row for row in rows.all)
    lines = [
        f"{runs:,} runs of {how_many(len(rows.methods()), 'method')} on "
        f"{how_many(len(rows.data()), 'set')}, {hours_of(rows):.1f} hours of one "
        "thread. Every method has the same training samples.",
        *verdicts(rows),
    ]
    link = f'<p><a href="{escape(home)}">Documentation of tensorcrp</a></p>'
    listed = "".join(f"<li>{escape(line)}</li>" for line in lines)
    return f"<ul>{listed}</ul>{link if home else ''}"


def _ablation(rows):
    table = ablation_table(rows)
    return [Part("What each part is worth", table.html())] if table.body else []


def _scripts(rows):
    source = files("tensorcrp.experiments").joinpath("leaderboard.js")
    # In a script element, "</" could end it.
    data = json.dumps(board_data(rows)).replace("<", "\\u003c")
    return (
        f'<script type="application/json" id="rows">{data}</script>'
        f"<script>{source.read_text('utf-8')}</script>"
    )


def board_data(rows):
    """What the page holds.

    "cells": {size: {classifier: {method: {set: [mean, std, seconds]}}}}, "about":
    {size: {set: [chance, largest class, test samples]}}, and Nemenyi's quantiles of 2
    and more methods, as they are multiplied by ``sqrt(k (k + 1) / (6 n))``.
    """
    sizes, classifiers = evidence_sizes(rows), (HEADLINE, "SVM")
    counts = np.arange(2, max(3, 1 + len(rows.methods())))
    quantiles = studentized_range.ppf(0.95, counts, np.inf) / np.sqrt(2)
    return {
        "sets": rows.data(),
        "sizes": list(map(str, sizes)),
        "words": {str(size): size_words(size) for size in sizes},
        "classifiers": list(classifiers),
        "cells": {str(s): {c: _cells(rows, s, c) for c in classifiers} for s in sizes},
        "about": {str(s): guessing(Evidence(rows, s)) for s in sizes},
        "part": PART,
        "smooth": SMOOTH,
        "nemenyi": quantiles.round(5).tolist(),
    }


def _cells(rows, train, classifier):
    found, cells = Evidence(rows, train, classifier), {}
    for method in found.methods:
        for data in found.sets:
            score = found.score(data, method)
            if score is not None:
                seconds = seconds_of(rows.cell(data, train, method))[0]
                figures = [score.mean, score.std or 0.0, seconds]
                cells.setdefault(method, {})[data] = [
                    round(float(v), 4) for v in figures
                ]
    return cells
