"""Uncorrelated multilinear discriminant analysis: rank-one projections in turn.

In: labelled samples ``(n, l_1, ..., l_N)``. Out: h projections ``u^(1) o ... o u^(N)``,
each of which maximises the ratio of between- to within-class scatter of its feature,
subject to being uncorrelated with the features before it.

With every vector but ``u^(m)`` fixed, a feature is ``<Z_i, u^(m)>`` and its covariance
with an earlier feature g is ``<sum_i g_i Z_i, u^(m)>``: a small Fisher problem in the
complement of as many vectors as there are earlier features.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.linalg import eigh

from tensorcrp.base.fitting import check_within
from tensorcrp.base.parameters import check_integer
from tensorcrp.base.resources import bounded_threads
from tensorcrp.base.types import Floats
from tensorcrp.baselines.forms import Form
from tensorcrp.baselines.mode_rules import fisher
from tensorcrp.baselines.modes import ratio
from tensorcrp.baselines.ridge_lda import VectorTransformer
from tensorcrp.baselines.tucker import documented
from tensorcrp.solver.cp import sign_of_largest
from tensorcrp.solver.lane_rows import at_hand
from tensorcrp.solver.linalg import EPS


@documented
class UMLDA(VectorTransformer):
    """Uncorrelated multilinear discriminant analysis, regularised (R-UMLDA).

    Each feature is ``<X, u^(1) o ... o u^(N)>``. Features are found one after the
    other, mode by mode; each maximises Fisher's ratio among those that are uncorrelated
    on the training samples with all features before it [1]_. There can be no more
    features than entries in the shortest mode.

    The ridge of a mode is `reg` times the largest eigenvalue of the raw within-class
    scatter of that mode, as in [1]_: another one in every mode, so that the recorded
    ratio may fall by a little, and the number of sweeps is fixed.

    Parameters
    ----------
    n_components : int, default=None
        Number of features; None for the largest possible number,
        ``min(l_1, ..., l_N)``; at order 1 for ``min(c - 1, P)``.
    reg : float, default=1e-3
        Ridge on the within-class scatter of a mode, in units of its largest eigenvalue:
        the gamma of [1]_.
    max_iter : int, default=5
        Number of sweeps over the modes for a feature.
    $sample_shape

    Attributes
    ----------
    factors_ : list of ndarray of shape (h, l_m)
        Unit vectors ``u^(m)`` of every feature, one array per mode.
    components_ : ndarray of shape (h, l_1, ..., l_N)
        The projections as tensors of norm one.
    projections_ : ndarray of shape (h, P)
        The same, flattened.
    objective_ : ndarray of shape (h,)
        Ratio of between- to within-class scatter of each feature.
    history_ : list of h arrays
        The ratio after each vector.
    n_iter_ : int
        Number of sweeps.
    $fitted

    References
    ----------
    .. [1] H. Lu, K. N. Plataniotis and A. N. Venetsanopoulos, "Uncorrelated Multilinear
       Discriminant Analysis with Regularization and Aggregation for Tensor Object
       Recognition", IEEE Transactions on Neural Networks 20(1), 2009.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_digits
    >>> from tensorcrp.baselines import UMLDA
    >>> X, y = load_digits().images[:, :, 1:7], load_digits().target
    >>> features = UMLDA(n_components=3).fit_transform(X, y)
    >>> bool(np.abs(np.corrcoef(features.T) - np.eye(3)).max() < 1e-8)
    True
    """

    factors_: list[Floats]
    history_: list[Floats]
    n_iter_: int

    def __init__(
        self,
        n_components: int | None = None,
        *,
        reg: float = 1e-3,
        max_iter: int = 5,
        sample_shape: Sequence[int] | None = None,
    ) -> None:
        self.n_components = n_components
        self.reg = reg
        self.max_iter = max_iter
        self.sample_shape = sample_shape

    def _solve_scatter(self, scatter):
        check_within(scatter)
        h = count_vectors(self, scatter.classes)
        with bounded_threads(0):  # products are small, however large the data are
            found = _Uncorrelated(scatter.between("samples"), scatter.within, self.reg)
            for _ in range(h):
                found.add(self.max_iter)
        self.factors_ = [
            np.stack(vectors) for vectors in zip(*found.vectors, strict=True)
        ]
        self.components_ = np.stack([_outer(vectors) for vectors in found.vectors])
        self.projections_ = self.components_.reshape(h, -1)
        self.history_, self.n_iter_ = found.history, self.max_iter
        self.objective_ = np.array([values[-1] for values in found.history])
        self.classes_ = scatter.classes
        return self

    def _check_sizes(self, labels):
        count_vectors(self, np.unique(labels))

    def _check_parameters(self):
        super()._check_parameters()
        if self.n_components is not None:
            check_integer("n_components", self.n_components)


def count_vectors(estimator, classes):
    """The number of features that `n_components` means: one vector of each mode each.

    As many as there are entries in the shortest mode, or fewer; at order 1 by default
    the c - 1 discriminants.
    """
    given, shape = estimator.n_components, estimator.sample_shape_
    most = min(shape)
    if given is None:
        return min(most, len(classes) - 1) if len(shape) == 1 else most
    if given > most:
        raise ValueError(
            f"n_components={given} is more than the {most} features of rank one of a "
            f"sample of shape {shape}, whose shortest mode sets the limit; ask for at "
            f"most {most}."
        )
    return given


class _Uncorrelated:
    """Rank-one projections found so far, and the features they give."""

    def __init__(self, between, within, reg):
        # A step asks for features of all rows: those on a device are copied once.
        self.rows = [at_hand(rows) for rows in (between, within)]
        self.vectors, self.history = [], []
        self.scores = [np.empty((0, len(rows))) for rows in self.rows]
        nothing = [None] * len(within.row_shape)
        scatters = [Form(within).scatter(m, nothing) for m in range(len(nothing))]
        # A ridge below rounding cannot be factored.
        self.ridges = [
            max(reg, len(scatter) * EPS) * eigh(scatter, eigvals_only=True)[-1]
            for scatter in scatters
        ]

    def add(self, max_iter):
        """Find the next projection, from vectors of equal entries."""
        shape = self.rows[1].row_shape
        vectors = [np.full(size, size**-0.5) for size in shape]
        history = []
        for _ in range(max_iter):
            for mode in range(len(shape)):
                Z = [self._contract(rows, vectors, mode) for rows in self.rows]
                vectors[mode], value = self._step(Z, mode)
                history.append(value)
        scores = [z @ vectors[-1] for z in Z]
        self.scores = [np.vstack(p) for p in zip(self.scores, scores, strict=True)]
        self.vectors.append(vectors)
        self.history.append(np.array(history))

    def _contract(self, rows, vectors, mode):
        """Rows contracted with all vectors but one: (n, l_m)."""
        factors = [vector[:, None] for vector in vectors]
        product = rows.side_product(factors, rows.is_left(mode))
        Z = rows.finish(product, factors, mode)
        return Z[0].T.astype(float, copy=False)

    def _step(self, Z, mode):
        """The best unit vector of one mode that keeps the features uncorrelated."""
        B, W = (z.T @ z for z in Z)
        W = W + self.ridges[mode] * np.eye(len(W))
        # Between and within rows together are a root of the total scatter, so these
        # are the covariances of the entries of Z with the earlier features.
        covariances = sum(s @ z for s, z in zip(self.scores, Z, strict=True))
        free = _complement(covariances, len(W))
        u = free @ fisher(0.0)(free.T @ B @ free, free.T @ W @ free, 1)
        u = u / np.linalg.norm(u)
        return (u * sign_of_largest(u, axis=0))[:, 0], ratio(B, W, u)


def _complement(rows, size):
    """Orthonormal basis (size, size - p) of the complement of p rows."""
    if not len(rows):
        return np.eye(size)
    return np.linalg.svd(rows, full_matrices=True)[2][len(rows) :].T


def _outer(vectors):
    tensor = vectors[0]
    for vector in vectors[1:]:
        tensor = np.multiply.outer(tensor, vector)
    return tensor
