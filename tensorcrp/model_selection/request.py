"""What a search is asked for: its grid, how the solver works, how points are scored.

In: an unfitted `TensorCRPCV` and its samples. Out: a `Grid` and which modes are
ordered, a `Spec`, `Options`; or one clear error.
"""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
from sklearn.base import clone
from sklearn.metrics import check_scoring

from tensorcrp.base.fitting import statistics
from tensorcrp.base.parameters import check_integer
from tensorcrp.base.projections import check_search_parameters
from tensorcrp.model_selection.classified import classifiers_of, takes_nearest
from tensorcrp.model_selection.grid import Grid, check_grids, sizes_of
from tensorcrp.model_selection.ordering import (
    check_ordered,
    propose_ordered,
    strengths_of,
)
from tensorcrp.model_selection.selection import LEAST_LANES, Options, one_seed
from tensorcrp.solver.objective import DiscriminantRatio
from tensorcrp.solver.spec import Spec
from tensorcrp.storage.sources import source_of

PROBED_CLASSES, PROBED_SAMPLES = 3, 10  # of each class: some classifiers have folds


def check_request(search):
    """Reject bad parameters of a search."""
    check_grids(search.ranks, search.regs, search.smooth)
    check_integer("average", search.average)
    check_search_parameters(search)
    options_of(search, None).check()


def options_of(search, X):
    """How points and candidates are scored, for samples X or before they are known."""
    one = isinstance(search.distance, str)
    return Options(
        classifiers=classifiers_of(search),
        distances=[search.distance] if one else list(search.distance),
        scoring=search.scoring,
        is_nearest=takes_nearest(search) and search.scoring is None,
        white=search.white,
        race=search.race,
        least_lanes=max(LEAST_LANES, search.average),
        n_jobs=search.n_jobs if X is None or source_of(X).in_memory else None,
        shown=bool(search.verbose),
    )


def scorable_options(search, X, y):
    """The same for samples with labels, of candidates that the scoring can score.

    A default candidate that it cannot score is left out; one of the user's is an error,
    before the search and not at its end.
    """
    options = options_of(search, X)
    if options.scoring is None:
        return options
    reasons = [_why_no_score(each, options.scoring, y) for each in options.classifiers]
    pairs = list(zip(options.classifiers, reasons, strict=True))
    kept = [classifier for classifier, reason in pairs if reason is None]
    if kept and search.estimator is None:
        return replace(options, classifiers=kept)
    for classifier, reason in pairs:
        if reason is not None:
            raise ValueError(
                f"scoring={options.scoring!r} cannot score estimator={classifier}: "
                f"{str(reason).rstrip('.')}. Use an estimator that has it, such as "
                "LogisticRegression(), or another scoring."
            )
    return options


def _why_no_score(classifier, scoring, y):
    """The error if a fitted classifier lacks a method that the scoring needs, or None.

    Some know their methods only once fitted, and scorers do not say what they need: a
    few random samples are fitted and scored. Other errors than this one say nothing.
    """
    scorer = check_scoring(classifier, scoring)
    y = np.repeat(np.unique(y)[:PROBED_CLASSES], PROBED_SAMPLES)
    features = np.random.default_rng(0).standard_normal((len(y), 2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            scorer(clone(classifier).fit(features, y), features, y)
        except AttributeError as error:
            return error
        except Exception:
            return None
    return None


def grid_of(search, X, y, weight):
    """The grid, with smoothness in the form of `TensorCRP`, and which modes have it."""
    shape = X.shape[1:]
    if search.ordered is not None or not any(search.smooth):
        ordered = check_ordered(search.ordered, len(shape))
    else:
        ordered = propose_ordered(statistics(X, y, weight, search.max_memory))
    smooths = strengths_of(search.smooth, ordered)
    known = y if weight is None else y[weight > 0]
    sizes = sizes_of(search.n_components, len(np.unique(known)), shape)
    return Grid(smooths, list(search.ranks), list(search.regs), sizes), ordered


def spec_of(search, longest):
    """What the solver is asked for in every fold."""
    return Spec(
        longest,
        reg_scale=search.reg_scale,
        objective=DiscriminantRatio(search.between),
        init=search.init,
        n_init=search.n_init,
        max_iter=search.max_iter,
        tol=search.tol,
        random_state=one_seed(search.random_state),
    )
