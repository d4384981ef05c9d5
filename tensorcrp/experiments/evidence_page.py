"""Accuracy on real sets as text for the documentation and the README.

In: rows of ``tensorcrp compare --preset real``. Out: Markdown. No figure is typed by
hand: every sentence and table is a function of the rows. ``docs/evidence.py`` writes
them between two markers of a page.
"""

from tensorcrp.base.results import chosen, size_words
from tensorcrp.experiments.evidence import (
    CHOSEN_ON,
    HEADLINE,
    PART,
    REFERENCE,
    Evidence,
    evidence_sizes,
)
from tensorcrp.experiments.evidence_tables import (
    gaps_table,
    sets_table,
    summary_table,
)
from tensorcrp.experiments.evidence_words import in_short, numbers_of_splits
from tensorcrp.experiments.methods import ONE_START
from tensorcrp.experiments.mistakes import FIELD
from tensorcrp.experiments.store import CPU
from tensorcrp.experiments.summaries import ResultRows
from tensorcrp.experiments.tables import Score, Table, best_in_columns

COMMAND = "TENSORCRP_DATA=FOLDER tensorcrp compare --preset real --out DIR"
# Rows of the README: what a reader knows and uses.
KNOWN = ("TensorCRP", "RidgeLDA", "linear SVM", "RBF SVM", "raw")
TOP = ("RBF SVM", "raw")  # of these, on the first screen

HEAD = f"""## Accuracy on real sets: `tensorcrp compare --preset real`

Written by `python docs/evidence.py DIR` from the rows in `docs/results/real.jsonl`,
which

    {COMMAND}

computes. Random splits with the same training samples for every method; people are
never on both sides of a split where a set has people in several clips. Settings,
ridges, C and gamma are chosen by three folds of the training samples, by one or two of
them where these hold out 200 samples (TensorCRPCV has the same folds), never on test
samples. ", smooth" after a name: samples first go
through a Gaussian filter along ordered modes, its width (0, 0.7 or 1.4) chosen by the
same folds. The figure of a method is that of its own predictions where it makes any
and of 1-NN on its features elsewhere. "SVM" is a linear SVM on centred features, its C
chosen by the folds, too; where it is missing, runs are older than the centring. The
<a href="_static/leaderboard.html">leaderboard</a> has the same rows to sort and filter.
"""


NO_FIT = """Some setting gave every training sample the same features here. The accuracy
of these methods on these sets is that of a failed fit, not of the method, and a
difference to it is no evidence."""


def begin_of(name):
    """The line before what is written by the script."""
    return f"<!-- {name}: written by docs/evidence.py -->\n"


def end_of(name):
    """The line after it."""
    return f"<!-- end of {name} -->\n"


def with_section(page, name, text):
    """A page with a text between its two markers; at its end if it has none."""
    begin, end = begin_of(name), end_of(name)
    new = f"{begin}\n{text.strip()}\n\n{end}"
    if begin not in page:
        return f"{page.rstrip()}\n\n{new}"
    before, _, rest = page.partition(begin)
    _, found, after = rest.partition(end)
    if not found:
        raise ValueError(f"the page has the line {begin!r} and no line {end!r}.")
    return f"{before}{new}{after}"


def slim(row):
    """A row with counts of the chosen settings alone; all tables stay."""
    if "classifiers" not in row:
        return row
    best = {name: chosen([row], name, "honest") for name in row["classifiers"]}
    counts = {
        name: {"right": [row["classifiers"][name]["right"][index[0]]]}
        for name, index in best.items()
        if index is not None
    }
    small = {**row, "classifiers": counts}
    small.pop(FIELD, None)
    return small


def section(rows):
    """The section of ``docs/performance.md``.

    Parameters
    ----------
    rows : list of dict
    """
    rows = ResultRows(rows)
    parts = [HEAD, f"{_time(rows)} {numbers_of_splits(rows)}", in_short(rows)]
    for train in evidence_sizes(rows):
        tables = [summary_table(rows, train), sets_table(rows, train)]
        tables.append(gaps_table(rows, train))
        parts += [f"### {size_words(train)}", *(t.markdown() for t in tables if t.body)]
    table = ablation_table(rows)
    if table.body:
        parts += ["### What each part is worth", table.markdown()]
    failed = [f"- {line}" for line in rows.constant_lines()]
    if failed:
        parts += ["### Failed fits", NO_FIT, "\n".join(failed)]
    skipped = [f"- {line}" for line in rows.skipped_lines()]
    if skipped:
        parts += ["### What was not run", "\n".join(skipped)]
    return "\n\n".join(part.strip() for part in parts) + "\n"


def _time(rows):
    """How long the runs took."""
    hours = hours_of(rows)
    return f"The {len(rows.all):,} runs took {hours:.1f} hours, one thread each."


def hours_of(rows):
    """Hours of one thread that all runs took, as far as rows say."""
    return sum(row.get(CPU, row.get("seconds", 0.0)) for row in rows.all) / 3600


def headline_table(rows, link="{}"):
    """A small table for a first screen: every training size, few methods.

    `link` is a format that makes a link of words.
    """
    rows = ResultRows(rows)
    sizes = evidence_sizes(rows)
    found = {train: Evidence(rows, train) for train in sizes}
    best = [next(_leaders([each]), REFERENCE) for each in found.values()]
    names = [n for n in dict.fromkeys([REFERENCE, *best, *TOP]) if n in rows.methods()]
    lines = [[n, *(_cell(found[train], n) for train in sizes)] for n in names]
    chosen_on = sum(name in CHOSEN_ON for name in rows.data())
    return Table(
        "How well: mean accuracy in % on real sets",
        ["method", *(f"{size_words(s)}, {len(found[s].sets)} sets" for s in sizes)],
        lines,
        "Beside ours: the best other method of each size, an RBF SVM, and raw, 1-NN on "
        "the samples as they are. Settings are chosen on training samples alone; the "
        f"defaults of {REFERENCE} "
        f"were chosen on other splits of {chosen_on} of the {len(rows.data())} sets. "
        f"{link.format('All sets, all methods, and where it loses')}.",
        best_in_columns(lines, tuple(range(1, 1 + len(sizes)))),
    ).markdown()


def ablation_table(rows):
    """TensorCRPCV with parts switched off, beside the whole, at every size."""
    sizes = evidence_sizes(rows)
    names = [name for name in rows.methods() if name.startswith(PART)]
    lines = [_ablation_line(rows, name, sizes) for name in [REFERENCE, *names]]
    header = [f"{what}{size_words(s)}" for s in sizes for what in ("", "difference, ")]
    return Table(
        f"{REFERENCE} with one part switched off, mean accuracy in % over the sets",
        ["part", *header],
        lines if names else [],
        "difference: with the part switched off minus the whole, ± its standard error "
        "over the sets.",
        best_in_columns(lines, tuple(range(1, 2 * len(sizes), 2))) if names else set(),
    )


def _ablation_line(rows, name, sizes):
    line = ["the whole" if name == REFERENCE else name.removeprefix(PART)]
    for train in sizes:
        found = Evidence(rows, train)
        known = name in found.methods and REFERENCE in found.methods
        line.append(Score(found.mean(name)) if known else "-")
        gap = found.mean_difference(name, REFERENCE) if known else None
        missing = found.holes(name) if known else 0
        sets = f" ({len(found.sets) - missing} sets)" if missing else ""
        line.append("" if name == REFERENCE or gap is None else f"{gap}{sets}")
    return line


def summary_section(rows):
    """The table and sentences of the README: every size that was run, and losses."""
    rows = ResultRows(rows)
    sizes = evidence_sizes(rows)
    found = {train: Evidence(rows, train) for train in sizes}
    names = [REFERENCE, *_leaders(found.values()), *KNOWN]
    names = [n for n in dict.fromkeys(names) if n in rows.methods()]
    lines = [[n, *(_cell(found[train], n) for train in sizes)] for n in names]
    lines = [line for line in lines if set(line[1:]) != {"-"}]
    lines.sort(key=lambda line: -line[1].mean if isinstance(line[1], Score) else 0)
    header = [f"{size_words(s)}, {len(found[s].sets)} sets" for s in sizes]
    table = Table(
        f"Mean accuracy in % on real sets, {HEADLINE}",
        ["method", *header],
        lines,
        f"The best other methods at each size are in the table. `{COMMAND}`; all "
        "methods, all sets: docs/performance.md.",
        best_in_columns(lines, tuple(range(1, 1 + len(sizes)))),
    )
    return f"{table.markdown()}\n{in_short(rows)}\n"


def main_command(rows):
    """The README's table of ``tensorcrp compare``: every set and size it runs."""
    rows = ResultRows(rows)
    found = {train: Evidence(rows, train) for train in evidence_sizes(rows)}
    columns = [(data, train) for data in rows.data() for train in rows.sizes(data)]
    ours = [REFERENCE, "TensorCRP", f"TensorCRP{ONE_START}"]
    names = [*ours, *_best_of(found, columns), *KNOWN]
    names = [n for n in dict.fromkeys(names) if n in rows.methods()]
    scores = [
        [found[size].score(data, n) or "-" for data, size in columns] for n in names
    ]
    lines = [[n, *line] for n, line in zip(names, scores, strict=True)]
    table = Table(
        f"Accuracy in % of `tensorcrp compare`, {HEADLINE}",
        ["method", *(f"{data}, {size_words(size)}" for data, size in columns)],
        lines,
        "Mean ± standard deviation over the splits. The best two methods of every "
        "column are in the table, beside well-known ones.",
        best_in_columns(lines, tuple(range(1, 1 + len(columns)))),
    )
    return table.markdown()


def _best_of(found, columns):
    """Of each set and size, the best two methods."""
    for data, size in columns:
        scores = {n: found[size].score(data, n) for n in found[size].methods}
        known = {name: each.mean for name, each in scores.items() if each is not None}
        yield from sorted(known, key=known.get, reverse=True)[:2]


def _leaders(evidence):
    """Of each size, the best methods that are not ours."""
    for found in evidence:
        others = [m for m in found.complete() if not m.startswith("TensorCRP")]
        yield from others[:3]


def _cell(found, name):
    complete = name in found.methods and not found.holes(name)
    return Score(found.mean(name)) if complete else "-"
