"""
The matrix case, step by step
=============================

Compound rank-k projections of matrices, as in the paper: each feature is
``Tr(U^T X V)`` with two thin factors ``U`` and ``V``, found by block ascent on a ratio
of between-class to within-class variation. We follow one fit from the data to the
classifier, on scikit-learn's 8x8 digits, or on USPS if ``TENSORCRP_DATA`` is set.
"""

import os

import matplotlib.pyplot as plt
import numpy as np
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier

from tensorcrp import TensorCRP
from tensorcrp.datasets import fetch_usps, load_digits

# %%
# The data: ten samples of each digit to learn from, all others to test on.

real = os.environ.get("TENSORCRP_DATA")
digits = fetch_usps() if real else load_digits()
X, y = digits.data, digits.target
X_train, X_test, y_train, y_test = train_test_split(
    X, y, train_size=100, stratify=y, random_state=0
)
print(f"{X.shape[0]} matrices of {X.shape[1]}x{X.shape[2]}, 10 per class to learn from")

# %%
# Fit. ``rank=2`` gives every projection two columns in ``U`` and in ``V``. Each block
# update solves its small problem exactly, so the objective never falls. ``reg=1``
# is what `TensorCRPCV` chooses by cross-validation on these training digits.

crp = TensorCRP(rank=2, reg=1.0, max_iter=20, tol=0).fit(X_train, y_train)
worst = min(np.diff(history).min() / history[-1] for history in crp.objective_)
print(f"{len(crp.components_)} projections; worst step of the objective: {worst:.1e}")

fig, ax = plt.subplots(figsize=(6, 3.5), layout="constrained")
for p, history in enumerate(crp.objective_[:4]):
    updates = np.arange(1, len(history) + 1)
    ax.plot(updates, history, marker=".", label=f"projection {p + 1}")
ax.set(xlabel="block update (U, V, U, V, ...)", ylabel="objective J", ylim=(0, None))
ax.legend(ncols=2)

# %%
# A projection is a matrix of rank two, ``W = U V^T``, and looks like what it weighs:
# red pixels count for it, blue ones against it.

fig, axes = plt.subplots(2, 5, figsize=(8, 3.6), layout="constrained")
limit = np.abs(crp.components_[:10]).max()
for p, ax in enumerate(axes.flat):
    image = ax.imshow(crp.components_[p], cmap="RdBu_r", vmin=-limit, vmax=limit)
    ax.set(title=f"W {p + 1}", xticks=[], yticks=[])
fig.colorbar(image, ax=axes, label="weight of a pixel")

# %%
# Features of samples that the fit has not seen: one number per projection.

Z_train, Z_test = crp.transform(X_train), crp.transform(X_test)
fig, ax = plt.subplots(figsize=(5.5, 4.5), layout="constrained")
for digit in range(10):
    some = np.flatnonzero(y_test == digit)[:60]
    ax.scatter(*Z_test[some, :2].T, s=40, marker=f"${digit}$", color=f"C{digit}")
ax.set(xlabel="feature 1", ylabel="feature 2", title="test samples")

# %%
# How good are they? The nearest neighbour decides, on pixels, on the features of LDA
# (all nine of them, its shrinkage estimated from the training samples) and on ours.


def nearest(train, test):
    model = KNeighborsClassifier(1).fit(train.reshape(len(train), -1), y_train)
    return 100 * model.score(test.reshape(len(test), -1), y_test)


flat_train, flat_test = X_train.reshape(100, -1), X_test.reshape(len(X_test), -1)
lda = LinearDiscriminantAnalysis(solver="eigen", shrinkage="auto")
lda.fit(flat_train, y_train)
print("accuracy of 1-NN in %")
print(f"  pixels           {nearest(X_train, X_test):5.1f}")
lda_score = nearest(lda.transform(flat_train), lda.transform(flat_test))
print(f"  LDA, shrinkage   {lda_score:5.1f}")
print(f"  TensorCRP        {nearest(Z_train, Z_test):5.1f}")
plt.show()
