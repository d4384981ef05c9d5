"""Rows in the chunks of a dask array: block updates where the samples are.

In: chunks (b, l_1, ..., l_N) of samples with class codes and weights.
Out: `ChunkRows`, which stands for their deviations from the class means as an array
would, and `DaskRows`, which is to the solver what `tensorcrp._rows.Rows` is.

The centred chunks stay where dask has put them and are never changed. A block update is
one pass: a chunk contracts, whitens and deflates its rows and sends ``Z Z^T`` (d, d)
per lane, ``d = l_m k``; pairs of those are added on the way. What goes over the wire
does not depend on the number of samples. Scores under the projections found so far,
which deflation needs, stay with the chunks; if a worker is lost, dask makes chunks and
scores again from where they came.
"""

from dataclasses import dataclass, replace
from functools import reduce
from math import prod

import numpy as np

from tensorcrp._centred import CentredRows, Used, refuse_vectors
from tensorcrp._rows import Rows, View
from tensorcrp._samples import Samples, samples_last
from tensorcrp.distributed._tasks import compute, delayed, in_a_tree, persist


@dataclass(frozen=True)
class ChunkRows:
    """Centred, weighted samples in the chunks of dask.

    Attributes
    ----------
    chunks : tuple of delayed ndarray (..., b)
    sizes : tuple of int
        Rows in each chunk.
    row_shape : tuple of int
        ``(l_1, ..., l_N)``.
    dtype : dtype
    """

    chunks: tuple
    sizes: tuple
    row_shape: tuple
    dtype: np.dtype

    def __len__(self):
        return sum(self.sizes)

    @property
    def shape(self):
        """``(n, l_1, ..., l_N)``."""
        return len(self), *self.row_shape

    @property
    def ndim(self):
        """Number of modes of a row, and one."""
        return 1 + len(self.row_shape)

    @property
    def nbytes(self):
        """Bytes of all rows."""
        return prod(self.shape) * self.dtype.itemsize

    def reshape(self, n, *shape):
        """The same rows in another shape; ``n`` is -1 or their number."""
        shape = (prod(self.row_shape),) if shape == (-1,) else shape
        return replace(self, row_shape=shape)

    def spread(self):
        """Sum of squares and largest magnitude of every entry: (2, P)."""
        return in_a_tree(_join_spreads, [delayed(_spread)(c) for c in self.chunks])

    def blocks(self, rows, dtype=float):
        """Blocks (slice, array of at most `rows` rows); chunks come here in turn."""
        start = 0
        for chunk, size in zip(self.chunks, self.sizes, strict=True):
            here = _rows(compute([chunk])[0], self.row_shape)
            for first in range(0, size, rows):
                block = here[first : first + rows].astype(dtype)
                yield slice(start + first, start + first + len(block)), block
            start += size

    def some(self, step):
        """Every so-manieth row, here: (r, l_1, ..., l_N)."""
        starts = np.cumsum([0, *self.sizes[:-1]])
        parts = [
            delayed(_every)(chunk, int(-start % step), step)
            for chunk, start in zip(self.chunks, starts, strict=True)
        ]
        return _rows(in_a_tree(_stack, parts), self.row_shape)

    def rows(self, n_lambdas, n_components):
        """The rows as the solver sees them."""
        refuse_vectors(self)
        return DaskRows(self, n_lambdas, n_components)


class DaskRows:
    """Rows in chunks, with their scores under the projections found so far.

    Attributes
    ----------
    rows : ChunkRows
    scores : list of delayed ndarray (A, p, b)
        With the chunks; `none` as long as p is 0.
    """

    def __init__(self, rows, n_lambdas, n_components):
        self.rows, self.sizes = rows, (n_lambdas, n_components)
        self.samples = Samples.of(rows)  # shape, sides and number; nothing is read
        self.scores = [None] * len(rows.chunks)
        self.few = None

    def begin(self, factors, left):
        """Nothing: every block update is a pass of its own."""
        return [None] * len(factors)

    def block(self, product, view):
        """``Z Z^T`` (B, d, d) of all chunks: one pass."""
        here = delayed(view)
        grams = [
            delayed(_gram)(chunk, self.rows.row_shape, scores, here)
            for chunk, scores in zip(self.rows.chunks, self.scores, strict=True)
        ]
        return DaskBlock(in_a_tree(np.add, grams), view)

    def no_scores(self, lanes):
        """Room for what `DaskBlock.scores` gives."""
        return np.empty(lanes, object)

    def keep(self, scores):
        """Follow the next projection of every lambda: chunks make its scores."""
        recipes = delayed(list(scores))
        self.scores = persist(
            delayed(_more_scores)(chunk, self.rows.row_shape, old, recipes)
            for chunk, old in zip(self.rows.chunks, self.scores, strict=True)
        )
        if self.few is not None:
            so_far = self.few.so_far() if self.few.count else None
            new = _new_scores(self.few.samples, so_far, list(scores))
            self.few.keep(new)

    def start(self, most):
        """Evenly spaced rows, here, and what share they are."""
        some = self.rows.some(-(-len(self.rows) // most))
        self.few = Rows(Samples.of(some), *self.sizes)
        return self.few.samples, len(some) / len(self.rows)

    def start_scores(self, most):
        """Scores so far of the rows of `start`: (A, p, at most `most`)."""
        return self.few.so_far()


@dataclass(frozen=True)
class DaskBlock:
    """``Z Z^T`` (B, d, d) of the rows in one block update, and how they were seen."""

    grams: np.ndarray
    view: View
    is_long = False  # the rows are elsewhere, however few

    def gram(self):
        """``Z Z^T`` of every lane: (B, d, d)."""
        return self.grams.copy()

    def energy(self, u):
        """Sums of squared scores ``u^T Z Z^T u``: (B,)."""
        return np.einsum("bi,bij,bj->b", u, self.grams, u)

    def scores(self, u):
        """How to make the scores of blocks (B, d): one recipe per lane."""
        recipes = np.empty(len(u), object)
        for lane in range(len(u)):
            recipes[lane] = self.view.lane(lane), u[lane : lane + 1]
        return recipes


def centred_chunks(blocks, codes, weights, means):
    """Delayed centred chunks of delayed samples; their class means are sent along."""
    means = delayed(means)
    return [
        delayed(_centred)(*each, means)
        for each in zip(blocks, codes, weights, strict=True)
    ]


# --- what is done with one chunk, wherever it is ----------------------------------


def _centred(block, codes, weight, means):
    """Centred samples, last in memory wherever the chunk goes: (l_1, ..., l_N, b)."""
    index = np.flatnonzero(weight)
    block = block.reshape(len(block), *means.shape[1:])
    rows = CentredRows(Used(block, index, codes, weight[index]), means)
    return samples_last(np.asarray(rows))


def _rows(chunk, shape):
    """The samples (b, l_1, ..., l_N) of a centred chunk, a view."""
    return np.moveaxis(chunk.reshape(*shape, -1), -1, 0)


def _gram(chunk, shape, scores, view):
    rows = _local(Samples.of(_rows(chunk, shape)), scores)
    return _block(rows, view).gram()


def _more_scores(chunk, shape, scores, recipes):
    new = _new_scores(Samples.of(_rows(chunk, shape)), scores, recipes)
    new = new[:, None]
    return new if scores is None else np.concatenate([scores, new], axis=1)


def _new_scores(samples, scores, recipes):
    """Scores (A, b) of the newest projection of every lambda."""
    rows, new = _local(samples, scores), []
    for view, u in recipes:
        new.append(_block(rows, view).scores(u)[0])
    return np.stack(new)


def _block(rows, view):
    (product,) = rows.begin([view.factors], rows.samples.is_left(view.mode))
    return rows.block(product, view)


def _local(samples, scores):
    """`Rows` of a chunk with the scores that it has so far, (A, p, b) or None."""
    A, p, _ = (1, 0, 0) if scores is None else scores.shape
    rows = Rows(samples, A, p)
    if scores is not None:
        rows.scores, rows.count = scores, p
    return rows


def _spread(chunk):
    entries = chunk.reshape(-1, chunk.shape[-1]).astype(float)
    return np.stack([(entries**2).sum(axis=1), np.abs(entries).max(axis=1)])


def _join_spreads(one, other):
    return np.stack([one[0] + other[0], np.maximum(one[1], other[1])])


def _every(chunk, first, step):
    return chunk[..., first::step]


def _stack(*parts):
    return reduce(lambda one, other: np.concatenate([one, other], axis=-1), parts)
