"""Class statistics of chunks, merged in a tree.

In: a `Source` of a dask array (n, l_1, ..., l_N), labels and weights (n,).
Out: the `ClassScatter` of all samples. With more samples than entries every chunk sends
its counts, means and at most P rows, and pairs of those become one as `merge` does it,
exactly, wherever they are: one pass, and P rows arrive here. With fewer, the samples
are as small as any root of them, and come here as they are. What is too much for here
stays with the chunks, see `ChunkRows`; only class means come and go.
"""

from contextlib import contextmanager
from math import prod

import numpy as np

from tensorcrp.base.validation import check_chunk, check_finite
from tensorcrp.scatter import ClassScatter
from tensorcrp.solver.cp import working_dtype
from tensorcrp.storage.centred import class_means
from tensorcrp.storage.chunks import ChunkRows, centred_chunks
from tensorcrp.storage.roots import root_bytes
from tensorcrp.storage.tasks import (
    ClusterError,
    compute,
    delayed,
    first_that_fails,
    in_a_tree,
    persist,
)


def chunk_statistics(X, y, weight, max_memory):
    """Statistics of the samples in a dask array.

    Parameters
    ----------
    X : Source of shape (n, l_1, ..., l_N)
        Of a dask array that is cut along the samples alone.
    y : ndarray of shape (n,)
    weight : ndarray of shape (n,) or None
    max_memory : float
        Bytes that may be taken here.

    Returns
    -------
    ClassScatter
    """
    weight = np.ones(len(X)) if weight is None else weight
    used = (int(np.count_nonzero(weight)), *X.shape[1:])
    tall = used[0] > prod(X.shape[1:])
    copies = 1 if tall else 2  # the samples as they come, and centred
    chunks = list(_chunks(X, y, weight))
    with _chunk_named(chunks):
        if copies * root_bytes(used, working_dtype(X)) > max_memory:
            return _scattered(chunks, working_dtype(X))
        if tall:
            tasks = [delayed(_chunk_scatter)(*chunk) for chunk in chunks]
            return in_a_tree(ClassScatter.merge, tasks)
        return _gathered(chunks)


@contextmanager
def _chunk_named(chunks):
    """Add to an error of reading which chunk it was: chunks are asked in turn."""
    try:
        yield
    except Exception as error:
        if "(chunk " not in str(error) and not isinstance(error, ClusterError):
            number = first_that_fails([chunk[0] for chunk in chunks])
            if number is not None:
                _, y, _, (number, start, *_) = chunks[number]
                samples = f"samples {start} to {start + len(y) - 1}"
                error.add_note(f"raised while computing chunk {number} of X, {samples}")
        raise


def _chunks(X, y, weight):
    """Arguments of the tasks on each chunk that has samples of some weight."""
    edges = np.cumsum([0, *X.array.chunks[0]]).tolist()
    blocks = X.array.to_delayed().ravel()
    for number, (block, start, stop) in enumerate(
        zip(blocks, edges[:-1], edges[1:], strict=True)
    ):
        if weight[start:stop].any():
            declared = (stop - start, *X.array.shape[1:])
            place = (number, start, X.shape[1:], declared)
            yield block, y[start:stop], weight[start:stop], place


def _chunk_scatter(block, y, weight, place):
    """Statistics of one chunk, where it is.

    Parameters
    ----------
    block : ndarray of shape (b, ...)
    y, weight : ndarray of shape (b,)
    place : tuple
        Number of the chunk, number of its first sample, the shape of a sample, and
        the shape of the chunk as dask knows it.
    """
    return ClassScatter.from_samples(_checked_chunk(block, place), y, weight)


def _checked_chunk(block, place):
    """Samples (b, l_1, ..., l_N) of a chunk, or an error that names the chunk."""
    number, start, shape, declared = place
    check_chunk(block, declared, number)
    check_finite(block, range(start, start + len(block)), number)
    return block.reshape(-1, *shape)


def _gathered(chunks):
    """Statistics of samples that all come here."""
    blocks, y, weight, places = zip(*chunks, strict=True)
    tasks = map(delayed(_checked_chunk), blocks, places)
    X = np.concatenate(compute(list(tasks)))
    return ClassScatter.from_samples(X, np.concatenate(y), np.concatenate(weight))


def _scattered(chunks, dtype):
    """Statistics of samples that stay where they are, centred and persisted."""
    blocks, y, weight, places = zip(*chunks, strict=True)
    shape = places[0][2]
    used = [w > 0 for w in weight]
    labels = np.concatenate([each[some] for each, some in zip(y, used, strict=True)])
    sizes = tuple(int(some.sum()) for some in used)
    classes, codes = np.unique(labels, return_inverse=True)
    codes = np.split(codes, np.cumsum(sizes)[:-1])
    counts = np.bincount(
        np.concatenate(codes),
        np.concatenate([w[some] for w, some in zip(weight, used, strict=True)]),
    )
    checked = [
        delayed(_checked_chunk)(*each) for each in zip(blocks, places, strict=True)
    ]
    (first,) = compute([delayed(_first)(checked[0], weight[0])])
    shared = delayed(first)
    sums = [
        delayed(_class_sums)(*each, shared, len(classes))
        for each in zip(checked, codes, weight, strict=True)
    ]
    sums = in_a_tree(np.add, sums)
    means = class_means(first, sums, counts)
    centred = persist(centred_chunks(checked, codes, weight, means))
    root = ChunkRows(tuple(centred), sizes, shape, np.dtype(dtype))
    return ClassScatter(classes, counts, means, root)


def _first(block, weight):
    """The first sample that counts, from which deviations are summed."""
    return block[np.flatnonzero(weight)[0]].astype(float)


def _class_sums(block, codes, weight, first, n_classes):
    """Sums (c, l_1, ..., l_N) over the classes of deviations from one sample."""
    index = np.flatnonzero(weight)
    sums = np.zeros((n_classes, *first.shape))
    for i, code in zip(index, codes, strict=True):
        sums[code] += weight[i] * (block[i] - first)
    return sums


def batch_statistics(stream, join, batches):
    """Results of `stream` for all batches of a dask collection, joined in a tree.

    Parameters
    ----------
    stream : callable
        A list of batches -> their statistics.
    join : callable
        Two results of `stream` -> one.
    batches : dask bag, delayed object, or list of delayed objects
    """
    if hasattr(type(batches), "to_delayed"):  # each part is a list of batches
        return in_a_tree(join, [delayed(stream)(part) for part in batches.to_delayed()])
    batches = batches if isinstance(batches, (list, tuple)) else [batches]
    return in_a_tree(join, [delayed(stream)([batch]) for batch in batches])
