"""``docs/reproduction.md``: in, rows and a written analysis; out, Markdown."""

from collections import defaultdict

from tensorcrp.experiments.classifiers import COMPARED
from tensorcrp.experiments.paper import classification_tables, paper_tables
from tensorcrp.experiments.paper.plans import OURS
from tensorcrp.experiments.paper.published import METHODS
from tensorcrp.experiments.store import CPU

HEAD = """# Reproduction of the paper

This page is made by one command from the rows in `docs/results/`, which

    TENSORCRP_DATA=FOLDER tensorcrp reproduce --out DIR --page docs/reproduction.md

computes; a test checks that its tables are what the rows say. Published figures are
those of X. Chang et al., "Compound Rank-k Projections for Bilinear Analysis", IEEE
TNNLS 27(7), 2016.

## Protocol

As the paper states it: five random splits with 3, 5, 10 and 20 training samples per
class or 80 % of all, all other samples for test; (c - 1)^2 features; rank 2; lambda
from 10^-6 to 10^6 in steps of 100; accuracy of 1-NN and of LIBSVM, its C by tenfold
cross-validation. What it leaves open, we set as follows.

- Two selections, always labelled. **paper**: the one setting with the best mean on the
  *test* samples, as "the best result is reported" has it; too good to be true, for
  every method. **honest**: in every split the setting with the best three-fold
  cross-validation on the *training* samples (folds are used until 200 samples have
  been tested; of equal settings, the strongest ridge).
- Baselines get what CRP gets: LDA the same seven lambdas; 2DLDA, S2DLDA, P2DLDA seven
  ridges 10^-6 to 10^6 in units of a mean eigenvalue, T-LPP those up to 1; B-SVM four
  values of C on samples of unit root mean square norm. LDA has c - 1 features, all
  there are; methods with a factor per mode have the smallest square number of at least
  (c - 1)^2 features, 2DPCA the multiple of the rows nearest to it.
- CRP starts from the cut ridge-LDA direction, the default of the library; the paper's
  start V = I is a column of its own.
- The kernel of the SVM is linear (the paper mentions one parameter, C), the grid of C
  is 1, 10, 100, 1000 on features of unit root mean square norm, folds are fewer than
  ten where a class has fewer samples, and where there are more than 500 training
  samples C is chosen on about 500 of them; its solver may take 20,000 steps.
  Under honest selection the three folds choose C as well, together with the ridge, on
  features that were not fitted to the held-out labels; an SVM in these folds is trained
  on about 1,000 samples where there are more.
- Whole-number grey values are divided by the largest one.
- ORL, UMIST and YaleB, the paper's two-class sets, come without its gender labels: they
  run as identity tasks, with 100 features ((c - 1)^2 would be 361 to 1521, the latter
  more than a sample has entries), and their SVM has the C that the three folds choose
  under either selection. MNIST-5k stands in for CVL, the CMU faces (head pose)
  for Pointing'04; `cmu_sunglasses` is the two-class task.
- B-SVM is a classifier and has one figure for both, as in the paper.
"""


def reproduction_page(rows, analysis=""):
    """The whole page.

    Parameters
    ----------
    rows : Rows
    analysis : str
        Written by hand: what the figures mean.
    """
    parts = [HEAD, versions(rows), _summary(rows), analysis]
    for title, experiment in SECTIONS.items():
        tables = paper_tables.TABLES[experiment](rows)
        if tables:
            words = [f"## {title}", WORDS.get(experiment, "")]
            parts += [*words, *(table.markdown() for table in tables)]
    parts += [_time(rows), _missing(rows)]
    return "\n\n".join(part.strip() for part in parts if part.strip()) + "\n"


SECTIONS = {
    "Classification": "classification",
    "Two classes": "two-class",
    "Order 3 and up, and signals": "tensors",
    "Rank": "rank",
    "Initialisation": "initialization",
    "Convergence": "convergence",
}
WORDS = {
    "tensors": """All methods of the library with their own ridges. Weizmann: four of
nine people to train, the others to test; windows of one person are never on both sides,
nor in the choice of settings. Gait has two splits, Weizmann and Indian Pines have
three: a split takes minutes. Indian Pines: patches of one field overlap, so that all
figures are optimistic alike.""",
    "initialization": """The diagonals 0.5, 1 and 2 have to give one and the same
solution, for the objective does not depend on the scale of a start: what differs
between the paper's three columns cannot come from it.""",
}


def versions(rows):
    """Which runs are of which version of the package; "" if all are of one."""
    sets, known = defaultdict(set), sorted({row["version"] for row in rows.all})
    newest = max(known, key=_numbers, default="")
    for row in rows.all:
        sets[row["version"], row["method"]].add(row["data"])
    groups = defaultdict(list)
    for (version, method), found in sets.items():
        if version != newest:
            part = " (in part)" if found & sets.get((newest, method), set()) else ""
            groups[version, ", ".join(sorted(found))].append(f"{method}{part}")
    lines = [
        f"- {version}, on {found}: {', '.join(names)}"
        for (version, found), names in sorted(groups.items())
    ]
    if not lines:
        return ""
    return "\n".join([f"Rows are of version {newest}, with exceptions:", "", *lines])


def _numbers(version):
    return [int(part) for part in version.split(".")[:2]]


def _summary(rows):
    """Counts and comparisons in sentences, all from rows."""
    worst, fits = paper_tables.worst_of_all_steps(rows)
    lines = ["## In short", ""]
    columns = (PAPERS, HONEST, classification_tables.ITSELF)
    lines += [_reached(rows, column) for column in columns]
    lines += [_leader(rows, classifier) for classifier in COMPARED]
    if fits:
        lines.append(
            f"- The objective was followed through {fits} runs, every lambda, every "
            f"projection, every block update: the worst relative step is {worst:.1e}."
        )
    return "\n".join(line for line in lines if line is not None)


def reached(rows, column):
    """How a column of the verdicts stands to the published figures of CRP.

    Returns
    -------
    (good, near, below) : int, int, list of str
        Figures at or above the published mean, within a deviation below it, and in
        words those further below.
    """
    table = classification_tables.paper_verdicts(rows)
    place, published = map(table.header.index, (column, "published CRP"))
    found = [line for line in table.body if line[place] != "-"]
    words = [
        classification_tables.verdict(line[place], line[published]) for line in found
    ]
    below = [
        f"{line[0]} {line[2]} by {line[1]} ({line[place].mean:.1f}, published "
        f"{line[published].mean:.1f})"
        for line, word in zip(found, words, strict=True)
        if word == "below"
    ]
    near = words.count(classification_tables.ONE_DEVIATION)
    return words.count("at or above"), near, below


def _reached(rows, column):
    """The same in a sentence, or None."""
    good, near, below = reached(rows, column)
    total = good + near + len(below)
    if not total:
        return None
    return (
        f"- {column}, on the paper's own sets: {good} of {total} figures at or above "
        f"the published mean of CRP, {near} within one published deviation below it, "
        f"{len(below)} further below{': ' + '; '.join(below) if below else ''}."
    )


PAPERS, HONEST = "CRP, paper", f"{OURS}, honest"  # columns of the verdicts
OUR_NAMES = ("CRP", OURS, classification_tables.ITSELF)


def _leader(rows, classifier):
    """Who is ahead on the mean over all sets under honest selection."""
    table = classification_tables.means(rows)
    column = table.header.index(f"{classifier}, honest")
    means = {line[0]: line[column] for line in table.body if line[column] != "-"}
    if len(means) < 2:
        return None
    ours = {name: means.pop(name) for name in OUR_NAMES if name in means}
    best = max((m for m in means if m in METHODS), key=lambda m: means[m].mean)
    words = ", ".join(f"{name} {score.mean:.1f}" for name, score in ours.items())
    return (
        f"- {classifier}, honest selection, mean over all sets and sizes: {words}; the "
        f"best of the other methods is {best} with {means[best].mean:.1f}."
    )


def _time(rows):
    """How long the runs take, by the processor times in the rows, and what of it."""
    timed = [row for row in rows.all if CPU in row]
    by_method = defaultdict(float)
    for row in timed:
        by_method[row["method"]] += row[CPU] / 60
    if not timed:
        return ""
    total, others = sum(by_method.values()), len(rows.all) - len(timed)
    most = sorted(by_method, key=by_method.get, reverse=True)[:5]
    parts = ", ".join(f"{name} {by_method[name]:.1f}" for name in most)
    return (
        f"## Time\n\n{len(timed):,} runs took {total:.0f} minutes of processor time, "
        f"about {total / 2:.0f} minutes on two cores; most of it: {parts}."
        f"{f' {others:,} runs have no time.' if others else ''}"
    )


def _missing(rows):
    lines = [f"- {line}" for line in rows.skipped_lines()]
    return "\n".join(["## What was not run", "", *lines]) if lines else ""
