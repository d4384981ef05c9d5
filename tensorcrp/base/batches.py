"""Statistics of batches, one by one or wherever dask has them.

In: an unfitted estimator and batches ``(X, y)`` or ``(X, y, sample_weight)``. Out: what
its gate learns of the first batch, and the merged statistics of all.
"""

import warnings
from functools import partial

import numpy as np
from sklearn.base import clone

from tensorcrp.base.state import forget, snapshot


def statistics_of_batches(estimator, batches):
    """Attributes of the gate and statistics of each batch, or of many at once."""
    if _is_collection(batches):
        from tensorcrp.storage.chunk_statistics import batch_statistics

        parts, join = (partial(step, clone(estimator)) for step in (stream, joined))
        return [batch_statistics(parts, join, batches)]
    return (stream(clone(estimator), [batch]) for batch in batches)


def _is_collection(batches):
    """Whether batches are a dask bag, a delayed object or a list of those."""
    first = batches[0] if isinstance(batches, (list, tuple)) and batches else batches
    return type(first).__module__.startswith(("dask.bag", "dask.delayed"))


def stream(estimator, batches):
    """``(attributes, scatter)`` of some batches by an unfitted estimator; or None."""
    state, estimator = None, snapshot(estimator)  # tasks of dask may share one
    for batch in batches:
        forget(estimator)
        X, y, weight = estimator._check(*_parts(batch))
        scatter = estimator._checked_statistics(X, y, weight)
        attributes = {k: v for k, v in vars(estimator).items() if k.endswith("_")}
        batch = attributes, estimator._merged(None, scatter)
        state = joined(estimator, state, batch)
    return state


def _parts(batch):
    """``X, y, sample_weight`` of a batch, or an error that says what a batch is."""
    if not isinstance(batch, (tuple, list)) or len(batch) not in (2, 3):
        many = f" of {len(batch)}" if isinstance(batch, (tuple, list)) else ""
        raise ValueError(
            "batches must yield tuples (X, y) or (X, y, sample_weight), got a "
            f"{type(batch).__name__}{many}. Pass one batch as [(X, y)]."
        )
    return (*batch, None)[:3]


def joined(estimator, state, other):
    """Two results of `stream` in one; the first one's attributes count."""
    if state is None or other is None:
        return state or other
    (attributes, scatter), (others, batch) = state, other
    if attributes["input_shape_"] != others["input_shape_"]:
        raise ValueError(
            f"a batch has samples of shape {others['input_shape_']}, others of shape "
            f"{attributes['input_shape_']}; reshape or resample it to match."
        )
    _compare_names(*(each.get("feature_names_in_") for each in (attributes, others)))
    return attributes, estimator._merged(scatter, batch)


def _compare_names(first, later):
    """Reject columns of other names, or in another order, than in the first batch."""
    if first is not None and later is not None and list(first) != list(later):
        i = int(np.flatnonzero(first != later)[0])
        raise ValueError(
            "a batch has columns of other names, or in another order, than the first: "
            f"column {i} is {later[i]!r} and was {first[i]!r}. Select the columns by "
            "name, in one order: X[columns]."
        )
    if (first is None) != (later is None):
        warnings.warn(
            "some batches have column names and some have none: their columns are "
            "taken to be in the same order.",
            stacklevel=5,
        )
