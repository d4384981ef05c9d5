"""
Hyperspectral patches
=====================

A patch of a hyperspectral image is a tensor, row x column x band. Its projections have
a factor for every mode, so the spectral one can be read as a curve over the bands. The
Indian Pines scene comes with tensorly: 5x5 patches, 200 bands, 12 kinds of land.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.neighbors import KNeighborsClassifier
from sklearn.utils import Bunch

from tensorcrp import TensorCRP
from tensorcrp.baselines import RidgeLDA
from tensorcrp.datasets import fetch_dataset, make_tensor_classification

# %%
# Neighbouring patches overlap, so a random split would test on what it has seen. We
# learn from the left part of the scene and test on the right one, a gap between them.

try:
    land = fetch_dataset("indian_pines")
except FileNotFoundError:  # early versions of tensorly do not ship it: made patches
    made = make_tensor_classification((5, 5, 200), 6, 2, n_samples=600, random_state=0)
    column = np.random.RandomState(0).randint(0, 145, 600)
    land = Bunch(rowcol=np.column_stack([column, column]), **made)
X, y, column = land.data.astype(np.float32), land.target, land.rowcol[:, 1]
X = (X - X.mean(axis=(0, 1, 2))) / X.std(axis=(0, 1, 2))  # bands in one scale
left, right = column < 68, column > 76
both = [c for c in np.unique(y) if min(sum(y[left] == c), sum(y[right] == c)) >= 10]
train, test = left & np.isin(y, both), right & np.isin(y, both)
print(f"{len(both)} classes, {train.sum()} patches to learn from, {test.sum()} to test")

# %%
# Fit with a rank that is small beside 5 x 5 x 200 entries. Both methods keep their
# default ridge. CRP depends on it here: with ``reg=3`` it falls to 35 %, far behind
# RidgeLDA, so choose it on training samples when it matters.

crp = TensorCRP(rank=2, max_iter=20, tol=0.01).fit(X[train], y[train])


def nearest(A, B):
    model = KNeighborsClassifier(1).fit(A.reshape(len(A), -1), y[train])
    return 100 * model.score(B.reshape(len(B), -1), y[test])


ridge = RidgeLDA().fit(X[train], y[train])
middle = X[:, 2, 2]  # the spectrum of the centre alone
print("accuracy of 1-NN in %, other half of the scene")
print(f"  centre pixel   {nearest(middle[train], middle[test]):5.1f}")
print(f"  whole patch    {nearest(X[train], X[test]):5.1f}")
print(f"  RidgeLDA       {nearest(*map(ridge.transform, (X[train], X[test]))):5.1f}")
print(f"  TensorCRP      {nearest(*map(crp.transform, (X[train], X[test]))):5.1f}")

# %%
# The factor of bands: which part of the spectrum the first projections compare, and
# the mean spectra that they have to tell apart.

fig, (top, bottom) = plt.subplots(
    2, 1, figsize=(8, 5), sharex=True, layout="constrained"
)
for c in both[:6]:
    top.plot(X[train & (y == c)].mean(axis=(0, 1, 2)), label=f"class {c}")
top.set(ylabel="standardised", title="mean spectra of some classes")
top.legend(ncols=3, fontsize=8)
for p in range(3):
    curve = crp.factors_[2][p, :, 0]  # the column with the largest weight
    bottom.plot(curve / np.abs(curve).max(), label=f"W {p + 1}")
bottom.axhline(0, color="gray", lw=0.8)
bottom.set(xlabel="band", ylabel="factor (largest = 1)", title="factors of the bands")
bottom.legend(ncols=3, fontsize=8)

# %%
# The factors of rows and columns say how a projection weighs the patch: most are close
# to a mean over it, which takes noise away.

fig, axes = plt.subplots(1, 4, figsize=(8, 2.4), layout="constrained")
for p, ax in enumerate(axes):
    patch = np.outer(crp.factors_[0][p, :, 0], crp.factors_[1][p, :, 0])
    patch = patch / np.abs(patch).max()
    image = ax.imshow(patch, cmap="RdBu_r", vmin=-1, vmax=1)
    ax.set(title=f"W {p + 1}", xticks=[], yticks=[])
fig.colorbar(image, ax=axes, label="weight in the patch")
plt.show()
