"""
Hyperspectral patches
=====================

A patch of a hyperspectral image is a tensor, row x column x band. Its projections have
a factor for every mode, so the spectral factor is a curve over the bands. The
Indian Pines scene comes with tensorly: 5x5 patches, 200 bands, 12 kinds of land.
"""

# sphinx_gallery_thumbnail_number = 2

import matplotlib.pyplot as plt
import numpy as np
from sklearn.base import clone
from sklearn.neighbors import KNeighborsClassifier
from sklearn.utils import Bunch

from tensorcrp import TensorCRP
from tensorcrp.baselines import RidgeLDA
from tensorcrp.datasets import fetch_dataset, make_tensor_classification
from tensorcrp.plotting import ProjectionDisplay

# %%
# Neighbouring patches overlap, so a random split would test on training pixels. We
# train on the left part of the scene and test on the right part, with a gap in between.

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
# Fit with a rank that is small compared with 5 x 5 x 200 entries. Both methods have
# their default ridge. CRP depends on it here: with a ridge ten times as large it falls
# far below RidgeLDA, so choose the ridge on training samples.

crp = TensorCRP(rank=2, max_iter=20, tol=0.01).fit(X[train], y[train])
strong = clone(crp).set_params(reg=3.0).fit(X[train], y[train])


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
print(f"  with reg=3     {nearest(*map(strong.transform, (X[train], X[test]))):5.1f}")

# %%
# The mean spectra of the classes that the projections separate.

fig, ax = plt.subplots(figsize=(8, 3), layout="constrained")
for i, c in enumerate(both[:6]):
    mean, style = X[train & (y == c)].mean(axis=(0, 1, 2)), ["-", "--", ":"][i % 3]
    ax.plot(mean, style, label=f"class {c}")
ax.set(xlabel="band", ylabel="standardised", title="mean spectra of some classes")
ax.legend(ncols=3, fontsize=8)

# %%
# The factor of bands shows which parts of the spectrum a projection compares. The
# factors of rows and columns show its weights on the patch: factors of one sign take a
# mean, factors that change sign respond to edges.

display = ProjectionDisplay.from_estimator(
    crp, components=range(3), kind="factors", mode_names=["row", "column", "band"]
)
plt.show()
