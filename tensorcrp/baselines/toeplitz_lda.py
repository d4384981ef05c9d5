"""Discriminant analysis of signals whose noise is stationary in time.

In: labelled samples ``(n, l_1, ..., l_N)``, the last mode time. Out: up to c - 1
directions, the maximisers of ``w^T S_b w / w^T (C + lambda I) w`` with C the
within-class scatter made block-Toeplitz: the covariance of two times depends on their
distance alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from tensorcrp.base.types import RegScale, Weighting
from tensorcrp.baselines.ridge_lda import RidgeLDA, discriminants
from tensorcrp.baselines.tucker import documented
from tensorcrp.solver.linalg import EPS


@documented
class ToeplitzLDA(RidgeLDA):
    """Discriminant analysis with a block-Toeplitz within-class scatter.

    Noise that is stationary has a covariance that depends on the distance of two times
    and not on the times. The blocks (channels x channels) of the within-class scatter
    are averaged along its diagonals and tapered linearly with the distance: the result
    is positive semi-definite and has about ``l_N / 2`` times fewer free numbers, hence
    less sampling error [1]_. The last mode of a sample is time; all other modes
    together are the channels. At order 1 a sample is one channel.

    Fitting takes a matrix of P x P numbers.

    Parameters
    ----------
    n_components : int, default=None
        Number of directions; None for all, ``min(c - 1, P)``.
    reg : float, default=0.1
        Strength of the ridge, in place of the shrinkage of [1]_.
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
    RidgeLDA : The same with the scatter as it is.

    References
    ----------
    .. [1] J. Sosulski and M. Tangermann, "Introducing block-Toeplitz covariance
       matrices to remaster linear discriminant analysis for event-related potential
       brain-computer interfaces", Journal of Neural Engineering 19(6), 2022.

    Examples
    --------
    >>> from tensorcrp.baselines import ToeplitzLDA
    >>> from tensorcrp.datasets import make_multichannel
    >>> X, y = make_multichannel(60, n_times=32, random_state=0, return_X_y=True)
    >>> ToeplitzLDA().fit_transform(X, y).shape
    (60, 2)
    """

    def __init__(
        self,
        n_components: int | None = None,
        *,
        reg: float = 0.1,
        reg_scale: RegScale = "relative",
        between: Weighting = "samples",
        sample_shape: Sequence[int] | None = None,
    ) -> None:
        super().__init__(
            n_components,
            reg=reg,
            reg_scale=reg_scale,
            between=between,
            sample_shape=sample_shape,
        )

    def _directions(self, flat, lam, h):
        *others, times = self.sample_shape_
        rows = flat.within.reshape((prod(others), times))
        C = block_toeplitz(autocovariances(rows))
        C.flat[:: len(C) + 1] += max(lam, 4 * EPS * np.trace(C))
        between = flat.between(self.between)
        solved = cho_solve(cho_factor(C, overwrite_a=True), between.T).T
        return discriminants(between, solved, h)


def autocovariances(rows):
    """``1/T sum_i sum_t A_i[:, t + s] A_i[:, t]^T`` for lags s = 0, ..., T - 1.

    The sum has T - s terms: dividing all by T is the linear taper. By the transform of
    rows padded with zeros, block by block.

    Parameters
    ----------
    rows : Rows of shape (n, channels, T)

    Returns
    -------
    ndarray of shape (T, channels, channels)
    """
    channels, T = rows.row_shape
    spectra = np.zeros((T + 1, channels, channels), complex)
    for _, block in rows.blocks(rows.block_size):
        waves = np.fft.rfft(block.astype(float), 2 * T, axis=2)
        spectra += waves.transpose(2, 1, 0) @ waves.conj().transpose(2, 0, 1)
    return np.fft.irfft(spectra, 2 * T, axis=0)[:T] / T


def block_toeplitz(lags):
    """The symmetric matrix of all channels and times: (channels T, channels T)."""
    T, channels, _ = lags.shape
    both = np.concatenate([lags[:0:-1].transpose(0, 2, 1), lags])
    apart = np.subtract.outer(np.arange(T), np.arange(T)) + T - 1
    blocks = both[apart]  # (t, s, channel of t, channel of s)
    return blocks.transpose(2, 0, 3, 1).reshape(channels * T, channels * T)
