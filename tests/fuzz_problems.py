"""Random small problems by the thousand: monotone, finite, no undocumented error.

    python tests/fuzz_problems.py --count 100000

A problem is random in everything: order, sizes, class sizes, type and scale of the
entries, offsets, repeated samples, constant entries, ties, weights, batches, and the
parameters of TensorCRP. For each, the objective must never fall, all that was fitted
and all features must be finite, and the only exceptions and warnings are those that the
documentation names: too few classes, nothing that varies within them, a singular
scatter with reg=0; no convergence, float32 behind large means, constant features.

The solver refuses a block update that would lower J, so what it keeps proves little:
J is recorded before that as well. What an exact update loses is rounding, and must not
be more than LIMIT times what a first-order estimate of it says (`rounding`); nor may
the J that a projection is reported with be further from the J of the dense projection
on densely deflated rows. Where the estimate itself is above NOISE of J, nothing is left
to separate or the ridge is below the rounding of the scatter; that is counted apart.

Prints the counts and the worst relative decreases; ``--first N`` begins at problem N,
``--jobs 2`` uses two processes.
"""

import argparse
import sys
import warnings
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import prod
from multiprocessing import get_context

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from tensorcrp import TensorCRP
from tensorcrp.solver import path
from tensorcrp.solver.ascent import Ascent, SmallGain
from tensorcrp.solver.cp import NULL, cp_dense

DOCUMENTED = {
    "fewer than two classes": "one class",
    "nothing varies within": "nothing within the classes",
    "singular within-class scatter": "singular, reg=0",
    "contains infinity": "infinite entries (of float16)",
}
SINGLE = "features in float32 lose digits"
LIMIT, NOISE = 100, 1e-9
RANGE = 500  # problems that a process takes at a time


@dataclass
class Problem:
    """Samples, labels and an estimator."""

    X: np.ndarray
    y: np.ndarray
    model: TensorCRP
    weight: np.ndarray | None
    batches: int

    def fit(self):
        if self.batches == 1:
            return self.model.fit(self.X, self.y, self.weight)
        for part in np.array_split(np.arange(len(self.X)), self.batches):
            weight = None if self.weight is None else self.weight[part]
            self.model.partial_fit(self.X[part], self.y[part], weight)
        return self.model


def make(number):
    """The problem of a number, always the same."""
    rng = np.random.default_rng([number, 20160701])
    order = int(rng.choice([1, 2, 2, 3, 3, 4, 5]))
    largest = {1: 14, 2: 7, 3: 5, 4: 3, 5: 3}[order]
    shape = tuple(int(size) for size in rng.integers(1, largest + 1, order))
    counts = rng.integers(1, 9, rng.integers(1, 6))
    y = rng.permutation(np.repeat(np.arange(len(counts)), counts))
    X = entries(rng, (len(y), *shape), y)
    weight = rng.choice([0.0, 0.5, 1.0, 1e3], len(y)) if rng.random() < 0.15 else None
    if weight is not None and not weight.any():
        weight = None
    batches = int(rng.integers(2, 5)) if weight is None and rng.random() < 0.2 else 1
    return Problem(X, y, estimator(rng, shape), weight, min(batches, len(y)))


def entries(rng, size, y):
    kind = rng.choice(["normal", "whole", "low rank", "heavy tails", "zeros"])
    n, *shape = size
    X = {
        "normal": lambda: rng.standard_normal(size),
        "whole": lambda: rng.integers(-1, 2, size).astype(float),
        "low rank": lambda: (
            rng.standard_normal((n, 1)) @ rng.standard_normal((1, prod(shape)))
        ).reshape(size),
        "heavy tails": lambda: rng.standard_cauchy(size),
        "zeros": lambda: rng.standard_normal(size) * (rng.random(size) < 0.2),
    }[kind]()
    if rng.random() < 0.5:
        X += rng.standard_normal((y.max() + 1, *shape))[y]
    if rng.random() < 0.2:
        X[1::2] = X[: len(X) - 1 : 2]  # samples twice
    if rng.random() < 0.2:
        X[:, rng.random(shape) < 0.5] = 3.0
    if rng.random() < 0.2:
        X = X + 10.0 ** rng.integers(0, 5) * rng.standard_normal(shape)
    if rng.random() < 0.2:
        X = X * 10.0 ** rng.integers(-140, 140)
    elif rng.random() < 0.2:
        X = X.astype(rng.choice(["f4", "f2", "i2", "u1", "?"]))
    return X


def estimator(rng, shape):
    most = min(prod(shape), 6)
    return TensorCRP(
        [most, "paper", *rng.integers(1, most + 1, 6).tolist()][rng.integers(8)],
        rank=[int(rng.integers(1, 6)), "full"][int(rng.random() < 0.15)],
        reg=float(rng.choice([0.0, 1e-9, 1e-3, 0.3, 1.0, 1e3, 1e9])),
        reg_scale=str(rng.choice(["relative", "relative", "absolute"])),
        between=str(rng.choice(["classes", "samples"])),
        init=str(rng.choice(["lda", "identity", "random"])),
        n_init=int(rng.choice([1, 1, 3])),
        max_iter=int(rng.integers(1, 5)),
        tol=float(rng.choice([0.0, 1e-3, 0.1])),
        random_state=int(rng.integers(2**31)),
    )


VALUE = Ascent._value


@dataclass
class Watched:
    """What the solver did: block updates of all lanes, and projections found.

    The losses of updates that would lower J, and how far the J of projections is from
    what it should be, are pairs: the share of J, and the share that rounding may take.
    """

    count: int = 0
    losses: list = field(default_factory=list)
    errors: list = field(default_factory=list)
    start: np.ndarray | None = None  # numerators of the starts
    mixing: float = 1.0  # largest norm of white coordinates, for all projections so far

    def value(self, blocks, u):
        """Before `Ascent._value`, which is asked for the J of the start first."""
        self.start = blocks[0].energy(u)

    def keep(self, ascent, active, mode, u, white, blocks, coordinates):
        """Before `Ascent._keep`."""
        proposed = VALUE(ascent, active, blocks, coordinates)
        # At order 1 the start is the answer, and nothing is compared with it.
        starts = np.zeros(len(ascent.which)) if ascent.begun is None else ascent.begun
        for i, (lane, J) in enumerate(zip(active, proposed, strict=True)):
            self.count += 1
            self.mixing = max(self.mixing, np.linalg.norm(white[i]))
            begun = bool(ascent.history[lane])
            before = (ascent.objective if begun else starts)[lane]
            if J < before:
                last = np.sum(ascent.scores[0][lane] ** 2) if begun else self.start[i]
                share = rounding(ascent, lane, before, last, self.mixing)
                if not white[i].any(axis=0).all():  # null directions are cut off
                    share += NULL * np.linalg.norm(ascent.weights[lane])
                self.losses.append((1 - J / before, share))

    def climb(self, ascent):
        """After `climb`."""
        factors = [ascent.factors[0] * ascent.weights[:, None], *ascent.factors[1:]]
        for lane, W in enumerate(cp_dense(factors).reshape(len(ascent.which), -1)):
            numerator, J = true_objective(ascent, lane, W)
            share = rounding(ascent, lane, J, numerator, self.mixing)
            if J > 0:
                self.errors.append((abs(ascent.objective[lane] / J - 1), share))


@contextmanager
def watched_solver():
    """What the solver does meanwhile, as `Watched`."""
    keep, climb, watched = Ascent._keep, path.climb, Watched()

    def watched_keep(self, *arguments):
        watched.keep(self, *arguments)
        keep(self, *arguments)

    def watched_climb(ascents, max_iter, stop):
        if not ascents[0].found.count:
            watched.mixing = 1.0
        # Only a rule, if one that never stops, asks for J of the start.
        climb(ascents, max_iter, stop or SmallGain(0.0))
        for ascent in ascents:
            watched.climb(ascent)

    def watched_value(self, active, blocks, u, *squares):
        watched.value(blocks, u)
        return VALUE(self, active, blocks, u, *squares)

    Ascent._keep, path.climb = watched_keep, watched_climb
    Ascent._value = watched_value
    try:
        yield watched
    finally:
        Ascent._keep, path.climb, Ascent._value = keep, climb, VALUE


def true_objective(ascent, lane, W):
    """Numerator and J of a dense unit W (P,), on rows deflated one by one."""
    a, found = ascent.which[lane], ascent.found
    earlier = [
        cp_dense([factor[a, p : p + 1] for factor in found.factors]).ravel()
        for p in range(found.count)
    ]
    energies = []
    for rows in ascent.problem.rows:
        left = rows.rows.flat.astype(float)
        for V in earlier:
            left = left - np.outer(left @ V, V)
        energies.append(np.sum((left @ W) ** 2))
    numerator, denominator = energies[0], energies[1] + found.lambdas[a] * (W @ W)
    return numerator, numerator / denominator if denominator > 0 else 0.0


def rounding(ascent, lane, J, numerator, mixing):
    """Share of J that rounding may take when W is evaluated in other coordinates.

    A score of a row A is wrong by ``eps ||A||``, which counts against the root of the
    numerator; a factored scatter is wrong by ``eps`` times its trace, which counts
    against the denominator. Both grow with the column weights of W, ``||W|| = 1``, and
    with the norm of the white coordinates: columns that nearly cancel. What an earlier
    projection lacks of its digits is in the rows that it deflated.
    """
    if not numerator > np.finfo(float).tiny:
        return np.inf
    between, within = (rows.rows.flat for rows in ascent.problem.rows)
    eps = max(np.finfo(each.dtype).eps for each in (between, within))
    top, bottom = (np.sum(np.square(each, dtype=float)) for each in (between, within))
    bottom += ascent.found.lambdas[ascent.which[lane]]
    cancelling = max(np.linalg.norm(ascent.weights[lane]), mixing)
    with np.errstate(over="ignore"):  # to infinity: all is rounding
        shares = np.sqrt(top / numerator) + bottom / numerator * J
    return eps * cancelling * shares


WORST = {
    "kept": "of what was kept",
    "proposed": "of what was proposed",
    "in_roundings": "times the estimate of rounding",
    "in_noise": "where J is rounding itself",
    "reported": "between the J reported and the projection's",
}


@dataclass
class Tally:
    """What came out of some problems; the worst are pairs (share, problem)."""

    total: int = 0
    counts: Counter = field(default_factory=Counter)
    kept: tuple = (0.0, None)
    proposed: tuple = (0.0, None)
    in_noise: tuple = (0.0, None)
    in_roundings: tuple = (0.0, None)
    reported: tuple = (0.0, None)
    updates: Counter = field(default_factory=Counter)
    failures: list = field(default_factory=list)

    def add(self, number):
        self.total += 1
        problem = make(number)
        try:
            with warnings.catch_warnings(), watched_solver() as watched:
                warnings.simplefilter("error")
                warnings.simplefilter("ignore", ConvergenceWarning)
                warnings.filterwarnings("ignore", f".*{SINGLE}")
                warnings.filterwarnings("ignore", ".*features of TensorCRP are const")
                model = problem.fit()
                fitted = hasattr(model, "projections_")
                features = model.transform(problem.X) if fitted else None
        except Exception as error:
            self._refused(number, error)
            return
        if not fitted:
            self.counts["a stream that waits for samples"] += 1
            return
        self.counts["fitted"] += 1
        self._check(number, model, features)
        self._check_watched(number, watched)

    def _refused(self, number, error):
        known = [k for words, k in DOCUMENTED.items() if words in str(error)]
        if known and isinstance(error, ValueError):
            self.counts[known[0]] += 1
        else:
            self.failures.append((number, repr(error)[:200]))

    def _check(self, number, model, features):
        histories = [J for J in model.history_ if J[-1] > 0]
        drop = max(
            (np.max((J[:-1] - J[1:]) / J[-1], initial=0) for J in histories), default=0
        )
        self._note("kept", drop, number)
        if drop > 0:
            self.failures.append((number, f"J falls by {drop:.2g}"))
        arrays = [features, model.projections_, *model.factors_, *model.history_]
        if not all(np.isfinite(each).all() for each in arrays):
            self.failures.append((number, "not finite"))

    def _check_watched(self, number, watched):
        self.updates["all"] += watched.count
        self.updates["refused"] += len(watched.losses)
        for loss, rounding in watched.losses:
            if rounding > NOISE:
                self.updates["noise"] += 1
                self._note("in_noise", loss, number)
                continue
            self._note("proposed", loss, number)
            self._note("in_roundings", loss / rounding, number)
            if loss > LIMIT * rounding:
                words = f"an update loses {loss:.2g} of J, rounding is {rounding:.2g}"
                self.failures.append((number, words))
        for error, rounding in watched.errors:
            if rounding <= NOISE:
                self._note("reported", error, number)
                if error > LIMIT * rounding:
                    words = f"J is reported wrong by {error:.2g}, not {rounding:.2g}"
                    self.failures.append((number, words))

    def _note(self, name, share, number):
        if share > getattr(self, name)[0]:
            setattr(self, name, (float(share), number))

    def merge(self, later):
        """The problems of both, as if they had run one after the other."""
        for name in WORST:
            self._note(name, *getattr(later, name))
        self.total += later.total
        self.counts.update(later.counts)
        self.updates.update(later.updates)
        self.failures += later.failures

    def report(self):
        updates = self.updates
        lines = [f"{self.total} problems, {len(self.failures)} failures"]
        lines += [f"  {count:7d} {name}" for name, count in self.counts.most_common()]
        lines += [f"{updates['all']} block updates, {updates['refused']} refused"]
        lines += ["worst relative decrease of the objective"]
        for name, words in WORST.items():
            share, number = getattr(self, name)
            where = "" if number is None else f" (problem {number})"
            lines += [f"  {share:.2g} {words}{where}"]
        lines += [f"J was rounding itself in {updates['noise']} of the refused updates"]
        lines += [f"FAILURE {failure}" for failure in self.failures[:20]]
        return "\n".join(lines)


def run_range(numbers):
    tally = Tally()
    for number in numbers:
        tally.add(number)
    return tally


def run(count, first=0, jobs=1, progress=False):
    """The tally of problems first, ..., first + count - 1, however many the jobs."""
    end = first + count
    ranges = [range(i, min(i + RANGE, end)) for i in range(first, end, RANGE)]
    if jobs == 1:
        return _merged(map(run_range, ranges), count, progress)
    with get_context("spawn").Pool(jobs) as pool:
        return _merged(pool.imap(run_range, ranges), count, progress)


def _merged(parts, count, progress):
    total = Tally()
    for part in parts:
        total.merge(part)
        if progress:
            print(f"\r{total.total}/{count}", end="", file=sys.stderr, flush=True)
    return total


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    tally = run(options.count, options.first, options.jobs, progress=True)
    print("\n" + tally.report())
    sys.exit(bool(tally.failures))


if __name__ == "__main__":
    main()
