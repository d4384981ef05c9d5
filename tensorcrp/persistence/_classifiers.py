"""Classifiers of scikit-learn taken apart into plain values, and rebuilt.

In: a classifier of the table `CLASSIFIERS`, fitted or not. Out: its parameters and the
arrays that `predict` works with, and from those the same classifier. Nearest neighbours
are fitted again to the samples that they had: no search tree is read from a file.
"""

import warnings

import numpy as np
from sklearn import __version__ as SKLEARN
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import InconsistentVersionWarning
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC

from tensorcrp.persistence import _limits as limits
from tensorcrp.persistence._classes import CLASSIFIER_RULES, CLASSIFIERS
from tensorcrp.persistence._fitted import check_rules
from tensorcrp.persistence._json import ModelFormatError
from tensorcrp.persistence._parts import call, state_of, three

# Attributes that `predict` needs although their names are private.
_PRIVATE = {
    LinearDiscriminantAnalysis: {"_max_components", "_n_features_out"},
    SVC: {
        *("_sparse", "_gamma", "_n_support", "_probA", "_probB", "_intercept_"),
        *("_dual_coef_", "_effective_probability", "_num_iter"),
    },
}


def classifier_apart(classifier, numbers):
    params = classifier.get_params(deep=False)
    state = state_of(classifier, params)
    if not hasattr(classifier, "classes_"):
        state = {}  # some keep constants
    elif isinstance(classifier, KNeighborsClassifier):
        state = {"X": classifier._fit_X, "y": _labels_of(classifier)}
        _check_samples(state, params, numbers)
    else:
        state = _needed(classifier, state)
        _check_names(type(classifier), state)
        _check_arrays(type(classifier), state)
        _check_machine(type(classifier), state, params)
    return {"class": type(classifier).__name__, "params": params, "state": state}


def classifier_from(parts, sklearn, numbers):
    name, params, state = three(parts, CLASSIFIERS)
    classifier = call(CLASSIFIERS[name], params)
    if not state:
        return classifier
    try:
        if name == "KNeighborsClassifier":
            _check_samples(state, params, numbers)
            # Trees are not read from files.
            return classifier.fit(state["X"], state["y"])
        _check_machine(type(classifier), state, params)
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
    if sizes["c"] > limits.LABELS or sizes.get("r", sizes["c"]) not in rows:
        raise ModelFormatError(f"a {cls.__name__} of {sizes['c']} classes."[:300])


def _needed(classifier, state):
    """The state without what its constructor sets and `predict` does not use."""
    if not isinstance(classifier, SVC):
        return state
    constants = ("nu", "epsilon", "random_state")
    return {name: value for name, value in state.items() if name not in constants}


def _check_machine(cls, state, params):
    """Arrays of a support vector machine as compiled code reads them.

    It trusts their sizes: those of all classes together must be the support vectors.
    """
    if cls is not SVC:
        return
    c, s = len(state["classes_"]), len(state["support_vectors_"])
    counts, pairs = state["_n_support"], c * (c - 1) // 2
    good = (counts >= 0).all() and counts.astype(int).sum() == s
    good = good and state["dual_coef_"].shape == (c - 1, s)
    good = good and state["intercept_"].shape == (pairs,) and not len(state["_probA"])
    doubles = ("support_vectors_", "_dual_coef_", "_intercept_", "_probA", "_probB")
    good = good and all(state[name].dtype == np.float64 for name in doubles)
    if not good or state.get("_sparse") is not False:
        raise ModelFormatError(
            "an SVC whose support vectors do not match, or with probability=True; its "
            "decision_function works without."
        )
    if params.get("kernel") not in ("linear", "rbf", "poly", "sigmoid"):
        raise ModelFormatError("an SVC whose kernel is not one of scikit-learn's.")


def _check_names(cls, state):
    """Fitted attributes only, and none that hides a method."""
    for name in state:
        public = name.endswith("_") and not name.startswith("_")
        if not (public or name in _PRIVATE.get(cls, ())) or hasattr(cls, name):
            raise ModelFormatError(f"a {cls.__name__} with attribute {name[:80]!r}.")


def _with_state(classifier, state, sklearn):
    _check_names(type(classifier), state)
    _check_arrays(type(classifier), state)
    vars(classifier).update(state)
    # What else does not go together shows here and not at the first use.
    label = classifier.predict(np.zeros((1, classifier.n_features_in_)))
    if label.shape != (1,) or label[0] not in classifier.classes_:
        raise ModelFormatError("a classifier whose predict returns no label.")
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
