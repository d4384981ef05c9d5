"""
Writing your own initialisation
===============================

Block ascent finds a local maximum that depends on the start. ``init`` takes a name,
arrays, CP tensors, or a function ``init(shape, rank, rng)`` that returns one array
``(l_m, k)`` per mode; a fourth parameter, ``component``, is the number of the
projection. We write one for images: smooth cosine waves, low frequencies first, and
compare it with the built-in starts.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.fft import idct

from tensorcrp import TensorCRP
from tensorcrp.datasets import load_digits
from tensorcrp.plotting import ConvergenceDisplay, ProjectionDisplay

X, y = load_digits(return_X_y=True)
X, y = X[:300], y[:300]

# %%
# The function. It is called once for every projection; ``rng`` is for random starts.
# Only directions matter, not the scale.


def smooth(shape, rank, rng):
    """Cosine waves of frequency 1, 2, ...; frequency 0 would be a constant."""
    return [idct(np.eye(size), axis=0)[:, 1 : rank + 1] for size in shape]


waves = smooth((8, 8), 2, None)
columns = [np.outer(waves[0][:, r], waves[1][:, r]) for r in range(2)]
names = ["column 1", "column 2", "the start, their sum"]
display = ProjectionDisplay([*columns, sum(columns)], labels=names).plot()

# %%
# Fit from every start. ``tol=0`` gives all of them the same number of sweeps.

starts = {"lda": "lda", "identity": "identity", "random": "random", "smooth": smooth}
fits = {
    name: TensorCRP(9, rank=2, init=init, max_iter=30, tol=0, random_state=0).fit(X, y)
    for name, init in starts.items()
}
print("sum of the objectives of 9 projections after 2 and after 30 sweeps")
for name, crp in fits.items():
    after = [sum(history[i] for history in crp.history_) for i in (3, -1)]
    print(f"  {name:<9} {after[0]:8.3f} {after[1]:8.3f}")

# %%
# The first projection. No curve ever decreases; ``"lda"`` begins near the maximum,
# because it starts from the best matrix of any rank.

histories = [crp.history_[0] for crp in fits.values()]
for history in histories:
    assert (np.diff(history) >= -1e-9 * history[:-1]).all()
display = ConvergenceDisplay(histories, labels=starts, order=2).plot(unit="sweep")
display.ax_.set(xscale="log", title="first projection, by start")

# %%
# Arrays work as well, and the best of several starts is kept with ``n_init``: the first
# is yours, the others are random.

many = TensorCRP(9, rank=2, init=waves, n_init=4, max_iter=30, tol=0, random_state=0)
many.fit(X, y)
print(f"smooth, best of 4: {sum(history[-1] for history in many.history_):8.3f}")
plt.show()
