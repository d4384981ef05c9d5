"""A folder of results: tables in three forms, figures in two, one report.

In: tables and rows. Out: files, each replaced whole.
"""

import html
import re
from base64 import b64encode
from hashlib import sha256

from tensorcrp import __version__
from tensorcrp.experiments.classifiers import CLASSIFIERS
from tensorcrp.experiments.errors import BadRequest
from tensorcrp.experiments.figures import bars, image, new_figure, over_sizes
from tensorcrp.experiments.store import check_file, check_folder, write_whole

LONGEST_NAME = 50
STYLE = """
body { font-family: sans-serif; max-width: 70em; margin: 2em auto; color: #222; }
table { border-collapse: collapse; } th, td { padding: .2em .7em; text-align: left; }
thead { border-bottom: 2px solid #222; } tbody tr:nth-child(even) { background: #eee; }
img { max-width: 100%; }
"""


def write_all(folder, title, tables, rows, figures=None):
    """Write tables, figures and the report; figures need the extra ``plot``."""
    for i, table in enumerate(tables, start=1):
        write_whole(
            folder / "tables" / f"{i:02d}_{_slug(table.title)[:60]}.csv", table.csv()
        )
    for ending, form in {"md": "markdown", "tex": "latex"}.items():
        text = "\n".join(getattr(table, form)() for table in tables)
        write_whole(folder / f"tables.{ending}", text)
    figures = comparison_figures(rows) if figures is None else figures
    images = {name: _write_figure(folder, name, draw) for name, draw in figures.items()}
    skipped = rows.skipped_lines()
    write_whole(folder / "report.html", report(title, tables, images, skipped))


def check_output(path):
    """Make the folder of results; reject one that `write_all` would fail on later."""
    try:
        new_figure()
    except ImportError as error:
        raise BadRequest(str(error)) from error
    folder = check_folder(path)
    for name in ("tables", "figures"):
        check_folder(folder / name)
    for name in ("rows.jsonl", "tables.md", "tables.tex", "report.html"):
        check_file(folder / name)
    return folder


def comparison_figures(rows):
    """Names and drawings of the figures of a comparison."""
    names = rows.methods()
    figures = {}
    for data in rows.data():
        slug = file_name(data)
        for classifier in CLASSIFIERS:
            last = rows.sizes(data)[-1]
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


def report(title, tables, images, skipped):
    """One HTML page with everything in it: no file or host beside it is needed."""
    drawn = "".join(
        f'<figure><img alt="{html.escape(name)}" src="data:image/png;base64,'
        f'{b64encode(data).decode()}"></figure>'
        for name, data in images.items()
    )
    missing = "".join(f"<li>{html.escape(line)}</li>" for line in skipped)
    missing = f"<h2>Skipped</h2><ul>{missing}</ul>" if missing else ""
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f"<title>{html.escape(title)}</title><style>{STYLE}</style></head><body>"
        f"<h1>{html.escape(title)}</h1><p>tensorcrp {__version__}</p>"
        f"{''.join(table.html() for table in tables)}{drawn}{missing}</body></html>\n"
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
