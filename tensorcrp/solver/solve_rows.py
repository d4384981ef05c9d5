"""`solve`: the solver on plain rows, without class statistics.

In: rows ``(n, l_1, ..., l_N)`` of the numerator and of the denominator of

    J(W) = sum_i <between_i, W>^2 / (sum_i <within_i, W>^2 + lambda ||W||_F^2),

and ridges. Out: one `Result` per ridge and rank, or one clear error.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from tensorcrp.base.parameters import (
    check_integer,
    check_real,
    check_values,
    random_source,
)
from tensorcrp.base.types import Array, Callback, Init, RandomSource, Stop
from tensorcrp.base.validation import check_alike_rows, rows_array, unfit_rows
from tensorcrp.solver.array_rows import ArrayRows
from tensorcrp.solver.deflation import Deflation
from tensorcrp.solver.lane_rows import in_memory
from tensorcrp.solver.metric import Euclidean
from tensorcrp.solver.model import Result
from tensorcrp.solver.objective import Objective
from tensorcrp.solver.path import solve_lanes
from tensorcrp.solver.rows import Rows
from tensorcrp.solver.spec import Lane, Spec


def solve(
    between: ArrayLike | Rows,
    within: ArrayLike | Rows,
    lambdas: Sequence[float] | Array,
    *,
    n_components: int,
    rank: int | Sequence[int] = 2,
    init: Init = "lda",
    n_init: int = 1,
    max_iter: int = 20,
    tol: float = 0.1,
    stop: Stop | None = None,
    modes: Sequence[int] | None = None,
    rng: RandomSource = None,
    callback: Callback | None = None,
    objective: Objective | None = None,
    deflation: Deflation | None = None,
) -> list[Result]:
    """Find compound rank-k projections for every lambda in one go.

    Parameters
    ----------
    between : array-like of shape (c, l_1, ..., l_N), or Rows
        Rows of the numerator: a NumPy array or nested lists of finite numbers. They
        are few, and are read into memory.
    within : array-like of shape (n, l_1, ..., l_N), or Rows
        Rows of the denominator. They are not modified, and not copied if the sample
        axis comes last in memory, as in `ClassScatter`.
    lambdas : sequence of A floats
        Ridges of at least 0, which share every pass over the rows.
    n_components : int
        Number of projections h.
    rank : int or sequence of int, default=2
        CP rank k; at order 1 it is 1 whatever is asked for. Several ranks share every
        pass over the rows too.
    init : {"lda", "identity", "random"}, callable, arrays or CPTensor, default="lda"
        Start of each projection, as in `Spec`. The factors of a result are one too.
    n_init : int, default=1
        Starts per component, the best of which is kept.
    max_iter : int, default=20
        Sweeps over the modes per component.
    tol : float, default=0.1
        A component is done when a sweep raises J by at most this share.
    stop : callable, default=None
        Another stopping rule, as in `Spec`.
    modes : sequence of int, default=None
        Order of the block updates in a sweep; None for ``range(N)``.
    rng : int, RandomState, Generator or None, default=None
        Source of random starts; None for NumPy's global one, as in scikit-learn.
    callback : callable, default=None
        Called as ``callback(p, objective, n_iter, factors)`` after component p, as in
        `Spec`. If it returns True, all results end with component p.
    objective : Objective, default=None
        What is maximised; None for `DiscriminantRatio`.
    deflation : Deflation, default=None
        What is subtracted after each projection; None for `PaperDeflation`.

    Returns
    -------
    list of A `Result`
        In the order of `lambdas`; with several ranks, rank by rank.

    Examples
    --------
    Two ridges on class statistics, without the estimator:

    >>> from sklearn.datasets import load_digits
    >>> from tensorcrp import ClassScatter
    >>> from tensorcrp.solver import solve
    >>> X, y = load_digits().images, load_digits().target
    >>> scatter = ClassScatter.from_samples(X, y)
    >>> rows = scatter.between("classes"), scatter.root
    >>> weak, strong = solve(*rows, [1e3, 1e5], rank=2, n_components=4)
    >>> [factor.shape for factor in weak.factors]
    [(4, 8, 2), (4, 8, 2)]
    >>> bool(weak.objective[0] > strong.objective[0])
    True
    """
    ranks = rank if isinstance(rank, (list, tuple, np.ndarray)) else [rank]
    check_values("lambdas", lambdas)
    check_values("rank", ranks)
    for lam in lambdas:
        check_real("every lambda", lam)
    for k in ranks:
        check_integer("rank", k)
    random_source("rng", rng)
    spec = Spec(
        n_components,
        objective=objective,
        deflation=deflation,
        init=init,
        n_init=n_init,
        max_iter=max_iter,
        tol=tol,
        stop=stop,
        modes=modes,
        random_state=rng,
        callback=callback,
    )
    between = in_memory(_rows("between", between))
    rows = {"between": between, "within": _rows("within", within)}
    shape, _ = shapes = [each.row_shape for each in rows.values()]
    check_alike_rows(*shapes)
    spec.check_shape(shape, ranks if len(shape) > 1 else ())
    size = {name: _finite_norm(name, each) for name, each in rows.items()}
    if size["within"] == 0 and min(lambdas) == 0:
        raise ValueError(
            "within is zero everywhere, so that J has no maximum with a lambda of 0; "
            "give lambdas above 0."
        )
    metric = Euclidean()
    lanes = [Lane(0, metric, k, lam, lam) for k in ranks for lam in lambdas]
    return solve_lanes([tuple(rows.values())], lanes, spec)


def _rows(name, given):
    """Rows of an array or nested lists; those of any other kind as they are."""
    return given if isinstance(given, Rows) else ArrayRows.of(rows_array(name, given))


def _finite_norm(name, rows):
    """Norm of rows, or an error about NaN or squares that overflow: one pass."""
    with np.errstate(all="ignore"):
        total = np.linalg.norm(rows.array) if rows.is_array else rows.spread()[0].sum()
    if not np.isfinite(total):
        raise ValueError(unfit_rows(name, rows.blocks(rows.block_size)))
    return total
