"""The gate of every estimator: what callers pass as X, y and sample_weight, checked.

In: an estimator, X ``(n, l_1, ..., l_N)``, or flattened ``(n, P)``, labels and weights.
Out: checked arrays (never copied, never converted unless they must be), or one error
that names the value and the repair. The only user of scikit-learn's private parts.
"""

from __future__ import annotations

from math import prod

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    _check_sample_weight,
    check_is_fitted,
    validate_data,
)

from tensorcrp.base.namespace import adopted, check_same_device, host, is_foreign
from tensorcrp.base.targets import (
    check_present,
    check_weights,
    class_weighted,
    weights_in_range,
)
from tensorcrp.base.validation import (
    check_finite,
    check_modes,
    check_stored,
    objects_explained,
    reject_unusable,
)
from tensorcrp.storage.sources import as_source, is_dask

UNLABELLED = "no_validation"  # scikit-learn's word for: there is no y to look at
_RULES = {"dtype": "numeric", "allow_nd": True, "ensure_all_finite": False}


def check_samples(
    estimator, X, y, sample_weight=None, *, reset=True, lazy=False, any_unit=False
):
    """Checked ``X`` (n, l_1, ..., l_N), labels (n,) and weights (n,) or None.

    Sets ``sample_shape_`` and ``input_shape_`` if `reset`, else compares with them.
    An estimator that takes ``y = UNLABELLED`` gets ``y = None`` back. If `lazy`, what
    is not in memory stays there: ``X`` is a `Source`, and NaN in it is not noticed
    before it is read. If `any_unit`, the scale of all weights together does not count.
    """
    X = adopted(X)
    source = _outside(estimator, X, lazy)
    y = _local(y, X, source, "y")
    sample_weight = _local(sample_weight, X, source, "sample_weight")
    if not reset:
        compare_shape(estimator, X)
    given = X if source is None else source.stand_in()
    if y is not None and not isinstance(y, str):
        check_present(y)
    with objects_explained():
        checked = validate_data(estimator, given, y, reset=reset, **_RULES)
    given, y = (checked, None) if isinstance(y, str) else checked
    check_modes(given)
    if y is not None:
        check_classification_targets(y)
    weight = _weights(estimator, given, y, sample_weight, any_unit)
    X = given if source is None else _at_hand(source, lazy)
    if source is None or not lazy:
        check_finite(X)
    _set_shapes(estimator, X, reset)
    return X.reshape(len(X), *estimator.sample_shape_), y, weight


def _weights(estimator, X, y, sample_weight, any_unit):
    """Checked weights of samples times those of their classes, or None."""
    if sample_weight is not None:
        sample_weight = _check_sample_weight(
            sample_weight, X, dtype=np.float64, ensure_non_negative=True
        )
        if not sample_weight.any():  # scikit-learn before 1.7 lets this pass
            raise ValueError("Sample weights must contain a non-zero number.")
    class_weight = getattr(estimator, "class_weight", None)
    weight = class_weighted(class_weight, y, sample_weight)
    if weight is None:
        return None
    if any_unit:
        weight = weights_in_range(weight)
    check_weights(weight)
    return weight


def _set_shapes(estimator, X, reset):
    """Set the shapes of a sample, or compare them with those of earlier batches."""
    shape = sample_shape_of(estimator, X)
    if reset:
        estimator.input_shape_, estimator.sample_shape_ = X.shape[1:], shape
    elif shape != estimator.sample_shape_:
        raise ValueError(
            f"sample_shape={estimator.sample_shape} makes samples of shape {shape}, "
            f"those of the batches so far had shape {estimator.sample_shape_}. Set it "
            "back, or start over with fit or with a clone."
        )


def check_tensor(estimator, X, lazy=True):
    """Checked ``X`` of the fitted sample shape, in the layout given to fit.

    What is not in memory becomes a `Source` if `lazy`, see `check_samples`.
    """
    check_is_fitted(estimator)
    X = adopted(X)
    source = _outside(estimator, X, lazy)
    compare_shape(estimator, X)
    given = X if source is None else source.stand_in()
    with objects_explained():
        X = validate_data(estimator, given, reset=False, **_RULES)
    if source is not None and source.on_device:
        source.check_finite()
    if source is not None:
        return _at_hand(source, lazy)
    check_finite(X)
    return X


def _at_hand(source, lazy):
    """The source itself if `lazy`, else its samples, copied to the host."""
    return source if lazy else source.read(0, len(source), own=False)


def _outside(estimator, X, lazy):
    """A `Source` of samples outside memory; None if they are, or have to be, in it."""
    reject_unusable(X)
    if not lazy and is_dask(X):
        raise TypeError(
            f"{type(estimator).__name__} needs all samples in memory, and X is a "
            "dask array: pass X.compute()."
        )
    source = as_source(X)
    if source is None or source.on_device:
        return source
    if not lazy:
        return None
    check_stored(source.array)
    if is_dask(source):
        check_chunks(source.array)
    return source


def _local(values, X, source, name):
    """Labels or weights (n,) in memory, where X is or in the chunks of X."""
    if is_foreign(values):
        check_same_device(values, X, name)
        return host(values)
    if not is_dask(values):
        return values
    if source is not None and is_dask(source):
        check_alike(values, source.array, name)
    return np.asarray(values)


# --- shapes of samples --------------------------------------------------------------


def sample_shape_of(estimator, X):
    """Shape of one sample: ``sample_shape`` if X is flattened, else X's own."""
    given = estimator.sample_shape
    if given is None or tuple(given) == X.shape[1:]:
        return X.shape[1:]
    if X.ndim != 2:
        raise ValueError(
            f"sample_shape={given} is for flattened samples, but those of X have shape "
            f"{X.shape[1:]}; leave sample_shape out."
        )
    if prod(given) != X.shape[1]:
        raise ValueError(
            f"sample_shape={given} has {prod(given)} entries, but the samples "
            f"of X have {X.shape[1]}; give the shape of one sample."
        )
    return tuple(given)


def compare_shape(estimator, X):
    """Compare every mode; scikit-learn itself looks at the first one alone."""
    if issparse(X):
        return  # scikit-learn says how to convert it
    whole = tuple(getattr(X, "shape", None) or np.asarray(X).shape)
    shape, fitted = whole[1:], estimator.input_shape_
    if shape == fitted or (len(shape) < 2 and len(fitted) < 2):
        return
    name = type(estimator).__name__
    if whole == fitted:
        raise ValueError(
            f"X has shape {whole}, that of a single sample of {name}; add an axis of "
            "samples: X[None]."
        )
    raise ValueError(
        f"X has samples of shape {shape}, but {name} was fitted on samples of shape "
        f"{fitted}; reshape or resample X to match."
    )


# --- samples and labels in chunks of dask -------------------------------------------


def check_chunks(X):
    """Reject a dask array that is not cut along the samples, and along those alone."""
    if any(np.isnan(size) for sizes in X.chunks for size in sizes):
        raise ValueError(
            "X is a dask array of unknown chunk sizes, as filters leave them. Call "
            "X.compute_chunk_sizes() first."
        )
    if any(len(sizes) > 1 for sizes in X.chunks[1:]):
        whole = dict.fromkeys(range(1, X.ndim), -1)
        raise ValueError(
            f"X is a dask array with {X.numblocks[1:]} chunks along the modes of a "
            f"sample; cut it along the samples only: X.rechunk({whole})."
        )
    if not isinstance(X._meta, np.ndarray) or isinstance(X._meta, np.ma.MaskedArray):
        raise ValueError(
            f"the chunks of X are of type {type(X._meta).__name__}, not NumPy arrays. "
            "Convert them, e.g. X.map_blocks(lambda block: block.todense()) if they "
            "are sparse."
        )


def check_alike(values, X, name):
    """Reject labels or weights whose chunks are not those of X, both dask arrays."""
    series = not hasattr(values, "chunks")  # a column of a dask data frame
    if not series and values.ndim == 1 and values.chunks[0] != X.chunks[0]:
        raise ValueError(
            f"{name} is a dask array with chunks of {_sizes(values)} samples, X one "
            f"with chunks of {_sizes(X)}. If both have the same samples in the same "
            f"order, {name}.rechunk((X.chunks[0],)) makes them alike; unknown sizes "
            f"are found by {name}.compute_chunk_sizes()."
        )


def _sizes(X):
    few = ", ".join(str(size) for size in X.chunks[0][:3])
    return few if len(X.chunks[0]) <= 3 else f"{few}, ..."
