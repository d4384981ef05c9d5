"""How much memory a fit may use.

In: a number of bytes, or None. Out: a number of bytes; for None, half of what is free.
What is free is what the system calls available, or less if a control group (a
container, a job of a cluster) sets a limit. Nothing but files of the system is read.
"""

import os
from math import inf
from pathlib import Path

SHARE = 0.5
SMALL = 2**26  # not worth asking the system about
UNKNOWN = 2**32  # taken as free where the system does not say


def memory_limit(max_memory=None, wanted=SMALL):
    """The bytes given, or half of those free; small amounts are not limited."""
    if max_memory is not None:
        return max_memory
    return inf if wanted < SMALL else SHARE * available_memory()


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
