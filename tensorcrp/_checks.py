"""Arrays that are refused before any work, whatever the estimator.

In: what a caller passes as X. Out: nothing, or one error with the repair.
"""

from contextlib import contextmanager

import numpy as np


def refuse(X):
    """Ragged, complex and object input: what scikit-learn names less clearly."""
    if type(X).__module__.startswith(("dask.dataframe", "dask_expr")):
        raise TypeError(
            "X is a dask data frame; pass X.to_dask_array(lengths=True), and the shape "
            "of a sample as sample_shape."
        )
    if isinstance(X, (list, tuple)):
        try:
            X = np.asarray(X)
        except ValueError as error:
            raise ValueError(_RAGGED) from error
    if not isinstance(X, np.ndarray):
        return
    if isinstance(X, np.ma.MaskedArray):
        raise ValueError(
            "X is a masked array, and its mask would be ignored. Fill it with "
            "X.filled(value), or leave samples with masked entries out."
        )
    if X.dtype.kind == "O" and any(isinstance(each, np.ndarray) for each in X.flat):
        raise ValueError(_RAGGED)
    if X.dtype.kind == "c":
        raise ValueError(_COMPLEX.format(X.dtype))


_COMPLEX = (
    "Complex data not supported: X is {}. Pass X.real, abs(X), or real and imaginary "
    "parts stacked as one more mode."
)
_RAGGED = (
    "X is ragged: its samples do not all have the same shape. Crop, pad or resample "
    "them to one shape, then stack them with numpy.stack."
)


@contextmanager
def objects_explained():
    """An error of scikit-learn about objects, in words of ours."""
    try:
        yield
    except TypeError as error:
        if "float()" not in str(error):
            raise
        raise TypeError(
            f"X holds objects that are not numbers ({error}); convert it to an array "
            "of numbers first."
        ) from error


def check_modes(X):
    """Refuse samples with a mode of size 0."""
    for mode, size in enumerate(X.shape[1:]):
        if size == 0:
            raise ValueError(
                f"X has shape {X.shape}: mode {mode} of its samples has size 0. "
                "Every mode needs at least one entry."
            )


def check_stored(X):
    """Refuse an array outside memory that does not hold real numbers."""
    if X.dtype.kind == "c":
        raise ValueError(_COMPLEX.format(X.dtype))
    if X.dtype.kind not in "biuf":
        raise ValueError(
            f"X is a {type(X).__name__} of dtype {X.dtype}, which is not numeric; "
            "store it as numbers first, e.g. X.astype(float)."
        )


def check_chunks(X):
    """Refuse a dask array that is not cut along the samples, and along those alone."""
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
    """Refuse labels or weights whose chunks are not those of X, both dask arrays."""
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
