"""The ``tensorcrp`` command.

``tensorcrp compare`` fits TensorCRP to a few samples per class of scikit-learn's
digits, as 8x8 matrices, and prints the accuracy of a 1-nearest-neighbour classifier
on its features beside raw pixels and linear discriminant analysis.
"""

import argparse
import sys
import warnings

import numpy as np
from sklearn.datasets import load_digits
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from tensorcrp import TensorCRP, TensorCRPCV, __version__, bench
from tensorcrp._progress import progress


def methods():
    """Name -> unfitted classifier of (n, 8, 8); each ends in 1-NN.

    LDA has all its c - 1 components. Its shrinkage (Ledoit-Wolf) and the rank, ridge
    and size of TensorCRPCV are chosen on the training samples, nothing on test samples.
    """
    lda = LinearDiscriminantAnalysis
    return {
        "TensorCRP, rank 2": _judged(TensorCRP()),
        "TensorCRPCV": TensorCRPCV(),
        "raw pixels": _judged(_vectors()),
        "LDA": _judged(_vectors(), lda()),
        "LDA, shrinkage": _judged(_vectors(), lda(solver="eigen", shrinkage="auto")),
    }


def _judged(*steps):
    return make_pipeline(*steps, KNeighborsClassifier(1))


def _vectors():
    return FunctionTransformer(_flatten)


def _flatten(X):
    return X.reshape(len(X), -1)


def split(y, per_class, rng):
    """Training and test indices: `per_class` random samples of each class train."""
    order = rng.permutation(len(y))
    by_class = [order[y[order] == label] for label in np.unique(y)]
    train = np.concatenate([index[:per_class] for index in by_class])
    test = np.concatenate([index[per_class:] for index in by_class])
    return train, test


def compare(per_class, repeats, seed):
    """Accuracy of every method on random splits of the digits.

    Returns
    -------
    dict of name -> ndarray of shape (repeats,)
    """
    digits = load_digits()
    X, y = digits.images, digits.target
    scores = {name: np.zeros(repeats) for name in methods()}
    runs = [(repeat, name) for repeat in range(repeats) for name in scores]
    for repeat, name in progress(runs, "digits"):
        train, test = split(y, per_class, np.random.default_rng([seed, repeat]))
        with warnings.catch_warnings():
            # Few samples of 64 pixels: LDA warns that pixels are collinear.
            warnings.filterwarnings("ignore", "Variables are collinear")
            model = methods()[name].fit(X[train], y[train])
        scores[name][repeat] = model.score(X[test], y[test])
    return scores


def table(scores, per_class):
    """The scores as text, best mean first."""
    repeats = len(next(iter(scores.values())))
    title = (
        f"digits, 8x8: {per_class} training samples per class, {repeats} random splits"
        "\n"
        "accuracy of 1-NN on the features, mean and standard deviation in %\n"
    )
    ranked = sorted(scores.items(), key=lambda item: -item[1].mean())
    rows = [
        f"  {name:<18} {100 * s.mean():5.1f} +- {100 * s.std(ddof=1):.1f}"
        for name, s in ranked
    ]
    return "\n".join([title, *rows])


def main(argv=None):
    """Run the command; returns the exit code."""
    parser = argparse.ArgumentParser(prog="tensorcrp", description=__doc__)
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(dest="command", required=True)
    sub = commands.add_parser("compare", help="TensorCRP beside raw pixels and LDA")
    sub.add_argument("--per-class", type=_at_least(3), default=5, metavar="N")
    sub.add_argument("--repeats", type=_at_least(2), default=10, metavar="N")
    sub.add_argument("--seed", type=_at_least(0), default=0, metavar="N")
    sub.set_defaults(run=_compare, parser=sub)
    bench.add_command(commands)
    args = parser.parse_args(argv)
    try:
        return args.run(args)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130


def _compare(args):
    if args.per_class > 100:
        args.parser.error("--per-class must leave samples to test on: at most 100")
    print(table(compare(args.per_class, args.repeats, args.seed), args.per_class))
    return 0


def _at_least(least):
    def number(text):
        if not text.isdecimal() or int(text) < least:
            raise argparse.ArgumentTypeError(
                f"needs a whole number of at least {least}, got {text!r}"
            )
        return int(text)

    return number


if __name__ == "__main__":
    sys.exit(main())
