"""Patterns: what a sample looks like where a feature is large.

In: a fitted estimator with ``projections_`` (h, P), whose features are
``s_p = <X, V_p>``, and samples or their class statistics. Out: for each feature the
tensor ``A_p = Cov(X, s_p) / Var(s_p)`` (h, l_1, ..., l_N), and per mode the same
contracted with the CP factors of the other modes, (h, l_m, k).

A projection is a *filter*: its weights also cancel noise, so they may be large where
there is no signal. A pattern shows the signal (Haufe et al., 2014). The covariance is
never formed: ``Cov(X) V`` takes one pass over the rows of the statistics, which may be
in files.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tensorcrp.base.estimator import check_tensor
from tensorcrp.base.fitting import statistics
from tensorcrp.base.threads import bounded_threads
from tensorcrp.base.types import Floats, Samples
from tensorcrp.scatter import ClassScatter
from tensorcrp.solver.array_rows import ArrayRows
from tensorcrp.solver.cp import khatri_rao_of


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
        The CP factors of the estimator.

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
    factors: Sequence[Floats] | None = None
    filters: Sequence[Floats] | None = None

    @classmethod
    def from_estimator(cls, estimator: Any, X: Samples | ClassScatter) -> Self:
        """Patterns of a fitted estimator.

        Parameters
        ----------
        estimator : TensorCRP, TensorCRPCV, or another one with `projections_`
            Fitted; of a search, its `best_estimator_`. Of a pipeline the step itself,
            with X as that step gets it.
        X : array-like of shape (n, l_1, ..., l_N), or ClassScatter
            Samples, usually those of the fit, read in blocks: memory maps, HDF5, Zarr
            and dask arrays are not loaded. Or their class statistics.

        Returns
        -------
        Patterns
            Of every feature.
        """
        check_is_fitted(estimator)
        if not hasattr(estimator, "projections_"):
            raise TypeError(
                f"{type(estimator).__name__} has no projections_; pass a fitted "
                "TensorCRP or TensorCRPCV, of a pipeline the step itself, e.g. "
                "pipeline[-1]."
            )
        # Of an average, the patterns of its best member: factors are of one model.
        estimator = getattr(estimator, "best_estimator_", estimator)
        scatter = _total_statistics(estimator, X)
        filters = _cp_factors(estimator)
        with bounded_threads(0):  # blocks are small, however many there are
            flat = _covariances(scatter, estimator.projections_)
        tensors = flat.reshape(-1, *estimator.sample_shape_)
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
