"""Baselines of other packages, fitted as their authors intend, where installed.

In: samples and h. Out: a function that fits and returns the model, or None; and the
projections (h, P) of any fitted linear model, read off its `transform`.
"""

from math import prod

import numpy as np


def kale_mpca(X, h):
    """MPCA of `kalelinear`: 97 % of the variation (its default), then h features."""
    try:
        from kalelinear.transformer import MPCA
    except ImportError:
        return None

    def fit():
        return MPCA(vectorize=True, n_components=h).fit(X)

    return fit


def cp_plsr(X, y, h):
    """Tensorly's CP_PLSR on one-hot labels."""
    try:
        from tensorly.regression import CP_PLSR
    except ImportError:
        return None
    targets = (y[:, None] == np.unique(y)).astype(float)

    def fit():
        return CP_PLSR(h).fit(X, targets)

    return fit


def rows_of(model, shape):
    """Projections (h, P) of a fitted model whose transform is affine."""
    if hasattr(model, "projections_"):
        return model.projections_
    if hasattr(model, "scalings_"):
        return model.scalings_.T
    basis = np.eye(prod(shape)).reshape(-1, *shape)
    origin = model.transform(np.zeros((2, *shape)))[:1]
    steps = [model.transform(part) - origin for part in np.array_split(basis, 20)]
    return np.concatenate(steps).T
