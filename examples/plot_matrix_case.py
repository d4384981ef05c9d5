"""
The matrix case, step by step
=============================

Compound rank-k projections of matrices, as in the paper: each feature is
``Tr(U^T X V)`` with two thin factors ``U`` and ``V``, found by block ascent on a ratio
of between-class to within-class variation. We follow one fit from the data to the
classifier, on scikit-learn's 8x8 digits, or on USPS if ``TENSORCRP_DATA`` is set.
"""

# sphinx_gallery_thumbnail_number = 4

import os

import matplotlib.pyplot as plt
import numpy as np
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier

from tensorcrp import TensorCRP
from tensorcrp.datasets import fetch_usps, load_digits
from tensorcrp.plotting import (
    ConvergenceDisplay,
    EmbeddingDisplay,
    ProjectionDisplay,
)

# %%
# The data: ten training samples of each digit; all others are test samples.

real = os.environ.get("TENSORCRP_DATA")
digits = fetch_usps() if real else load_digits()
X, y = digits.data, digits.target
X_train, X_test, y_train, y_test = train_test_split(
    X, y, train_size=100, stratify=y, random_state=0
)
print(f"{X.shape[0]} matrices of {X.shape[1]}x{X.shape[2]}, 10 per class to learn from")

# %%
# Fit. ``rank=2`` gives every projection two columns in ``U`` and in ``V``. Each block
# update solves its small problem exactly, so the objective never decreases. ``reg=1``
# is what `TensorCRPCV` chooses by cross-validation on these training digits.

crp = TensorCRP(rank=2, reg=1.0, max_iter=20, tol=0).fit(X_train, y_train)
worst = min(np.diff(history).min() / history[-1] for history in crp.history_)
print(f"{len(crp.components_)} projections; worst step of the objective: {worst:.1e}")

display = ConvergenceDisplay.from_estimator(crp, components=range(4))

# %%
# A projection is a matrix of rank two, ``W = U V^T``, and can be drawn like a sample:
# light and yellow weights are positive, dark and blue ones negative.

display = ProjectionDisplay.from_estimator(crp, components=range(10))

# %%
# Its two columns of ``U`` and of ``V``, as curves over rows and over columns.

display = ProjectionDisplay.from_estimator(
    crp, kind="factors", mode_names=["row", "column"]
)

# %%
# Features of test samples: one number per projection.

Z_train, Z_test = crp.transform(X_train), crp.transform(X_test)
display = EmbeddingDisplay(Z_test[:600], y_test[:600]).plot()

# %%
# Accuracy of 1-NN on pixels, on the features of LDA (all nine of them, with its
# shrinkage estimated from the training samples) and on those of CRP.


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
