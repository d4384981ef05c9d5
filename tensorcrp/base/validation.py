"""Samples that are rejected before any work, whatever the estimator.

In: what a caller passes as X, rows of the solver, the size of deviations, or files that
could not be read. Out: nothing, or one error with the repair. Labels and weights are in
`targets`, what depends on an estimator is in `gate`.
"""

from contextlib import contextmanager

import numpy as np


class TooFewSamples(ValueError):
    """The samples cannot determine the model yet; more of them could."""


def reject_unusable(X):
    """Reject what scikit-learn takes, or names less clearly: masks, dates, ragged X."""
    reject_recordings("X", X)
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
    if isinstance(X, np.ndarray):
        _reject_array(X)


def _reject_array(X):
    """Reject masks, arrays of arrays, complex numbers, dates and durations."""
    if isinstance(X, np.ma.MaskedArray):
        raise ValueError(
            "X is a masked array, and its mask would be ignored. Fill it with "
            "X.filled(value), or leave samples with masked entries out."
        )
    if X.dtype.kind == "O" and any(isinstance(each, np.ndarray) for each in X.flat):
        raise ValueError(_RAGGED)
    if X.dtype.kind == "c":
        raise ValueError(_COMPLEX.format(X.dtype))
    if X.dtype.kind in "mM":
        raise ValueError(
            f"X is {X.dtype}, dates or durations. Convert it to numbers, e.g. by "
            "(X - X.min()) / numpy.timedelta64(1, 's')."
        )


def is_recording(value):
    """Whether it is an object of MNE's, such as Raw, Epochs or Evoked."""
    return hasattr(value, "get_data") and hasattr(value, "ch_names")


def reject_recordings(name, value):
    """Reject objects of MNE's: NumPy reads them, with channels that hold the labels."""
    some = value[0] if isinstance(value, (list, tuple)) and value else value
    if is_recording(some):
        what = "is" if some is value else "has objects"
        raise TypeError(
            f"{name} {what} of MNE's type {type(some).__name__}, whose channels may be "
            "bad or hold the labels. Pass tensorcrp.signals.epochs_to_tensor(epochs)"
            ".data, which leaves such channels out. mne.concatenate_epochs joins "
            "epochs, and mne.Epochs cuts a Raw into some."
        )


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
    """Replace an error of scikit-learn about objects by a clearer message."""
    try:
        yield
    except TypeError as error:
        if "float()" not in str(error):
            raise
        raise TypeError(
            f"X holds objects that are not numbers ({error}); convert it to an array "
            "of numbers first."
        ) from error


def rows_array(name, value):
    """Rows (n, l_1, ..., l_N) as an array of float32 or float64, or an error."""
    if not isinstance(value, (np.ndarray, list, tuple)):
        kind = f"{type(value).__module__}.{type(value).__name__}"
        raise TypeError(
            f"{name} must be a NumPy array, nested lists of numbers or Rows, got "
            f"{kind}; convert it first, e.g. by numpy.asarray({name})."
        )
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise ValueError(f"{name} is ragged: its rows differ in shape.") from error
    if isinstance(value, np.ma.MaskedArray) or array.dtype.kind not in "biuf":
        what = "masked" if array.dtype.kind in "biuf" else str(array.dtype)
        raise ValueError(f"{name} must hold real numbers alone, but it is {what}.")
    if array.ndim < 2 or not array.size:
        raise ValueError(
            f"{name} must have shape (n, l_1, ..., l_N), at least one row and no mode "
            f"of size 0, got shape {array.shape}."
        )
    single = array.dtype.kind == "f" and array.dtype.itemsize == 4
    return array.astype(np.float32 if single else np.float64, copy=False)


def unfit_rows(name, blocks):
    """A sentence on the first row with NaN or infinity, or on squares that overflow."""
    for part, block in blocks:
        bad = ~np.isfinite(block).reshape(len(block), -1).all(axis=1)
        if bad.any():
            row = part.start + int(np.argmax(bad))
            return (
                f"{name} contains NaN or infinity, first in row {row}. Leave such rows "
                "out or fill the entries, e.g. by numpy.nan_to_num."
            )
    return (
        f"{name} has entries whose squares overflow. Divide all rows by a number, and "
        "lambdas by its square."
    )


def check_alike_rows(between, within):
    """Reject rows of the numerator and the denominator of different shapes."""
    if tuple(between) != tuple(within):
        raise ValueError(
            "between and within must have rows of one shape (l_1, ..., l_N), got "
            f"{tuple(between)} and {tuple(within)}."
        )


def check_modes(X):
    """Reject samples with a mode of size 0."""
    for mode, size in enumerate(X.shape[1:]):
        if size == 0:
            raise ValueError(
                f"X has shape {X.shape}: mode {mode} of its samples has size 0. "
                "Every mode needs at least one entry."
            )


def check_range(largest, total):
    """Reject deviations whose sum of squares overflows, underflows or is NaN."""
    if not (LEAST_TOTAL <= total < np.inf or largest == 0):
        how = "underflow" if total < LEAST_TOTAL else "overflow"
        raise ValueError(
            f"samples differ by up to {largest:.1e}, and the squares of such numbers "
            f"{how}. Divide X by a number of that size."
        )


LEAST_TOTAL = 1e-300  # below, squares lose digits


def check_stored(X):
    """Reject an array outside memory that does not hold real numbers."""
    if X.dtype.kind == "c":
        raise ValueError(_COMPLEX.format(X.dtype))
    if X.dtype.kind not in "biuf":
        raise ValueError(
            f"X is a {type(X).__name__} of dtype {X.dtype}, which is not numeric; "
            "store it as numbers first, e.g. X.astype(float)."
        )


def check_chunk(block, shape, number):
    """Reject a chunk of a dask array that is not of the declared shape.

    Functions given to ``map_blocks`` may return anything; dask does not compare.
    """
    if not isinstance(block, np.ndarray) or block.shape != shape:
        got = getattr(block, "shape", type(block).__name__)
        raise ValueError(
            f"X is a dask array whose chunk of shape {shape} turns out to be {got} "
            f"(chunk {number}). Tell map_blocks, or whatever made X, the true chunks."
        )


_INFINITY = "infinity (inf) or a number too large for float64"


def check_finite(X, numbers=None, chunk=None):
    """Reject NaN and infinity and say where the first one is.

    Parameters
    ----------
    X : ndarray of shape (n, ...)
    numbers : sequence of n int, optional
        Those of the samples in the whole; from 0 on by default.
    chunk : int, optional
        Number of the chunk that X is.
    """
    if X.dtype.kind != "f":
        return
    with np.errstate(all="ignore"):
        if np.isfinite(X.sum(dtype=np.float64)):
            return
    for i, sample in enumerate(X):  # sample by sample: no mask as large as X
        with np.errstate(over="ignore"):  # a long double may be too large for us
            bad = ~np.isfinite(sample.astype(np.float64))
        if bad.any():
            entry = tuple(int(j) for j in np.argwhere(bad)[0])
            what = "NaN" if np.isnan(sample[entry]) else _INFINITY
            where = "" if chunk is None else f" (chunk {chunk})"
            number = i if numbers is None else numbers[i]
            raise ValueError(
                f"Input X contains {what}, first in sample {number} at entry "
                f"{entry}{where}{_slice_of(bad)}. Remove such samples, or fill missing "
                "channels by tensorcrp.signals.ChannelImputer and other entries by "
                "numpy.nan_to_num or sklearn.impute."
            )


def _slice_of(bad):
    """Where all bad entries of a sample are, if that is one index of a mode: words."""
    if bad.ndim < 2 or bad.sum() < 2:
        return ""
    for mode, index in enumerate(np.argwhere(bad).T):
        if (index == index[0]).all():
            return f", all of them at index {index[0]} of mode {mode}"
    return ""


# --- files --------------------------------------------------------------------------


def nothing_read(skipped, noun="file"):
    """The error if no file of many can be read: every file, and why.

    Parameters
    ----------
    skipped : list of (str, str)
        Files and reasons.
    noun : str, default="file"
        What a file is called.

    Returns
    -------
    ValueError

    Examples
    --------
    >>> from tensorcrp.base.validation import nothing_read
    >>> print(nothing_read([("a.mp4", "is empty"), ("b.mp4", "b.mp4 is cut off")]))
    no file could be read:
      a.mp4: is empty
      b.mp4 is cut off
    """
    lines = [text if path in text else f"{path}: {text}" for path, text in skipped]
    return ValueError("\n  ".join([f"no {noun} could be read:", *lines]))
