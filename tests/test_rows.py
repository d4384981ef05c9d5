"""What block ascent is told of the rows, against dense tensors and plain deflation."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from tensorcrp import TensorCRP
from tensorcrp.solver import (
    ArrayRows,
    Euclidean,
    Rows,
    Smoothness,
    directions,
    lane_rows,
    solve,
)
from tensorcrp.solver.blocks import BlockView, DeflatedRows
from tensorcrp.solver.cp import cp_dense, mode_products
from tensorcrp.solver.lane_rows import LaneRows
from tensorcrp.solver.metric import LaneRoots

SHAPE, LANES, RANK = (4, 3, 2), 3, 2


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def deflated(X, earlier):
    """X (n, P) less its scores times unit vectors (p, P), one after the other."""
    scores = []
    for w in earlier:
        scores.append(X @ w)
        X = X - np.outer(scores[-1], w)
    return X, np.array(scores)


@pytest.mark.parametrize("mode", [0, 1, 2])
@pytest.mark.parametrize("n_earlier", [0, 1, 4])
def test_a_block_is_the_deflated_rows_contracted(rng, mode, n_earlier):
    """Lanes 0 and 2 belong to the second of two lambdas, lane 1 to the first."""
    X, which = rng.standard_normal((7, *SHAPE)), np.array([1, 0, 1])
    factors = [rng.standard_normal((LANES, size, RANK)) for size in SHAPE]
    white = rng.standard_normal((LANES, RANK, RANK))
    earlier = rng.standard_normal((2, n_earlier, X[0].size))
    earlier /= np.linalg.norm(earlier, axis=2, keepdims=True)
    flat, rows = X.reshape(7, -1), DeflatedRows(ArrayRows.of(X), 2, 5)
    left = [deflated(flat, each) for each in earlier]
    for p in range(n_earlier):
        rows.keep(np.stack([scores[p] for _, scores in left]))

    # Every coordinate of the block as a dense tensor: u -> <X, W(u)>.
    d = SHAPE[mode] * RANK
    u = rng.standard_normal((LANES, d))
    basis = np.empty((LANES, d, X[0].size))
    for j in range(d):
        unit = np.zeros((LANES, RANK, SHAPE[mode]))
        unit.reshape(LANES, d)[:, j] = 1.0
        moved = list(factors)
        moved[mode] = unit.transpose(0, 2, 1) @ white.transpose(0, 2, 1)
        basis[:, j] = cp_dense(moved).reshape(LANES, -1)
    overlaps = basis @ earlier[which].transpose(0, 2, 1)
    view = BlockView(factors, mode, white, overlaps, which)
    # The columns of others, of another rank, come along in the same pass.
    others = [rng.standard_normal((2, size, 3)) for size in SHAPE]
    products = rows.begin([others, factors, others], rows.rows.is_left(mode))
    block = rows.block(products[1], view)
    Z = np.stack([basis[b] @ left[a][0].T for b, a in enumerate(which)])
    assert_allclose(block.Z, Z, atol=1e-12)
    assert_allclose(block.gram(), Z @ Z.transpose(0, 2, 1), atol=1e-12)
    assert_allclose(block.scores(u), np.einsum("bd,bdn->bn", u, Z), atol=1e-12)
    assert_allclose(block.energy(u), (block.scores(u) ** 2).sum(axis=1))


class Known:
    """Projections that were found: unit vectors (A, p, P), one after the other."""

    def __init__(self, earlier):
        self.room, self.vectors = earlier.shape[1], iter(earlier.swapaxes(0, 1))

    def newest_dense(self):
        return next(self.vectors)


@pytest.mark.parametrize("mode", [0, 1, 2])
@pytest.mark.parametrize("which", [(0, 1), (1,), (1, 0, 1)], ids=str)
def test_copies_are_deflated_in_the_coordinates_of_their_metric(rng, mode, which):
    """The second of two sequences has a metric, in two of three modes."""
    X = rng.standard_normal((7, *SHAPE))
    before, which = X.copy(), np.array(which)
    roots = LaneRoots([Euclidean(), Smoothness((3.0, 0.0, 1.0))], SHAPE, [0, 1])
    earlier = rng.standard_normal((2, 3, X[0].size))
    earlier /= np.linalg.norm(earlier, axis=2, keepdims=True)
    flat = [
        mode_products(X, roots.of_metric(number)).reshape(7, -1) for number in (0, 1)
    ]
    left = [deflated(*pair) for pair in zip(flat, earlier, strict=True)]
    source = np.zeros(2, int)
    rows = LaneRows([ArrayRows.of(X)], source, Known(earlier), roots)
    for p in range(3):
        rows.keep(np.stack([scores[p] for _, scores in left]))
    factors = [rng.standard_normal((len(which), size, RANK)) for size in SHAPE]
    white = np.tile(np.eye(RANK), (len(which), 1, 1))
    (product,) = rows.begin([factors], rows.rows.is_left(mode), [which])
    block = rows.block(product, BlockView(factors, mode, white, None, which))
    for b, a in enumerate(which):
        dense = [
            np.ones((1, 1, 1)) if m == mode else f[b : b + 1]
            for m, f in enumerate(factors)
        ]
        for r in range(RANK):
            only = [d if m == mode else d[..., r : r + 1] for m, d in enumerate(dense)]
            weights = cp_dense(only)[0]
            tensors = left[a][0].reshape(7, *SHAPE)
            others = tuple(m for m in range(3) if m != mode)
            Z = (tensors * weights).sum(axis=tuple(m + 1 for m in others))
            part = slice(r * SHAPE[mode], (r + 1) * SHAPE[mode])
            assert_allclose(block.Z[b, part], Z.T, atol=1e-12)
    assert_array_equal(X, before)


def test_vectors_at_right_angles_to_earlier_ones_see_deflated_rows(rng):
    X, earlier = (
        rng.standard_normal((6, 5)),
        np.linalg.qr(rng.standard_normal((5, 5)))[0],
    )
    rows = DeflatedRows(ArrayRows.of(X), 1, 4)
    left, scores = deflated(X, earlier[:2])
    for each in scores:
        rows.keep(each[None])
    u = rng.standard_normal((2, 3)) @ earlier[2:]
    block = rows.projected(u, [0, 0])
    assert_allclose(block.Z[:, 0], u @ left.T, atol=1e-12)


@pytest.mark.parametrize("n", [3, 10, 11, 25])
def test_start_rows_are_evenly_spaced_and_not_copied(rng, n):
    X = rng.standard_normal((n, *SHAPE))
    rows = DeflatedRows(ArrayRows.of(X), 1, 1)
    rows.keep(np.arange(n)[None])
    (some,) = rows.start(10)
    assert len(some) == -(-n // -(-n // 10)) <= 10
    assert np.shares_memory(some.tensor, rows.rows.tensor)
    index = rows.start_scores(10)[0, 0].astype(int)
    assert len(set(np.diff(index))) <= 1 and index[0] == 0
    assert_allclose(some.flat, X[index].reshape(len(index), -1))
    assert rows.start(None) == [rows.rows]


def test_a_start_from_some_rows_does_nearly_as_well(make_samples, monkeypatch):
    """The start sees a third of the rows; the ascent sees all, and nothing else of the
    result changes its meaning."""
    X, y = make_samples((8, 7, 6), 90, n_classes=4)
    whole = TensorCRP(6, tol=1e-3, max_iter=500).fit(X, y)
    monkeypatch.setattr(directions, "START_ROWS", 30)
    some = TensorCRP(6, tol=1e-3, max_iter=500).fit(X, y)
    ends = [crp.objective_ for crp in (some, whole)]
    assert not np.allclose(*ends, rtol=1e-8)  # it did make a difference
    assert sum(ends[0]) > 0.8 * sum(ends[1])
    for J in some.history_:
        assert (np.diff(J) >= 0).all()
    # At order 1 the start is the answer, and needs every row.
    flat = [TensorCRP(6, rank="full").fit(X, y).components_]
    monkeypatch.undo()
    flat.append(TensorCRP(6, rank="full").fit(X, y).components_)
    assert_allclose(*flat)


class Listed(Rows):
    """Rows of a list: nothing but what a new kind has to have."""

    def __init__(self, array):
        self.given = array

    @property
    def shape(self):
        return self.given.shape

    def blocks(self, size):
        for start in range(0, len(self.given), 2):
            yield slice(start, start + 2), self.given[start : start + 2]

    def reshape(self, shape):
        return Listed(self.given.reshape(-1, *shape))


@pytest.mark.parametrize("shape", [(5,), (4, 3), SHAPE], ids=str)
def test_everything_follows_from_blocks(rng, shape):
    """Each sum, product and decomposition, against dense arrays."""
    X, other = rng.standard_normal((7, *shape)), rng.standard_normal((3, *shape))
    flat, rows = X.reshape(7, -1), Listed(X)
    weights = rng.standard_normal((2, 7))
    matrices = [rng.standard_normal((2, size)) for size in shape]
    assert_allclose(rows.combine(weights), weights @ flat, atol=1e-12)
    sizes = np.abs(flat).max(axis=1)
    some = sizes > np.median(sizes)
    sized = weights[:, some] @ (flat[some] / sizes[some, None])
    for each in (rows, ArrayRows.of(X)):
        found = each.unit_sums(weights, np.median(sizes))
        assert_allclose(found, sized, atol=1e-12)
    assert_allclose(rows.inner(), flat.T @ flat, atol=1e-12)
    assert_allclose(rows.gram(rows), flat @ flat.T, atol=1e-12)
    for theirs in (Listed(other), ArrayRows.of(other)):
        known = flat @ other.reshape(3, -1).T
        assert_allclose(rows.gram(theirs), known, atol=1e-12)
        assert_allclose(ArrayRows.of(X).gram(theirs), known, atol=1e-12)
    assert_allclose(rows.singular_values(), np.linalg.svd(flat)[1], atol=1e-12)
    assert_array_equal(rows.flat, flat)
    assert_array_equal(np.asarray(rows.like(flat[:2])), X[:2])
    moved = mode_products(X, matrices)
    assert_allclose(np.asarray(rows.transformed(matrices)), moved, atol=1e-12)


class Integers(Listed):
    """The same, of integers."""

    dtype = np.dtype(np.int16)


@pytest.mark.parametrize("kind", [ArrayRows.of, Integers])
def test_rows_of_integers_give_what_floats_give(rng, monkeypatch, kind):
    """Weights and factors are not cut to integers."""
    monkeypatch.setattr(lane_rows, "MOST_BYTES", 0)  # no copies, which are floats
    both = [rng.integers(-9, 9, (n, *SHAPE)).astype(np.int16) for n in (3, 40)]
    whole = solve(*both, [1.0, 9.0], n_components=3, max_iter=2)
    found = solve(*map(kind, both), [1.0, 9.0], n_components=3, max_iter=2)
    for mine, theirs in zip(found, whole, strict=True):
        for curve, expected in zip(mine.history, theirs.history, strict=True):
            assert_allclose(curve, expected, rtol=1e-9)
    W = rng.standard_normal((2, both[1][0].size))
    features = both[1].reshape(40, -1) @ W.T
    scatter = kind(both[1]).feature_scatter(W)
    assert_allclose(scatter, features.T @ features, rtol=1e-9)
