"""Tensor locality preserving projections, and their neighbour graphs.

In: samples ``(n, l_1, ..., l_N)``, with labels or without. Out: a factor ``(l_m, r_m)``
per mode that makes ``sum_ij S_ij ||Y_i - Y_j||^2 / 2`` of the cores ``Y_i`` small
beside ``sum_i D_ii ||Y_i||^2``. Rows of both forms are samples mixed by a graph S with
degrees D: by a root of its Laplacian ``D - S`` in the numerator, by ``D^{1/2}`` in the
denominator. A graph is a list of its separate parts, ``(samples, weights)``.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import cholesky
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.neighbors import kneighbors_graph

from tensorcrp.base.fit_warnings import sample_probes, warn_if_constant
from tensorcrp.base.gate import UNLABELLED, check_samples
from tensorcrp.base.parameters import check_choice, check_common, check_integer
from tensorcrp.base.resources import bounded_threads
from tensorcrp.base.state import forget, replaced_at_once
from tensorcrp.base.targets import NO_RATIO, check_labels
from tensorcrp.base.types import Floats, Sizes, Stored
from tensorcrp.base.validation import TooFewSamples, check_range
from tensorcrp.baselines.forms import Form
from tensorcrp.baselines.mode_rules import smallest
from tensorcrp.baselines.modes import alternate, varying_factors
from tensorcrp.baselines.tucker import (
    TuckerTransformer,
    core_sizes,
    discriminant_sizes,
    documented,
)
from tensorcrp.solver.linalg import EPS


@documented
class TensorLPP(TuckerTransformer):
    """Tensor locality preserving projections (tensor subspace analysis).

    Sweeps over the modes; each factor makes the squared distances between neighbours,
    weighted by the edges of a graph, small against the scatter of all samples, weighted
    by their degrees: the eigenvectors of the smallest eigenvalues of
    ``(L_m, D_m)`` with all other modes projected [1]_. Samples are centred first (at
    the mean weighted by degrees), so that the denominator is a variance.

    The steps minimise a sum of ratios, not the ratio of sums that is recorded, so the
    history may rise and fall and the number of sweeps is fixed. The graph is of samples
    and not of statistics, so there is no fitting by batches. With
    ``graph="neighbors"`` the cost has a term of the third power of the number of
    samples, and memory one of the second.

    Parameters
    ----------
    sizes : int, tuple of int or None, default=None
        Number of features ``r_m`` per mode; an integer is used for every mode,
        reduced to the size of the mode. None for about ``(c - 1)**2``
        features in all as in `MultilinearLDA`, or for half of every mode if there are
        no labels.
    graph : {"classes", "neighbors"}, default="classes"
        Join samples of a class, or each sample with its nearest ones whatever their
        label; then y is not needed.
    weights : {"binary", "heat"}, default="binary"
        Edges of weight one, or ``exp(-||X_i - X_j||^2 / t)`` with t the mean squared
        length of an edge.
    n_neighbors : int, default=5
        Number of nearest samples, for ``graph="neighbors"``.
    reg : float, default=1e-6
        Ridge on the denominator of a mode, in units of its mean eigenvalue.
    max_iter : int, default=3
        Number of sweeps over the modes.
    $sample_shape

    Attributes
    ----------
    $factors
        Columns have norm one and need not be orthogonal.
    mean_ : ndarray of shape (l_1, ..., l_N)
        Subtracted before the projection.
    objective_ : float
        The last value of the history.
    history_ : ndarray
        Ratio of the neighbours' distances to the scatter after each factor, mode by
        mode; small is good.
    n_iter_ : int
        Number of sweeps.
    $unlabelled

    References
    ----------
    .. [1] X. He, D. Cai and P. Niyogi, "Tensor Subspace Analysis", Advances in Neural
       Information Processing Systems 18, 2005.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from tensorcrp.baselines import TensorLPP
    >>> X, y = load_digits().images[:300], load_digits().target[:300]
    >>> TensorLPP(sizes=4).fit_transform(X, y).shape
    (300, 16)
    >>> TensorLPP(sizes=4, graph="neighbors").fit_transform(X).shape
    (300, 16)
    """

    mean_: Floats
    history_: Floats
    n_iter_: int

    def __init__(
        self,
        sizes: Sizes = None,
        *,
        graph: Literal["classes", "neighbors"] = "classes",
        weights: Literal["binary", "heat"] = "binary",
        n_neighbors: int = 5,
        reg: float = 1e-6,
        max_iter: int = 3,
        sample_shape: Sequence[int] | None = None,
    ) -> None:
        self.sizes = sizes
        self.graph = graph
        self.weights = weights
        self.n_neighbors = n_neighbors
        self.reg = reg
        self.max_iter = max_iter
        self.sample_shape = sample_shape

    def fit(self, X: ArrayLike | Stored, y: ArrayLike | None = None) -> Self:
        """Fit to samples.

        Parameters
        ----------
        X : array-like of shape (n, l_1, ..., l_N), or (n, P) with `sample_shape`
            Never changed.
        y : array-like of shape (n,), default=None
            Ignored if ``graph="neighbors"``.

        Returns
        -------
        TensorLPP
            The fitted estimator. After an error or Ctrl-C it is unchanged.
        """
        with replaced_at_once(self) as new:
            new._check_parameters()
            forget(new)
            labels = y if new.graph == "classes" else UNLABELLED
            X, y, _ = check_samples(new, X, labels)
            sizes = new._core_sizes(y)
            with bounded_threads(8 * X.size):
                new._solve(X, new._graph(X, y), sizes)
            warn_if_constant(new, sample_probes(X))
        return self

    def _solve(self, X, graph, sizes):
        degrees = np.zeros(len(X))
        for members, weights in graph:
            degrees[members] = weights.sum(axis=1)
        rows, mean = degree_rows(X, degrees)
        forms = Form(laplacian_rows(X, graph)), Form(rows)
        for rows in (form.rows for form in forms):
            with np.errstate(over="ignore"):
                check_range(np.abs(rows).max(), np.vdot(rows, rows))
        if not forms[0].rows.any():
            raise TooFewSamples(NO_RATIO)
        start, rule = varying_factors(forms[1], sizes), smallest(self.reg)
        result = alternate(*forms, sizes, rule, start, self.max_iter)
        self.factors_, self.mean_ = result.factors, mean
        self.history_, self.n_iter_ = result.history, result.n_iter
        self.objective_ = result.objective
        return self

    def _graph(self, X, y):
        flat = X.reshape(len(X), -1)
        if self.graph == "classes":
            graph = class_graph(flat, y)
        else:
            graph = neighbor_graph(flat, self.n_neighbors)
        return heat_weights(flat, graph) if self.weights == "heat" else graph

    def _core_sizes(self, y):
        if y is None:
            half = [ceil(size / 2) for size in self.sample_shape_]
            return core_sizes(self.sizes, self.sample_shape_, half)
        check_labels(y, nothing=NO_RATIO)
        return discriminant_sizes(self, np.unique(y))

    def _check_parameters(self):
        check_common(self)
        check_choice("graph", self.graph, ("classes", "neighbors"))
        check_choice("weights", self.weights, ("binary", "heat"))
        check_integer("n_neighbors", self.n_neighbors)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = self.graph == "classes"
        return tags


def class_graph(flat, y):
    """One part per class, all of whose samples are joined, each with itself too."""
    members = [np.flatnonzero(y == label) for label in np.unique(y)]
    return [(each, np.ones((len(each), len(each)))) for each in members]


def neighbor_graph(flat, n_neighbors):
    """Samples joined if one is among the nearest of the other, as one part."""
    if n_neighbors >= len(flat):
        raise TooFewSamples(
            f"n_neighbors={n_neighbors} needs more samples than that, but "
            f"n_samples={len(flat)}; pass more samples or set fewer neighbors."
        )
    nearest = kneighbors_graph(flat, n_neighbors).toarray()
    return [(np.arange(len(flat)), np.maximum(nearest, nearest.T))]


def heat_weights(flat, graph):
    """The same graph with edges ``exp(-||X_i - X_j||^2 / t)``, t their mean square."""
    squares = [euclidean_distances(flat[members], squared=True) for members, _ in graph]
    edges = sum(weights.sum() for _, weights in graph)
    total = sum((w * s).sum() for (_, w), s in zip(graph, squares, strict=True))
    t = total / edges if total > 0 else 1.0
    return [(m, w * np.exp(-s / t)) for (m, w), s in zip(graph, squares, strict=True)]


def laplacian_rows(X, graph):
    """Rows with ``sum_r <A_r, W>^2 = sum_ij S_ij <X_i - X_j, W>^2 / 2``: (n, ...)."""
    rows = np.empty(X.shape, float)
    for members, weights in graph:
        laplacian = np.diag(weights.sum(axis=1)) - weights
        # Positive semi-definite: what rounding needs makes it definite.
        least = len(members) * EPS * max(laplacian.max(), 1.0)
        root = cholesky(laplacian + least * np.eye(len(members)))
        # Deviations from any one tensor have the same differences, with less rounding.
        part = X[members].astype(float)
        part -= part.mean(axis=0)
        rows[members] = np.tensordot(root, part, axes=1)
    return rows


def degree_rows(X, degrees):
    """Samples minus their mean, times the root of their degrees; and the mean.

    By the deviations from the first sample: entries that never vary are exactly zero.
    """
    rows, first = np.empty(X.shape, float), X[0].astype(float)
    np.subtract(X, first, out=rows)
    mean = np.tensordot(degrees / degrees.sum(), rows, 1)
    rows -= mean
    rows *= np.sqrt(degrees).reshape(-1, *[1] * (X.ndim - 1))
    return rows, first + mean
