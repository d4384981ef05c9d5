"""Make ``reference_digits.json``: the paper's Algorithm 1 on scikit-learn's digits.

    python tests/make_reference.py

Everything comes from the oracle, which is slow and literal; the package is not
imported. Two problems of 8 x 6 matrices, the first samples of each class in the order
of the data set: ``tall`` has more samples than a matrix has entries, ``wide`` fewer.
The blank columns at both edges of the images are left out: the paper's start is the
first columns, and a term that starts on zeros is lost for good.

Stored per problem: the objective after every block update (h, 2 sweeps), the
projections (h, 8, 6), and the features of new samples (m, h).
"""

import json
from pathlib import Path

import numpy as np
import oracle
from sklearn.datasets import load_digits

STORED = Path(__file__).with_name("reference_digits.json")
PROBLEMS = {
    "tall": {"per_class": 10, "lam": 100.0, "n_components": 6, "between": "classes"},
    "wide": {"per_class": 4, "lam": 1000.0, "n_components": 6, "between": "samples"},
}
RANK, SWEEPS, N_NEW = 2, 10, 10
INNER = slice(1, 7)


def training_samples(per_class):
    """The first samples of each class: (10 per_class, 8, 6) and their labels."""
    digits = load_digits()
    rows = [np.flatnonzero(digits.target == label)[:per_class] for label in range(10)]
    rows = np.sort(np.concatenate(rows))
    return digits.images[rows][:, :, INNER], digits.target[rows]


def new_samples():
    """The last samples of the data set: no problem trains on them."""
    return load_digits().images[-N_NEW:, :, INNER]


def solve(per_class, **settings):
    """One problem by the oracle, as plain lists."""
    X, y = training_samples(per_class)
    result = oracle.algorithm_1(X, y, rank=RANK, n_sweeps=SWEEPS, **settings)
    scores, _ = oracle.features(result.projections, new_samples())
    return {
        "objective": [history.tolist() for history in result.objective],
        "projections": result.projections.tolist(),
        "features": scores.tolist(),
    }


def make():
    """All problems: name -> settings and values."""
    return {
        name: {"settings": settings, **solve(**settings)}
        for name, settings in PROBLEMS.items()
    }


if __name__ == "__main__":
    STORED.write_text(json.dumps(make(), indent=1) + "\n")
    print(f"wrote {STORED.name}")
