"""What CRP does, in one figure: a sample, weights of rank two, features.

    python docs/pictures/overview.py docs/overview.png

writes the README's figure; the site draws its own copy when it is built.
"""

import sys

import matplotlib.pyplot as plt

from tensorcrp import TensorCRP
from tensorcrp.datasets import load_digits
from tensorcrp.plotting import EmbeddingDisplay, ProjectionDisplay

X, y = load_digits(return_X_y=True)
few = y < 6
X, y = X[few], y[few]
crp = TensorCRP(18, rank=2).fit(X[:500], y[:500])

fig = plt.figure(figsize=(11, 3.1), layout="constrained")
left, middle, right = fig.subfigures(1, 3, width_ratios=(1.0, 2.9, 2.1))

ax = left.subplots()
ax.imshow(X[500], cmap="gray")
ax.set(xticks=[], yticks=[])
left.suptitle("a sample X, 8 x 8")

axes = middle.subplots(1, 3)
ProjectionDisplay.from_estimator(crp, components=range(3), ax=axes)
for p, ax in enumerate(axes):
    ax.set_title(f"$W_{p + 1}$")
middle.suptitle("weights $W = u_1 v_1^T + u_2 v_2^T$, learnt from 500 digits")

ax = right.subplots()
EmbeddingDisplay.from_estimator(crp, X[500:], y[500:], ax=ax)
right.suptitle(r"features $\langle X, W_p \rangle$ of other digits")

if __name__ == "__main__" and len(sys.argv) > 1:
    fig.savefig(sys.argv[1], dpi=100)
