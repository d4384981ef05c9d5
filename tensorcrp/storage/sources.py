"""Which kind of source samples are: memory maps, Zarr, HDF5, dask, arrays on a device.

In: an array-like of shape (n, l_1, ..., l_N), or flattened (n, P).
Out: a `Source` of that shape; features of all samples by a function of one block; or an
error that says what to do instead.

Kinds are told by the module of their type, so that nothing optional is imported.
"""

import numpy as np

from tensorcrp.base.namespace import check_foreign, is_foreign
from tensorcrp.storage.source_kinds import (
    ArraySource,
    DaskSource,
    DeviceSource,
    Source,
    StoredSource,
)


def as_source(X):
    """A `Source` of samples that are not in memory; None for everything else.

    Arrays of other libraries than NumPy stay where they are, too.
    """
    if isinstance(X, Source):
        return X
    home = _home(X)
    if is_foreign(X) and home is None:
        check_foreign(X)
        return DeviceSource(X, tuple(X.shape))
    if home == "dask":
        return DaskSource(X, tuple(X.shape))
    outside = home is not None or _is_mapped(X)
    return StoredSource(X, tuple(X.shape)) if outside else None


def source_of(X):
    """A `Source` of any samples, those of an array in memory included."""
    source = as_source(X)
    return ArraySource(X, X.shape) if source is None else source


def is_dask(X):
    """Whether X is a dask array or a source of one."""
    return isinstance(X, DaskSource) or _home(X) == "dask"


def is_collection(batches):
    """Whether batches are a dask bag, a delayed object or a list of those."""
    first = batches[0] if isinstance(batches, (list, tuple)) and batches else batches
    return type(first).__module__.startswith(("dask.bag", "dask.delayed"))


def _home(X):
    """The package among those known here that an array's class comes from."""
    if not hasattr(X, "shape") or not hasattr(X, "dtype"):
        return None
    packages = {cls.__module__.split(".")[0] for cls in type(X).__mro__}
    return next(iter(packages & {"dask", "zarr", "h5py"}), None)


def _is_mapped(X):
    # Results of arithmetic with a memory map have its type, but are in memory.
    in_file = isinstance(X, np.memmap) and X._mmap is not None
    return in_file and X.dtype.kind in "biuf"


def map_samples(function, X, dtype, width=None):
    """Apply a function to all samples, block by block.

    Parameters
    ----------
    function : callable
        Samples (b, l_1, ..., l_N) -> ndarray of shape (b, width), or (b,) if `width`
        is None. It has to be one that can be pickled.
    X : ndarray or Source of shape (n, l_1, ..., l_N)
    dtype : dtype
        Of the result, which a dask array has to know beforehand.
    width : int, optional

    Returns
    -------
    array of shape (n, width), or (n,)
        A dask array, not computed, if X is one. What the function makes of an array on
        a device.
    """
    return source_of(X).map(function, dtype, width)
