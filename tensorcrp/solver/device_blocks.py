"""Rows on a device in one block update: contracted, in white coordinates, deflated.

In: `DeviceRows` and, in each block update, how it looks at them (`BlockView`).
Out: ``Z Z^T`` (d, d) per lane on the host. Features ``Z`` (B, d, n) and scores under
the projections found so far stay on the device, but for those of the rows that a start
looks at.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from tensorcrp.base.namespace import as_type, host, namespace_of, put
from tensorcrp.solver.blocks import columns


class DeflatedDevice:
    """Rows on a device, with their scores under the projections found so far.

    Attributes
    ----------
    rows : DeviceRows
    scores : array of shape (A, p, n), there
        None as long as p is 0.
    """

    def __init__(self, rows, n_lanes, n_components):
        self.rows, self.parts, self.scores = rows, [rows], None
        self.few = np.zeros((n_lanes, 0, 0))
        self.step = 1

    def begin(self, factors, left, which):
        """One pass over the data, for all modes of one side, as in `DeflatedRows`."""
        each = [columns(some) for some in factors]
        together = [np.hstack(mode) for mode in zip(*each, strict=True)]
        ends = np.cumsum([0, *(some[0].shape[1] for some in each)]).tolist()
        product = self.rows.side_product(together, left)
        return [product[start:stop, ...] for start, stop in pairwise(ends)]

    def block(self, product, view):
        """What an update needs to know, from the product of the side of its mode."""
        (lanes, size, rank), n = view.factors[view.mode].shape, len(self.rows)
        xp = namespace_of(product)
        Z = self.rows.finish(product, columns(view.factors), view.mode)
        if view.root is not None:
            root = put(view.root[:, None].astype(self.rows.dtype), Z)
            Z = root @ xp.reshape(Z, (lanes, rank, size, n))
        Z = as_type(xp.reshape(Z, (lanes, rank, -1)), np.float64)
        Z = put(np.ascontiguousarray(view.white.transpose(0, 2, 1)), Z) @ Z
        Z = xp.reshape(Z, (lanes, rank * size, n))
        return self._deflated(Z, view.overlaps, view.which)

    def projected(self, vectors, which):
        """The same at order 1, where vectors (B, P) are whole projections: d = 1."""
        scores = as_type(self.rows.side_product([vectors.T], left=True), np.float64)
        return DeviceBlock(scores[:, None, :])

    def _deflated(self, Z, overlaps, which):
        """Subtract what overlaps (B, d, p) make of the scores so far."""
        if self.scores is not None:
            xp, lanes = namespace_of(Z), put(np.asarray(which), Z)
            Z = Z - put(np.array(overlaps), Z) @ xp.take(self.scores, lanes, axis=0)
        return DeviceBlock(Z)

    def no_scores(self, lanes):
        """Room for what `DeviceBlock.scores` gives."""
        return np.empty(lanes, object)

    def keep(self, scores):
        """Follow the next projection of every lane, by its scores."""
        xp = namespace_of(self.rows.tensor)
        new = xp.stack([each.values for each in scores])[:, None, :]
        some = host(new[:, :, :: self.step])
        so_far = self.few if self.scores is not None else some[:, :0]
        self.few = np.concatenate([so_far, some], axis=1)
        both = [] if self.scores is None else [self.scores]
        self.scores = xp.concat([*both, new], axis=1)

    def start(self, most):
        """At most `most` evenly spaced rows (None: all), on the device: one source."""
        self.step = 1 if most is None else -(-len(self.rows) // most)
        return [self.rows.some(self.step)]

    def start_scores(self, most):
        """Scores so far of the rows of `start`, on the host: (A, p, at most `most`)."""
        if self.scores is None:
            return np.zeros((len(self.few), 0, -(-len(self.rows) // self.step)))
        return self.few


@dataclass(frozen=True)
class DeviceScores:
    """Scores (n,) of one lane, on a device."""

    values: object


@dataclass(frozen=True)
class DeviceBlock:
    """Features ``Z`` (B, d, n) of the rows in one block update, on a device."""

    Z: object
    is_long = False  # the rows are elsewhere, however few

    def gram(self):
        """``Z Z^T`` of every lane: (B, d, d)."""
        return host(
            self.Z @ namespace_of(self.Z).permute_dims(self.Z, (0, 2, 1))
        ).copy()

    def scores(self, u):
        """What blocks (B, d) make of the rows: one `DeviceScores` per lane."""
        values, each = self._projected(u), np.empty(len(u), object)
        for lane in range(len(u)):
            each[lane] = DeviceScores(values[lane, :])
        return each

    def energy(self, u):
        """Sums of squared scores: (B,)."""
        values = self._projected(u)
        return host(namespace_of(values).sum(values * values, axis=1))

    def _projected(self, u):
        return (put(u[:, None], self.Z) @ self.Z)[:, 0, :]
