"""Tables of scores, and what is wrong with scores.

In: a grid and the scores (folds, points) of its points. Out: ``cv_results_`` as in
scikit-learn's `GridSearchCV`, or an error that names the repair.
"""

from __future__ import annotations

import inspect
import warnings

import numpy as np

from tensorcrp.model_selection.grid import TIE


class GridEndWarning(UserWarning):
    """The best value is at an end of the values that were tried.

    Examples
    --------
    >>> import warnings
    >>> from tensorcrp.model_selection import GridEndWarning
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", GridEndWarning)  # as it is meant to be
    """


def results_of(grid, scores, seen):
    """``cv_results_`` of scores (folds, points), of which each point saw the first.

    A point that a race left out has NaN in the folds that it did not see, and the mean
    of the others, NaN if there are none. A point whose classifier gave NaN has that as
    its mean.
    """
    points = grid.points()
    known = [part[: max(1, k)] for part, k in zip(scores.T, seen, strict=True)]
    mean = np.array([part.mean() for part in known])
    std = np.array([part.std() for part in known])
    results = {f"param_{name}": _objects(points, name) for name in points[0]}
    results["params"] = points
    for i, fold in enumerate(scores):
        results[f"split{i}_test_score"] = fold
    results["mean_test_score"], results["std_test_score"] = mean, std
    known = np.where(np.isnan(mean), -np.inf, mean)
    # Points that a race left out come after all others.
    whole = seen == len(scores)
    better = (known[:, None] < known - TIE) & (whole[:, None] == whole)
    better |= whole & ~whole[:, None]
    results["rank_test_score"] = 1 + better.sum(axis=1)
    results["n_splits"] = seen
    return results


def _objects(points, name):
    """Values of one parameter, as scikit-learn keeps them."""
    values = np.empty(len(points), dtype=object)
    values[:] = [point[name] for point in points]
    return values


def check_scores(scores, seen, n_folds, classifier):
    """Reject mean scores that are all NaN; warn of those that are.

    Only points that have seen the whole of the folds can be chosen; those that have
    seen none have no score.
    """
    whole, unknown = seen == n_folds, int(np.isnan(scores[seen > 0]).sum())
    if np.isnan(scores[whole]).all():
        raise ValueError(
            f"the scores of all {whole.sum()} points of the grid that saw every fold "
            f"are NaN or infinite: estimator={classifier} is scored by no number. Use "
            "another classifier or scoring, or folds for which scores are defined."
        )
    if unknown:
        warnings.warn(
            f"the scores of {unknown} of {len(scores)} points of the grid are NaN or "
            "infinite; these points are not chosen.",
            stacklevel=5,
        )


def _is_own(given, default):
    """Whether a grid is the user's; a clone has copies of the default."""
    if default is None or given is None:
        return given is not default
    return list(given) != list(default)


def warn_of_ends(grid, search):
    """Warn if most of the average has its ridge at an end of the grid.

    The same for other parameters whose grid is the user's.
    """
    default = inspect.signature(type(search)).parameters
    names = ["reg"] + [
        name
        for name in ("smooth", "n_components")
        if _is_own(getattr(search, name), default[name].default)
    ]
    ends = [grid.at_an_end(point, names) for point in search.members_]
    shares = {n: np.dot(search.weights_, [n in each for each in ends]) for n in names}
    found = [f"{n}={search.best_params_[n]}" for n in ends[0] if shares[n] > 0.5]
    if found:
        warnings.warn(
            f"the best {' and '.join(found)} is at an end of its grid; try values "
            "beyond it.",
            GridEndWarning,
            stacklevel=4,
        )
