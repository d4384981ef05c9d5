"""Times and peak memory, on synthetic data.

In: functions without arguments. Out: seconds, bytes; what machine it is.
"""

import ctypes
import multiprocessing
import os
import platform
import time
import warnings
from contextlib import contextmanager

import numpy as np
import scipy
import sklearn
import tensorly
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_info, threadpool_limits

from tensorcrp.datasets import make_tensor_classification


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


def with_threads(case):
    """The case with the same number of BLAS threads for everything in it."""

    def limited(args):
        with threadpool_limits(args.threads), warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            warnings.filterwarnings("ignore", "Variables are collinear")
            return case(args)

    return limited


def synthetic(args, n, shape, n_classes, dtype=float):
    """Samples and labels; a tenth of the samples with ``--small``."""
    n = max(n // 10, 3 * n_classes) if args.small else n
    X, y = make_tensor_classification(
        shape, n_classes, n_samples=n, random_state=0, return_X_y=True
    )
    return X.astype(dtype), y


def seconds(functions, repeats=3):
    """Least time of each function, {name: seconds}; they take turns."""
    least = dict.fromkeys(functions, np.inf)
    for _ in range(repeats):
        for name, function in functions.items():
            start = time.perf_counter()
            function()
            least[name] = min(least[name], time.perf_counter() - start)
    return least


def peak_bytes(function, first=None):
    """Resident memory that the function needs beyond what was there before.

    In a forked process, so that memory which this one has freed is not used unseen.
    There `first` is called before, e.g. for BLAS to set aside the tens of megabytes
    that it keeps for itself. None where the system does not tell (it takes Linux).
    """
    if not os.path.exists("/proc/self/clear_refs"):
        return None
    ctypes.CDLL(None).malloc_trim(0)  # what is free goes back to the system
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=_report_peak, args=(function, first, sender))
    child.start()
    sender.close()
    try:
        return receiver.recv()
    except EOFError:
        return None  # the child ended without an answer, e.g. for want of memory
    finally:
        child.join()


def _report_peak(function, first, sender):
    if first is not None:
        first()
    ctypes.CDLL(None).malloc_trim(0)
    with open("/proc/self/clear_refs", "w", encoding="ascii") as file:
        file.write("5")  # the high-water mark starts anew
    before = _status("VmRSS")
    function()
    sender.send(_status("VmHWM") - before)


def _status(name):
    """A line of the kernel's account of this process, in bytes."""
    with open("/proc/self/status", encoding="ascii") as lines:
        line = next(line for line in lines if line.startswith(name))
    return 1024 * int(line.split()[1])


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
