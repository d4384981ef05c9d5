"""Which test samples a method gets wrong: a small record in its row.

In: a row with counts, the predicted codes of every classifier and setting, the true
codes (n_test,) and where the test samples are in the data set. Out: of the chosen
setting and the headline classifier, the confusion counts (c, c), true class down and
predicted class across, and a few misclassified samples. Class names and files are not
in a row: they are read from the data set again where a report is written.
"""

from numbers import Integral

import numpy as np

from tensorcrp.base.results import chosen
from tensorcrp.experiments.summaries import rated_by

FIELD = "mistakes"  # of a row
MOST_CLASSES = 40  # with a confusion matrix
MOST_WRONG = 20  # samples of one split


def mistakes(row, guesses, truth, test):
    """The record of a run.

    Parameters
    ----------
    row : dict
        With ``classifiers``, ``n_classes``, ``n_test`` and ``ties``.
    guesses : dict of str -> list of ndarrays (n_test,)
        Predicted codes of each classifier, for every setting.
    truth, test : ndarrays of shape (n_test,)
        True codes; indices in the data set.

    Returns
    -------
    dict
        ``{"mistakes": {"classifier", "confusion", "wrong"}}``; "wrong" has an index, a
        true and a predicted code each. Empty where no setting was chosen, or where a
        prediction is no class.
    """
    name, c = rated_by([row]), row["n_classes"]
    index = chosen([row], name, "honest")
    if index is None:
        return {}
    guess = np.asarray(guesses[name][index[0]])
    if guess.dtype.kind not in "biuf" or not np.isin(guess, np.arange(c)).all():
        return {}
    guess = guess.astype(int)
    found = {"classifier": name}
    if c <= MOST_CLASSES:
        counts = np.bincount(c * truth + guess, minlength=c * c)
        found["confusion"] = counts.reshape(c, c).tolist()
    wrong = _spread(np.flatnonzero(guess != truth))
    found["wrong"] = np.stack([test, truth, guess], axis=1)[wrong].tolist()
    return {FIELD: found}


def _spread(ids):
    """At most `MOST_WRONG`, from all parts: test samples are sorted by class."""
    places = np.linspace(0, len(ids) - 1, min(len(ids), MOST_WRONG))
    return ids[places.round().astype(int)]


def record_defect(row):
    """What is wrong with the record of a row, or None; a row need not have one."""
    found = row.get(FIELD)
    if found is None:
        return None
    good = isinstance(found, dict) and found.get("classifier") in row["classifiers"]
    good = good and _is_table(found.get("wrong"), 3)
    if good and "confusion" in found:
        c = row["n_classes"]
        good = _is_table(found["confusion"], c) and len(found["confusion"]) == c
        good = good and sum(map(sum, found["confusion"])) == row["n_test"]
    return None if good else f"its {FIELD!r} are damaged"


def _is_table(lines, width):
    """Whether this is a list of lists of `width` numbers from 0 on."""
    return isinstance(lines, list) and all(
        isinstance(line, list)
        and len(line) == width
        and all(isinstance(each, Integral) and each >= 0 for each in line)
        for line in lines
    )
