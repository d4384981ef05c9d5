"""Room for clips: an array that is filled in place, in memory or in a ``.npy`` file.

In: the shape (n, frames, height, width, ...) of as many clips as there may be. Out: an
object with the `array` to fill, which is then shortened to the clips that could be read
and gives the data. The file has its room on the disk from the start and appears under
its name when it is whole.
"""

from contextlib import contextmanager
from io import BytesIO
from math import prod

import numpy as np

from tensorcrp.base.files import replacing


class _InMemory:
    """The array to fill, in memory."""

    def __init__(self, shape, dtype):
        self.array = np.empty(shape, dtype)

    def finish(self, n):
        self.array = self.array[:n]

    def data(self):
        return self.array


class _InFile:
    """The array to fill, in a ``.npy`` file that has its room on the disk already."""

    def __init__(self, file, shape, dtype):
        self.file = file
        header = _npy_header(shape, dtype)
        file.write(header)
        file.flush()
        self.array = np.memmap(file, dtype, "r+", len(header), shape)

    def finish(self, n):
        """Shorten the file to n clips, header included."""
        shape, dtype, offset = self.array.shape, self.array.dtype, self.array.offset
        size = offset + n * self.array[:1].nbytes
        self.array.flush()
        self.array = None
        # numpy pads headers so that the first size can grow or shrink in place.
        header = _npy_header((n, *shape[1:]), dtype)
        if len(header) != offset:
            raise OSError(f"cannot shorten {self.file.name}: its header changed size.")
        self.file.seek(0)
        self.file.write(header)
        self.file.truncate(size)

    def data(self):
        return np.load(self.file.name, mmap_mode="r", allow_pickle=False)


def _npy_header(shape, dtype):
    """What comes before the numbers in a ``.npy`` file."""
    descr = np.lib.format.dtype_to_descr(np.dtype(dtype))
    header = {"descr": descr, "fortran_order": False, "shape": shape}
    out = BytesIO()
    np.lib.format.write_array_header_1_0(out, header)
    return out.getvalue()


@contextmanager
def room_for(path, shape, dtype):
    """Room for all clips, in memory or in a file that appears when it is whole."""
    if path is None:
        yield _InMemory(shape, dtype)
        return
    numbers = prod(shape) * np.dtype(dtype).itemsize
    size = len(_npy_header(shape, dtype)) + numbers
    with replacing(path, size=size) as file:
        result = _InFile(file, shape, dtype)
        try:
            yield result
        finally:
            result.array = None  # the map is closed before the file is


def close_gaps(array, places, kept):
    """Move clips over the gaps that skipped ones left; the number of clips."""
    end = 0
    for place, n in zip(places, kept, strict=False):
        if end < place:
            for i in range(n):  # clip by clip: a gap can be shorter than n
                array[end + i] = array[place + i]
        end += n
    return end
