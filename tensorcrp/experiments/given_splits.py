"""Data sets as published protocols split them, or the folders that they are read from.

In: the arrays of a set (`tensorcrp.datasets.fetch_dataset`, or files in folders) and
class codes. Out: pairs of training and test indices: the archive's own split, one
person left out at a time, pixels that are apart in space, or ``train/`` and ``test/``.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from tensorcrp.experiments.errors import BadRequest
from tensorcrp.experiments.options import how_many

PATCH = 5  # pixels along a side of the patches of Indian Pines
SCENE_BLOCK, BLOCK_SPLITS = 16, 5


@dataclass(frozen=True)
class Protocol:
    """A set under a protocol.

    Attributes
    ----------
    source : str
        Name of the set.
    splits : callable or None
        ``splits(bunch, y)`` -> pairs of indices; None for random splits.
    groups : str or None
        Array whose entries stay on one side of every fold, too.
    prepare : callable or None
        Function of the samples.
    classifiers : tuple of str
        Empty for those of every method.
    """

    source: str
    splits: Callable | None = None
    groups: str | None = None
    prepare: Callable | None = None
    classifiers: tuple = ()


def unit_norm(X):
    """Samples of Euclidean norm one."""
    norms = np.linalg.norm(X.reshape(len(X), -1), axis=1)
    return X / np.where(norms > 0, norms, 1.0).reshape(-1, *[1] * (X.ndim - 1))


def archive_split(bunch, y):
    """The split that the archive publishes."""
    train = np.asarray(bunch["train"], bool)
    return [(np.flatnonzero(train), np.flatnonzero(~train))]


def one_out(array, bunch, y):
    """Every value of an array in turn is for test, the others are for training."""
    values = np.asarray(bunch[array])
    return [
        (np.flatnonzero(values != each), np.flatnonzero(values == each))
        for each in np.unique(values)
    ]


def apart(bunch, y):
    """Random halves of the scene's blocks; patches of the two sides share no pixel.

    The scene is cut into squares of `SCENE_BLOCK` pixels. One half of them, drawn at
    random, is for test; training pixels whose patch overlaps the patch of a test pixel
    are left out. Halves in which a class has fewer than five samples to train on, or
    none to test on, are drawn again.
    """
    place = np.asarray(bunch["rowcol"], int)
    blocks = np.unique(place // SCENE_BLOCK, axis=0, return_inverse=True)[1].ravel()
    gaps = np.abs(place[:, None] - place[None]).max(axis=2)
    splits, rng = [], np.random.default_rng(0)
    while len(splits) < BLOCK_SPLITS:
        n = blocks.max() + 1
        test = np.isin(blocks, rng.permutation(n)[: n // 2])
        train = ~test & (gaps[:, test].min(axis=1) >= PATCH)
        counts = [np.bincount(y[part], minlength=y.max() + 1) for part in (train, test)]
        if counts[0].min() >= 5 and counts[1].min() >= 1:
            splits.append((np.flatnonzero(train), np.flatnonzero(test)))
    return splits


CAI = {"prepare": unit_norm, "classifiers": ("1-NN", "centroid")}
PROTOCOLS = {
    "yaleb_cai": Protocol("yaleb", **CAI),
    "orl_cai": Protocol("orl", **CAI),
    "basic_motions_uea": Protocol("basic_motions", archive_split),
    "eeg_finger_uea": Protocol("eeg_finger", archive_split),
    "weizmann_people": Protocol("weizmann", partial(one_out, "subject"), "subject"),
    "cmu_faces_people": Protocol("cmu_faces", partial(one_out, "subject"), "subject"),
    "indian_pines_apart": Protocol("indian_pines", apart),
}


def folder_split(bunch):
    """The split of a folder with ``train/`` and ``test/``; none of other folders."""
    train = bunch.get("is_training")
    return () if train is None else ((np.flatnonzero(train), np.flatnonzero(~train)),)


def check_apart(name, groups, splits):
    """Reject groups that are on both sides of a given split."""
    for train, test in splits if groups is not None else ():
        both = np.intersect1d(groups[train], groups[test])
        if len(both):
            raise BadRequest(
                f"{name}: its training and test folders share "
                f"{how_many(len(both), 'group')} (--groups). Move the files, or put "
                "all of them into folders of classes, without train and test."
            )
