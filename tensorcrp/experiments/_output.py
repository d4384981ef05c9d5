"""A folder of results: tables in three forms, figures in two, one report.

In: tables and rows. Out: files, each replaced whole.
"""

import html
import re
from base64 import b64encode

from tensorcrp import __version__
from tensorcrp._results import size_words
from tensorcrp.experiments import _figures
from tensorcrp.experiments._errors import BadRequest
from tensorcrp.experiments._judges import JUDGES
from tensorcrp.experiments._methods import library_methods
from tensorcrp.experiments._rows import write_whole

STYLE = """
body { font-family: sans-serif; max-width: 70em; margin: 2em auto; color: #222; }
table { border-collapse: collapse; } th, td { padding: .2em .7em; text-align: left; }
thead { border-bottom: 2px solid #222; } tbody tr:nth-child(even) { background: #eee; }
img { max-width: 100%; }
"""


def write_all(folder, title, tables, rows, figures=None):
    """Write tables, figures and the report; figures need the extra ``plot``."""
    for name in ("tables", "figures"):
        (folder / name).mkdir(exist_ok=True)
    for i, table in enumerate(tables, start=1):
        write_whole(
            folder / "tables" / f"{i:02d}_{_slug(table.title)}.csv", table.csv()
        )
    for ending, form in {"md": "markdown", "tex": "latex"}.items():
        text = "\n".join(getattr(table, form)() for table in tables)
        write_whole(folder / f"tables.{ending}", text)
    figures = comparison_figures(rows) if figures is None else figures
    images = {name: _write_figure(folder, name, draw) for name, draw in figures.items()}
    write_whole(folder / "report.html", report(title, tables, images, rows.skipped()))


def check_drawing():
    """Refuse to start work whose figures could not be drawn."""
    try:
        _figures.new_figure()
    except ImportError as error:
        raise BadRequest(str(error)) from error


def comparison_figures(rows):
    """Names and drawings of the figures of a comparison."""
    names = list(library_methods())
    figures = {}
    for data in rows.data():
        slug = _slug(data)
        for judge in JUDGES:
            last = rows.sizes(data)[-1]
            figures[f"{slug}_{judge}_bars"] = _bars(rows, data, last, judge, names)
            if len(rows.sizes(data)) > 1:
                figures[f"{slug}_{judge}_sizes"] = _sizes(rows, data, judge, names)
    return figures


def _bars(rows, data, train, judge, names):
    return lambda: _figures.bars(rows, data, train, judge, names)


def _sizes(rows, data, judge, names):
    return lambda: _figures.over_sizes(rows, data, judge, names)


def _write_figure(folder, name, draw):
    """Draw one figure, keep it in both forms, hand the PNG on."""
    figure = draw()
    images = {kind: _figures.image(figure, kind) for kind in ("svg", "png")}
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
    missing = "".join(
        f"<li>{html.escape(f'{data}, {size_words(train)}, {names}: {reason}')}</li>"
        for data, train, names, reason in skipped
    )
    missing = f"<h2>Skipped</h2><ul>{missing}</ul>" if missing else ""
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f"<title>{html.escape(title)}</title><style>{STYLE}</style></head><body>"
        f"<h1>{html.escape(title)}</h1><p>tensorcrp {__version__}</p>"
        f"{''.join(table.html() for table in tables)}{drawn}{missing}</body></html>\n"
    )


def _slug(text):
    return re.sub(r"[^A-Za-z0-9.]+", "_", text).strip("_.")[:60]
