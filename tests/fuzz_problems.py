"""Random small problems by the thousand: monotone, finite, no undocumented error.

    python tests/fuzz_problems.py --count 100000

A problem is random in everything: order, sizes, class sizes, type and scale of the
entries, offsets, repeated samples, constant entries, ties, weights, batches, and the
parameters of TensorCRP. For each, the objective must not fall in any block update by
more than rounding, all that was fitted and all features must be finite, and the only
exceptions are those that the documentation names: too few classes, nothing that varies
within them, and a singular scatter with reg=0. Prints the counts and the worst relative
decrease; ``--first N`` goes on from problem N.
"""

import argparse
import sys
import warnings
from collections import Counter
from dataclasses import dataclass, field
from math import prod

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from tensorcrp import TensorCRP

# A block update is exact; rounding may take this share of J away.
ROUNDING = 1e-9
DOCUMENTED = {
    "fewer than two classes": "one class",
    "nothing varies within": "nothing within the classes",
    "singular within-class scatter": "singular, reg=0",
}


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
        [None, "paper", *rng.integers(1, most + 1, 6).tolist()][rng.integers(8)],
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


@dataclass
class Tally:
    """What came out of the problems so far."""

    counts: Counter = field(default_factory=Counter)
    worst: tuple = (0.0, None)
    failures: list = field(default_factory=list)

    def add(self, number):
        problem = make(number)
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("error")
                warnings.simplefilter("ignore", ConvergenceWarning)
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

    def _refused(self, number, error):
        known = [k for words, k in DOCUMENTED.items() if words in str(error)]
        if known and isinstance(error, ValueError):
            self.counts[known[0]] += 1
        else:
            self.failures.append((number, repr(error)[:200]))

    def _check(self, number, model, features):
        for history in model.objective_:
            if len(history) > 1 and history[-1] > 0:
                drop = np.max((history[:-1] - history[1:]) / history[-1])
                self.worst = max(self.worst, (float(drop), number), key=lambda w: w[0])
                if drop > ROUNDING:
                    self.failures.append((number, f"J falls by {drop:.2g}"))
        arrays = [features, model.projections_, *model.factors_, *model.objective_]
        if not all(np.isfinite(each).all() for each in arrays):
            self.failures.append((number, "not finite"))

    def report(self):
        total = sum(self.counts.values()) + len(self.failures)
        drop, number = self.worst
        lines = [f"{total} problems, {len(self.failures)} failures"]
        lines += [f"  {count:7d} {name}" for name, count in self.counts.most_common()]
        where = "" if number is None else f" (problem {number})"
        lines += [f"worst relative decrease of the objective {drop:.2g}{where}"]
        lines += [f"FAILURE {failure}" for failure in self.failures[:20]]
        return "\n".join(lines)


def run(count, first=0, progress=False):
    tally = Tally()
    for number in range(first, first + count):
        tally.add(number)
        if progress and (number + 1) % 500 == 0:
            print(
                f"\r{number + 1 - first}/{count}", end="", file=sys.stderr, flush=True
            )
    return tally


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--first", type=int, default=0)
    arguments = parser.parse_args()
    tally = run(arguments.count, arguments.first, progress=True)
    print("\n" + tally.report())
    sys.exit(bool(tally.failures))


if __name__ == "__main__":
    main()
