"""TensorCRPCV with one of its parts switched off: which part is worth how much.

`ABLATIONS` is the only list: a name and the parameters of `TensorCRPCV` that differ
from its defaults. Everything else (folds, splits, tables) follows from it.
"""

from functools import partial

from tensorcrp import TensorCRPCV
from tensorcrp.experiments.registry import Method

ABLATIONS = {
    "full rank only": {"ranks": ("full",)},
    "ranks 1 and 2 only": {"ranks": (1, 2)},
    "one ridge": {"regs": (0.3,)},
}


def ablations():
    """Names and methods; features are classified by the model itself and by 1-NN."""
    return {
        f"TensorCRPCV, {name}": Method(
            partial(_fit, params), details=name, classifiers=("1-NN",)
        )
        for name, params in ABLATIONS.items()
    }


def _fit(params, X, y, settings, n_features, folds):
    return [TensorCRPCV(cv=folds, **params).fit(X, y)]
