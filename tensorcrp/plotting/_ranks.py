"""Friedman's test and Nemenyi's critical difference of methods over data sets.

In: scores (data sets, methods), larger being better. Out: average ranks, 1 the best and
ties shared, and the difference that two of them need to differ at level alpha, after
J. Demsar, "Statistical Comparisons of Classifiers over Multiple Data Sets", Journal of
Machine Learning Research 7, 2006: ``q sqrt(k (k + 1) / (6 n))`` for k methods on n data
sets, q the quantile of the studentised range over the square root of two.
"""

from dataclasses import dataclass

import numpy as np
from scipy import stats


@dataclass(frozen=True)
class Ranking:
    """How methods rank over data sets.

    Attributes
    ----------
    average : ndarray of shape (k,)
        Mean ranks over the data sets, in the order of the methods.
    statistic, p_value : float
        Friedman's test that all methods rank alike.
    critical_difference : float
        Of two average ranks, by Nemenyi's test.
    groups : list of list of int
        Methods, best first, none of which differs from another of its group.
    """

    average: np.ndarray
    statistic: float
    p_value: float
    critical_difference: float
    groups: list


def rank_methods(scores, alpha=0.05):
    """The `Ranking` of methods by complete scores (data sets, methods)."""
    n, k = scores.shape
    scores = np.round(scores, 9)  # means that differ by rounding are ties
    ranks = stats.rankdata(-scores, axis=1)
    average = ranks.mean(axis=0)
    if np.ptp(ranks) == 0:  # equal everywhere: nothing to divide by
        statistic, p_value = 0.0, 1.0
    else:
        statistic, p_value = map(float, stats.friedmanchisquare(*scores.T))
    q = stats.studentized_range.ppf(1 - alpha, k, np.inf) / np.sqrt(2)
    difference = float(q * np.sqrt(k * (k + 1) / (6 * n)))
    groups = _groups(average, difference)
    return Ranking(average, statistic, p_value, difference, groups)


def _groups(average, difference):
    """The largest runs of methods, in the order of ranks, closer than `difference`."""
    order = np.argsort(average, kind="stable")
    groups, reached = [], 0
    for i in range(len(order)):
        near = average[order[i:]] - average[order[i]] < difference
        end = i + int(near.sum())
        if end > max(reached, i + 1):
            groups.append(order[i:end].tolist())
        reached = max(reached, end)
    return groups


def draw_ranking(ax, ranking, methods, highlight):
    """The critical-difference diagram: methods hang from an axis of ranks."""
    k, average = len(methods), ranking.average
    order = np.argsort(average, kind="stable")
    below = 0.55 + 0.4 * len(ranking.groups)
    left = (k + 1) // 2
    for place, i in enumerate(order):
        on_left = place < left
        depth = place if on_left else k - 1 - place
        y, side = -(below + 0.75 * depth), 0.9 if on_left else k + 0.1
        ax.plot([average[i]] * 2 + [side], [0, y, y], color="black", linewidth=0.9)
        words = f"{methods[i]}  {average[i]:.2f}"
        if not on_left:
            words = f"{average[i]:.2f}  {methods[i]}"
        ours = "bold" if methods[i].startswith(highlight) else "normal"
        ha = "right" if on_left else "left"
        place_of = side + (-0.06 if on_left else 0.06)
        ax.text(place_of, y, words, ha=ha, va="center", weight=ours, fontsize="small")
    for level, group in enumerate(ranking.groups):
        ends = average[group].min() - 0.04, average[group].max() + 0.04
        y = -0.35 - 0.4 * level
        ax.plot(ends, [y, y], color="black", linewidth=4, solid_capstyle="butt")
    _draw_axis(ax, k, ranking.critical_difference)
    ax.set_ylim(-(below + 0.75 * (left - 1) + 0.5), 2.2)


def _draw_axis(ax, k, difference):
    """Ranks from 1 to k, and the critical difference above them as a ruler."""
    ax.plot([1, k], [0, 0], color="black", linewidth=1.2)
    for rank in range(1, k + 1):
        ax.plot([rank, rank], [0, 0.15], color="black", linewidth=1.2)
        ax.text(rank, 0.3, str(rank), ha="center", va="bottom", fontsize="small")
    ends = [1, 1 + difference]
    ax.plot(ends, [1.45, 1.45], color="black", marker="|", linewidth=1.2)
    words = f"critical difference {difference:.2f}"
    ax.text(1, 1.65, words, ha="left", va="bottom", fontsize="small")
    ax.set_xlim(0.85, max(k + 0.15, 1.05 + difference))
    ax.set_axis_off()
