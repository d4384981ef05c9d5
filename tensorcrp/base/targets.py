"""Labels and weights of samples: what is rejected, and what weights of classes mean.

In: labels ``y`` (n,), weights (n,) or None, ``class_weight`` in scikit-learn's sense.
Out: weights (n,), the labels of two batches together, or one error with the repair.
"""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real

import numpy as np

from tensorcrp.base.validation import TooFewSamples

LIGHTEST, HEAVIEST = 1e-100, 1e100  # largest weight of all batches

ONE_CLASS = (
    "y has fewer than two classes, {}: with one class there is nothing to separate. "
    "Pass samples of two classes or more."
)
_EQUAL = (
    "nothing varies within the classes (every class has one sample, or all its samples "
    "are equal), so {}. Pass two different samples of some class{}."
)
# For methods with a parameter reg_scale, and for those without one.
NOTHING_WITHIN = _EQUAL.format(
    'reg_scale="relative" has no scale', ', or set reg_scale="absolute"'
)
NO_RATIO = _EQUAL.format("the between/within ratio is undefined", "")


# --- labels ---


def check_present(y):
    """Reject labels that are missing: None, NaN, NaT or pandas.NA."""
    y = np.asarray(y)
    if y.dtype.kind == "f":
        return  # scikit-learn names NaN among numbers
    missing = missing_labels(y)
    if missing.any():
        first = int(np.flatnonzero(missing)[0])
        raise ValueError(
            f"y contains NaN or another mark of a missing label, {y.flat[first]!r}, "
            f"first at sample {first}. Leave such samples out, or give them a label."
        )


def missing_labels(y):
    """Which labels of an array are None, NaN, NaT or pandas.NA."""
    if y.dtype.kind in "mM":
        return np.isnat(y)
    if y.dtype.kind == "f":
        return np.isnan(y)
    if y.dtype.kind != "O":
        return np.zeros(y.shape, bool)
    return np.array([is_missing(label) for label in y.flat], bool).reshape(y.shape)


def unlabelled(y):
    """Which of the labels (n,) of a file are missing: NaN and empty texts."""
    if y.dtype.kind == "f":
        return np.isnan(y)
    return np.char.strip(y) == "" if y.dtype.kind == "U" else np.zeros(len(y), bool)


def is_missing(label):
    """Whether a label is None, NaN, NaT or pandas.NA."""
    try:
        return label is None or bool(label != label)
    except (TypeError, ValueError):  # pandas.NA is neither equal nor different
        return True


def check_labels(y, weight=None, reg_scale="relative", nothing=None):
    """Reject labels that cannot work before any statistics are made.

    `nothing` says what to do if no class can have two different samples; by default
    the words of an estimator that has a parameter `reg_scale`.
    """
    used = y if weight is None else y[weight > 0]
    classes, counts = np.unique(used, return_counts=True)
    if len(classes) < 2:
        raise TooFewSamples(ONE_CLASS.format(classes))
    if reg_scale == "relative" and counts.max() == 1:
        raise TooFewSamples(nothing or NOTHING_WITHIN)


def union_of_labels(one, other):
    """Sorted labels of two batches, in a type that keeps every one of them.

    NumPy's common type of int64 and uint64 is float64, in which integers beyond 2**53
    become equal.
    """
    if (one.dtype.kind in "biuf") != (other.dtype.kind in "biuf"):
        raise ValueError(
            f"cannot merge labels {other} with labels {one}: use numbers in every "
            "batch, or strings in every batch."
        )
    types = (np.result_type(one, other), one.dtype, other.dtype)
    for dtype in types:
        if all(_fits(labels, dtype) for labels in (one, other)):
            return np.union1d(one.astype(dtype), other.astype(dtype))
    raise ValueError(
        f"cannot merge labels of type {other.dtype} with labels of type {one.dtype}: "
        "no type of numbers holds both exactly. Use one type in every batch."
    )


def _fits(labels, dtype):
    """Whether labels can be converted and are the same afterwards."""
    if labels.dtype.kind not in "iuf" or labels.dtype == dtype:
        return True
    with np.errstate(invalid="ignore"):
        cast = labels.astype(dtype)
    if {labels.dtype.kind, cast.dtype.kind} == {"i", "u"} and (labels < 0).any():
        return False
    # As Python numbers, which are compared exactly; back and forth may wrap around.
    return cast.tolist() == labels.tolist()


# --- weights of samples, and of classes ---


def check_weights(weight):
    """Reject weights (n,) whose scale would take all digits of the objective."""
    largest = weight.max()
    if not LIGHTEST <= largest <= HEAVIEST:
        raise ValueError(
            f"sample_weight has a largest value of {largest:.1e}; it must be between "
            f"{LIGHTEST:g} and {HEAVIEST:g}. Divide all weights, of all batches, by "
            "one number of that size: a relative ridge does not depend on their scale."
        )


def weights_in_range(weight):
    """Weights (n,) in a unit that `check_weights` accepts.

    They are divided by a power of four, and so their square roots by a power of two:
    both are exact.
    """
    largest = weight.max()
    if LIGHTEST <= largest <= HEAVIEST:
        return weight
    scaled = np.ldexp(weight, -(np.frexp(largest)[1] // 2 * 2))
    if np.count_nonzero(scaled) < np.count_nonzero(weight):
        raise ValueError(
            f"sample_weight has values from {weight[weight > 0].min():.1e} to "
            f"{largest:.1e}, a range beyond the precision of float64. Set the "
            "smallest weights to 0."
        )
    return scaled


def checked_weights(weight, X, y):
    """Weights (n,) of samples and labels that belong together, or an error."""
    if X.ndim < 2 or y.shape != X.shape[:1]:
        raise ValueError(
            f"X needs shape (n, l_1, ..., l_N) and y shape (n,), got {X.shape} and "
            f"{y.shape}."
        )
    weight = np.ones(len(X)) if weight is None else np.asarray(weight, float)
    if weight.shape != y.shape or not (weight >= 0).all() or not weight.any():
        raise ValueError(
            f"sample_weight needs {len(y)} numbers, none negative and not all zero."
        )
    check_weights(weight)
    return weight


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
            "class_weight is for samples, and fit_scatter gets none; give the weights "
            "to ClassScatter.from_samples, and leave class_weight out."
        )
