"""Times, peak memory and the machine's own limits.

In: functions without arguments. Out: seconds, bytes, and what the machine can do.
"""

import ctypes
import multiprocessing
import os
import platform
import time
from contextlib import contextmanager

import numpy as np
import scipy
import sklearn
import tensorly
from threadpoolctl import threadpool_info


def machine():
    """What the figures depend on: processor, number of cores, libraries."""
    blas = [f"{i['internal_api']} {i['version']}" for i in threadpool_info()]
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
        "tensorly": tensorly.__version__,
        "blas": ", ".join(sorted(set(blas))),
    }


def _processor():
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            names = [
                line.split(":")[1].strip() for line in lines if "model name" in line
            ]
        return names[0]
    except (OSError, IndexError):
        return platform.processor() or platform.machine()


def seconds(functions, repeats=3):
    """Least time of each function, {name: seconds}; they take turns."""
    least = dict.fromkeys(functions, np.inf)
    for _ in range(repeats):
        for name, function in functions.items():
            start = time.perf_counter()
            function()
            least[name] = min(least[name], time.perf_counter() - start)
    return least


def peak_bytes(function):
    """Resident memory that the function needs beyond what was there before.

    In a forked process, whose high-water mark starts at what it inherits; None where
    processes cannot be forked.
    """
    if "fork" not in multiprocessing.get_all_start_methods():
        return None
    _give_back()
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=_report_peak, args=(function, sender))
    child.start()
    sender.close()
    try:
        return receiver.recv()
    except EOFError:
        return None  # the child ended without an answer, e.g. for want of memory
    finally:
        child.join()


def _give_back():
    """Return freed memory to the system, or the child would use it unseen."""
    try:
        ctypes.CDLL(None).malloc_trim(0)
    except (OSError, AttributeError):
        pass  # not the C library of GNU


def _report_peak(function, sender):
    import resource

    def most():
        return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    before = most()
    function()
    sender.send(most() - before)


@contextmanager
def busy_cores():
    """Another process on every core while the block runs."""
    context = multiprocessing.get_context("spawn")
    others = [context.Process(target=_spin, daemon=True) for _ in range(os.cpu_count())]
    for other in others:
        other.start()
    time.sleep(1.0)  # until they have started
    try:
        yield
    finally:
        for other in others:
            other.terminate()
            other.join()


def _spin():
    while True:
        sum(range(10**6))
