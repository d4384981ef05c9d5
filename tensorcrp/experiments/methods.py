"""The methods of this package as experiments run them, registered by name.

In: training samples (n, l_1, ..., l_N), class codes (n,), the number of features h
that the protocol asks for. Out: one fitted model per setting of the method, with
``transform`` (features) or ``predict`` (classifiers).

Settings are ordered from the weakest to the strongest ridge. A baseline in
`tensorcrp.baselines.BASELINES` is registered without a line here: its ridge is chosen
from `SHARES` if it has one. Others are in `OTHERWISE`. All but `UNFILTERED` are there a
second time with ", smooth" after their name: the width of a filter is one more setting.
These, and TensorCRPCV with parts switched off, run where they are named.
"""

import warnings
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from math import prod

import numpy as np
from sklearn.neighbors import KNeighborsClassifier

from tensorcrp import TensorCRP, TensorCRPCV, baselines
from tensorcrp.base.projections import count_components
from tensorcrp.base.resources import SMALL_PASSES, bounded_threads
from tensorcrp.experiments.registry import (
    Method,
    all_methods,
    chosen_methods,
    compared_methods,
    method,
    offered_methods,
    register_method,
)
from tensorcrp.experiments.smoothing import SMOOTH, smoothed
from tensorcrp.experiments.vector_svms import vector_svms
from tensorcrp.model_selection import GridEndWarning
from tensorcrp.scatter import ClassScatter
from tensorcrp.solver import Spec, fit_path

__all__ = ["all_methods", "chosen_methods", "method", "register_method"]

REGS = (1e-4, 1e-3, 0.01, 0.1, 1.0, 10.0)  # of a mean squared entry
SHARES = (1e-6, 1e-4, 1e-2, 1.0)  # of a mean eigenvalue of a mode
N_INIT = 4  # starts of TensorCRP
ONE_START = ", one start"  # after its name
SVC_COSTS = (1000.0, 100.0, 10.0, 1.0)  # C of classifiers: small is the strong ridge
# Penalty and ridge of CATCH.
PENALTIES = tuple(product((0.03, 0.1, 0.3), (0.1, 1.0, 10.0)))
# Of the SVMs on vectors, those in a plain comparison.
SVMS = ("linear SVM", "RBF SVM, scaled")
# Not also after a filter: TensorCRP has `smooth`, the others take minutes.
UNFILTERED = ("TensorCRP", "TensorCRPCV", "BilinearSVC", "CPLogistic")

# Baselines whose method is more than "one parameter, reg, of `SHARES`".
OTHERWISE = {
    "RidgeLDA": {"parameter": "reg", "values": REGS},
    "ToeplitzLDA": {"parameter": "reg", "values": REGS},
    "ManPDA": {"parameter": "reg", "values": REGS[2:]},
    "CPTDA": {"parameter": "reg", "values": REGS[2:]},
    "CATCH": None,  # two parameters
    **dict.fromkeys(("BilinearSVC", "CPLogistic")),  # need samples of unit size
}


def _register_library():
    """TensorCRP, TensorCRPCV and every baseline, each at its best fair setting."""
    add = partial(register_method, home=__name__)
    starts = partial(fit_crp, n_init=N_INIT, random_state=0)
    add("TensorCRP", Method(starts, "reg", REGS, details=f"best of {N_INIT} starts"))
    own = {"details": "by its own CV", "refit": chosen_crp, "origin": search_defaults()}
    add("TensorCRPCV", Method(fit_crpcv, **own))
    for each in baselines.BASELINES:
        how = OTHERWISE.get(each.name, _usual(each.cls()))
        if how is not None:
            add(each.name, _seeded(each.cls), **how)
    add("CATCH", Method(_fit_catch, "penalty, reg", PENALTIES, ties="middle"))
    for name, fit in (("BilinearSVC", fit_bilinear), ("CPLogistic", fit_logistic)):
        add(name, Method(fit, "C", SVC_COSTS, details="rank 2"))
    for name, how in vector_svms().items():
        add(name, replace(how, compared=name in SVMS, on_request=True))
    add("raw", Method(_fit_raw, details="all entries"))
    _register_variants(add)


def _register_variants(add):
    """What runs where it is named: methods after a filter, TensorCRPCV in parts."""
    rare = {"compared": False, "on_request": True}
    for name, how in all_methods().items():
        if name not in UNFILTERED:
            add(f"{name}{SMOOTH}", replace(smoothed(how), **rare))
    for name, how in ablations().items():
        add(name, replace(how, **rare))
    # On the synthetic clips one of ten splits ends in a poor local maximum.
    add(f"TensorCRP{ONE_START}", Method(fit_crp, "reg", REGS, **rare))


def library_methods():
    """The methods of this package that ``tensorcrp compare`` runs."""
    found = compared_methods().items()
    return {name: each for name, each in found if each.home == __name__}


def evidence_methods():
    """Names of all methods of this package that can be compared."""
    found = offered_methods().items()
    return [name for name, each in found if each.home == __name__]


def _usual(estimator):
    """A ridge in shares of an eigenvalue where there is one, else the defaults."""
    has_ridge = "reg" in estimator.get_params()
    return {"parameter": "reg", "values": SHARES} if has_ridge else {}


def _seeded(cls):
    """The class, with a fixed seed where it draws random numbers."""
    random = "random_state" in cls().get_params()
    return partial(cls, random_state=0) if random else cls


def fit_crp(X, y, settings, n_features, folds, **params):
    """All settings in one run of the solver, in lanes."""
    rank = params.pop("rank", 2)
    with bounded_threads(X.nbytes, SMALL_PASSES):
        scatter = ClassScatter.from_samples(X, y)
        h = n_features or count_components(None, len(scatter.classes), X.shape[1:])
        return fit_path(scatter, Spec(h, ranks=(rank,), regs=settings, **params))


@dataclass(frozen=True)
class _Scaled:
    """A classifier of samples in units of their root mean square norm."""

    model: object
    unit: float

    def predict(self, X):
        return self.model.predict(X / self.unit)


def fit_bilinear(X, y, settings, n_features, folds, cls=baselines.BilinearSVC):
    unit = np.sqrt(np.vdot(X, X) / len(X))
    unit = unit if unit > 0 else 1.0
    fitted = [cls(C=C).fit(X / unit, y) for C in settings]
    return [_Scaled(model, unit) for model in fitted]


fit_logistic = partial(fit_bilinear, cls=baselines.CPLogistic)


def _fit_catch(X, y, settings, n_features, folds):
    return [baselines.CATCH(penalty, reg=reg).fit(X, y) for penalty, reg in settings]


class _Raw:
    """Entries of a sample as its features."""

    def transform(self, X):
        return X.reshape(len(X), -1)


def _fit_raw(X, y, settings, n_features, folds):
    return [_Raw()]


# --- TensorCRPCV, whole and with one of its parts switched off ---------------------

SEVEN = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)  # the ridges of 0.2
# Names, and the parameters that differ from the defaults: the only list of them.
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


def fit_crpcv(X, y, settings, n_features, folds):
    return [fitted_search(X, y, cv=folds)]


def chosen_crp(search):
    """A fit of TensorCRP with the parameters that a search has chosen."""
    known = TensorCRP().get_params()
    params = {n: v for n, v in search.best_params_.items() if n in known}
    return lambda X, y, *_: [TensorCRP(**params).fit(X, y)]


def ablations():
    """Names and methods; features are classified by the model itself and by 1-NN."""
    return {
        f"TensorCRPCV, {name}": Method(
            partial(_fit_ablated, params),
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


def _fit_ablated(params, X, y, settings, n_features, folds):
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


_register_library()
