"""Sparse tensor discriminant analysis under a separable covariance (CATCH).

In: labelled samples ``(n, l_1, ..., l_N)``. Out: up to c - 1 directions that are zero
in all but a few entries, from the group lasso of `group_lasso`. Covariates of the
samples are removed beforehand, by their effect within classes.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from tensorcrp.base.fit_warnings import entry_deviations, warn_if_unfinished
from tensorcrp.base.namespace import host
from tensorcrp.base.parameters import check_real
from tensorcrp.base.resources import bounded_threads
from tensorcrp.base.targets import check_present
from tensorcrp.base.types import Array, Floats
from tensorcrp.base.validation import reject_unusable
from tensorcrp.baselines.forms import Form
from tensorcrp.baselines.group_lasso import group_lasso, group_sizes
from tensorcrp.baselines.ridge_lda import VectorTransformer, ridge_discriminants
from tensorcrp.baselines.separable import Separable
from tensorcrp.baselines.tucker import documented
from tensorcrp.solver.cp import NULL, sign_of_largest
from tensorcrp.solver.linalg import EPS


@documented
class CATCH(VectorTransformer):
    """Sparse discriminant tensors under a separable covariance.

    Classes have one covariance, a Kronecker product of a matrix per mode. The
    discriminant tensors ``S^{-1} (M_k - M_1)``, k = 2, ..., c, are estimated by a group
    lasso: an entry of a sample counts for all classes or for none [1]_. Fisher's
    discriminants in their span are the features, zero in the same entries. The first
    class in sorted order is the reference of all differences, so that the order of the
    names of classes matters to the features.

    Covariates that change samples of all classes alike, such as age, are removed
    beforehand with `covariate_effect`, which is the first step of [1]_.

    Parameters
    ----------
    penalty : float, default=0.1
        Strength of the lasso, as a share of the strength from which on all entries are
        zero: at least 0 and less than 1. With 0 no entry is dropped.
    reg : float, default=1.0
        Ridge on the covariance of a mode, and of the features, in units of its mean
        eigenvalue.
    max_iter : int, default=1000
        Largest number of steps of the lasso.
    tol : float, default=1e-4
        Stop when a step moves the tensors by no more than this share of their norm.
    $sample_shape

    Attributes
    ----------
    components_ : ndarray of shape (h, l_1, ..., l_N)
        The directions as tensors, best first, the entry of largest magnitude positive.
        There are c - 1, or fewer if the sparse tensors span less.
    projections_ : ndarray of shape (h, P)
        The same, flattened.
    support_ : ndarray of shape (l_1, ..., l_N)
        Size of each entry in the sparse tensors, 0 where it has no part in any feature.
    objective_ : ndarray of shape (h,)
        The ratio that each direction reaches.
    history_ : ndarray
        The objective of the lasso after each step; never rises.
    n_iter_ : int
        Number of steps.
    $fitted

    See Also
    --------
    covariate_effect : Effect of covariates within classes.
    CPTDA : The same covariance, tensors of low rank.

    References
    ----------
    .. [1] Y. Pan, Q. Mai and X. Zhang, "Covariate-Adjusted Tensor Classification in
       High Dimensions", Journal of the American Statistical Association 114(527), 2019.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from tensorcrp.baselines import CATCH
    >>> X, y = load_digits().images, load_digits().target
    >>> catch = CATCH(penalty=0.2).fit(X, y)
    >>> catch.transform(X).shape
    (1797, 9)
    >>> bool((catch.support_ == 0).sum() > 10)
    True
    """

    support_: Floats
    history_: Floats
    n_iter_: int

    def __init__(
        self,
        penalty: float = 0.1,
        *,
        reg: float = 1.0,
        max_iter: int = 1000,
        tol: float = 1e-4,
        sample_shape: Sequence[int] | None = None,
    ) -> None:
        self.penalty = penalty
        self.reg = reg
        self.max_iter = max_iter
        self.tol = tol
        self.sample_shape = sample_shape

    def _solve_scatter(self, scatter):
        with bounded_threads(0):  # products are small, however large the data are
            covariance = Separable.of(scatter, self.reg)
            differences = (scatter.means[1:] - scatter.means[0]) / covariance.unit
            lam = self.penalty * group_sizes(differences).max()
            result = group_lasso(differences, covariance, lam, self.max_iter, self.tol)
            W, self.objective_ = self._discriminants(scatter, result.tensors)
        W *= np.sqrt(scatter.counts.sum())
        self.projections_ = W * sign_of_largest(W, axis=1)
        self.components_ = self.projections_.reshape(-1, *self.sample_shape_)
        self.support_, self.classes_ = group_sizes(result.tensors), scatter.classes
        self.history_, self.n_iter_ = result.history, result.n_iter
        warn_if_unfinished(self, result, stacklevel=4)
        return self

    def _discriminants(self, scatter, tensors):
        """Fisher's discriminants (h, P) in the span of tensors, and their ratios."""
        flat = tensors.reshape(len(tensors), -1)
        if not flat.any():  # nothing separates the classes: an entry that varies
            flat = np.eye(1, flat.shape[1], int(entry_deviations(scatter).argmax()))
        basis = orthonormal_rows(flat)
        rows = scatter.between("samples"), scatter.within
        scores = [row_scores(Form(each), basis) for each in rows]
        lam = self.reg * np.vdot(scores[1], scores[1]) / len(basis)
        mixing, ratios = ridge_discriminants(*scores, lam, len(basis))
        return mixing @ basis, ratios

    def _check_parameters(self):
        super()._check_parameters()
        check_real("penalty", self.penalty)
        if self.penalty >= 1:
            raise ValueError(
                f"penalty must be less than 1, got {self.penalty!r}: from 1 on all "
                "entries of the discriminant tensors are zero."
            )


def orthonormal_rows(vectors):
    """Orthonormal rows (h, P) with the span of vectors (c - 1, P), null ones left out.

    Entries in which all vectors are zero stay zero.
    """
    _, sizes, basis = np.linalg.svd(vectors, full_matrices=False)
    return np.where(vectors.any(axis=0), basis[sizes > NULL * sizes[0]], 0.0)


def row_scores(form, vectors):
    """Inner products (n, h) of the rows of a form with vectors (h, P)."""
    blocks = [block.reshape(len(block), -1) @ vectors.T for block in form.blocks()]
    return np.concatenate(blocks)


def covariate_effect(X: ArrayLike, y: ArrayLike, covariates: ArrayLike) -> Array:
    """Effect of covariates on samples, estimated within classes.

    The coefficients of a least-squares regression of all entries on the covariates,
    after class means were subtracted from both. ``X - np.tensordot(covariates, effect,
    1)`` are samples without the effect, for training and for new samples alike;
    differences of classes in the covariates themselves stay.

    Parameters
    ----------
    X : array-like of shape (n, l_1, ..., l_N)
        Training samples.
    y : array-like of shape (n,)
        Labels.
    covariates : array-like of shape (n, q)
        Numbers that go with each sample, such as age or the site of a scanner.

    Returns
    -------
    ndarray of shape (q, l_1, ..., l_N)
        Change of a sample per unit of each covariate; of least norm if covariates
        depend on each other within classes, and zero for those that are constant
        within classes.

    See Also
    --------
    CATCH : Sparse discriminant tensors of the adjusted samples.

    Examples
    --------
    >>> import numpy as np
    >>> from tensorcrp.baselines import CATCH, covariate_effect
    >>> rng = np.random.default_rng(0)
    >>> y, age = np.arange(60) % 3, rng.normal(50, 10, (60, 1))
    >>> X = rng.standard_normal((60, 5, 4)) + age[:, :, None]  # age hides the classes
    >>> X[:, 2, 1] += 2 * y
    >>> effect = covariate_effect(X, y, age)
    >>> effect.shape
    (1, 5, 4)
    >>> catch = CATCH().fit(X - np.tensordot(age, effect, 1), y)
    """
    reject_unusable(X)
    X, y, Z = (host(each) for each in (X, y, covariates))
    X, Z = np.asarray(X, float), np.asarray(Z, float)
    if Z.ndim != 2 or not (len(X),) == y.shape == Z.shape[:1]:
        raise ValueError(
            "covariates must have shape (n, q) with as many rows as X and y have "
            f"samples; got shapes {Z.shape}, {X.shape} and {y.shape}."
        )
    if not (np.isfinite(Z).all() and np.isfinite(X).all()):
        raise ValueError("X or covariates have NaN or infinity; remove such samples.")
    check_present(y.astype(object))  # as objects, so that NaN among numbers counts
    codes = np.unique(y, return_inverse=True)[1]
    centred = class_deviations(Z, codes)
    # A covariate that is constant within classes differs from its mean by rounding,
    # and the regression would divide by it.
    centred[:, np.abs(centred).max(axis=0) <= 16 * EPS * np.abs(Z).max(axis=0)] = 0.0
    rows = class_deviations(X.reshape(len(X), -1), codes)
    effect = np.linalg.lstsq(centred, rows, rcond=None)[0]
    return effect.reshape(-1, *X.shape[1:])


def class_deviations(rows, codes):
    """Rows (n, P) minus the mean of their class, for class codes (n,)."""
    # From one row of the class first: rows that are equal are exactly zero, however
    # many there are.
    rows = rows - rows[np.unique(codes, return_index=True)[1]][codes]
    member = np.equal.outer(codes, np.arange(codes.max() + 1)).astype(float)
    return rows - member @ (member.T @ rows / member.sum(axis=0)[:, None])
