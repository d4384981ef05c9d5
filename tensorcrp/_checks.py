"""What TensorCRP refuses beyond the common gate, in words that name the repair.

In: labels, start factors and scatter roots that have passed `_estimator`.
Out: the same, or one error before work starts.
"""

from math import prod

import numpy as np

from tensorcrp._estimator import TooFewSamples
from tensorcrp.solver import INITS

ONE_CLASS = (
    "y has fewer than two classes, {}: one class leaves nothing to tell apart. "
    "Pass samples of two classes or more."
)
NOTHING_WITHIN = (
    "nothing varies within the classes (every class has one sample, or all its samples "
    'are equal), so reg_scale="relative" has no scale. Pass two different samples of '
    'some class, or set reg_scale="absolute".'
)


def check_labels(y, weight, reg_scale):
    """Refuse labels that cannot work before any statistics are made."""
    used = y if weight is None else y[weight > 0]
    classes, counts = np.unique(used, return_counts=True)
    if len(classes) < 2:
        raise TooFewSamples(ONE_CLASS.format(classes))
    if reg_scale == "relative" and counts.max() == 1:
        raise TooFewSamples(NOTHING_WITHIN)


def check_factors(factors, shape, rank):
    """Given start factors as arrays, or an error that lists the shapes."""
    wanted = [(size, rank) for size in shape]
    try:
        factors = [np.array(factor, float) for factor in factors]
        got = [factor.shape for factor in factors]
    except (TypeError, ValueError):
        got = repr(factors)
    if got != wanted:
        raise ValueError(
            f"init must be one of {INITS} or give one array (l_m, rank) of numbers per "
            f"mode, of shapes {wanted}; got {got}."
        )
    if not all(np.isfinite(factor).all() and factor.any() for factor in factors):
        raise ValueError("init gives factors with NaN, infinity or only zeros.")
    return factors


def is_singular(root):
    n_features = prod(root.shape[1:])
    if len(root) < n_features:
        return True
    values = np.linalg.svd(root.reshape(-1, n_features), compute_uv=False)
    return values[-1] <= n_features * np.finfo(root.dtype).eps * values[0]
