"""Estimators, classifiers and splitters taken apart into plain values, and rebuilt.

In: an estimator of this package, a classifier of scikit-learn that may judge the
features of a `TensorCRPCV`, a splitter, random numbers or class statistics.
Out: plain values, and from those the same again. A class is looked up by its name in
the tables here and nowhere else; it is called with parameters, its attributes are set,
and a nearest-neighbour classifier is fitted again to the features that it had.
"""

import inspect
import warnings
from dataclasses import fields

import numpy as np
from sklearn import __version__ as SKLEARN
from sklearn import model_selection
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import InconsistentVersionWarning
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC

from tensorcrp.persistence._json import ModelFormatError
from tensorcrp.persistence._models import CLASSES, check_state, scatter_from
from tensorcrp.persistence._plain import Kind
from tensorcrp.scatter import ClassScatter

# Classifiers whose fitted state is arrays and numbers that only NumPy reads.
JUDGES = {
    cls.__name__: cls
    for cls in (
        KNeighborsClassifier,
        GaussianNB,
        LinearDiscriminantAnalysis,
        LinearSVC,
        LogisticRegression,
    )
}
_SPLITTERS = """KFold StratifiedKFold GroupKFold StratifiedGroupKFold ShuffleSplit
StratifiedShuffleSplit GroupShuffleSplit LeaveOneOut LeaveOneGroupOut""".split()
SPLITTERS = {name: getattr(model_selection, name) for name in _SPLITTERS}
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

    def rebuild(parts):
        return model_from(parts, newer)

    def judge(parts):
        return _judge_from(parts, sklearn)

    return [
        Kind("model", tuple(CLASSES.values()), take_apart, rebuild),
        Kind("classifier", tuple(JUDGES.values()), _judge_apart, judge),
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
    state = check_state(type(estimator), state)
    return {"class": type(estimator).__name__, "params": params, "state": state}


def model_from(parts, newer=False):
    """The estimator that `take_apart` took apart."""
    name, params, state = _three(parts, CLASSES)
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
            f"know and leaves out: {unknown}. Upgrade tensorcrp.",
            stacklevel=2,
        )
    return cls(**{name: params[name] for name in params if name in known})


# --- classifiers ------------------------------------------------------------------


def _judge_apart(judge):
    params = judge.get_params(deep=False)
    state = {k: v for k, v in vars(judge).items() if k not in params}
    if not hasattr(judge, "classes_"):
        state = {}  # some keep constants
    elif isinstance(judge, KNeighborsClassifier):
        state = {"X": judge._fit_X, "y": judge.classes_[judge._y]}
    else:
        _check_names(type(judge), state)
    return {"class": type(judge).__name__, "params": params, "state": state}


def _judge_from(parts, sklearn):
    name, params, state = _three(parts, JUDGES)
    judge = _call(JUDGES[name], params)
    if not state:
        return judge
    try:
        if name == "KNeighborsClassifier":
            return _neighbours(judge, state)
        return _with_state(judge, state, sklearn)
    except ModelFormatError:
        raise
    except Exception as error:  # whatever scikit-learn says of wrong arrays
        raise ModelFormatError(f"a {name} that does not work: {error}"[:300]) from error


def _neighbours(judge, state):
    """Fitted again: its trees are not read from files."""
    arrays = [each for each in state.values() if isinstance(each, np.ndarray)]
    if set(state) != {"X", "y"} or [each.ndim for each in arrays] != [2, 1]:
        raise ModelFormatError("a KNeighborsClassifier without its samples.")
    return judge.fit(state["X"], state["y"])


def _check_names(cls, state):
    """Fitted attributes only, and none that hides a method."""
    for name in state:
        public = name.endswith("_") and not name.startswith("_")
        if not (public or name in _PRIVATE) or hasattr(cls, name):
            raise ModelFormatError(f"a {cls.__name__} with attribute {name[:80]!r}.")


def _with_state(judge, state, sklearn):
    _check_names(type(judge), state)
    vars(judge).update(state)
    n_features = judge.n_features_in_
    if type(n_features) is not int or not 0 < n_features <= 2**20:
        raise ModelFormatError("a classifier of no number of features.")
    # Arrays that do not go together show here and not at the first use.
    label = judge.predict(np.zeros((1, n_features)))
    if label.shape != (1,) or label[0] not in judge.classes_:
        raise ModelFormatError("a classifier that gives no label.")
    if sklearn != SKLEARN:
        warnings.warn(
            InconsistentVersionWarning(
                estimator_name=type(judge).__name__,
                current_sklearn_version=SKLEARN,
                original_sklearn_version=sklearn,
            ),
            stacklevel=2,
        )
    return judge


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
        raise ModelFormatError("a RandomState that is none.")
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


# What skops.io does not know by itself.
SKOPS_TYPES = tuple(
    f"{cls.__module__}.{cls.__qualname__}" for cls in (*CLASSES.values(), ClassScatter)
)
