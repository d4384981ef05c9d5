"""Classification of samples by their features.

In: samples (n, l_1, ..., l_N) of any storage. Out: labels (n,), probabilities (n, c) or
decision values, by a fitted classifier that sees the features of the samples.
"""

from __future__ import annotations

from functools import partial
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC
from sklearn.utils.metaestimators import available_if

from tensorcrp.base.estimator import HostScore
from tensorcrp.base.gate import check_tensor
from tensorcrp.base.namespace import followed, host
from tensorcrp.base.notebook import search_summary, with_summary
from tensorcrp.base.one_by_one import scoring_each
from tensorcrp.base.resources import bounded_threads
from tensorcrp.base.types import Array, DaskArray, Samples, Stored
from tensorcrp.model_selection.distances import seen_features
from tensorcrp.storage.sources import map_samples


class FeatureClassifier(HostScore):
    """Methods of a transformer with a classifier of its features.

    A subclass has the parameters `estimator` and `class_weight`, and sets
    ``distances_`` and ``estimator_``.
    """

    @overload
    def predict(self, X: DaskArray) -> Any: ...
    @overload
    def predict(self, X: ArrayLike | Stored) -> Array: ...

    def predict(self, X: Samples) -> Any:
        """Labels of samples, by the classifier on their features.

        Parameters
        ----------
        X : array-like of shape (n, l_1, ..., l_N), or as in `fit`
            Samples of the shape seen in `fit`.

        Returns
        -------
        ndarray of shape (n,)
            One of `classes_` per sample. A dask array, not computed, if X is one; an
            array of the kind of X on its device, if labels are numbers.
        """
        return self._classified("predict", X)

    @available_if(lambda self: self._offers("predict_proba"))
    def predict_proba(self, X: Samples) -> Any:
        """Probabilities of the classes, by the classifier on the features.

        Parameters
        ----------
        X : array-like of shape (n, l_1, ..., l_N), or as in `fit`
            Samples of the shape seen in `fit`.

        Returns
        -------
        ndarray of shape (n, c)
            In the order of `classes_`.
        """
        return self._classified("predict_proba", X)

    @available_if(lambda self: self._offers("decision_function"))
    def decision_function(self, X: Samples) -> Any:
        """Decision values of the classifier on the features.

        Parameters
        ----------
        X : array-like of shape (n, l_1, ..., l_N), or as in `fit`
            Samples of the shape seen in `fit`.

        Returns
        -------
        ndarray of shape (n,) or (n, c)
            As the classifier gives them.
        """
        return self._classified("decision_function", X)

    def _offers(self, method):
        known = getattr(self, "estimator_", None)
        return hasattr(classifiers_of(self)[0] if known is None else known, method)

    def _classified(self, method, X):
        """What a method of the classifier says of samples."""
        X = check_tensor(self, X)
        classifier = partial(_by_classifier, self.distances_, self.estimator_, method)
        function = partial(_of_features, self._feature_map(), classifier)
        dtype, width = self.classes_.dtype, None
        if method != "predict":
            one = classifier(np.zeros((1, self._n_features_out)))
            dtype, width = one.dtype, (*one.shape[1:], None)[0]
        return map_samples(function, X, dtype, width)

    def _repr_mimebundle_(self, **kwargs):
        """Scikit-learn's representation in notebooks and, once fitted, a summary."""
        bundle = super()._repr_mimebundle_(**kwargs)
        fitted = self.__sklearn_is_fitted__()
        return with_summary(search_summary(self), bundle) if fitted else bundle

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.estimator_type = "classifier"
        return tags


def takes_nearest(search):
    """Whether points of a search are scored by the nearest neighbour, by default."""
    return search.estimator is None and search.class_weight is None


def classifiers_of(search):
    """The classifiers to choose from, unfitted."""
    if takes_nearest(search):
        # Either may be better: tests/measure_averages.py compares them.
        return [KNeighborsClassifier(1), SVC(C=10)]
    if search.estimator is None:
        return [LogisticRegression(max_iter=1000)]
    several = isinstance(search.estimator, (list, tuple))
    each = search.estimator if several else [search.estimator]
    return [clone(classifier) for classifier in each]


def _by_classifier(distances, classifier, method, features):
    """What a method of a fitted classifier says of features (n, H)."""
    with bounded_threads(0):  # a limit of the classifier's own would cross ours
        seen = seen_features(distances, features)
        return getattr(scoring_each(classifier), method)(seen)


def _of_features(features, classifier, X):
    """The same of samples, whose features are made where they are."""
    return followed(classifier(host(features(X))), X)
