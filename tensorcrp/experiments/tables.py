"""One table, five forms: text, Markdown, CSV, LaTeX, HTML.

In: cells as strings or `Score`; out: a string. Nothing here knows what is in the cells.
"""

import csv
import html
import io
import re
import textwrap
import unicodedata
from dataclasses import dataclass, field
from itertools import chain
from typing import NamedTuple

from tensorcrp.report.html_page import wide

TERMINAL = 80  # of a terminal


class Score(NamedTuple):
    """Mean and standard deviation of accuracies in %."""

    mean: float
    std: float | None = None


@dataclass(frozen=True)
class Table:
    """A title, a line above each column, rows of cells, the best cells, notes.

    Attributes
    ----------
    note : str
        How to read the table, and others like it.
    warning : str
        What is wrong with this table.
    best : set of (int, int)
        Row and column of cells to mark.
    optional : tuple of str
        Columns that a terminal does without, the first to go first, until the table
        is narrow enough.
    """

    title: str
    header: list
    body: list
    note: str = ""
    best: set = field(default_factory=set)
    optional: tuple = ()
    warning: str = ""

    def _lines(self, plus, mark, quote):
        """Header and cells as strings: `quote` for words, `mark` for the best."""
        lines = [[quote(printable(name)) for name in self.header]]
        for i, line in enumerate(self.body):
            texts = [_text(cell, plus, quote) for cell in line]
            lines.append(
                [mark(t) if (i, j) in self.best else t for j, t in enumerate(texts)]
            )
        return lines

    def text(self, width=TERMINAL, noted=True):
        """Columns for a terminal; the best is followed by a star."""
        lines, _ = self._narrowed(self._starred(), width)
        widths = [max(map(text_width, column)) for column in zip(*lines, strict=True)]
        ruled = ["  ".join(map(padded, line, widths)).rstrip() for line in lines]
        rule = "-" * (sum(widths) + 2 * (len(widths) - 1))
        title = wrapped(printable(self.title), width)
        notes = self.sentences(width) if noted else []
        below = wrapped(" ".join([*notes, self.warning]), width)
        parts = [*title, "", ruled[0], rule, *ruled[1:]]
        return "\n".join([*parts, *(["", *below] if below else [])]) + "\n"

    def sentences(self, width=TERMINAL):
        """The sentences of the note, and which columns a terminal has no room for."""
        _, left_out = self._narrowed(self._starred(), width)
        found = re.split(r"(?<=\.) ", self.note) if self.note else []
        if left_out:
            names = ", ".join(dict.fromkeys(left_out))
            found.append(f"Not shown: {names} (--out has all columns).")
        return found

    def _starred(self):
        return self._lines(" +- ", lambda cell: cell + "*", str)

    def _notes(self):
        """Note and warning of a table whose best cells are bold."""
        words = " ".join(each for each in (self.note, self.warning) if each)
        return words.replace("* is best", "bold is best")

    def _narrowed(self, lines, width):
        """Lines without optional columns that they have no room for, and which."""
        left_out = []
        for name in self.optional:
            found = list(zip(*lines, strict=True))
            if sum(max(map(text_width, c)) + 2 for c in found) - 2 <= width:
                break
            i = [column[0] for column in found].index(printable(name))
            lines = [[*line[:i], *line[i + 1 :]] for line in lines]
            left_out.append(name)
        return lines, left_out

    def markdown(self):
        """GitHub's tables; the best is bold."""
        lines = self._lines(" ± ", lambda cell: f"**{cell}**", _in_markdown)
        lines.insert(1, ["---"] * len(self.header))
        table = "\n".join("| " + " | ".join(line) + " |" for line in lines)
        note = f"\n\n{self._notes()}" if self._notes() else ""
        return f"**{printable(self.title)}**\n\n{table}{note}\n"

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
        writer.writerow(map(printable, chain.from_iterable(names)))
        for line in self.body:
            cells = [_values(c, w) for c, w in zip(line, wide, strict=True)]
            writer.writerow(chain.from_iterable(cells))
        return out.getvalue()

    def latex(self):
        """A table environment; the best is bold."""
        lines = self._lines(r" $\pm$ ", lambda cell: rf"\textbf{{{cell}}}", _in_latex)
        ruled = [" & ".join(line) + r" \\" for line in lines]
        columns = "l" * len(self.header)
        return "\n".join(
            [
                r"\begin{table}",
                rf"\caption{{{_in_latex(printable(self.title))}}}",
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
        lines = self._lines("\u00a0±\u00a0", "<b>{}</b>".format, html.escape)
        head = "".join(f'<th scope="col">{name}</th>' for name in lines[0])
        body = "".join(map(_html_row, lines[1:]))
        title = printable(self.title)
        table = f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody>"
        table = f'<table class="scores">{table}</table>'
        note = html.escape(self._notes())
        note = f'<p class="soft">{note}</p>' if note else ""
        return f"<h3>{html.escape(title)}</h3>{wide(table, title)}{note}\n"


def texts(tables, width=TERMINAL):
    """Tables for a terminal, one after the other; notes once, below the last."""
    notes = [each for table in tables for each in table.sentences(width)]
    below = wrapped(" ".join(dict.fromkeys(notes)), width)
    parts = [table.text(width, noted=False) for table in tables]
    return "\n".join(parts) + ("\n".join(["", *below]) + "\n" if below else "")


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
    """Positions of the largest mean of each of these columns with several scores."""
    turned = [[line[j] for line in lines] for j in columns]
    several = [sum(isinstance(cell, Score) for cell in column) > 1 for column in turned]
    turned = [column if s else [] for column, s in zip(turned, several, strict=True)]
    return {(i, columns[j]) for j, i in best_in_lines(turned)}


def printable(text):
    """Escape line breaks, control characters and bytes that are no UTF-8.

    All of them can be in the name of a file; none can be in a line of a table.
    """
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def text_width(text):
    """Columns of a terminal: most of Chinese, Japanese and Korean letters take two."""
    wide = sum(unicodedata.east_asian_width(letter) in "WF" for letter in text)
    marks = sum(unicodedata.category(letter) in ("Mn", "Me") for letter in text)
    return len(text) + wide - marks  # accents that are letters of their own take none


def padded(text, width):
    """A text and blanks, in so many columns of a terminal."""
    return text + " " * (width - text_width(text))


def wrapped(text, width=TERMINAL):
    """Lines; a long path stays whole."""
    how = {"break_on_hyphens": False, "break_long_words": False}
    return textwrap.wrap(text, width, **how)


def _text(cell, plus, quote):
    if not isinstance(cell, Score):
        return quote(printable(str(cell)))
    mean = f"{cell.mean:.1f}"
    return mean if cell.std is None else f"{mean}{plus}{cell.std:.1f}"


def _values(cell, wide):
    if isinstance(cell, Score):
        std = "" if cell.std is None else f"{cell.std:.4f}"
        return [f"{cell.mean:.4f}", std]
    text = printable(str(cell))
    return [text, ""] if wide else [text]


def _in_markdown(text):
    return text.replace("|", r"\|")


def _html_row(line):
    cells = "".join(f"<td>{cell}</td>" for cell in line[1:])
    return f'<tr><th scope="row">{line[0]}</th>{cells}</tr>'


LATEX = {sign: "\\" + sign for sign in "_%&#${}"} | {
    "\\": r"\textbackslash{}",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
}


def _in_latex(text):
    return text.translate(str.maketrans(LATEX))
