"""Linear classifiers whose weights are tensors of CP rank k.

In: labelled samples ``(n, l_1, ..., l_N)``. Out: one tensor
``W = [[U^(1), ..., U^(N)]]`` and one intercept per class, or one for two classes; the
class of a sample is the one with the largest ``<X, W> + b``. A subclass says in
``_solve`` how they are found.
"""

from __future__ import annotations

import warnings
from math import prod
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning

from tensorcrp.base.estimator import HostScore, features_alone, flat_features
from tensorcrp.base.fit_warnings import sample_probes, warn_if_constant
from tensorcrp.base.gate import check_samples, check_tensor
from tensorcrp.base.namespace import followed, host, is_foreign, put
from tensorcrp.base.parameters import check_common, check_integer, check_real
from tensorcrp.base.resources import bounded_threads
from tensorcrp.base.state import OneState, forget, replaced_at_once
from tensorcrp.base.targets import check_labels
from tensorcrp.base.types import Array, Floats, Shape, Stored
from tensorcrp.solver.array_rows import ArrayRows
from tensorcrp.solver.cp import cp_dense, cp_from_dense, working_dtype
from tensorcrp.storage.sources import map_samples


class CPClassifier(OneState, HostScore, BaseEstimator):
    """Scores ``<X, W> + b`` of every class, or of the second of two.

    A subclass has the parameters `rank`, `C`, `max_iter`, `tol` and `sample_shape`.
    """

    coef_: Floats
    intercept_: Floats
    factors_: list[Floats]
    n_iter_: int
    classes_: Array
    sample_shape_: Shape
    input_shape_: Shape
    n_features_in_: int
    feature_names_in_: Array

    if TYPE_CHECKING:  # scikit-learn's methods, which have no types

        def get_params(self, deep: bool = True) -> dict[str, Any]: ...
        def set_params(self, **params: Any) -> Self: ...

    def fit(self, X: ArrayLike | Stored, y: ArrayLike) -> Self:
        """Fit to samples.

        Parameters
        ----------
        X : array-like of shape (n, l_1, ..., l_N), or (n, P) with `sample_shape`
            Never changed.
        y : array-like of shape (n,)
            Labels.

        Returns
        -------
        object
            The fitted estimator. After an error or Ctrl-C it is unchanged.
        """
        with replaced_at_once(self) as new:
            new._check_parameters()
            forget(new)
            X, y, _ = check_samples(new, X, y)
            check_labels(y, reg_scale="absolute")
            _check_scale(X)
            new.classes_, codes = np.unique(y, return_inverse=True)
            with bounded_threads(8 * X.size):
                new._solve(X, codes)
            warn_if_constant(new, sample_probes(X))
        return self

    def _linear_features(self, tensors, magnitudes=False):
        weights = np.abs(self.coef_) if magnitudes else self.coef_
        return flat_features(weights.reshape(len(weights), -1), tensors)

    def decision_function(self, X: ArrayLike | Stored) -> Floats:
        """Signed scores of samples: ``<X, W> + b``.

        Parameters
        ----------
        X : array-like of shape (n, l_1, ..., l_N), or as in `fit`
            Samples of the shape seen in `fit`.

        Returns
        -------
        ndarray of shape (n,) for two classes, (n, c) for more
            Of two classes the second is meant by positive scores. An array of the kind
            of X on its device.
        """
        X = check_tensor(self, X, lazy=is_foreign(X))
        return map_samples(self._scores, X, working_dtype(X))

    def _scores(self, X):
        """The same of checked samples, where they are."""
        scores = features_alone(self.coef_.reshape(len(self.coef_), -1), X)
        scores = scores + put(self.intercept_.astype(working_dtype(X)), X)
        return scores[:, 0] if len(self.coef_) == 1 else scores

    def predict(self, X: ArrayLike | Stored) -> Array:
        """Classes of samples.

        Parameters
        ----------
        X : array-like of shape (n, l_1, ..., l_N), or as in `fit`
            Samples of the shape seen in `fit`.

        Returns
        -------
        ndarray of shape (n,)
            The class with the largest score, per sample. An array of the kind of X on
            its device, if labels are numbers.
        """
        scores = host(self.decision_function(X))
        best = scores > 0 if scores.ndim == 1 else scores.argmax(axis=1)
        return followed(self.classes_[best.astype(int)], X)

    def _targets(self, codes):
        """Targets (p, n) of -1 and 1: every class against the rest, or the second."""
        positive = [1] if len(self.classes_) == 2 else range(len(self.classes_))
        return np.stack([np.where(codes == each, 1.0, -1.0) for each in positive])

    def _arranged(self, X):
        """Samples as rows, and the rank; vectors of rank one for tensors of full rank.

        From ``P / max(l_m)`` on every tensor has such a rank.
        """
        shape = X.shape[1:]
        full = self.rank == "full" or self.rank >= prod(shape) // max(shape)
        X = X.reshape(len(X), -1) if full else X
        rows = X.astype(working_dtype(X), copy=False)
        return ArrayRows.of(rows), 1 if full else self.rank

    def _take(self, factors, intercept):
        """Set the weights from factors (p, l_m, k) and intercepts (p,)."""
        if len(factors) < len(self.sample_shape_):  # vectors stand for tensors
            factors = cp_from_dense(factors[0].reshape(-1, *self.sample_shape_))
        self.factors_, self.coef_ = factors, cp_dense(factors)
        self.intercept_ = intercept

    def _warn_if_unfinished(self, unfinished):
        """Warn that sweeps ended early; `unfinished` says of what, or is empty."""
        if unfinished and self.tol > 0:
            warnings.warn(
                f"{unfinished} still gained more than tol={self.tol} in sweep "
                f"max_iter={self.max_iter}; the classifier is usable. Raise max_iter "
                "or tol, or set tol=0 for a fixed number of sweeps.",
                ConvergenceWarning,
                stacklevel=4,
            )

    def _check_parameters(self):
        check_common(self)
        check_integer("rank", self.rank, also=("full",))
        check_real("C", self.C)
        if self.C == 0:
            raise ValueError(
                "C must be larger than 0, got 0, which switches the loss off."
            )

    def __sklearn_is_fitted__(self):
        return hasattr(self, "coef_")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        return tags


def mean_differences(rows, targets):
    """Mean of the samples of target 1 less that of the others: (p, l_1, ..., l_N)."""
    above, below = targets > 0, targets < 0
    weights = above / above.sum(axis=1, keepdims=True)
    weights -= below / below.sum(axis=1, keepdims=True)
    return rows.combine(weights).astype(float).reshape(-1, *rows.row_shape)


def _check_scale(X):
    """Reject entries whose fourth powers overflow or underflow.

    LIBLINEAR would not return, and L-BFGS would not start.
    """
    largest = max(abs(float(X.max())), abs(float(X.min())))
    if not largest <= 1e75 or 0 < largest < 1e-75:
        raise ValueError(
            f"X has entries of up to {largest:.1e}, beyond the range of the "
            "classifier's solver. Divide X by a number of that size."
        )
