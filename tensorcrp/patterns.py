"""Patterns: what a sample looks like where a feature is large.

In: a fitted estimator with ``projections_`` (h, P), whose features are
``s_p = <X, V_p>``, and samples or their class statistics. Out: for each feature the
tensor ``A_p = Cov(X, s_p) / Var(s_p)`` (h, l_1, ..., l_N), and per mode the same
contracted with the CP factors of the other modes, (h, l_m, k).

A projection is a *filter*: its weights also cancel noise, so they may be large where
there is no signal. A pattern shows the signal (Haufe et al., 2014). The covariance is
never formed: ``Cov(X) V`` takes one pass over the rows of the statistics, which may be
in files.

Of a pipeline, ``s_p`` are features of the samples as earlier steps leave them and ``X``
are the samples as they enter it, so that patterns have the units of the latter.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from tensorcrp.base.fitting import statistics
from tensorcrp.base.gate import check_tensor
from tensorcrp.base.raw_units import in_raw_units, pipeline_covariances
from tensorcrp.base.resources import bounded_threads
from tensorcrp.base.types import Floats, Samples
from tensorcrp.scatter import ClassScatter
from tensorcrp.solver.array_rows import ArrayRows
from tensorcrp.solver.cp import khatri_rao_of

__all__ = ["Patterns"]


@dataclass(frozen=True)
class Patterns:
    """Patterns of the features of a fitted estimator.

    Usually created by `from_estimator`.

    Parameters
    ----------
    tensors : ndarray of shape (h, l_1, ..., l_N)
        Change of a sample that goes with a unit of each feature:
        ``Cov(X, s_p) / Var(s_p)``, over all samples.
    factors : list of ndarray of shape (h, l_m, k), default=None
        Patterns per mode: the tensors contracted with the filters of all other modes,
        column by column. At rank one this is the covariance of the samples contracted
        with the other modes' filters, times the filter of the mode, and far less noisy
        than the tensor. None for an estimator without CP factors.
    filters : list of ndarray of shape (h, l_m, k), default=None
        The CP factors of the estimator; of a pipeline, in the units of its samples.

    See Also
    --------
    tensorcrp.plotting.ProjectionDisplay : Draws them, as head maps too.

    References
    ----------
    .. [1] S. Haufe, F. Meinecke, K. Görgen, S. Dähne, J.-D. Haynes, B. Blankertz and
       F. Bießmann, "On the interpretation of weight vectors of linear models in
       multivariate neuroimaging", NeuroImage 87, 2014.

    Examples
    --------
    The pattern of the channels is the place of the burst that separates the classes,
    the filter is not.

    >>> import numpy as np
    >>> from tensorcrp import Patterns, TensorCRP
    >>> from tensorcrp.datasets import make_multichannel
    >>> bursts = make_multichannel(120, n_classes=2, random_state=0)
    >>> crp = TensorCRP(1, rank=1).fit(bursts.data, bursts.target)
    >>> found = Patterns.from_estimator(crp, bursts.data)
    >>> planted = bursts.patterns[1] - bursts.patterns[0]
    >>> def cosine(a, b):
    ...     return float(abs(a @ b) / np.linalg.norm(a) / np.linalg.norm(b))
    >>> cosine(found.patterns_[0], planted) > 0.95 > cosine(found.filters_[0], planted)
    True
    """

    tensors: Floats
    # Or None; `Any` says so without a check in front of every use.
    factors: Sequence[Floats] | Any = None
    filters: Sequence[Floats] | Any = None

    def __repr__(self) -> str:
        h, *shape = self.tensors.shape
        rank = "" if self.factors is None else f", rank={self.factors[0].shape[2]}"
        return f"Patterns(features={h}, sample_shape={tuple(shape)}{rank})"

    @classmethod
    def from_estimator(cls, estimator: Any, X: Samples | ClassScatter) -> Self:
        """Patterns of a fitted estimator.

        Parameters
        ----------
        estimator : TensorCRP, TensorCRPCV, or another one with `projections_`
            Fitted; of a search, its `best_estimator_`. Or a fitted pipeline with such
            a step: patterns are in the units of the samples that enter the pipeline,
            whose earlier steps must keep the shape of a sample.
        X : array-like of shape (n, l_1, ..., l_N), or ClassScatter
            Samples, usually those of the fit, read in blocks: memory maps, HDF5, Zarr
            and dask arrays are not loaded. Or their class statistics, if there are no
            earlier steps. NaN that the first step of a pipeline fills is taken as it
            fills it.

        Returns
        -------
        Patterns
            Of every feature.
        """
        check_is_fitted(estimator)
        earlier, model = projecting_step(estimator)
        filters = _cp_factors(model)
        with bounded_threads(0):  # blocks are small, however many there are
            if earlier:
                flat, gains = pipeline_covariances(earlier, model, X)
                filters = in_raw_units(filters, gains, model.sample_shape_)
            else:
                scatter = _total_statistics(model, X)
                flat = _covariances(scatter, model.projections_)
        tensors = flat.reshape(-1, *model.sample_shape_)
        factors = None if filters is None else mode_patterns(tensors, filters)
        return cls(tensors, factors, filters)

    @property
    def patterns_(self) -> Floats:
        """Patterns of mode 0, such as channels: (h k, l_1).

        The columns of a projection follow each other. The form that MNE's
        ``SpatialFilter`` and ``get_coef`` take.
        """
        return self._of_channels(self.factors)

    @property
    def filters_(self) -> Floats:
        """Filters of mode 0, such as channels, as `patterns_`: (h k, l_1)."""
        return self._of_channels(self.filters)

    def _of_channels(self, factors):
        if factors is None:
            raise AttributeError(
                "there are no patterns of a mode: the estimator has no CP factors. "
                "Draw the rows of `tensors`."
            )
        return factors[0].transpose(0, 2, 1).reshape(-1, factors[0].shape[1])


def projecting_step(estimator: Any) -> tuple[list[Any], Any]:
    """Steps before the projections of a fitted estimator, and the model that has them.

    Parameters
    ----------
    estimator : estimator or Pipeline
        Of a search, the best model counts; later steps of a pipeline do not.

    Returns
    -------
    earlier : list
        Fitted transformers; empty unless `estimator` is a pipeline.
    model : estimator
        With `projections_`.
    """
    # Of an average, the patterns of its best member: factors are of one model.
    estimator = getattr(estimator, "best_estimator_", estimator)
    steps = [estimator]
    if isinstance(estimator, Pipeline):
        steps = [s for _, s in estimator.steps if s not in (None, "passthrough")]
    for i, step in enumerate(steps):
        if hasattr(step, "projections_"):
            return steps[:i], getattr(step, "best_estimator_", step)
    raise TypeError(
        f"{type(estimator).__name__} has no projections_; pass a fitted TensorCRP or "
        "TensorCRPCV, or a fitted pipeline with one of them as a step."
    )


def mode_patterns(tensors: Floats, filters: Sequence[Floats]) -> list[Floats]:
    """Patterns of each mode: tensors contracted with the filters of all other modes.

    Parameters
    ----------
    tensors : ndarray of shape (h, l_1, ..., l_N)
        Patterns ``A_p``.
    filters : list of ndarray of shape (h, l_m, k)
        CP factors of the projections.

    Returns
    -------
    list of ndarray of shape (h, l_m, k)
        ``Cov(Z_r, s_p) / Var(s_p)``, with ``Z_r`` the samples contracted with column r
        of all factors but one.
    """
    return [
        np.stack([_contracted(A, filters, p, mode) for p, A in enumerate(tensors)])
        for mode in range(len(filters))
    ]


def _contracted(A, filters, p, mode):
    """One tensor (l_1, ..., l_N), contracted but for a mode: (l_m, k)."""
    columns = [factor[p] for factor in filters]
    others = columns[:mode] + columns[mode + 1 :]
    unfolded = np.moveaxis(A, mode, 0).reshape(len(columns[mode]), -1)
    return unfolded @ khatri_rao_of(others, columns)


def _cp_factors(estimator):
    """CP factors (h, l_m, k), or None if the estimator has none."""
    factors = getattr(estimator, "factors_", None)
    if factors is None or any(np.ndim(factor) != 3 for factor in factors):
        return None
    return list(factors)


def _total_statistics(estimator, X):
    """Statistics that know the total scatter; labels make no difference to it."""
    if isinstance(X, ClassScatter):
        if X.shape != estimator.sample_shape_:
            X = X.reshape(estimator.sample_shape_)
        return X
    X = check_tensor(estimator, X)
    X = X.reshape(len(X), *estimator.sample_shape_)
    # Rows are read from X in blocks; a root in memory would only take time.
    return statistics(X, np.zeros(len(X), int), None, max_memory=0)


def _covariances(scatter, projections):
    """``Cov(X, s_p) / Var(s_p)`` by one pass over the rows: (h, P)."""
    total = np.zeros(projections.shape)
    for rows in (scatter.within, ArrayRows.of(scatter.between("samples"))):
        for _, block in rows.blocks(rows.block_size):
            flat = block.reshape(len(block), -1).astype(float)
            total += (flat @ projections.T).T @ flat
    variances = np.einsum("hp,hp->h", total, projections)[:, None]
    return total / np.where(variances > 0, variances, 1.0)
