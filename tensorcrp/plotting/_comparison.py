"""Comparison of methods, on one data set or on many.

In: means and deviations (data sets, methods), or the rows of an experiment that they
come from. Out: bars with deviations, or a critical-difference diagram of average ranks.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from tensorcrp.base.parameters import check_choice
from tensorcrp.base.results import SELECTIONS
from tensorcrp.base.types import Array
from tensorcrp.plotting._counts import (
    plain_scores,
    read_rows,
    run_scores,
    score_table,
)
from tensorcrp.plotting._ranks import draw_ranking, rank_methods
from tensorcrp.plotting.axes import panels
from tensorcrp.plotting.style import OTHERS, OUR_COLOUR


class ComparisonDisplay:
    """Methods over data sets, as bars or as a critical-difference diagram.

    Parameters
    ----------
    means : array-like of shape (n_data_sets, n_methods)
        Larger is better; NaN where a method was not run.
    deviations : array-like of shape (n_data_sets, n_methods), default=None
        Between splits; NaN where there is one split only.
    methods : sequence of str
        Names of the methods.
    data_sets : sequence of str
        Names of the data sets.
    label : str, default="accuracy in %"
        What the numbers are.

    Attributes
    ----------
    ranking_ : Ranking
        Average ranks, Friedman's test and the critical difference; of a diagram only.
    figure_ : matplotlib Figure
    axes_ : ndarray of matplotlib Axes
        One per data set, or the one of the diagram.
    bars_ : list of matplotlib BarContainer
        One per data set; of bars only.

    References
    ----------
    .. [1] J. Demsar, "Statistical Comparisons of Classifiers over Multiple Data Sets",
       Journal of Machine Learning Research 7, 2006.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from tensorcrp.plotting import ComparisonDisplay
    >>> rows = [
    ...     {"data": "digits", "method": "TensorCRP", "accuracy": 90.0},
    ...     {"data": "digits", "method": "TensorCRP", "accuracy": 92.0},
    ...     {"data": "digits", "method": "LDA", "accuracy": 88.0},
    ... ]
    >>> display = ComparisonDisplay.from_rows(rows)
    >>> display.methods, display.means.tolist()
    (['TensorCRP', 'LDA'], [[91.0, 88.0]])
    >>> plt.close(display.figure_)
    """

    figure_: Any
    axes_: Array
    bars_: list[Any]
    ranking_: Any

    def __init__(
        self,
        means: ArrayLike,
        deviations: ArrayLike | None = None,
        *,
        methods: Sequence[str],
        data_sets: Sequence[str],
        label: str = "accuracy in %",
    ) -> None:
        self.means = np.asarray(means, float)
        if deviations is None:
            deviations = np.full(self.means.shape, np.nan)
        self.deviations = np.asarray(deviations, float)
        self.methods, self.data_sets = list(methods), list(data_sets)
        self.label = label
        wanted = len(self.data_sets), len(self.methods)
        if not all(wanted):
            raise ValueError("there is nothing to compare: name methods and data sets.")
        for name in ("means", "deviations"):
            if getattr(self, name).shape != wanted:
                raise ValueError(
                    f"{name} has shape {getattr(self, name).shape}, but there are "
                    f"{wanted[0]} data sets and {wanted[1]} methods; give {wanted}."
                )

    @classmethod
    def from_rows(
        cls,
        rows: Any,
        *,
        classifier: str = "1-NN",
        selection: Literal["honest", "paper", "weakest"] = "honest",
        train: float | None = None,
        methods: Sequence[str] | None = None,
        data: str = "data",
        method: str = "method",
        score: str = "accuracy",
        ax: Any = None,
        judge: str = "deprecated",
        **how: Any,
    ) -> Self:
        """Draw the rows of an experiment.

        Parameters
        ----------
        rows : path, list of dict or DataFrame
            The folder or the file ``rows.jsonl`` that ``tensorcrp compare --out``
            writes, or its rows; else rows with a data set, a method and a score each,
            one per split.
        classifier : {"1-NN", "SVM"}, default="1-NN"
            Classifier of the features, for rows of ``tensorcrp compare``.
        selection : {"honest", "paper", "weakest"}, default="honest"
            Which settings are shown, for rows of ``tensorcrp compare``: those chosen on
            training samples alone, the best on test samples, or the first.
        train : int or float, default=None
            Training size, for rows of ``tensorcrp compare``; None for the
            largest of each data set.
        methods : sequence of str, default=None
            Which methods; None for all in the rows.
        data : str, default="data"
            Name of the column of data sets, for other rows.
        method : str, default="method"
            Name of the column of methods, for other rows.
        score : str, default="accuracy"
            Name of the column of scores, for other rows; larger is better.
        ax : matplotlib Axes or array of them, default=None
            As in `plot`.
        judge : str, default="deprecated"
            Old name of `classifier`.

            .. deprecated:: 0.3
        **how
            Passed to `plot`.

        Returns
        -------
        ComparisonDisplay
        """
        classifier = _renamed(classifier, judge)
        check_choice("selection", selection, SELECTIONS)
        rows = read_rows(rows)
        if not rows:
            raise ValueError("there are no rows; pass at least one finished run.")
        if any("classifiers" in row for row in rows):
            scores = run_scores(rows, classifier, selection, train)
            label = f"accuracy of {classifier} in %, {selection} selection"
        else:
            scores, label = plain_scores(rows, data, method, score), score
        return cls._from_scores(scores, methods, label).plot(ax=ax, **how)

    @classmethod
    def _from_scores(cls, scores, methods, label):
        """From scores of all splits, {(data set, method): array}."""
        methods, data_sets, table = score_table(scores, methods)
        return cls(*table, methods=methods, data_sets=data_sets, label=label)

    def plot(
        self,
        *,
        kind: Literal["bars", "ranks"] = "bars",
        ax: Any = None,
        alpha: float = 0.05,
        highlight: Sequence[str] = ("TensorCRP",),
        bar_kw: dict[str, Any] | None = None,
    ) -> Self:
        """Draw bars, or the diagram.

        Parameters
        ----------
        kind : {"bars", "ranks"}, default="bars"
            "bars": a panel per data set, methods with the best mean on top, lines for
            the deviations. "ranks": average ranks over the data sets, 1 the best, of
            methods that were run on all of them; a thick line joins methods that do
            not differ by Nemenyi's test.
        ax : matplotlib Axes or array of them, default=None
            One axes, divided if there are several panels, or as many as there are
            panels; None for a new figure.
        alpha : float, default=0.05
            Level of the test.
        highlight : sequence of str, default=("TensorCRP",)
            Beginnings of the names that are highlighted.
        bar_kw : dict, default=None
            Passed to ``Axes.barh``.

        Returns
        -------
        ComparisonDisplay
            With `figure_`, `axes_`, and `bars_` or `ranking_`.
        """
        check_choice("kind", kind, ("bars", "ranks"))
        if kind == "bars":
            self._plot_bars(ax, tuple(highlight), bar_kw or {})
        else:
            self._plot_ranks(ax, alpha, tuple(highlight))
        return self

    def _plot_bars(self, ax, highlight, bar_kw):
        run = np.flatnonzero(np.isfinite(self.means).any(axis=0))
        if not len(run):
            raise ValueError("means holds no number; pass at least one.")
        overall = dict(zip(run, np.nanmean(self.means[:, run], axis=0), strict=True))
        order = sorted(run, key=overall.get)  # the last is drawn on top
        count = len(self.data_sets)
        size = (2.2 + 4.2 * min(count, 3), 1.0 + 0.29 * len(order))
        self.bars_, same = [], {"sharex": True, "sharey": True}
        with panels(ax, 1, count, size, **same) as (self.figure_, self.axes_):
            for i, axes in enumerate(self.axes_.flat):
                self.bars_.append(self._bars(axes, i, order, highlight, bar_kw))
            self.axes_.flat[(count - 1) // 2].set_xlabel(self.label)

    def _bars(self, ax, i, order, highlight, bar_kw):
        names = [self.methods[j] for j in order]
        mean = np.nan_to_num(self.means[i, order])
        deviation = np.nan_to_num(self.deviations[i, order])
        ours = [name.startswith(highlight) for name in names]
        style = {
            "color": [OUR_COLOUR if mine else OTHERS for mine in ours],
            "hatch": ["//" if mine else "" for mine in ours],
            "edgecolor": "black",
            "linewidth": 0.6,
            "error_kw": {"linewidth": 1.0, "capsize": 2.5},
        }
        bars = ax.barh(names, mean, xerr=deviation, **style | bar_kw)
        for place, j in enumerate(order):
            value = self.means[i, j]
            words = f"{value:.1f}" if np.isfinite(value) else "not run"
            x = mean[place] + deviation[place]
            ax.annotate(
                *(words, (x, place)),
                xytext=(3, 0),
                textcoords="offset points",
                va="center",
                fontsize="x-small",
            )
        ax.set_title(self.data_sets[i], fontsize="medium")
        ax.margins(x=0.12, y=0.02)
        return bars

    def _plot_ranks(self, ax, alpha, highlight):
        self._check_ranks(alpha)
        self.ranking_ = rank_methods(self.means, alpha)
        k = len(self.methods)
        with panels(ax, 1, 1, (7.4, 1.5 + 0.19 * k)) as (self.figure_, self.axes_):
            draw_ranking(self.axes_[0, 0], self.ranking_, self.methods, highlight)
            n, p = len(self.data_sets), self.ranking_.p_value
            self.axes_[0, 0].set_title(
                f"average ranks over {n} data sets, Friedman's p = {p:.2g}",
                fontsize="medium",
            )

    def _check_ranks(self, alpha):
        n, k = self.means.shape
        if n < 2 or k < 3:
            raise ValueError(
                f"ranks need two data sets and three methods or more, got {n} and {k}; "
                "use kind='bars'."
            )
        if not 0 < alpha < 1:
            raise ValueError(f"alpha must be between 0 and 1, got {alpha!r}.")
        holes = ~np.isfinite(self.means)
        if holes.any():
            i, j = np.argwhere(holes)[0]
            whole = [self.methods[j] for j in np.flatnonzero(~holes.any(axis=0))]
            raise ValueError(
                f"{self.methods[j]} was not run on {self.data_sets[i]}; ranks need "
                f"every method on every data set. Run on all are: methods={whole}."
            )


def _renamed(classifier, judge):
    """The classifier, by whichever name it was given."""
    if judge == "deprecated":
        return classifier
    warnings.warn(
        "judge is called classifier since version 0.3; the old name will be an error "
        "in version 0.5.",
        FutureWarning,
        stacklevel=3,
    )
    return judge
