"""One run: a data set, a split, a method; in, what to compute; out, a row.

`run_all` computes the runs of a plan that a store does not have. Workers compute, the
parent alone writes. A worker ends when the parent closes its end of a pipe, or dies: no
orphans after ``kill -9``.

A row counts right answers of every classifier for every setting of the method, on the
test samples (``right``) and in a cross-validation on the training samples alone
(``cv_right`` of ``n_cv``). Which setting is reported is no part of the run: both
selections, *paper* (best on the test samples) and *honest* (best in the
cross-validation), are functions of rows (`tensorcrp.base.results`). How right answers
are counted is in `counts`; which ones of the honest setting are wrong, in `mistakes`.
"""

import os
import signal
import threading
import warnings
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from multiprocessing import get_context
from time import perf_counter, process_time

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from tensorcrp import __version__
from tensorcrp.base.progress import progress
from tensorcrp.experiments.counts import Split, counted
from tensorcrp.experiments.data import Skip, load_data
from tensorcrp.experiments.mistakes import mistakes, record_defect
from tensorcrp.experiments.random_splits import split
from tensorcrp.experiments.registry import for_workers, in_worker, method
from tensorcrp.experiments.store import row_key

PROTOCOL = 3  # to be raised when the same run would give another row


@dataclass(frozen=True)
class Run:
    """What to compute.

    Attributes
    ----------
    data : str
        Name or path.
    checksum : str
        Of the samples and labels; empty if there are none.
    train : int or float
        Training samples per class, or the share of all samples.
    split, seed : int
    method : str
        A registered name.
    n_features : int
        Number of features that the protocol asks for; 0 for the method's default.
    paper : bool
        Whether the SVM is tuned as the paper does, too.
    most : int
        Largest number of test samples, drawn at random; 0 for all.
    groups : str
        Name of an array of groups; empty for what is known of the set.
    """

    data: str
    checksum: str
    train: int | float
    split: int
    seed: int
    method: str
    n_features: int = 0
    paper: bool = False
    most: int = 0
    groups: str = ""

    def spec(self):
        """Everything that determines the result, as a dictionary."""
        parameters = method(self.method).describe()
        return {**asdict(self), "parameters": parameters, "protocol": PROTOCOL}

    @property
    def key(self):
        return row_key(self.spec())


def run_defect(row):
    """What is wrong with a row that `execute` is said to have made, or None.

    The key is computed again from what the row says that it is; a changed data set,
    method, parameter or seed does not agree with it.
    """
    names = [*Run.__dataclass_fields__, "parameters", "protocol"]
    missing = [name for name in names if name not in row]
    if missing:
        return f"it has no {missing[0]!r}"
    if row_key({name: row[name] for name in names}) != row["key"]:
        return "its key is not that of the run that it describes"
    if not {"classifiers", "curve", "skipped"} & set(row):
        return "it has no outcome"
    return record_defect(row)


def execute(run):
    """The row of a run; one thread, so that the same seed gives the same row."""
    start, processor = perf_counter(), process_time()
    row = {"key": run.key, "version": __version__, **run.spec()}
    with threadpool_limits(1), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConvergenceWarning)
        try:
            row |= _outcome(run)
        except Skip as skip:
            row["skipped"] = str(skip)
        except Exception as error:
            if not _is_outcome(error, method(run.method)):
                raise
            row["skipped"] = f"{type(error).__name__}: {error}"
    unfinished = [w for w in caught if issubclass(w.category, ConvergenceWarning)]
    if unfinished:
        row["unconverged"] = len(unfinished)
    for warning in caught:
        if warning not in unfinished:
            warnings.warn(warning.message, stacklevel=2)
    row["seconds"] = round(perf_counter() - start, 3)
    row["cpu_seconds"] = round(process_time() - processor, 2)
    return row


def _is_outcome(error, how):
    """Whether an error belongs into a row: all of those of methods of others do."""
    if isinstance(error, (OSError, MemoryError)):
        return False
    return how.home is None or isinstance(error, (ValueError, np.linalg.LinAlgError))


def _outcome(run):
    data, how = load_data(run.data, run.groups), method(run.method)
    ids = split(data, run.train, run.seed, run.split, run.most)
    if how.outcome is not None:
        return how.outcome(run, data, ids[0])
    return _accuracy(run, data, *ids)


def _accuracy(run, data, train, test):
    groups = None if data.groups is None else data.groups[train]
    sides = [array[ids] for ids in (train, test) for array in (data.X, data.y)]
    split = Split(*sides, groups, run.n_features, centred=not run.paper)
    how = method(run.method)
    if data.classifiers:
        how = replace(how, classifiers=data.classifiers)
    row, models, guesses = counted(how, split, run.paper)
    if run.method.startswith("CRP"):
        row["worst_step"] = min(worst_step(m.history) for m in models)
    row = {
        "shape": list(data.X.shape[1:]),
        "n_classes": data.n_classes,
        "n_train": len(train),
        "n_test": len(test),
        "majority": int(np.bincount(data.y[test]).max()),
        "ties": method(run.method).ties,
        **row,
    }
    return row | mistakes(row, guesses, split.y_test, test)


def worst_step(history):
    """Smallest relative change of J in a block update, over the curves of a fit."""
    with np.errstate(all="ignore"):  # J may be 0 for long: no share of that
        steps = [np.diff(h) / np.abs(h[:-1]) for h in history if len(h) > 1]
    steps = [step[np.isfinite(step)] for step in steps]
    return float(min((step.min() for step in steps if len(step)), default=0.0))


# --- all runs of a plan -------------------------------------------------------------


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
