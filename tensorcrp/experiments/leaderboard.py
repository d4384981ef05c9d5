"""The leaderboard: one HTML page of all methods on all sets, from rows.

In: rows of ``tensorcrp compare``. Out: HTML that needs no other file and no host. The
browser sorts and filters (`leaderboard.js`); the critical-difference diagrams are drawn
here.
"""

import json
from base64 import b64encode
from html import escape
from importlib.resources import files

from tensorcrp.base.results import size_words
from tensorcrp.experiments.evidence import HEADLINE, Evidence, evidence_sizes
from tensorcrp.experiments.figures import image, label
from tensorcrp.experiments.summaries import Rows, seconds_of
from tensorcrp.plotting import ComparisonDisplay
from tensorcrp.report.html_page import Part, page

MOST_RANKED = 20  # methods in one diagram
STYLE = """<style>
.board { display: flex; flex-wrap: wrap; gap: .6rem 1.2rem; align-items: end; }
.board label { display: block; } fieldset { border: 1px solid var(--line);
  display: flex; flex-wrap: wrap; gap: .2rem 1rem; margin: 1rem 0; }
input, select, button { font: inherit; color: inherit; background: var(--panel);
  border: 1px solid var(--line); border-radius: .25rem; padding: .15rem .4rem; }
th button { border: 0; background: none; padding: 0; font-weight: 600;
  cursor: pointer; } th[aria-sort] button { text-decoration: underline; }
th[aria-sort=descending] button::after { content: " ↓"; }
th[aria-sort=ascending] button::after { content: " ↑"; }
tbody th { font-weight: 400; white-space: nowrap; } .best { font-weight: 700; }
svg .front { fill: none; stroke: var(--accent); }
svg .other { fill: var(--soft); } #pareto { width: 100%; max-width: 760px; }
</style>"""
CONTROLS = """<div class="board">
<label>training samples<br><select id="size"></select></label>
<label>classifier<br><select id="classifier"></select></label>
<label>methods with<br><input id="text" placeholder="SVM | LDA"></label>
<span id="count" class="soft" role="status"></span></div>
<fieldset id="sets"><legend>sets</legend></fieldset>
<div class="wide"><table><thead><tr id="head"></tr></thead><tbody id="body"></tbody>
</table></div>
<p class="soft">Accuracy in %, means over the splits; the best of a column is bold. A
click on a heading sorts. rank: mean rank over the sets, of methods with results on all.
seconds: mean over the sets of the median fit, the choice of settings included. Settings
are chosen on training samples alone. The address of this page keeps the view.</p>
"""


def leaderboard(rows, command="tensorcrp compare --preset real --out DIR"):
    """The page.

    Parameters
    ----------
    rows : list of dict
    command : str
        What made the rows.

    Returns
    -------
    str
    """
    rows = Rows(rows)
    script = (
        files("tensorcrp.experiments").joinpath("leaderboard.js").read_text("utf-8")
    )
    # In a script element, "</" could end it.
    data = json.dumps(board_data(rows)).replace("<", "\\u003c")
    plot = '<svg id="pareto" role="img" aria-label="accuracy over time" '
    plot += 'viewBox="0 0 760 420"></svg>'
    parts = [
        Part("All methods, all sets", STYLE + CONTROLS),
        Part("Time and accuracy", f'<div class="wide">{plot}</div>'),
        *_diagrams(rows),
    ]
    last = (
        f'<script type="application/json" id="rows">{data}</script>'
        f"<script>{script}</script>"
    )
    parts.append(Part("Add a method", f"<p>{_how(command)}</p>{last}"))
    return page("Leaderboard", parts, command=command)


def _how(command):
    words = escape(f"{command} --methods module:Class")
    return (
        f"<code>{words}</code> adds a class of yours, with scikit-learn's interface, "
        "to the rows in DIR; finished runs are not computed again."
    )


def board_data(rows):
    """What the page holds: {size: {classifier: {method: {set: [mean, std, s]}}}}."""
    sizes, classifiers = evidence_sizes(rows), (HEADLINE, "SVM")
    cells = {str(s): {c: _cells(rows, s, c) for c in classifiers} for s in sizes}
    return {
        "sets": rows.data(),
        "sizes": list(map(str, sizes)),
        "words": {str(size): size_words(size) for size in sizes},
        "classifiers": list(classifiers),
        "cells": cells,
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


def _diagrams(rows):
    """Critical-difference diagrams, one per training size, where there is enough."""
    drawn = []
    for train in evidence_sizes(rows):
        found = Evidence(rows, train)
        methods = found.complete()[:MOST_RANKED]
        if len(methods) >= 3 and len(found.sets) >= 2:
            drawn.append(_diagram(found, methods))
    words = f"""<p class="soft">Mean ranks over the sets, of the {MOST_RANKED} methods
with the best means. A bar joins methods that Nemenyi's test does not tell apart
(J. Demsar, Journal of Machine Learning Research 7, 2006).</p>"""
    return [Part("Mean ranks", words + "".join(drawn))] if drawn else []


def _diagram(found, methods):
    means = [[found.score(d, m).mean for m in methods] for d in found.sets]
    names = list(map(label, methods))
    display = ComparisonDisplay(means, methods=names, data_sets=found.sets)
    figure = display.plot(kind="ranks").figure_
    source = b64encode(image(figure, "svg")).decode()
    ranks = ", ".join(f"{m} {r:.1f}" for m, r in found.ranks().items() if m in methods)
    words = escape(f"mean ranks, {size_words(found.train)}: {ranks}")
    return (
        f"<h3>{escape(size_words(found.train))}</h3><div class='wide'><img "
        f'class="figure" alt="{words}" src="data:image/svg+xml;base64,{source}"></div>'
    )
