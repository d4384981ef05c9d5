"""Each noun of the solver implemented from outside, in a few lines, by public names.

A kind of rows, a metric, an objective, a deflation and a stopping rule: what comes out
is compared with a slow direct computation on dense matrices. A baseline with a factor
per mode appears in the comparison after one call.
"""

import inspect
import pickle
import re
from dataclasses import replace
from functools import reduce

import baseline_oracles
import numpy as np
import oracle
import pytest
from numpy.testing import assert_allclose
from scipy.linalg import eigh, sqrtm

from tensorcrp import ClassScatter, cli
from tensorcrp.baselines import TuckerDiscriminant, alternate, eye_factors
from tensorcrp.experiments import compare_methods, register_method
from tensorcrp.experiments.data import load_data
from tensorcrp.experiments.random_splits import split
from tensorcrp.solver import (
    Deflation,
    DiscriminantRatio,
    Euclidean,
    Metric,
    Objective,
    Rows,
    Smoothness,
    Spec,
    fit_path,
    solve,
)

EXACT = {"rtol": 1e-7, "atol": 1e-8}
shapes = pytest.mark.parametrize("shape", [(6,), (4, 3), (3, 2, 3)], ids=str)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def scatters(scatter, between):
    """Dense scatter matrices (P, P) of the numerator's and the within rows."""
    rows = [np.asarray(each).reshape(len(each), -1) for each in (between, scatter.root)]
    return [each.T @ each for each in rows]


def slow_path(between, within, ridge, spec, removed=lambda gram: np.eye(len(gram))):
    """Block ascent on dense matrices: projections (h, P) of any deflation.

    `ridge` (P, P) is the whole ridge, `between` and `within` are scatters.
    """
    shape, found = tuple(len(start) for start in spec.init), []
    for _ in range(spec.n_components):
        left = np.eye(len(ridge))
        for p, w in enumerate(found):
            T = removed(np.array(found) @ np.array(found).T)
            # x <- x - <x, w> v for v = T W, as a matrix that acts on vectors.
            left = (np.eye(len(w)) - np.outer(T[p] @ np.array(found), w)) @ left
        S_b, S_w = (left @ S @ left.T for S in (between, within))
        W, _ = oracle.order_n_component(
            S_b, S_w + ridge, spec.init, spec.max_iter, range(len(shape))
        )
        found.append(W.ravel() / np.linalg.norm(W))
    return np.array([oracle.fix_sign(w) for w in found])


def start(shape, rank=2):
    rng = np.random.default_rng(3)
    rank = 1 if len(shape) == 1 else rank
    return [rng.standard_normal((size, rank)) for size in shape]


def spec_of(shape, **how):
    init = start(shape)
    exact = {"reg_scale": "absolute", "regs": (2.0,), "max_iter": 5, "tol": 0}
    return Spec(3, ranks=(init[0].shape[1],), **(exact | {"init": init} | how))


# --- rows -------------------------------------------------------------------------


class GeneratedRows(Rows):
    """Rows that a function makes block by block, whenever they are needed."""

    def __init__(self, make, n, shape):
        self.make, self.n, self.sample_shape = make, n, shape

    @property
    def shape(self):
        return self.n, *self.sample_shape

    def blocks(self, size):
        for first in range(0, self.n, size):
            last = min(first + size, self.n)
            rows = [self.make(i) for i in range(first, last)]
            yield slice(first, last), np.reshape(rows, (-1, *self.sample_shape))

    def reshape(self, shape):
        return type(self)(self.make, self.n, shape)


class WholeRows(GeneratedRows):
    """The same, where all rows at once are not too many."""

    in_memory = True


@pytest.mark.parametrize("shape", [(4, 3), (3, 2, 3), (2, 3, 2, 2)], ids=str)
def test_a_new_kind_of_rows(shape, rng):
    X, between = rng.standard_normal((25, *shape)), rng.standard_normal((4, *shape))
    rows = GeneratedRows(lambda i: X[i], len(X), shape)
    how = {"rank": 2, "n_components": 3, "max_iter": 5, "tol": 0}
    for init in ("lda", start(shape)):
        (mine,) = solve(between, rows, [2.0], init=init, **how)
        (array,) = solve(between, X, [2.0], init=init, **how)
        for one, other in zip(mine.factors, array.factors, strict=True):
            assert_allclose(one, other, **EXACT)
    flat = [each.reshape(len(each), -1) for each in (between, X)]
    expected = slow_path(
        *(each.T @ each for each in flat), 2.0 * np.eye(X[0].size), spec_of(shape)
    )
    W = np.einsum(
        ",".join(f"h{m}r" for m in "abcd"[: len(shape)]) + "->h" + "abcd"[: len(shape)],
        *mine.factors,
    ).reshape(3, -1)
    assert_allclose(np.abs(np.sum(W * expected, axis=1)), 1, rtol=1e-7)


@shapes
@pytest.mark.parametrize("kind", [GeneratedRows, WholeRows])
def test_new_rows_of_numerator_and_denominator(kind, shape, rng):
    """At every order and rank, as arrays are; vectors have to be in memory."""
    both = [rng.standard_normal((n, *shape)) for n in (4, 25)]
    rows = [kind(each.__getitem__, len(each), shape) for each in both]
    how = {"rank": 2, "n_components": 3, "max_iter": 5, "tol": 0}
    if len(shape) == 1 and kind is GeneratedRows:
        with pytest.raises(ValueError, match=r"0\.0012 MB.*in_memory = True"):
            solve(*rows, [2.0], **how)
        return
    (mine,), (array,) = solve(*rows, [2.0], **how), solve(*both, [2.0], **how)
    assert_allclose(mine.objective, array.objective, **EXACT)
    for one, other in zip(mine.factors, array.factors, strict=True):
        assert_allclose(one, other, **EXACT)


@shapes
@pytest.mark.parametrize("n", [30, 9])  # more samples than entries, and fewer
def test_new_rows_in_memory_at_every_rank_and_ridge(n, shape, make_samples):
    X, y = make_samples(shape, n)
    scatter = ClassScatter.from_samples(X, y)
    root = np.asarray(scatter.root)
    rows = WholeRows(root.__getitem__, len(root), shape)
    same = ClassScatter(scatter.classes, scatter.counts, scatter.means, rows)
    metrics = Euclidean(), Smoothness(1.0)
    specs = [Spec(3, ranks=(1, "full"), regs=(0.1, 1.0), metrics=metrics, max_iter=3)]
    specs.append(replace(specs[0], deflation=Orthogonal(), ranks=(1,)))
    if len(root) >= X[0].size:
        specs.append(replace(specs[0], regs=(0.0,)))
    for spec in specs:
        each = zip(fit_path(scatter, spec), fit_path(same, spec), strict=True)
        for known, mine in each:
            assert_allclose(mine.objective, known.objective, **EXACT)
            assert_allclose(mine.projections, known.projections, **EXACT)


def test_new_rows_in_an_estimators_statistics(make_samples):
    from tensorcrp import TensorCRP

    X, y = make_samples((4, 3), 30)
    scatter = ClassScatter.from_samples(X, y)
    root = np.asarray(scatter.root)
    rows = GeneratedRows(lambda i: root[i], len(root), (4, 3))
    same = ClassScatter(scatter.classes, scatter.counts, scatter.means, rows)
    features = [TensorCRP(3).fit_scatter(each).transform(X) for each in (scatter, same)]
    assert_allclose(*features, **EXACT)


# --- metric -----------------------------------------------------------------------


class Smooth(Metric):
    """``I + mu D^T D`` in the first mode, D first differences."""

    def __init__(self, mu):
        self.mu = mu

    def matrices(self, shape):
        D = np.diff(np.eye(shape[0]), axis=0)
        return [np.eye(shape[0]) + self.mu * D.T @ D, *[None] * (len(shape) - 1)]


def whole(metric, shape):
    """The metric's whole matrix (P, P): the Kronecker product of those of the modes."""
    pairs = zip(metric.matrices(shape), shape, strict=True)
    matrices = [np.eye(size) if R is None else R for R, size in pairs]
    return reduce(np.kron, matrices)


@shapes
def test_a_new_metric_is_an_explicit_ridge(shape, make_samples):
    X, y = make_samples(shape, 40, n_classes=4)
    scatter, metric = ClassScatter.from_samples(X, y), Smooth(3.0)
    spec = spec_of(shape, metrics=(metric,))
    (model,) = fit_path(scatter, spec)
    R = whole(metric, shape)
    S = np.real(sqrtm(np.linalg.inv(R)))
    # W = S W', where W' are the projections of the data S X with a plain ridge.
    both = scatters(scatter, scatter.between("classes"))
    primed = slow_path(*(S @ each @ S for each in both), 2.0 * np.eye(len(S)), spec)
    expected = np.array([oracle.fix_sign(S @ each) for each in primed])
    assert_allclose(model.components.reshape(3, -1), expected, **EXACT)
    w = expected[0]
    J = w @ both[0] @ w / (w @ (both[1] + 2.0 * R) @ w)
    assert_allclose(model.objective[0], J, rtol=1e-9)
    # What features leave of a sample is the sample deflated one by one.
    flat = left = X.reshape(len(X), -1)
    features = flat @ model.projections.T
    for p, w in enumerate(expected):
        assert_allclose(features[:, p], left @ w, **EXACT)
        left = left - np.outer(left @ w, R @ w)
    assert_allclose(flat - features @ model.basis, left, **EXACT)


@shapes
def test_a_new_metric_at_full_rank_is_ridge_lda(shape, make_samples):
    X, y = make_samples(shape, 40, n_classes=4)
    scatter, metric = ClassScatter.from_samples(X, y), Smooth(3.0)
    spec = Spec(
        2, ranks=("full",), regs=(2.0,), reg_scale="absolute", metrics=(metric,)
    )
    (model,) = fit_path(scatter, spec)
    S_b, S_w = scatters(scatter, scatter.between("classes"))
    best = eigh(S_b, S_w + 2.0 * whole(metric, shape))[0][-1]
    assert_allclose(model.objective[0], best, rtol=1e-8)


def test_metrics_are_lanes_and_the_ridge_is_in_their_units(make_samples):
    X, y = make_samples((4, 3), 40, n_classes=4)
    scatter = ClassScatter.from_samples(X, y)
    metrics, how = (Smooth(0.0), Smooth(3.0)), {"max_iter": 4, "tol": 0}
    together = fit_path(
        scatter, Spec(2, ranks=(1, 2), regs=(0.3,), metrics=metrics, **how)
    )
    for i, metric in enumerate(metrics):
        alone = fit_path(
            scatter, Spec(2, ranks=(1, 2), regs=(0.3,), metrics=(metric,), **how)
        )
        R = whole(metric, (4, 3))
        trace = np.trace(np.linalg.solve(R, scatters(scatter, scatter.root)[1]))
        for mine, theirs in zip(together[2 * i :], alone, strict=False):
            assert_allclose(mine.components, theirs.components, **EXACT)
            assert_allclose(mine.lam, 0.3 * trace / 12)


# --- objective --------------------------------------------------------------------


class FarClasses(DiscriminantRatio):
    """Classes count by their distance from the overall mean."""

    def numerator(self, scatter):
        rows = scatter.between("classes")
        sizes = np.sqrt((rows**2).sum(axis=tuple(range(1, rows.ndim)), keepdims=True))
        return rows * sizes


@shapes
def test_a_new_numerator(shape, make_samples):
    X, y = make_samples(shape, 40, n_classes=4)
    scatter, spec = ClassScatter.from_samples(X, y), spec_of(shape)
    (model,) = fit_path(scatter, spec_of(shape, objective=FarClasses()))
    between = scatter.between("classes").reshape(4, -1)
    between = between * np.linalg.norm(between, axis=1, keepdims=True)
    both = scatters(scatter, between)
    expected = slow_path(*both, 2.0 * np.eye(X[0].size), spec)
    assert_allclose(model.components.reshape(3, -1), expected, **EXACT)


class Difference(Objective):
    """The maximum margin criterion: between- minus within-class variation."""

    def numerator(self, scatter):
        return scatter.between("samples")

    def value(self, between, within):
        return between - within

    def maximise(self, between, within, lambdas):
        D, G = between.Z, within.gram()
        M = D @ D.transpose(0, 2, 1) - G - lambdas[:, None, None] * np.eye(G.shape[1])
        return np.linalg.eigh(M)[1][:, :, -1]


def test_a_new_objective(make_samples):
    """At full rank in a block the maximiser is the top eigenvector of S_b - S_w."""
    X, y = make_samples((4, 1), 40, n_classes=4)
    scatter = ClassScatter.from_samples(X, y)
    (model,) = fit_path(scatter, spec_of((4, 1), objective=Difference()))
    S_b, S_w = scatters(scatter, scatter.between("samples"))
    values = np.linalg.eigvalsh(S_b - S_w)
    assert_allclose(model.objective[0], values[-1] - 2.0, rtol=1e-9)
    (model,) = fit_path(
        ClassScatter.from_samples(X.reshape(-1, 2, 2), y),
        spec_of((2, 2), objective=Difference()),
    )
    assert all((np.diff(curve) >= -1e-9).all() for curve in model.history)
    assert model.objective[0] <= values[-1] - 2.0 + 1e-9


# --- deflation --------------------------------------------------------------------


class Orthogonal(Deflation):
    """Everything in the span of the projections is removed, whatever their angles."""

    def removed(self, gram):
        L = np.linalg.cholesky(gram)
        size = np.einsum("...ii->...i", L)
        return np.linalg.inv(L) / size[..., None]


@shapes
@pytest.mark.parametrize("init", ["given", "lda"])
def test_a_new_deflation(shape, init, make_samples):
    X, y = make_samples(shape, 40, n_classes=4)
    scatter, spec = ClassScatter.from_samples(X, y), spec_of(shape)
    how = {} if init == "given" else {"init": "lda"}
    (model,) = fit_path(scatter, spec_of(shape, deflation=Orthogonal(), **how))
    W = model.components.reshape(3, -1)
    if init == "given":
        both = scatters(scatter, scatter.between("classes"))
        ridge, T = 2.0 * np.eye(X[0].size), Orthogonal().removed
        assert_allclose(W, slow_path(*both, ridge, spec, T), **EXACT)
    # Nothing of the span is left of a sample.
    flat = X.reshape(len(X), -1)
    left = flat - flat @ model.projections.T @ model.basis
    Q = np.linalg.qr(W.T)[0]
    assert_allclose(left, flat - flat @ Q @ Q.T, **EXACT)


# --- stopping rule ----------------------------------------------------------------


def test_a_new_stopping_rule(make_samples):
    """Stop at a value of J: the curves are those of a longer run, cut there."""
    X, y = make_samples((5, 4), 40, n_classes=4)
    scatter = ClassScatter.from_samples(X, y)
    (whole,) = fit_path(scatter, spec_of((5, 4), max_iter=30))
    goal = whole.history[0][7]
    spec = spec_of((5, 4), max_iter=30, stop=lambda history, n: history[-1] >= goal)
    (model,) = fit_path(scatter, spec)
    assert_allclose(model.history[0], whole.history[0][:8], **EXACT)
    assert model.result.converged[0] and model.result.n_iter[0] == 4


@shapes
def test_a_stopping_rule_that_counts_is_a_number_of_sweeps(shape, make_samples):
    X, y = make_samples(shape, 40, n_classes=4)
    scatter, spec = ClassScatter.from_samples(X, y), spec_of(shape, max_iter=2)
    updates = 2 * len(shape)
    counted = spec_of(shape, max_iter=9, stop=lambda history, n: len(history) > updates)
    (model,) = fit_path(scatter, counted)
    both = scatters(scatter, scatter.between("classes"))
    expected = slow_path(*both, 2.0 * np.eye(X[0].size), spec)
    assert_allclose(model.components.reshape(3, -1), expected, **EXACT)


# --- baseline ---------------------------------------------------------------------


class MaximumMargin(TuckerDiscriminant):
    """A factor per mode: the leading eigenvectors of B - W, sweep after sweep."""

    def __init__(self, sizes=None, *, max_iter=3, sample_shape=None):
        self.sizes = sizes
        self.max_iter = max_iter
        self.sample_shape = sample_shape

    def solve_modes(self, between, within, sizes):
        start = eye_factors(within.shape, sizes)
        return alternate(between, within, sizes, margin, start, self.max_iter)


def margin(B, W, size, now):
    return np.linalg.eigh(B - W)[1][:, ::-1][:, :size]


def slow_margin(X, y, sizes, sweeps):
    """Loops over samples and Kronecker products."""
    rows = baseline_oracles.class_rows(X, y)
    factors = [np.eye(size, r) for size, r in zip(X.shape[1:], sizes, strict=True)]
    for _ in range(sweeps):
        for m, size in enumerate(sizes):
            B, W = (baseline_oracles.mode_scatter(each, factors, m) for each in rows)
            factors[m] = baseline_oracles.eigenvectors(B - W, size)
    return factors


@pytest.mark.parametrize(
    ("shape", "sizes"), [((6,), (2,)), ((4, 3), (2, 2)), ((3, 2, 4), (2, 1, 3))]
)
def test_a_new_baseline(shape, sizes, make_samples):
    X, y = make_samples(shape, 40, n_classes=4)
    model = MaximumMargin(sizes).fit(X, y)
    factors = slow_margin(X, y, sizes, sweeps=3)
    features = np.abs(baseline_oracles.features(X, factors))
    assert_allclose(np.abs(model.transform(X)), features, **EXACT)
    stream = (
        MaximumMargin(sizes).partial_fit(X[:15], y[:15]).partial_fit(X[15:], y[15:])
    )
    assert_allclose(np.abs(stream.transform(X)), features, **EXACT)
    between, within = baseline_oracles.class_rows(X, y)
    top, bottom = (baseline_oracles.features(r, factors) for r in (between, within))
    assert_allclose(model.objective_, np.sum(top**2) / np.sum(bottom**2), rtol=1e-9)
    assert model.n_iter_ == 3 and len(model.history_) == 3 * len(shape)
    again = pickle.loads(pickle.dumps(model))  # bit for bit, though a factor is a view
    np.testing.assert_array_equal(again.transform(X), model.transform(X))


def test_a_new_baseline_is_compared(make_samples, tmp_path, own_methods, capsys):
    X, y = make_samples((4, 3), n=40, n_classes=3, seed=1)
    np.savez(tmp_path / "small.npz", X=X, y=y)
    path = str(tmp_path / "small.npz")
    register_method("margin", MaximumMargin)
    (row,) = compare_methods(path, methods="margin", per_class=4, repeats=1)
    data = load_data(path)
    train, test = split(data, 4, 0, row["split"])
    factors = slow_margin(data.X[train], data.y[train], (2, 2), sweeps=3)
    known, new = (baseline_oracles.features(data.X[i], factors) for i in (train, test))
    nearest = ((new[:, None] - known[None]) ** 2).sum(axis=2).argmin(axis=1)
    right = int((data.y[train][nearest] == data.y[test]).sum())
    assert row["classifiers"]["1-NN"]["right"] == [right]
    command = ["compare", path, "--repeats", "2", "--per-class", "3", "--jobs", "1"]
    assert cli.main([*command, "--methods", "margin", "raw"]) == 0
    assert "\nmargin " in capsys.readouterr().out


def test_a_baseline_without_its_method_says_so(make_samples):
    class Nothing(MaximumMargin):
        solve_modes = TuckerDiscriminant.solve_modes

    with pytest.raises(NotImplementedError, match="Nothing has no method solve_modes"):
        Nothing().fit(*make_samples((4, 3)))


# --- all of them ------------------------------------------------------------------

EXTENSIONS = (GeneratedRows, Smooth, FarClasses, Difference, Orthogonal, MaximumMargin)


def test_extensions_are_short_and_use_public_names():
    for cls in EXTENSIONS:
        source = inspect.getsource(cls)
        assert len(source.splitlines()) <= 30
        assert not re.search(r"\b_[a-z]", source), cls
