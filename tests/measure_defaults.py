"""Regret of every setting of TensorCRP over the real data sets: choice of the defaults.

    TENSORCRP_DATA=... python tests/measure_defaults.py [NAME ...]

For 5 and 10 training samples per class (where there are as many), 1-NN accuracy on
test samples over `reg`, stopping (`tol`, `max_iter`) and `n_components`; the mean of
two random splits. The regret of a setting on a set is what it loses against the best
setting *on the same test samples*, so the best is selected on test data: it is a bound,
not a result. Defaults are those with the smallest worst regret. Times are processor
times in units of the cheapest stopping rule, in the same run. Not a test.
"""

import sys
import time
import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.neighbors import KNeighborsClassifier
from splits import NAMES, load, split
from threadpoolctl import threadpool_limits

from tensorcrp import ClassScatter
from tensorcrp.solver import Spec, fit_path

REGS = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
STOPS = ((0.3, 20), (0.1, 20), (0.03, 20), (0.01, 20), (0.0, 1), (0.0, 5))
MULTIPLES = (1, 2, 3)  # of c - 1
REPEATS = 2


def accuracies(X, y, train, test, stop):
    """Accuracy (reg, multiple) of one stopping rule, and its processor time."""
    n_others = len(np.unique(y)) - 1
    sizes = [min(m * n_others, X[0].size) for m in MULTIPLES]
    start = time.process_time()
    scatter = ClassScatter.from_samples(X[train], y[train])
    spec = Spec(max(sizes), regs=REGS, tol=stop[0], max_iter=stop[1])
    models = fit_path(scatter, spec)
    seconds = time.process_time() - start
    scores = np.zeros((len(REGS), len(sizes)))
    for r, model in enumerate(models):
        features = model.transform(X[train]), model.transform(X[test])
        for s, size in enumerate(sizes):
            classifier = KNeighborsClassifier(1).fit(features[0][:, :size], y[train])
            scores[r, s] = classifier.score(features[1][:, :size], y[test])
    return scores, seconds


def study(name, per_class):
    """Mean accuracy (stop, reg, multiple) and processor times (stop,)."""
    X, y, groups = load(name)
    X = X.astype(float)
    runs = [
        [accuracies(X, y, *split(y, groups, per_class, seed), stop) for stop in STOPS]
        for seed in range(REPEATS)
    ]
    scores = np.mean([[run[0] for run in repeat] for repeat in runs], axis=0)
    return scores, np.sum([[run[1] for run in repeat] for repeat in runs], axis=0)


def main(names):
    """Print each set as it is done, then the regret of every setting."""
    warnings.simplefilter("ignore", ConvergenceWarning)
    regrets, seconds = [], []
    with threadpool_limits(1):
        for name in names or NAMES:
            y = load(name)[1]
            enough = np.unique(y, return_counts=True)[1].min()
            for per_class in [n for n in (5, 10) if n < enough]:
                scores, times = study(name, per_class)
                best = np.unravel_index(scores.argmax(), scores.shape)
                stop, reg, multiple = (
                    each[i]
                    for each, i in zip((STOPS, REGS, MULTIPLES), best, strict=True)
                )
                print(
                    f"{name}, {per_class} per class: best {100 * scores.max():.1f} "
                    f"with reg={reg:g}, tol={stop[0]:g}, max_iter={stop[1]}, "
                    f"n_components={multiple} (c - 1)",
                    flush=True,
                )
                regrets.append(100 * (scores.max() - scores))
                seconds.append(times / times.min())
    report(np.array(regrets), np.array(seconds))
    print(f"\n{time.process_time() / 60:.0f} minutes of processor time")


def report(regrets, seconds):
    """Worst and mean regret, the best 25 settings first, and the chosen defaults."""
    worst, mean, cost = regrets.max(axis=0), regrets.mean(axis=0), seconds.mean(axis=0)
    print("\n| reg | tol | max_iter | n_components | worst regret | mean | time |")
    print("|---|---|---|---|---|---|---|")
    for flat in np.argsort(worst, axis=None)[:25]:
        s, r, m = np.unravel_index(flat, worst.shape)
        print(
            f"| {REGS[r]:g} | {STOPS[s][0]:g} | {STOPS[s][1]} | {MULTIPLES[m]} (c - 1) "
            f"| {worst[s, r, m]:.1f} | {mean[s, r, m]:.1f} | {cost[s]:.1f} |"
        )
    print("\nby stopping rule, at reg=0.3 and 2 (c - 1):")
    for s, (tol, max_iter) in enumerate(STOPS):
        r, m = REGS.index(0.3), MULTIPLES.index(2)
        print(
            f"| {tol:g} | {max_iter} | {worst[s, r, m]:.1f} | {mean[s, r, m]:.1f} "
            f"| {cost[s]:.1f} |"
        )


if __name__ == "__main__":
    main(sys.argv[1:])
