"""What to expect of a model, and the files that do not fit it.

In: `Predictions` of held-out training files. Out: plain numbers and lists.
"""

import numpy as np
from scipy.stats import binomtest

DOUBT = (
    0.01  # probability of such an accuracy by chance beyond which nothing is claimed
)


def summary(held_out, codes, screened, folds, groups):
    """Accuracy of held-out files, what guessing gives, and the confusion matrix."""
    c = len(held_out.classes)
    guesses = np.searchsorted(held_out.classes, held_out.labels)
    confusion = np.zeros((c, c), np.int64)
    np.add.at(confusion, (codes, guesses), 1)
    counts = confusion.sum(axis=1)
    return {
        "accuracy": float(np.mean(guesses == codes)),
        "files": len(codes),
        "folds": int(folds),
        "groups": None if groups is None else int(groups.max()) + 1,
        "chance": 1 / c,
        "majority": float(counts.max() / counts.sum()),
        "confusion": confusion,
        "motion": dict(screened),
        "test_accuracy": None,
        "test_files": 0,
    }


def is_near_chance(scores):
    """Whether guessing the most frequent class could be as good as this."""
    right = round(scores["accuracy"] * scores["files"])
    test = binomtest(right, scores["files"], scores["majority"], alternative="greater")
    # Few files without a mistake prove little, but nobody would call them chance.
    return bool(right < scores["files"] and test.pvalue > DOUBT)


def interval(accuracy, n):
    """95 % interval of an accuracy that was measured on n files (Wilson's)."""
    found = binomtest(round(accuracy * n), n).proportion_ci(method="wilson")
    return float(found.low), float(found.high)


def surprising(held_out, n=5):
    """Indices of the files that fit their own class least, the least first.

    By the probability of their own class; of scores that are none, by how far the best
    other class is ahead.
    """
    own = np.searchsorted(held_out.classes, held_out.truth)
    rows = np.arange(len(own))
    others = held_out.scores.astype(float, copy=True)
    fit = others[rows, own]
    if not held_out.are_probabilities:
        others[rows, own] = -np.inf
        fit = fit - others.max(axis=1)
    return [int(i) for i in np.argsort(fit, kind="stable")[:n]]
