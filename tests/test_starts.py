"""Starts that users give, starts from an earlier fit, and callbacks that stop a fit."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import ConvergenceWarning
from tensorly.cp_tensor import CPTensor

from tensorcrp import ClassScatter, TensorCRP
from tensorcrp.persistence import ModelFormatError, load, save
from tensorcrp.solver import Smoothness, Spec, fit_path, solve
from tensorcrp.solver.cp import cp_dense
from tensorcrp.solver.starts import identity_start

EXACT = {"rtol": 1e-9, "atol": 1e-10}
shapes = pytest.mark.parametrize("shape", [(5, 4), (4, 3, 3)], ids=str)
H, RANK = 3, 2


def rows_of(make_samples, shape):
    scatter = ClassScatter.from_samples(*make_samples(shape, 40, n_classes=4))
    return scatter.between("classes"), np.asarray(scatter.root)


def starts_of(shape, h=H, rank=RANK):
    """Another random start for every component, (h, l_m, k) per mode."""
    rng = np.random.default_rng(5)
    return [rng.standard_normal((h, size, rank)) for size in shape]


def same(one, other):
    for mine, theirs in zip(one.factors, other.factors, strict=True):
        assert_allclose(mine, theirs, **EXACT)


# --- what may be given ------------------------------------------------------------


def by_component(shape, rank, rng, component):
    return [factor[component] for factor in starts_of(shape)]


def by_name(shape, rank, rng, scale=2.0, *, component):
    return [scale * factor[component] for factor in starts_of(shape)]


def as_cp(shape, rank, rng, component):
    return CPTensor((None, by_component(shape, rank, rng, component)))


def cp_tensors(shape):
    """The weights belong to the columns: 3 u here is u there."""
    for p in range(H):
        first, *rest = by_component(shape, RANK, None, p)
        yield CPTensor((np.array([4.0, 0.5]), [first / [4.0, 0.5], *rest]))


GIVEN = {
    "arrays": starts_of,
    "more than needed": lambda shape: [
        np.concatenate([f, f]) for f in starts_of(shape)
    ],
    "function": lambda shape: by_component,
    "function with a keyword": lambda shape: by_name,
    "function that returns a CP tensor": lambda shape: as_cp,
    "CP tensors": lambda shape: list(cp_tensors(shape)),
}


@shapes
@pytest.mark.parametrize("kind", GIVEN)
def test_every_component_has_its_own_start(make_samples, shape, kind):
    """As many fits of one component, each to rows deflated by the earlier ones."""
    between, within = rows_of(make_samples, shape)
    how = {"rank": RANK, "max_iter": 2, "tol": 0}
    (result,) = solve(
        between, within, [1.0], n_components=H, init=GIVEN[kind](shape), **how
    )
    for p in range(H):
        init = [factor[p] for factor in starts_of(shape)]
        (alone,) = solve(between, within, [1.0], n_components=1, init=init, **how)
        W = cp_dense(alone.factors)[0]
        mine = cp_dense([factor[p : p + 1] for factor in result.factors])[0]
        assert_allclose(np.abs(np.vdot(W, mine)), 1.0, rtol=1e-7)
        between, within = (
            rows - np.tensordot(rows, W, W.ndim)[(...,) + (None,) * W.ndim] * W
            for rows in (between, within)
        )


@shapes
def test_one_cp_tensor_is_the_start_of_all(make_samples, shape):
    rows = rows_of(make_samples, shape)
    how = {"rank": RANK, "n_components": H, "max_iter": 2, "tol": 0}
    (first, *_), arrays = cp_tensors(shape), by_component(shape, RANK, None, 0)
    same(*(solve(*rows, [1.0], init=init, **how)[0] for init in (first, arrays)))


def test_functions_of_three_arguments_stay_what_they_were(make_samples):
    """The fourth parameter is not the component unless it is called that."""
    rows, seen = rows_of(make_samples, (5, 4)), []

    def start(shape, rank, rng, scale=2.0):
        seen.append(scale)
        return [np.eye(size, rank) for size in shape]

    solve(*rows, [1.0], init=start, rank=2, n_components=2)
    solve(
        *rows,
        [1.0],
        init=lambda *args: seen.append(len(args)) or start(*args),
        rank=2,
        n_components=1,
    )
    assert seen == [2.0, 2.0, 3, 2.0]


def test_the_estimator_takes_its_own_cp_tensors(make_samples):
    X, y = make_samples((5, 4), 40, n_classes=4)
    crp = TensorCRP(H, smooth=2.0, tol=1e-3, max_iter=300).fit(X, y)
    init = [crp.cp_tensor(p) for p in range(H)]
    again = TensorCRP(H, smooth=2.0, tol=1e-3, max_iter=300, init=init).fit(X, y)
    assert_array_equal(again.n_iters_, 1)
    assert_allclose(again.components_, crp.components_, atol=1e-2)


# --- from an earlier fit ----------------------------------------------------------


@shapes
def test_a_warm_start_begins_where_the_last_fit_ended(make_samples, shape):
    X, y = make_samples(shape, 40, n_classes=4)
    how = {"rank": 2, "tol": 1e-4, "max_iter": 500, "init": "identity"}
    crp = TensorCRP(H, warm_start=True, **how).fit(X, y)
    before, sweeps = crp.objective_[0], crp.n_iters_
    first = crp.set_params(max_iter=1, tol=0).fit(X, y).history_[0]
    assert first[0] >= before * (1 - 1e-12)
    assert (crp.set_params(tol=1e-4, max_iter=500).fit(X, y).n_iters_ < sweeps).all()


@shapes
@pytest.mark.parametrize("smooth", [None, 3.0])
@pytest.mark.parametrize(("h", "rank"), [(3, 2), (2, 1), (5, 2), (3, 3), (4, 4)])
def test_what_the_last_fit_lacks_starts_as_usual(make_samples, shape, h, rank, smooth):
    """The same start by a function, put together column by column."""
    X, y = make_samples(shape, 40, n_classes=4)
    how = {"init": "identity", "smooth": smooth, "max_iter": 2, "tol": 0}
    crp = TensorCRP(3, rank=2, warm_start=True, **how).fit(X, y)
    old = crp.factors_
    # Names are starts in the coordinates of the metric.
    matrices = Smoothness(smooth or 0.0).roots(shape)

    def start(shape, rank, rng, component):
        usual = [
            U if S is None else S @ U
            for U, S in zip(identity_start(shape, rank, rng), matrices, strict=True)
        ]
        for factor, last in zip(usual, old, strict=True):
            if component < len(last):
                k = min(rank, 2)
                factor[:, :k] = last[component, :, :k]
        return usual

    crp.set_params(n_components=h, rank=rank, reg=1.0).fit(X, y)
    by_hand = TensorCRP(h, rank=rank, reg=1.0, **how | {"init": start}).fit(X, y)
    assert_allclose(crp.components_, by_hand.components_, rtol=0, atol=1e-7)


def test_null_columns_of_the_last_fit_start_as_usual(make_samples):
    scatter = ClassScatter.from_samples(*make_samples((5, 4), 40, n_classes=4))
    (one,) = fit_path(scatter, Spec(2, ranks=(1,)))
    warm = [np.concatenate([f, np.zeros_like(f)], axis=2) for f in one.factors]
    how = {"ranks": (2,), "max_iter": 3, "tol": 0}
    (short,) = fit_path(scatter, Spec(2, warm=one.factors, **how))
    (null,) = fit_path(scatter, Spec(2, warm=warm, **how))
    assert_array_equal(null.components, short.components)
    assert np.linalg.matrix_rank(null.components[0]) == 2


def test_a_warm_start_of_other_samples_is_an_error(make_samples):
    X, y = make_samples((5, 4), 40)
    crp = TensorCRP(2, warm_start=True).fit(X, y)
    before = crp.components_
    with pytest.raises(
        ValueError, match=r"had shape \(5, 4\).*these have shape \(4, 4"
    ):
        crp.fit(X[:, :4], y)
    assert crp.components_ is before and "_earlier" not in vars(crp)


def test_a_warm_start_of_batches_and_of_full_rank(make_samples):
    X, y = make_samples((5, 4), 40, n_classes=4)
    crp = TensorCRP(3, warm_start=True, tol=1e-6, max_iter=500)
    for part in (slice(0, 20), slice(20, 40)):
        crp.partial_fit(X[part], y[part])
    assert (np.diff([len(curve) for curve in crp.history_]) != 0).any()
    crp.set_params(rank="full").fit(X, y)
    plain = TensorCRP(3, rank="full").fit(X, y)
    assert_allclose(crp.components_, plain.components_, **EXACT)
    assert_array_equal(crp.set_params(rank=2).fit(X, y).components_.shape, (3, 5, 4))


# --- callbacks --------------------------------------------------------------------


@shapes
@pytest.mark.parametrize("rank", [1, 2, "full"])
@pytest.mark.parametrize("smooth", [None, 2.0])
def test_a_callback_stops_and_whole_components_stay(make_samples, shape, rank, smooth):
    X, y = make_samples(shape, 40, n_classes=4)
    seen = []

    def stop(p, objective, n_iter, factors):
        seen.append(
            (p, objective[0], n_iter[0], cp_dense([f[None] for f in factors[0]]))
        )
        return p == 1

    how = {"rank": rank, "smooth": smooth, "max_iter": 3, "tol": 0}
    crp = TensorCRP(4, callback=stop, **how).fit(X, y)
    two = TensorCRP(2, **how).fit(X, y)
    assert [p for p, *_ in seen] == [0, 1]
    assert_array_equal(crp.transform(X), two.transform(X))
    assert len(crp.history_) == len(crp.converged_) == len(crp.n_iters_) == 2
    assert_array_equal([sweeps for _, _, sweeps, _ in seen], crp.n_iters_)
    for p, J, _, W in seen:
        assert J == crp.objective_[p]
        W = W.ravel() / np.linalg.norm(W)
        mine = crp.components_[p].ravel() / np.linalg.norm(crp.components_[p])
        assert_allclose(np.abs(W @ mine), 1.0, rtol=1e-9)


def test_only_true_stops(make_samples):
    rows = rows_of(make_samples, (5, 4))
    for answer in (1, "yes", None, np.array([True]), False):
        (result,) = solve(*rows, [1.0], n_components=3, callback=lambda *_, a=answer: a)
        assert len(result.objective) == 3
    (result,) = solve(*rows, [1.0], n_components=3, callback=lambda *_: np.True_)
    assert [factor.shape for factor in result.factors] == [(1, 5, 2), (1, 4, 2)]


def test_lanes_of_several_ranks_in_a_callback(make_samples):
    rows, seen = rows_of(make_samples, (5, 4)), []
    solve(
        *rows,
        [0.1, 1.0],
        rank=[1, 3],
        n_components=1,
        callback=lambda p, J, n, factors: seen.append(factors),
    )
    assert [[f.shape for f in lane] for lane in seen[0]] == [
        [(5, 1), (4, 1)],
        [(5, 1), (4, 1)],
        [(5, 3), (4, 3)],
        [(5, 3), (4, 3)],
    ]


def test_a_printed_fit_asks_the_callback_too(make_samples, capsys):
    X, y = make_samples((5, 4), 40)
    crp = TensorCRP(3, verbose=1, callback=lambda p, *_: p == 0).fit(X, y)
    assert len(crp.components_) == 1
    assert "projection 1/3" in capsys.readouterr().out


# --- what is kept of a fit --------------------------------------------------------


@pytest.mark.parametrize("shape", [(6,), (5, 4), (4, 3, 3)], ids=str)
@pytest.mark.parametrize("rank", [2, "full"])
def test_sweeps_and_convergence_of_each_projection(make_samples, shape, rank):
    X, y = make_samples(shape, 40, n_classes=4)
    spec = Spec(4, ranks=(rank,), max_iter=4, tol=0.02, init="identity")
    (model,) = fit_path(ClassScatter.from_samples(X, y), spec)
    crp = TensorCRP(4, rank=rank, max_iter=4, tol=0.02, init="identity")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        crp.fit(X, y)
    assert_array_equal(crp.n_iters_, model.result.n_iter)
    assert_array_equal(crp.converged_, model.result.converged)
    assert crp.n_iter_ == crp.n_iters_.max() and crp.converged_.dtype == bool


def test_models_with_the_new_parameters_are_saved(make_samples, tmp_path):
    X, y = make_samples((5, 4), 40)
    crp = TensorCRP(3, warm_start=True).fit(X, y)
    save(crp, tmp_path / "model")
    again = load(tmp_path / "model")
    assert again.warm_start is True and again.callback is None
    assert_array_equal(again.converged_, crp.converged_)
    assert_array_equal(again.n_iters_, crp.n_iters_)
    assert_array_equal(again.fit(X, y).components_, crp.fit(X, y).components_)
    with pytest.raises(ModelFormatError, match="callback is code"):
        save(crp.set_params(callback=print), tmp_path / "model")
