"""Run what is not yet there: in, a plan and a store; out, the rows of the plan.

Workers compute, the parent alone writes. A worker ends when the parent closes its end
of a pipe, or dies: no orphans after ``kill -9``.
"""

import os
import signal
import threading
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import closing
from multiprocessing import get_context

from tensorcrp.base.progress import progress
from tensorcrp.experiments.registry import for_workers, in_worker
from tensorcrp.experiments.runs import execute


def run_all(plan, store, jobs=1, shown=True):
    """Compute the runs of a plan that the store does not hold.

    Parameters
    ----------
    plan : list of Run
    store : Store
    jobs : int
        Number of processes.
    shown : bool
        Show a progress bar on a terminal.

    Returns
    -------
    list of dict
        Rows of the plan, in its order.
    """
    keys = {run.key: run for run in plan}
    with store:
        todo = [run for key, run in keys.items() if key not in store]
        with closing(_computed(todo, min(jobs, len(todo)))) as rows:
            for row in progress(rows, "runs", shown, len(todo), "run"):
                store.add(row)
    return [store.rows[key] for key in keys]


def _computed(todo, jobs):
    """Rows as they come."""
    if jobs <= 1:
        yield from map(execute, todo)
        return
    context = get_context("spawn")  # a fork would share locks of BLAS threads
    alive, mine = context.Pipe(duplex=False)
    methods = for_workers({run.method for run in todo})
    pool = ProcessPoolExecutor(jobs, context, _start_worker, (alive, *methods))
    try:
        futures = [pool.submit(execute, run) for run in todo]
        for future in as_completed(futures):
            yield future.result()
        pool.shutdown()
    finally:
        mine.close()  # whatever still runs stops here
        pool.shutdown(wait=False, cancel_futures=True)
        alive.close()


def _start_worker(alive, modules, methods):
    """Leave Ctrl-C to the parent, end with it, and know its methods."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, args=(alive,), daemon=True).start()
    in_worker(modules, methods)


def _end_with_parent(alive):
    try:
        alive.recv()
    except (EOFError, OSError):
        os._exit(1)
