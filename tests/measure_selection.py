"""TensorCRPCV beside ridge LDA whose ridge is chosen by the same folds, on real data.

    TENSORCRP_DATA=... python tests/measure_selection.py [--repeats 5] [NAME ...]

Five training samples per class, as many random splits as asked for, at most 1,500 test
samples; 1-NN on the features. Everything is chosen on the training samples. Ridge LDA
is TensorCRPCV with ``ranks=("full",)``: the same ridges, numbers of components and
folds. The standard error is that of the mean difference over the splits. Not a test.
"""

import argparse
import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from splits import NAMES, load, split
from threadpoolctl import threadpool_limits

from tensorcrp import TensorCRP, TensorCRPCV

METHODS = {
    "TensorCRPCV": lambda: TensorCRPCV(),
    "ridge LDA, CV": lambda: TensorCRPCV(ranks=("full",)),
    "TensorCRP()": lambda: TensorCRP(),
}


def accuracy(model, X, y, train, test):
    """1-NN accuracy on test samples."""
    model.fit(X[train], y[train])
    if hasattr(model, "score"):
        return model.score(X[test], y[test])
    Z, T = (model.transform(X[i]) for i in (train, test))
    nearest = ((T[:, None] - Z[None]) ** 2).sum(axis=2).argmin(axis=1)
    return np.mean(y[train][nearest] == y[test])


def study(name, repeats, per_class=5):
    """Accuracies (method, repeat) in per cent."""
    X, y, groups = load(name)
    X = X.astype(float)
    splits = [split(y, groups, per_class, seed) for seed in range(repeats)]
    return 100 * np.array(
        [[accuracy(make(), X, y, *s) for s in splits] for make in METHODS.values()]
    )


def main(names, repeats):
    """Print a line per set and the mean over all sets."""
    warnings.simplefilter("ignore", ConvergenceWarning)
    print("| set | " + " | ".join(METHODS) + " | difference | standard error | |")
    print("|" + "---|" * (len(METHODS) + 4))
    means = []
    with threadpool_limits(1):
        for name in names or NAMES:
            scores = study(name, repeats)
            gap = scores[0] - scores[1]
            error = gap.std(ddof=1) / np.sqrt(len(gap))
            within = "ahead or within one" if gap.mean() >= -error else "behind"
            cells = [f"{each.mean():.1f} +- {each.std(ddof=1):.1f}" for each in scores]
            cells += [f"{gap.mean():+.1f}", f"{error:.1f}", within]
            print(f"| {name} | " + " | ".join(cells) + " |", flush=True)
            means.append(scores.mean(axis=1))
    mean = np.mean(means, axis=0)
    print(
        "| **mean** | "
        + " | ".join(f"{each:.1f}" for each in mean)
        + f" | {mean[0] - mean[1]:+.1f} | | |"
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*")
    parser.add_argument("--repeats", type=int, default=5)
    main(**vars(parser.parse_args()))
