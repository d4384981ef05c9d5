"""The figures of the page "CRP in pictures", one function for each."""

import matplotlib.pyplot as plt
import numpy as np

from tensorcrp import TensorCRP
from tensorcrp.datasets import load_digits, make_moving_shapes
from tensorcrp.plotting import ConvergenceDisplay, EmbeddingDisplay, ProjectionDisplay

X, y = load_digits(return_X_y=True)
crp = TensorCRP(18, rank=2).fit(X[:500], y[:500])
GRAY = {"cmap": "gray", "vmin": 0, "vmax": 16}


def weighing():
    """Sample times weights, entry by entry, added up."""
    _, axes = plt.subplots(1, 3, figsize=(8.4, 2.6), layout="constrained")
    sample, W = X[500], crp.components_[0]
    axes[0].imshow(sample, **GRAY)
    axes[0].set(title="a sample X", xticks=[], yticks=[])
    products = np.stack([W, sample * W / np.abs(sample * W).max() * np.abs(W).max()])
    ProjectionDisplay(products).plot(ax=axes[1:])
    axes[1].set_title("times weights W")
    axes[2].set_title(f"entry by entry (scaled); sum {np.sum(sample * W):.1f}")


def ranks():
    """The first projection at several ranks, from few samples."""
    _, axes = plt.subplots(1, 3, figsize=(8.4, 2.6), layout="constrained")
    fits = [TensorCRP(1, rank=k).fit(X[:60], y[:60]) for k in (1, 2, "full")]
    W = np.stack([fit.components_[0] for fit in fits])
    ProjectionDisplay(W).plot(ax=axes)
    titles = ("rank 1: 16 numbers", "rank 2: 32 numbers", "full, as in LDA: 64")
    for ax, title in zip(axes, titles, strict=True):
        ax.set_title(title)


def factors():
    """The factors of a projection of rank two."""
    display = ProjectionDisplay.from_estimator(
        crp, components=0, kind="factors", mode_names=["row", "column"]
    )
    display.figure_.set_size_inches(8, 2.8)


def climbing():
    """The objective of some projections from the paper's start."""
    slow = TensorCRP(4, rank=2, init="identity", max_iter=8, tol=0)
    slow.fit(X[:500], y[:500])
    display = ConvergenceDisplay.from_estimator(slow)
    display.figure_.set_size_inches(7, 3)


def deflation():
    """A sample deflated by more and more components."""
    _, axes = plt.subplots(1, 5, figsize=(9, 2.4), layout="constrained")
    many = TensorCRP(40, rank=2).fit(X[:500], y[:500])
    features = many.transform(X[500:501])
    for ax, h in zip(axes, (0, 1, 5, 18, 40), strict=True):
        kept = np.where(np.arange(40) < h, features, 0.0)
        ax.imshow((X[500:501] - many.inverse_transform(kept))[0], **GRAY)
        ax.set(title=f"deflated by {h}" if h else "a sample", xticks=[], yticks=[])


def features():
    """Test samples by their first two features."""
    EmbeddingDisplay.from_estimator(crp, X[500:], y[500:])


def lights():
    """Clips of a light that moves to the right or to the left, and a fit to them."""
    made = make_moving_shapes(60, 2, random_state=0)
    return made.mode_names, TensorCRP(2, reg=10.0).fit(made.data, made.target)


def film():
    """Projections of clips are clips."""
    names, clips = lights()
    ProjectionDisplay.from_estimator(clips, components=[0, 1], mode_names=names)


def film_factors():
    """Their factors: when, which rows, which columns."""
    names, clips = lights()
    display = ProjectionDisplay.from_estimator(clips, kind="factors", mode_names=names)
    display.figure_.set_size_inches(9, 2.8)
