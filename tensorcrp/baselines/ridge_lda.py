"""Fisher discriminant analysis of vectorised samples, with a ridge.

In: labelled samples ``(n, l_1, ..., l_N)``. Out: up to c - 1 directions ``W_p``, all
at once: the maximisers of ``w^T S_b w / w^T (S_w + lambda I) w`` with
``W (S_w + lambda I) W^T = n I``. Linear algebra of size min(n, P), never P x P if
there are fewer samples than entries.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, prod

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import cho_factor, cho_solve

from tensorcrp.base.estimator import TensorTransformer
from tensorcrp.base.fitting import ScatterFit
from tensorcrp.base.parameters import check_choice, check_integer
from tensorcrp.base.resources import bounded_threads
from tensorcrp.base.types import Array, Floats, RegScale, Weighting
from tensorcrp.baselines.tucker import documented
from tensorcrp.solver.cp import sign_of_largest
from tensorcrp.solver.linalg import EPS

BLOCK_COLUMNS = 1024


class VectorTransformer(ScatterFit, TensorTransformer):
    """Features ``<X, W_p>`` by directions that need not be orthogonal."""

    components_: Floats
    projections_: Floats
    objective_: Floats
    classes_: Array

    def inverse_transform(self, X: ArrayLike) -> Floats:
        """Tensors of least norm that have the features.

        Parameters
        ----------
        X : array-like of shape (n, h)
            Features, as `transform` returns them.

        Returns
        -------
        ndarray of shape (n, l_1, ..., l_N), or flattened as in `fit`
            One tensor per row of features.
        """
        return super().inverse_transform(X)

    def _basis(self):
        return np.linalg.pinv(self.projections_).T

    def _statistics(self, X, y, weight, **limits):
        # Gram matrices of all rows and columns: they have to be in memory.
        return super()._statistics(X, y, weight, **limits | {"max_memory": inf})


@documented
class RidgeLDA(VectorTransformer):
    """Fisher's linear discriminant analysis of vectorised samples, with a ridge.

    All directions come from one generalised eigenproblem, so that features are
    uncorrelated within classes and have within-class variance one (ridge included);
    nothing is deflated. Solved in the samples if there are fewer samples than entries,
    else in the entries.

    Parameters
    ----------
    n_components : int, default=None
        Number of directions; None for all, ``min(c - 1, P)``.
    reg : float, default=1.0
        Strength of the ridge.
    reg_scale : {"relative", "absolute"}, default="relative"
        With "relative", lambda is `reg` times the mean within-class scatter of an
        entry, ``tr(S_w) / P``; with "absolute", lambda is `reg`.
    between : {"samples", "classes"}, default="samples"
        How class means count in the numerator: by the size of the class, as in
        classical LDA, or each once, as in TensorCRP.
    $sample_shape

    Attributes
    ----------
    components_ : ndarray of shape (h, l_1, ..., l_N)
        The directions as tensors, best first, the entry of largest magnitude positive.
    projections_ : ndarray of shape (h, P)
        The same, flattened.
    objective_ : ndarray of shape (h,)
        The ratio that each direction reaches.
    lambda_ : float
        The ridge in the scale of the data.
    $fitted

    See Also
    --------
    tensorcrp.TensorCRP : With ``rank="full"``, the same first direction; later ones
        are found on deflated samples, and there may be more than c - 1.

    References
    ----------
    .. [1] P. N. Belhumeur, J. P. Hespanha and D. J. Kriegman, "Eigenfaces vs.
       Fisherfaces: Recognition Using Class Specific Linear Projection", IEEE
       Transactions on Pattern Analysis and Machine Intelligence 19(7), 1997.
    .. [2] J. H. Friedman, "Regularized Discriminant Analysis", Journal of the American
       Statistical Association 84(405), 1989.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from tensorcrp.baselines import RidgeLDA
    >>> X, y = load_digits().images, load_digits().target
    >>> RidgeLDA().fit_transform(X, y).shape
    (1797, 9)
    """

    lambda_: float

    def __init__(
        self,
        n_components: int | None = None,
        *,
        reg: float = 1.0,
        reg_scale: RegScale = "relative",
        between: Weighting = "samples",
        sample_shape: Sequence[int] | None = None,
    ) -> None:
        self.n_components = n_components
        self.reg = reg
        self.reg_scale = reg_scale
        self.between = between
        self.sample_shape = sample_shape

    def _statistics(self, X, y, weight, **limits):
        return super()._statistics(X.reshape(len(X), -1), y, weight, **limits)

    def _solve_scatter(self, scatter):
        flat = scatter.reshape((prod(scatter.shape),))
        lam = flat.ridge(self.reg, self.reg_scale)
        h = count_directions(self, scatter.classes)
        with bounded_threads(flat.root.nbytes):
            W, objective = self._directions(flat, lam, h)
        W *= np.sqrt(scatter.counts.sum())
        self.projections_ = W * sign_of_largest(W, axis=1)
        self.components_ = self.projections_.reshape(-1, *self.sample_shape_)
        self.objective_, self.lambda_ = objective, lam
        self.classes_ = scatter.classes
        return self

    def _directions(self, flat, lam, h):
        """Directions (h, P) and their ratios from statistics of vectors."""
        within = np.asarray(flat.root)  # rows on a device come to the host
        return ridge_discriminants(flat.between(self.between), within, lam, h)

    def _check_sizes(self, labels):
        count_directions(self, np.unique(labels))

    def _check_parameters(self):
        super()._check_parameters()
        if self.n_components is not None:
            check_integer("n_components", self.n_components)
        check_choice("reg_scale", self.reg_scale, ("relative", "absolute"))
        check_choice("between", self.between, ("samples", "classes"))


def count_directions(estimator, classes):
    """The number of directions that `n_components` means, at most ``min(c - 1, P)``."""
    given, n_features = estimator.n_components, prod(estimator.sample_shape_)
    most = min(len(classes) - 1, n_features)
    if given is not None and given > most:
        raise ValueError(
            f"n_components={given} is more than the {most} directions that "
            f"{len(classes)} classes and {n_features} entries of a sample allow; ask "
            f"for at most {most}."
        )
    return most if given is None else given


def ridge_discriminants(between, within, lam, n_components):
    """Directions W (h, P) with ``W (A^T A + lambda I) W^T = I``, and their ratios.

    Parameters
    ----------
    between : ndarray of shape (c, P)
        D, the rows of the numerator ``||D w||^2``.
    within : ndarray of shape (r, P)
        A, the rows of the denominator ``||A w||^2 + lambda ||w||^2``.
    lam : float
    n_components : int
    """
    return discriminants(between, _ridge_solve(between, within, lam), n_components)


def discriminants(between, solved, n_components):
    """Directions W (h, P) with ``W C W^T = I``, and their ratios.

    Parameters
    ----------
    between : ndarray of shape (c, P)
        D, the rows of the numerator ``||D w||^2``.
    solved : ndarray of shape (c, P)
        ``D C^{-1}``, C the matrix of the denominator ``w^T C w``.
    n_components : int
    """
    inner = between @ solved.T  # D (A^T A + lambda I)^{-1} D^T, rank < c
    values, vectors = np.linalg.eigh((inner + inner.T) / 2)
    values, vectors = values[::-1][:n_components], vectors[:, ::-1][:, :n_components]
    values = values.clip(EPS * max(values[0], EPS))
    return (vectors / np.sqrt(values)).T @ solved, values


def _ridge_solve(between, within, lam):
    """``D (A^T A + lambda I)^{-1}``, (c, P), through the smaller Gram matrix."""
    dual = len(within) < within.shape[1]
    gram = _gram(within) if dual else _gram(within.T)
    # A ridge below rounding cannot be factored.
    lam = max(lam, 4 * EPS * np.trace(gram))
    gram.flat[:: len(gram) + 1] += lam
    factored = cho_factor(gram, overwrite_a=True)
    if not dual:
        return cho_solve(factored, between.T).T
    cross = cho_solve(factored, within @ between.T)
    return (between - cross.T @ within) / lam


def _gram(A):
    """``A A^T`` in float64, block by block of columns."""
    gram = np.zeros((len(A), len(A)))
    for start in range(0, A.shape[1], BLOCK_COLUMNS):
        block = A[:, start : start + BLOCK_COLUMNS].astype(float, copy=False)
        gram += block @ block.T
    return gram
