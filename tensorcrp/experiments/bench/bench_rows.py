"""Rows of a bench and their table. In: rows. Out: text."""

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Row:
    """One method in one case.

    Attributes
    ----------
    case, method : str
    seconds : float
    ratio : float
        `seconds` over those of the reference of the case.
    megabytes : float or None
        Peak memory beyond the samples.
    objective : float or None
    bar : str
        What the ratio has to be, if anything.
    met : bool or None
    note : str
    """

    case: str
    method: str
    seconds: float | None = None
    ratio: float | None = None
    megabytes: float | None = None
    objective: float | None = None
    bar: str = ""
    met: bool | None = None
    note: str = ""

    def at_most(self, limit):
        """The same, with a bar for its ratio."""
        return replace(self, bar=f"at most {limit:g}", met=bool(self.ratio <= limit))

    def at_least(self, limit):
        """The same, with a bar for its ratio."""
        return replace(self, bar=f"at least {limit:g}", met=bool(self.ratio >= limit))


BENCH_COLUMNS = ("method", "seconds", "ratio", "MB", "objective", "bar", "note")


def table(rows):
    """Markdown of the rows of one case."""
    lines = [f"### {rows[0].case}", "", "| " + " | ".join(BENCH_COLUMNS) + " |"]
    lines.append("|" + "---|" * len(BENCH_COLUMNS))
    lines += ["| " + " | ".join(_cells(row)) + " |" for row in rows]
    return "\n".join([*lines, ""])


def _cells(row):
    bar = row.bar
    if row.met is not None:
        bar += ": met" if row.met else ": NOT met"
    figures = (row.seconds, row.ratio, row.megabytes, row.objective)
    return [row.method, *(_figure(f) for f in figures), bar, row.note]


def _figure(value):
    return "" if value is None else f"{value:.3g}"
