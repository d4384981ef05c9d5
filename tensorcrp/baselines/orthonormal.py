"""Later multilinear discriminants with orthonormal factors: CMDA, DGTDA, HODA.

In: labelled samples ``(n, l_1, ..., l_N)``. Out: an orthonormal factor ``(l_m, r_m)``
per mode. The forms are those of `lda`; the rules are singular vectors of ``W^{-1} B``
(CMDA) and eigenvectors of ``B - phi W`` of the largest *algebraic* eigenvalues (DGTDA,
HODA).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tensorcrp.base.types import Floats, Sizes
from tensorcrp.baselines.forms import FormLike, Ridge, Sum
from tensorcrp.baselines.mode_rules import difference, leading, singular, trace_ratio
from tensorcrp.baselines.modes import ModesResult, alternate, ones_factors, parallel
from tensorcrp.baselines.tucker import TuckerDiscriminant, documented


@documented
class CMDA(TuckerDiscriminant):
    """Constrained multilinear discriminant analysis.

    Sweeps over the modes; each factor is the left singular vectors of ``W^{-1} B``, the
    mode scatters of class means and samples with all other modes projected [1]_. They
    are orthonormal, which the eigenvectors of `MultilinearLDA` are not. The start is
    ones in every entry.

    The steps maximise no criterion of all modes together, so the history may rise and
    fall and the number of sweeps is fixed.

    Parameters
    ----------
    $sizes
    reg : float, default=1e-6
        Ridge on the within-class scatter of a mode, in units of its mean eigenvalue.
    max_iter : int, default=5
        Number of sweeps over the modes.
    $sample_shape

    Attributes
    ----------
    $factors
        Columns are orthonormal.
    $iterated
    $fitted

    References
    ----------
    .. [1] Q. Li and D. Schonfeld, "Multilinear Discriminant Analysis for Higher-Order
       Tensor Data Classification", IEEE Transactions on Pattern Analysis and Machine
       Intelligence 36(12), 2014.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from tensorcrp.baselines import CMDA
    >>> X, y = load_digits().images, load_digits().target
    >>> CMDA(sizes=4).fit_transform(X, y).shape
    (1797, 16)
    """

    history_: Floats
    n_iter_: int

    def __init__(
        self,
        sizes: Sizes = None,
        *,
        reg: float = 1e-6,
        max_iter: int = 5,
        sample_shape: Sequence[int] | None = None,
    ) -> None:
        self.sizes = sizes
        self.reg = reg
        self.max_iter = max_iter
        self.sample_shape = sample_shape

    def solve_modes(
        self, between: FormLike, within: FormLike, sizes: tuple[int, ...]
    ) -> ModesResult:
        start = ones_factors(within.shape, sizes)
        rule = singular(self.reg)
        return alternate(between, within, sizes, rule, start, self.max_iter)


@documented
class DGTDA(TuckerDiscriminant):
    """Direct general tensor discriminant analysis: differences, without iteration.

    Each factor is found on the raw samples: the eigenvectors of ``B - phi W`` of the
    largest eigenvalues, phi being the largest ratio ``u^T B u / u^T W u`` of a
    direction [1]_, [2]_. One pass, nothing to iterate.

    Parameters
    ----------
    $sizes
    reg : float, default=1e-6
        Ridge on the within-class scatter of a mode, in units of its mean eigenvalue.
    $sample_shape

    Attributes
    ----------
    $factors
        Columns are orthonormal.
    objective_ : float
        Ratio of the between- to the within-class scatter of all features together.
    $fitted

    Notes
    -----
    No eigenvalue of ``B - phi W`` is positive, so that those of largest *magnitude*,
    which singular vectors and some eigensolvers return first, belong to the worst
    directions; the largest algebraic ones are meant. For phi [1]_ is also read as the
    largest singular value of ``W^{-1} B``, which grows with the condition of W until B
    plays no part; the largest eigenvalue, as in [2]_, does not.

    References
    ----------
    .. [1] Q. Li and D. Schonfeld, "Multilinear Discriminant Analysis for Higher-Order
       Tensor Data Classification", IEEE Transactions on Pattern Analysis and Machine
       Intelligence 36(12), 2014.
    .. [2] D. Tao, X. Li, X. Wu and S. J. Maybank, "General Tensor Discriminant Analysis
       and Gabor Features for Gait Recognition", IEEE Transactions on Pattern Analysis
       and Machine Intelligence 29(10), 2007.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from tensorcrp.baselines import DGTDA
    >>> X, y = load_digits().images, load_digits().target
    >>> DGTDA(sizes=4).fit_transform(X, y).shape
    (1797, 16)
    """

    def __init__(
        self,
        sizes: Sizes = None,
        *,
        reg: float = 1e-6,
        sample_shape: Sequence[int] | None = None,
    ) -> None:
        self.sizes = sizes
        self.reg = reg
        self.sample_shape = sample_shape

    def solve_modes(
        self, between: FormLike, within: FormLike, sizes: tuple[int, ...]
    ) -> ModesResult:
        return parallel(between, within, sizes, difference(self.reg))


@documented
class HODA(TuckerDiscriminant):
    """Higher-order discriminant analysis: the trace ratio, which never falls.

    Maximises the between-class over the within-class scatter of all features together
    with orthonormal factors. Each factor is the eigenvectors of ``B - phi W`` of the
    largest *algebraic* eigenvalues, phi being the ratio reached so far [1]_; a step
    cannot make it smaller. The start is the leading eigenvectors of the total scatter
    of each mode.

    Without a ridge the ratio has no maximum where some direction has no within-class
    scatter, as with fewer samples than entries.

    Parameters
    ----------
    $sizes
    reg : float, default=1e-6
        Ridge on the within-class scatter, in units of the mean one of an entry.
    max_iter : int, default=20
        Largest number of sweeps over the modes.
    tol : float, default=1e-3
        Stop when a sweep raises the ratio by no more than this share.
    $sample_shape

    Attributes
    ----------
    $factors
        Columns are orthonormal and ordered by the total scatter along them.
    objective_ : float
        Ratio of the between- to the within-class scatter of all features together.
    history_ : ndarray
        The ratio after each factor, mode by mode; never falls.
    n_iter_ : int
        Number of sweeps.
    $fitted

    References
    ----------
    .. [1] A. H. Phan and A. Cichocki, "Tensor Decompositions for Feature Extraction and
       Classification of High Dimensional Datasets", Nonlinear Theory and Its
       Applications, IEICE 1(1), 2010.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from tensorcrp.baselines import HODA
    >>> X, y = load_digits().images, load_digits().target
    >>> HODA(sizes=4).fit_transform(X, y).shape
    (1797, 16)
    """

    history_: Floats
    n_iter_: int

    def __init__(
        self,
        sizes: Sizes = None,
        *,
        reg: float = 1e-6,
        max_iter: int = 20,
        tol: float = 1e-3,
        sample_shape: Sequence[int] | None = None,
    ) -> None:
        self.sizes = sizes
        self.reg = reg
        self.max_iter = max_iter
        self.tol = tol
        self.sample_shape = sample_shape

    def solve_modes(
        self, between: FormLike, within: FormLike, sizes: tuple[int, ...]
    ) -> ModesResult:
        total, nothing = Sum((between, within)), [None] * len(sizes)
        start = [
            leading(total.scatter(m, nothing), None, r) for m, r in enumerate(sizes)
        ]
        lam = self.reg * within.trace / np.prod(within.shape)
        bottom = Sum((within, Ridge(lam, within.shape)))
        return alternate(
            between, bottom, sizes, trace_ratio, start, self.max_iter, self.tol
        )
