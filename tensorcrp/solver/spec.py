"""What the solver is asked for: combinations of metric, rank and ridge, and how.

In: numbers, names, arrays and functions of the caller. Out: a `Spec` whose values have
been checked, one error that names the value otherwise; and, once the shape
``(l_1, ..., l_N)`` of a sample is known, the checks that need it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

from tensorcrp.base.parameters import (
    check_choice,
    check_function,
    check_instance,
    check_integer,
    check_real,
    check_values,
    random_source,
)
from tensorcrp.base.types import (
    Array,
    Callback,
    Init,
    RandomSource,
    Rank,
    RegScale,
    Shape,
    Stop,
)
from tensorcrp.solver.deflation import Deflation, PaperDeflation
from tensorcrp.solver.given import NAMED, check_earlier, given_starts
from tensorcrp.solver.metric import Euclidean, Metric
from tensorcrp.solver.objective import DiscriminantRatio, Objective


@dataclass(frozen=True)
class Spec:
    """Which models to fit, and how.

    Parameters
    ----------
    n_components : int
        Number of projections h.
    ranks : sequence of int or "full", default=(2,)
        CP ranks k. Ranks of at least P / max(l_m) represent any tensor, as "full"
        does: ridge LDA on vectorised samples.
    regs : sequence of float, default=(0.3,)
        Ridges, in the unit that `reg_scale` names.
    metrics : sequence of Metric, default=None
        Metrics of the ridge; None for the plain norm alone.
    lanes : sequence of (metric, rank, reg), default=None
        Combinations to fit, instead of all that `metrics`, `ranks` and `regs` have.
    reg_scale : {"relative", "absolute"}, default="relative"
        With "relative", lambda is `reg` times the mean square of an entry of the
        within-class deviations; with "absolute", it is `reg`.
    objective : Objective, default=None
        What is maximised; None for `DiscriminantRatio`.
    deflation : Deflation, default=None
        What is subtracted after each projection; None for `PaperDeflation`.
    init : {"lda", "identity", "random"}, callable, arrays or CPTensor, default="lda"
        Start of every component. Arrays are (l_m, k), one per mode, the same for all
        components, or (h, l_m, k); a tensorly ``CPTensor``, or a list of one per
        component, means its factors. A callable is asked for every component:
        ``init(shape, rank, rng, component)``, or ``init(shape, rank, rng)``, returns
        arrays (l_m, k) or a ``CPTensor``. All of them are in the coordinates of the
        samples; names are in those of the metric.
    n_init : int, default=1
        Starts per component, the best of which is kept; all but the first are random.
    max_iter : int, default=20
        Sweeps over the modes per component.
    tol : float, default=0.1
        A component is done when a sweep raises J by at most this share; with 0, only
        after `max_iter` sweeps.
    stop : callable, default=None
        Another stopping rule: ``stop(history, n_modes)`` says whether a lane is done,
        given J at its start and after every block update. None for `tol`.
    modes : sequence of int, default=None
        Order of the block updates in a sweep; None for ``range(N)``.
    random_state : int, RandomState, Generator or None, default=None
        Source of random starts, which is also what a callable `init` gets: a
        ``numpy.random.RandomState`` unless a ``numpy.random.Generator`` is given.
    callback : callable, default=None
        Called as ``callback(p, objective, n_iter, factors)``, or without `factors` if
        it has three parameters, after component p. There is one entry per lane that is
        solved together: J and sweeps (A,), and a list of factors (l_m, k) of samples.
        If it returns True, these lanes keep components 0 to p and end.
    warm : sequence of ndarray (h, l_m, k), default=None
        Factors of an earlier fit, in the coordinates of the samples, to start from.
        Components and columns that they lack start as `init` says.

    Examples
    --------
    >>> from tensorcrp.solver import Smoothness, Spec
    >>> spec = Spec(5, ranks=(1, "full"), metrics=(Smoothness(0.0), Smoothness(1.0)))
    >>> spec.regs, spec.max_iter
    ((0.3,), 20)
    """

    n_components: int
    ranks: Sequence[Rank] | Array = (2,)
    regs: Sequence[float] | Array = (0.3,)
    metrics: Sequence[Metric] | None = None
    lanes: Sequence[tuple[Metric, Rank, float]] | None = None
    reg_scale: RegScale = "relative"
    objective: Objective | None = None
    deflation: Deflation | None = None
    init: Init = "lda"
    n_init: int = 1
    max_iter: int = 20
    tol: float = 0.1
    stop: Stop | None = None
    modes: Sequence[int] | None = None
    random_state: RandomSource = None
    callback: Callback | None = None
    warm: Sequence[Array] | None = None

    def __post_init__(self):
        usual = {
            "metrics": (Euclidean(),),
            "objective": DiscriminantRatio(),
            "deflation": PaperDeflation(),
        }
        for name, value in usual.items():
            if getattr(self, name) is None:
                object.__setattr__(self, name, value)
        self._check_models()
        self._check_ascent()

    def _check_models(self):
        """Reject values that do not say which models are asked for."""
        check_integer("n_components", self.n_components)
        for name in ("ranks", "regs", "metrics"):
            check_values(name, getattr(self, name))
        check_choice("reg_scale", self.reg_scale, ("relative", "absolute"))
        check_instance("objective", self.objective, Objective)
        check_instance("deflation", self.deflation, Deflation)
        for metric, rank, reg in self.combinations():
            check_instance("every metric", metric, Metric)
            check_integer("every rank", rank, also=("full",))
            check_real("every reg", reg)

    def _check_ascent(self):
        """Reject values that do not say how models are found."""
        check_integer("n_init", self.n_init)
        check_integer("max_iter", self.max_iter)
        check_real("tol", self.tol)
        random_source("random_state", self.random_state)
        if isinstance(self.init, str):
            check_choice("init", self.init, NAMED)
        check_function("stop", self.stop)
        check_function("callback", self.callback)

    def combinations(self) -> Iterator[tuple[Metric, Rank, float]]:
        """All combinations to fit.

        Returns
        -------
        iterator of (metric, rank, reg)
            `lanes`, or ridges fastest, then ranks, then metrics.
        """
        if self.lanes is not None:
            return iter(self.lanes)
        return product(self.metrics, self.ranks, self.regs)

    def check_shape(self, shape: Shape, ranks: Sequence[int]) -> None:
        """Reject what does not suit the shape of a sample.

        Parameters
        ----------
        shape : tuple of int
            ``(l_1, ..., l_N)``.
        ranks : sequence of int
            Those of the lanes that need a start.
        """
        if self.n_components > prod(shape):
            raise ValueError(
                f"n_components={self.n_components} is more than the {prod(shape)} "
                f"entries of a row of shape {tuple(shape)}; ask for at most that many."
            )
        if self.modes is not None and set(self.modes) != set(range(len(shape))):
            raise ValueError(
                f"modes must name each of the modes 0 to {len(shape) - 1} of a row of "
                f"shape {tuple(shape)}, got {self.modes!r}."
            )
        if self.warm is not None:
            check_earlier(self.warm, shape)
        if not isinstance(self.init, str) and not callable(self.init):
            for rank in ranks:
                given_starts(self.init, shape, rank, self.n_components)


@dataclass(frozen=True)
class Lane:
    """One combination: source of rows, metric, rank, ridge as asked for, and lambda."""

    source: int
    metric: object
    rank: object
    reg: float
    lam: float
