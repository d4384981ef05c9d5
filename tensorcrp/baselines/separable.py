"""Separable covariance: one matrix per mode, and discriminants under it.

In: class statistics of samples ``(n, l_1, ..., l_N)``. Out: matrices ``S_m``
``(l_m, l_m)`` and a unit s such that the covariance within classes is modelled as
``s^2 S_1 kron ... kron S_N``, and what follows from its inverse, mode by mode.

``S_m`` is the within-class scatter of mode m, the moment estimate, in units of its mean
eigenvalue, with a ridge: ``(S_m + reg I) / (1 + reg)``. The mean eigenvalue stays one,
so that ``s^2`` is the mean within-class variance of an entry. At order 1 this is the
covariance of ridge LDA.
"""

from dataclasses import dataclass
from math import prod

import numpy as np

from tensorcrp.base.fitting import check_within
from tensorcrp.baselines.forms import Form
from tensorcrp.solver.cp import mode_products
from tensorcrp.solver.linalg import EPS


@dataclass(frozen=True)
class Separable:
    """Mode covariances by their eigenvectors ``(l_m, l_m)`` and eigenvalues ``(l_m,)``.

    `unit` is the root mean square deviation of an entry within classes.
    """

    vectors: list
    values: list
    unit: float

    @classmethod
    def of(cls, scatter, reg):
        """The model of a `ClassScatter`; an error if nothing varies within classes."""
        check_within(scatter)
        form, nothing = Form(scatter.within), [None] * len(scatter.shape)
        pairs = [_eigen(form.scatter(m, nothing), reg) for m in range(len(nothing))]
        entries = scatter.counts.sum() * prod(scatter.shape)
        values, vectors = zip(*pairs, strict=True)
        return cls(list(vectors), list(values), float(np.sqrt(scatter.trace / entries)))

    def times(self, tensors, power=1.0):
        """Tensors (h, l_1, ..., l_N) times ``(S_1 kron ... kron S_N)^power``."""
        return mode_products(tensors, self.powers(power))

    def powers(self, power=1.0):
        """``S_m^power`` of every mode."""
        pairs = zip(self.vectors, self.values, strict=True)
        return [(V * e**power) @ V.T for V, e in pairs]

    @property
    def largest(self):
        """Largest eigenvalue of ``S_1 kron ... kron S_N``."""
        return float(np.prod([values[-1] for values in self.values]))


def _eigen(scatter, reg):
    """Eigenvalues, of mean one, and eigenvectors of a mode scatter with its ridge."""
    scale = np.trace(scatter) / len(scatter)
    values, vectors = np.linalg.eigh(scatter / scale)
    # A ridge below rounding cannot be inverted.
    values = values.clip(0.0) + max(reg, 4 * len(scatter) * EPS)
    return values / values.mean(), vectors
