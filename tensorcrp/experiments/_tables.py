"""One table, five forms: text, Markdown, CSV, LaTeX, HTML.

In: cells as strings or `Score`; out: a string. Nothing here knows what is in the cells.
"""

import csv
import html
import io
from dataclasses import dataclass, field
from itertools import chain
from typing import NamedTuple


class Score(NamedTuple):
    """Mean and standard deviation of accuracies in %."""

    mean: float
    std: float | None = None


@dataclass(frozen=True)
class Table:
    """A title, a line above each column, rows of cells, the best cells, a note.

    Attributes
    ----------
    best : set of (int, int)
        Row and column of cells to mark.
    """

    title: str
    header: list
    body: list
    note: str = ""
    best: set = field(default_factory=set)

    def _cells(self, plus, mark):
        return [
            [
                mark(_text(cell, plus)) if (i, j) in self.best else _text(cell, plus)
                for j, cell in enumerate(line)
            ]
            for i, line in enumerate(self.body)
        ]

    def text(self):
        """Columns for a terminal; the best is followed by a star."""
        lines = [self.header, *self._cells(" +- ", lambda cell: cell + "*")]
        widths = [max(len(line[j]) for line in lines) for j in range(len(self.header))]
        ruled = ["  ".join(map(str.ljust, line, widths)).rstrip() for line in lines]
        rule = "-" * (sum(widths) + 2 * (len(widths) - 1))
        parts = [self.title, "", ruled[0], rule, *ruled[1:]]
        return "\n".join([*parts, *(["", self.note] if self.note else [])]) + "\n"

    def markdown(self):
        """GitHub's tables; the best is bold."""
        cells = self._cells(" ± ", lambda cell: f"**{cell}**")
        lines = [self.header, ["---"] * len(self.header), *cells]
        table = "\n".join("| " + " | ".join(line) + " |" for line in lines)
        note = f"\n\n{self.note}" if self.note else ""
        return f"**{self.title}**\n\n{table}{note}\n"

    def csv(self):
        """Means and deviations in columns of their own; nothing is marked."""
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        wide = [
            any(isinstance(line[j], Score) for line in self.body)
            for j in range(len(self.header))
        ]
        pairs = zip(self.header, wide, strict=True)
        names = [[name, f"{name} std"] if w else [name] for name, w in pairs]
        writer.writerow(chain.from_iterable(names))
        for line in self.body:
            cells = [_values(c, w) for c, w in zip(line, wide, strict=True)]
            writer.writerow(chain.from_iterable(cells))
        return out.getvalue()

    def latex(self):
        """A table environment; the best is bold."""
        cells = self._cells(r" $\pm$ ", lambda cell: rf"\textbf{{{cell}}}")
        lines = [[_escaped(name) for name in self.header], *cells]
        ruled = [" & ".join(map(_percent, line)) + r" \\" for line in lines]
        columns = "l" * len(self.header)
        return "\n".join(
            [
                r"\begin{table}",
                rf"\caption{{{_escaped(self.title)}}}",
                rf"\begin{{tabular}}{{{columns}}}",
                r"\hline",
                ruled[0],
                r"\hline",
                *ruled[1:],
                r"\hline",
                r"\end{tabular}",
                r"\end{table}",
                "",
            ]
        )

    def html(self):
        """A table element; the best is bold."""
        cells = self._cells(" ± ", lambda cell: f"\0{cell}\1")
        head = "".join(f"<th>{html.escape(name)}</th>" for name in self.header)
        body = "".join(
            "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in line) + "</tr>"
            for line in cells
        )
        body = body.replace("\0", "<b>").replace("\1", "</b>")
        note = f"<p>{html.escape(self.note)}</p>" if self.note else ""
        return (
            f"<h3>{html.escape(self.title)}</h3><table><thead><tr>{head}</tr></thead>"
            f"<tbody>{body}</tbody></table>{note}\n"
        )


def best_in_lines(lines, columns=None):
    """Positions of the largest mean of each line (several if they are equal)."""
    best = set()
    for i, line in enumerate(lines):
        scores = {
            j: round(cell.mean, 1)
            for j, cell in enumerate(line)
            if isinstance(cell, Score) and (columns is None or j in columns)
        }
        top = max(scores.values(), default=None)
        best |= {(i, j) for j, mean in scores.items() if mean == top}
    return best


def best_in_columns(lines, columns):
    """Positions of the largest mean of each of these columns."""
    turned = [[line[j] for line in lines] for j in columns]
    return {(i, columns[j]) for j, i in best_in_lines(turned)}


def _text(cell, plus):
    if not isinstance(cell, Score):
        return str(cell)
    mean = f"{cell.mean:.1f}"
    return mean if cell.std is None else f"{mean}{plus}{cell.std:.1f}"


def _values(cell, wide):
    if isinstance(cell, Score):
        std = "" if cell.std is None else f"{cell.std:.4f}"
        return [f"{cell.mean:.4f}", std]
    return [str(cell), ""] if wide else [str(cell)]


def _escaped(text):
    for sign in "_%&#":
        text = text.replace(sign, "\\" + sign)
    return text


def _percent(cell):
    return cell if "\\" in cell else _escaped(cell)
