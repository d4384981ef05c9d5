"""Samples that stay where they are: memory maps, Zarr, HDF5, dask, arrays on a device.

In: an array-like of shape (n, l_1, ..., l_N), or flattened (n, P).
Out: a `Source` of that shape, read block by block and never as a whole; features of
all samples by a function of one block; or an error that says what to do instead.

Kinds are told by the module of their type, so that nothing optional is imported.
"""

import mmap
from dataclasses import dataclass, replace
from functools import partial
from math import prod

import numpy as np

from tensorcrp.base.namespace import (
    check_foreign,
    host,
    is_foreign,
    namespace_of,
    put,
    type_name,
)
from tensorcrp.base.validation import check_chunk, check_finite

READ_BYTES = 2**22  # samples are fetched about 4 MB at a time, which stay in cache
GAP = 8  # samples between two wanted ones that are read along


def as_source(X):
    """A `Source` of samples that are not in memory; None for everything else.

    Arrays of other libraries than NumPy stay where they are, too.
    """
    if isinstance(X, Source):
        return X
    if is_foreign(X) and _home(X) is None:
        check_foreign(X)
        return DeviceSource(X, tuple(X.shape))
    outside = _home(X) is not None or _is_mapped(X)
    return Source(X, tuple(X.shape)) if outside else None


def is_dask(X):
    """Whether X is a dask array or a source of one."""
    return _home(X.array if isinstance(X, Source) else X) == "dask"


def is_on_device(X):
    """Whether X is a source of an array of another library than NumPy."""
    return isinstance(X, DeviceSource)


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


@dataclass(frozen=True)
class Source:
    """An array outside memory with the few attributes of an ndarray that we need.

    Attributes
    ----------
    array : numpy.memmap, zarr.Array, h5py.Dataset or dask.array.Array
        Of shape (n, ...) with the same number of entries in a sample.
    shape : tuple of int
        ``(n, l_1, ..., l_N)``.
    """

    array: object
    shape: tuple

    def __len__(self):
        return self.shape[0]

    @property
    def ndim(self):
        """Number of modes of a sample, and one."""
        return len(self.shape)

    @property
    def dtype(self):
        """Type of the entries as they are stored."""
        return np.dtype(self.array.dtype)

    @property
    def nbytes(self):
        """Bytes that all samples would take."""
        return prod(self.shape) * self.dtype.itemsize

    def reshape(self, n, *shape):
        """The same samples in another shape; -1 for all entries."""
        shape = (prod(self.shape[1:]),) if shape == (-1,) else shape
        return replace(self, shape=(n, *shape))

    def stand_in(self):
        """An ndarray of this shape and type that takes no memory: zeros."""
        return np.broadcast_to(np.zeros((), self.dtype), self.shape)

    @property
    def step(self):
        """Samples to read at a time: whole chunks, about `READ_BYTES`."""
        return self.samples_in(READ_BYTES)

    def samples_in(self, n_bytes):
        """Number of samples in whole chunks of about so many bytes, at least one."""
        size = max(1, self.nbytes // len(self))
        chunk = 1
        if is_dask(self):
            chunk = max(self.array.chunks[0])
        elif getattr(self.array, "chunks", None):
            chunk = self.array.chunks[0]
        return chunk * max(1, n_bytes // (size * chunk))

    def read(self, start, stop, own=True):
        """Samples ``start <= i < stop``, as an array of our own or only to look at.

        The latter may lie in a memory map: `release` it once it has been looked at.
        """
        block = self.array[start:stop]
        block = np.array(block, copy=True) if own else np.asarray(block)
        if own:
            self.release(start, stop)
        return block.reshape(-1, *self.shape[1:])

    def take(self, index, own=True):
        """Samples of increasing numbers, (r, l_1, ..., l_N)."""
        first, last = index[0], index[-1]
        if last - first == len(index) - 1:  # nothing to look for: passes are many
            return self.read(first, last + 1, own)
        cuts = np.flatnonzero(np.diff(index) > GAP) + 1
        parts = [self._some(run, own) for run in np.split(index, cuts)]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def _some(self, run, own):
        """Samples that lie near each other; all of them need no second copy."""
        block = self.read(run[0], run[-1] + 1, own)
        return block if len(block) == len(run) else block[run - run[0]]

    def release(self, start, stop):
        """Give the pages of a memory map back in which samples were read.

        They stay in the system's cache of files; counted as ours they would grow to
        the size of the file. Changes of a private map (mode "c") would be lost: they
        stay.
        """
        array = self.array
        if isinstance(array, np.memmap) and array.mode in ("r", "r+", "w+"):
            if hasattr(mmap, "MADV_DONTNEED"):
                # No more than these: the time of the call grows with what it is given.
                array._mmap.madvise(mmap.MADV_DONTNEED, *_pages(array[start:stop]))


@dataclass(frozen=True)
class DeviceSource(Source):
    """An array of another library than NumPy, on the host or on a device."""

    @property
    def dtype(self):
        """NumPy's name of the type: float32 or float64."""
        return np.dtype(type_name(self.array))

    @property
    def whole(self):
        """The array in the shape of the samples."""
        return namespace_of(self.array).reshape(self.array, self.shape)

    def read(self, start, stop, own=True):
        """Samples ``start <= i < stop``, copied to the host."""
        part = slice(int(start), min(len(self), int(stop)))
        block = host(self.array[part, ...]).reshape(-1, *self.shape[1:])
        return np.array(block) if own else block

    def some(self, index):
        """Samples of these numbers, flattened, where they are: (r, P)."""
        xp = namespace_of(self.array)
        flat = xp.reshape(self.array, (len(self), -1))
        if len(index) == index[-1] - index[0] + 1:
            return flat[int(index[0]) : int(index[-1]) + 1, ...]
        return xp.take(flat, put(np.asarray(index), flat), axis=0)

    def check_finite(self):
        """Reject NaN and infinity, with the sample that has the first of them."""
        xp = namespace_of(self.array)
        if bool(xp.all(xp.isfinite(self.array))):
            return
        flat = xp.isfinite(xp.reshape(self.array, (len(self), -1)))
        bad = int(np.flatnonzero(~host(xp.all(flat, axis=1)))[0])
        check_finite(self.read(bad, bad + 1), [bad])


def _pages(part):
    """Where in its memory map a part lies, in bytes: first page and length."""
    first = part.__array_interface__["data"][0]
    steps = zip(part.shape, part.strides, strict=True)
    ends = [(size - 1) * step for size, step in steps]
    low = first + sum(end for end in ends if end < 0)
    high = first + sum(end for end in ends if end > 0) + part.itemsize
    base = np.frombuffer(part._mmap, np.uint8).__array_interface__["data"][0]
    page = (low - base) // mmap.PAGESIZE * mmap.PAGESIZE
    return page, high - base - page


def blocks(rows, size):
    """Consecutive blocks of at most `size` rows, from an array or what has `blocks`.

    Yields
    ------
    tuple of slice and ndarray
    """
    if hasattr(rows, "blocks"):
        yield from rows.blocks(size)
        return
    for start in range(0, len(rows), size):
        yield slice(start, start + size), rows[start : start + size]


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
    if not isinstance(X, Source):
        return function(X)
    if is_on_device(X):
        return function(X.whole)
    if is_dask(X):
        return _map_chunks(function, X, dtype, width)
    parts = []
    for start in range(0, len(X), X.step):
        block = X.read(start, start + X.step)
        check_finite(block, range(start, start + len(block)))
        parts.append(function(block))
    return np.concatenate(parts)


def _map_chunks(function, X, dtype, width):
    rows, declared = X.array.chunks[0], X.array.shape[1:]
    starts = [0, *np.cumsum(rows[:-1]).tolist()]
    shapes = [(size, *declared) for size in rows]
    more = () if width is None else (width,)
    none = np.empty((0, *more), dtype)
    return X.array.map_blocks(
        partial(_chunk_features, function, X.shape[1:], starts, shapes, none),
        dtype=dtype,
        chunks=(rows, *((size,) for size in more)),
        drop_axis=list(range(none.ndim, X.array.ndim)),
        meta=none,
    )


def _chunk_features(function, shape, starts, shapes, none, block, block_id=None):
    number = block_id[0]
    check_chunk(block, shapes[number], number)
    if not len(block):
        return none
    check_finite(block, range(starts[number], starts[number] + len(block)), number)
    return function(block.reshape(-1, *shape))
