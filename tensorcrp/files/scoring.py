"""What to expect of a model: how often it is right, and how sure it may be.

In: `Predictions` of held-out training files, or the scores of their samples. Out:
accuracies, the files that do not fit, and probabilities that are as sure as right.
"""

import numpy as np
from scipy.special import softmax
from scipy.stats import binomtest

from tensorcrp.files.predictions import per_file


def held_out_scores(held_out, codes, screened, folds, groups):
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
        "fewest": fewest_in_a_class(codes, groups),
        "chance": 1 / c,
        "majority": float(counts.max() / counts.sum()),
        "confusion": confusion,
        "motion": dict(screened),
        "test_accuracy": None,
        "test_files": 0,
    }


def fewest_in_a_class(codes, groups):
    """Files, or groups of files, of the class that has fewest."""
    if groups is None:
        return int(np.bincount(codes).min())
    pairs = np.unique(np.column_stack([codes, groups]), axis=0)
    return int(np.bincount(pairs[:, 0]).min())


def is_near_chance(scores):
    """Whether guessing the most frequent class is within the interval of this."""
    # Few files without a mistake prove little, but nobody would call them chance.
    right = round(scores["accuracy"] * scores["files"])
    low, _ = interval(scores["accuracy"], scores["files"])
    return right < scores["files"] and low <= scores["majority"]


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


# --- how sure -----------------------------------------------------------------------

DOUBTS = 2.0 ** np.arange(-10, 6, 0.25)


def spread_of(values):
    """Root mean square of scores (m, c) around the mean of each sample; 1 if all 0."""
    values = values - values.mean(axis=1, keepdims=True)
    return float(np.sqrt(np.square(values).mean())) or 1.0


def temperatures(share, spreads):
    """A share of the spread, but never below 1: no surer than the classifier itself."""
    return np.maximum(1.0, share * np.asarray(spreads))


def tempered(logs, temperature):
    """Probabilities (m, c) from their logarithms, less sure the larger it is.

    `temperature` is a number, or one of each sample.
    """
    return softmax(np.asarray(logs) / np.reshape(temperature, (-1, 1)), axis=1)


def best_share(logs, spreads, owner, codes):
    """The share of the spread under which the labels of held-out files are most likely.

    Features separate the samples that they were fitted to better than new ones, so that
    a classifier of the features is too sure of itself, by a factor that differs from
    model to model: its scores of its own training samples tell how large they are.
    As in Platt's scaling, one file of n + 2 is taken to be wrong: n right answers do
    not make anything certain.

    Parameters
    ----------
    logs : ndarray of shape (m, c)
        Of held-out samples.
    spreads : ndarray of shape (m,)
        `spread_of` the training samples of the model that each sample was held out of.
    owner : ndarray of int, shape (m,)
        File of each sample.
    codes : ndarray of int, shape (n,)
        Class of each file.
    """
    n, c = len(codes), logs.shape[1]
    wrong = 1 / (n + 2)
    targets = np.full((n, c), wrong / (c - 1))
    targets[np.arange(n), codes] = 1 - wrong
    losses = []
    for share in DOUBTS:
        found = per_file(tempered(logs, temperatures(share, spreads)), owner, n)
        losses.append(-(targets * np.log(np.maximum(found, 1e-300))).sum())
    return float(DOUBTS[int(np.argmin(losses))])
