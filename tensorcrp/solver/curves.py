"""Curves of the objective, and what is read off them.

In: J after every block update, one curve per projection, as `Result` and fitted
estimators have them in ``history_``. Out: final values (h,) and numbers of sweeps (h,).
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from tensorcrp.base.types import Floats, Integers


class FinalValues(np.ndarray):
    """Final values (h,) of J; indexed twice, the curves of version 0.2."""

    @classmethod
    def of(cls, history):
        """Final values of curves."""
        values = np.array([curve[-1] for curve in history]).view(cls)
        values.history = list(history)
        return values

    def __array_finalize__(self, values):
        self.history = None

    def __array_wrap__(self, array, context=None, return_scalar=False):
        """Sums and products are plain arrays and numbers."""
        return np.asarray(array)[()]

    def __getitem__(self, key):
        value = super().__getitem__(key)
        if self.history is None or not isinstance(key, (int, np.integer)):
            return np.asarray(value)[()]
        return FinalValue(value, self.history[key])

    def __iter__(self):
        return (self[p] for p in range(len(self)))

    def __reduce__(self):
        return np.asarray(self).__reduce__()


def final_values(estimator: Any) -> Floats:
    """J of each projection of a fitted estimator with a `history_`: (h,).

    Made into a property of the estimator, so that there is one place for the curves.
    """
    return FinalValues.of(estimator.history_)


def sweeps_of_each(estimator: Any) -> Integers:
    """Sweeps of each projection of a fitted estimator with a `history_`: (h,).

    A sweep updates every mode; the last one may end before.
    """
    updates = np.array([len(curve) for curve in estimator.history_])
    return -(-updates // len(estimator.sample_shape_))


class FinalValue(np.float64):
    """One final value of J; indexing it gives its curve, with a warning."""

    def __new__(cls, value, curve):
        new = super().__new__(cls, value)
        new.curve = curve
        return new

    def __getitem__(self, key):
        if not isinstance(key, (int, np.integer, slice)):
            return super().__getitem__(key)
        warnings.warn(
            "objective_ holds the final value of J for each projection since version "
            "0.3; its curves are in history_. Indexing a value as a curve will be an "
            "error in version 0.5.",
            FutureWarning,
            stacklevel=2,
        )
        return self.curve[key]
