"""Threads of BLAS and OpenMP: one for small products, the caller's number for large.

Small products make BLAS threads wait for each other, for far longer than the work takes
when other processes keep the cores busy.

The number of BLAS threads belongs to the whole process, so fits that overlap in
several threads share one limit: the first in sets it, the last out gives it back. That
of OpenMP belongs to the calling thread, which sets it and gives it back by itself.
"""

from contextlib import contextmanager
from functools import cache
from threading import Lock

from threadpoolctl import ThreadpoolController  # a dependency of scikit-learn

# Bytes of data below which one thread is faster: in one large decomposition, and in
# the statistics, fits and scores of a search. Block ascent always has one thread: its
# passes are products with a few megabytes each, bound by memory.
SMALL, SMALL_PASSES = 2**25, 2**28


@contextmanager
def bounded_threads(nbytes, small=SMALL):
    """Context with one thread if fewer than `small` bytes are worked on."""
    if nbytes >= small:
        yield
        return
    limit = _limit()
    limit.enter()
    own = [library.get_num_threads() for library in limit.openmp]
    try:
        for library in limit.openmp:
            library.set_num_threads(1)
        yield
    finally:
        for library, number in zip(limit.openmp, own, strict=True):
            library.set_num_threads(number)
        limit.leave()


@cache
def _limit():
    return _SharedLimit()


class _SharedLimit:
    def __init__(self):
        # BLAS, and OpenMP for scikit-learn's neighbours; looking is slow.
        found = ThreadpoolController().lib_controllers
        self.openmp = [each for each in found if each.user_api == "openmp"]
        self.libraries = [each for each in found if each.user_api == "blas"]
        self.lock = Lock()
        self.inside = 0
        self.before = []

    def enter(self):
        with self.lock:
            if self.inside == 0:
                self.before = [library.get_num_threads() for library in self.libraries]
                self._set([1] * len(self.libraries))
            self.inside += 1

    def leave(self):
        with self.lock:
            self.inside -= 1
            if self.inside == 0:
                self._set(self.before)

    def _set(self, numbers):
        for library, number in zip(self.libraries, numbers, strict=True):
            # threadpoolctl 3.8 hears only the thread that set a limit first; ours is
            # set by the first one in and taken back by the last one out.
            release = getattr(library, "clear_controlling_thread", _nothing)
            release(force=True)
            library.set_num_threads(number)
            release(force=True)


def _nothing(force):
    """Older releases of threadpoolctl hear every thread."""
