"""How the objective climbs: the paper's Fig. 1, as numbers.

In: training samples of one split. Out, per component: the number of sweeps that reach
99 % and 99.9 % of the objective after `SWEEPS` sweeps, and the worst relative step of
all block updates (negative: the objective fell).
"""

import numpy as np

from tensorcrp import TensorCRP

SWEEPS = 50
STARTS = {"objective, identity start": "identity", "objective, lda start": "lda"}


def describe(name):
    """Parameters of a run, as they stand in a row and in its key."""
    return {"init": STARTS[name], "sweeps": SWEEPS, "rank": 2, "reg": 0.3}


def outcome(run, data, train):
    """What a row of this kind holds."""
    X, y = data.X[train], data.y[train]
    how = {"init": STARTS[run.method], "max_iter": SWEEPS, "tol": 0}
    crp = TensorCRP(run.n_features or None, rank=2, reg=0.3, **how).fit(X, y)
    sweeps = [_by_sweep(history, X.ndim - 1) for history in crp.objective_]
    return {
        "shape": list(X.shape[1:]),
        "n_train": len(X),
        "features": len(sweeps),
        "worst_step": worst_step(crp),
        "to_99": [_sweeps_to(0.99, values) for values in sweeps],
        "to_999": [_sweeps_to(0.999, values) for values in sweeps],
        "curve": [float(f"{value:.6g}") for value in sweeps[0]],
    }


def worst_step(crp):
    """Smallest relative change of J in a block update, over all components."""
    with np.errstate(all="ignore"):  # J may be 0 for long: no share of that
        steps = [np.diff(h) / np.abs(h[:-1]) for h in crp.objective_ if len(h) > 1]
    steps = [step[np.isfinite(step)] for step in steps]
    return float(min((step.min() for step in steps if len(step)), default=0.0))


def _by_sweep(history, order):
    """J after each whole sweep."""
    return np.asarray(history)[order - 1 :: order]


def _sweeps_to(share, values):
    return int(np.argmax(values >= share * values[-1])) + 1
