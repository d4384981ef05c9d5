"""Where block ascent begins.

In: the shape ``(l_1, ..., l_N)`` and rank k, and for the start ``"lda"`` the data.
Out: factors ``(B, l_m, k)`` for B lanes.

The start ``"lda"`` is the maximiser of J over *all* tensors (`directions`), cut to
rank k.
"""

from copy import deepcopy
from functools import partial
from itertools import chain, cycle, islice

import numpy as np

from tensorcrp.solver.cp import cp_truncate
from tensorcrp.solver.directions import ridge_directions

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
INITS = ("lda", *STARTS)


class Starter:
    """Start factors (B, l_m, k) of every component, for all lanes.

    Parameters
    ----------
    problem : Problem
    found : Found
    init : str, callable or list of ndarray (l_m, k)
    n_init : int
        Starts of each lane; all but the first are random.
    rng : numpy.random.RandomState or None
    """

    def __init__(self, problem, found, init, n_init, rng):
        self.shape, self.init, self.n_init = problem.shape, init, n_init
        self.ranks = list(dict.fromkeys(found.ranks.tolist()))
        # Every rank has the random numbers that it would have alone.
        self.rngs = [rng, *(deepcopy(rng) for _ in self.ranks[1:])]
        self.directions = None
        if problem.is_direct or init == "lda":
            share = 0.0 if problem.is_direct else START_RIDGE
            self.directions = ridge_directions(problem, found, share)

    def lanes(self, found):
        """Pairs of the sequences that lanes belong to, and their factors, per rank.

        Lanes of one sequence are consecutive; random starts are shared by sequences.
        """
        w = None if self.directions is None else self.directions.directions(found)
        for rank, rng in zip(self.ranks, self.rngs, strict=True):
            which = np.flatnonzero(found.ranks == rank)
            same = partial(_same, len(which), self.shape, rank, rng)
            first = same(self._start()) if w is None else self._lda(w[which], rank)
            more = [same(random_start) for _ in range(self.n_init - 1)]
            factors = [
                np.stack(lanes, axis=1).reshape(-1, *lanes[0].shape[1:])
                for lanes in zip(first, *more, strict=True)
            ]
            yield np.repeat(which, self.n_init), factors

    def deflate(self, found):
        """Follow the component that was found last."""
        if self.directions is not None:
            self.directions.deflate(found)

    def _start(self):
        """A function of shape, rank and source of random numbers."""
        if isinstance(self.init, str):
            return STARTS[self.init]
        given = self.init if callable(self.init) else lambda *_: self.init
        return lambda *args: check_factors(given(*args), *args[:2])

    def _lda(self, w, rank):
        """Directions (B, P) cut to rank k; the identity where nothing is left."""
        sizes = np.abs(w).max(axis=1, keepdims=True)  # of any scale, as the data are
        w = w / np.where(sizes > 0, sizes, 1.0)
        factors = cp_truncate(w.reshape(-1, *self.shape), rank)
        lost = ~(np.linalg.norm(w, axis=1) > 0)  # nothing left to separate
        if lost.any():
            identity = _same(len(w), self.shape, rank, None, identity_start)
            for factor, safe in zip(factors, identity, strict=True):
                factor[lost] = safe[lost]
        return factors


def check_factors(factors, shape, rank):
    """Given start factors as arrays, or an error that lists the shapes."""
    wanted = [(size, rank) for size in shape]
    try:
        factors = [np.array(factor, float) for factor in factors]
        got = [factor.shape for factor in factors]
    except (TypeError, ValueError):
        got = repr(factors)
    if got != wanted:
        raise ValueError(
            f"init must be one of {INITS} or give one array (l_m, rank) of numbers per "
            f"mode, of shapes {wanted}; got {got}."
        )
    if not all(np.isfinite(factor).all() and factor.any() for factor in factors):
        raise ValueError("init gives factors with NaN, infinity or only zeros.")
    return factors


def _same(count, shape, rank, rng, start):
    """Factors (count, l_m, k) of one start for so many lanes."""
    factors = start(shape, rank, rng)
    return [np.repeat(np.array(f, float)[None], count, axis=0) for f in factors]
