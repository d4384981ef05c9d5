"""Two worker processes on this machine, for tests."""

import os
from contextlib import contextmanager

from distributed import Client, LocalCluster


@contextmanager
def two_workers(memory_limit="auto"):
    """A client of two workers, as on two machines; the environment is put back."""
    before = dict(os.environ)
    with LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        memory_limit=memory_limit,
        dashboard_address=":0",
        silence_logs=60,
    ) as workers:
        with Client(workers, set_as_default=False) as client:
            yield client
    os.environ.clear()  # dask sets variables of malloc for all later children
    os.environ.update(before)
