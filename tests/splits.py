"""Random splits of the shared data sets, for the studies `measure_*.py`."""

import numpy as np

from tensorcrp.datasets import fetch_dataset, list_datasets

NAMES = list_datasets()


def load(name):
    """Samples, labels, and groups that must not be torn apart (or None)."""
    bunch = fetch_dataset(name)
    groups = bunch["subject"] if name == "weizmann" else None
    return bunch.data, bunch.target, groups


def split(y, groups, per_class, seed, most=1500):
    """Indices of `per_class` training samples of each class and of the test samples.

    With groups, the training samples come from one random half of the groups and the
    test samples from the other. At most `most` test samples are used.
    """
    rng = np.random.default_rng([seed, per_class])
    order = rng.permutation(len(y))
    mine = np.ones(len(y), bool)
    if groups is not None:
        names = rng.permutation(np.unique(groups))
        mine = np.isin(groups, names[: len(names) // 2])
    by_class = [order[mine[order] & (y[order] == label)] for label in np.unique(y)]
    train = np.concatenate([index[:per_class] for index in by_class])
    test = order[~mine[order]] if groups is not None else np.setdiff1d(order, train)
    return train, rng.permutation(test)[:most]
