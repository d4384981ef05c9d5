"""Block updates of all lanes: the inner loop of the solver.

In: rows of numerator and denominator, factors ``(B, l_m, k)`` of B lanes, the earlier
projections to deflate by. Out: factors that maximise J one mode at a time (paper,
equations 6 and 13). Every update is exact, so J never falls.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby

import numpy as np

from tensorcrp.solver.blocks import BlockView, DeflatedRows
from tensorcrp.solver.cp import column_norms, unit_columns, whitening
from tensorcrp.solver.deflation import Found
from tensorcrp.solver.lane_rows import rows_in_metrics
from tensorcrp.solver.metric import LaneRoots
from tensorcrp.solver.objective import DiscriminantRatio, Objective
from tensorcrp.solver.products import consecutive


@dataclass(frozen=True)
class Problem:
    """Both kinds of rows, what is maximised on them, and how modes are updated.

    Attributes
    ----------
    between, within : DeflatedRows
        Rows of the numerator and of the denominator.
    roots : LaneRoots or None
        Metric of every sequence of projections; None where all are plain.
    objective : Objective
    source : ndarray of int, shape (A,)
        Source of the rows of every sequence of projections.
    is_direct : bool
        Order 1 with the paper's deflation and a ratio: the ridge-LDA start is the
        answer.
    modes : sequence of int or None
        Order of the block updates in a sweep; None for ``range(N)``.
    """

    between: DeflatedRows
    within: DeflatedRows
    roots: LaneRoots
    source: np.ndarray
    objective: Objective = field(default_factory=DiscriminantRatio)
    is_direct: bool = False
    modes: object = None

    @property
    def rows(self):
        """Numerator and denominator."""
        return self.between, self.within

    @property
    def has_copies(self):
        """Whether rows are deflated copies, in the coordinates of the metrics."""
        return self.between.has_copies

    @property
    def block_roots(self):
        """`roots` where rows have yet to be seen in the metrics, else None."""
        return None if self.has_copies else self.roots

    @cached_property
    def shape(self):
        """Shape of a row."""
        return self.between.rows.row_shape

    @cached_property
    def split(self):
        """Modes before this one are left modes."""
        return self.between.rows.split

    @property
    def order_of_modes(self):
        """The modes of a sweep."""
        return range(len(self.shape)) if self.modes is None else self.modes

    def is_left(self, mode):
        """Whether `mode` is one of the left modes."""
        return mode < self.split

    def in_metrics(self, parts):
        """Rows of every source in the metrics of its lanes, see `rows_in_metrics`."""
        return list(rows_in_metrics(parts, self.source, self.roots))


class SmallGain:
    """Stop when the last N block updates raised J by at most a share `tol`.

    Parameters
    ----------
    tol : float
        With 0, never: every projection gets all sweeps.

    Examples
    --------
    >>> from tensorcrp.solver import SmallGain
    >>> SmallGain(0.1)([1.0, 1.5, 1.9, 2.0], 2), SmallGain(0.3)([1.0, 1.9, 2.0], 2)
    (False, False)
    >>> SmallGain(0.3)([1.0, 1.5, 1.9, 2.0], 2)
    True
    """

    def __init__(self, tol: float) -> None:
        self.tol = tol

    def __call__(self, history: Sequence[float], n_modes: int) -> bool:
        """Whether to stop after this history of J, the start first."""
        if not self.tol or len(history) <= n_modes:
            return False
        last = history[-1]
        return last - history[-1 - n_modes] <= self.tol * abs(last)


class Ascent:
    """Block ascent of B lanes on one component; a lane that is done drops out.

    Factors have unit columns; `weights` (B, k) belong to the columns of W. They are
    those of W' where there is a metric, see `metric`.

    Parameters
    ----------
    problem : Problem
    found : Found
    which : ndarray of int, shape (B,)
        The sequence of projections that each lane belongs to.
    factors : list of ndarray (B, l_m, k)
        Where to begin.
    """

    def __init__(self, problem: Problem, found: Found, which, factors):
        B = len(factors[0])
        self.problem, self.found, self.which = problem, found, which
        self.factors = [unit_columns(factor) for factor in factors]
        self.weights = np.prod([column_norms(factor) for factor in factors], axis=0)
        self.objective, self.begun = np.full(B, -np.inf), None
        self.scores = [rows.no_scores(B) for rows in problem.rows]
        self.history = [[] for _ in range(B)]
        self.n_iter = np.zeros(B, int)
        self.converged = np.zeros(B, bool)

    def steps(self, max_iter, stop):
        """Sweep over the modes until `stop` says so; None never does.

        Yields
        ------
        factors : list of ndarray (B, l_m, k)
            Of the lanes that are not done, as the data are contracted with them.
        which : ndarray of int, shape (B,)
            The sequences of projections that these lanes belong to.
        left : bool
            The side whose modes are next. What the generator is sent are the products
            of both kinds of rows with the other side, see `DeflatedRows.begin`.
        """
        active, problem = np.arange(len(self.which)), self.problem
        self.begun = None if stop is None else np.zeros(len(active))
        for _ in range(max_iter):
            self.n_iter[active] += 1
            for left, modes in groupby(problem.order_of_modes, key=problem.is_left):
                products = yield self._raw(active), self.which[active], left
                for mode in modes:
                    self._update(active, mode, products)
                if stop is not None:
                    active = active[~self._done(active, stop)]
                if not len(active):
                    return

    def _raw(self, active):
        """Factors of some lanes, as raw data are contracted with them."""
        factors, roots = self._some(active), self.problem.block_roots
        return factors if roots is None else roots.raw(self.which[active], factors)

    def _some(self, active):
        """Factors of some lanes."""
        lanes = consecutive(active)
        return [factor[lanes] for factor in self.factors]

    def _done(self, active, stop):
        """Which lanes are done: (B,)."""
        N, done = len(self.factors), np.zeros(len(active), bool)
        for i, lane in enumerate(active):
            done[i] = stop([self.begun[lane], *self.history[lane]], N)
        self.converged[active] = done
        return done

    def accept(self):
        """Take the start as it is: at order 1 its first column is the projection."""
        which, found = self.which, self.found
        u = found.orthogonal(which, self.factors[0][:, :, 0])
        blocks = [rows.projected(u, which) for rows in self.problem.rows]
        white = unit = np.ones((len(u), 1, 1))
        self._keep(np.arange(len(u)), 0, u, white, blocks, unit[:, 0])
        self.n_iter[:], self.converged[:] = 1, True

    def _update(self, active, mode, products):
        """One exact block update of every active lane."""
        factors = self._some(active)
        # ||W||_F is the plain norm in white coordinates, so the ridge is lambda I in
        # every block; lambda I on U^(m) itself would be another objective per mode.
        white, back = whitening(factors, mode)
        which, found, roots = self.which[active], self.found, self.problem.block_roots
        overlaps = None
        if not self.problem.has_copies:
            overlaps = found.overlaps(which, factors, mode, white)
        root = None if roots is None else roots.root(which, mode)
        raw = factors if roots is None else roots.raw(which, factors)
        view = BlockView(raw, mode, white, overlaps, which, root)
        blocks = [
            rows.block(product, view)
            for rows, product in zip(self.problem.rows, products, strict=True)
        ]
        if self.begun is not None and not self.history[active[0]]:
            # A good start is known by how little the first sweep adds to it.
            U = factors[mode] * self.weights[active][:, None] @ back
            u = U.transpose(0, 2, 1).reshape(len(U), -1)
            self.begun[active] = self._value(active, blocks, u, (u**2).sum(axis=1))
        u = self.problem.objective.maximise(*blocks, found.lambdas[which])
        self._keep(active, mode, u, white, blocks, u)

    def _value(self, active, blocks, u, squares=1.0):
        """J of each lane for blocks u (B, d) and ``||W||_F^2`` (B,)."""
        top, bottom = (block.energy(u) for block in blocks)
        ridges = squares * self.found.lambdas[self.which[active]]
        return self.problem.objective.value(top, bottom + ridges)

    def _keep(self, active, mode, u, white, blocks, coordinates):
        """Take the new factor of each lane unless rounding made J smaller.

        The block update is exact, so only nearly collinear columns can do that.
        """
        J = self._value(active, blocks, coordinates)
        better = J >= self.objective[active]
        lanes, better = active[better], slice(None) if better.all() else better
        U = u.reshape(len(u), white.shape[2], -1).transpose(0, 2, 1)[better]
        if len(self.factors) == 2:
            # u (V T)^T is the same matrix as (u T^T) V^T, but V T has orthonormal
            # columns: nearly collinear ones are not handed from factor to factor.
            other = self.factors[1 - mode]
            turned = other[consecutive(lanes)] @ white[better]
            self.factors[1 - mode] = _replaced(other, lanes, turned)
        else:
            U = U @ white[better].transpose(0, 2, 1)
        self.factors[mode] = _replaced(self.factors[mode], lanes, unit_columns(U))
        self.weights = _replaced(self.weights, lanes, column_norms(U))
        self.objective = _replaced(self.objective, lanes, J[better])
        self.scores = [
            _replaced(scores, lanes, block.scores(coordinates)[better])
            for scores, block in zip(self.scores, blocks, strict=True)
        ]
        for lane, value in zip(active, self.objective[active], strict=True):
            self.history[lane].append(value)


def _replaced(array, lanes, new):
    """An array whose lanes, in rising order, are replaced."""
    if len(lanes) == len(array):
        return new
    array = array.copy()
    array[lanes] = new
    return array


def climb(ascents, max_iter, stop):
    """Maximise J, at order 1 by the start alone.

    Ascents of several ranks go in lockstep: they ask for the same side at the same
    time, and one pass over the data serves the columns of all.
    """
    problem = ascents[0].problem
    if problem.is_direct:
        for ascent in ascents:
            ascent.accept()
        return
    running = [ascent.steps(max_iter, stop) for ascent in ascents]
    asked = [next(steps) for steps in running]
    while running:
        factors, which, (left, *_) = zip(*asked, strict=True)
        both = [rows.begin(factors, left, which) for rows in problem.rows]
        products = zip(*both, strict=True)
        answers = [_sent(*each) for each in zip(running, products, strict=True)]
        running = [each for each, more in zip(running, answers, strict=True) if more]
        asked = [more for more in answers if more]


def _sent(steps, products):
    """What a generator asks for next, or None at its end."""
    try:
        return steps.send(products)
    except StopIteration:
        return None
