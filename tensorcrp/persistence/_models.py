"""Which classes a model file may name, and what a fitted one of them holds.

In: an estimator. Out: its class name, parameters and fitted attributes as plain
values; and back, if the attributes are those of the class and their shapes agree.

A rule is a kind and the axes of an array. ``*`` stands for the modes of a sample, P for
their product, ``l`` for the mode whose turn it is, ``_`` for any size; every other
letter has one value per model: h components, k the rank, c classes.
"""

from math import prod

import numpy as np

from tensorcrp import baselines
from tensorcrp.crp import TensorCRP
from tensorcrp.model_selection import TensorCRPCV
from tensorcrp.persistence._json import ModelFormatError
from tensorcrp.scatter import ClassScatter

_DISCRIMINANT = {
    "factors_": "modes l _",
    "objective_": "number",
    "classes_": "labels c",
}
_ITERATES = {"history_": "history", "n_iter_": "integer"}
_CENTRED = {"factors_": "modes l _", "mean_": "array *", "objective_": "number"}
_PROJECTIONS = {"components_": "array h *", "projections_": "array h P"}

FITTED = {
    TensorCRP: {
        **_PROJECTIONS,
        "factors_": "modes h l k",
        "objective_": "histories h",
        "n_iter_": "integer",
        "lambda_": "number",
        "root_error_": "number",
        "classes_": "labels c",
    },
    TensorCRPCV: {
        **_PROJECTIONS,
        "factors_": "modes h l k",
        "n_iter_": "integer",
        "classes_": "labels c",
        "best_params_": "dict",
        "best_score_": "number",
        "best_index_": "integer",
        "cv_results_": "dict",
        "n_splits_": "integer",
        "best_estimator_": "crp h",
        "estimator_": "judge h",
    },
    baselines.RidgeLDA: {
        **_PROJECTIONS,
        "objective_": "array h",
        "lambda_": "number",
        "classes_": "labels c",
    },
    baselines.UMLDA: {
        **_PROJECTIONS,
        "factors_": "modes h l",
        "objective_": "array h",
        "history_": "histories h",
        "n_iter_": "integer",
        "classes_": "labels c",
    },
    baselines.BilinearSVC: {
        "coef_": "array h *",
        "intercept_": "array h",
        "factors_": "modes h l k",
        "objective_": "histories h",
        "n_iter_": "integer",
        "classes_": "labels c",
    },
    baselines.MPCA: {**_CENTRED, **_ITERATES},
    baselines.TwoDPCA: _CENTRED,
    baselines.TensorLPP: {**_CENTRED, **_ITERATES},
    baselines.MultilinearLDA: {**_DISCRIMINANT, **_ITERATES},
    baselines.TwoDLDA: {**_DISCRIMINANT, **_ITERATES},
    baselines.SelectiveLDA: {**_DISCRIMINANT, "order_": "permutation"},
    baselines.ParallelLDA: _DISCRIMINANT,
    baselines.CMDA: {**_DISCRIMINANT, **_ITERATES},
    baselines.DGTDA: _DISCRIMINANT,
    baselines.HODA: {**_DISCRIMINANT, **_ITERATES},
}
CLASSES = {cls.__name__: cls for cls in FITTED}
# Whatever the class: what the gate of the package and scikit-learn set.
SHAPES = {"sample_shape_", "input_shape_", "n_features_in_"}
OPTIONAL = {"feature_names_in_", "_scatter", "_sklearn_output_config"}
# What files of version 1.0 do not have, and what it was then.
LATER = {"root_error_": 0.0}


def check_state(cls, state, *, newer=False):
    """The attributes of `state` that belong to a model of class `cls`, checked.

    Those of a newer minor version that are unknown here are left out.
    """
    rules = FITTED[cls]
    unknown = set(state) - set(rules) - SHAPES - OPTIONAL
    if unknown and not newer:
        raise ModelFormatError(
            f"a {cls.__name__} has no attributes {sorted(unknown)}."[:300]
        )
    state = {name: value for name, value in state.items() if name not in unknown}
    if not set(state) - {"_sklearn_output_config"}:
        _check_optional(state)
        return state  # not fitted
    if set(rules) & set(state):
        state = {name: LATER[name] for name in set(rules) & set(LATER)} | state
    _check_complete(cls, state)
    _check_shapes(state)
    _check_optional(state)
    _check_rules(cls, state)
    return state


def _check_complete(cls, state):
    rules, missing = set(FITTED[cls]), SHAPES - set(state)
    # Without any of them, a stream has seen too little yet.
    if rules & set(state) or "_scatter" not in state:
        missing |= rules - set(state)
    if missing:
        raise ModelFormatError(
            f"a fitted {cls.__name__} needs the attributes {sorted(missing)}."
        )


def _check_rules(cls, state):
    sizes = {"*": state["sample_shape_"], "P": prod(state["sample_shape_"])}
    for name, rule in FITTED[cls].items():
        kind, *axes = rule.split()
        if name in state and not _RULES[kind](state[name], axes, sizes):
            raise ModelFormatError(
                f"{name} of a {cls.__name__} does not go with its other attributes."
            )


def _check_shapes(state):
    sample, given = state["sample_shape_"], state["input_shape_"]
    if not _is_shape(sample) or not _is_shape(given) or prod(sample) != prod(given):
        raise ModelFormatError("sample_shape_ and input_shape_ are not shapes alike.")
    if given not in (sample, (prod(sample),)):
        raise ModelFormatError("input_shape_ is neither sample_shape_ nor flattened.")
    if not _is_integer(state["n_features_in_"]) or state["n_features_in_"] != given[0]:
        raise ModelFormatError("n_features_in_ is not the size of the first mode.")


def _check_optional(state):
    names = state.get("feature_names_in_")
    if names is not None:
        good = isinstance(names, np.ndarray) and names.dtype == object
        good = good and names.shape == (state.get("n_features_in_"),)
        if not good or not all(type(name) is str for name in names):
            raise ModelFormatError("feature_names_in_ are not names of the entries.")
    scatter = state.get("_scatter")
    if scatter is not None:
        good = isinstance(scatter, ClassScatter)
        if not good or prod(scatter.shape) != prod(state.get("sample_shape_", (0,))):
            raise ModelFormatError("_scatter is not of samples of this shape.")
    config = state.get("_sklearn_output_config", {})
    names = ("default", "pandas", "polars")
    if not (
        type(config) is dict
        and set(config) <= {"transform"}
        and all(type(each) is str and each in names for each in config.values())
    ):
        raise ModelFormatError("_sklearn_output_config is not what set_output sets.")


def scatter_from(parts):
    """A ClassScatter of a dict, if its arrays go together."""
    names, more = {"classes", "counts", "means", "root"}, {"error", "missing"}
    if type(parts) is not dict or not names <= set(parts) <= names | more:
        raise ModelFormatError(f"a ClassScatter has {sorted(names)}.")
    for value in (parts[name] for name in more & set(parts)):
        if type(value) is not float or not 0 <= value < np.inf:
            raise ModelFormatError("the error of a ClassScatter is no number.")
    sizes = {}
    root = parts["root"]
    good = _is_array(root, ["_"] * getattr(root, "ndim", 0), sizes) and root.ndim > 1
    sizes["*"] = root.shape[1:] if good else ()
    good = good and _are_labels(parts["classes"], ["c"], sizes)
    good = good and _is_array(parts["counts"], ["c"], sizes)
    good = good and _is_array(parts["means"], ["c", "*"], sizes)
    if not good or not (parts["counts"] > 0).all() or not prod(root.shape):
        raise ModelFormatError("the arrays of a ClassScatter do not go together.")
    return ClassScatter(**parts)


# --- rules ------------------------------------------------------------------------


def _is_array(value, axes, sizes):
    """A finite array of floats with these axes; new letters get their size."""
    if not isinstance(value, np.ndarray) or value.dtype.kind != "f":
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


def _is_integer(value, axes=(), sizes=None):
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def _is_dict(value, axes, sizes):
    return type(value) is dict


def _is_permutation(value, axes, sizes):
    good = type(value) is tuple and all(_is_integer(mode) for mode in value)
    return good and sorted(value) == list(range(len(sizes["*"])))


def _is_shape(value):
    good = type(value) is tuple and len(value) > 0
    return good and all(_is_integer(size) and size > 0 for size in value)


def _is_crp(value, axes, sizes):
    if type(value) is not TensorCRP or not hasattr(value, "projections_"):
        return False
    alike = len(value.projections_) == sizes[axes[0]]
    return alike and value.input_shape_ == value.sample_shape_ == sizes["*"]


def _is_judge(value, axes, sizes):
    """A fitted classifier of as many features as there are components."""
    n_features = getattr(value, "n_features_in_", None)
    return _is_integer(n_features) and n_features == sizes[axes[0]]


_RULES = {
    "array": _is_array,
    "crp": _is_crp,
    "dict": _is_dict,
    "histories": _are_histories,
    "history": _is_history,
    "integer": _is_integer,
    "judge": _is_judge,
    "labels": _are_labels,
    "modes": _are_modes,
    "number": _is_number,
    "permutation": _is_permutation,
}
