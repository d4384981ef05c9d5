"""Which runs an experiment is made of.

In: names of data sets and a seed. Out: lists of `Run`. Data sets that are not here
give one run, whose row says why it was skipped.
"""

from tensorcrp.experiments.data import Skip, load_data
from tensorcrp.experiments.methods import library_methods
from tensorcrp.experiments.paper.paper_methods import (
    CLIMBS,
    methods_by_rank,
    methods_by_start,
    paper_methods,
)
from tensorcrp.experiments.paper.published import SIZES
from tensorcrp.experiments.protocols import PROTOCOL_EXPERIMENTS, protocol_cells
from tensorcrp.experiments.runs import Run

SPLITS = 5
PAPER_SETS = ("uuim", "cvl", "pointing04_tilt", "pointing04_pan", "usps", "coil20")
STAND_INS = {"mnist5k": "CVL", "cmu_faces": "Pointing'04"}
IDENTITY_SETS = ("orl", "umist", "yaleb")
# The paper never ran the identity tasks; (c - 1)^2 would be 361 to 1521 features.
IDENTITY_FEATURES = 100
TWO_CLASS = {"cmu_sunglasses": 25}  # the paper's 5^2 features
TENSORS = {
    "gait_usf": 4,
    "weizmann": 0.5,
    "indian_pines": 10,
    "basic_motions": 10,
    "eeg_finger": 0.8,
}
# Splits that take minutes: 71 classes, or samples of 5,000 entries and more.
FEWER_SPLITS = {"gait_usf": 2, "weizmann": 3, "indian_pines": 3}
FIGURE_SETS = (*PAPER_SETS, *STAND_INS)
ALL_SETS = (*FIGURE_SETS, *IDENTITY_SETS, "binalpha", *TENSORS)
OURS = "TensorCRPCV"
LITERAL = "CRP start 1"  # Algorithm 1 as it is written, from V = I


def plan(experiments, only, seed):
    """Runs of several experiments, each once, grouped by data set."""
    runs = []
    for name in experiments:
        for data in sets_of(name):
            if only is None or data in only:
                runs += _runs(name, data, seed)
    runs = list(dict.fromkeys(runs))
    order = {data: i for i, data in enumerate(dict.fromkeys(r.data for r in runs))}
    return sorted(runs, key=lambda run: order[run.data])


def part_of(runs, methods=None, splits=None, sizes=None):
    """Runs of these methods and training sizes, first splits; None for all of them.

    And the runs of sets that are not there, which say so.
    """
    return [
        run
        for run in runs
        if not run.checksum
        or (
            (methods is None or run.method in methods)
            and (splits is None or run.split < splits)
            and (sizes is None or run.train in sizes)
        )
    ]


def sets_of(name):
    """Data sets of an experiment."""
    if name in PROTOCOL_EXPERIMENTS:
        return PROTOCOL_EXPERIMENTS[name].sets
    return EXPERIMENTS[name][0]


def _runs(name, data, seed):
    try:
        found = load_data(data)
    except Skip:
        return [Run(data, "", 3, 0, seed, "CRP")]
    if name in EXPERIMENTS:
        cells = EXPERIMENTS[name][1](data, found.n_classes)
    else:
        cells = protocol_cells(name, found)
    # The paper's tuning of the SVM, where it has figures to compare with.
    paper = name in EXPERIMENTS and data not in IDENTITY_SETS
    return [
        Run(data, found.checksum, train, split, seed, method, n_features, paper=paper)
        for train, method, n_features, splits in cells
        for split in range(splits)
    ]


def n_features(data, n_classes):
    """(c - 1)^2, less for the identity tasks and two classes."""
    if data in TWO_CLASS:
        return TWO_CLASS[data]
    square = (n_classes - 1) ** 2
    return min(square, IDENTITY_FEATURES) if data in IDENTITY_SETS else square


def _classification(data, n_classes):
    h = n_features(data, n_classes)
    for train in SIZES:
        yield from ((train, method, h, SPLITS) for method in paper_methods())
        yield train, OURS, 0, SPLITS
        if data in PAPER_SETS and isinstance(train, int):
            yield train, LITERAL, h, SPLITS


def _two_class(data, n_classes):
    wanted = _classification(data, n_classes)
    return (cell for cell in wanted if cell[0] in (3, 0.8))


def _rank(data, n_classes):
    names = ("CRP", *methods_by_rank())
    return ((3, name, n_features(data, n_classes), SPLITS) for name in names)


def _initialization(data, n_classes):
    names = ("CRP", *methods_by_start())
    return ((3, name, n_features(data, n_classes), SPLITS) for name in names)


def _tensors(data, n_classes):
    splits = FEWER_SPLITS.get(data, SPLITS)
    return ((TENSORS[data], name, 0, splits) for name in library_methods())


def _convergence(data, n_classes):
    return ((5, name, 0, 1) for name in CLIMBS)


EXPERIMENTS = {
    "convergence": (ALL_SETS, _convergence),
    "rank": (FIGURE_SETS, _rank),
    "initialization": (FIGURE_SETS, _initialization),
    "classification": ((*FIGURE_SETS, *IDENTITY_SETS), _classification),
    "two-class": (tuple(TWO_CLASS), _two_class),
    "tensors": (tuple(TENSORS), _tensors),
}
