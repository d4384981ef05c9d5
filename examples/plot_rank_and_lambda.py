"""
Rank and lambda
===============

Two parameters shape a projection: its rank k, the number of outer products in it, and
the ridge lambda, which shrinks it. We map accuracy over both, on
scikit-learn's digits, or on the ORL faces if ``TENSORCRP_DATA`` is set.

``reg`` is lambda relative to the mean scatter of a pixel within classes, so the same
grid suits data of any scale. ``rank="full"`` does not restrict the rank: this is ridge
LDA on vectors.
"""

import os

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.neighbors import KNeighborsClassifier

from tensorcrp import TensorCRP
from tensorcrp.datasets import fetch_dataset, load_digits
from tensorcrp.plotting import PathDisplay, ProjectionDisplay

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
scores = np.zeros((splits.get_n_splits(), len(ranks), len(regs), 1))
for s, (train, test) in enumerate(splits.split(X, y)):
    test = test[:1000]
    for i, rank in enumerate(ranks):
        for j, reg in enumerate(regs):
            crp = TensorCRP(n_classes - 1, rank=rank, reg=reg, max_iter=4, tol=0)
            crp.fit(X[train], y[train])
            classifier = KNeighborsClassifier(1).fit(crp.transform(X[train]), y[train])
            scores[s, i, j] = classifier.score(crp.transform(X[test]), y[test])

# %%
# Rows are ranks, columns are ridges. A low rank is a regularisation too: it needs a
# smaller ridge.

grids = {"ranks": ranks, "regs": regs, "n_components": [n_classes - 1]}
display = PathDisplay(scores, **grids, label="accuracy of 1-NN in %")
display.plot(kind="map")
print(f"best of the map: {display.best}, {100 * display.mean.max():.1f} %")

# %%
# The effect of the ridge on a projection, from almost none to a large one. Without a
# ridge the first projection fits the noise of single pixels.

train, _ = next(splits.split(X, y))
found = {}
for reg in (0.001, 0.1, 1.0, 100.0):
    crp = TensorCRP(1, rank=2, reg=reg, max_iter=20, tol=0).fit(X[train], y[train])
    found[f"reg {reg:g}"] = crp.components_[0]
display = ProjectionDisplay(list(found.values()), labels=found).plot()
plt.show()
