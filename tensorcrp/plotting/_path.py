"""Accuracy over rank k, ridge and number of components h.

In: scores (folds, ranks, regs, numbers of components) of a cross-validation, as
`TensorCRPCV` keeps them in ``cv_results_``. Out: lines over one of the three, one
for each value of another, or a map of both; the third is held at one value.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from tensorcrp.base.parameters import check_choice
from tensorcrp.base.types import Array, Rank
from tensorcrp.plotting.axes import legend_beside, panels
from tensorcrp.plotting.style import series

AXIS = {"rank": "rank k", "reg": "reg", "n_components": "components h"}
AXES = tuple(AXIS)  # in the order of the axes of the scores


class PathDisplay:
    """Cross-validated accuracy over rank, ridge and number of components.

    Parameters
    ----------
    scores : array-like of shape (folds, n_ranks, n_regs, n_sizes)
        Accuracy, 0 to 1.
    ranks : sequence of int or "full"
        Ranks k that were tried.
    regs : sequence of float
        Ridges that were tried.
    n_components : sequence of int
        Numbers of components that were tried.
    best : dict, default=None
        The point to mark; None for the best mean.
    label : str, default="accuracy in cross-validation, %"
        What the numbers are.

    Attributes
    ----------
    grid : dict of list
        Values of "rank", "reg" and "n_components".
    mean : ndarray of shape (n_ranks, n_regs, n_sizes)
        Over the folds.
    standard_error : ndarray of shape (n_ranks, n_regs, n_sizes)
        Of the mean, from the deviation between folds; zero with a single fold.
    best : dict
        The point of the largest mean, the first if several share it.
    figure_ : matplotlib Figure
    ax_ : matplotlib Axes
    lines_ : list of matplotlib ErrorbarContainer
        One per line; for curves only.
    image_ : matplotlib AxesImage
        For a map only.

    See Also
    --------
    tensorcrp.TensorCRPCV : Makes such scores.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from sklearn.datasets import load_digits
    >>> from tensorcrp import TensorCRPCV
    >>> from tensorcrp.plotting import PathDisplay
    >>> digits = load_digits()
    >>> X, y = digits.images[:200], digits.target[:200]
    >>> search = TensorCRPCV(ranks=(1, 2), regs=(0.1, 1.0, 10.0), cv=3).fit(X, y)
    >>> display = PathDisplay.from_estimator(search)
    >>> display.mean.shape, len(display.lines_)
    ((2, 3, 4), 2)
    >>> display.best["reg"] == search.best_params_["reg"]
    True
    >>> plt.close(display.figure_)
    """

    figure_: Any
    ax_: Any
    lines_: list[Any]
    image_: Any

    def __init__(
        self,
        scores: ArrayLike,
        *,
        ranks: Sequence[Rank] | Array,
        regs: Sequence[float] | Array,
        n_components: Sequence[int] | Array,
        best: dict[str, Any] | None = None,
        label: str = "accuracy in cross-validation, %",
    ) -> None:
        self.scores, self.label = np.asarray(scores, float), label
        values = map(list, (ranks, regs, n_components))
        self.grid = dict(zip(AXES, values, strict=True))
        wanted = tuple(map(len, self.grid.values()))
        if self.scores.ndim != 4 or self.scores.shape[1:] != wanted or not len(scores):
            raise ValueError(
                f"scores has shape {self.scores.shape}; for these grids give scores of "
                f"shape (folds, {', '.join(map(str, wanted))}), at least one fold."
            )
        if np.isnan(self.scores).all():
            raise ValueError("scores are all NaN: there is nothing to draw.")
        self.mean, self.standard_error = _over_folds(self.scores)
        self._best = np.unravel_index(np.nanargmax(self.mean), wanted)
        if best is not None:
            self._best = tuple(self.grid[name].index(best[name]) for name in AXES)
        self.best = {n: self.grid[n][i] for n, i in zip(AXES, self._best, strict=True)}

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None, **how: Any) -> Self:
        """Draw the path of a fitted TensorCRPCV.

        Parameters
        ----------
        estimator : TensorCRPCV
            Fitted.
        ax : matplotlib Axes, default=None
            None for a new figure.
        **how
            Passed to `plot`.

        Returns
        -------
        PathDisplay
        """
        check_is_fitted(estimator)
        results = getattr(estimator, "cv_results_", {})
        if not {f"param_{name}" for name in AXES} <= set(results):
            raise ValueError(
                f"{type(estimator).__name__} has no cross-validated path over rank, "
                "reg and n_components; pass a fitted TensorCRPCV."
            )
        grid = [list(dict.fromkeys(results[f"param_{name}"])) for name in AXES]
        scores = np.empty((estimator.n_splits_, *map(len, grid)))
        best = estimator.best_params_
        for i, point in enumerate(results["params"]):
            if point.get("smooth") != best.get("smooth"):  # the path at the best one
                continue
            place = [v.index(point[n]) for n, v in zip(AXES, grid, strict=True)]
            for fold in range(estimator.n_splits_):
                scores[(fold, *place)] = results[f"split{fold}_test_score"][i]
        names = dict(zip(("ranks", "regs", "n_components"), grid, strict=True))
        return cls(scores, **names, best=best).plot(ax=ax, **how)

    def plot(
        self,
        *,
        x: Literal["rank", "reg", "n_components"] = "reg",
        lines: Literal["rank", "reg", "n_components"] = "rank",
        at: Any = None,
        kind: Literal["curves", "map"] = "curves",
        ax: Any = None,
        line_kw: dict[str, Any] | None = None,
        cmap: Any = "viridis",
    ) -> Self:
        """Draw accuracy over two of the three parameters.

        Parameters
        ----------
        x : {"rank", "reg", "n_components"}, default="reg"
            What runs along the horizontal axis.
        lines : {"rank", "reg", "n_components"}, default="rank"
            What has a line, or a row of the map, for every value.
        at : value, default=None
            Value at which the third parameter is held; None for the best one.
        kind : {"curves", "map"}, default="curves"
            Lines with standard errors over the folds, or an image with numbers.
        ax : matplotlib Axes, default=None
            None for a new figure.
        line_kw : dict, default=None
            Passed to ``Axes.errorbar``, for all lines.
        cmap : str or Colormap, default="viridis"
            Of the map.

        Returns
        -------
        PathDisplay
            With `figure_`, `ax_`, and `lines_` or `image_`.
        """
        check_choice("kind", kind, ("curves", "map"))
        mean, error, third, value = self._slice(x, lines, at)
        best = None
        if value == self.best[third]:  # (line, place) of the best of all
            best = [self._best[AXES.index(name)] for name in (lines, x)]
        with panels(ax) as (self.figure_, axes):
            self.ax_ = axes[0, 0]
            if kind == "map":
                self._map(x, lines, mean, best, cmap)
            else:
                self._curves(x, lines, mean, error, best, line_kw or {})
            held = f"{AXIS[third]} = {value}, mean of {self._splits(third, value)}"
            self.ax_.set_xlabel(AXIS[x])
            self.ax_.set_title(held, fontsize="medium")
        return self

    def _slice(self, x, lines, at):
        """Means and errors (lines, x) in %, the third parameter and its value."""
        for name, value in (("x", x), ("lines", lines)):
            check_choice(name, value, AXES)
        if x == lines:
            raise ValueError(f"x and lines are both {x!r}; name two parameters.")
        third = next(name for name in AXES if name not in (x, lines))
        at = self.best[third] if at is None else at
        if at not in self.grid[third]:
            raise ValueError(
                f"at={at!r} is no value of {third}; it was tried at {self.grid[third]}."
            )
        keep = self.grid[third].index(at)
        order = [AXES.index(name) for name in (lines, x, third)]
        mean, error = self.mean.transpose(order), self.standard_error.transpose(order)
        return 100 * mean[:, :, keep], 100 * error[:, :, keep], third, at

    def _splits(self, third, value):
        """In words, how many splits saw the points that are drawn."""
        keep = self.grid[third].index(value)
        seen = (~np.isnan(self.scores)).sum(axis=0).take(keep, AXES.index(third))
        least, most = seen[seen > 0].min(initial=len(self.scores)), seen.max()
        return f"{most} splits" if least >= most else f"{least} to {most} splits"

    def _curves(self, x, lines, mean, error, best, line_kw):
        places = self._places(x)
        self.lines_ = []
        for i, value in enumerate(self.grid[lines]):
            style = {**series(i), "capsize": 3, "label": f"{AXIS[lines]} = {value}"}
            style["elinewidth"] = 0.8
            drawn = self.ax_.errorbar(places, mean[i], error[i], **style | line_kw)
            drawn.lines[0].set_zorder(3)
            self.lines_.append(drawn)
        shown = list(self.lines_)
        if best is not None:
            top = places[best[1]], mean[tuple(best)]
            ring = {"s": 150, "facecolors": "none", "edgecolors": "black", "zorder": 4}
            shown.append(self.ax_.scatter(*top, label="best", **ring))
        self.ax_.set_ylabel(self.label)
        legend_beside(self.ax_, len(shown), handles=shown)

    def _places(self, x):
        """Where the values stand: numbers on their scale, others in a row."""
        values = self.grid[x]
        if x == "reg" and all(value > 0 for value in values):
            self.ax_.set_xscale("log")
            places = np.array(values, float)
        elif x == "n_components":
            places = np.array(values, float)
        else:
            places = np.arange(len(values))
        self.ax_.set_xticks(places, [_word(value) for value in values])
        self.ax_.minorticks_off()
        return places

    def _map(self, x, lines, mean, best, cmap):
        self.image_ = self.ax_.imshow(mean, cmap=cmap, aspect="auto")
        for i, j in np.argwhere(~np.isnan(mean)):
            score = mean[i, j]
            red, green, blue, _ = self.image_.cmap(self.image_.norm(score))
            dark = 0.3 * red + 0.59 * green + 0.11 * blue < 0.5
            self.ax_.text(
                *(j, i, f"{score:.1f}"),
                ha="center",
                va="center",
                color="white" if dark else "black",
                weight="bold" if best == [i, j] else "normal",
            )
        for axis, name in ((self.ax_.xaxis, x), (self.ax_.yaxis, lines)):
            values = self.grid[name]
            axis.set_ticks(range(len(values)), [_word(value) for value in values])
        self.ax_.set_ylabel(AXIS[lines])
        self.figure_.colorbar(self.image_, ax=self.ax_, label=self.label)


def _over_folds(scores):
    """Means and standard errors over the folds that saw a point; NaN where none did."""
    seen = (~np.isnan(scores)).sum(axis=0)  # a race leaves some out
    folds = np.where(seen, seen, np.nan)
    mean = np.nansum(scores, axis=0) / folds
    squares = np.nansum((scores - mean) ** 2, axis=0)
    return mean, np.sqrt(squares / np.maximum(folds - 1, 1) / folds)


def _word(value):
    return value if isinstance(value, str) else f"{value:g}"
