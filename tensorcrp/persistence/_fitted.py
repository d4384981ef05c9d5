"""Fitted attributes of estimators: complete, of the right kind, of shapes that agree.

In: a class and a dict of attributes, of a model to save or of a file. Out: the
attributes that belong to the class, or ModelFormatError.
"""

from math import prod

import numpy as np

from tensorcrp.model_selection.distances import DistanceFeatures
from tensorcrp.persistence._classes import LATER, MODELS, NESTED
from tensorcrp.persistence._json import ModelFormatError
from tensorcrp.persistence._shapes import fits, is_integer, is_shape
from tensorcrp.scatter import ClassScatter

# Whatever the class: what the gate of the package and scikit-learn set.
SHAPES = {"sample_shape_", "input_shape_", "n_features_in_"}
OPTIONAL = {"feature_names_in_", "_scatter", "_sklearn_output_config"}


def check_state(cls, state, *, newer=False):
    """The attributes of `state` that belong to a model of class `cls`, checked.

    Those of a newer minor version that are unknown here are left out.
    """
    rules = MODELS[cls]
    state = _with_history(rules, state)
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
    sizes = {"*": state["sample_shape_"], "P": prod(state["sample_shape_"])}
    check_rules(cls, rules, state, sizes)
    return state


def _with_history(rules, state):
    """Up to format 1.1, ``objective_`` held the curves that ``history_`` holds now."""
    if "objective_" in rules or "history_" not in rules or "history_" in state:
        return state
    return {("history_" if n == "objective_" else n): v for n, v in state.items()}


def check_rules(cls, rules, state, sizes):
    """Raise ModelFormatError unless the attributes obey the rules of their class."""
    for name, rule in rules.items():
        if name in state and not fits(rule, state[name], sizes):
            raise ModelFormatError(
                f"{name} of a {cls.__name__} does not match its other attributes."
            )


def without_nested(cls, state):
    """The state without what its nested model holds: arrays are in a file once."""
    holder, names = NESTED.get(cls, (None, ()))
    if holder not in state:
        return state
    for name in names:
        if not _same(state[name], getattr(state[holder], name)):
            raise ModelFormatError(f"{name} is not that of {holder}; fit again.")
    return {name: value for name, value in state.items() if name not in names}


def with_nested(cls, state):
    """The state with what its nested model holds, shared as after `fit`."""
    holder, names = NESTED.get(cls, (None, ()))
    if holder not in state:
        return state
    found = {n: getattr(state[holder], n) for n in names if hasattr(state[holder], n)}
    return _as_an_average(state | found, state[holder])


def _as_an_average(state, best):
    """Up to format 1.2, a search held its best point alone: an average of one."""
    h = len(getattr(best, "components_", ()))
    if "members_" in state or not h or "best_params_" not in state:
        return state
    plain = DistanceFeatures("euclidean")
    vars(plain).update(mean_=np.zeros(h), scales_=np.ones(2), n_features_in_=h)
    return state | {
        "members_": [state["best_params_"]],
        "weights_": np.ones(1),
        "candidates_": [],
        "ordered_": [True] * len(best.sample_shape_),
        "projections_": best.projections_,
        "distances_": plain,
    }


def _same(mine, theirs):
    if isinstance(mine, list):
        return len(mine) == len(theirs) and all(map(np.array_equal, mine, theirs))
    return np.array_equal(mine, theirs)


def _check_complete(cls, state):
    rules, missing = set(MODELS[cls]), SHAPES - set(state)
    # Without any of them, a stream has seen too little yet.
    if rules & set(state) or "_scatter" not in state:
        missing |= rules - set(state)
    if missing:
        raise ModelFormatError(
            f"a fitted {cls.__name__} needs the attributes {sorted(missing)}."
        )


def _check_shapes(state):
    sample, given = state["sample_shape_"], state["input_shape_"]
    if not is_shape(sample) or not is_shape(given) or prod(sample) != prod(given):
        raise ModelFormatError("sample_shape_ and input_shape_ are not shapes alike.")
    if given not in (sample, (prod(sample),)):
        raise ModelFormatError("input_shape_ is neither sample_shape_ nor flattened.")
    if not is_integer(state["n_features_in_"]) or state["n_features_in_"] != given[0]:
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
    root, counts = parts["root"], parts["counts"]
    sizes = {"*": getattr(root, "shape", ())[1:]}
    good = fits("array _ *", root, sizes) and root.ndim > 1
    good = good and fits("labels c", parts["classes"], sizes)
    good = good and fits("array c", counts, sizes)
    good = good and fits("array c *", parts["means"], sizes)
    if not good or not (counts > 0).all() or not prod(root.shape):
        raise ModelFormatError("the arrays of a ClassScatter do not match.")
    return ClassScatter(**parts)
