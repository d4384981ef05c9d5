"""Rows in the chunks of a dask array: block updates where the samples are.

In: chunks (b, l_1, ..., l_N) of samples with class codes and weights.
Out: `ChunkRows`, the rows of their deviations from the class means, and
`DeflatedChunks`, which is to the solver what `DeflatedRows` is.

The centred chunks stay where dask has put them and are never changed. A block update is
one pass: a chunk contracts, whitens and deflates its rows and sends ``Z Z^T`` (d, d)
per lane, ``d = l_m k``; pairs of those are added on the way. What goes over the wire
does not depend on the number of samples. Scores under the projections found so far,
which deflation needs, stay with the chunks; if a worker is lost, dask makes chunks and
scores again from where they came.
"""

from dataclasses import dataclass
from functools import reduce

import numpy as np

from tensorcrp.solver.array_rows import ArrayRows
from tensorcrp.solver.blocks import BlockView, DeflatedRows
from tensorcrp.solver.row_sums import unit_rows
from tensorcrp.solver.rows import Rows
from tensorcrp.storage.centred import CentredRows, Used
from tensorcrp.storage.sources import source_of
from tensorcrp.storage.tasks import compute, delayed, in_a_tree, persist


class ChunkRows(Rows):
    """Centred, weighted samples in the chunks of dask.

    Parameters
    ----------
    chunks : tuple of delayed ndarray (..., b)
    sizes : tuple of int
        Rows in each chunk.
    row_shape : tuple of int
        ``(l_1, ..., l_N)``.
    dtype : dtype
    """

    def __init__(self, chunks, sizes, row_shape, dtype):
        self.chunks, self.sizes, self.dtype = chunks, sizes, dtype
        self._shape = sum(sizes), *row_shape

    @property
    def shape(self):
        """``(n, l_1, ..., l_N)``."""
        return self._shape

    def reshape(self, shape):
        """The same rows, each of another shape."""
        return ChunkRows(self.chunks, self.sizes, tuple(shape), self.dtype)

    def spread(self):
        """Sum of squares and largest magnitude of every entry: (2, P)."""
        return in_a_tree(_join_spreads, [delayed(_spread)(c) for c in self.chunks])

    def unit_sums(self, weights, least):
        """Weighted sums (B, P) of the rows divided by their sizes, weights (B, n)."""
        parts = np.split(weights, np.cumsum(self.sizes[:-1]), axis=1)
        each = zip(self.chunks, parts, strict=True)
        sums = [delayed(_unit_sums)(*pair, least) for pair in each]
        return in_a_tree(np.add, sums)

    def blocks(self, rows, dtype=float):
        """Blocks (slice, array of at most `rows` rows); chunks come here in turn."""
        start = 0
        for chunk, size in zip(self.chunks, self.sizes, strict=True):
            here = _rows(compute([chunk])[0], self.row_shape)
            for first in range(0, size, rows):
                block = here[first : first + rows].astype(dtype)
                yield slice(start + first, start + first + len(block)), block
            start += size

    def mapped(self, linear):
        """What a linear function makes of rows, chunk by chunk where they are."""
        start = 0
        for chunk, size in zip(self.chunks, self.sizes, strict=True):
            (result,) = compute([delayed(_mapped)(chunk, self.row_shape, linear)])
            yield slice(start, start + size), result
            start += size

    def some(self, step):
        """Every `step`-th row, here."""
        starts = np.cumsum([0, *self.sizes[:-1]])
        parts = [
            delayed(_every)(chunk, int(-start % step), step)
            for chunk, start in zip(self.chunks, starts, strict=True)
        ]
        return ArrayRows.of(_rows(in_a_tree(_stack, parts), self.row_shape))

    def deflated(self, n_lanes, n_components):
        """These rows with their scores, which stay with the chunks."""
        super().deflated(0, 0)  # rejects vectors
        return DeflatedChunks(self, n_lanes, n_components)


class DeflatedChunks:
    """Rows in chunks, with their scores under the projections found so far.

    Attributes
    ----------
    rows : ChunkRows
    scores : list of delayed ndarray (A, p, b)
        With the chunks; None as long as p is 0.
    """

    def __init__(self, rows, n_lanes, n_components):
        self.rows, self.parts, self.sizes = rows, [rows], (n_lanes, n_components)
        self.scores = [None] * len(rows.chunks)
        self.few = None

    def begin(self, factors, left, which=None):
        """Nothing: every block update is a pass of its own."""
        return [None] * len(factors)

    def block(self, product, view):
        """``Z Z^T`` (B, d, d) of all chunks: one pass."""
        here = delayed(view)
        grams = [
            delayed(_gram)(chunk, self.rows.row_shape, scores, here)
            for chunk, scores in zip(self.rows.chunks, self.scores, strict=True)
        ]
        return ChunkBlock(in_a_tree(np.add, grams), view)

    def no_scores(self, lanes):
        """Room for what `ChunkBlock.scores` gives."""
        return np.empty(lanes, object)

    def keep(self, scores):
        """Follow the next projection of every lane: chunks make its scores."""
        recipes = delayed(list(scores))
        self.scores = persist(
            delayed(_more_scores)(chunk, self.rows.row_shape, old, recipes)
            for chunk, old in zip(self.rows.chunks, self.scores, strict=True)
        )
        if self.few is not None:
            so_far = self.few.so_far() if self.few.count else None
            new = _new_scores(self.few.rows, so_far, list(scores))
            self.few.keep(new)

    def start(self, most):
        """Evenly spaced rows, here: of one source."""
        some = self.rows.some(-(-len(self.rows) // most))
        self.few = DeflatedRows(some, *self.sizes)
        return [some]

    def start_scores(self, most):
        """Scores so far of the rows of `start`: (A, p, at most `most`)."""
        return self.few.so_far()


@dataclass(frozen=True)
class ChunkBlock:
    """``Z Z^T`` (B, d, d) of the rows in one block update, and how they were seen."""

    grams: np.ndarray
    view: BlockView
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
    rows = CentredRows(Used(source_of(block), index, codes, weight[index]), means)
    return np.ascontiguousarray(np.moveaxis(np.asarray(rows), 0, -1))


def _rows(chunk, shape):
    """The samples (b, l_1, ..., l_N) of a centred chunk, a view."""
    return np.moveaxis(chunk.reshape(*shape, -1), -1, 0)


def _mapped(chunk, shape, linear):
    return linear(_rows(chunk, shape))


def _gram(chunk, shape, scores, view):
    rows = _local(ArrayRows.of(_rows(chunk, shape)), scores)
    return _block(rows, view).gram()


def _more_scores(chunk, shape, scores, recipes):
    new = _new_scores(ArrayRows.of(_rows(chunk, shape)), scores, recipes)
    new = new[:, None]
    return new if scores is None else np.concatenate([scores, new], axis=1)


def _new_scores(rows, scores, recipes):
    """Scores (A, b) of the newest projection of every lane."""
    rows, new = _local(rows, scores), []
    for view, u in recipes:
        new.append(_block(rows, view).scores(u)[0])
    return np.stack(new)


def _block(rows, view):
    (product,) = rows.begin([view.factors], rows.rows.is_left(view.mode))
    return rows.block(product, view)


def _local(rows, scores):
    """Rows of a chunk with the scores that it has so far, (A, p, b) or None."""
    A, p, _ = (1, 0, 0) if scores is None else scores.shape
    deflated = DeflatedRows(rows, A, p)
    if scores is not None:
        deflated.scores, deflated.count = scores, p
    return deflated


def _spread(chunk):
    entries = chunk.reshape(-1, chunk.shape[-1]).astype(float)
    return np.stack([(entries**2).sum(axis=1), np.abs(entries).max(axis=1)])


def _unit_sums(chunk, weights, least):
    return weights @ unit_rows(chunk.reshape(-1, chunk.shape[-1]).T, least)


def _join_spreads(one, other):
    return np.stack([one[0] + other[0], np.maximum(one[1], other[1])])


def _every(chunk, first, step):
    return chunk[..., first::step]


def _stack(*parts):
    return reduce(lambda one, other: np.concatenate([one, other], axis=-1), parts)
