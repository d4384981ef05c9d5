"""What every data set looks like, and the checks that all of them share.

In: samples (n, l_1, ..., l_N), labels (n,) or None. Out: a Bunch or ``(X, y)``.
"""

import numpy as np
from sklearn.utils import Bunch

from tensorcrp.base.notebook import samples_html, samples_lines

# A sample with these numbers of modes is, unless somebody knows better, an image,
# an image sequence, a sequence of colour images.
_USUAL_NAMES = {
    1: ("feature",),
    2: ("row", "column"),
    3: ("row", "column", "slice"),
}


class SampleBunch(Bunch):
    """A Bunch of samples whose representation is a summary, not all numbers."""

    def __repr__(self):
        return "\n".join(self._lines())

    def _repr_html_(self):
        return samples_html(self._lines(), self["data"], self["mode_names"])

    def _lines(self):
        shown = {"data", "target", "target_names", "mode_names", "DESCR"}
        rest = ", ".join(sorted(set(self) - shown))
        named = (self.get(n) for n in ("data", "target", "target_names", "mode_names"))
        more = [f"also: {rest}"] if rest else []
        return samples_lines("Bunch", *named, more)


def as_bunch(X, y, DESCR, *, mode_names=None, target_names=None, **more):
    """A Bunch with the fields that all data sets have, and more."""
    order = X.ndim - 1
    if mode_names is None:
        unnamed = tuple(f"mode {m}" for m in range(order))
        mode_names = _USUAL_NAMES.get(order, unnamed)
    if target_names is None and y is not None:
        target_names = [str(label) for label in np.unique(y)]
    return SampleBunch(
        data=X,
        target=y,
        target_names=target_names,
        mode_names=tuple(mode_names),
        DESCR=DESCR,
        **more,
    )


def hand_out(bunch, return_X_y):
    """The Bunch itself, or its two arrays."""
    return (bunch.data, bunch.target) if return_X_y else bunch


def balanced_labels(n_samples, n_classes, rng):
    """Labels 0 to c - 1 in random order, each equally often to within one."""
    return rng.permutation(np.arange(n_samples) % n_classes)
