"""Published protocols: what to run, and published figures with their sources.

In: the name of a protocol and its data. Out: cells of a plan. A published figure has a
source; splits are ours where the authors' own are not at hand, and the words say so.
The tables are in `protocol_page`.
"""

from typing import NamedTuple

from tensorcrp.experiments.spatial_lda import S_LDA

QUICK = (
    *("raw", "RidgeLDA", "RidgeLDA, smooth", "MPCA", "MultilinearLDA"),
    *("SelectiveLDA", "ParallelLDA", "linear SVM", "RBF SVM", "RBF SVM, smooth"),
    "TensorCRPCV",
)
SLOW = "TensorCRP"  # from four starts, with 2 (c - 1) or more components
FACES = ("yaleb", "orl")  # D. Cai's protocol, with S-LDA of his paper
CAI_SPLITS, SLOW_SPLITS, SLOW_MOST = 50, 10, 20


class PublishedFigure(NamedTuple):
    """A published accuracy in %, in words, and where it comes from."""

    data: str
    train: int
    classifier: str
    method: str
    words: str
    source: str


CAI_PAGE = (
    "D. Cai's page of face data in Matlab format, which gives errors: 63.6 +- 1.6 with "
    "5 and 46.4 +- 1.1 with 10 images per class"
)
ICML_TABLE = (
    "table of 29 UEA sets in the authors' response to reviewers of ICML 2025, "
    "submission 4119 (github.com/AnonymousUserss/ICML2025-4119-Response): their own "
    "network with a Fisher information constraint (FIC), NuTime, InceptionTime + SAN"
)
_BASELINE = ("1-NN", "baseline (pixels)")
_DEEP = ("FIC network", "NuTime", "InceptionTime + SAN")
PUBLISHED = (
    PublishedFigure("yaleb_cai", 5, *_BASELINE, "36.4 +- 1.6", CAI_PAGE),
    PublishedFigure("yaleb_cai", 10, *_BASELINE, "53.6 +- 1.1", CAI_PAGE),
    *(
        PublishedFigure("eeg_finger_uea", 0, "own", name, words, ICML_TABLE)
        for name, words in zip(_DEEP, ("65.0", "61.2", "59.5"), strict=True)
    ),
    *(
        PublishedFigure("basic_motions_uea", 0, "own", name, "100.0", ICML_TABLE)
        for name in _DEEP
    ),
)


class Experiment(NamedTuple):
    """Sets, training sizes, and what the table says."""

    sets: tuple
    sizes: tuple
    splits: int
    words: str


CAI_WORDS = (
    "D. Cai's protocol: images of unit norm, random splits (drawn here: not his). "
    "RidgeLDA is the R-LDA of Cai et al., CVPR 2007, S-LDA their spatially smooth LDA; "
    "both were run here, and no published figure of theirs is quoted."
)
PROTOCOL_EXPERIMENTS = {
    "yaleb": Experiment(
        ("yaleb_cai",),
        (5, 10, 20, 30, 40, 50),
        CAI_SPLITS,
        CAI_WORDS,
    ),
    "orl": Experiment(
        ("orl_cai",),
        (3, 5, 8),
        CAI_SPLITS,
        CAI_WORDS,
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

    Random splits are as many as the protocol has; of the slow method fewer, and up to
    20 per class.
    """
    how = PROTOCOL_EXPERIMENTS[name]
    for train in how.sizes:
        n = how.splits or len(data.splits)
        few = n if data.splits else min(n, SLOW_SPLITS)
        for method in methods_at(name, train):
            yield train, method, 0, few if method == SLOW else n


def methods_at(name, train):
    """Methods of an experiment at one training size."""
    quick = (*QUICK, S_LDA) if name in FACES else QUICK
    return (*quick, *((SLOW,) if train <= SLOW_MOST else ()))
