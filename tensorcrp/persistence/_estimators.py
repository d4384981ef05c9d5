"""Estimators, classifiers and splitters taken apart into plain values, and rebuilt.

In: an estimator of this package, a classifier of scikit-learn that may classify the
features of a `TensorCRPCV`, a splitter, random numbers or class statistics.
Out: plain values, and from those the same again. A class is looked up by its name in
the tables here and nowhere else; it is called with parameters, its attributes are set,
and a nearest-neighbour classifier is fitted again to the features that it had.
"""

import inspect
from dataclasses import fields
from functools import partial

import numpy as np
from sklearn import __version__ as SKLEARN
from sklearn.pipeline import Pipeline

from tensorcrp.files import FileClassifier
from tensorcrp.persistence import _limits as limits
from tensorcrp.persistence._classes import (
    CLASSES,
    CLASSIFIERS,
    SCALERS,
    SPLITTERS,
)
from tensorcrp.persistence._classifiers import classifier_apart, classifier_from
from tensorcrp.persistence._fitted import (
    check_state,
    scatter_from,
    with_nested,
    without_nested,
)
from tensorcrp.persistence._json import ModelFormatError
from tensorcrp.persistence._parts import (
    call,
    state_of,
    three,
    with_requests,
    with_requests_from,
)
from tensorcrp.persistence._pipelines import (
    files_apart,
    files_from,
    motion_apart,
    motion_from,
    pipeline_apart,
    pipeline_from,
    scaler_apart,
    scaler_from,
)
from tensorcrp.persistence._plain import Kind
from tensorcrp.preprocessing import Motion
from tensorcrp.scatter import ClassScatter


def kinds(newer=False, sklearn=SKLEARN):
    """Everything beyond plain values that a file may hold.

    Parameters
    ----------
    newer : bool
        The file has a newer minor version: what is unknown is left out.
    sklearn : str
        Version of scikit-learn that the file was written with.
    """
    numbers = limits.Allowance(limits.NEIGHBOURS, "numbers of nearest neighbours")
    rebuild = partial(_tensor_model_from, newer=newer)
    classifier = partial(classifier_from, sklearn=sklearn, numbers=numbers)
    apart = partial(classifier_apart, numbers=numbers)
    return [
        Kind("model", tuple(CLASSES.values()), take_apart, _with_requests(rebuild)),
        Kind("pipeline", (Pipeline,), pipeline_apart, pipeline_from),
        Kind("motion", (Motion,), motion_apart, motion_from),
        _routed("scaler", SCALERS, scaler_apart, scaler_from),
        _routed("classifier", CLASSIFIERS, apart, classifier),
        Kind("splitter", tuple(SPLITTERS.values()), _splitter_apart, _splitter_from),
        Kind("random_state", (np.random.RandomState,), _random_apart, _random_from),
        Kind("scatter", (ClassScatter,), _scatter_apart, scatter_from),
    ]


def _routed(tag, classes, apart, rebuild):
    """A kind of estimators that may ask for metadata."""

    def with_asked(estimator):
        return with_requests(apart(estimator), estimator)

    return Kind(tag, tuple(classes.values()), with_asked, _with_requests(rebuild))


def _with_requests(rebuild):
    return partial(with_requests_from, rebuild=rebuild)


# What else can be the whole of a file: by class, how it is taken apart and rebuilt.
_WHOLE = {
    Pipeline: (pipeline_apart, pipeline_from),
    FileClassifier: (files_apart, files_from),
    Motion: (motion_apart, motion_from),
}
_BY_NAME = {cls.__name__: rebuild for cls, (_, rebuild) in _WHOLE.items()}


def take_apart(estimator):
    """Class name, parameters and fitted attributes of an estimator to be saved."""
    if type(estimator) in _WHOLE:
        return with_requests(_WHOLE[type(estimator)][0](estimator), estimator)
    if type(estimator) not in CLASSES.values():
        raise ModelFormatError(
            f"save takes the estimators of tensorcrp, {', '.join(CLASSES)} and "
            f"{', '.join(_BY_NAME)}; got a {type(estimator).__name__}."
        )
    params = estimator.get_params(deep=False)
    state = check_state(type(estimator), state_of(estimator, params))
    state = without_nested(type(estimator), state)
    parts = {"class": type(estimator).__name__, "params": params, "state": state}
    return with_requests(parts, estimator)


def model_from(parts, newer=False):
    """The estimator that `take_apart` took apart."""
    rebuild = _BY_NAME.get(parts["class"], partial(_tensor_model_from, newer=newer))
    return with_requests_from(parts, rebuild)


def _tensor_model_from(parts, newer):
    name, params, state = three(parts, CLASSES)
    state = with_nested(CLASSES[name], state)
    state = check_state(CLASSES[name], state, newer=newer)
    estimator = call(CLASSES[name], params, newer)
    vars(estimator).update(state)
    return estimator


# --- parameters that are objects --------------------------------------------------


def _splitter_apart(splitter):
    names = inspect.signature(type(splitter)).parameters
    params = {name: getattr(splitter, name) for name in names}
    return {"class": type(splitter).__name__, "params": params, "state": {}}


def _splitter_from(parts):
    name, params, state = three(parts, SPLITTERS)
    if state:
        raise ModelFormatError("a splitter with attributes.")
    try:
        return call(SPLITTERS[name], params)
    except (TypeError, ValueError) as error:
        raise ModelFormatError(f"a {name} with wrong parameters: {error}") from error


def _random_apart(random_state):
    state = random_state.get_state(legacy=False)
    if state["bit_generator"] != "MT19937":
        raise ModelFormatError(
            f"a RandomState of {state['bit_generator']}; that of MT19937, the usual "
            "one, can be saved, or an integer as random_state."
        )
    parts = {"key": state["state"]["key"], "pos": int(state["state"]["pos"])}
    return parts | {"has_gauss": state["has_gauss"], "gauss": state["gauss"]}


def _random_from(parts):
    """NumPy takes any position and would read beyond the key: check it here."""
    names = {"key", "pos", "has_gauss", "gauss"}
    good = type(parts) is dict and set(parts) == names
    key = parts["key"] if good else None
    good = good and isinstance(key, np.ndarray) and key.dtype == np.uint32
    good = good and key.shape == (624,) and type(parts["pos"]) is int
    good = good and 0 <= parts["pos"] <= 624 and parts["has_gauss"] in (0, 1)
    if not good or type(parts["gauss"]) is not float:
        raise ModelFormatError("an invalid RandomState.")
    random_state = np.random.RandomState(0)
    random_state.set_state(
        {
            "bit_generator": "MT19937",
            "state": {"key": key, "pos": parts["pos"]},
            "has_gauss": int(parts["has_gauss"]),
            "gauss": parts["gauss"],
        }
    )
    return random_state


def _scatter_apart(scatter):
    """Its fields, less those that say that it is exact: version 1.0 had only such."""
    values = {field.name: getattr(scatter, field.name) for field in fields(scatter)}
    exact = {name for name in ("error", "missing") if values[name] == 0}
    return {name: value for name, value in values.items() if name not in exact}
