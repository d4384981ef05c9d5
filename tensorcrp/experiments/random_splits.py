"""Random splits of a data set into training and test samples.

In: `Data`, training samples per class or their share, a seed. Out: indices of the
training and of the test samples, or `Skip` with the reason why there are too few. With
groups, such as people, no group is on both sides.
"""

from itertools import product

import numpy as np

from tensorcrp.experiments.data import Skip, load_data
from tensorcrp.experiments.errors import BadRequest
from tensorcrp.experiments.options import say

USUAL = (5, 10)  # training samples per class


def split(data, train, seed, repeat, most=0):
    """Training and test indices of one random split.

    Parameters
    ----------
    data : Data
    train : int or float
        Training samples per class, or the share of every class (of all groups, where
        there are groups); not used where splits are given. With groups and an integer,
        one half of the groups gives training samples, the other half is for test.
    seed, repeat : int
    most : int
        Largest number of test samples, drawn at random; 0 for all.

    Returns
    -------
    (train, test) : ndarrays of int, in random order within the classes
    """
    rng = np.random.default_rng([seed, repeat])
    if data.splits:
        chosen, rest = data.splits[repeat]
        return chosen, rng.permutation(rest)[:most] if most else rest
    order = rng.permutation(len(data.y))
    for_training = for_test = np.ones(len(order), bool)
    if data.groups is not None:
        groups = rng.permutation(np.unique(data.groups))
        share = train if isinstance(train, float) else 0.5
        for_training = np.isin(data.groups, groups[: round(share * len(groups))])
        for_test = ~for_training
    parts = []
    for code in range(data.n_classes):
        ids = order[data.y[order] == code]
        mine = ids[for_training[ids]]
        grouped = data.groups is not None
        wanted = train if isinstance(train, int) else _share(train, mine, grouped)
        chosen = mine[:wanted]
        rest = ids[for_test[ids] & ~np.isin(ids, chosen)]
        _check_sizes(data.class_name(code), len(mine), len(rest), wanted)
        parts.append((chosen, rest))
    chosen, rest = (np.concatenate(part) for part in zip(*parts, strict=True))
    return chosen, rng.permutation(rest)[:most] if most else rest


def _share(train, mine, grouped):
    return len(mine) if grouped else round(train * len(mine))


class TooLittleAsked(Skip):
    """So few training samples are asked for that nothing varies within a class."""


def _check_sizes(name, available, rest, wanted):
    if wanted < 2:
        raise TooLittleAsked(
            f"class {name} has {available} samples to train on, but {wanted} would be "
            "taken, and at least 2 are needed"
        )
    if available < wanted or rest == 0:
        raise Skip(
            f"class {name} has {available} samples to train on and {rest} left to test "
            f"on, too few for {wanted} training samples per class"
        )


def splits_of(data, sizes, repeats):
    """Training sizes and numbers of the splits; given ones are all there are."""
    if data.splits:
        return (0,), range(len(data.splits))
    return sizes, range(repeats)


def usual_sizes(names, repeats, seed, groups=""):
    """Training sizes where none are asked for: those that every set allows.

    The smallest is one of them in any case; `check_splits` says whether it is allowed.
    """
    first, *others = USUAL
    check_splits(names, [first], repeats, seed, groups)
    sizes = [first]
    for size in others:
        try:
            check_splits(names, [size], repeats, seed, groups)
            sizes.append(size)
        except BadRequest as error:
            why = str(error).partition(". ")[0]
            say(f"{size} per class are left out: {why}.")
    return sizes


def check_splits(names, sizes, repeats, seed, groups=""):
    """Reject data that no method could be trained and tested on, before any run."""
    for name in names:
        try:
            data = load_data(name, groups)
        except Skip as skip:
            raise BadRequest(f"{name}: {skip}.") from skip
        if data.n_classes < 2:
            raise BadRequest(f"{name} has one class; there is nothing to separate.")
        if not np.isfinite(data.X).all():
            raise BadRequest(
                f"{name} has entries that are NaN or infinite; replace them, or leave "
                "out the samples that have them."
            )
        for size, repeat in product(*splits_of(data, sizes, repeats)):
            try:
                split(data, size, seed, repeat)
            except TooLittleAsked as skip:
                raise BadRequest(
                    f"{name}: {skip}. Give a larger --per-class."
                ) from skip
            except Skip as skip:
                raise BadRequest(
                    f"{name}: {skip}. Give a smaller --per-class, or leave out that "
                    "class."
                ) from skip
