"""Arrays of other libraries: PyTorch, JAX, CuPy and all that follow the array API.

In: an array on any device. Out: its library under the names of the array API standard,
copies from the host to where it is and back, or one error that says what to convert.
NumPy's arrays may be passed everywhere and are returned as they are.

This module alone knows how libraries differ. It imports none of them: who has one of
their arrays has imported it.
"""

import sys

import numpy as np

TYPES = ("float32", "float64")
NARROW = {"float64": "float32", "int64": "int32"}  # JAX has these unless told


def is_foreign(X):
    """Whether X is an array of another library that computes on it where it is."""
    if isinstance(X, (np.ndarray, np.generic)) or not hasattr(X, "shape"):
        return False
    return _is_torch(X) or hasattr(X, "__array_namespace__")


def adopted(X):
    """An array that knows DLPack and nothing else as NumPy's, not copied."""
    bare = hasattr(X, "__dlpack__") and not hasattr(X, "__array__")
    return np.from_dlpack(X) if bare and not is_foreign(X) else X


def namespace_of(X):
    """The library of an array, under the names of the array API standard."""
    if isinstance(X, np.ndarray):
        return np
    return _TORCH if _is_torch(X) else X.__array_namespace__()


def kind_of(X):
    """Name of the library of an array: "numpy", "torch", "jax", "cupy", ..."""
    if _is_torch(X):
        return "torch"
    return "numpy" if isinstance(X, np.ndarray) else _root(namespace_of(X).__name__)


def place_of(X):
    """Where an array is, in words."""
    return f"{kind_of(X)} on {X.device}" if is_foreign(X) else "NumPy in host memory"


def type_name(X):
    """``"float32"`` for any library's float32."""
    return str(X.dtype).rpartition(".")[2]


def put(values, like):
    """NumPy values as an array of the kind of another one, on its device."""
    if isinstance(like, np.ndarray):
        return values
    values = values.astype(_known_type(values.dtype, like), copy=False)
    if not values.flags.writeable or any(step < 0 for step in values.strides):
        values = values.copy()  # PyTorch shares memory, and not such
    return namespace_of(like).asarray(values, device=like.device)


def followed(values, X):
    """NumPy values as an array of the kind of X; as they are if they are no numbers."""
    follow = is_foreign(X) and values.dtype.kind in "biuf"
    return put(values, X) if follow else values


def checked_host(X):
    """Samples of any library in host memory, where they can be computed with."""
    X = adopted(X)
    if not is_foreign(X):
        return X
    check_foreign(X)
    return host(X)


def host(X):
    """An array, or what NumPy converts to one, in host memory."""
    if not is_foreign(X):
        return np.asarray(X)
    if _is_torch(X):
        return X.detach().cpu().resolve_neg().numpy()
    if hasattr(X, "get"):  # CuPy converts nothing by itself
        return X.get()
    if hasattr(X, "to_device") and not on_host(X):
        X = X.to_device(_host_device(X))
    return np.asarray(X)


def as_type(X, dtype):
    """An array converted to a type of NumPy's, not copied if it has it.

    float64 is float32 on a device that has no type of 64 bits.
    """
    if isinstance(X, np.ndarray):
        return X.astype(dtype, copy=False)
    name, xp = _known_type(dtype, X).name, namespace_of(X)
    return X if type_name(X) == name else xp.astype(X, getattr(xp, name))


def _known_type(dtype, like):
    """A type of NumPy's, of 32 bits where the device of an array has none of 64."""
    dtype = np.dtype(dtype)
    half = NARROW.get(dtype.name)
    return dtype if half is None or dtype.name in _wide_types(like) else np.dtype(half)


def _wide_types(X):
    """Names of the types of 64 bits that the device of an array has."""
    if type_name(X) == "float64":
        return NARROW
    if _is_torch(X):  # Apple's devices alone have no float64
        return {"int64"} if X.device.type == "mps" else NARROW
    info = getattr(namespace_of(X), "__array_namespace_info__", None)
    return NARROW if info is None else info().dtypes(device=X.device)


def on_host(X):
    """Whether an array is in host memory."""
    return not is_foreign(X) or "cpu" in str(X.device).lower()


def spans(n, step):
    """Slices of at most `step` that make up ``range(n)``, none of them too long."""
    return (slice(start, min(n, start + step)) for start in range(0, n, step))


def check_foreign(X):
    """Reject what cannot be computed with, and say how to convert it."""
    if getattr(X, "requires_grad", False):
        raise ValueError(
            "X requires a gradient, which no estimator here computes. Pass X.detach()."
        )
    # Arrays of some versions of JAX have a layout, too, which says something else.
    if _is_torch(X) and str(X.layout) != "torch.strided":
        raise ValueError(f"X is a tensor of layout {X.layout}. Pass X.to_dense().")
    if type_name(X) not in TYPES:
        how = "X.to(torch.float32)" if _is_torch(X) else "xp.astype(X, xp.float32)"
        raise ValueError(
            f"X is an array of {kind_of(X)} of type {type_name(X)}; arrays of other "
            f"libraries than NumPy must be float32 or float64. Convert it, e.g. {how}."
        )


def check_same_device(values, X, name):
    """Reject labels or weights that are neither where X is nor on the host."""
    if not is_foreign(values) or on_host(values):
        return
    if not is_foreign(X) or values.device != X.device:
        raise ValueError(
            f"X is {place_of(X)}, and {name} is {place_of(values)}. Move {name} to the "
            f"device of X, or to the host."
        )


def _is_torch(X):
    return any(_root(cls.__module__) == "torch" for cls in type(X).__mro__)


def _root(name):
    return name.partition(".")[0]


def _host_device(X):
    devices = namespace_of(X).__array_namespace_info__().devices()
    return next(each for each in devices if "cpu" in str(each).lower())


class _TorchNames:
    """PyTorch, with the standard's names for what it calls otherwise."""

    def __getattr__(self, name):
        if name.startswith("__"):  # who inspects this module need not have it
            raise AttributeError(name)
        return getattr(sys.modules["torch"], name)

    def permute_dims(self, X, axes):
        return X.permute(axes)

    def astype(self, X, dtype):
        return X.to(dtype)

    def max(self, X, axis):
        return X.amax(axis)

    def take(self, X, indices, axis):
        return X.index_select(axis, indices)


_TORCH = _TorchNames()
