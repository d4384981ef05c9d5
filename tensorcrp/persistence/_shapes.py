"""Rules for attributes in a file: kinds of values, and sizes that have to agree.

A rule is a kind and the axes of an array, as "modes h l k". ``*`` means the modes of a
sample, P their product, ``l`` the mode whose turn it is, ``_`` any size; every
other letter has one value per object: h components, k the rank, c classes, s samples,
n features, d, p and z of support vector machines.
"""

import numpy as np

from tensorcrp.crp import TensorCRP
from tensorcrp.model_selection.distances import DISTANCES, DistanceFeatures


def fits(rule, value, sizes):
    """Whether a value obeys a rule; new letters get their size in `sizes`."""
    kind, *axes = rule.split()
    return bool(_KINDS[kind](value, axes, sizes))


def is_integer(value, axes=(), sizes=None):
    """Whether a value is a whole number of Python or NumPy, and no truth value."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def is_shape(value):
    """Whether a value is a tuple of positive Python integers.

    NumPy's wrap around in products: 100 * 100 is 16 in int8.
    """
    good = type(value) is tuple and len(value) > 0
    return good and all(type(size) is int and size > 0 for size in value)


def _is_array(value, axes, sizes, kinds="f"):
    """A finite array of floats with these axes."""
    if not isinstance(value, np.ndarray) or value.dtype.kind not in kinds:
        return False
    wanted = [size for axis in axes for size in _sizes_of(axis, sizes)]
    if len(wanted) != value.ndim:
        return False
    for axis, size in zip(wanted, value.shape, strict=True):
        if isinstance(axis, str):
            axis = size if axis == "_" else sizes.setdefault(axis, size)
        if axis != size:
            return False
    return bool(np.isfinite(value).all())


def _sizes_of(axis, sizes):
    known = sizes.get(axis, axis)
    return known if isinstance(known, tuple) else (known,)


def _are_numbers(value, axes, sizes):
    """A finite array of real numbers of any type."""
    return _is_array(value, axes, sizes, kinds="fiub")


def _are_whole(value, axes, sizes):
    """An array of integers in C's int."""
    return _is_array(value, axes, sizes, kinds="i") and value.dtype == np.int32


def _is_optional(value, axes, sizes):
    """A finite array of floats, or None."""
    return value is None or _is_array(value, axes, sizes)


def _are_truths(value, axes, sizes):
    """An array of truth values, or None."""
    return value is None or _is_array(value, axes, sizes, kinds="b")


def _is_intercept(value, axes, sizes):
    """One number per row, or one for all where none was fitted."""
    return _is_number(value) or _is_array(value, axes, sizes)


def _are_modes(value, axes, sizes):
    """A list with one array per mode."""
    if type(value) is not list or len(value) != len(sizes["*"]):
        return False
    for factor, size in zip(value, sizes["*"], strict=True):
        sizes["l"] = size
        if not _is_array(factor, axes, sizes):
            return False
    return True


def _is_history(value, axes, sizes):
    good = isinstance(value, np.ndarray) and value.dtype.kind == "f"
    return good and value.ndim == 1


def _are_histories(value, axes, sizes):
    good = type(value) is list and all(_is_history(each, (), {}) for each in value)
    return good and len(value) == sizes.setdefault(axes[0], len(value))


def _are_labels(value, axes, sizes):
    if not isinstance(value, np.ndarray) or value.ndim != 1 or not len(value):
        return False
    if value.dtype.kind == "O" and not all(type(each) in _LABELS for each in value):
        return False
    return len(value) == sizes.setdefault(axes[0], len(value))


_LABELS = (str, bool, int, float)


def _is_number(value, axes=(), sizes=None):
    return isinstance(value, (float, np.floating))


def _is_dict(value, axes, sizes):
    return type(value) is dict


def _is_permutation(value, axes, sizes):
    good = type(value) is tuple and all(is_integer(mode) for mode in value)
    return good and sorted(value) == list(range(len(sizes["*"])))


def _is_crp(value, axes, sizes):
    """A fitted TensorCRP of as many components and of the same samples."""
    if type(value) is not TensorCRP or not hasattr(value, "projections_"):
        return False
    alike = len(value.projections_) == sizes.setdefault(axes[0], len(value.components_))
    return alike and value.input_shape_ == value.sample_shape_ == sizes["*"]


def _are_dicts(value, axes, sizes):
    return type(value) is list and all(type(each) is dict for each in value)


def _are_flags(value, axes, sizes):
    """One truth value per mode."""
    good = type(value) is list and all(type(each) is bool for each in value)
    return good and len(value) == len(sizes["*"])


def _are_distances(value, axes, sizes):
    """Fitted `DistanceFeatures` of n features; F is what a classifier sees."""
    if type(value) is not DistanceFeatures or not hasattr(value, "mean_"):
        return False
    n, two = sizes[axes[0]], value.distance == "both"
    sizes["F"] = 2 * n if two else n
    good = value.distance in DISTANCES and value.scales_.shape == (2,)
    return good and value.mean_.shape == (n,)


def _is_classifier(value, axes, sizes):
    """A fitted classifier of n features."""
    n_features = getattr(value, "n_features_in_", None)
    return is_integer(n_features) and n_features == sizes[axes[0]]


_KINDS = {
    "array": _is_array,
    "crp": _is_crp,
    "dict": _is_dict,
    "dicts": _are_dicts,
    "distances": _are_distances,
    "flags": _are_flags,
    "histories": _are_histories,
    "history": _is_history,
    "integer": is_integer,
    "intercept": _is_intercept,
    "classifier": _is_classifier,
    "labels": _are_labels,
    "modes": _are_modes,
    "number": _is_number,
    "numbers": _are_numbers,
    "optional": _is_optional,
    "permutation": _is_permutation,
    "truths": _are_truths,
    "whole": _are_whole,
}
