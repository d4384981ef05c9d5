"""Products that give a sample the same numbers alone and among others.

In: samples (n, P) or (n, l_1, ..., l_N), and rows, matrices or a linear classifier to
multiply them with. Out: features (n, h), cores (n, r_1, ..., r_N) or scores of classes,
bitwise the same for one sample and for many.

A matrix product of BLAS sums in an order that depends on the number of samples and on
the place of a sample among them, so that its last digits do. Here every sample meets
products of its own, of the same sizes, and rows go in parts that stay in cache. This
takes longer than one large product.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from math import prod
from typing import Any

import numpy as np
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline
from sklearn.svm import LinearSVC

from tensorcrp.base.types import Array

ROW_CACHE = 2**18  # bytes of rows that one sample after the other meets
LANES = 4  # rows that BLAS multiplies together
LINEAR = (LinearDiscriminantAnalysis, LogisticRegression, LinearSVC)


def features_of_each(samples: Array, rows: Array) -> Array:
    """Inner products of samples with rows, one sample at a time.

    Parameters
    ----------
    samples : ndarray of shape (n, P)
        In any layout.
    rows : ndarray of shape (h, P)
        Of the type of `samples`.

    Returns
    -------
    ndarray of shape (n, h)
    """
    samples, rows = np.ascontiguousarray(samples), np.ascontiguousarray(rows)
    h, P = rows.shape
    step = max(LANES, ROW_CACHE // (P * rows.itemsize) // LANES * LANES)
    if step >= h:
        return np.matmul(rows, samples[:, :, None])[:, :, 0]
    out = np.empty((len(samples), h), samples.dtype)
    for start in range(0, h, step):
        part = slice(start, start + step)
        np.matmul(rows[part], samples[:, :, None], out=out[:, part, None])
    return out


def cores_of_each(tensors: Array, matrices: Sequence[Array]) -> Array:
    """Mode products of tensors with a matrix per mode, one tensor at a time.

    The mode that shrinks most goes first.

    Parameters
    ----------
    tensors : ndarray of shape (n, l_1, ..., l_N)
        In any layout.
    matrices : list of ndarrays of shape (r_m, l_m)
        One per mode.

    Returns
    -------
    ndarray of shape (n, r_1, ..., r_N)
    """
    n, shares = len(tensors), [len(each) / each.shape[1] for each in matrices]
    for m in np.argsort(shares, kind="stable"):
        matrix = matrices[m].astype(tensors.dtype, copy=False)
        before, after = tensors.shape[1 : m + 1], tensors.shape[m + 2 :]
        X = tensors.reshape(n, prod(before), matrix.shape[1], prod(after))
        X = np.ascontiguousarray(X)
        done = X[..., 0] @ matrix.T if X.shape[-1] == 1 else matrix @ X
        tensors = done.reshape(n, *before, len(matrix), *after)
    return tensors


def scoring_each(classifier: Any) -> Any:
    """A fitted classifier whose linear scores are sums over one sample at a time.

    Scikit-learn's linear classifiers derive labels and probabilities from
    ``decision_function``, one matrix product for all samples.

    Parameters
    ----------
    classifier : estimator
        Fitted; unchanged. LDA, logistic regression, a linear SVM, or a pipeline that
        ends in one of them.

    Returns
    -------
    estimator
        With the same attributes and methods; others than these are returned as given.
    """
    if isinstance(classifier, Pipeline):
        name, last = classifier.steps[-1]
        alone = copy(classifier)
        alone.steps = [*classifier.steps[:-1], (name, scoring_each(last))]
        return alone
    if not isinstance(classifier, LINEAR):
        return classifier
    alone = copy(classifier)
    alone.__class__ = type("Alone", (_ScoresOfEach, type(classifier)), {})
    return alone


class _ScoresOfEach:
    """``decision_function`` of a linear classifier, for each row of features alone."""

    def decision_function(self, X):
        X, weights = np.asarray(X), np.atleast_2d(self.coef_)  # X may be a data frame
        dtype = np.result_type(X, weights)
        both = (each.astype(dtype, copy=False) for each in (X, weights))
        values = features_of_each(*both) + self.intercept_
        return values[:, 0] if len(weights) == 1 else values
