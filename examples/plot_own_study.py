"""
A study of your own
===================

Everything that a fit is made of can be yours. Here the within-class scatter comes from
differences of neighbouring trials, which a slow drift of the baseline hardly changes.
Every projection has its own start, a path of ridges is fitted with warm starts, a
callback ends a fit when projections become weak, and the factors leave as an xarray
``Dataset`` (extra ``labelled``).
"""

import matplotlib.pyplot as plt
import numpy as np
from numpy.typing import NDArray

from tensorcrp import ClassScatter, TensorCRP
from tensorcrp.datasets import make_multichannel

Floats = NDArray[np.float64]

made = make_multichannel(60, n_channels=8, n_times=40, snr_db=-8, random_state=0)
drift = 2 * np.linspace(-1, 1, 60)[:, None, None] * made.positions[:, :1]
X: Floats = made.data + drift  # one side rises during the session, the other falls
y = made.target

# %%
# Rows of the scatter. Half the sum of squared differences of neighbouring trials
# estimates the within-class scatter, and drift cancels. ``ClassScatter`` takes rows of
# any origin, also those that are read when they are needed.

trials = [X[y == label] for label in np.unique(y)]
rows = np.concatenate([np.diff(each, axis=0) / np.sqrt(2) for each in trials])
means = np.stack([each.mean(axis=0) for each in trials])
counts = np.array([float(len(each)) for each in trials])
own = ClassScatter(np.unique(y), counts, means, rows)

# %%
# A start for every projection, and a callback. It sees the objective, the sweeps and
# the factors of each projection; True ends the fit, and what was found is kept.


def waves(
    shape: tuple[int, ...], rank: int, rng: np.random.RandomState, component: int
) -> list[Floats]:
    """Any channels, and waves in time that are faster with each component."""
    turns = np.linspace(0, np.pi, shape[1])[:, None] * (component + 1 + np.arange(rank))
    return [rng.standard_normal((shape[0], rank)), np.cos(turns)]


def is_weak(
    p: int, objective: Floats, n_iter: Floats, factors: list[list[Floats]]
) -> bool:
    return bool(p > 0 and objective[0] < 0.2)


# %%
# Along the path each fit starts where the last one ended; a cold fit starts anew.

warm, cold = (
    TensorCRP(8, init=waves, callback=is_weak, tol=0.03, max_iter=200, random_state=0)
    for _ in range(2)
)
warm.set_params(warm_start=True)
for reg in (0.3, 0.5, 0.8, 1.3, 2.0, 3.0):
    for crp in (warm, cold):
        crp.set_params(reg=reg).fit_scatter(own)
    sweeps = f"{warm.n_iters_.sum()} sweeps, {cold.n_iters_.sum()} from a cold start"
    print(f"reg {reg}: {len(warm.components_)} projections, {sweeps}")

# %%
# Factors with the names of modes and their values.

data = warm.to_xarray(made.mode_names, [None, made.times])
print(data)
strongest = data["factor of time"].sel(column=0, component=slice(0, 2))
strongest.plot.line(x="time", hue="component")
plt.show()  # pyright: ignore[reportUnknownMemberType] (a stub of matplotlib)
