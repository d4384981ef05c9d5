"""Estimators, classifiers and splitters taken apart into plain values, and rebuilt.

In: an estimator of this package, a classifier of scikit-learn that may classify the
features of a `TensorCRPCV`, a splitter, random numbers or class statistics.
Out: plain values, and from those the same again. A class is looked up by its name in
the tables here and nowhere else; it is called with parameters, its attributes are set,
and a nearest-neighbour classifier is fitted again to the features that it had.
"""

import inspect
import warnings
from dataclasses import fields
from functools import partial

import numpy as np
from sklearn import __version__ as SKLEARN
from sklearn.exceptions import InconsistentVersionWarning
from sklearn.neighbors import KNeighborsClassifier

from tensorcrp.persistence import _limits as limits
from tensorcrp.persistence._classes import (
    CLASSES,
    CLASSIFIER_RULES,
    CLASSIFIERS,
    SPLITTERS,
)
from tensorcrp.persistence._fitted import (
    check_rules,
    check_state,
    scatter_from,
    with_nested,
    without_nested,
)
from tensorcrp.persistence._json import ModelFormatError
from tensorcrp.persistence._plain import Kind
from tensorcrp.scatter import ClassScatter

_PRIVATE = {"_max_components", "_n_features_out"}  # of LinearDiscriminantAnalysis


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
    rebuild = partial(model_from, newer=newer)
    classifier = partial(_classifier_from, sklearn=sklearn, numbers=numbers)
    apart = partial(_classifier_apart, numbers=numbers)
    return [
        Kind("model", tuple(CLASSES.values()), take_apart, rebuild),
        Kind("classifier", tuple(CLASSIFIERS.values()), apart, classifier),
        Kind("splitter", tuple(SPLITTERS.values()), _splitter_apart, _splitter_from),
        Kind("random_state", (np.random.RandomState,), _random_apart, _random_from),
        Kind("scatter", (ClassScatter,), _scatter_apart, scatter_from),
    ]


def take_apart(estimator):
    """Class name, parameters and fitted attributes of an estimator of the package."""
    if type(estimator) not in CLASSES.values():
        raise ModelFormatError(
            f"save takes the estimators of tensorcrp, {', '.join(CLASSES)}; got a "
            f"{type(estimator).__name__}."
        )
    params = estimator.get_params(deep=False)
    state = {k: v for k, v in vars(estimator).items() if k not in params}
    state = without_nested(type(estimator), check_state(type(estimator), state))
    return {"class": type(estimator).__name__, "params": params, "state": state}


def model_from(parts, newer=False):
    """The estimator that `take_apart` took apart."""
    name, params, state = _three(parts, CLASSES)
    state = with_nested(CLASSES[name], state)
    state = check_state(CLASSES[name], state, newer=newer)
    estimator = _call(CLASSES[name], params, newer)
    vars(estimator).update(state)
    return estimator


def _three(parts, classes):
    """Class name, parameters and state of a dict that should have them."""
    good = type(parts) is dict and set(parts) == {"class", "params", "state"}
    good = good and type(parts["class"]) is str and type(parts["params"]) is dict
    if not good or parts["class"] not in classes or type(parts["state"]) is not dict:
        raise ModelFormatError(f"an object that is none of {', '.join(classes)}.")
    for name in [*parts["params"], *parts["state"]]:
        if type(name) is not str:
            raise ModelFormatError("a parameter or attribute without a name.")
    return parts["class"], parts["params"], parts["state"]


def _call(cls, params, newer=False):
    """The class with its parameters; scikit-learn's constructors only keep them."""
    known = inspect.signature(cls).parameters
    unknown = sorted(set(params) - set(known))
    if unknown and not newer:
        raise ModelFormatError(f"{cls.__name__} has no parameters {unknown}."[:300])
    if unknown:
        warnings.warn(
            f"the file has parameters of {cls.__name__} that this version does not "
            f"know and leaves out: {str(unknown)[:200]}. Upgrade tensorcrp.",
            stacklevel=2,
        )
    return cls(**{name: params[name] for name in params if name in known})


# --- classifiers ------------------------------------------------------------------


def _classifier_apart(classifier, numbers):
    params = classifier.get_params(deep=False)
    state = {k: v for k, v in vars(classifier).items() if k not in params}
    if not hasattr(classifier, "classes_"):
        state = {}  # some keep constants
    elif isinstance(classifier, KNeighborsClassifier):
        state = {"X": classifier._fit_X, "y": _labels_of(classifier)}
        _check_samples(state, params, numbers)
    else:
        _check_names(type(classifier), state)
        _check_arrays(type(classifier), state)
    return {"class": type(classifier).__name__, "params": params, "state": state}


def _classifier_from(parts, sklearn, numbers):
    name, params, state = _three(parts, CLASSIFIERS)
    classifier = _call(CLASSIFIERS[name], params)
    if not state:
        return classifier
    try:
        if name == "KNeighborsClassifier":
            _check_samples(state, params, numbers)
            # Trees are not read from files.
            return classifier.fit(state["X"], state["y"])
        return _with_state(classifier, state, sklearn)
    except ModelFormatError:
        raise
    except Exception as error:  # whatever scikit-learn says of wrong arrays
        raise ModelFormatError(f"a {name} that does not work: {error}"[:300]) from error


def _labels_of(classifier):
    """Labels of the samples of nearest neighbours with one output, else None."""
    return None if classifier.outputs_2d_ else classifier.classes_[classifier._y]


def _check_samples(state, params, numbers):
    """Samples and labels that fit, of a size that the file may have in total."""
    rules = CLASSIFIER_RULES[KNeighborsClassifier]
    if set(state) != set(rules):
        raise ModelFormatError("a KNeighborsClassifier without its samples.")
    check_rules(KNeighborsClassifier, rules, state, {})
    # A search tree has a node per sample, however few features there are.
    numbers.take(len(state["X"]) * max(state["X"].shape[1], 8))
    metric = params.get("metric_params")
    arrays = metric.values() if type(metric) is dict else ()
    if sum(np.size(each) for each in arrays) > limits.METRIC:
        raise ModelFormatError("metric_params of a KNeighborsClassifier: too large.")


def _check_arrays(cls, state):
    """What `predict` works with: no shapes that broadcast into something large."""
    rules, sizes = CLASSIFIER_RULES[cls], {"n": state.get("n_features_in_")}
    if not set(rules) <= set(state) or type(sizes["n"]) is not int:
        raise ModelFormatError(f"a fitted {cls.__name__} that lacks attributes.")
    check_rules(cls, rules, state, sizes)
    # Two classes have one row of coefficients.
    rows = {sizes["c"], 1} if sizes["c"] == 2 else {sizes["c"]}
    if sizes["c"] > limits.CLASSES or sizes.get("r", sizes["c"]) not in rows:
        raise ModelFormatError(f"a {cls.__name__} of {sizes['c']} classes."[:300])


def _check_names(cls, state):
    """Fitted attributes only, and none that hides a method."""
    for name in state:
        public = name.endswith("_") and not name.startswith("_")
        if not (public or name in _PRIVATE) or hasattr(cls, name):
            raise ModelFormatError(f"a {cls.__name__} with attribute {name[:80]!r}.")


def _with_state(classifier, state, sklearn):
    _check_names(type(classifier), state)
    _check_arrays(type(classifier), state)
    vars(classifier).update(state)
    # What else does not go together shows here and not at the first use.
    label = classifier.predict(np.zeros((1, classifier.n_features_in_)))
    if label.shape != (1,) or label[0] not in classifier.classes_:
        raise ModelFormatError("a classifier that gives no label.")
    if sklearn != SKLEARN:
        warnings.warn(
            InconsistentVersionWarning(
                estimator_name=type(classifier).__name__,
                current_sklearn_version=SKLEARN,
                original_sklearn_version=sklearn,
            ),
            stacklevel=2,
        )
    return classifier


# --- parameters that are objects --------------------------------------------------


def _splitter_apart(splitter):
    names = inspect.signature(type(splitter)).parameters
    params = {name: getattr(splitter, name) for name in names}
    return {"class": type(splitter).__name__, "params": params, "state": {}}


def _splitter_from(parts):
    name, params, state = _three(parts, SPLITTERS)
    if state:
        raise ModelFormatError("a splitter with attributes.")
    try:
        return _call(SPLITTERS[name], params)
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
