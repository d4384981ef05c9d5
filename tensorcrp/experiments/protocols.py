"""Published protocols beside published numbers: what to run, and its tables.

In: rows. Out: runs and tables. A published figure stands in a table with its source; a
protocol is ours where the authors' own splits are not at hand, and the table says so.
"""

from typing import NamedTuple

import numpy as np

from tensorcrp.base.results import size_words
from tensorcrp.experiments.tables import Score, Table, best_in_columns

QUICK = (
    *("raw", "RidgeLDA", "RidgeLDA, smooth", "MPCA", "MultilinearLDA"),
    *("SelectiveLDA", "ParallelLDA", "linear SVM", "RBF SVM", "RBF SVM, smooth"),
)
OURS = ("TensorCRP", "TensorCRPCV")
CAI_SPLITS, OUR_SPLITS, OUR_MOST = 50, 10, 20


class PublishedFigure(NamedTuple):
    """A published accuracy in %, its deviation or None, and where it comes from."""

    data: str
    train: int
    classifier: str
    method: str
    words: str
    source: str


CAI_PAGE = "D. Cai, beside his 32x32 files; as errors there"
UEA_PAPERS = "published accuracies of current deep methods on the UEA archive"
PUBLISHED = (
    PublishedFigure(
        "yaleb_cai", 5, "1-NN", "baseline (pixels)", "36.4 +- 1.6", CAI_PAGE
    ),
    PublishedFigure(
        "yaleb_cai", 10, "1-NN", "baseline (pixels)", "53.6 +- 1.1", CAI_PAGE
    ),
    PublishedFigure(
        "eeg_finger_uea", 0, "own", "deep methods", "59.5 to 65.0", UEA_PAPERS
    ),
    PublishedFigure("basic_motions_uea", 0, "own", "deep methods", "100", UEA_PAPERS),
)


class Experiment(NamedTuple):
    """Sets, training sizes, and what the table says."""

    sets: tuple
    sizes: tuple
    splits: int
    words: str


PROTOCOL_EXPERIMENTS = {
    "yaleb": Experiment(
        ("yaleb_cai",),
        (5, 10, 20, 30, 40, 50),
        CAI_SPLITS,
        "D. Cai's protocol: images of unit norm, random splits (drawn here: not his).",
    ),
    "orl": Experiment(
        ("orl_cai",),
        (3, 5, 8),
        CAI_SPLITS,
        "D. Cai's protocol: images of unit norm, random splits (drawn here: not his).",
    ),
    "uea": Experiment(
        ("basic_motions_uea", "eeg_finger_uea"),
        (0,),
        1,
        "The archive's own training and test samples; one split, so no deviation.",
    ),
    "people": Experiment(
        ("weizmann_people", "cmu_faces_people"),
        (0,),
        0,
        "One person left out at a time; in the folds people stay together, too. The "
        "deviation is over people.",
    ),
    "indian_pines": Experiment(
        ("indian_pines_apart",),
        (0,),
        0,
        "Training and test patches share no pixel: halves of the scene's blocks of 16 "
        "pixels, drawn at random.",
    ),
}


def protocol_cells(name, data):
    """(training size, method, number of features, splits) of one set.

    Random splits of the quick methods are as many as the protocol has; of ours fewer,
    and up to 20 per class.
    """
    how = PROTOCOL_EXPERIMENTS[name]
    for train in how.sizes:
        n = how.splits or len(data.splits)
        yield from ((train, method, 0, n) for method in QUICK)
        if train <= OUR_MOST:
            few = n if data.splits else min(n, OUR_SPLITS)
            yield from ((train, method, 0, few) for method in OURS)


def protocol_tables(name, rows):
    """Tables of one experiment: methods down, classifiers across."""
    how = PROTOCOL_EXPERIMENTS[name]
    found = [(data, train) for data in how.sets for train in rows.sizes(data)]
    return [_table(how, rows, data, train) for data, train in found]


def _table(how, rows, data, train):
    names = [n for n in rows.methods() if rows.cell(data, train, n)]
    classifiers = rows.classifiers(data, train)
    lines = []
    for name in names:
        cell = rows.cell(data, train, name)
        scores = [rows.score(data, train, name, j, "honest") for j in classifiers]
        scores = ["-" if score is None else score for score in scores]
        lines.append([name, *scores, str(len(cell)), ""])
    lines.sort(key=lambda line: -max(s.mean for s in line if isinstance(s, Score)))
    for each in PUBLISHED:
        if (each.data, each.train) == (data, train):
            lines.append(_published_line(each, classifiers))
    return Table(
        _title(rows, data, train, names),
        ["method", *classifiers, "splits", "source"],
        lines,
        f"{how.words} Best first, published figures last. "
        + " ".join(sorted({f.source for f in PUBLISHED if f.data == data})),
        best_in_columns(lines, tuple(range(1, 1 + len(classifiers)))),
        optional=("source",),
    )


def _published_line(figure, classifiers):
    place = figure.classifier if figure.classifier in classifiers else classifiers[0]
    cells = [figure.words if name == place else "" for name in classifiers]
    return [figure.method, *cells, "", "published"]


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
