"""
Choosing parameters
===================

``TensorCRPCV`` chooses smoothness, rank, ridge and number of features by
cross-validation on the training samples, and averages the models that do well. All
points of a fold are solved together and smaller numbers of features are free: the
output has the time and the number of points beside those of a search over single fits.
Digits, or COIL-20 objects if ``TENSORCRP_DATA`` is set.
"""

import os
from time import perf_counter

import matplotlib.pyplot as plt
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

from tensorcrp import TensorCRP, TensorCRPCV
from tensorcrp.datasets import fetch_dataset, load_digits
from tensorcrp.plotting import PathDisplay

real = os.environ.get("TENSORCRP_DATA")
data = fetch_dataset("coil20") if real else load_digits()
X, y = data.data, data.target
n_classes = len(data.target_names)
X_train, X_test, y_train, y_test = train_test_split(
    X, y, train_size=8 * n_classes, stratify=y, random_state=0
)
ranks, regs = [1, 2, "full"], [0.03, 0.3, 3.0, 30.0]

# %%
# The whole grid at once. The estimator is a classifier too: at the end it fits 1-NN to
# the averaged features of all training samples.

start = perf_counter()
search = TensorCRPCV(KNeighborsClassifier(1), ranks=ranks, regs=regs, cv=4)
search.fit(X_train, y_train)
points = len(search.cv_results_["params"])
print(f"TensorCRPCV: {points} points in {perf_counter() - start:.1f} s")
print(f"the best of them: {search.best_params_}")
print(f"accuracy on the test samples: {100 * search.score(X_test, y_test):.1f} %")

# %%
# Scikit-learn's search over a pipeline works as well, because TensorCRP is an ordinary
# transformer. It runs one fit per point, so this grid is smaller and has no smoothness,
# and it takes the best point alone.

start = perf_counter()
pipeline = make_pipeline(TensorCRP(max_iter=20, tol=0.1), KNeighborsClassifier(1))
grid = {"tensorcrp__rank": ranks, "tensorcrp__reg": regs}
grid["tensorcrp__n_components"] = [n_classes - 1, 2 * (n_classes - 1)]
slow = GridSearchCV(pipeline, grid, cv=4).fit(X_train, y_train)
points = len(slow.cv_results_["params"])
print(f"GridSearchCV: {points} points in {perf_counter() - start:.1f} s")
print(f"the best of them: {slow.best_params_}")
print(f"accuracy on the test samples: {100 * slow.score(X_test, y_test):.1f} %")

# %%
# Look at the scores: if the maximum is at the edge of the grid, use a wider grid. Bars
# are standard errors over the folds; smaller differences may be chance.

display = PathDisplay.from_estimator(search)

# %%
# The same over the number of features, at the chosen rank.

display = PathDisplay.from_estimator(search, x="n_components", lines="reg")
plt.show()
