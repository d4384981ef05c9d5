"""
Rank and lambda
===============

Two parameters shape a projection: its rank k, how many products of thin vectors it may
add up, and the ridge lambda, how much it has to shrink. We map accuracy over both, on
scikit-learn's digits, or on the ORL faces if ``TENSORCRP_DATA`` is set.

``reg`` is lambda relative to the mean scatter of a pixel within classes, so the same
grid suits data of any scale. ``rank="full"`` puts no bound on the rank: that is ridge
LDA on vectors.
"""

import os

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.neighbors import KNeighborsClassifier

from tensorcrp import TensorCRP
from tensorcrp.datasets import fetch_dataset, load_digits

real = os.environ.get("TENSORCRP_DATA")
faces = fetch_dataset("orl") if real else load_digits()
X, y = faces.data.astype(np.float32), faces.target
n_classes = len(faces.target_names)

# %%
# Every cell of the map is a mean over the same random splits with three training
# samples per class. This is a look at the landscape, on test samples; to choose
# parameters honestly see :ref:`sphx_glr_auto_examples_plot_choosing_parameters.py`.

ranks = [1, 2, 3, "full"]
regs = [0.001, 0.01, 0.1, 1.0, 10.0, 100.0]
splits = StratifiedShuffleSplit(2 if real else 5, train_size=3 * n_classes)
splits.random_state = 0
scores = np.zeros((len(ranks), len(regs)))
for train, test in splits.split(X, y):
    test = test[:1000]
    for i, rank in enumerate(ranks):
        for j, reg in enumerate(regs):
            crp = TensorCRP(n_classes - 1, rank=rank, reg=reg, max_iter=4, tol=0)
            crp.fit(X[train], y[train])
            judge = KNeighborsClassifier(1).fit(crp.transform(X[train]), y[train])
            scores[i, j] += judge.score(crp.transform(X[test]), y[test])
scores *= 100 / splits.get_n_splits()

# %%
# Rows are ranks, columns are ridges. A low rank is a ridge of its own kind: it needs
# less of the other.

fig, ax = plt.subplots(figsize=(7, 3.6), layout="constrained")
image = ax.imshow(scores, cmap="viridis", aspect="auto")
middle = (scores.min() + scores.max()) / 2
for (i, j), score in np.ndenumerate(scores):
    color = "black" if score > middle else "white"
    ax.text(j, i, f"{score:.1f}", ha="center", va="center", color=color)
ax.set_xticks(range(len(regs)), [f"{reg:g}" for reg in regs])
ax.set_yticks(range(len(ranks)), ranks)
ax.set(xlabel="reg (lambda, relative)", ylabel="rank k")
ax.set_title("accuracy of 1-NN in %, three training samples per class")
fig.colorbar(image, ax=ax, label="%")

i, j = np.unravel_index(scores.argmax(), scores.shape)
print(f"best of the map: rank {ranks[i]}, reg {regs[j]:g}: {scores[i, j]:.1f} %")

# %%
# What the ridge does to a projection: the same class problem, from almost none to
# much. Without it the first projection chases the noise of single pixels.

train, _ = next(splits.split(X, y))
fig, axes = plt.subplots(1, 4, figsize=(8, 2.5), layout="constrained")
for ax, reg in zip(axes, [0.001, 0.1, 1.0, 100.0], strict=True):
    crp = TensorCRP(1, rank=2, reg=reg, max_iter=20, tol=0).fit(X[train], y[train])
    W = crp.components_[0]
    image = ax.imshow(W, cmap="RdBu_r", vmin=-abs(W).max(), vmax=abs(W).max())
    ax.set(title=f"reg {reg:g}", xticks=[], yticks=[])
fig.colorbar(image, ax=axes, label="weight", ticks=[0])
plt.show()
