"""Spatially smooth LDA (S-LDA): ridge LDA of vectors whose weights are smooth.

In: training samples (n, l_1, ..., l_N) with codes. Out: one fitted model per strength
and ridge. The penalty of weights w is ``lambda w^T R w``, where R is the Kronecker
product of ``I + mu D^T D`` of every mode and D takes first differences. This is ridge
LDA of samples multiplied by ``R^{-1/2}`` (`tensorcrp.baselines.RidgeLDA`).

Cai et al., "Learning a Spatially Smooth Subspace for Face Recognition", CVPR 2007, have
the square of a sum of second differences in place of R. R-LDA of the same paper is
`RidgeLDA`.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any

from tensorcrp.base.types import Array, Floats
from tensorcrp.baselines import RidgeLDA
from tensorcrp.experiments.methods import REGS
from tensorcrp.experiments.registry import Method, register_method
from tensorcrp.solver.cp import mode_products
from tensorcrp.solver.metric import Smoothness

S_LDA = "S-LDA"
STRENGTHS = (0.1, 1.0, 10.0)


@dataclass(frozen=True)
class SpatialLDA:
    """Ridge LDA that gets samples multiplied by the inverse root of a metric.

    Attributes
    ----------
    model : RidgeLDA
    roots : list of ndarray
        ``S_m = R_m^{-1/2}``, one per mode.
    """

    model: Any
    roots: Any

    def transform(self, X: Floats) -> Floats:
        """Features of samples, (n, c - 1)."""
        return self.model.transform(mode_products(X, self.roots))


def fit_spatial_lda(
    X: Floats, y: Array, settings: Any, n_features: int = 0, folds: Any = None
) -> list[SpatialLDA]:
    """One model per pair of a strength and a ridge; the metric is applied once each."""
    metrics = {mu: Smoothness(mu).roots(X.shape[1:]) for mu, _ in settings}
    samples = {mu: mode_products(X, roots) for mu, roots in metrics.items()}
    return [
        SpatialLDA(RidgeLDA(reg=reg).fit(samples[mu], y), metrics[mu])
        for mu, reg in settings
    ]


register_method(
    S_LDA,
    Method(
        *(fit_spatial_lda, "smooth, reg", tuple(product(STRENGTHS, REGS))),
        ties="middle",
        compared=False,
        on_request=True,
    ),
    home=__name__,
)
