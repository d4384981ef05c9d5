"""Model files that are safe to open.

In: a path and the largest size allowed. Out: an open file and its size.
"""

import os
from contextlib import contextmanager

from tensorcrp.base.files import open_regular
from tensorcrp.persistence._json import ModelFormatError


@contextmanager
def open_model(path, largest):
    """An open file and its size; pipes, devices, folders and large files raise."""
    with _opened(path) as file:
        size = os.fstat(file.fileno()).st_size
        if size > largest:
            raise ModelFormatError(
                f"{os.fspath(path)} has {size} bytes, more than max_bytes={largest}; "
                "raise max_bytes if you trust it."
            )
        yield file, size


def _opened(path):
    try:
        return open_regular(path)
    except ValueError as error:
        raise ModelFormatError(str(error)) from error
