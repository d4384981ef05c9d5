"""Every method that an experiment can run, by name.

In: training samples (n, l_1, ..., l_N), class codes (n,), the number of features h
that the protocol asks for. Out: one fitted model per setting of the method, with
``transform`` (features) or ``predict`` (classifiers).

Settings stand in a row from the weakest to the strongest ridge. Names with a capital
and no space are classes of this package with a choice of their own ridge; names of the
paper are the same classes under the paper's protocol, with its seven values of lambda.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import ceil

import numpy as np

from tensorcrp import TensorCRP, TensorCRPCV, baselines
from tensorcrp._threads import SMALL_PASSES, bounded_threads
from tensorcrp.scatter import ClassScatter

LAMBDAS = tuple(10.0**e for e in range(-6, 7, 2))  # the paper's
REGS = (1e-4, 1e-3, 0.01, 0.1, 1.0, 10.0)  # of a mean squared entry
SHARES = (1e-6, 1e-4, 1e-2, 1.0)  # of a mean eigenvalue of a mode
COSTS = (1000.0, 100.0, 10.0, 1.0)  # C of BilinearSVC: small is the strong ridge


@dataclass(frozen=True)
class Method:
    """How to fit, over which settings, and how the choice is described.

    Attributes
    ----------
    fit : callable
        ``fit(X, y, settings, n_features, folds)`` -> list of fitted models.
    parameter : str
        What the settings are values of; "" if there is one model only.
    settings : tuple
    tuned : bool
        Whether a setting is also chosen by cross-validation on the training samples.
    details : str
        All else that a row has to say about the parameters.
    """

    fit: Callable
    parameter: str = ""
    settings: tuple = (None,)
    tuned: bool = True
    details: str = ""

    def describe(self):
        """Parameters as they stand in a row and in its key."""
        return {"parameter": self.parameter, "settings": list(self.settings)} | (
            {"details": self.details} if self.details else {}
        )

    @property
    def choice(self):
        """How the setting comes about under honest selection, in words."""
        if len(self.settings) > 1:
            return f"{self.parameter} by CV"
        return self.details or "default"


def method(name):
    """The method of that name."""
    return all_methods()[name]


def all_methods():
    """Dictionary of name -> `Method`."""
    return {**paper_methods(), **library_methods(), **rank_methods(), **start_methods()}


def library_methods():
    """TensorCRP, TensorCRPCV and every baseline, each at its best fair setting."""
    by_share = partial(_one_by_one, name="reg", values=SHARES)
    return {
        "TensorCRP": Method(_fit_crp, "reg", REGS),
        "TensorCRPCV": Method(_fit_crpcv, details="rank, reg, size by CV"),
        "RidgeLDA": _one_by_one(baselines.RidgeLDA(), name="reg", values=REGS),
        "MPCA": _one_by_one(baselines.MPCA()),
        "TwoDPCA": _one_by_one(baselines.TwoDPCA()),
        "MultilinearLDA": by_share(baselines.MultilinearLDA()),
        "SelectiveLDA": by_share(baselines.SelectiveLDA(random_state=0)),
        "ParallelLDA": by_share(baselines.ParallelLDA()),
        "TensorLPP": by_share(baselines.TensorLPP()),
        "CMDA": by_share(baselines.CMDA()),
        "DGTDA": by_share(baselines.DGTDA()),
        "HODA": by_share(baselines.HODA()),
        "UMLDA": by_share(baselines.UMLDA()),
        "BilinearSVC": Method(_fit_bilinear, "C", COSTS, details="rank 2"),
        "raw": Method(_fit_raw, details="no features, all entries"),
    }


def paper_methods():
    """The eight methods of the paper's tables, and the library's own choice beside."""
    lambdas = {"name": "reg", "values": LAMBDAS}
    lda = baselines.RidgeLDA(reg_scale="absolute", between="samples")
    return {
        "LDA": _one_by_one(lda, **lambdas),
        "2DPCA": Method(_fit_2dpca),
        "2DLDA": _square(baselines.TwoDLDA, **lambdas),
        "S2DLDA": _square(baselines.SelectiveLDA, **lambdas),
        "P2DLDA": _square(baselines.ParallelLDA, **lambdas),
        # Beyond its unit, the ridge leaves nothing of the graph.
        "T-LPP": _square(baselines.TensorLPP, "reg", SHARES),
        "B-SVM": Method(_fit_bilinear, "C", COSTS, details="rank 2"),
        "CRP": _paper_crp("rank 2"),
    }


def rank_methods():
    """CRP with other ranks than two, under the paper's protocol."""
    return {
        f"CRP k={k}": _paper_crp(f"rank {k}", rank=k, tuned=False) for k in (1, 3, 4, 5)
    }


def start_methods():
    """Algorithm 1 from the starts of the paper's initialisation table."""
    starts = {f"{d:g}": partial(_diagonal, d) for d in (0.5, 1.0, 2.0)}
    starts["random"] = "random"
    once = {"max_iter": 10, "tol": 0.01, "random_state": 0}
    return {
        f"CRP start {name}": _paper_crp(
            f"rank 2, start {name}, up to 10 sweeps", init=init, tuned=False, **once
        )
        for name, init in starts.items()
    }


def _diagonal(value, shape, rank, rng):
    """The paper's start: V with one number on its diagonal; U is updated first."""
    return [value * np.eye(size, rank) for size in shape]


def _paper_crp(details, tuned=True, **params):
    fit = partial(_fit_crp, reg_scale="absolute", **params)
    return Method(fit, "lambda", LAMBDAS, tuned, details)


def _fit_crp(X, y, settings, n_features, folds, **params):
    """All settings in one run of the solver, in lanes."""
    crp = TensorCRP(n_features or None, **params)
    crp.sample_shape_ = X.shape[1:]
    rows = X.reshape(len(X), -1) if crp._is_full() else X
    models = []
    with bounded_threads(X.nbytes, SMALL_PASSES):
        scatter = ClassScatter.from_samples(rows, y)
        for result, lam in crp._path(scatter, settings):
            model = TensorCRP(n_features or None, **params)
            model.sample_shape_ = model.input_shape_ = X.shape[1:]
            model.n_features_in_ = X.shape[1]
            models.append(model._take(result, lam, scatter.classes))
    return models


def _fit_crpcv(X, y, settings, n_features, folds):
    return [TensorCRPCV(cv=folds).fit(X, y)]


def _one_by_one(estimator, name="", values=(None,), details=""):
    """A fit for each value of one parameter."""

    def fit(X, y, settings, n_features, folds):
        return [_set(estimator, name, value).fit(X, y) for value in settings]

    return Method(fit, name, values, details=details)


def _square(cls, name, values):
    """Methods with a factor per mode: the same number of columns in each."""

    def fit(X, y, settings, n_features, folds):
        size = ceil(round(n_features ** (1 / (X.ndim - 1)), 9))
        return [cls(sizes=size, reg=value).fit(X, y) for value in settings]

    return Method(fit, name, values)


def _set(estimator, name, value):
    params = estimator.get_params()
    return type(estimator)(**{**params, name: value} if name else params)


def _fit_2dpca(X, y, settings, n_features, folds):
    """As many columns as come nearest to h features."""
    others, last = X[0].size // X.shape[-1], X.shape[-1]
    columns = min(max(1, round(n_features / others)), last)
    return [baselines.TwoDPCA(columns).fit(X, y)]


@dataclass(frozen=True)
class _Scaled:
    """A classifier of samples in units of their root mean square norm."""

    model: object
    unit: float

    def predict(self, X):
        return self.model.predict(X / self.unit)


def _fit_bilinear(X, y, settings, n_features, folds):
    unit = np.sqrt(np.vdot(X, X) / len(X))
    unit = unit if unit > 0 else 1.0
    fitted = [baselines.BilinearSVC(C=C).fit(X / unit, y) for C in settings]
    return [_Scaled(model, unit) for model in fitted]


class _Raw:
    """Entries of a sample as its features."""

    def transform(self, X):
        return X.reshape(len(X), -1)


def _fit_raw(X, y, settings, n_features, folds):
    return [_Raw()]
