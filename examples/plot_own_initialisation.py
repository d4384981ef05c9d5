"""
Writing your own initialisation
===============================

Block ascent climbs from where it starts. ``init`` takes a name, arrays, or a function
``init(shape, rank, random_state)`` that returns one array ``(l_m, k)`` per mode. We
write one for images: smooth cosine waves, low frequencies first, and compare it with
the built-in starts.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.fft import idct

from tensorcrp import TensorCRP
from tensorcrp.datasets import load_digits

X, y = load_digits(return_X_y=True)
X, y = X[:300], y[:300]

# %%
# The function. It is asked once for every projection; ``random_state`` is there for
# those that want chance. Scale does not matter, only directions do.


def smooth(shape, rank, random_state):
    """Cosine waves of frequency 1, 2, ...; frequency 0 would be a constant."""
    return [idct(np.eye(size), axis=0)[:, 1 : rank + 1] for size in shape]


waves = smooth((8, 8), 2, None)
fig, axes = plt.subplots(1, 3, figsize=(8, 2.5), layout="constrained")
for r in range(2):
    wave = np.outer(waves[0][:, r], waves[1][:, r])
    limit = np.abs(wave).max()
    axes[r].imshow(wave, cmap="RdBu_r", vmin=-limit, vmax=limit)
    axes[r].set(title=f"column {r + 1}", xticks=[], yticks=[])
start = waves[0] @ waves[1].T
limit = np.abs(start).max()
image = axes[2].imshow(start, cmap="RdBu_r", vmin=-limit, vmax=limit)
axes[2].set(title="the start, their sum", xticks=[], yticks=[])
fig.colorbar(image, ax=axes, label="weight", ticks=[0])

# %%
# Fit from every start. ``tol=0`` gives all of them the same number of sweeps.

starts = {"lda": "lda", "identity": "identity", "random": "random", "smooth": smooth}
fits = {
    name: TensorCRP(9, rank=2, init=init, max_iter=30, tol=0, random_state=0).fit(X, y)
    for name, init in starts.items()
}
print("sum of the objectives of 9 projections after 2 and after 30 sweeps")
for name, crp in fits.items():
    after = [sum(history[i] for history in crp.objective_) for i in (3, -1)]
    print(f"  {name:<9} {after[0]:8.3f} {after[1]:8.3f}")

# %%
# The first projection: all starts rise, none ever falls; ``"lda"`` begins near the top,
# since it starts from the best matrix of any rank.

fig, ax = plt.subplots(figsize=(6, 3.6), layout="constrained")
styles = dict(zip(starts, ["-", "--", ":", "-."], strict=True))
for name, crp in fits.items():
    history = crp.objective_[0]
    assert (np.diff(history) >= -1e-9 * history[:-1]).all()
    ax.plot(np.arange(1, len(history) + 1) / 2, history, styles[name], label=name)
ax.set(xlabel="sweep over both modes", ylabel="objective J", xscale="log")
ax.set_title("first projection")
ax.legend(title="start")

# %%
# Arrays work as well, and the best of several starts is kept with ``n_init``: the first
# is yours, the others are random.

many = TensorCRP(9, rank=2, init=waves, n_init=4, max_iter=30, tol=0, random_state=0)
many.fit(X, y)
print(f"smooth, best of 4: {sum(history[-1] for history in many.objective_):8.3f}")
plt.show()
