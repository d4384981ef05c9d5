"""What a run of ``tensorcrp bench`` says, as a section of the documentation.

In: the content of the file that ``--out`` wrote. Out: Markdown: the machine, every bar,
the exponents, and a table per case. ``docs/evidence.py`` writes it between two markers
of ``docs/performance.md``.

Sentences are templates for ratios, so that no figure is typed by hand; one whose rows
are missing is left out.
"""

from itertools import groupby

from tensorcrp.experiments.bench.bench_rows import Row, table

COMMAND = "tensorcrp bench --out docs/results/bench.json"
HEAD = """## Speed and memory: `tensorcrp bench`

Written by `python docs/evidence.py` from `docs/results/bench.json`, which

    {command}

computes{minutes}. This run: tensorcrp {tensorcrp}, {cores} cores of
{processor}, Python {python}, numpy {numpy}, scipy {scipy},
scikit-learn {scikit-learn}, tensorly {tensorly}; {blas};
one thread of BLAS (in `busy` as many as it likes). `ratio` is the time over that of the
reference of the case, in the same run: seconds depend on the machine, and on a shared
one ratios vary by a quarter from run to run. Data are synthetic.
"""


POWER = "seconds ~ "  # how the notes of the exponents begin
GAIT = "7 ridges, gait-like"
SENTENCES = (
    (
        "**The paper's largest set.** At the same summed objective, Algorithm 1 with "
        "its Kronecker products written out takes {literal:.0f} times as long (one "
        "sweep of it is measured, and multiplied), scikit-learn's LDA(svd) {lda:.3g} "
        "times. With the ridge of the defaults the samples become a root of 1,024 rows "
        "by products and one Cholesky factorisation; a QR decomposition, which takes "
        "twice the operations, is left for a ridge near zero.",
        {"literal": ("paper", "literal"), "lda": ("paper", "LDA(svd)")},
    ),
    (
        "**Gait-like data** are limited by memory traffic: 37 MB are read twice in "
        "every sweep of every projection. scikit-learn's LDA(svd), which finds all its "
        "directions in one decomposition, takes {lda:.3g} times as long, and its "
        "subspace separates the classes less at the same ridge.",
        {"lda": ("gait", "LDA(svd)")},
    ),
    (
        "**One sweep over clips** costs {one:.3g} times reading them twice by "
        "matrix-vector products at rank 1 and {two:.3g} times at rank 2, where its two "
        "passes alone cost {floor:.3g}. Each pass multiplies two columns, one after "
        "the other, with samples that are in cache; BLAS has no routine that does both "
        "at once without copying the samples first, which takes longer still.",
        {
            "one": ("video", "one sweep, k=1"),
            "two": ("video", "one sweep, k=2"),
            "floor": ("video", "the two passes of a sweep alone, k=2"),
        },
    ),
    (
        "**Seven ridges in one run** cost {many:.3g} fits where the pass over the "
        "samples weighs most (n > P), and {gait:.3g} where the sweeps do: there a pass "
        "with fourteen columns takes {columns:.3g} times one with two, and every ridge "
        "has its own small eigenproblems.",
        {
            "many": ("path", "7 ridges, paper"),
            "gait": ("path", GAIT),
            "columns": ("path", "two passes, 14"),
        },
    ),
    (
        "**A search without averages**, 105 points on five folds, takes {ours:.3g} "
        "fits; `GridSearchCV` takes {grid:.3g}.",
        {"ours": ("cv", "TensorCRPCV"), "grid": ("cv", "GridSearchCV")},
    ),
    (
        "**The search with its defaults**, five samples per class: {usps:.3g} fits on "
        "USPS-like data; {orl:.3g} (ORL-like) and {gait:.3g} (gait-like) times an RBF "
        "SVM on vectors with six points.",
        {
            "usps": ("search: USPS", "TensorCRPCV"),
            "orl": ("search: ORL", "TensorCRPCV"),
            "gait": ("search: gait", "TensorCRPCV"),
        },
    ),
    (
        "**361 components** with products that grow with the number of projections, "
        "as in version 0.2, take {few:.3g} times the time of deflated copies with 3 "
        "samples per class and {many:.3g} times with 10.",
        {
            "few": ("components: 60 ", "growing"),
            "many": ("components: 200 ", "growing"),
        },
    ),
    (
        "**Memory**: beyond the samples, a fit holds one working copy, for the start "
        "half of a Gram matrix of at most 1,024 rows, and products with few columns: "
        "{double:.3g} copies in float64, {single:.3g} in float32, where all small "
        "arrays are still float64. Nothing of size P x P is made while P > n.",
        {"double": ("memory", "float64"), "single": ("memory", "float32")},
    ),
    (
        "**Growing n** beyond P costs only the one pass: sweeps over four times the "
        "samples take {sweeps:.3g} times as long.",
        {"sweeps": ("growth", "sweeps, 4 n")},
    ),
    (
        "**A busy machine** slows a fit down only by the share of the cores and of the "
        "memory bandwidth that others take ({clips:.3g} times for clips): the products "
        "of the solver run in one thread, whatever the limit of BLAS and the size of "
        "the data.",
        {"clips": ("busy", "4,000 of")},
    ),
)


def bench_section(content):
    """The whole section.

    Parameters
    ----------
    content : dict
        ``{"machine", "minutes", "rows"}``.

    Returns
    -------
    str
    """
    rows, minutes = [Row(**row) for row in content["rows"]], content["minutes"]
    whole = f" in {sum(minutes.values()):.0f} minutes" if minutes else ""
    head = HEAD.format(command=COMMAND, minutes=whole, **content["machine"])
    cases = [table(list(group)) for _, group in groupby(rows, lambda row: row.case)]
    parts = [head, times(minutes), bar_table(rows), sayings(rows), *cases]
    return "\n\n".join(part.strip() for part in parts if part) + "\n"


def bar_table(rows):
    """Every row that has a bar, in one table; "" if there is none."""
    found = [row for row in rows if row.met is not None]
    if not found:
        return ""
    met = sum(row.met for row in found)
    lines = ["### Every bar", "", f"{met} of {len(found)} are met.", ""]
    lines += ["| case | what | ratio | bar | |", "|---|---|---|---|---|"]
    for row in found:
        verdict = "met" if row.met else "**missed**"
        cells = [row.case, row.method, f"{row.ratio:.3g}", row.bar, verdict]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def sayings(rows):
    """What the tables say, as a list; sentences whose rows are there."""
    lines = []
    for text, places in SENTENCES:
        found = {name: ratio_of(rows, *place) for name, place in places.items()}
        if None not in found.values():
            lines.append(f"- {text.format(**found)}")
    powers = [row.note.split(";")[0] for row in rows if row.note.startswith(POWER)]
    if powers:
        words = ", ".join(each.removeprefix(POWER) for each in powers)
        lines.append(
            f"- **How the cost grows**: as {words}, one size at a time, the others "
            "fixed (`tensorcrp bench exponents`; two sweeps at rank 2)."
        )
    return "\n".join(["### What the tables say", "", *lines]) if lines else ""


def ratio_of(rows, case, method):
    """Ratio of the first row whose case and method begin so, or None."""
    for row in rows:
        if row.case.startswith(case) and row.method.startswith(method):
            return row.ratio
    return None


def times(minutes):
    """A sentence: how long each case took; "" if that was not kept."""
    if not minutes:
        return ""
    each = ", ".join(f"`{name}` {minutes[name]:.1f}" for name in minutes)
    return f"Minutes of each case: {each}."
