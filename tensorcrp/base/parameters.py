"""Checks of single parameters, for every interface of the package.

In: the name and the value of a parameter. Out: nothing, or one error that names the
value and what it must be.
"""

import inspect
from numbers import Integral, Real

import numpy as np
from sklearn.utils import check_random_state


def check_integer(name, value, least=1, also=()):
    """Reject anything but an integer of at least `least` or a name in `also`."""
    if isinstance(value, str) and value in also:
        return
    integer = isinstance(value, Integral) and not isinstance(value, bool)
    if not integer or value < least:
        names = "".join(f" or {each!r}" for each in also)
        raise ValueError(
            f"{name} must be an integer of at least {least}{names}, got {value!r}."
        )


def check_jobs(name, value):
    """Reject anything but a number of processes as joblib has it: -1 for all cores."""
    integer = isinstance(value, Integral) and not isinstance(value, bool)
    if value is not None and not (integer and value):
        raise ValueError(
            f"{name} must be a number of processes, -1 for one per core, or None, got "
            f"{value!r}."
        )


def check_real(name, value):
    """Reject anything but a finite number that is not negative."""
    real = isinstance(value, Real) and not isinstance(value, bool)
    if not real or not 0 <= value < np.inf:
        raise ValueError(f"{name} must be a finite number, 0 or more, got {value!r}.")


def check_flag(name, value):
    """Reject anything but True and False."""
    if not isinstance(value, (bool, np.bool_)):
        raise ValueError(f"{name} must be True or False, got {value!r}.")


def check_function(name, value):
    """Reject anything but a callable object and None."""
    if value is not None and not callable(value):
        raise ValueError(f"{name} must be a function or None, got {value!r}.")


def check_instance(name, value, kind):
    """Reject anything but an instance of a class."""
    if not isinstance(value, kind):
        raise TypeError(
            f"{name} must be an instance of {kind.__name__}, got {value!r}."
        )


def check_values(name, values):
    """Reject anything but a list, tuple or array of at least one value."""
    array = isinstance(values, np.ndarray) and values.ndim > 0
    if not (isinstance(values, (list, tuple)) or array) or not len(values):
        raise ValueError(
            f"{name} must be a list or tuple of at least one value, got {values!r}."
        )


def check_choice(name, value, choices):
    """Reject anything but one of the names in `choices`."""
    if not isinstance(value, str) or value not in choices:
        names = ", ".join(map(repr, choices))
        raise ValueError(f"{name} must be one of {names}, got {value!r}.")


def check_shape(name, value):
    """Reject anything but a sequence of positive integers."""
    try:
        sizes = list(value)
    except TypeError:
        sizes = []
    if not sizes or not all(isinstance(s, Integral) and s > 0 for s in sizes):
        raise ValueError(
            f"{name} must be a sequence of positive integers, e.g. (16, 16), "
            f"got {value!r}."
        )


def check_picture_size(value, least=1):
    """Reject anything but a height and a width, for the parameter `size`."""
    try:
        height, width = value
    except (TypeError, ValueError):
        raise ValueError(
            f"size must be (height, width), e.g. (32, 32), got {value!r}."
        ) from None
    check_integer("size[0]", height, least)
    check_integer("size[1]", width, least)


def random_source(name, value):
    """A RandomState or Generator from None, an integer or one of these, or an error."""
    if isinstance(value, np.random.Generator):
        return value
    try:
        return check_random_state(value)
    except (ValueError, TypeError) as error:
        raise ValueError(
            f"{name} must be None, an integer from 0 to 2**32 - 1, a "
            "numpy.random.RandomState or a numpy.random.Generator, as "
            f"numpy.random.default_rng(0), got {value!r}."
        ) from error


_BY_PLACE = (
    inspect.Parameter.POSITIONAL_ONLY,
    inspect.Parameter.POSITIONAL_OR_KEYWORD,
)


def with_argument(function, name):
    """A user's function with one more argument at the end than it once had.

    The argument is passed if `function` has a parameter of this name, or takes four
    positional arguments without defaults; otherwise it is dropped.
    """
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):  # functions in C may have none
        parameters = {}
    kinds = [each.kind for each in parameters.values() if each.default is each.empty]
    if sum(kind in _BY_PLACE for kind in kinds) == 4:
        return function
    if name in parameters:
        return lambda *args: function(*args[:-1], **{name: args[-1]})
    return lambda *args: function(*args[:-1])


def check_common(estimator):
    """Reject bad values of the parameters that several methods share."""
    params = estimator.get_params(deep=False)
    for name in {"reg", "tol"} & set(params):
        check_real(name, params[name])
    for name in {"max_iter", "n_orders"} & set(params):
        check_integer(name, params[name])
    if params["sample_shape"] is not None:
        check_shape("sample_shape", params["sample_shape"])


def check_strengths(name, value, shape):
    """One number of at least 0 per mode, from None, a number, or a sequence."""
    if value is None:
        return (0.0,) * len(shape)
    given = (value,) * len(shape) if isinstance(value, Real) else value
    try:
        strengths = list(given)
    except TypeError:
        strengths = []
    if len(strengths) != len(shape):
        raise ValueError(
            f"{name} must be None, a number, or one number for each of the "
            f"{len(shape)} modes of a sample of shape {tuple(shape)}, got {value!r}."
        )
    for mode, strength in enumerate(strengths):
        check_real(f"{name} of mode {mode}", strength)
    return tuple(float(strength) for strength in strengths)


def check_metrics(name, value, shape):
    """Symmetric positive definite matrices (l_m, l_m), or None, one per mode."""
    if not isinstance(value, (list, tuple)) or len(value) != len(shape):
        raise ValueError(
            f"{name} must be a list of {len(shape)} matrices or None, one for each "
            f"mode of a sample of shape {tuple(shape)}, got {value!r}."
        )
    pairs = enumerate(zip(value, shape, strict=True))
    return [_metric_matrix(f"{name}[{mode}]", *pair) for mode, pair in pairs]


def _metric_matrix(name, value, size):
    if value is None:
        return None
    matrix = np.asarray(value)
    if matrix.shape != (size, size) or matrix.dtype.kind not in "biuf":
        raise ValueError(
            f"{name} must be a real matrix of shape {(size, size)}, got shape "
            f"{matrix.shape} and type {matrix.dtype}."
        )
    matrix = matrix.astype(float)
    if not np.allclose(matrix, matrix.T, rtol=1e-10, atol=0):
        raise ValueError(f"{name} must be symmetric; pass (R + R.T) / 2.")
    values = np.linalg.eigvalsh((matrix + matrix.T) / 2)
    if not values[0] > size * np.finfo(float).eps * values[-1]:
        raise ValueError(
            f"{name} must be positive definite, but its smallest eigenvalue is "
            f"{values[0]:.2g}; add a multiple of the identity."
        )
    return (matrix + matrix.T) / 2
