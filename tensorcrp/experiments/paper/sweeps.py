"""How the objective climbs: the paper's Fig. 1, as numbers.

In: training samples of one split. Out, per component: the number of sweeps that reach
99 % and 99.9 % of the objective after `SWEEPS` sweeps, and the worst relative step of
all block updates (negative: the objective fell).
"""

import numpy as np

from tensorcrp import TensorCRP
from tensorcrp.experiments.registry import Method, register_method
from tensorcrp.experiments.runs import worst_step

SWEEPS = 50
CLIMBS = {"objective, identity start": "identity", "objective, lda start": "lda"}


def outcome(run, data, train):
    """What a row of this kind holds."""
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


for name, init in CLIMBS.items():
    how = Method(
        None,
        details=f"rank 2, reg 0.3, start {init}, {SWEEPS} sweeps",
        compared=False,
        outcome=outcome,
    )
    register_method(name, how, home=__name__)
