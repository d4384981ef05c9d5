"""Multilinear Fisher discriminants: one rule, three schedules.

In: labelled samples ``(n, l_1, ..., l_N)``. Out: a factor ``(l_m, r_m)`` per mode, the
leading eigenvectors of ``W^{-1} B``, its two mode scatters. The numerator is
the deviations of the class means, weighted by class size; the denominator is the
samples minus their class means.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice, permutations
from math import factorial

from sklearn.utils import check_random_state

from tensorcrp.base.types import Floats, RandomState, Sizes
from tensorcrp.baselines.forms import FormLike
from tensorcrp.baselines.mode_rules import fisher
from tensorcrp.baselines.modes import (
    ModesResult,
    alternate,
    one_pass,
    parallel,
    varying_factors,
)
from tensorcrp.baselines.tucker import TuckerDiscriminant, documented


@documented
class MultilinearLDA(TuckerDiscriminant):
    """Multilinear discriminant analysis (DATER): one Fisher factor per mode.

    Sweeps over the modes; each factor is the leading eigenvectors of ``W^{-1} B``, the
    mode scatters of class means and samples with all other modes projected [2]_. At
    order 2 this is 2DLDA [1]_, at order 1 Fisher's discriminant analysis.

    Each step maximises a sum of ratios, not the ratio of sums that is recorded, so the
    history may rise and fall and there is no moment to stop: the number of sweeps is
    fixed.

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
        Columns have norm one and need not be orthogonal.
    $iterated
    $fitted

    See Also
    --------
    HODA : The same criterion with steps that never make it smaller.

    References
    ----------
    .. [1] J. Ye, R. Janardan and Q. Li, "Two-Dimensional Linear Discriminant Analysis",
       Advances in Neural Information Processing Systems 17, 2004.
    .. [2] S. Yan, D. Xu, Q. Yang, L. Zhang, X. Tang and H.-J. Zhang, "Discriminant
       Analysis with Tensor Representation", IEEE Conference on Computer Vision and
       Pattern Recognition, 2005.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from tensorcrp.baselines import MultilinearLDA
    >>> X, y = load_digits().images, load_digits().target
    >>> MultilinearLDA(sizes=(4, 3)).fit_transform(X, y).shape
    (1797, 12)
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
        start = varying_factors(between, sizes)
        rule = fisher(self.reg)
        return alternate(between, within, sizes, rule, start, self.max_iter)


TwoDLDA = MultilinearLDA  # its name at order 2


@documented
class SelectiveLDA(TuckerDiscriminant):
    """Non-iterative discriminant analysis, the best order of the modes (S2DLDA).

    Goes once through the modes, each with the factors before it applied; does so in
    several orders and keeps the one with the largest objective. At order 2 the orders
    are rows first and columns first [1]_.

    Parameters
    ----------
    $sizes
    reg : float, default=1e-6
        Ridge on the within-class scatter of a mode, in units of its mean eigenvalue.
    n_orders : int, default=24
        Number of orders to try: all, if there are no more (24 at order 4), else a
        random choice.
    $sample_shape
    random_state : int, RandomState instance or None, default=None
        Source of the random choice of orders. Nothing else is random.

    Attributes
    ----------
    $factors
        Columns have norm one and need not be orthogonal.
    objective_ : float
        Ratio of the between- to the within-class scatter of all features together.
    order_ : tuple of int
        The order of the modes that was kept.
    $fitted

    References
    ----------
    .. [1] K. Inoue and K. Urahama, "Non-Iterative Two-Dimensional Linear Discriminant
       Analysis", International Conference on Pattern Recognition, 2006.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from tensorcrp.baselines import SelectiveLDA
    >>> X, y = load_digits().images, load_digits().target
    >>> SelectiveLDA(sizes=4).fit(X, y).order_
    (0, 1)
    """

    order_: tuple[int, ...]

    def __init__(
        self,
        sizes: Sizes = None,
        *,
        reg: float = 1e-6,
        n_orders: int = 24,
        sample_shape: Sequence[int] | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.sizes = sizes
        self.reg = reg
        self.n_orders = n_orders
        self.sample_shape = sample_shape
        self.random_state = random_state

    def solve_modes(
        self, between: FormLike, within: FormLike, sizes: tuple[int, ...]
    ) -> ModesResult:
        rule = fisher(self.reg)
        runs = [
            one_pass(between, within, sizes, rule, order)
            for order in self._orders(len(sizes))
        ]
        return max(runs, key=lambda run: run.objective)

    def _orders(self, order):
        """All orders of the modes, or a random choice of as many as are wanted."""
        if factorial(order) <= self.n_orders:
            return permutations(range(order))
        rng = check_random_state(self.random_state)
        chosen = {}
        while len(chosen) < self.n_orders:
            chosen[tuple(int(mode) for mode in rng.permutation(order))] = True
        return islice(chosen, self.n_orders)

    def _check_parameters(self):
        super()._check_parameters()
        check_random_state(self.random_state)


@documented
class ParallelLDA(TuckerDiscriminant):
    """Non-iterative discriminant analysis, every mode on its own (P2DLDA).

    Each factor is found on the raw samples, as if the other modes were repetitions of
    the experiment: at order 2 rows and columns independently [1]_. One pass, no
    iteration, no order to choose.

    Parameters
    ----------
    $sizes
    reg : float, default=1e-6
        Ridge on the within-class scatter of a mode, in units of its mean eigenvalue.
    $sample_shape

    Attributes
    ----------
    $factors
        Columns have norm one and need not be orthogonal.
    objective_ : float
        Ratio of the between- to the within-class scatter of all features together.
    $fitted

    References
    ----------
    .. [1] K. Inoue and K. Urahama, "Non-Iterative Two-Dimensional Linear Discriminant
       Analysis", International Conference on Pattern Recognition, 2006.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from tensorcrp.baselines import ParallelLDA
    >>> X, y = load_digits().images, load_digits().target
    >>> ParallelLDA(sizes=4).fit_transform(X, y).shape
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
        return parallel(between, within, sizes, fisher(self.reg))
