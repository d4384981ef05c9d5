"""Weights of classes as weights of samples.

In: ``class_weight`` in scikit-learn's sense, labels (n,) and weights (n,) or None. Out:
weights (n,), or None where all are one.
"""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real

import numpy as np


def class_weighted(class_weight, y, weight):
    """Weights of samples times those of their classes.

    Parameters
    ----------
    class_weight : dict, "balanced" or None
        Label -> weight, one where a label is not in it; "balanced" gives every class
        the same sum of weights, and all together the sum that they had.
    y : ndarray of shape (n,)
    weight : ndarray of shape (n,) or None
    """
    if class_weight is None:
        return weight
    check_class_weight(class_weight)
    classes, codes = np.unique(y, return_inverse=True)
    weight = np.ones(len(y)) if weight is None else weight
    if isinstance(class_weight, str):
        sums = np.bincount(codes, weight)
        present = np.count_nonzero(sums)
        factors = np.divide(weight.sum() / present, sums, where=sums > 0, out=0 * sums)
    else:
        _check_names(class_weight, classes.tolist())
        factors = np.array([float(class_weight.get(c, 1)) for c in classes.tolist()])
    return weight * factors[codes]


def check_class_weight(class_weight):
    """Raise ValueError unless it is None, "balanced" or label -> weight."""
    if class_weight is None or class_weight == "balanced":
        return
    if not isinstance(class_weight, Mapping):
        raise ValueError(
            'class_weight must be None, "balanced" or a dict from labels to weights, '
            f"got {class_weight!r}."
        )
    for label, value in class_weight.items():
        number = isinstance(value, Real) and not isinstance(value, bool)
        if not number or not 0 <= value < np.inf:
            raise ValueError(
                f"class_weight of {label!r} must be a number of at least 0, got "
                f"{value!r}."
            )


def _check_names(class_weight, labels):
    """Labels that do not exist are a slip if others have no weight."""
    unknown = [label for label in class_weight if label not in labels]
    if unknown and any(label not in class_weight for label in labels):
        raise ValueError(
            f"class_weight has a weight for {unknown[0]!r}, which is none of the "
            f"labels {labels[:10]}."
        )


def check_batches(estimator):
    """Raise ValueError if weights of classes need the labels of all batches."""
    if getattr(estimator, "class_weight", None) == "balanced":
        raise ValueError(
            'class_weight="balanced" needs all labels at once, and batches come one '
            "by one; give a dict from labels to weights, or use fit."
        )


def check_no_class_weight(estimator):
    """Raise ValueError if there are weights of classes and no samples to weigh."""
    if getattr(estimator, "class_weight", None) is not None:
        raise ValueError(
            "class_weight weighs samples, and fit_scatter has none; give the weights "
            "to ClassScatter.from_samples, and leave class_weight out."
        )
