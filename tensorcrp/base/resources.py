"""What a process may take: threads of BLAS and OpenMP, and memory.

In: the size of the data, or ``max_memory``. Out: a context with one thread for small
products and the caller's number for large ones; a number of bytes, for None half of
what is free: what the system calls available, or less if a control group (a container,
a job of a cluster) sets a limit. Nothing but files of the system is read.

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

import mmap
import os
import sys
from contextlib import contextmanager
from math import inf
from pathlib import Path
from threading import RLock, get_ident

import numpy as np
from threadpoolctl import ThreadpoolController  # a dependency of scikit-learn

# Bytes of data below which one thread is faster: in one large decomposition, and in
# the statistics, fits and scores of a search. Block ascent always has one thread: its
# passes are products with a few megabytes each, bound by memory.
SMALL, SMALL_PASSES = 2**25, 2**28

SHARE = 0.5  # of the free memory
UNLIMITED = 2**26  # bytes that are not worth asking the system about
UNKNOWN = 2**32  # taken as free where the system does not say

# --- threads ------------------------------------------------------------------------


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


# --- memory -------------------------------------------------------------------------


def memory_limit(max_memory=None, wanted=UNLIMITED):
    """The bytes given, or half of those free; small amounts are not limited."""
    if max_memory is not None:
        return max_memory
    return inf if wanted < UNLIMITED else SHARE * available_memory()


def available_memory(proc="/proc", groups="/sys/fs/cgroup"):
    """Bytes that can be taken without pushing anything out."""
    inside = [limit - used for limit, used in _group_limits(Path(proc), Path(groups))]
    return max(0, min([_system(Path(proc)), *inside]))


def _system(proc):
    for line in _read(proc / "meminfo").splitlines():
        if line.startswith("MemAvailable:"):
            return 1024 * int(line.split()[1])
    try:  # elsewhere only the whole is known
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
    except (AttributeError, ValueError, OSError):
        return UNKNOWN


def _group_limits(proc, groups):
    """Limit and use of every control group that this process is in, both versions.

    A limit counts for all groups below it. In a container the group of the process is
    the root that it sees, whatever its name is outside.
    """
    for line in _read(proc / "self" / "cgroup").splitlines():
        _, kinds, name = line.split(":", 2)
        if kinds not in ("", "memory"):
            continue
        root, files = groups, ("max", "current")  # version 2
        if kinds:
            root, files = groups / kinds, ("limit_in_bytes", "usage_in_bytes")
        below = Path(name.lstrip("/"))
        for group in (below, *below.parents):
            limit, used = (_read(root / group / f"memory.{file}") for file in files)
            if limit.isdigit() and used.isdigit():
                yield int(limit), int(used) - _cached(root / group)


def _cached(group):
    """Bytes of files that the group holds and that give way when asked."""
    lines = _read(group / "memory.stat").splitlines()
    stats = dict(line.split()[:2] for line in lines if line.count(" "))
    own = stats.get("inactive_file", 0)  # version 1 has a total of its own
    return int(stats.get("total_inactive_file", own))


def _read(path):
    try:
        return path.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        return ""


def release_pages(part):
    """Give the pages of a memory map back that a part of it lies in.

    They stay in the system's cache of files; counted as ours they would grow to the
    size of the file. Changes of a private map (mode "c") would be lost: they stay.
    """
    if part.mode in ("r", "r+", "w+") and hasattr(mmap, "MADV_DONTNEED"):
        # No more than these: the time of the call grows with what it is given.
        part._mmap.madvise(mmap.MADV_DONTNEED, *_pages(part))


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
