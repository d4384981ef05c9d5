"""Samples where they are: in memory, in files, in chunks of dask, on a device.

In: an array-like of shape (n, l_1, ..., l_N), or flattened (n, P). Out: a `Source` of
that shape, which reads some of the samples, and applies a function to all of them where
that is best done. Kinds are told by the module of their type, so that nothing optional
is imported.
"""

from abc import ABC, abstractmethod
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
from tensorcrp.base.resources import release_pages
from tensorcrp.base.validation import check_chunk, check_finite

READ_BYTES = 2**22  # samples are fetched about 4 MB at a time, which stay in cache
GAP = 8  # samples between two wanted ones that are read along


@dataclass(frozen=True)
class Source(ABC):
    """Samples anywhere, with the few attributes of an ndarray that we need.

    Attributes
    ----------
    array : array
        Of shape (n, ...) with the same number of entries in a sample.
    shape : tuple of int
        ``(n, l_1, ..., l_N)``.
    in_memory : bool
        Whether the array is a NumPy array in memory.
    on_device : bool
        Whether it is one of another library, on the host or on a device.
    """

    array: object
    shape: tuple
    in_memory = False
    on_device = False

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

    @property
    def chunk(self):
        """Samples that are stored together."""
        return 1

    def samples_in(self, n_bytes):
        """Number of samples in whole chunks of about so many bytes, at least one."""
        size = max(1, self.nbytes // len(self))
        return self.chunk * max(1, n_bytes // (size * self.chunk))

    @abstractmethod
    def read(self, start, stop, own=True):
        """Samples ``start <= i < stop``, as an array of our own or only to look at.

        The latter may lie in a memory map: `release` it once it has been looked at.
        """

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

    def release(self, start, stop):  # noqa: B027, most have nothing to do
        """Give back what looking at samples took: nothing, unless they are mapped."""

    @abstractmethod
    def map(self, function, dtype, width):
        """What a function makes of all samples, see `map_samples`."""


class ArraySource(Source):
    """A NumPy array in memory."""

    in_memory = True

    def samples_in(self, n_bytes):
        """One: there is nothing to fetch."""
        return 1

    def read(self, start, stop, own=True):
        """Samples ``start <= i < stop``."""
        return np.array(self.array[start:stop], copy=own or None).reshape(
            -1, *self.shape[1:]
        )

    def take(self, index, own=True):
        """Samples of these numbers, a copy."""
        return self.array[index].reshape(-1, *self.shape[1:])

    def map(self, function, dtype, width):
        """All samples at once."""
        return function(self.array)


class StoredSource(Source):
    """A memory map, a Zarr array or a dataset of HDF5."""

    @property
    def chunk(self):
        """Samples that are stored together."""
        chunks = getattr(self.array, "chunks", None)
        return chunks[0] if chunks else 1

    def read(self, start, stop, own=True):
        """Samples ``start <= i < stop``, as an array of our own or only to look at."""
        block = self.array[start:stop]
        block = np.array(block, copy=True) if own else np.asarray(block)
        if own:
            self.release(start, stop)
        return block.reshape(-1, *self.shape[1:])

    def release(self, start, stop):
        """Give the pages of a memory map back in which samples were read."""
        if isinstance(self.array, np.memmap):  # others would read the samples
            release_pages(self.array[start:stop])

    def map(self, function, dtype, width):
        """Block by block; an error at the first NaN or infinity."""
        parts = []
        for start in range(0, len(self), self.step):
            block = self.read(start, start + self.step)
            check_finite(block, range(start, start + len(block)))
            parts.append(function(block))
        return np.concatenate(parts)


class DaskSource(StoredSource):
    """A dask array."""

    @property
    def chunk(self):
        """Samples in the largest chunk."""
        return max(self.array.chunks[0])

    def map(self, function, dtype, width):
        """A dask array, chunk by chunk, not computed."""
        rows, declared = self.array.chunks[0], self.array.shape[1:]
        starts = [0, *np.cumsum(rows[:-1]).tolist()]
        shapes = [(size, *declared) for size in rows]
        more = () if width is None else (width,)
        none = np.empty((0, *more), dtype)
        return self.array.map_blocks(
            partial(_chunk_features, function, self.shape[1:], starts, shapes, none),
            dtype=dtype,
            chunks=(rows, *((size,) for size in more)),
            drop_axis=list(range(none.ndim, self.array.ndim)),
            meta=none,
        )


class DeviceSource(Source):
    """An array of another library than NumPy, on the host or on a device."""

    on_device = True

    @property
    def dtype(self):
        """NumPy's name of the type: float32 or float64."""
        return np.dtype(type_name(self.array))

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

    def map(self, function, dtype, width):
        """All samples at once, where they are."""
        return function(namespace_of(self.array).reshape(self.array, self.shape))


def _chunk_features(function, shape, starts, shapes, none, block, block_id=None):
    number = block_id[0]
    check_chunk(block, shapes[number], number)
    if not len(block):
        return none
    check_finite(block, range(starts[number], starts[number] + len(block)), number)
    return function(block.reshape(-1, *shape))


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
    """Apply a function to all samples, block by block: (n, width), or (n,).

    The function takes samples (b, l_1, ..., l_N), returns (b, width), or (b,) if
    `width` is None, and can be pickled. A dask array, which has to know `dtype`
    beforehand, gives one that is not computed; an array on a device what the function
    makes of it.
    """
    return source_of(X).map(function, dtype, width)
