"""Starts that users give: functions, arrays and CP tensors, checked.

In: ``init`` of a `Spec` that is no name, the shape ``(l_1, ..., l_N)``, rank k and the
number of components h. Out: factors ``(l_m, k)`` of the start of every component, in
the coordinates of the user's samples, or one error that lists the shapes.
"""

from collections.abc import Sequence

import numpy as np

from tensorcrp.base.namespace import host
from tensorcrp.base.parameters import with_argument

NAMED = ("lda", "identity", "random")


def start_function(init, shape, rank, n_components):
    """A function ``(rng, component) -> factors (l_m, k)`` of a start.

    Parameters
    ----------
    init : callable, sequence of arrays, CPTensor or sequence of CPTensor
        A callable is called as ``init(shape, rank, rng, component)``, or without the
        component if it has no place for it.
    shape : tuple of int
    rank : int
    n_components : int

    Returns
    -------
    callable
    """
    if callable(init):
        function = with_argument(init, "component")
        return lambda rng, p: check_factors(
            function(shape, rank, rng, p), shape, rank, p
        )
    starts = given_starts(init, shape, rank, n_components)
    return lambda rng, p: starts[p if len(starts) > 1 else 0]


def given_starts(init, shape, rank, n_components):
    """Factors (l_m, k) of every component, or of one if all start alike."""
    each = _by_component(init, shape)
    if each is None:
        return [check_factors(init, shape, rank)]
    if len(each) < n_components:
        raise ValueError(
            f"init has starts for {len(each)} components, but n_components is "
            f"{n_components}; give one per component, or one for all."
        )
    some = enumerate(each[:n_components])
    return [check_factors(one, shape, rank, p) for p, one in some]


def _by_component(init, shape):
    """What `check_factors` takes, per component; None if `init` is for all alike."""
    if _is_cp(init) or not isinstance(init, Sequence):
        return None
    if init and all(map(_is_cp, init)):
        return list(init)
    sizes = [np.shape(factor) if _is_array(factor) else () for factor in init]
    if len(init) != len(shape) or {len(each) for each in sizes} != {3}:
        return None
    alike = len({h for h, _, _ in sizes}) == 1  # or the error lists the shapes
    return list(zip(*init, strict=True)) if alike else None


def _is_array(value):
    return hasattr(value, "shape")


def _is_cp(value):
    return hasattr(value, "weights") and hasattr(value, "factors")


def check_factors(factors, shape, rank, component=None):
    """Start factors (l_m, k) as arrays, or an error that lists the shapes."""
    wanted = [(size, rank) for size in shape]
    given = _cp_factors(factors) if _is_cp(factors) else factors
    try:
        given = [np.array(host(factor), float) for factor in given]
        got = [factor.shape for factor in given]
    except (TypeError, ValueError):
        got = repr(factors)
    if got != wanted:
        raise ValueError(
            f"init must be one of {NAMED} or give one array (l_m, rank) of numbers per "
            f"mode, of shapes {wanted}, or a CP tensor of that rank; got {got}."
        )
    if not all(np.isfinite(factor).all() and factor.any() for factor in given):
        where = "" if component is None else f" for component {component}"
        raise ValueError(f"init gives factors with NaN, infinity or only zeros{where}.")
    return given


def _cp_factors(tensor):
    """Factors of a CP tensor, its weights in the first of them."""
    first, *rest = tensor.factors
    if tensor.weights is not None:
        first = np.array(host(first), float) * np.array(host(tensor.weights), float)
    return [first, *rest]


def check_earlier(factors, shape):
    """Reject anything but factors (h, l_m, k) of an earlier fit, of any h and k."""
    got = _earlier_sizes(factors)
    good = got and [sizes[1:2] for sizes in got] == [(size,) for size in shape]
    if not good or len({(h, k) for h, _, k in got}) != 1:
        raise ValueError(
            "warm must be one finite array (h, l_m, k) per mode, h and k those of an "
            f"earlier fit, for samples of shape {tuple(shape)}; got {got or factors!r}."
        )


def _earlier_sizes(factors):
    """Shapes of arrays (h, l_m, k) of finite numbers; None if they are not."""
    try:
        arrays = [np.asarray(host(factor), float) for factor in factors]
    except (TypeError, ValueError):
        return None
    good = all(array.ndim == 3 and np.isfinite(array).all() for array in arrays)
    return [array.shape for array in arrays] if good else None
