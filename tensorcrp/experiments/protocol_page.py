"""Tables of published protocols, and the page that shows them.

In: rows. Out: tables, and Markdown. Published figures are in `protocols`.
"""

import numpy as np

from tensorcrp.base.results import size_words
from tensorcrp.experiments.protocols import (
    CAI_SPLITS,
    PROTOCOL_EXPERIMENTS,
    PUBLISHED,
    SLOW_SPLITS,
    methods_at,
)
from tensorcrp.experiments.store import CPU
from tensorcrp.experiments.summaries import ORDER
from tensorcrp.experiments.tables import Score, Table, best_in_columns

HEAD = """# Published protocols

Sets split as others split them, beside what they report. This page is made from the
rows in `docs/results/protocols.jsonl` by

    TENSORCRP_DATA=FOLDER tensorcrp reproduce {names} --out DIR --page docs/protocols.md

which resumes where it was stopped; a test checks that the tables are what the rows say.
`--per-class N ...`, `--splits N` and `--methods NAME ...` run a part of it. The column
*splits* says how many were run ({cai} random ones are the protocol of the faces, {few}
for TensorCRP, which takes longest); means of few splits are less certain. Every setting
was chosen on training samples alone.
"""
SECTIONS = {
    "yaleb": "Extended Yale B, D. Cai's protocol",
    "orl": "ORL, D. Cai's protocol",
    "uea": "UEA archive, its own splits",
    "people": "One person left out",
    "indian_pines": "Indian Pines, apart in space",
}


def protocol_page(rows):
    """The whole page.

    Parameters
    ----------
    rows : ResultRows

    Returns
    -------
    str
        Markdown.
    """
    parts = [_head(), _time(rows)]
    for name, title in SECTIONS.items():
        tables = protocol_tables(name, rows)
        if tables:
            parts += [f"## {title}", *(table.markdown() for table in tables)]
    missing = [f"- {line}" for name in SECTIONS for line in not_run(name, rows)]
    if missing:
        parts += ["## What was not run", "\n".join(missing)]
    return "\n\n".join(part.strip() for part in parts if part.strip()) + "\n"


def _head():
    return HEAD.format(names=" ".join(SECTIONS), cai=CAI_SPLITS, few=SLOW_SPLITS)


def _time(rows):
    """How long the runs took."""
    seconds = sum(row.get(CPU, 0.0) for row in rows.all)
    return f"The {len(rows.all)} runs took {seconds / 60:.1f} minutes of one processor."


def not_run(name, rows):
    """Lines of an experiment: sets and sizes without rows, methods without rows."""
    how = PROTOCOL_EXPERIMENTS[name]
    for data in how.sets:
        for train in how.sizes:
            names = methods_at(name, train)
            lost = [each for each in names if not rows.cell(data, train, each)]
            what = "all methods" if len(lost) == len(names) else ", ".join(lost)
            if lost:
                yield f"{data}, {size_words(train)}: {what}"


def protocol_tables(name, rows):
    """Tables of one experiment: methods down, classifiers across."""
    how = PROTOCOL_EXPERIMENTS[name]
    found = [(data, train) for data in how.sets for train in rows.sizes(data)]
    return [_table(how, rows, data, train) for data, train in found]


def _table(how, rows, data, train):
    published = [f for f in PUBLISHED if (f.data, f.train) == (data, train)]
    found = {*rows.classifiers(data, train), *(f.classifier for f in published)}
    classifiers = sorted(found, key=ORDER.index)
    names = [n for n in rows.methods() if rows.cell(data, train, n)]
    lines = [_line(rows, (data, train, name), classifiers) for name in names]
    lines.sort(key=lambda line: -max(s.mean for s in line if isinstance(s, Score)))
    best = best_in_columns(lines, tuple(range(1, 1 + len(classifiers))))
    lines += [_published_line(each, classifiers) for each in published]
    return Table(
        _title(rows, data, train, names),
        ["method", *classifiers, "splits", "source"],
        lines,
        f"{how.words} {_note(published)}",
        best,
        optional=("source",),
    )


def _line(rows, place, classifiers):
    scores = [rows.score(*place, each, "honest") for each in classifiers]
    scores = ["-" if score is None else score for score in scores]
    return [place[2], *scores, str(len(rows.cell(*place))), "run here"]


def _note(published):
    """How to read the table, and the sources of published figures."""
    words = "Best first by the larger of the means; * is best of its column. SVMs are "
    words += "classifiers themselves, with one figure for 1-NN and centroid or SVM."
    if not published:
        return f"{words} We know of no published figure for this split."
    sources = "; ".join(dict.fromkeys(each.source for each in published))
    return f"{words} Published figures come last. Source: {sources}."


def _published_line(figure, classifiers):
    same = [name == figure.classifier for name in classifiers]
    cells = [figure.words if here else "-" for here in same]
    return [figure.method, *cells, "-", "published"]


def _title(rows, data, train, names):
    cell = rows.cell(data, train, names[0])
    chance = 100 / cell[0]["n_classes"]
    shares = [
        100 * row["majority"] / row["n_test"] for row in cell if "majority" in row
    ]
    sizes = sorted({row["n_test"] for row in cell})
    tested = f"{sizes[0]}" if len(sizes) == 1 else f"{sizes[0]} to {sizes[-1]}"
    return (
        f"{data}, {size_words(train)}: accuracy in %, {tested} test samples (chance "
        f"{chance:.1f}, always the largest class {np.mean(shares):.1f})"
    )
