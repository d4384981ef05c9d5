"""Data sets that ship with scikit-learn.

In: nothing. Out: a Bunch or ``(X, y)``.
"""

from __future__ import annotations

from typing import Literal, overload

from sklearn import datasets as sklearn_datasets

from tensorcrp.base.types import XY, Dataset
from tensorcrp.datasets._bunch import as_bunch, hand_out


@overload
def load_digits(*, return_X_y: Literal[True]) -> XY: ...
@overload
def load_digits(*, return_X_y: Literal[False] = ...) -> Dataset: ...
def load_digits(*, return_X_y: bool = False) -> Dataset | XY:
    """Scikit-learn's handwritten digits as 8x8 matrices; ships with scikit-learn.

    Parameters
    ----------
    return_X_y : bool, default=False
        Return ``(X, y)`` alone, not a Bunch.

    Returns
    -------
    Bunch or (X, y)
        ``data`` is (1797, 8, 8), values 0 to 16.

    Examples
    --------
    >>> from tensorcrp.datasets import load_digits
    >>> load_digits().data.shape
    (1797, 8, 8)
    """
    digits = sklearn_datasets.load_digits()
    bunch = as_bunch(
        digits.images,
        digits.target,
        digits.DESCR,
        mode_names=("row", "column"),
        target_names=[str(name) for name in digits.target_names],
    )
    return hand_out(bunch, return_X_y)
