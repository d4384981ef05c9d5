"""Which classes a model file may name, and what a fitted one of them holds.

The only tables of classes. `MODELS` has the rules of the fitted attributes of every
estimator (`_shapes` explains them); those of a baseline are in its entry in
`tensorcrp.baselines.BASELINES`. What the package sets on every estimator, as
``sample_shape_``, needs no rule.
"""

from __future__ import annotations

from typing import Any

from sklearn import model_selection
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, NearestCentroid
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    RobustScaler,
    StandardScaler,
)
from sklearn.svm import SVC, LinearSVC

from tensorcrp.baselines import BASELINES
from tensorcrp.baselines.catalogue import (
    ASCENT,
    HISTORIES,
    LABELLED,
    PROJECTIONS,
    RIDGE,
)
from tensorcrp.crp import TensorCRP
from tensorcrp.model_selection import DistanceFeatures, TensorCRPCV
from tensorcrp.scatter import ClassScatter
from tensorcrp.signals import ChannelImputer, ChannelScaler

_SEARCH = {
    "best_estimator_": "crp h",
    "best_params_": "dict",
    "best_score_": "number",
    "best_index_": "integer",
    "cv_results_": "dict",
    "n_splits_": "integer",
    "members_": "dicts",
    "weights_": "array m",
    "candidates_": "dicts",
    "ordered_": "flags",
    "projections_": "array H P",
    "distances_": "distances H",
    "estimator_": "classifier F",
}
_SHARED = {"components_": PROJECTIONS["components_"], **ASCENT}

# Estimators of the package: the rules of their fitted attributes.
MODELS = {
    TensorCRP: PROJECTIONS
    | ASCENT
    | HISTORIES
    | RIDGE
    | {"root_error_": "number", "mixing_": "optional h h", "converged_": "truths h"},
    TensorCRPCV: _SEARCH | _SHARED,
    **{each.cls: each.saved for each in BASELINES},
}
# Attributes that are those of a nested model; a file holds them there and only there.
NESTED = {TensorCRPCV: ("best_estimator_", set(_SHARED))}
# What files of earlier minor versions do not have, and what it was then.
LATER = {"root_error_": 0.0, "mixing_": None, "converged_": None}

_GAUSSIAN = dict.fromkeys(["theta_", "var_"], "array c n")
_GAUSSIAN |= dict.fromkeys(["class_prior_", "class_count_"], "array c")
_LINEAR = {"coef_": "array r n", "intercept_": "intercept r"}

# Classifiers whose fitted state is arrays and numbers that only NumPy reads: the rules
# of what `predict` works with. Nearest neighbours are their samples, fitted again.
CLASSIFIER_RULES = {
    KNeighborsClassifier: {"X": "numbers s n", "y": "labels s"},
    GaussianNB: LABELLED | _GAUSSIAN,
    LinearDiscriminantAnalysis: LABELLED | _LINEAR,
    LinearSVC: LABELLED | _LINEAR,
    LogisticRegression: LABELLED | _LINEAR,
    NearestCentroid: LABELLED
    | {"centroids_": "array c n", "class_prior_": "array c"}
    | {"within_class_std_dev_": "array n"},
    SVC: LABELLED
    | {"support_vectors_": "array s n", "support_": "whole s", "_n_support": "whole c"}
    | dict.fromkeys(["dual_coef_", "_dual_coef_"], "array d s")
    | dict.fromkeys(["intercept_", "_intercept_"], "array p")
    | {"_gamma": "number", "_probA": "array z", "_probB": "array z"},
}

# Scalers, feature by feature: an array, or None where nothing is done.
SCALER_RULES = {
    StandardScaler: dict.fromkeys(["mean_", "scale_"], "optional n"),
    MinMaxScaler: dict.fromkeys(["min_", "scale_"], "array n"),
    MaxAbsScaler: {"scale_": "array n"},
    RobustScaler: dict.fromkeys(["center_", "scale_"], "optional n"),
    Normalizer: {},
    DistanceFeatures: {"mean_": "array n", "scales_": "array t"},
    ChannelScaler: dict.fromkeys(["mean_", "scale_"], "array l"),
    ChannelImputer: {"mean_": "array *", "covariance_": "array l l"},
}

_SPLITTERS = """KFold StratifiedKFold GroupKFold StratifiedGroupKFold ShuffleSplit
StratifiedShuffleSplit GroupShuffleSplit LeaveOneOut LeaveOneGroupOut""".split()


def by_name(classes):
    """Classes by the names that stand in files."""
    return {cls.__name__: cls for cls in classes}


# Other names of a class may be in files: they were classes of their own.
CLASSES = by_name(MODELS) | {
    alias: each.cls for each in BASELINES for alias in each.aliases
}
CLASSIFIERS: dict[str, Any] = by_name(CLASSIFIER_RULES)
SCALERS = by_name(SCALER_RULES)
SPLITTERS = by_name(getattr(model_selection, name) for name in _SPLITTERS)
# What skops.io does not know by itself.
SKOPS_TYPES: tuple[str, ...] = tuple(
    f"{cls.__module__}.{cls.__qualname__}"
    for cls in (*MODELS, ClassScatter, ChannelImputer, ChannelScaler, DistanceFeatures)
)
