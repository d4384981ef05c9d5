"""
Gait at order 3
===============

A walking silhouette is a tensor, row x column x time. People are recognised from four
half cycles each: the USF gallery of 71 people if ``TENSORCRP_DATA`` is set, else
synthetic stick figures that differ in build and in how far they swing their legs and
arms.
"""

import os

import matplotlib.pyplot as plt
import numpy as np
from sklearn.neighbors import KNeighborsClassifier

from tensorcrp import TensorCRP
from tensorcrp.baselines import RidgeLDA
from tensorcrp.datasets import fetch_dataset
from tensorcrp.plotting import ProjectionDisplay

rng = np.random.default_rng(0)
rows, columns = np.mgrid[:32, :22]


def limb(start, angle, length, width):
    """Pixels near a straight limb that hangs from `start` at an angle."""
    down, across = rows - start[0], columns - start[1]
    along = np.clip(down * np.cos(angle) + across * np.sin(angle), 0, length)
    gap = np.hypot(down - along * np.cos(angle), across - along * np.sin(angle))
    return gap < width


def walk(build):
    """Half a cycle (32, 22, 10) of one person, a little different every time."""
    stride, swing, width, lean = build + 0.12 * rng.standard_normal(4)
    shift, film = rng.integers(-1, 2, 2), []
    for t in np.linspace(0, np.pi, 10) + 0.3 * rng.standard_normal():
        hip, neck = (18, 10.5 - lean), (7, 10.5 + lean)
        body = np.hypot(rows - 4, columns - 11 - lean) < 2.6
        body |= limb(neck, -lean / 5, 12, 1.8 + width / 2)
        for side in (1, -1):
            body |= limb(
                hip, side * (0.3 + stride / 8) * np.cos(t), 12, 1.2 + width / 4
            )
            body |= limb(neck, -side * (0.3 + swing / 6) * np.cos(t), 9, 0.9)
        film.append(np.roll(body, shift, (0, 1)) ^ (rng.random(body.shape) < 0.08))
    return np.stack(film, axis=-1)


# %%
# Silhouettes; four samples of every person are the training set.

if os.environ.get("TENSORCRP_DATA"):
    gait = fetch_dataset("gait_usf")
    X, y = 1.0 - gait.data, gait.target  # background is 1 in the file
else:
    builds = rng.uniform(-1, 1, (20, 4))
    X = np.stack([walk(build) for build in builds for _ in range(10)]).astype(float)
    y = np.repeat(np.arange(20), 10)
people = np.unique(y)
order = rng.permutation(len(y))
train = np.concatenate([order[y[order] == person][:4] for person in people])
test = np.setdiff1d(order, train)
print(f"{len(people)} people, X of shape {X.shape}, 4 samples of each to learn from")

# %%
# Order 3 compared with vectors. ``max_iter=3`` is enough with the default start.

crp = TensorCRP(rank=2, reg=1.0, max_iter=3, tol=0).fit(X[train], y[train])
ridge = RidgeLDA(reg=1.0).fit(X[train], y[train])


def nearest(A, B):
    model = KNeighborsClassifier(1).fit(A.reshape(len(A), -1), y[train])
    return 100 * model.score(B.reshape(len(B), -1), y[test])


print("accuracy of 1-NN in %")
print(f"  silhouettes        {nearest(X[train], X[test]):5.1f}")
print(
    f"  RidgeLDA           {nearest(*map(ridge.transform, (X[train], X[test]))):5.1f}"
)
print(f"  TensorCRP, order 3 {nearest(*map(crp.transform, (X[train], X[test]))):5.1f}")

# %%
# One sample, and below it the first projections as film strips: light and yellow
# weights are positive, dark and blue ones negative.

fig, axes = plt.subplots(2, 5, figsize=(6.5, 4.4), layout="constrained")
for t, ax in enumerate(axes.flat):
    ax.imshow(X[train[0], :, :, t], cmap="gray_r")
    ax.set(title=f"t = {t}", xticks=[], yticks=[])
names = ["row", "column", "t"]
display = ProjectionDisplay.from_estimator(
    crp, components=range(3), mode_names=names, frame_mode=2, max_frames=10
)
plt.show()
