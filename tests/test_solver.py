"""The solver against the literal oracle, and what lanes, starts and modes must keep."""

import numpy as np
import oracle
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from threadpoolctl import threadpool_info, threadpool_limits

from tensorcrp import ClassScatter, TensorCRP
from tensorcrp.solver import (
    ArrayRows,
    Euclidean,
    Smoothness,
    Spec,
    fit_path,
    lane_rows,
    solve,
)
from tensorcrp.solver.cp_form import cp_normalize, cp_truncate
from tensorcrp.solver.starts import identity_start, random_start

EXACT = {"rtol": 1e-8, "atol": 1e-8}
# Shapes of order 2, 3 and 4 with more samples than entries, and with fewer.
CASES = [
    ((4, 5), 60),
    ((7, 6), 25),
    ((4, 3, 3), 60),
    ((5, 4, 3), 25),
    ((3, 2, 2, 3), 60),
    ((3, 4, 2, 3), 25),
]

cases = pytest.mark.parametrize(("shape", "n"), CASES, ids=str)
weightings = pytest.mark.parametrize("between", ["classes", "samples"])


def rows_of(X, y, between="classes"):
    scatter = ClassScatter.from_samples(X, y)
    return scatter.between(between), scatter.root


def dense(result):
    return cp_normalize(result.factors)[1]


def random_factors(shape, rank, seed=0):
    return random_start(shape, rank, np.random.RandomState(seed))


def assert_equal_results(result, expected, **tolerance):
    tolerance = tolerance or EXACT
    assert_allclose(dense(result), dense(expected), **tolerance)
    assert_array_equal(result.n_iter, expected.n_iter)
    assert_array_equal(result.converged, expected.converged)
    for mine, theirs in zip(result.history, expected.history, strict=True):
        assert_allclose(mine, theirs, **tolerance)


@pytest.mark.parametrize(("shape", "n"), CASES[:2], ids=str)
@weightings
def test_order_2_is_algorithm_1(make_samples, shape, n, between):
    X, y = make_samples(shape, n, n_classes=6)
    crp = TensorCRP(
        6,
        rank=2,
        reg=2.0,
        reg_scale="absolute",
        between=between,
        init="identity",
        max_iter=10,
        tol=0,
    ).fit(X, y)
    expected = oracle.algorithm_1(
        X, y, n_components=6, rank=2, lam=2.0, n_sweeps=10, between=between
    )
    assert_allclose(crp.components_, expected.projections, **EXACT)
    assert_allclose(crp.history_, expected.objective, rtol=1e-8)


@cases
@weightings
def test_any_order_equals_the_oracle(make_samples, shape, n, between):
    X, y = make_samples(shape, n, n_classes=6)
    starts = random_factors(shape, 2)
    crp = TensorCRP(
        6,
        rank=2,
        reg=2.0,
        reg_scale="absolute",
        between=between,
        init=starts,
        max_iter=6,
        tol=0,
    ).fit(X, y)
    expected = oracle.order_n(
        X,
        y,
        n_components=6,
        rank=2,
        lam=2.0,
        n_sweeps=6,
        starts=starts,
        between=between,
    )
    assert_allclose(crp.components_, expected.projections, **EXACT)
    assert_allclose(crp.history_, expected.objective, rtol=1e-8)
    scores, left = oracle.features(expected.projections, X)
    features = crp.transform(X)
    assert_allclose(features, scores, **EXACT)
    assert_allclose(X - crp.inverse_transform(features), left, **EXACT)


@pytest.mark.parametrize("rank", [1, 3])
@pytest.mark.parametrize("lam", [1e-2, 1e3])
def test_other_ranks_and_ridges_equal_the_oracle(make_samples, rank, lam):
    X, y = make_samples((4, 3, 4), 40, n_classes=6)
    starts = random_factors((4, 3, 4), rank)
    (result,) = solve(
        *rows_of(X, y), [lam], rank=rank, n_components=5, init=starts, max_iter=5, tol=0
    )
    expected = oracle.order_n(
        X, y, n_components=5, rank=rank, lam=lam, n_sweeps=5, starts=starts
    )
    assert_allclose(dense(result), expected.projections, **EXACT)
    assert_allclose(result.history, expected.objective, rtol=1e-8)


def test_other_orders_of_the_updates_equal_the_oracle(make_samples):
    X, y = make_samples((4, 3, 2, 2), 40, n_classes=6)
    starts, modes = random_factors((4, 3, 2, 2), 2), (2, 0, 3, 1)
    kwargs = {"rank": 2, "n_components": 5}
    (result,) = solve(
        *rows_of(X, y), [1.0], init=starts, modes=modes, max_iter=4, tol=0, **kwargs
    )
    expected = oracle.order_n(
        X, y, lam=1.0, n_sweeps=4, starts=starts, modes=modes, **kwargs
    )
    assert_allclose(dense(result), expected.projections, **EXACT)


def test_collinear_start_factors_equal_the_oracle(make_samples):
    X, y = make_samples((4, 3, 5), 40, n_classes=6)
    starts = random_factors((4, 3, 5), 3)
    starts[1][:, 2] = -2 * starts[1][:, 0]
    starts[2][:, 2] = 3 * starts[2][:, 0]
    (result,) = solve(
        *rows_of(X, y), [1.0], rank=3, n_components=5, init=starts, max_iter=3, tol=0
    )
    expected = oracle.order_n(
        X, y, n_components=5, rank=3, lam=1.0, n_sweeps=3, starts=starts
    )
    assert_allclose(dense(result), expected.projections, **EXACT)


@pytest.mark.parametrize("init", ["lda", "identity"])
@pytest.mark.parametrize("n", [25, 60])
def test_lanes_of_several_lambdas_equal_each_alone(make_samples, init, n):
    rows = rows_of(*make_samples((4, 3, 3), n, n_classes=5))
    lambdas = [1e-2, 1.0, 30.0, 1e4]
    kwargs = {"rank": 2, "n_components": 5, "init": init, "max_iter": 30, "tol": 1e-3}
    together = solve(*rows, lambdas, **kwargs)
    assert len({tuple(result.n_iter) for result in together}) > 1
    for lam, result in zip(lambdas, together, strict=True):
        assert_equal_results(result, solve(*rows, [lam], **kwargs)[0])


def test_lanes_share_random_starts(make_samples):
    rows = rows_of(*make_samples((4, 3, 3), 40, n_classes=5))
    kwargs = {"rank": 2, "n_components": 3, "init": "random", "n_init": 3}
    kwargs |= {"max_iter": 5, "tol": 0}
    together = solve(*rows, [0.1, 10.0], rng=np.random.RandomState(3), **kwargs)
    for lam, result in zip([0.1, 10.0], together, strict=True):
        (alone,) = solve(*rows, [lam], rng=np.random.RandomState(3), **kwargs)
        assert_equal_results(result, alone)


def test_a_lane_that_is_done_keeps_its_result(make_samples):
    rows = rows_of(*make_samples((5, 4), 40, n_classes=5))
    kwargs = {"rank": 2, "n_components": 1, "init": "identity", "tol": 1e-2}
    early, late = solve(*rows, [1e5, 1e-3], max_iter=200, **kwargs)
    assert early.n_iter[0] < late.n_iter[0]
    assert early.converged.all() and late.converged.all()
    (alone,) = solve(*rows, [1e5], max_iter=200, **kwargs)
    assert_allclose(dense(early), dense(alone), **EXACT)
    (longer,) = solve(*rows, [1e5], **(kwargs | {"tol": 0, "max_iter": 200}))
    updates = len(early.history[0])
    assert_allclose(early.history[0], longer.history[0][:updates], **EXACT)


@pytest.mark.parametrize("tol", [0.3, 0.1, 1e-2, 1e-4])
def test_it_stops_when_the_last_sweep_of_updates_added_little(make_samples, tol):
    """Whole sweeps or not: what counts are the last N block updates."""
    rows, N = rows_of(*make_samples((4, 3, 3, 2), 60, n_classes=6)), 4
    (result,) = solve(
        *rows, [0.1], rank=2, n_components=4, init="identity", max_iter=500, tol=tol
    )
    (longer,) = solve(
        *rows, [0.1], rank=2, n_components=1, init="identity", max_iter=99, tol=0
    )
    assert_allclose(
        result.history[0], longer.history[0][: len(result.history[0])], **EXACT
    )
    assert result.converged.all()
    for J in result.history:
        # Two modes on each side: looked at after every second update.
        share = {
            u: (J[u - 1] - J[u - 1 - N]) / J[u - 1] for u in range(6, len(J) + 1, 2)
        }
        assert len(J) % 2 == 0 and len(J) >= N
        assert [u for u, gain in share.items() if gain <= tol] in ([len(J)], [])
        assert len(J) == N or share[len(J)] <= tol


def test_history_counts_the_block_updates(make_samples):
    rows = rows_of(*make_samples((4, 3, 2), 40))
    (result,) = solve(*rows, [1.0], rank=2, n_components=3, max_iter=500, tol=1e-4)
    assert result.converged.all()
    assert_array_equal([len(each) for each in result.history], 3 * result.n_iter)
    for history in result.history:
        sweeps = history[2::3]
        gains = np.diff(sweeps) / sweeps[1:]
        assert gains[-1] <= 1e-4 and np.all(gains[:-1] > 1e-4)


def test_unfinished_components_are_marked(make_samples):
    rows = rows_of(*make_samples((5, 4), 40))
    kwargs = {"rank": 1, "n_components": 2, "init": "identity"}
    (result,) = solve(*rows, [1.0], max_iter=1, tol=1e-12, **kwargs)
    assert not result.converged.any() and np.all(result.n_iter == 1)


@pytest.mark.parametrize(("shape", "seed"), [((5, 4), 5), ((4, 3, 3), 7)], ids=str)
def test_n_init_keeps_the_best_start(make_samples, shape, seed):
    rows = rows_of(*make_samples(shape, 25, n_classes=5))
    kwargs = {"rank": 1, "n_components": 1, "max_iter": 3, "tol": 0}
    rng = np.random.RandomState(seed)
    starts = [random_start(shape, 1, rng) for _ in range(5)]
    alone = [solve(*rows, [1.0], init=start, **kwargs)[0] for start in starts]
    reached = [result.history[0][-1] for result in alone]
    (best,) = solve(
        *rows, [1.0], init="random", n_init=5, rng=np.random.RandomState(seed), **kwargs
    )
    assert np.argmax(reached) != 0 and np.ptp(reached) > 1e-3 * max(reached)
    assert best.history[0][-1] >= (1 - 1e-12) * max(reached)
    assert_equal_results(best, alone[int(np.argmax(reached))])


def test_more_starts_never_give_a_smaller_first_objective(make_samples):
    rows = rows_of(*make_samples((4, 3, 3), 25, n_classes=5))
    kwargs = {"rank": 1, "n_components": 1, "max_iter": 3, "tol": 0}
    reached = []
    for n_init in (1, 2, 4, 8):
        rng = np.random.RandomState(0)
        (result,) = solve(*rows, [1.0], n_init=n_init, rng=rng, **kwargs)
        reached.append(result.history[0][-1])
    assert np.all(np.diff(reached) >= -1e-12 * reached[0])


@pytest.mark.parametrize(
    ("shape", "order"),
    [((5, 4), (1, 0)), ((4, 3, 5), (2, 0, 1)), ((3, 2, 4, 3), (3, 1, 0, 2))],
    ids=str,
)
@pytest.mark.parametrize("n", [15, 70])
def test_permuted_modes_permute_the_factors(make_samples, shape, order, n):
    X, y = make_samples(shape, n, n_classes=5)
    starts = random_factors(shape, 2)
    kwargs = {"rank": 2, "n_components": 5, "max_iter": 4, "tol": 0}
    (plain,) = solve(*rows_of(X, y), [1.0], init=starts, **kwargs)
    turned = X.transpose(0, *(m + 1 for m in order))
    (moved,) = solve(
        *rows_of(turned, y),
        [1.0],
        init=[starts[m] for m in order],
        modes=np.argsort(order),
        **kwargs,
    )
    expected = [plain.factors[m] for m in order]
    assert_allclose(dense(moved), cp_normalize(expected)[1], **EXACT)
    for mine, theirs in zip(moved.factors, expected, strict=True):
        # The factors themselves, up to the signs of their columns.
        cosine = np.einsum("hlk,hlk->hk", *map(unit, (mine, theirs)))
        assert_allclose(abs(cosine), 1, rtol=1e-8)
    assert_allclose(moved.history, plain.history, rtol=1e-8)


def unit(factor):
    return factor / np.linalg.norm(factor, axis=1, keepdims=True)


@cases
def test_features_equal_sequential_deflation(make_samples, shape, n):
    X, y = make_samples(shape, n, n_classes=5)
    crp = TensorCRP(6, rank=2).set_params(tol=0).fit(X, y)
    new, _ = make_samples(shape, 10, seed=9)
    scores, left = oracle.features(crp.components_, new)
    features = crp.transform(new)
    assert_allclose(features, scores, **EXACT)
    assert_allclose(new - crp.inverse_transform(features), left, **EXACT)


def test_each_component_maximises_j_of_the_deflated_samples(make_samples):
    X, y = make_samples((5, 4), 40, n_classes=5)
    kwargs = {"rank": 2, "reg": 1.0, "reg_scale": "absolute", "tol": 0}
    crp = TensorCRP(4, init="identity", **kwargs).fit(X, y)
    for W, history in zip(crp.components_, crp.history_, strict=True):
        assert_allclose(history[-1], oracle.objective(W, X, y, 1.0), rtol=1e-9)
        first = TensorCRP(1, init="identity", **kwargs).fit(X, y)
        assert_allclose(first.components_[0], W, **EXACT)
        _, X = oracle.deflate(X, W)


@pytest.mark.parametrize("shape", [(4, 5), (3, 2, 4), (12,)], ids=str)
@pytest.mark.parametrize("n", [10, 60])
@weightings
def test_full_rank_is_ridge_lda_on_vectors(make_samples, shape, n, between):
    X, y = make_samples(shape, n, n_classes=4)
    crp = TensorCRP(3, rank="full", reg=0.5, reg_scale="absolute", between=between).fit(
        X, y
    )
    expected = oracle.ridge_lda(X, y, n_components=3, lam=0.5, between=between)
    assert_allclose(crp.components_, expected.projections, **EXACT)
    final = [history[-1] for history in crp.history_]
    assert_allclose(final, np.ravel(expected.objective), rtol=1e-8)


@pytest.mark.parametrize("shape", [(4, 5), (3, 2, 4)], ids=str)
@pytest.mark.parametrize("n", [10, 60])
def test_block_ascent_at_full_rank_reaches_ridge_lda(make_samples, shape, n):
    X, y = make_samples(shape, n, n_classes=4)
    rank = int(np.prod(shape[1:]))  # the first update then sees every tensor
    (result,) = solve(
        *rows_of(X, y), [0.5], rank=rank, n_components=3, init="identity", max_iter=1
    )
    expected = oracle.ridge_lda(X, y, n_components=3, lam=0.5)
    assert_allclose(dense(result), expected.projections, **EXACT)
    assert_allclose([h[0] for h in result.history], np.ravel(expected.objective))


def test_order_1_is_the_direction_of_scikit_learn(make_samples):
    X, y = make_samples((8,), 80, n_classes=4)
    crp = TensorCRP(1, reg=1e-10, reg_scale="absolute", between="samples").fit(X, y)
    lda = LinearDiscriminantAnalysis(solver="eigen").fit(X, y)
    direction = lda.scalings_[:, 0] / np.linalg.norm(lda.scalings_[:, 0])
    assert_allclose(crp.components_[0], oracle.fix_sign(direction), **EXACT)


@pytest.mark.parametrize("n", [5, 40])
def test_order_1_has_one_term_whatever_the_rank(make_samples, n):
    rows = rows_of(*make_samples((12,), n, n_classes=2))
    (one,) = solve(*rows, [1.0], rank=1, n_components=3)
    (three,) = solve(*rows, [1.0], rank=3, n_components=3)
    assert_allclose(dense(three), dense(one), **EXACT)


@pytest.mark.parametrize(("shape", "n"), [((6, 5), 25), ((6, 5), 60), ((4, 3, 4), 60)])
@pytest.mark.parametrize("rank", [1, 2])
def test_lda_start_lies_between_the_cut_direction_and_ridge_lda(
    make_samples, shape, n, rank
):
    X, y = make_samples(shape, n, n_classes=4)
    best = oracle.ridge_lda(X, y, n_components=1, lam=1.0)
    cut = cp_normalize(cp_truncate(best.projections, rank))[1][0]
    (result,) = solve(*rows_of(X, y), [1.0], rank=rank, n_components=1, max_iter=1)
    reached = result.history[0]
    assert reached[0] >= (1 - 1e-9) * oracle.objective(cut, X, y, 1.0)
    assert reached[-1] <= (1 + 1e-9) * best.objective[0][0]


def test_lda_start_follows_the_deflation(make_samples):
    X, y = make_samples((5, 4), 40, n_classes=5)
    (result,) = solve(*rows_of(X, y), [1.0], rank=2, n_components=4, max_iter=1)
    for W, history in zip(dense(result), result.history, strict=True):
        best = oracle.ridge_lda(X, y, n_components=1, lam=1.0)
        (first,) = solve(*rows_of(X, y), [1.0], rank=2, n_components=1, max_iter=1)
        assert_allclose(dense(first)[0], W, **EXACT)
        assert history[-1] <= (1 + 1e-9) * best.objective[0][0]
        _, X = oracle.deflate(X, W)


@pytest.mark.parametrize(
    ("shape", "rank"),
    [((5, 3, 3), 5), ((6, 1, 4), 3), ((4, 4), 3), ((2, 2, 2, 2), 4), ((7, 2, 3), 6)],
    ids=str,
)
def test_identity_start_has_no_dead_columns(shape, rank):
    factors = identity_start(shape, rank, None)
    assert [factor.shape for factor in factors] == [(size, rank) for size in shape]
    for factor in factors[1:]:
        assert np.all(np.linalg.norm(factor, axis=0) == 1)
    columns = oracle.khatri_rao(factors[1:], rank)
    assert np.linalg.matrix_rank(columns) == rank  # no two columns stand for one term


@pytest.mark.parametrize("shape", [(5, 4), (4, 4, 4), (3, 5, 4, 3)], ids=str)
def test_identity_start_is_the_papers_where_the_rank_allows(shape):
    expected = oracle.identity_starts(shape, 3)
    for mine, theirs in zip(identity_start(shape, 3, None), expected, strict=True):
        assert_array_equal(mine, theirs)


@pytest.mark.parametrize(
    ("shape", "rank"), [((5, 3, 3), 5), ((6, 1, 4), 3), ((7, 2, 3), 4)], ids=str
)
def test_identity_start_uses_the_whole_rank(make_samples, shape, rank):
    X, y = make_samples(shape, 40, n_classes=5)
    (result,) = solve(
        *rows_of(X, y), [1.0], rank=rank, n_components=1, init="identity", max_iter=5
    )
    weights = np.prod([np.linalg.norm(f[0], axis=0) for f in result.factors], axis=0)
    assert np.all(weights > 1e-3)


def test_a_callable_start_is_asked_for_every_component(make_samples):
    rows = rows_of(*make_samples((5, 4), 40))
    calls = []

    def start(shape, rank, rng):
        calls.append((shape, rank))
        return random_start(shape, rank, rng)

    rng = np.random.RandomState(0)
    kwargs = {"rank": 2, "n_components": 3, "max_iter": 2}
    (result,) = solve(*rows, [1.0], init=start, rng=rng, **kwargs)
    assert calls == [((5, 4), 2)] * 3
    rng = np.random.RandomState(0)
    (named,) = solve(*rows, [1.0], init="random", rng=rng, **kwargs)
    assert_equal_results(result, named)


def test_the_scale_of_a_start_does_not_matter(make_samples):
    rows = rows_of(*make_samples((4, 3, 3), 40))
    starts = random_factors((4, 3, 3), 2)
    kwargs = {"rank": 2, "n_components": 3, "max_iter": 3, "tol": 0}
    (plain,) = solve(*rows, [1.0], init=starts, **kwargs)
    scaled = [a * start for a, start in zip((1e-3, 7.0, 1e5), starts, strict=True)]
    assert_equal_results(solve(*rows, [1.0], init=scaled, **kwargs)[0], plain)


def test_the_callback_sees_every_component_of_every_lambda(make_samples):
    rows = rows_of(*make_samples((5, 4), 40))
    seen = []
    results = solve(
        *rows,
        [0.1, 10.0],
        rank=2,
        n_components=3,
        callback=lambda p, objective, n_iter: seen.append((p, objective, n_iter)),
    )
    assert [p for p, _, _ in seen] == [0, 1, 2]
    for p, objective, n_iter in seen:
        assert_allclose(objective, [result.history[p][-1] for result in results])
        assert_array_equal(n_iter, [result.n_iter[p] for result in results])


def test_the_rows_are_not_changed(make_samples):
    between, within = rows_of(*make_samples((4, 3, 3), 40))
    before = between.copy(), within.copy()
    between.flags.writeable = within.flags.writeable = False
    solve(between, within, [1.0], rank=2, n_components=3)
    assert_array_equal(between, before[0])
    assert_array_equal(within, before[1])


def test_float32_rows_give_the_solution_to_single_precision(make_samples):
    between, within = rows_of(*make_samples((5, 4), 18))
    kwargs = {"rank": 2, "n_components": 3, "init": "identity", "max_iter": 5, "tol": 0}
    (double,) = solve(between, within, [5.0], **kwargs)
    (single,) = solve(between, within.astype(np.float32), [5.0], **kwargs)
    assert_allclose(dense(single), dense(double), atol=1e-4)


def test_nothing_to_separate_is_not_divided_by_nothing():
    rng = np.random.default_rng(0)
    between, within = np.zeros((3, 4, 5)), rng.standard_normal((30, 4, 5))
    with np.errstate(all="raise"):
        (result,) = solve(between, within, [1.0], rank=2, n_components=3)
    assert all(np.isfinite(factor).all() for factor in result.factors)
    assert all((history == 0).all() for history in result.history)


@pytest.mark.parametrize("init", ["lda", "identity"])
@pytest.mark.parametrize("scale", [1e-120, 1e120])
def test_the_scale_of_the_rows_is_that_of_the_ridge(make_samples, init, scale):
    between, within = rows_of(*make_samples((5, 4, 3), 40))
    options = {"rank": 2, "n_components": 3, "init": init, "tol": 0, "max_iter": 3}
    (expected,) = solve(between, within, [2.0], **options)
    (result,) = solve(scale * between, scale * within, [2.0 * scale**2], **options)
    assert_equal_results(result, expected)


def test_vectors_have_rank_one_whatever_is_asked_for(make_samples):
    between, within = rows_of(*make_samples((12,), 40))
    one, three = (
        solve(between, within, [2.0], rank=rank, n_components=2)[0] for rank in (1, 3)
    )
    assert three.factors[0].shape == (2, 12, 1)
    assert_equal_results(three, one)


def test_vectors_need_no_start_and_no_random_numbers(make_samples):
    between, within = rows_of(*make_samples((12,), 40))
    rng = np.random.RandomState(0)
    (usual,) = solve(between, within, [2.0], n_components=3)
    (same,) = solve(
        between, within, [2.0], n_components=3, init="random", n_init=4, rng=rng
    )
    assert_equal_results(same, usual)
    assert rng.randint(10**9) == np.random.RandomState(0).randint(10**9)


def test_options_are_named_and_the_documented_ones(make_samples):
    between, within = rows_of(*make_samples((5, 4), 40))
    with pytest.raises(TypeError, match="positional"):
        solve(between, within, [2.0], 2, 3)
    rows = {"between": between, "within": within, "lambdas": [2.0]}
    (result,) = solve(**rows, rank=2, n_components=3, tol=0)
    assert_array_equal(result.n_iter, [20, 20, 20])


@pytest.mark.parametrize("shape", [(6, 5), (4, 3, 5)], ids=str)
@pytest.mark.parametrize("n", [15, 90])
@pytest.mark.parametrize("how", [{}, {"init": "random", "n_init": 3}, {"tol": 0}])
def test_ranks_in_lockstep_are_what_each_is_alone(shape, n, how):
    """In rows of any number, with several starts, and with random ones."""
    rng = np.random.default_rng(n)
    rows = rng.standard_normal((4, *shape)), rng.standard_normal((n, *shape))
    how = {"n_components": 4, "max_iter": 6, "tol": 0.05} | how
    lambdas, ranks = [0.3, 30.0], [2, 1, 3]
    together = solve(*rows, lambdas, rank=ranks, rng=np.random.RandomState(0), **how)
    alone = [
        result
        for rank in ranks
        for result in solve(
            *rows, lambdas, rank=rank, rng=np.random.RandomState(0), **how
        )
    ]
    for mine, expected in zip(together, alone, strict=True):
        assert_array_equal(mine.n_iter, expected.n_iter)
        for one, other in zip(mine.history, expected.history, strict=True):
            assert_allclose(one, other, rtol=1e-8)
        assert [f.shape for f in mine.factors] == [f.shape for f in expected.factors]
        dense = [cp_normalize(each.factors)[1] for each in (mine, expected)]
        assert_allclose(*dense, atol=1e-6)


@pytest.mark.parametrize("how", [{}, {"init": "random", "n_init": 2}, {"tol": 0}])
@pytest.mark.parametrize("shape", [(6, 5), (4, 3, 5)], ids=str)
def test_deflated_copies_give_what_deflated_products_give(
    shape, how, monkeypatch, make_samples
):
    scatter = ClassScatter.from_samples(*make_samples(shape, 40))
    metrics = Euclidean(), Smoothness(2.0)
    how = {"max_iter": 3, "random_state": 0} | how
    spec = Spec(6, ranks=(2, 1), regs=(0.1, 3.0), metrics=metrics, **how)
    models = []
    for choice in (True, False):
        monkeypatch.setattr(lane_rows, "worth_copies", lambda *_, choice=choice: choice)
        models.append(fit_path(scatter, spec))
    for mine, other in zip(*models, strict=True):
        assert (mine.rank, mine.reg) == (other.rank, other.reg)
        assert mine.metric is other.metric
        assert_allclose(mine.objective, other.objective, rtol=1e-9)
        assert_allclose(mine.projections, other.projections, atol=1e-7)


class Large(ArrayRows):
    """Rows that say that they are a terabyte."""

    nbytes = 2**40


def test_blas_has_one_thread_however_large_the_data_are(make_samples):
    # Two made 786 MB of clips slower when idle, and five times slower beside others.
    between, within = rows_of(*make_samples((4, 3, 2), 30, n_classes=3))
    seen = []

    def look(p, objective, n_iter):
        libraries = [d for d in threadpool_info() if d["user_api"] == "blas"]
        seen.extend(library["num_threads"] for library in libraries)

    with threadpool_limits(2, user_api="blas"):
        within = ArrayRows.of(within)
        large = Large(within.tensor, within.row_shape)
        solve(between, large, [1.0], rank=2, n_components=2, callback=look)
    assert seen and set(seen) == {1}
