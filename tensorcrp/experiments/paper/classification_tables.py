"""The paper's tables of accuracies with ours beside them: in, rows; out, tables.

Many classes (the paper's classification tables, by 1-NN and SVM) and two classes. Each
has the printed figures, those with the ridge that is best on the test samples (paper)
and those with the ridge chosen on training samples alone (honest). Pure functions.
"""

from tensorcrp.base.results import size_words
from tensorcrp.experiments.classifiers import COMPARED, OWN
from tensorcrp.experiments.paper.plans import (
    FIGURE_SETS,
    IDENTITY_SETS,
    LITERAL,
    OURS,
    PAPER_SETS,
    TWO_CLASS,
)
from tensorcrp.experiments.paper.published import METHODS, SIZES, Cell, published
from tensorcrp.experiments.summaries import mean_over
from tensorcrp.experiments.tables import Score, Table, best_in_columns, best_in_lines

COLUMNS = (*METHODS, OURS)
# What a terminal leaves out first, until the rest has room; files have all columns.
LEAST_SHOWN = ("S2DLDA", "P2DLDA", "T-LPP", "2DPCA", "B-SVM", "LDA", "2DLDA", OURS)
ONE_DEVIATION = "within one deviation"
ITSELF = f"{OURS} itself"


def paper_figure(table, classifier, train, data, method):
    """What the paper printed, as a `Score`, or None."""
    figure = published().get(Cell(table, classifier, train, data, method))
    return figure and Score(*figure)


def paper_verdicts(rows):
    """CRP on the paper's own sets, against the printed means and deviations."""
    lines = []
    for data in PAPER_SETS:
        for classifier in COMPARED:
            for train in SIZES:
                ours = rows.score(data, train, "CRP", classifier, "paper")
                if ours is None:
                    continue
                theirs = paper_figure("classification", classifier, train, data, "CRP")
                literal = rows.score(data, train, LITERAL, classifier, "paper")
                honest = rows.score(data, train, "CRP", classifier, "honest")
                own = rows.score(data, train, OURS, classifier, "honest")
                itself = rows.score(data, train, OURS, OWN, "honest")
                word = verdict(ours, theirs)
                gap = f"{ours.mean - theirs.mean:+.1f}"
                place = [data, classifier, size_words(train)]
                scores = [theirs, ours, gap, word, literal, honest, own, itself]
                lines.append([*place, *map(or_dash, scores)])
    names = ["published CRP", "CRP, paper", "difference", "verdict"]
    more = ["from V = I, paper", "CRP, honest", f"{OURS}, honest", ITSELF]
    return Table(
        "CRP on the paper's own sets, accuracy in %",
        ["data", "classifier", "training", *names, *more],
        lines,
        "paper: the best lambda on the test samples. honest: lambda chosen on training "
        "samples alone. From V = I: Algorithm 1 from its own start, at most ten "
        f"sweeps. {ITSELF}: its own predictions, by the distance and classifier that "
        "its folds choose, the same in both lines.",
        optional=(more[0], ITSELF, "verdict", more[1], "difference", more[2]),
    )


def verdict(ours, theirs):
    """Whether our mean reaches the printed one, or comes near it."""
    if round(ours.mean, 1) >= theirs.mean:
        return "at or above"
    near = ours.mean >= theirs.mean - theirs.std
    return ONE_DEVIATION if near else "below"


def side_by_side(rows, data, classifier):
    """One data set: printed, paper selection, difference, honest selection."""
    lines = []
    for train in SIZES:
        theirs = [
            paper_figure("classification", classifier, train, data, m) for m in COLUMNS
        ]
        paper = [_paper_score(rows, data, train, m, classifier) for m in COLUMNS]
        honest = [rows.score(data, train, m, classifier, "honest") for m in COLUMNS]
        if not any(paper):
            continue
        gaps = [
            f"{a.mean - b.mean:+.1f}" if a and b else "-"
            for a, b in zip(paper, theirs, strict=True)
        ]
        sources = {"published": theirs, "paper": paper, "honest": honest}
        for source, scores in sources.items():
            if any(scores):
                words = [size_words(train), source]
                lines.append([*words, *map(or_dash, scores)])
            if source == "paper" and any(theirs):
                lines.append([size_words(train), "paper - published", *gaps])
    header = ["training", "selection", *COLUMNS]
    title = f"{data}, {classifier}, accuracy in %"
    best = best_in_lines(lines)
    return Table(title, header, lines, "", best, optional=LEAST_SHOWN)


def means(rows):
    """Mean over all data sets and sizes that every method has, per selection."""
    cells = common_cells(rows)
    lines = []
    for name in COLUMNS:
        line = [name]
        for classifier in COMPARED:
            paper = None if name == OURS else "paper"
            line.append(paper and mean_over(rows, cells, name, classifier, paper))
            line.append(mean_over(rows, cells, name, classifier, "honest"))
        lines.append(list(map(or_dash, line)))
    itself = mean_over(rows, cells, OURS, OWN, "honest")
    if itself is not None:
        lines.append([ITSELF, "-", itself, "-", itself])
    header = [
        f"{classifier}, {s}" for classifier in COMPARED for s in ("paper", "honest")
    ]
    sets = len({data for data, _ in cells})
    return Table(
        f"Mean accuracy in % over {len(cells)} pairs of data set ({sets}) and training "
        "size",
        ["method", *header],
        lines,
        f"{OURS} chooses rank, ridge and size on training samples, so it has no column "
        "of the paper's kind.",
        best_in_columns(lines, (1, 2, 3, 4)) if cells else set(),
    )


def weakest(rows):
    """Baselines with next to no ridge, against the printed figures."""
    names = [name for name in METHODS if name not in ("2DPCA", "B-SVM", "CRP")]
    lines = []
    for data in PAPER_SETS:
        for classifier in COMPARED:
            scores = [rows.score(data, 3, m, classifier, "weakest") for m in names]
            if all(scores):
                table, place = "classification", [data, classifier]
                theirs = [paper_figure(table, classifier, 3, data, m) for m in names]
                lines.append([*place, "published", *theirs])
                lines.append([*place, "ridge 10^-6", *scores])
    title = "Baselines without selection, 3 per class, accuracy in %"
    header = ["data", "classifier", "source", *names]
    least = tuple(name for name in LEAST_SHOWN if name in names)
    return Table(title, header, lines, optional=least)


def common_cells(rows):
    """(data, train) of the classification experiment that every method has."""
    return [
        (data, train)
        for data in (*FIGURE_SETS, *IDENTITY_SETS)
        for train in SIZES
        if all(rows.cell(data, train, method) for method in COLUMNS)
    ]


def classification(rows):
    """Verdicts, means, and a table per data set and classifier."""
    found = rows.data()
    sets = [d for d in (*FIGURE_SETS, *IDENTITY_SETS) if d in found]
    sets = [data for data in sets if rows.cell(data, SIZES[0], "LDA")]
    tables = [paper_verdicts(rows), means(rows), weakest(rows)]
    tables += [
        side_by_side(rows, data, classifier) for data in sets for classifier in COMPARED
    ]
    return [table for table in tables if table.body]


def two_class(rows):
    """Two classes with 25 features; the paper's labels (gender) are not public."""
    lines = []
    for data in TWO_CLASS:
        for classifier in COMPARED:
            table = side_by_side(rows, data, classifier)
            lines += [[data, classifier, *line] for line in table.body]
    for data in IDENTITY_SETS if lines else ():
        theirs = [paper_figure("two-class", None, None, data, m) for m in COLUMNS]
        words = [f"{data} (gender)", "not stated", "3 per class or 80 %", "published"]
        lines.append([*words, *map(or_dash, theirs)])
    header = ["data", "classifier", "training", "selection", *COLUMNS]
    title = "Two classes, 25 features, accuracy in %"
    best = best_in_lines(lines)
    table = Table(title, header, lines, "", best, optional=LEAST_SHOWN)
    return [table] if lines else []


def _paper_score(rows, data, train, method, classifier):
    """None for the method that selects nothing on test samples."""
    if method == OURS:
        return None
    return rows.score(data, train, method, classifier, "paper")


def or_dash(cell):
    return "-" if cell is None else cell
