"""What ``tensorcrp compare --preset`` runs: data sets, training sizes and methods.

In: the name of a preset. Out: names of data sets that are there, sizes, methods, and a
plan of runs. A size that a data set is too small for is one skipped row with the
reason.
"""

import os
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import tensorcrp
from tensorcrp.datasets import list_datasets
from tensorcrp.experiments.data import VARIABLE, Skip, load_data
from tensorcrp.experiments.errors import BadRequest
from tensorcrp.experiments.methods import evidence_methods
from tensorcrp.experiments.random_splits import split, splits_of
from tensorcrp.experiments.runs import Run

# Beside a checkout of this repository, where there is no TENSORCRP_DATA.
BESIDE = Path(tensorcrp.__file__).parents[2] / "shared" / "data"


@dataclass(frozen=True)
class Preset:
    """A comparison that has a name.

    Attributes
    ----------
    sizes : tuple of int
        Training samples per class.
    most : int
        Largest number of test samples of a split.
    """

    sizes: tuple
    most: int

    def data(self):
        """Names of the sets in the data folder."""
        folder = real_folder()
        found = [n for n in list_datasets() if (folder / f"{n}.npz").exists()]
        if not found:
            raise BadRequest(
                f"no data set is in {folder}. Put NAME.npz files there; known are: "
                f"{', '.join(list_datasets())}."
            )
        return found

    def methods(self):
        """Names of the methods."""
        return evidence_methods()


PRESETS = {"real": Preset((5, 10, 20), 1000)}


def real_folder():
    """The folder of NAME.npz files: the user's, or the one beside the checkout."""
    folder = os.environ.get(VARIABLE)
    if folder:
        return Path(folder)
    if BESIDE.is_dir():
        return BESIDE
    raise BadRequest(
        f"--preset real needs a folder of NAME.npz files: set {VARIABLE} to its path."
    )


def preset_plan(data, sizes, repeats, seed, methods, most, groups=""):
    """Runs, the smallest size of all sets first; sizes that are too large are one run.

    Sets with splits of their own come with the first size.

    Parameters
    ----------
    data, methods : sequences of str
    sizes : sequence of int or float
    repeats, seed, most : int
    groups : str

    Returns
    -------
    list of Run
    """
    plan = []
    for train, name in product(sizes, data):
        found = load_data(name, groups)
        if found.splits and train != sizes[0]:
            continue
        (size,), splits = splits_of(found, [train], repeats)
        cells = [PresetCell(found, size, i, seed, most, groups) for i in splits]
        bad = next((cell for cell in cells if not cell.is_possible()), None)
        runs = [cell.run(method) for cell in cells for method in methods]
        plan += runs if bad is None else [bad.run(methods[0])]
    return plan


@dataclass(frozen=True)
class PresetCell:
    """One split of one data set."""

    data: object
    train: int
    split: int
    seed: int
    most: int
    groups: str = ""

    def is_possible(self):
        """Whether every class has enough samples."""
        try:
            split(self.data, self.train, self.seed, self.split)
        except Skip:
            return False
        return True

    def run(self, method):
        """The run of a method."""
        name, digest = self.data.name, self.data.checksum
        place = (name, digest, self.train, self.split, self.seed, method)
        return Run(*place, most=self.most, groups=self.groups)
