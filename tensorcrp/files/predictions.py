"""What a model says of files.

In: scores of every sample of every file. Out: a label per file, how sure it is, and the
second choice.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

from tensorcrp.base.one_by_one import features_of_each, scoring_each
from tensorcrp.base.types import Array, Floats
from tensorcrp.files.linear import is_nearest_mean, linear_classifier
from tensorcrp.model_selection.distances import seen_features


@dataclass(frozen=True)
class Predictions:
    """Labels of files; unpacks as ``files, labels``.

    Parameters
    ----------
    files : list of n str
        A file, or a file and the number of the sample in it, ``a.npz[3]``.
    scores : ndarray of shape (n, c)
        Probabilities, or other numbers that are large for likely classes; means over
        the windows of a file.
    classes : ndarray of str, shape (c,)
        Names of the classes.
    are_probabilities : bool
        Whether `scores` are probabilities.
    truth : list of str or None, default=[]
        Class folder of each file, where it is the name of a class.
    skipped : list of (str, str), default=[]
        Files that could not be read, with the reason.
    groups : list of str or None, default=None
        Group of each file, such as a person, where it was asked for.

    Examples
    --------
    >>> import numpy as np
    >>> from tensorcrp.files import Predictions
    >>> classes = np.array(["run", "walk"])
    >>> files, labels = Predictions(["a.mp4"], np.array([[0.2, 0.8]]), classes, True)
    >>> labels.tolist()
    ['walk']
    """

    files: list[str]
    scores: Floats
    classes: Array
    are_probabilities: bool
    truth: list[str | None] = field(default_factory=list)
    skipped: list[tuple[str, str]] = field(default_factory=list)
    groups: list[Any] | None = None

    def __iter__(self) -> Iterator[object]:
        return iter((self.files, self.labels))

    @property
    def labels(self) -> Array:
        """The most likely class of each file."""
        return self.classes[self.scores.argmax(axis=1)]

    @property
    def second(self) -> list[str | None]:
        """The next class of each file; None where the classifier does not say."""
        order = np.argsort(-self.scores, axis=1, kind="stable")[:, 1]
        told = np.take_along_axis(self.scores, order[:, None], 1)[:, 0] != 0
        told = told | (not self._are_votes())
        return [
            str(c) if t else None
            for c, t in zip(self.classes[order], told, strict=True)
        ]

    @property
    def probability(self) -> list[float | None]:
        """The probability of each label; None where the classifier gives none."""
        if not self.are_probabilities:
            return [None] * len(self.files)
        return [float(each) for each in self.scores.max(axis=1)]

    @property
    def accuracy(self) -> float | None:
        """Share of right labels among files whose class is known; None without any."""
        known = [i for i, label in enumerate(self.truth) if label is not None]
        labels = self.labels
        right = [labels[i] == self.truth[i] for i in known]
        return float(np.mean(right)) if right else None

    def rows(self) -> list[dict[str, str]]:
        """One dict of strings per file: file, label, probability and second choice.

        Returns
        -------
        list of dict
            Empty texts where nothing is known; the group where there are groups.
        """
        columns = (self.files, self.labels, self.probability, self.second)
        rows = [
            {
                "file": file,
                "label": str(label),
                "probability": "" if share is None else f"{share:.4f}",
                "second": second or "",
            }
            for file, label, share, second in zip(*columns, strict=True)
        ]
        for row, group in zip(rows, self.groups or (), strict=self.groups is not None):
            row["group"] = str(group)
        return rows

    def _are_votes(self):
        """Whether scores are shares of votes: nothing is known of a class without."""
        return not self.are_probabilities and bool((self.scores >= 0).all())


def scores_of(model, X):
    """Scores (m, c) of samples, and whether they are logarithms of probabilities.

    Parameters
    ----------
    model : Pipeline
        Ends in a `TensorCRPCV`, fitted on class numbers 0 to c - 1.
    X : ndarray of shape (m, l_1, ..., l_N)
    """
    search = model[-1]
    features = np.asarray(search.transform(model[:-1].transform(X)))
    features = seen_features(search.distances_, features)
    classifier = scoring_each(search.estimator_)
    last = classifier[-1] if hasattr(classifier, "steps") else classifier
    if isinstance(last, (LinearDiscriminantAnalysis, LogisticRegression)):
        values = classifier.decision_function(features)  # not rounded to 0 and 1
        return (_two_columns(values / 2) if values.ndim == 1 else values), True
    if is_nearest_mean(classifier):
        return _by_means(classifier, features), True
    if hasattr(classifier, "predict_proba") and not _is_one_neighbour(last):
        shares = classifier.predict_proba(features)
        return np.log(np.maximum(shares, np.finfo(float).tiny)), True
    if hasattr(classifier, "decision_function") and not _scores_pairs(last):
        values = classifier.decision_function(features)
        values = _two_columns(values) if values.ndim == 1 else values
        if values.shape[1] == len(classifier.classes_):
            return values, False
    labels = np.asarray(classifier.predict(features))
    return (labels[:, None] == classifier.classes_).astype(float), False


def _by_means(classifier, features):
    """Logarithms of probabilities, up to a constant, if classes are balls of one size.

    Their largest is the nearest mean, which is what `predict` gives; the probabilities
    of scikit-learn's NearestCentroid may say otherwise.
    """
    weights, constants = linear_classifier(classifier)
    variance = np.square(classifier.within_class_std_dev_).mean()
    values = features_of_each(features.astype(weights.dtype), weights) + constants
    return values / (2 * variance)


def _two_columns(values):
    return np.column_stack([-values, values])


def _scores_pairs(classifier):
    """Whether its scores are of pairs of classes: of three there are three, too."""
    return getattr(classifier, "decision_function_shape", "ovr") == "ovo"


def _is_one_neighbour(classifier):
    """Its probabilities are 0 and 1, and say nothing."""
    return isinstance(classifier, KNeighborsClassifier) and classifier.n_neighbors == 1


def per_file(values, owner, n):
    """Means (n, c) of the samples' values (m, c) over the samples of each file."""
    sums = np.zeros((n, values.shape[1]))
    np.add.at(sums, owner, values)
    return sums / np.bincount(owner, minlength=n)[:, None]
