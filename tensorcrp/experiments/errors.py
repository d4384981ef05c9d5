"""What a user can correct: rejected in one sentence before any work starts."""

from difflib import get_close_matches
from os import PathLike

FORM = (
    "The command takes the samples X and the labels y of a file, as "
    "numpy.savez('NAME.npz', X=X, y=y) writes it, MNE's epochs in .fif files, or a "
    "folder with one subfolder of images or clips per class."
)


class BadRequest(ValueError):
    """A request that cannot be met; the message names the value and the repair."""


def as_names(data):
    """Names and paths of data sets as text; arrays and all else are rejected."""
    for each in data:
        if not isinstance(each, (str, PathLike)):
            raise BadRequest(
                f"data sets are given by names or paths, got {type(each).__name__}. "
                "Save samples and labels by numpy.savez('NAME.npz', X=X, y=y) first."
            )
    return [str(each) for each in data]


def check_names(what, given, known):
    """Reject names that are not known and offer the nearest ones."""
    for name in given:
        if name not in known:
            near = get_close_matches(name, known, n=3, cutoff=0.5)
            offer = f"Did you mean {' or '.join(near)}? " if near else ""
            between = "; " if any("," in each for each in known) else ", "
            raise BadRequest(
                f"unknown {what} {name!r}. {offer}Known are: {between.join(known)}."
            )


def check_labelled(name, bunch):
    """Reject samples without labels (n,), and classes of a folder without samples."""
    from tensorcrp.base.targets import unlabelled  # NumPy: not for --version

    y = bunch.target
    if y is None:
        raise BadRequest(f"{name} has no labels. {FORM}")
    missing = unlabelled(y).nonzero()[0]
    if len(missing):
        raise BadRequest(
            f"{name}: {len(missing)} of {len(y)} samples have no label, first sample "
            f"{missing[0]}; leave them out, or give them one."
        )
    folders = bunch.target_names if bunch.get("skipped") else ()
    for code, folder in enumerate(folders):
        if code not in y:
            raise BadRequest(
                f"{name}: no file of the class {folder} can be read; replace its "
                "files, or remove the class."
            )
