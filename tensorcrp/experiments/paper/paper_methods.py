"""The methods of the paper's tables under its protocol, registered by their names.

They are classes of this package with the paper's seven values of lambda and its number
of features h. In and out are those of `tensorcrp.experiments.registry.Method`.
"""

from dataclasses import replace
from functools import partial
from math import ceil

import numpy as np

from tensorcrp import TensorCRP, baselines
from tensorcrp.experiments.methods import SHARES, SVC_COSTS, fit_bilinear, fit_crp
from tensorcrp.experiments.registry import Method, register_method
from tensorcrp.experiments.runs import worst_step

LAMBDAS = tuple(10.0**e for e in range(-6, 7, 2))


def paper_methods():
    """The eight methods of the paper's tables."""
    return {
        "LDA": Method(_fit_lda, "reg", LAMBDAS),
        "2DPCA": Method(_fit_2dpca),
        "2DLDA": _square(baselines.TwoDLDA, LAMBDAS),
        "S2DLDA": _square(baselines.SelectiveLDA, LAMBDAS),
        "P2DLDA": _square(baselines.ParallelLDA, LAMBDAS),
        # Beyond its unit, the ridge leaves nothing of the graph.
        "T-LPP": _square(baselines.TensorLPP, SHARES),
        "B-SVM": Method(fit_bilinear, "C", SVC_COSTS, details="rank 2"),
        "CRP": _paper_crp("rank 2"),
    }


def methods_by_rank():
    """CRP with other ranks than two, under the paper's protocol."""
    return {
        f"CRP k={k}": _paper_crp(f"rank {k}", rank=k, tuned=False) for k in (1, 3, 4, 5)
    }


def methods_by_start():
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
    fit = partial(fit_crp, reg_scale="absolute", **params)
    return Method(fit, "lambda", LAMBDAS, tuned, details)


def _square(cls, values):
    """Methods with a factor per mode: the same number of columns in each."""

    def fit(X, y, settings, n_features, folds):
        size = ceil(round(n_features ** (1 / (X.ndim - 1)), 9))
        return [cls(sizes=size, reg=value).fit(X, y) for value in settings]

    return Method(fit, "reg", values)


def _fit_lda(X, y, settings, n_features, folds):
    how = {"reg_scale": "absolute", "between": "samples"}
    return [baselines.RidgeLDA(reg=value, **how).fit(X, y) for value in settings]


def _fit_2dpca(X, y, settings, n_features, folds):
    """As many columns as come nearest to h features."""
    others, last = X[0].size // X.shape[-1], X.shape[-1]
    columns = min(max(1, round(n_features / others)), last)
    return [baselines.TwoDPCA(columns).fit(X, y)]


# --- how the objective climbs: Fig. 1 -----------------------------------------------

SWEEPS = 50
CLIMBS = {"objective, identity start": "identity", "objective, lda start": "lda"}


def climb_methods():
    """TensorCRP from two starts, whose rows hold curves and no right answers."""
    return {
        name: Method(
            None,
            details=f"rank 2, reg 0.3, start {init}, {SWEEPS} sweeps",
            outcome=climbed,
        )
        for name, init in CLIMBS.items()
    }


def climbed(run, data, train):
    """What a row of this kind holds, from the training samples of one split.

    Per component: the number of sweeps that reach 99 % and 99.9 % of the objective
    after `SWEEPS` sweeps, and the worst relative step of all block updates (negative:
    the objective fell).
    """
    X, y = data.X[train], data.y[train]
    how = {"init": CLIMBS[run.method], "max_iter": SWEEPS, "tol": 0}
    crp = TensorCRP(run.n_features or None, rank=2, reg=0.3, **how).fit(X, y)
    sweeps = [_by_sweep(history, X.ndim - 1) for history in crp.history_]
    return {
        "shape": list(X.shape[1:]),
        "n_train": len(X),
        "features": len(sweeps),
        "worst_step": worst_step(crp.history_),
        "to_99": [_sweeps_to(0.99, values) for values in sweeps],
        "to_999": [_sweeps_to(0.999, values) for values in sweeps],
        "curve": [float(f"{value:.6g}") for value in sweeps[0]],
    }


def _by_sweep(history, order):
    """J after each whole sweep."""
    return np.asarray(history)[order - 1 :: order]


def _sweeps_to(share, values):
    return int(np.argmax(values >= share * values[-1])) + 1


for group in (paper_methods, methods_by_rank, methods_by_start, climb_methods):
    for name, how in group().items():
        register_method(name, replace(how, compared=False), home=__name__)
