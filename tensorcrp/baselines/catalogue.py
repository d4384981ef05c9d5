"""What is known of a baseline besides its class, and the tables made of it.

In: the entries of `tensorcrp.baselines.BASELINES`. Out: tables in reStructuredText and
in Markdown, one row per method. Model files, comparisons, documentation and tests read
the entries too, so that a new baseline is registered in one place.

The rules say what the fitted attributes of a saved model are: their names, and their
kinds in the words of `tensorcrp.persistence` (``array h P``: an array of h rows and P
columns). What is set on every estimator, as ``sample_shape_``, needs no rule.
"""

from dataclasses import dataclass

LABELLED = {"classes_": "labels c"}
ITERATES = {"history_": "history", "n_iter_": "integer"}
FACTORS = {"factors_": "modes l _", "objective_": "number"}
CENTRED = {**FACTORS, "mean_": "array *"}
DISCRIMINANT = {**FACTORS, **LABELLED}
PROJECTIONS = {"components_": "array h *", "projections_": "array h P"}
ASCENT = {"factors_": "modes h l k", "n_iter_": "integer", **LABELLED}
RIDGE = {"lambda_": "number"}
RATIOS = {"objective_": "array h"}
HISTORIES = {"history_": "histories h"}

HEADER = ("method", "supervised", "projection", "features", "monotone", "streams")
PARTS_HEADER = ("method", "numerator, denominator", "rule", "schedule")


@dataclass(frozen=True)
class Baseline:
    """One method of `tensorcrp.baselines`: its row in the tables, its saved attributes.

    Parameters
    ----------
    cls : type
        The estimator. It can be made without arguments.
    saved : dict
        Rules of its fitted attributes, by name.
    supervised : {"yes", "no", "or not"}, default="yes"
        Whether it needs labels.
    projection, features : str, default="one factor per mode", "r_1 ... r_N"
        What a sample is multiplied with, and how many features that gives.
    monotone : str, default="no"
        Whether the recorded objective gets better with every step: "yes" or "no";
        "exact" or "one pass" if there are no steps.
    streams : bool, default=True
        Whether ``partial_fit`` on batches gives what one ``fit`` gives.
    parts : tuple of three str, default=None
        Forms, rule and schedule of a method with one factor per mode.
    aliases : tuple of str, default=()
        Other names that `tensorcrp.baselines` has for the class.
    known_as : str, default=""
        Its name in papers, if that is another one.
    """

    cls: type
    saved: dict
    supervised: str = "yes"
    projection: str = "one factor per mode"
    features: str = "r_1 ... r_N"
    monotone: str = "no"
    streams: bool = True
    parts: tuple | None = None
    aliases: tuple = ()
    known_as: str = ""

    @property
    def name(self):
        """The name of the class."""
        return self.cls.__name__

    @property
    def row(self):
        """The cells of its row, without the name."""
        streams = "yes" if self.streams else "no"
        told = self.supervised, self.projection, self.features, self.monotone
        return *told, streams


def rst_tables(baselines):
    """Both tables of the methods, in reStructuredText: text by name."""
    parts = [(each.name, *each.parts) for each in baselines if each.parts]
    return {
        "methods": _rst(HEADER, [(each.name, *each.row) for each in baselines]),
        "parts": _rst(PARTS_HEADER, parts),
    }


def _rst(header, rows):
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    rule = tuple("=" * width for width in widths)
    lines = [rule, header, rule, *rows, rule]
    padded = (
        [cell.ljust(width) for cell, width in zip(line, widths, strict=True)]
        for line in lines
    )
    return "\n".join(" ".join(line).rstrip() for line in padded)


def markdown_table(baselines, *before):
    """The first table in Markdown; `before` are rows of other methods, as cells."""
    rows = [*before, *((_markdown_name(each), *each.row) for each in baselines)]
    lines = [HEADER, ["---"] * len(HEADER), *rows]
    text = "\n".join("| " + " | ".join(cells) + " |" for cells in lines)
    return text.replace("| --- ", "|---").replace("--- |", "---|")


def _markdown_name(baseline):
    names = ", ".join(f"`{name}`" for name in (baseline.name, *baseline.aliases))
    return f"{names} ({baseline.known_as})" if baseline.known_as else names
