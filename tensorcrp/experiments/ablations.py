"""TensorCRPCV with one of its parts switched off: which part is worth how much.

`ABLATIONS` is the only list: a name and the parameters of `TensorCRPCV` that differ
from its defaults. Everything else (folds, splits, tables) follows from it.
"""

import warnings
from functools import partial
from math import prod

import numpy as np
from sklearn.neighbors import KNeighborsClassifier

from tensorcrp import TensorCRPCV
from tensorcrp.experiments.registry import Method
from tensorcrp.model_selection import GridEndWarning

SEVEN = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)  # the ridges of 0.2
ABLATIONS = {
    "no smoothness": {"smooth": (0.0,)},
    "best point": {"average": 1},
    "Euclidean": {"distance": "euclidean"},
    "not white": {"white": False},
    "short": {"n_components": "short"},
    "no race": {"race": False},
    "seven ridges": {"regs": SEVEN},
    "1-NN": {"estimator": KNeighborsClassifier(1)},
    "as in 0.2": {
        **{"estimator": KNeighborsClassifier(1)},
        **{"smooth": (0.0,), "average": 1, "distance": "euclidean", "white": False},
        **{"n_components": "short", "race": False, "max_iter": 20, "tol": 0.1},
        **{"regs": SEVEN},
    },
}


def ablations():
    """Names and methods; features are classified by the model itself and by 1-NN."""
    return {
        f"TensorCRPCV, {name}": Method(
            partial(_fit, params),
            details=name,
            classifiers=("1-NN",),
            origin=search_defaults(**params),
        )
        for name, params in ABLATIONS.items()
    }


def search_defaults(**params):
    """Parameters of a search as text: rows of other defaults are not reused."""
    values = TensorCRPCV().get_params() | params
    return ", ".join(f"{name}={value!r}" for name, value in sorted(values.items()))


def _fit(params, X, y, settings, n_features, folds):
    params = dict(params)
    if params.get("n_components") == "short":  # c - 1 and 2 (c - 1) components
        others, most = len(np.unique(y)) - 1, prod(X.shape[1:])
        params["n_components"] = sorted({min(others, most), min(2 * others, most)})
    return [fitted_search(X, y, cv=folds, **params)]


def fitted_search(X, y, **params):
    """A fitted TensorCRPCV; in a comparison, an end of its grid is no news."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GridEndWarning)
        return TensorCRPCV(**params).fit(X, y)
