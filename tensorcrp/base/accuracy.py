"""The score of classifiers, wherever their labels are.

In: samples and their labels (n,), in memory or on a device. Out: the share of labels
that are predicted right.
"""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike
from sklearn.base import ClassifierMixin
from sklearn.metrics import accuracy_score

from tensorcrp.base.namespace import host


class HostScore(ClassifierMixin):
    """Scikit-learn's classifier, whose labels are compared in host memory."""

    def score(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> float:
        """Accuracy: the share of samples whose label is predicted.

        Parameters
        ----------
        X : array-like of shape (n, l_1, ..., l_N), or as in `fit`
            Samples of the shape seen in `fit`.
        y : array-like of shape (n,)
            Labels, in memory or on a device.
        sample_weight : array-like of shape (n,), default=None
            Weight of each sample; None for equal weights.

        Returns
        -------
        float
            Between 0 and 1.
        """
        weight = None if sample_weight is None else host(sample_weight)
        predicted = host(self.predict(X))  # scikit-learn would not find it on a device
        return float(accuracy_score(host(y), predicted, sample_weight=weight))
