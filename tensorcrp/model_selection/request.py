"""What a search is asked for: its grid, how the solver works, how points are scored.

In: an unfitted `TensorCRPCV` and its samples. Out: a `Grid` and which modes are
ordered, a `Spec`, `Options`; or one clear error.
"""

from __future__ import annotations

import numpy as np

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
