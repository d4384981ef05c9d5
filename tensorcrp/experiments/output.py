"""A folder of results: tables in three forms, figures in two, one report.

In: tables and rows. Out: files, each replaced whole.
"""

import html
import re
from base64 import b64encode
from contextlib import contextmanager
from contextvars import ContextVar
from hashlib import sha256

from tensorcrp.base.results import size_words
from tensorcrp.experiments.classifiers import COMPARED, OWN
from tensorcrp.experiments.errors import BadRequest
from tensorcrp.experiments.figures import bars, image, new_figure, over_sizes
from tensorcrp.experiments.samples_page import data_part, mistake_parts
from tensorcrp.experiments.store import check_file, check_folder, write_whole
from tensorcrp.experiments.summaries import rated_by
from tensorcrp.experiments.tables import printable
from tensorcrp.report.html_page import Part, page
from tensorcrp.report.plots import dots

LONGEST_NAME = 50
_typed = ContextVar("typed", default="")


@contextmanager
def typed(command):
    """Name a command in the head of the reports; those of Python have none."""
    before = _typed.set(command)
    try:
        yield
    finally:
        _typed.reset(before)


def write_all(folder, title, tables, rows, figures=None):
    """Write tables, figures and the report; figures need the extra ``plot``."""
    for i, table in enumerate(tables, start=1):
        write_whole(
            folder / "tables" / f"{i:02d}_{_slug(table.title)[:60]}.csv", table.csv()
        )
    for ending, form in {"md": "markdown", "tex": "latex"}.items():
        text = "\n".join(getattr(table, form)() for table in tables)
        write_whole(folder / f"tables.{ending}", text)
    compared = rows if figures is None else None
    figures = comparison_figures(rows) if figures is None else figures
    images = {name: _write_figure(folder, name, draw) for name, draw in figures.items()}
    skipped = rows.skipped_lines()
    write_whole(
        folder / "report.html", report(title, tables, images, skipped, compared)
    )


def check_output(path):
    """Make the folder of results; reject one that `write_all` would fail on later."""
    try:
        new_figure()
    except ImportError as error:
        raise BadRequest(str(error)) from error
    folder = check_folder(path)
    for name in ("tables", "figures"):
        check_folder(folder / name)
    for name in (
        "rows.jsonl",
        "tables.md",
        "tables.tex",
        "report.html",
        "leaderboard.html",
    ):
        check_file(folder / name)
    return folder


def comparison_figures(rows):
    """Names and drawings of the figures of a comparison."""
    names = rows.methods()
    figures = {}
    for data in rows.data():
        slug, last = file_name(data), rows.sizes(data)[-1]
        there = rows.classifiers(data, last)
        for classifier in (each for each in COMPARED if each in there):
            figures[f"{slug}_{classifier}_bars"] = _bars(
                rows, data, last, classifier, names
            )
            if len(rows.sizes(data)) > 1:
                figures[f"{slug}_{classifier}_sizes"] = _sizes(
                    rows, data, classifier, names
                )
    return figures


def _bars(rows, data, train, classifier, names):
    return lambda: bars(rows, data, train, classifier, names)


def _sizes(rows, data, classifier, names):
    return lambda: over_sizes(rows, data, classifier, names)


def _write_figure(folder, name, draw):
    """Draw one figure, keep it in both forms, hand the PNG on."""
    figure = draw()
    images = {kind: image(figure, kind) for kind in ("svg", "png")}
    for kind, data in images.items():
        write_whole(folder / "figures" / f"{name}.{kind}", data)
    return images["png"]


def report(title, tables, images, skipped, rows=None):
    """One HTML page with everything in it: no file or host beside it is needed.

    The rows of a comparison are drawn as dots, and data sets are read again for the
    names of classes and for pictures.
    """
    parts = []
    if rows is not None:
        parts = [Part("Accuracy", _dots(rows)), data_part(rows)]
    parts.append(Part("Tables", "".join(table.html() for table in tables)))
    if rows is not None:
        parts += mistake_parts(rows)
    else:  # figures of their own; a comparison is drawn as dots
        parts.append(
            Part("Figures", "".join(_figure(*pair) for pair in images.items()))
        )
    if skipped:
        missing = "".join(f"<li>{html.escape(line)}</li>" for line in skipped)
        parts.append(Part("Skipped", f"<ul>{missing}</ul>"))
    return page(title, parts, command=_typed.get())


def _figure(name, data):
    return (
        f'<figure><img class="figure" alt="{html.escape(name)}" '
        f'src="data:image/png;base64,{b64encode(data).decode()}"></figure>'
    )


def _dots(rows):
    """Methods of a comparison, best first: mean and deviation over the splits."""
    drawn = []
    for data in rows.data():
        for train in rows.sizes(data):
            for classifier in COMPARED:
                drawn.append(_dots_of(rows, data, train, classifier))
    return "".join(drawn)


def _dots_of(rows, data, train, classifier):
    cells = {name: rows.cell(data, train, name) for name in rows.methods()}
    first = classifier == COMPARED[0]  # there, methods that predict speak themselves
    by = {n: rated_by(c) if first else classifier for n, c in cells.items() if c}
    scores = {n: rows.score(data, train, n, each, "honest") for n, each in by.items()}
    found = [(name, s) for name, s in scores.items() if s is not None]
    classifier += " or own" if OWN in by.values() else ""
    if not found:
        return ""
    found.sort(key=lambda pair: -pair[1].mean)
    spans = [
        (name, s.mean, max(0, s.mean - (s.std or 0)), min(100, s.mean + (s.std or 0)))
        for name, s in found
    ]
    row = cells[found[0][0]][0]
    title = f"{data}, {size_words(train)}, {classifier}: mean and deviation, best first"
    guesses = [("chance", 100 / row["n_classes"])]
    if "majority" in row:
        share = 100 * row["majority"] / row["n_test"]
        guesses.append(("largest class", share))
    return (
        f"<h3>{html.escape(printable(title))}</h3>{dots(spans, guesses, title=title)}"
    )


def _slug(text):
    return re.sub(r"[^A-Za-z0-9.]+", "_", text).strip("_.")


def file_name(text):
    """A text as the name of a file of its own: other texts have other names.

    What is not letters, digits and dots goes, and so does the beginning of a long
    text; a checksum of all of it stays instead.
    """
    slug = _slug(text)
    if slug and slug == text and len(text) <= LONGEST_NAME:
        return text
    digest = sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:8]
    return f"{slug[-LONGEST_NAME:].lstrip('_.')}_{digest}"
