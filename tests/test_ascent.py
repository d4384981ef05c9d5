"""Block updates, starts and what was found, each alone against dense linear algebra."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.linalg import eigh

from tensorcrp.solver import PaperDeflation, SmallGain, directions, solve
from tensorcrp.solver import objective as objectives
from tensorcrp.solver.array_rows import ArrayRows
from tensorcrp.solver.ascent import Ascent, Problem, climb
from tensorcrp.solver.blocks import Block
from tensorcrp.solver.cp import cp_dense
from tensorcrp.solver.deflation import Found
from tensorcrp.solver.directions import ridge_directions
from tensorcrp.solver.linalg import EPS, choleskys, ridge_lda, ridge_lda_of_rows
from tensorcrp.solver.path import _best_lane
from tensorcrp.solver.starts import identity_start

SHAPE, RANK = (4, 3, 2), 2


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def units(rng, *size):
    vectors = rng.standard_normal(size)
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


def ratio(w, between, within, lam):
    """J of a vector, for rows as vectors."""
    return np.sum((between @ w) ** 2) / (np.sum((within @ w) ** 2) + lam * w @ w)


def best(between, within, lam):
    """The vector of largest J, by a dense generalised eigenproblem."""
    S = within.T @ within + lam * np.eye(within.shape[1])
    return eigh(between.T @ between, S)[1][:, -1]


def assert_parallel(u, v):
    """The same direction, not null."""
    sizes = np.linalg.norm(u) * np.linalg.norm(v)
    assert sizes > 0
    assert_allclose(abs(u @ v), sizes, rtol=1e-9)


# --- one block update -------------------------------------------------------------


@pytest.mark.parametrize(("d", "c"), [(6, 2), (3, 8), (4, 4), (1, 3)])
def test_ridge_lda_is_the_top_generalised_eigenvector(rng, d, c):
    D, A = rng.standard_normal((3, d, c)), rng.standard_normal((3, d + 4, d))
    lambdas = np.array([0.0, 0.3, 100.0])
    u = ridge_lda(D, A.transpose(0, 2, 1) @ A, lambdas)
    assert_allclose(np.linalg.norm(u, axis=1), 1)
    for lane, lam in enumerate(lambdas):
        assert_parallel(u[lane], best(D[lane].T, A[lane], lam))


@pytest.mark.parametrize(("d", "n", "c"), [(9, 4, 2), (6, 5, 5), (7, 1, 3), (30, 8, 1)])
def test_from_few_rows_it_is_the_same(rng, d, n, c):
    D, Z = rng.standard_normal((4, d, c)), rng.standard_normal((4, d, n))
    Z[:, 0] = 0.0  # of a null white coordinate
    D[:, 0] = 0.0
    lambdas = np.array([1e-9, 1e-3, 0.3, 100.0])  # the first is too small for rows
    u = ridge_lda_of_rows(D, Z, lambdas)
    assert_allclose(np.linalg.norm(u, axis=1), 1)
    for lane, lam in enumerate(lambdas):
        assert_parallel(u[lane], best(D[lane].T, Z[lane].T, lam))
    # Rows that depend on each other, none at all, and nothing to separate.
    Z[0, :, -1], Z[1], D[3] = Z[0, :, 0], 0.0, 0.0
    u = ridge_lda_of_rows(D, Z, lambdas)
    for lane in range(3):
        assert_parallel(u[lane], best(D[lane].T, Z[lane].T, lambdas[lane]))
    assert_array_equal(u[3], np.eye(d)[-1])


@pytest.mark.parametrize("lam", [0.0, 1e-17])
def test_few_rows_with_a_ridge_below_rounding_are_a_scatter(rng, lam):
    """Rows that are equal: their products cannot be factored."""
    Z, D, lambdas = np.ones((1, 4, 2)), rng.standard_normal((1, 4, 3)), np.array([lam])
    u = ridge_lda_of_rows(D, Z, lambdas)
    assert_array_equal(u, ridge_lda(D, Z @ Z.transpose(0, 2, 1), lambdas))
    assert_allclose(u.sum(), 0, atol=1e-12)  # at right angles to the rows


def test_rows_decide_how_a_block_is_solved(rng, monkeypatch):
    """Eleven rows and a mode of thirty: the same ascent by both ways."""
    rows = [rng.standard_normal((n, 30, 3)) for n in (3, 11)]
    ways = []

    def watched(name):
        way = getattr(objectives, name)
        monkeypatch.setattr(objectives, name, lambda *a: ways.append(name) or way(*a))

    watched("ridge_lda")
    watched("ridge_lda_of_rows")
    (short,) = solve(*rows, [0.5], rank=2, n_components=4)
    assert set(ways) == {"ridge_lda", "ridge_lda_of_rows"}  # modes of 60 and 6 entries
    ways.clear()
    monkeypatch.setattr(Block, "is_long", False)
    (plain,) = solve(*rows, [0.5], rank=2, n_components=4)
    assert set(ways) == {"ridge_lda"}
    for one, other in zip(short.history, plain.history, strict=True):
        assert_allclose(one, other, rtol=1e-8)


def test_a_ridge_below_rounding_is_lifted_to_rounding(rng):
    """A direction without scatter, and another one that separates a little more."""
    G = np.diag([1.0, 1.0, 0.0])
    ridge = 4 * EPS * 2
    # J is D^2 / (G + ridge): 3 / (1 + ridge) against 2.8 or 3.2 ridge / ridge.
    for size, winner in ((2.8, 0), (3.2, 2)):
        D = np.diag([np.sqrt(3), 1.0, np.sqrt(size * ridge)])
        u = ridge_lda(D[None], G[None].copy(), np.zeros(1))[0]
        assert_allclose(abs(u), np.eye(3)[winner], atol=1e-6)


def test_nothing_to_separate_gives_the_last_coordinate(rng):
    D = np.stack([np.zeros((3, 2)), rng.standard_normal((3, 2))])
    u = ridge_lda(D, np.stack([np.eye(3)] * 2), np.ones(2))
    assert_array_equal(u[0], [0, 0, 1])
    assert_allclose(np.linalg.norm(u[1]), 1)


def test_j_is_zero_where_there_is_neither_scatter_nor_ridge(rng):
    top = rng.random(2)
    J = objectives.DiscriminantRatio().value(top, np.array([0.0, 0.5]))
    assert_allclose(J, [0, top[1] / 0.5])


def test_what_is_no_scatter_is_refused(rng):
    with pytest.raises(np.linalg.LinAlgError, match="size 3 is not positive"):
        ridge_lda(np.ones((1, 3, 2)), -np.eye(3)[None], np.zeros(1))


# --- ascent of one component ------------------------------------------------------


def problem_of(rows, lanes):
    """The paper's problem on arrays, with room for four projections."""
    shape = rows[0].shape[1:]
    deflated = [ArrayRows.of(each).deflated(lanes, 4) for each in rows]
    return Problem(*deflated, None, np.zeros(lanes, int), is_direct=len(shape) == 1)


def found_of(shape, lambdas, rank, n_components):
    lambdas = np.array(lambdas)
    ranks = [rank] * len(lambdas)
    return Found(shape, lambdas, ranks, n_components, PaperDeflation())


def begin(rng, shape=SHAPE, lambdas=(0.1, 10.0), which=(1, 0, 1), rank=RANK):
    """An ascent of three lanes with random starts, and its rows as vectors."""
    rows = [rng.standard_normal((n, *shape)) for n in (3, 30)]
    problem = problem_of(rows, len(lambdas))
    found = found_of(shape, lambdas, rank, 4)
    factors = [rng.standard_normal((len(which), size, rank)) for size in shape]
    flat = [each.reshape(len(each), -1) for each in rows]
    return Ascent(problem, found, np.array(which), factors), factors, flat


def projections(ascent):
    first, *rest = ascent.factors
    dense = cp_dense([first * ascent.weights[:, None], *rest])
    return dense.reshape(len(dense), -1)


@pytest.mark.parametrize("shape", [(4, 3), SHAPE, (2, 3, 2, 2)], ids=str)
def test_j_of_the_start_and_of_the_end_are_those_of_the_projections(rng, shape):
    ascent, factors, rows = begin(rng, shape)
    assert_allclose(
        projections(ascent), cp_dense(factors).reshape(3, -1), rtol=1e-12, atol=1e-12
    )
    climb([ascent], max_iter=2, stop=SmallGain(0))
    starts, ends = cp_dense(factors).reshape(3, -1), projections(ascent)
    assert_allclose(np.linalg.norm(ends, axis=1), 1)
    for lane, a in enumerate(ascent.which):
        lam = ascent.found.lambdas[a]
        assert_allclose(ascent.begun[lane], ratio(starts[lane], *rows, lam))
        assert_allclose(ascent.objective[lane], ratio(ends[lane], *rows, lam))
        assert ascent.history[lane][-1] == ascent.objective[lane]
        assert ascent.history[lane][0] >= ascent.begun[lane]
        for scores, each in zip(ascent.scores, rows, strict=True):
            assert_allclose(scores[lane], each @ ends[lane], atol=1e-12)
    assert_array_equal(ascent.n_iter, 2)
    assert not ascent.converged.any()


def test_an_update_that_lowers_j_is_refused(rng, monkeypatch):
    ascent, _, _ = begin(rng)
    climb([ascent], max_iter=1, stop=SmallGain(0))
    before = [each.copy() for each in (*ascent.factors, ascent.weights)]
    scores = [each.copy() for each in ascent.scores]
    reached = ascent.objective.copy()
    monkeypatch.setattr(objectives, "ridge_lda", lambda *a: ridge_lda(*a)[:, ::-1])
    climb([ascent], max_iter=2, stop=SmallGain(0))
    after = [*ascent.factors, ascent.weights]
    for old, new in zip([*before, *scores], [*after, *ascent.scores], strict=True):
        assert_array_equal(old, new)
    assert_array_equal(ascent.objective, reached)
    assert_array_equal(ascent.n_iter, 3)
    for lane, history in enumerate(ascent.history):
        assert history[3:] == [reached[lane]] * 6


@pytest.mark.parametrize(
    ("begun", "history", "tol", "done"),
    [
        (0.0, [1.0], 9.0, False),  # fewer than N updates
        (1.0, [1.0, 1.0], 0.1, True),
        (0.75, [0.75, 1.0], 0.25, True),  # just the share
        (0.75, [0.75, 1.0], 0.24, False),
        (0.0, [0.75, 0.75, 1.0], 0.25, True),  # the start is further back
        (0.0, [0.5, 1.0, 1.0], 0.25, False),  # the last two updates, not the last one
        (1.0, [1.0, 1.0], 0.0, False),  # no tolerance: all sweeps
    ],
)
def test_done_when_the_last_updates_added_little(rng, begun, history, tol, done):
    ascent, _, _ = begin(rng, (4, 3))
    ascent.begun, ascent.history[1] = np.array([0.0, begun, 0.0]), history
    assert_array_equal(ascent._done(np.array([1]), SmallGain(tol)), [done])
    assert_array_equal(ascent.converged, [False, done, False])


def test_without_a_rule_every_sweep_is_made(rng):
    ascent, factors, _ = begin(rng, (4, 3))
    always = type(ascent)(ascent.problem, ascent.found, ascent.which, factors)
    climb([ascent], max_iter=3, stop=None)
    climb([always], max_iter=3, stop=SmallGain(0.0))
    assert_array_equal(ascent.n_iter, 3)
    assert not ascent.converged.any()
    for each in zip(ascent.factors, always.factors, strict=True):
        assert_array_equal(*each)


def test_at_order_1_the_start_is_taken_less_what_was_found(rng):
    ascent, factors, rows = begin(rng, (5,), rank=1)
    found = ascent.found
    found.factors[0][:, 0, :, 0] = earlier = units(rng, 2, 5)
    found.count = 1
    for each, flat in zip(ascent.problem.rows, rows, strict=True):
        each.keep(earlier @ flat.T)
    climb([ascent], max_iter=7, stop=SmallGain(0.1))
    for lane, a in enumerate(ascent.which):
        w, start = projections(ascent)[lane], factors[0][lane, :, 0]
        assert_parallel(w, start - (start @ earlier[a]) * earlier[a])
        deflated = [each - np.outer(each @ earlier[a], earlier[a]) for each in rows]
        assert_allclose(
            ascent.history[lane], [ratio(w, *deflated, found.lambdas[a])], rtol=1e-9
        )
    assert_array_equal(ascent.n_iter, 1)
    assert ascent.converged.all()


# --- what was found ---------------------------------------------------------------


@pytest.mark.parametrize("mode", range(3))
def test_overlaps_are_inner_products_with_the_earlier_projections(rng, mode):
    """Every coordinate of the block as a dense tensor."""
    found, which = found_of(SHAPE, np.ones(2), RANK, 5), np.array([1, 0, 1])
    for each in found.factors:
        each[:] = rng.standard_normal(each.shape)
    found.count = 3
    factors = [rng.standard_normal((3, size, RANK)) for size in SHAPE]
    white = rng.standard_normal((3, RANK, RANK))
    overlaps = found.overlaps(which, factors, mode, white)
    assert overlaps.shape == (3, SHAPE[mode] * RANK, 3)
    u = rng.standard_normal((3, RANK, SHAPE[mode]))
    moved = list(factors)
    moved[mode] = u.transpose(0, 2, 1) @ white.transpose(0, 2, 1)
    W = cp_dense(moved).reshape(3, -1)
    for lane, a in enumerate(which):
        earlier = cp_dense([each[a, :3] for each in found.factors]).reshape(3, -1)
        got = u[lane].reshape(-1) @ overlaps[lane]
        assert_allclose(got, earlier @ W[lane], rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("deflation", ["of the paper", "another"])
def test_weighted_sum_is_that_of_the_dense_tensors_that_are_subtracted(rng, deflation):
    found = found_of(SHAPE, np.ones(2), RANK, 5)
    for each in found.factors:
        each[:] = rng.standard_normal(each.shape)
    found.count, T = 3, np.stack([np.eye(3)] * 2)
    if deflation == "another":  # V = T W
        found.mixing = T = np.tril(rng.standard_normal((2, 3, 3)))
    weights = rng.standard_normal((2, 3, 1))
    sums = found.weighted_sum(weights)
    for a in range(2):
        dense = cp_dense([each[a, :3] for each in found.factors]).reshape(3, -1)
        expected = weights[a, :, 0] @ T[a] @ dense
        assert_allclose(sums[a], expected, rtol=1e-10, atol=1e-10)
        assert_allclose(found.removed(a), T[a] @ dense, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("off", [1.0, 1e-6, 0.0])
def test_vectors_are_made_orthogonal_to_the_earlier_ones(rng, off):
    """Also those that are nearly, or wholly, made up of them."""
    found = found_of((6,), np.ones(2), 1, 4)
    W = np.linalg.qr(rng.standard_normal((2, 6, 3)))[0].transpose(0, 2, 1)
    found.factors[0][:, :3, :, 0], found.count = W, 3
    which, more = np.array([1, 0]), rng.standard_normal((2, 6))
    inside = np.stack([W[a].sum(axis=0) / np.sqrt(3) for a in which])
    u = found.orthogonal(which, inside + off * more)
    assert_allclose(np.linalg.norm(u, axis=1), 1)
    for lane, a in enumerate(which):
        assert_allclose(W[a] @ u[lane], 0, atol=1e-15)
        if off:
            rest = more[lane] - (W[a] @ more[lane]) @ W[a]
            assert_allclose(abs(u[lane] @ rest), np.linalg.norm(rest), rtol=1e-8)
        else:  # the coordinate that the earlier ones say least about
            least = np.eye(6)[np.argmin((W[a] ** 2).sum(axis=0))]
            rest = least - (W[a] @ least) @ W[a]
            assert_allclose(abs(u[lane] @ rest), np.linalg.norm(rest), rtol=1e-8)


def test_the_best_start_of_every_lambda_wins():
    objective = np.array([1.0, 5.0, 2.0, 7.0, 3.0, 7.0])
    assert_array_equal(_best_lane(objective, 3), [1, 3])
    assert_array_equal(_best_lane(objective, 2), [1, 3, 5])
    assert_array_equal(_best_lane(objective, 1), range(6))


# --- starts -----------------------------------------------------------------------


def test_identity_start_begins_again_when_there_are_no_more_columns():
    first, second = identity_start((3, 2), 5, None)
    assert_array_equal(first, np.eye(3, 5))
    assert_array_equal(second, [[1, 0, 1, 0, 1], [0, 1, 0, 1, 0]])
    assert_array_equal(identity_start((3,), 2, None)[0], np.eye(3, 2))


LAMBDAS = 0.2, 50.0


class Earlier:
    """Earlier projections (A, p, P), at most three, as starts ask for them."""

    room = 3

    def __init__(self, W):
        self.W, self.count = W, W.shape[1]
        self.lambdas, self.deflation = np.array(LAMBDAS), PaperDeflation()

    def newest(self):
        return self.W[:, -1]

    def weighted_sum(self, weights):
        return (weights * self.W).sum(axis=1)


@pytest.mark.parametrize(
    ("shape", "n"), [((6,), 20), ((6,), 6), ((6,), 4), ((3, 2), 20), ((2, 2, 2), 5)]
)
@pytest.mark.parametrize("share", [0.0, 0.5])
@pytest.mark.parametrize("most", [1024, 7])
def test_start_is_ridge_lda_of_the_deflated_rows(
    rng, shape, n, share, most, monkeypatch
):
    """From the P x P and the n x n system, from all rows and from some of them."""
    monkeypatch.setattr(directions, "START_ROWS", most)
    arrays = [rng.standard_normal((rows, *shape)) for rows in (3, n)]
    between, within = (each.reshape(len(each), -1) for each in arrays)
    lambdas, problem = np.array(LAMBDAS), problem_of(arrays, 2)
    start = ridge_directions(problem, Earlier(np.empty((2, 0, 1))), share)
    step = 1 if len(shape) == 1 else -(-n // most)
    seen = within[::step]
    ridges = np.maximum(lambdas * len(seen) / n, share / len(seen) * np.sum(seen**2))
    P = between.shape[1]
    W = np.linalg.qr(rng.standard_normal((2, P, P)))[0].transpose(0, 2, 1)
    if len(shape) > 1:
        W = units(rng, 2, 2, P)  # not at right angles
    left = [[between, within] for _ in lambdas]
    for p in range(3):
        found = Earlier(W[:, :p])
        for a, w in enumerate(start.directions(found)):
            some = left[a][0], left[a][1][::step]
            assert_parallel(w, best(*some, ridges[a]))
        if p == 2:
            break
        for kind, each in enumerate(problem.rows):
            scores = [left[a][kind] @ W[a, p] for a in range(2)]
            each.keep(np.stack(scores))
            for a, score in enumerate(scores):
                left[a][kind] = left[a][kind] - np.outer(score, W[a, p])
        start.deflate(Earlier(W[:, : p + 1]))


def test_starts_reject_what_is_no_scatter():
    with pytest.raises(np.linalg.LinAlgError, match="scatter of size 2"):
        choleskys(-np.eye(2)[None], 0.5)
