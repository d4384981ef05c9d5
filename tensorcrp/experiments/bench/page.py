"""What a run of ``tensorcrp bench`` says, as a section of the documentation.

In: the content of the file that ``--out`` wrote. Out: Markdown: the machine, every bar,
the exponents, and a table per case. ``docs/evidence.py`` writes it between two markers
of ``docs/performance.md``.
"""

from itertools import groupby

from tensorcrp.experiments.bench.report import Row, table

COMMAND = "tensorcrp bench --out docs/results/bench.json"
HEAD = """## Speed and memory: `tensorcrp bench`

Written by `python docs/evidence.py` from `docs/results/bench.json`, which

    {command}

computes in {minutes:.0f} minutes. This run: tensorcrp {tensorcrp}, {cores} cores of
{processor}, Python {python}, numpy {numpy}, scipy {scipy},
scikit-learn {scikit-learn}, tensorly {tensorly}; {blas};
one thread of BLAS (in `busy` as many as it likes). `ratio` is the time over that of the
reference of the case, in the same run: seconds depend on the machine, and on a shared
one ratios vary by a quarter from run to run. Data are synthetic.
"""


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
    rows = [Row(**row) for row in content["rows"]]
    total = sum(content["minutes"].values())
    head = HEAD.format(command=COMMAND, minutes=total, **content["machine"])
    cases = [table(list(group)) for _, group in groupby(rows, lambda row: row.case)]
    parts = [head, bars(rows), *cases, times(content["minutes"])]
    return "\n\n".join(part.strip() for part in parts if part) + "\n"


def bars(rows):
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


def times(minutes):
    """A sentence: how long each case took."""
    each = ", ".join(f"`{name}` {minutes[name]:.1f}" for name in minutes)
    return f"Minutes of each case: {each}."
