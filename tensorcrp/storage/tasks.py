"""Tasks of dask, their results joined in a tree, and what is said when they fail.

In: functions and delayed arguments. Out: delayed objects, or results. Everything that
is computed goes through `compute` or `persist`. What a task raises comes back as it is.
What happens to a cluster has one clear error each: workers that die under a task, a
scheduler that is gone, no worker left; none of these is waited for without bound.
"""

import asyncio
import concurrent.futures
from contextlib import contextmanager
from time import monotonic

ASK_SECONDS = 5  # while waiting, how often the scheduler is asked whether it is there
ANSWER_SECONDS = 60  # it has to answer in
WORKER_SECONDS = 300  # clusters may take this long to start a worker
CANCELLED = (asyncio.CancelledError, concurrent.futures.CancelledError)


class ClusterError(RuntimeError):
    """Something happened to the cluster, not to the data."""


def delayed(function_or_value):
    """A function whose calls are tasks, or a value that tasks share."""
    import dask

    if callable(function_or_value):
        return dask.delayed(function_or_value, pure=False)
    return dask.delayed(function_or_value, pure=False, traverse=False)


def in_a_tree(join, tasks):
    """The result of joining all tasks, pairs first, wherever they are."""
    join = delayed(join)
    while len(tasks) > 1:
        pairs = [tasks[i : i + 2] for i in range(0, len(tasks), 2)]
        tasks = [join(*pair) if len(pair) > 1 else pair[0] for pair in pairs]
    return compute(tasks)[0]


def compute(tasks):
    """Results of delayed objects, here: a list."""
    import dask

    client = _client()
    with _clear_errors(client):
        if client is None:
            return list(dask.compute(*tasks))
        futures = client.compute(list(tasks))
        _wait(client, futures)
        return client.gather(futures)


def persist(tasks):
    """Delayed objects whose results stay where they are made: a list."""
    import dask

    with _clear_errors(_client()):
        return list(dask.persist(*tasks))


def first_that_fails(tasks):
    """Number of the first task that raises, computed one after the other; or None."""
    for number, task in enumerate(tasks):
        try:
            compute([delayed(_nothing)(task)])
        except Exception:
            return number
    return None


def _nothing(result):
    """Let the result stay where it is."""


def _client():
    """The client of the cluster that dask would use; None for threads and processes.

    Also None inside a task of a cluster, where dask has its own way of waiting.
    """
    from dask.base import get_scheduler

    client = getattr(get_scheduler(), "__self__", None)
    if not hasattr(client, "nthreads"):
        return None
    from distributed import get_worker

    try:
        get_worker()
    except ValueError:
        return client
    return None


def _wait(client, futures):
    """Wait as long as there are a scheduler that answers and workers."""
    from distributed import wait

    seen = monotonic()
    while True:
        try:
            wait(futures, timeout=ASK_SECONDS)
            return
        except TimeoutError:
            seen = monotonic() if _workers(client) else seen
        if monotonic() - seen > WORKER_SECONDS:
            raise ClusterError(
                f"the dask scheduler at {_address(client)} has had no worker for "
                f"{WORKER_SECONDS:.0f} s. Start workers for it and fit again."
            )


def _workers(client):
    """Number of workers, asked of the scheduler; an error if it does not answer."""
    if client.status != "running":
        raise ConnectionError("no connection")
    return len(client.nthreads(callback_timeout=ANSWER_SECONDS))


@contextmanager
def _clear_errors(client):
    """Say in our words what happened to a cluster."""
    try:
        yield
    except (Exception, *CANCELLED) as error:
        if client is None or isinstance(error, ClusterError):
            raise
        if not _answers(client):
            raise ClusterError(
                f"the dask scheduler at {_address(client)} is gone, or does not answer "
                f"({_short(error)}). Start it again, make a new Client, and fit again."
            ) from error
        if isinstance(error, CANCELLED):
            raise ClusterError(
                f"the cluster has dropped tasks or data of this fit ({_short(error)}). "
                "Chunks that were scattered cannot be made again when their worker is "
                "lost: make X from files or by functions, and fit again."
            ) from error
        if type(error).__name__ == "KilledWorker":
            raise ClusterError(
                f"a task ended each worker that it ran on ({_short(error)}), most "
                "likely because chunks are too large for the memory of a worker. Make "
                "them smaller, e.g. X.rechunk({0: X.chunksize[0] // 4}), or start "
                "workers with a larger memory_limit; their logs say more."
            ) from error
        raise


def _answers(client):
    try:
        _workers(client)
    except (Exception, *CANCELLED):
        return False
    return True


def _address(client):
    scheduler = getattr(client, "scheduler", None)
    return getattr(scheduler, "address", "an address unknown")


def _short(error):
    text = str(error).split(". ")[0]
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
