"""The grid of a search: its points, their scores, and which of them are good.

In: values of smoothness, rank, ridge and number of components; scores of points. Out:
points in one order, the best of them, those that are worth another fold, and the
members of an average with their weights.

A *lane* is a combination of smoothness, rank and ridge, which the solver fits. The
points of a lane differ in the number of components, which are nested and cost no fit.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any

import numpy as np

from tensorcrp.base.parameters import check_integer, check_real, check_values
from tensorcrp.base.projections import count_components

TIE = 1e-12  # means of the same scores in another order differ by rounding
ONE_FOLD = 0.02  # taken for the error of scores where one fold says nothing of it
NAMES = ("smooth", "rank", "reg", "n_components")
LONGEST_MODEL = 100  # components; more than 2 (c - 1) only as far as this
MULTIPLES = (1, 2, 4, 9)  # of c - 1


@dataclass(frozen=True)
class Grid:
    """Values to try; points are all combinations, the last varying fastest."""

    smooths: list[Any]
    ranks: list[Any]
    regs: list[float]
    sizes: list[int]

    @property
    def values(self) -> tuple[list[Any], ...]:
        """The values of every parameter, in the order of `NAMES`."""
        return self.smooths, self.ranks, self.regs, self.sizes

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of values of every parameter."""
        return tuple(map(len, self.values))

    def points(self) -> list[dict[str, Any]]:
        """Parameters of `TensorCRP`, in the order of the scores."""
        return [dict(zip(NAMES, point, strict=True)) for point in product(*self.values)]

    def lanes(self) -> list[tuple[int, Any, float]]:
        """Number of the smoothness, rank and ridge of every lane."""
        return list(product(range(len(self.smooths)), self.ranks, self.regs))

    def order(self, scores):
        """Points (best first) that have a score; ties are common with few samples.

        A point whose next smaller and next larger ridge score well too is less likely
        to be best by chance, so the mean of the three decides, then the grid's order.
        """
        known = np.flatnonzero(~np.isnan(scores))
        rounded = np.round(scores[known] / TIE) * TIE
        return known[np.lexsort((-self._around(scores)[known], -rounded))]

    def _around(self, scores):
        """Mean score of each point and of its neighbours in the order of ridges."""
        order = np.argsort(self.regs, kind="stable")
        table = np.take(np.reshape(scores, self.shape), order, axis=2)
        edge = np.full_like(table[:, :, :1], np.nan)
        three = np.stack(
            [
                np.concatenate([edge, table[:, :, :-1]], axis=2),
                table,
                np.concatenate([table[:, :, 1:], edge], axis=2),
            ]
        )
        known = np.maximum(1, (~np.isnan(three)).sum(axis=0))
        around = np.nansum(three, axis=0) / known
        return np.take(around, np.argsort(order), axis=2).ravel()

    def survivors(self, scores, count):
        """Numbers of the lanes that go on: those with the best points.

        Of lanes whose best points are equal, those whose points are good on the mean.

        Parameters
        ----------
        scores : ndarray of shape (lanes, sizes)
        count : int
        """
        known = np.where(np.isnan(scores), -np.inf, scores)
        best = np.round(known.max(axis=1) / TIE) * TIE
        return np.sort(np.lexsort((-known.sum(axis=1), -best))[:count])

    def members(self, scores, count):
        """The best points, at most `count`, and their weights, which sum to one.

        A point that is a standard error behind the best has 1 / e of its weight: with
        few samples, where scores say little, more points share the average.

        Parameters
        ----------
        scores : ndarray of shape (folds, points)
            NaN where a point did not see a fold.
        count : int
        """
        means = np.mean(scores, axis=0)
        best = self.order(means)[:count]
        behind = means[best[0]] - means[best]
        weights = np.exp(-behind / _error(scores[:, best]))
        return best, weights / weights.sum()

    def at_an_end(self, point, names):
        """Those of the names whose value in a point is at an end of three or more."""
        values = dict(zip(NAMES, self.values, strict=True))
        return [
            name
            for name in names
            if len(values[name]) > 2 and _is_end(values[name], point[name])
        ]


def _error(scores):
    """Standard error of mean scores over folds, the same for all: (folds, points)."""
    if len(scores) == 1:
        return ONE_FOLD
    error = np.sqrt(scores.var(axis=0, ddof=1).mean() / len(scores))
    return max(error, TIE)  # all folds agree: ties alone are averaged


def _is_end(values, value):
    """Whether a value is the largest, or the smallest one that is not zero."""
    numbers = sorted(float(np.max(each)) for each in values)
    ends = {numbers[-1]} | ({numbers[0]} if numbers[0] > 0 else set())
    return float(np.max(value)) in ends


def check_grids(ranks, regs, smooth):
    """Reject grids that are empty or have bad values."""
    given = {"ranks": ranks, "regs": regs, "smooth": smooth}
    for name, values in given.items():
        check_values(name, values)
    for rank in ranks:
        check_integer("each of ranks", rank, also=("full",))
    for name in ("regs", "smooth"):
        for value in given[name]:
            check_real(f"each of {name}", value)


def sizes_of(given, n_classes, shape):
    """Numbers of components to try, in ascending order.

    Parameters
    ----------
    given : int, sequence of int or None
        None for multiples of c - 1.
    n_classes : int
    shape : tuple of int
        Shape of a sample.
    """
    if given is None:
        others, order = n_classes - 1, len(shape)
        # Of vectors, later projections have little but rounding left to separate.
        multiples = MULTIPLES if order > 1 else MULTIPLES[:2]
        given = {k * others for k in multiples if k <= 2 or k * others <= LONGEST_MODEL}
        return sorted({max(1, min(h, prod(shape))) for h in given})
    given = np.atleast_1d(given).tolist()
    if not given:
        raise ValueError("n_components is empty: give at least one number to try.")
    for h in given:
        check_integer("n_components", h)
        count_components(h, n_classes, shape)
    return sorted(set(given))
