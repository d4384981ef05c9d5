"""Dask arrays and collections of batches: statistics made where the samples are.

In: samples ``(n, l_1, ..., l_N)`` as a dask array cut along the samples, or batches in
a dask bag or in delayed objects. Out: a `ClassScatter` for the solver.

Estimators call this by themselves when they are given such samples; nothing here has
to be called by hand. Any scheduler will do: threads, processes, or the ``Client`` of a
``dask.distributed`` cluster (``pip install tensorcrp[dask]``).
"""

from tensorcrp.distributed._statistics import batch_statistics, chunk_statistics

__all__ = ["batch_statistics", "chunk_statistics"]
