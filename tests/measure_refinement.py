"""Two refinements of the solver, written outside it: a joint pass and sparse factors.

    TENSORCRP_DATA=... python tests/measure_refinement.py [NAME ...]

5 training samples per class, 5 random splits, at most 500 test samples, 1-NN on the
features of rank 2 with ``2 (c - 1)`` projections, 24 at most; images are halved by
means of 2 x 2 pixels where both modes have more than 24 entries. `joint`: once all
projections are known, each is updated again on rows without the span of all others, and
kept if the summed objective rises. `sparse`: every block update is followed by a soft
threshold, a share of the largest entry. Nothing is chosen by accuracy. Not a test.
"""

import sys
from time import process_time

import numpy as np
from sklearn.neighbors import KNeighborsClassifier
from splits import load, split
from threadpoolctl import threadpool_limits

from tensorcrp import ClassScatter
from tensorcrp.solver import DiscriminantRatio, solve
from tensorcrp.solver.cp import cp_dense
from tensorcrp.solver.deflation import feature_rows

NAMES = "usps binalpha mnist5k umist orl cmu_faces basic_motions eeg_finger".split()
SHARES = (0.1, 0.3)
HOW = {"rank": 2, "max_iter": 3, "tol": 0}


class SoftThreshold(DiscriminantRatio):
    """Blocks of largest J, their entries moved towards zero by a share of the largest.

    At order 2 a block is the factor of its mode, and the other one is orthonormal. A
    thresholded block has a smaller J, and would be rejected: the value counts updates.
    """

    def __init__(self, share):
        super().__init__()
        self.share, self.count = share, 0

    def value(self, between, within):
        self.count += 1
        return np.full(len(between), float(self.count))

    def maximise(self, between, within, lambdas):
        u = super().maximise(between, within, lambdas)
        size = np.abs(u)
        size = np.maximum(size - self.share * size.max(axis=1, keepdims=True), 0.0)
        return np.sign(u) * size / np.linalg.norm(size, axis=1, keepdims=True)


def dense(factors):
    """Unit projections (h, P)."""
    W = cp_dense(factors).reshape(len(factors[0]), -1)
    return W / np.linalg.norm(W, axis=1, keepdims=True)


def total(rows, lam, W):
    """The summed objective of projections one after the other, with deflation."""
    found, (between, within) = 0.0, [each.copy() for each in rows]
    for w in W:
        scores = between @ w, within @ w
        found += (scores[0] @ scores[0]) / (scores[1] @ scores[1] + lam)
        between -= np.outer(scores[0], w)
        within -= np.outer(scores[1], w)
    return found


def joint(between, within, lam, factors, passes=2):
    """Factors after updates of each projection beside all others."""
    shape, rows = between.shape[1:], [r.reshape(len(r), -1) for r in (between, within)]
    best = total(rows, lam, dense(factors))
    for p in list(range(len(factors[0]))) * passes:
        others, _ = np.linalg.qr(np.delete(dense(factors), p, axis=0).T)
        left = [(r - (r @ others) @ others.T).reshape(-1, *shape) for r in rows]
        init = [factor[p] for factor in factors]
        (found,) = solve(*left, [lam], n_components=1, init=init, **HOW)
        trial = [factor.copy() for factor in factors]
        for old, new in zip(trial, found.factors, strict=True):
            old[p] = new[0]
        value = total(rows, lam, dense(trial))
        if value > best:
            best, factors = value, trial
    return factors


def variants(between, within, lam, h):
    """Factors by name."""
    rows, how = (between, within, [lam]), HOW | {"n_components": h}
    plain = solve(*rows, **how)[0].factors
    found = {"one by one": plain, "joint": joint(between, within, lam, plain)}
    for share in SHARES:
        (result,) = solve(*rows, objective=SoftThreshold(share), **how)
        found[f"sparse {share}"] = result.factors
    return found


def run(X, y, train, test):
    """Accuracy, summed objective and share of zeros, by variant."""
    scatter = ClassScatter.from_samples(X[train], y[train])
    rows = scatter.between("classes"), np.asarray(scatter.root)
    lam, h = scatter.ridge(0.3), min(24, 2 * (len(scatter.classes) - 1))
    flat, outcomes = X.reshape(len(X), -1), {}
    for name, factors in variants(*rows, lam, h).items():
        W = dense(factors)
        features = flat @ feature_rows(W).T
        classifier = KNeighborsClassifier(1).fit(features[train], y[train])
        J = total([each.reshape(len(each), -1) for each in rows], lam, W)
        zeros = np.mean([np.mean(factor == 0) for factor in factors])
        outcomes[name] = 100 * classifier.score(features[test], y[test]), J, 100 * zeros
    return outcomes


def halved(X):
    """Means of 2 x 2 entries, if both modes are long."""
    if min(X.shape[1:]) <= 24:
        return X
    n, a, b = X.shape
    return X[:, : a // 2 * 2, : b // 2 * 2].reshape(n, a // 2, 2, -1, 2).mean((2, 4))


def study(name):
    """One line of the table."""
    X, y, groups = load(name)
    X, runs = halved(X.astype(float)), []
    for seed in range(5):
        runs.append(run(X, y, *split(y, groups, 5, seed, most=500)))
    cells = []
    for kind in runs[0]:
        scores, J, zeros = np.transpose([each[kind] for each in runs])
        gain = 100 * (J / [each["one by one"][1] for each in runs] - 1).mean()
        cells.append(
            f"{scores.mean():.1f} ± {scores.std(ddof=1):.1f} "
            f"(J {gain:+.0f} %, {zeros.mean():.0f} % zeros)"
        )
    return f"| {name} | " + " | ".join(cells) + " |"


if __name__ == "__main__":
    kinds = ["set", "one by one", "joint", *(f"sparse {share}" for share in SHARES)]
    print("| " + " | ".join(kinds) + " |\n|" + " --- |" * len(kinds), flush=True)
    with threadpool_limits(1):
        for each in sys.argv[1:] or NAMES:
            print(study(each), flush=True)
    print(f"\n{process_time():.0f} s of processor time")
