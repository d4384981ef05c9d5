"""Threads of BLAS and OpenMP: one for small products, the caller's number for large.

Small products make BLAS threads wait for each other, for far longer than the work takes
when other processes keep the cores busy.

The number of BLAS threads belongs to the whole process, so fits that overlap in
several threads share one limit: the first in sets it, the last out gives it back. That
of OpenMP belongs to the calling thread, which sets it and gives it back by itself.

Ctrl-C may come between any two steps. So the number before is noted before the limit
is set, giving back twice is the same as once, and who has been cut short is found by
the stack of its thread, on which it is no longer. A forked child has none of the other
threads of its parent, and does not wait for their work to end.
"""

import os
import sys
from contextlib import contextmanager
from threading import RLock, get_ident

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
    holder = _Holder(sys._getframe(2))  # this generator, contextlib, the caller
    try:
        _LIMIT.enter(holder)
        yield
    finally:
        try:
            _LIMIT.leave(holder)
        finally:  # does nothing, unless Ctrl-C has cut the first call short
            _LIMIT.leave(holder)


def release_lost():
    """Give the threads back of contexts that Ctrl-C has ended before their exit."""
    _LIMIT.release_lost()


class _Holder:
    """Who works under the limit: a frame of a thread."""

    def __init__(self, frame):
        self.thread, self.frame = get_ident(), frame

    def is_running(self, frames):
        """Whether the frame is on the stack of its thread."""
        frame = frames.get(self.thread)
        while frame is not None and frame is not self.frame:
            frame = frame.f_back
        return frame is not None


class _SharedLimit:
    def __init__(self):
        # A signal handler or a finaliser may come here in the middle of a change.
        self.lock = RLock()
        self.holders = []
        self.before = {}  # (thread, or None for all; path): library, its threads before
        self.libraries, self.seen = {}, None

    def enter(self, holder):
        """Set the limit for one more holder."""
        with self.lock:
            self.release_lost()
            self.holders.append(holder)
            self._look()
            for path, library in self.libraries.items():
                key = (holder.thread if library.user_api == "openmp" else None, path)
                if key not in self.before:
                    self.before[key] = library, library.get_num_threads()
                    _set(library, 1)

    def leave(self, holder):
        """Give back what no other holder needs."""
        with self.lock:
            self.holders = [each for each in self.holders if each is not holder]
            self._give_back()

    def release_lost(self):
        """Drop holders that are no longer running."""
        with self.lock:
            if self.before:
                frames = sys._current_frames()
                self.holders = [h for h in self.holders if h.is_running(frames)]
                self._give_back(frames)

    def after_fork(self):
        """In a child, where the thread that forked, which has the lock, is alone."""
        self.holders = [each for each in self.holders if each.thread == get_ident()]
        self._give_back([get_ident()])
        self.lock.release()

    def _give_back(self, alive=None):
        """Undo limits without a holder; of OpenMP only the calling thread can.

        What threads have left that are not among those alive, if given, is dropped.
        """
        threads = {each.thread for each in self.holders}
        for key, (library, number) in list(self.before.items()):
            thread, mine = key[0], key[0] in (None, get_ident())
            if mine and not (thread in threads if thread else threads):
                _set(library, number)
                self.before.pop(key, None)
            elif not mine and alive is not None and thread not in alive:
                self.before.pop(key, None)

    def _look(self):
        """Find the libraries; again only after an import, as looking is slow."""
        # Their number alone would miss one that takes the place of another.
        seen = len(sys.modules), next(reversed(sys.modules))
        if self.seen != seen:
            found = ThreadpoolController().lib_controllers
            self.libraries = {each.filepath: each for each in found}
            self.seen = seen


def _set(library, number):
    # threadpoolctl 3.8 honours only the thread that set a limit first; ours is set by
    # the first one in and given back by the last one out.
    release = getattr(library, "clear_controlling_thread", _nothing)
    release(force=True)
    library.set_num_threads(number)
    release(force=True)


def _nothing(force):
    """Older releases of threadpoolctl honour every thread."""


_LIMIT = _SharedLimit()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(  # no fork in the middle of another thread's change
        before=_LIMIT.lock.acquire,
        after_in_parent=_LIMIT.lock.release,
        after_in_child=_LIMIT.after_fork,
    )
