"""The frame of every report, and small pieces of HTML.

In: texts, numbers and arrays of pixels. Out: HTML. Every text is escaped here.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from html import escape

from tensorcrp import __version__
from tensorcrp.base.pixels import png_address, strip

STYLE = """
:root { color-scheme: light dark; --ink: #1f2328; --soft: #59636e; --line: #d1d9e0;
  --page: #ffffff; --panel: #f3f5f7; --accent: #0b6bcb; --bad: #b3261e;
  --edge: #7d8793; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e8eb; --soft: #9aa4af;
  --line: #3a424c; --page: #14171a; --panel: #1e2328; --accent: #6cb2ff;
  --bad: #ff8a80; --edge: #76808c; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 62rem; padding: 1.5rem 1rem 4rem; color: var(--ink);
  background: var(--page); font: 16px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.6rem; margin: 0 0 .3rem; }
h2 { font-size: 1.2rem; margin: 2.2rem 0 .6rem; }
h3 { font-size: 1rem; margin: 1.4rem 0 .4rem; }
a { color: var(--accent); }
code { font: .85em ui-monospace, monospace; overflow-wrap: anywhere; }
.soft { color: var(--soft); font-size: .9rem; }
.wide { overflow-x: auto; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
caption { text-align: left; font-weight: 600; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .25rem .7rem; text-align: left; border-bottom: 1px solid var(--line);
  vertical-align: top; }
thead th { color: var(--soft); font-weight: 600; }
tbody th { font-weight: 400; }
.scores th, .scores td { white-space: nowrap; }
.tiles { display: flex; flex-wrap: wrap; gap: .8rem; margin: 1rem 0; }
.tile { background: var(--panel); border-radius: .5rem; padding: .6rem 1rem; }
.tile b { display: block; font-size: 1.5rem; }
.cell { text-align: center; min-width: 3rem; }
.strip { image-rendering: pixelated; display: block; max-width: 100%; height: auto;
  border-radius: .25rem; background: var(--panel); }
.film { margin: 0 0 1rem; } .film figcaption { font-size: .85rem; color: var(--soft);
  overflow-wrap: anywhere; }
.bad { color: var(--bad); }
svg text { fill: var(--ink); font: 12px system-ui, sans-serif; }
svg .rule { stroke: var(--line); } svg .dot { fill: var(--accent); }
svg .bar { stroke: var(--accent); stroke-width: 2; }
svg .guess0 { stroke: var(--bad); stroke-dasharray: 6 4; }
svg .guess1 { stroke: var(--bad); stroke-dasharray: 1 4; stroke-width: 2;
  stroke-linecap: round; }
svg .halo { paint-order: stroke; stroke: var(--page); stroke-width: 5px; }
svg .area { fill: var(--accent); } svg .curve { fill: none; stroke: var(--accent);
  stroke-width: 2; }
svg.plot { display: block; width: 100%; max-width: 35rem; }
img.figure { max-width: 100%; background: #fff; border-radius: .5rem; }
"""


@dataclass(frozen=True)
class Part:
    """A heading and the HTML below it."""

    title: str
    html: str


def page(title, parts, command=""):
    """One HTML page: title, command, date, and parts in their order.

    Paths may hold bytes that are no UTF-8, which no page can: they are spelled out.
    """
    date = datetime.now().astimezone().strftime("%Y-%m-%d %H:%M %Z")
    shown = f"<p><code>{escape(command)}</code></p>" if command else ""
    body = "".join(f"<h2>{escape(p.title)}</h2>{p.html}" for p in parts)
    text = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<title>{escape(title)}</title><link rel="icon" href="data:,">'
        f"<style>{STYLE}</style></head><body><main>"
        f"<h1>{escape(title)}</h1>{shown}"
        f'<p class="soft">tensorcrp {__version__}, {escape(date)}</p>'
        f"{body}</main></body></html>\n"
    )
    return text.encode("utf-8", "backslashreplace").decode()


def wide(html, label):
    """HTML in a box that scrolls by itself, by mouse and by keyboard."""
    return (
        f'<div class="wide" role="region" aria-label="{escape(label)}" tabindex="0">'
        f"{html}</div>"
    )


def tiles(pairs):
    """Large numbers with a line below each."""
    inside = "".join(
        f'<div class="tile"><b>{escape(value)}</b>'
        f'<span class="soft">{escape(words)}</span></div>'
        for value, words in pairs
    )
    return f'<div class="tiles">{inside}</div>'


def rows_table(header, rows):
    """A table of texts that scrolls by itself on a narrow screen."""
    head = "".join(f'<th scope="col">{escape(str(each))}</th>' for each in header)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(str(cell))}</td>" for cell in row) + "</tr>"
        for row in rows
    )
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return wide(table, ", ".join(map(str, header)))


def confusion_table(classes, confusion):
    """True class down, predicted class across, shaded by the share of the row."""
    head = "".join(f'<th scope="col">{escape(str(each))}</th>' for each in classes)
    lines = []
    for i, (name, row) in enumerate(zip(classes, confusion, strict=True)):
        total = max(1, int(row.sum()))
        cells = "".join(_shaded(int(n), n / total, i == j) for j, n in enumerate(row))
        lines.append(f'<tr><th scope="row">{escape(str(name))}</th>{cells}</tr>')
    corner = '<th scope="col">class</th>'
    table = (
        f"<table><thead><tr>{corner}{head}</tr></thead>"
        f"<tbody>{''.join(lines)}</tbody></table>"
    )
    return wide(table, "true class by predicted class")


def _shaded(number, share, right):
    colour = "var(--accent)" if right else "var(--bad)"
    fill = f"color-mix(in srgb, {colour} {45 * share:.0f}%, transparent)"
    return f'<td class="cell" style="background:{fill}">{number or "·"}</td>'


# --- pictures ---------------------------------------------------------------------


def film(pixels, caption, most=8, signed=False):
    """A sample as a strip of frames with a caption, or an empty text.

    Parameters
    ----------
    pixels : ndarray of shape (time, row, column[, 3]) or (row, column[, 3])
        Any range of values; it is stretched to black and white.
    caption : str
    most : int, default=8
        Frames to show.
    signed : bool, default=False
        Draw zero in the middle of the gray scale.
    """
    source = png_address(strip(pixels, most, signed))
    words = escape(caption)
    return (
        f'<figure class="film"><img class="strip" alt="{words}" src="{source}">'
        f"<figcaption>{words}</figcaption></figure>"
    )
