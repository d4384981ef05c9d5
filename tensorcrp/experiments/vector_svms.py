"""Support vector machines on flattened samples: what people use.

In: training samples (n, l_1, ..., l_N) and codes. Out: one classifier per setting. The
entries are taken as they are, in units of the root mean square norm of a centred
sample, or scaled to unit variance each. C and, of the RBF kernel, gamma are chosen by
the same folds as every other setting. All settings share one matrix of inner products.
"""

from dataclasses import dataclass
from functools import partial

import numpy as np
from sklearn import config_context
from sklearn.svm import SVC

from tensorcrp.experiments.classifiers import SVM_STEPS, TRUSTED
from tensorcrp.experiments.registry import Method

LINEAR_COSTS = (100.0, 10.0, 1.0, 0.1)
RBF_COSTS = (100.0, 10.0, 1.0)
GAMMAS = (2.0, 0.5, 0.125)  # of one over the mean squared distance of two samples


def vector_svms():
    """Names and methods, from the weakest to the strongest regularisation."""
    linear = tuple((C, None) for C in LINEAR_COSTS)
    rbf = tuple((C, gamma) for C in RBF_COSTS for gamma in GAMMAS)
    kinds = {"linear SVM": ("C", linear), "RBF SVM": ("C, gamma", rbf)}
    return {
        f"{name}, scaled" if scaled else name: Method(
            partial(_fit, scaled), parameter, settings, ties="middle"
        )
        for name, (parameter, settings) in kinds.items()
        for scaled in (False, True)
    }


@dataclass(frozen=True)
class VectorScaling:
    """Training samples as centred vectors in units of their size.

    Attributes
    ----------
    mean, scale : ndarrays of shape (P,)
    rows : ndarray of shape (n, P)
    """

    mean: np.ndarray
    scale: np.ndarray
    rows: np.ndarray

    @classmethod
    def of(cls, X, scaled):
        """Of samples; with each entry scaled to unit variance, or all alike."""
        flat = X.reshape(len(X), -1)
        mean, std = flat.mean(axis=0), flat.std(axis=0)
        scale = np.where(std > 1e-12 * std.max(), std, np.inf) if scaled else 1.0
        rows = (flat - mean) / scale
        norm = np.sqrt(np.vdot(rows, rows) / len(rows)) or 1.0
        return cls(mean, scale * norm, rows / norm)

    def gram(self, X, gamma):
        """Kernel (m, n) of others and these; X None for these themselves."""
        others = self.rows if X is None else self._vectors(X)
        inner = others @ self.rows.T
        if gamma is None:
            return inner
        squares = [np.einsum("ij,ij->i", A, A) for A in (others, self.rows)]
        # Centred rows of unit mean square norm: their mean squared distance is 2.
        return np.exp(-gamma / 2 * np.maximum(np.add.outer(*squares) - 2 * inner, 0))

    def _vectors(self, X):
        return (X.reshape(len(X), -1) - self.mean) / self.scale


@dataclass(frozen=True)
class VectorSVM:
    """A fitted SVM with a kernel of vectors."""

    vectors: VectorScaling
    gamma: float | None
    svc: SVC

    def predict(self, X):
        """Codes of samples."""
        with config_context(**TRUSTED):
            return self.svc.predict(self.vectors.gram(X, self.gamma))


def _fit(scaled, X, y, settings, n_features, folds):
    vectors, models = VectorScaling.of(X, scaled), []
    grams = {gamma: vectors.gram(None, gamma) for _, gamma in settings}
    for C, gamma in settings:
        svc = SVC(C=C, kernel="precomputed", max_iter=SVM_STEPS)
        with config_context(**TRUSTED):
            models.append(VectorSVM(vectors, gamma, svc.fit(grams[gamma], y)))
    return models
