"""Where block ascent begins.

In: the shape ``(l_1, ..., l_N)`` and rank k, and for the start ``"lda"`` the data.
Out: factors ``(B, l_m, k)`` for B lanes.

The start ``"lda"`` is the maximiser of J over *all* tensors (`directions`), cut to
rank k. Starts that users give, and factors of an earlier fit, are in the coordinates of
the samples, ``U = S U'``; all others are in those of the metric.
"""

from copy import deepcopy
from functools import partial
from itertools import chain, cycle, islice

import numpy as np

from tensorcrp.solver.cp_form import cp_truncate
from tensorcrp.solver.directions import ridge_directions
from tensorcrp.solver.given import start_function

# Least ridge of a start, in mean squares of the rows: rounding is divided by it.
START_RIDGE = 1e-4


def identity_start(shape, rank, rng):
    """The paper's ``I(l_2, k)`` for any order; the first mode is updated first.

    Column r of every other mode is the unit vector r. Beyond the shortest mode the
    columns go through the remaining combinations of unit vectors, so that a short
    mode (three colours, one channel) does not shut the later columns off.
    """
    first, *rest = shape
    shortest = min(rest, default=1)
    diagonal = ((r,) * len(rest) for r in range(shortest))
    others = (index for index in np.ndindex(*rest) if len(set(index)) > 1)
    index = list(islice(cycle(chain(diagonal, others)), rank))
    factors = [np.eye(first, rank)]
    for size, rows in zip(rest, zip(*index, strict=True), strict=True):
        factor = np.zeros((size, rank))
        factor[rows, np.arange(rank)] = 1.0
        factors.append(factor)
    return factors


def random_start(shape, rank, rng):
    """Independent normal entries."""
    return [rng.standard_normal((size, rank)) for size in shape]


STARTS = {"identity": identity_start, "random": random_start}


class Starter:
    """Start factors (B, l_m, k) of every component, for all lanes.

    Parameters
    ----------
    problem : Problem
    found : Found
    spec : Spec
        Its `init`, `n_init`, `warm` and `n_components`.
    rng : numpy.random.RandomState or numpy.random.Generator
    """

    def __init__(self, problem, found, spec, rng):
        self.shape, self.roots = problem.shape, problem.roots
        self.init, self.n_init, self.warm = spec.init, spec.n_init, spec.warm
        self.ranks = list(dict.fromkeys(found.ranks.tolist()))
        # Every rank has the random numbers that it would have alone.
        self.rngs = [rng, *(deepcopy(rng) for _ in self.ranks[1:])]
        self.given = None
        if not isinstance(self.init, str):
            of_rank = partial(start_function, self.init, self.shape)
            self.given = {k: of_rank(k, spec.n_components) for k in self.ranks}
        self.covered = _covers(self.warm, spec.n_components, max(self.ranks))
        self.directions = None
        if problem.is_direct or (self.init == "lda" and not self.covered):
            share = 0.0 if problem.is_direct else START_RIDGE
            self.directions = ridge_directions(problem, found, share)

    def lanes(self, found):
        """Pairs of the sequences that lanes belong to, and their factors, per rank.

        Lanes of one sequence are consecutive; random starts are shared by sequences.
        """
        w = None if self.directions is None else self.directions.directions(found)
        for rank, rng in zip(self.ranks, self.rngs, strict=True):
            which = np.flatnonzero(found.ranks == rank)
            first = self._usual(w, which, rank, rng, found.count)
            self._warm_up(first, which, found.count)
            more = [
                _same(len(which), random_start(self.shape, rank, rng))
                for _ in range(self.n_init - 1)
            ]
            factors = [
                np.stack(lanes, axis=1).reshape(-1, *lanes[0].shape[1:])
                for lanes in zip(first, *more, strict=True)
            ]
            yield np.repeat(which, self.n_init), factors

    def deflate(self, found):
        """Follow the component that was found last."""
        if self.directions is not None:
            self.directions.deflate(found)

    def _usual(self, w, which, rank, rng, component):
        """The start that `init` means, (B, l_m, k) per mode."""
        if w is not None:
            return self._lda(w[which], rank)
        if self.covered:
            return [np.zeros((len(which), size, rank)) for size in self.shape]
        if self.given is None:
            return _same(len(which), STARTS[self.init](self.shape, rank, rng))
        return self._primed(which, self.given[rank](rng, component))

    def _warm_up(self, factors, which, component):
        """Put the columns that an earlier fit has in place of those of `factors`."""
        if self.warm is None or component >= len(self.warm[0]):
            return
        rank = factors[0].shape[2]
        old = [factor[component, :, :rank] for factor in self.warm]
        # A null column would stay null in block ascent.
        columns = np.flatnonzero(_alive(old))
        for factor, earlier in zip(factors, self._primed(which, old), strict=True):
            factor[:, :, columns] = earlier[:, :, columns]

    def _primed(self, which, factors):
        """Factors (l_m, k) of samples as those of some lanes' metrics, (B, l_m, k)."""
        lanes = _same(len(which), factors)
        return lanes if self.roots is None else self.roots.primed(which, lanes)

    def _lda(self, w, rank):
        """Directions (B, P) cut to rank k; the identity where nothing is left."""
        sizes = np.abs(w).max(axis=1, keepdims=True)  # of any scale, as the data are
        w = w / np.where(sizes > 0, sizes, 1.0)
        if len(self.shape) == 1:  # as it is
            factors = [w[:, :, None]]
        else:
            factors = cp_truncate(w.reshape(-1, *self.shape), rank)
        lost = ~(np.linalg.norm(w, axis=1) > 0)  # nothing left to separate
        if lost.any():
            identity = _same(len(w), identity_start(self.shape, rank, None))
            for factor, safe in zip(factors, identity, strict=True):
                factor[lost] = safe[lost]
        return factors


def _alive(factors):
    """Which columns of factors (..., l_m, k) are null in no mode: (..., k)."""
    return np.all([factor.any(axis=-2) for factor in factors], axis=0)


def _covers(warm, n_components, rank):
    """Whether an earlier fit has every column of every component."""
    if warm is None or len(warm[0]) < n_components or warm[0].shape[2] < rank:
        return False
    return bool(_alive([f[:n_components, :, :rank] for f in warm]).all())


def _same(count, factors):
    """Factors (count, l_m, k): one start (l_m, k) for `count` lanes."""
    return [np.repeat(np.array(f, float)[None], count, axis=0) for f in factors]
