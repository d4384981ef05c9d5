"""Thread limits of BLAS: given back after Ctrl-C at any point, in forked children, and
set for libraries that are loaded late.
"""

import gc
import os
import subprocess
import sys
import textwrap

import pytest
import threadpoolctl

from tensorcrp.base.resources import bounded_threads, release_lost

SECONDS = 300  # far more than needed: only a hanging child reaches it


def threads():
    info = threadpoolctl.threadpool_info()
    return {each["filepath"]: each["num_threads"] for each in info}


@pytest.fixture
def before():
    """Two threads for everything, whatever the machine has."""
    with threadpoolctl.threadpool_limits(2):
        yield threads()


def nested():
    with bounded_threads(0), bounded_threads(0):
        assert threads_without_looking() == {1}


def threads_without_looking():
    from tensorcrp.base.resources import _LIMIT

    return {each.get_num_threads() for each in _LIMIT.libraries.values()}


def interrupted(function, moment):
    """The KeyboardInterrupt of one of its moments; None if it has fewer than that.

    Python handles signals where a function begins and where a call into C returns.
    """
    count = iter(range(moment))

    def profiler(frame, event, argument):
        if event in ("call", "c_return") and next(count, None) is None:
            sys.setprofile(None)
            raise KeyboardInterrupt

    gc.disable()  # a collection calls functions of others, who lose the interrupt
    sys.setprofile(profiler)
    try:
        function()
    except KeyboardInterrupt as error:
        return error
    finally:
        sys.setprofile(None)
        gc.enable()
    return None


def test_an_interrupt_at_any_point_gives_the_threads_back(before):
    nested()  # looks for libraries once
    moment = 0
    while interrupted(nested, moment) is not None:
        assert threads_without_looking() == {2}, f"after moment {moment}"
        moment += 1
    assert moment > 50
    assert threads() == before


def test_an_interrupt_whose_traceback_is_kept(before):
    """As an interactive session keeps it: the next fit, or its error, repairs it."""
    nested()
    moment, kept = 0, []
    while error := interrupted(nested, moment):
        kept.append(error)
        release_lost()
        assert threads_without_looking() == {2}, f"after moment {moment}"
        moment += 1
    assert threads() == before


def run(code, *arguments):
    command = [sys.executable, "-W", "ignore", "-c", textwrap.dedent(code), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


FORK = """
import os, threading
import scipy.linalg  # loads BLAS
import threadpoolctl
from tensorcrp.base.resources import bounded_threads

threadpoolctl.threadpool_limits(2)
inside, done = threading.Event(), threading.Event()

def blas():
    info = threadpoolctl.threadpool_info()
    return {each["num_threads"] for each in info if each["user_api"] == "blas"}

def fit():
    with bounded_threads(0):
        inside.set()
        done.wait()

def child(own):
    if os.fork():
        assert os.wait()[1] == 0
        return
    assert blas() == ({1} if own else {2}), blas()
    with bounded_threads(0):
        assert blas() == {1}
    os._exit(blas() != ({1} if own else {2}))

thread = threading.Thread(target=fit)
thread.start()
inside.wait()
child(own=False)
with bounded_threads(0):
    child(own=True)
assert blas() == {1}
done.set()
thread.join()
assert blas() == {2}
print("good")
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_a_child_is_not_limited_by_threads_that_it_does_not_have():
    assert run(FORK) == ["good"]


@pytest.mark.parametrize("gone", ["", "this"])
def test_a_library_that_is_loaded_late_is_limited(tmp_path, gone):
    """A copy of the BLAS that is there, loaded as an import would load it.

    It may take the place of a module that is there no longer: their number is the same.
    """
    code = """
    import ctypes, os, shutil, sys
    sys.modules["this"] = sys
    import scipy.linalg  # loads BLAS
    import threadpoolctl
    from tensorcrp.base.resources import bounded_threads

    def blas():
        info = threadpoolctl.threadpool_info()
        found = [each for each in info if each["user_api"] == "blas"]
        return {each["filepath"]: each["num_threads"] for each in found}

    with bounded_threads(0):
        first = blas()
    path = next(iter(first))
    late = os.path.join(sys.argv[1], os.path.basename(path))
    shutil.copy(path, late)
    sys.modules["late"] = ctypes.CDLL(late)
    sys.modules.pop(sys.argv[2], None)
    threadpoolctl.threadpool_limits(2)
    assert set(blas()) > set(first), "the copy is not seen"
    with bounded_threads(0):
        print(*blas().values())
    print(*blas().values())
    """
    numbers = run(code, str(tmp_path), gone)
    half = len(numbers) // 2
    inside, after = set(numbers[:half]), set(numbers[half:])
    assert (inside, after) == ({"1"}, {"2"})
