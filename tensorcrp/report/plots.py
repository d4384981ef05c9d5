"""Plots of a report as SVG that fits a phone: dots, signed bars, curves.

In: names and numbers. Out: HTML. A plot is as wide as its box and at most 35 rem; at
400 pixels its letters are still 11 pixels high.
"""

from __future__ import annotations

from html import escape

import numpy as np

WIDTH, LEFT, RIGHT = 400, 148, 50  # of a plot, of its names, of its values
STEP, LABEL, FOOT = 26, 17, 26  # heights of a row, of a label above, of the ticks
DASHES = ("dashed", "dotted")


def dots(rows, guesses, title="accuracy"):
    """A dot with an interval per row, sorted as given; a line per way of guessing.

    Parameters
    ----------
    rows : list of (str, float, float, float)
        Name, value, lower and upper end, in %.
    guesses : list of (str, float)
        Name and value of at most two lines, which differ in their dashes. Equal ones
        become one line.
    title : str
        What is drawn, for readers who do not see it.
    """
    guesses = _merged(guesses)
    top = LABEL * len(guesses)
    bottom = top + STEP * len(rows)
    drawn = [_tick(value, top, bottom) for value in (0, 25, 50, 75, 100)]
    drawn += [_guess(i, *each, bottom) for i, each in enumerate(guesses)]
    for i, row in enumerate(rows):
        drawn.append(_dot(top + STEP * i + STEP // 2, *row))
    words = ", ".join(f"{name} {value:.1f} %" for name, value, *_ in rows)
    lines = "; ".join(
        f"{DASHES[i]}: {name} {value:.1f} %" for i, (name, value) in enumerate(guesses)
    )
    svg = _plot(drawn, bottom + FOOT, f"{title}: {words}")
    return f'{svg}<p class="soft">{escape(lines)}</p>'


def _merged(guesses):
    """Lines at the same place are one line with both names."""
    if len(guesses) == 2 and abs(guesses[0][1] - guesses[1][1]) < 0.05:
        return [(f"{guesses[0][0]}, {guesses[1][0]}", guesses[0][1])]
    return sorted(guesses, key=lambda each: each[1])  # labels right of earlier lines


def _across(share):
    """Where a share from 0 to 1 lies between the names and the values."""
    return LEFT + (WIDTH - LEFT - RIGHT) * share


def _tick(value, top, bottom):
    x = f"{_across(value / 100):.1f}"
    return (
        f'<line class="rule" x1="{x}" x2="{x}" y1="{top}" y2="{bottom}"/>'
        f'<text x="{x}" y="{bottom + 16}" text-anchor="middle">{value}</text>'
    )


def _guess(i, name, value, bottom):
    """A line whose label stands beside its upper end, in a row of its own."""
    x, right = _across(value / 100), value > 40
    place = f'x="{x - 5 if right else x + 5:.1f}" y="{LABEL * i + 12}"'
    anchor = "end" if right else "start"
    return (
        f'<line class="guess{i}" x1="{x:.1f}" x2="{x:.1f}" y1="{LABEL * i + 2}" '
        f'y2="{bottom}"/><text class="halo" {place} text-anchor="{anchor}">'
        f"{escape(name)}</text>"
    )


def _dot(y, name, value, low, high):
    low, value_at, high = (f"{_across(v / 100):.1f}" for v in (low, value, high))
    return (
        f"{_name(name, y)}"
        f'<line class="bar" x1="{low}" x2="{high}" y1="{y}" y2="{y}"/>'
        f'<circle class="dot" cx="{value_at}" cy="{y}" r="5"/>'
        f'<text x="{WIDTH - RIGHT + 10}" y="{y + 4}">{value:.1f}</text>'
    )


def signed_bars(names, values, title):
    """A bar per name from zero in the middle to its value, in shares of the largest.

    Parameters
    ----------
    names : sequence of str
    values : ndarray of shape (n,)
    title : str
        What is drawn, for readers who do not see it.
    """
    shares = np.asarray(values, float) / (np.abs(values).max() or 1.0)
    step, middle = 18, _across(0.5)
    bottom = step * len(shares)
    drawn = [
        f'<line class="rule" x1="{middle}" x2="{middle}" y1="0" y2="{bottom}"/>',
    ]
    for i, (name, share) in enumerate(zip(names, shares, strict=True)):
        ends = sorted([middle, _across(0.5 + 0.5 * share)])
        drawn.append(
            f"{_name(name, step * i + step // 2)}"
            f'<rect class="area" x="{ends[0]:.1f}" y="{step * i + 3}" '
            f'width="{ends[1] - ends[0]:.1f}" height="{step - 6}"/>'
            f'<text x="{WIDTH - RIGHT + 10}" y="{step * i + 13}">{share:+.2f}</text>'
        )
    return _plot(drawn, bottom + 4, title)


def curve(values, places, title):
    """A curve over places such as times, with zero and the ends of the places.

    Parameters
    ----------
    values, places : ndarrays of shape (n,)
    title : str
        What is drawn, for readers who do not see it.
    """
    values, places, height = np.asarray(values, float), np.asarray(places, float), 90
    shares = values / (np.abs(values).max() or 1.0)
    along = (places - places[0]) / (np.ptp(places) or 1.0)
    points = " ".join(
        f"{_across(x):.1f},{height / 2 * (1 - 0.95 * y):.1f}"
        for x, y in zip(along, shares, strict=True)
    )
    ends = f'x1="{_across(0)}" x2="{_across(1)}" y1="{height / 2}" y2="{height / 2}"'
    drawn = [f'<line class="rule" {ends}/><polyline class="curve" points="{points}"/>']
    for share in (0.0, 0.5, 1.0):
        at = places[0] + share * (places[-1] - places[0])
        drawn.append(
            f'<text x="{_across(share)}" y="{height + 16}" text-anchor="middle">'
            f"{at:.3g}</text>"
        )
    return _plot(drawn, height + FOOT, title)


def _name(name, y):
    # Both ends: names often differ in one of them only.
    short = name if len(name) <= 18 else f"{name[:8]}…{name[-9:]}"
    return f'<text x="{LEFT - 12}" y="{y + 4}" text-anchor="end">{escape(short)}</text>'


def _plot(drawn, height, title):
    return (
        f'<svg class="plot" role="img" aria-label="{escape(title)}" '
        f'viewBox="0 0 {WIDTH} {height}">{"".join(drawn)}</svg>'
    )
