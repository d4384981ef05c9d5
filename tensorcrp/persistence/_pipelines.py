"""Pipelines, scalers and classifiers of files, taken apart and rebuilt.

In: a scikit-learn `Pipeline` of supported steps, a scaler, a `Motion`, a
`FileClassifier`. Out: plain values, and from those the same again, if the shapes of
neighbouring steps agree.
"""

from itertools import pairwise
from math import isfinite, prod

import numpy as np
from sklearn.pipeline import Pipeline

from tensorcrp.files import FileClassifier
from tensorcrp.persistence._classes import (
    CLASSES,
    CLASSIFIERS,
    SCALER_RULES,
    SCALERS,
    by_name,
)
from tensorcrp.persistence._fitted import check_rules
from tensorcrp.persistence._json import ModelFormatError
from tensorcrp.persistence._parts import call, state_of, three
from tensorcrp.persistence._shapes import is_integer, is_shape
from tensorcrp.preprocessing import Motion
from tensorcrp.signals import ChannelImputer, ChannelScaler

_SIZES = {"sample_shape_", "input_shape_", "n_features_in_"}
_VALUES = {"dtype_", "range_"}  # of a Motion; absent from older model files
_FILES = {"classes_", "reader_", "model_", "scores_"}


# --- scalers and motion -----------------------------------------------------------


def scaler_apart(scaler):
    """Parameters and fitted arrays of a scaler."""
    params = scaler.get_params(deep=False)
    state = state_of(scaler, params)
    _check_scaler(type(scaler), state)
    return {"class": type(scaler).__name__, "params": params, "state": state}


def scaler_from(parts):
    """The scaler that `scaler_apart` took apart."""
    name, params, state = three(parts, SCALERS)
    _check_scaler(SCALERS[name], state)
    scaler = call(SCALERS[name], params)
    vars(scaler).update(state)
    if state and type(scaler) in (ChannelImputer, ChannelScaler):
        _check_channels(scaler)
    return scaler


def _check_channels(scaler):
    """As many means, or rows of the covariance, as a sample has channels."""
    shape, mode = getattr(scaler, "input_shape_", None), scaler.mode
    good = is_shape(shape) and is_integer(mode) and 0 <= mode < len(shape)
    good = good and scaler.n_features_in_ == shape[0]
    found = scaler.mean_ if type(scaler) is ChannelScaler else scaler.covariance_
    if not good or len(found) != shape[mode]:
        raise ModelFormatError(f"the shapes of a {type(scaler).__name__} do not match.")


def _check_scaler(cls, state):
    """Fitted attributes only, whose sizes are the number of features."""
    if not state:
        return
    for name in state:
        good = (
            name.endswith("_") and not name.startswith("_") and not hasattr(cls, name)
        )
        if not (good or name == "_sklearn_output_config"):
            raise ModelFormatError(f"a {cls.__name__} with attribute {name[:80]!r}.")
    n = state.get("n_features_in_")
    if not is_integer(n) or not set(SCALER_RULES[cls]) <= set(state):
        raise ModelFormatError(f"a fitted {cls.__name__} that lacks attributes.")
    shape = state.get("input_shape_")
    modes = {"*": shape} if is_shape(shape) else {}
    check_rules(cls, SCALER_RULES[cls], state, {"n": n, **modes})


def motion_apart(motion):
    """Parameters and shapes of a `Motion`."""
    params = motion.get_params(deep=False)
    names = _SIZES | _VALUES
    state = {name: vars(motion)[name] for name in names if name in vars(motion)}
    return {"class": "Motion", "params": params, "state": state}


def motion_from(parts):
    """The `Motion` that `motion_apart` took apart."""
    _, params, state = three(parts, by_name([Motion]))
    motion = call(Motion, params)
    if state:
        _check_motion(motion, state)
        vars(motion).update(state)
    return motion


def _check_motion(motion, state):
    good = set(state) - _VALUES == _SIZES and _is_type(state.get("dtype_", "bool"))
    good = good and _is_range(state.get("range_", (0.0, 1.0)))
    good = good and is_integer(motion.mode) and motion.mode >= 0
    shapes = [state[name] for name in ("sample_shape_", "input_shape_") if good]
    good = good and all(map(is_shape, shapes)) and prod(shapes[0]) == prod(shapes[1])
    try:
        good = good and bool(motion.output_shape(shapes[0]))
    except (ValueError, TypeError):
        good = False
    if not good or state["n_features_in_"] != shapes[1][0]:
        raise ModelFormatError("the shapes of a Motion do not match.")


def _is_type(name):
    """Whether a text names a type of numbers."""
    names = {np.dtype(code).name for code in "?bBhHiIlLqQefdg"}
    return type(name) is str and name in names


def _is_range(values):
    """Whether these are two finite numbers in order."""
    good = type(values) is tuple and [type(v) for v in values] == [float, float]
    return (
        good and isfinite(values[0]) and isfinite(values[1]) and values[0] <= values[1]
    )


# --- pipelines --------------------------------------------------------------------


def pipeline_apart(pipeline):
    """Parameters of a pipeline; its steps hold what was fitted."""
    params = pipeline.get_params(deep=False)
    if params.get("memory") is not None:
        raise ModelFormatError(
            "a Pipeline with memory=, a cache of this machine; set_params(memory=None)."
        )
    _check_steps(params.get("steps"))
    return {"class": "Pipeline", "params": params, "state": {}}


def pipeline_from(parts):
    """The pipeline that `pipeline_apart` took apart."""
    _, params, state = three(parts, by_name([Pipeline]))
    if state or params.get("memory") is not None:
        raise ModelFormatError("a Pipeline with attributes or a cache.")
    _check_steps(params.get("steps"))
    return call(Pipeline, params)


def _check_steps(steps):
    """Names and supported estimators, each of which takes what the one before gives."""
    good = type(steps) is list and len(steps) > 0
    good = good and all(type(s) in (tuple, list) and len(s) == 2 for s in steps)
    if not good or not all(type(name) is str for name, _ in steps):
        raise ModelFormatError("a Pipeline without steps that have names.")
    known = {*CLASSES.values(), *CLASSIFIERS.values(), *SCALERS.values(), Motion}
    for name, step in steps:
        if not (step is None or type(step) in known or step == "passthrough"):
            raise ModelFormatError(
                f"step {name[:80]!r} of the Pipeline is a {type(step).__name__}; a "
                "model file holds the estimators that tensorcrp.persistence names. "
                "Use skops.io for others."
            )
    working = [step for _, step in steps if step is not None and step != "passthrough"]
    for before, after in pairwise(working):
        if not hasattr(before, "transform"):
            raise ModelFormatError("a Pipeline with a classifier before its end.")
        given, taken = _output_shape(before), _input_shape(after)
        if given != taken and None not in (given, taken):
            raise ModelFormatError(
                f"a Pipeline whose {type(before).__name__} gives samples of shape "
                f"{given} to a {type(after).__name__} of {taken}."
            )


def _input_shape(step):
    """Shape of a sample that a fitted step takes; None if it is not fitted."""
    shape = getattr(step, "input_shape_", None)
    n = getattr(step, "n_features_in_", None)
    return shape if shape is not None or n is None else (n,)


def _output_shape(step):
    """Shape of a sample after a fitted step; None if that is not known."""
    shape = _input_shape(step)
    if shape is None or type(step) in SCALERS.values():
        return shape
    if type(step) is Motion:
        out = step.output_shape(step.sample_shape_)
        return out if shape == step.sample_shape_ else (prod(out),)
    n = getattr(step, "_n_features_out", None)
    return None if n is None else (n,)


# --- classifiers of files ---------------------------------------------------------


def files_apart(classifier):
    """Parameters, reader settings, model and scores; no names of training files."""
    params = classifier.get_params(deep=False) | {"cache": None}
    state = {n: getattr(classifier, n) for n in _FILES if hasattr(classifier, n)}
    return {"class": "FileClassifier", "params": params, "state": state}


def files_from(parts):
    """The classifier that `files_apart` took apart."""
    _, params, state = three(parts, by_name([FileClassifier]))
    classifier = call(FileClassifier, params)
    if state:
        _check_files(state)
        vars(classifier).update(state)
    return classifier


def _check_files(state):
    scores = state.get("scores_")
    temperature = scores.get("temperature") if type(scores) is dict else None
    if set(state) != _FILES or type(temperature) is not float or not temperature > 0:
        raise ModelFormatError("a FileClassifier that lacks attributes.")
    reader, model = state["reader_"], state["model_"]
    try:
        FileClassifier.check_reader(reader)
    except ValueError as error:
        raise ModelFormatError(f"a FileClassifier: {error}"[:300]) from error
    check_rules(FileClassifier, {"classes_": "labels c"}, state, {})
    if type(model) is not Pipeline or _input_shape(model[0]) != reader["shape"]:
        raise ModelFormatError("the model of a FileClassifier takes other samples.")
    if list(model.classes_) != list(range(len(state["classes_"]))):
        raise ModelFormatError("the model of a FileClassifier has other classes.")
