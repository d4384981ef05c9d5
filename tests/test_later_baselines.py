"""CPTDA, CATCH, ManPDA and CPLogistic against independent textbook computations."""

import baseline_oracles as oracle
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import approx_fprime, minimize
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from tensorcrp import ClassScatter
from tensorcrp.baselines import (
    CATCH,
    CPTDA,
    CPLogistic,
    ManPDA,
    RidgeLDA,
    alternating_logistic,
    covariate_effect,
)
from tensorcrp.baselines.manpda import TraceOfRatio, starting

SHAPES = [(7,), (6, 5), (4, 3, 5), (3, 2, 2, 3)]
shapes = pytest.mark.parametrize("shape", SHAPES, ids=str)
tensors = pytest.mark.parametrize("shape", SHAPES[1:], ids=str)


def assert_same_rows(got, expected, tol=1e-7):
    """Equal up to the sign of each row."""
    got = got.reshape(len(got), -1)
    expected = expected.reshape(len(got), -1)
    signs = np.sign(np.sum(got * expected, axis=1, keepdims=True))
    assert_allclose(got, signs * expected, atol=tol * np.abs(expected).max())


# --- CP-TDA -----------------------------------------------------------------------


@shapes
def test_cptda_without_a_cut_is_discriminant_analysis(shape, samples):
    X, y = samples(shape)
    model = CPTDA(rank=100, reg=0.3).fit(X, y)
    expected = oracle.separable_discriminants(X, y, 0.3, 3)
    assert_same_rows(model.projections_, expected.T)
    assert (model.objective_ == 1).all()


def test_cptda_of_vectors_is_ridge_lda(samples):
    X, y = samples((7,))
    expected = RidgeLDA(reg=0.3).fit(X, y).projections_
    got = CPTDA(reg=0.3).fit(X, y).projections_
    size = np.linalg.norm(expected, axis=1) / np.linalg.norm(got, axis=1)
    assert_same_rows(got * size[:, None], expected)


@tensors
@pytest.mark.parametrize("rank", [1, 2])
def test_cptda(shape, rank, samples):
    X, y = samples(shape)
    model = CPTDA(rank=rank, reg=0.3, max_iter=4, tol=0).fit(X, y)
    full = oracle.separable_discriminants(X, y, 0.3, 3).T.reshape(-1, *shape)
    expected = np.array([oracle.nearest_cp(each, rank, sweeps=4) for each in full])
    assert_same_rows(model.components_, expected)
    left = np.sum((full - expected) ** 2, axis=tuple(range(1, full.ndim)))
    share = 1 - left / np.sum(full**2, axis=tuple(range(1, full.ndim)))
    assert_allclose(model.objective_, share, atol=1e-9)
    for p, component in enumerate(model.components_):
        columns = oracle.khatri_rao_columns([factor[p] for factor in model.factors_])
        assert_allclose(columns.sum(axis=1), component.ravel(), atol=1e-12)
    for history in model.history_:
        assert np.all(np.diff(history) >= -1e-12)


def test_cptda_of_matrices_has_the_leading_singular_vectors(samples):
    X, y = samples((6, 5))
    model = CPTDA(rank=2, reg=0.3).fit(X, y)
    full = oracle.separable_discriminants(X, y, 0.3, 3).T.reshape(-1, 6, 5)
    left, sizes, right = np.linalg.svd(full)
    best = (left[:, :, :2] * sizes[:, None, :2]) @ right[:, :2]
    assert_same_rows(model.components_, best)


@pytest.mark.parametrize("cls", [CPTDA, ManPDA], ids=lambda cls: cls.__name__)
def test_the_order_of_the_classes_does_not_matter(cls, samples):
    X, y = samples((4, 3, 5))
    one, other = (cls().fit(X, labels) for labels in (y, 3 - y))
    assert_same_rows(one.projections_, other.projections_, 1e-6)


# --- CATCH ------------------------------------------------------------------------


@shapes
@pytest.mark.parametrize("penalty", [0.02, 0.3])
def test_catch(shape, penalty, samples):
    X, y = samples(shape)
    model = CATCH(penalty, reg=0.3, tol=1e-10, max_iter=5000).fit(X, y)
    support, expected = oracle.catch(X, y, penalty, 0.3, sweeps=300)
    assert_allclose(model.support_.ravel(), support, atol=1e-7 * support.max())
    assert_same_rows(model.projections_, expected.T, 1e-6)
    assert np.all(np.diff(model.history_) <= 0)
    unused = model.support_ == 0
    assert not model.components_[:, unused].any()
    assert (unused.ravel() == (support == 0)).all()
    assert unused.any() or penalty < 0.3


def test_catch_finds_the_entries_that_differ():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((300, 6, 5)), np.arange(300) % 3
    X[:, 2, 1] += 2 * (y == 0)
    X[:, 4, 3] += 2 * (y == 1)
    found = np.argwhere(CATCH(0.5, reg=0.01).fit(X, y).support_)
    assert found.tolist() == [[2, 1], [4, 3]]


def test_catch_without_a_penalty_is_discriminant_analysis(samples):
    X, y = samples((6, 5))
    model = CATCH(0, tol=1e-10, max_iter=5000).fit(X, y)
    expected = oracle.separable_discriminants(X, y, 1.0, 3)
    q, r = (np.linalg.qr(each)[0] for each in (model.projections_.T, expected))
    assert_allclose(np.linalg.svd(q.T @ r)[1], 1.0, atol=1e-6)


def test_catch_of_classes_with_equal_means():
    X = np.array([[1.0, 2.0], [-1.0, -2.0], [3.0, 1.0], [-3.0, -1.0]])
    with pytest.warns(UserWarning, match="features of CATCH are constant"):
        model = CATCH().fit(X, [0, 0, 1, 1])
    assert not model.support_.any()
    assert not model.transform(X).any()


def test_catch_has_fewer_features_if_the_entries_span_fewer(samples):
    X, y = samples((6, 5))
    model = CATCH(0.99).fit(X, y)
    assert np.count_nonzero(model.support_) == len(model.projections_) == 1


def test_covariates(samples):
    X, y = samples((4, 3, 5))
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((len(X), 2)) + y[:, None]
    effect = covariate_effect(X, y, Z)
    assert_allclose(effect, oracle.covariate_effect(X, y, Z), atol=1e-10)
    # Samples that the covariates change beyond recognition, and back.
    true = 10 * rng.standard_normal((2, 4, 3, 5))
    changed = X + np.tensordot(Z, true, 1)
    found = covariate_effect(changed, y, Z)
    assert_allclose(found, effect + true, atol=1e-10)
    adjusted = changed - np.tensordot(Z, found, 1)
    assert_allclose(adjusted, X - np.tensordot(Z, effect, 1), atol=1e-9)


@pytest.mark.parametrize("n", [40, 20_001])
def test_covariates_that_are_constant_within_classes_have_no_effect(n):
    """Rounding of their means is not divided by; beside others they change nothing."""
    rng = np.random.default_rng(0)
    y, X = np.arange(n) % 3, rng.standard_normal((n, 2, 3))
    site, age = 0.1 + 0.7 * y[:, None], rng.standard_normal((n, 1))
    nearly = np.full((n, 1), 0.3) + np.array([0.0, 1e-16])[np.arange(n) % 2, None]
    for covariate in (np.full((n, 1), 0.1), np.full((n, 1), 1e9 / 3), site, nearly):
        assert not covariate_effect(X, y, covariate).any()
        both = covariate_effect(X, y, np.hstack([covariate, age]))
        assert not both[0].any()
        assert_allclose(both[1], covariate_effect(X, y, age)[0], atol=1e-12)


@pytest.mark.parametrize("missing", [np.nan, None])
def test_covariates_with_missing_labels(missing, samples):
    X, y = samples((4, 3))
    y = [missing if label == 1 else float(label) for label in y]
    with pytest.raises(ValueError, match=r"y contains NaN .* Leave such samples out"):
        covariate_effect(X, y, np.ones((len(X), 1)))


@pytest.mark.parametrize(
    ("covariates", "words"),
    [
        (np.ones(40), r"shape \(n, q\)"),
        (np.ones((39, 1)), "as many rows"),
        (np.full((40, 1), np.nan), "NaN"),
    ],
)
def test_bad_covariates(covariates, words, samples):
    X, y = samples((4, 3))
    with pytest.raises(ValueError, match=words):
        covariate_effect(X, y, covariates)


# --- ManPDA -----------------------------------------------------------------------


@shapes
def test_manpda(shape, samples):
    X, y = samples(shape)
    model = ManPDA(2, reg=0.3, tol=1e-10, max_iter=1000).fit(X, y)
    factors = [vectors.T for vectors in model.factors_]
    value = oracle.trace_of_ratio(X, y, factors, 0.3)
    assert model.objective_ == pytest.approx(value, rel=1e-10)
    assert np.all(np.diff(model.history_) >= 0)
    for U in factors:
        assert_allclose(U.T @ U, np.eye(2), atol=1e-12)
    columns = oracle.khatri_rao_columns(factors).T
    assert_allclose(model.projections_, columns, atol=1e-12)
    rng = np.random.default_rng(0)
    for step in (1e-3, 1e-2):  # a maximum: nothing near is larger
        for _ in range(20):
            near = [U + step * rng.standard_normal(U.shape) for U in factors]
            near = [np.linalg.qr(U)[0] for U in near]
            assert oracle.trace_of_ratio(X, y, near, 0.3) <= value * (1 + 1e-7)


def test_manpda_of_vectors_reaches_the_known_maximum(samples):
    X, y = samples((7,))
    between, within = oracle.class_rows(X, y)
    W = within.T @ within
    W = W + 0.3 * np.trace(W) / 7 * np.eye(7)
    values = np.linalg.eigvals(np.linalg.inv(W) @ between.T @ between).real
    model = ManPDA(reg=0.3, tol=1e-12, max_iter=2000).fit(X, y)
    assert model.objective_ == pytest.approx(np.sort(values)[-3:].sum(), rel=1e-8)


@tensors
def test_the_gradient_of_manpda(shape, samples):
    X, y = samples(shape)
    scatter = ClassScatter.from_samples(X, y)
    lam = 0.3 * scatter.trace / np.prod(shape)
    between = scatter.between("samples")
    factors = starting(between, 2)
    sizes = np.cumsum([U.size for U in factors])[:-1]

    def value(flat):
        parts = np.split(flat, sizes)
        parts = [p.reshape(U.shape) for p, U in zip(parts, factors, strict=True)]
        return oracle.trace_of_ratio(X, y, parts, 0.3)

    flat = np.concatenate([U.ravel() for U in factors])
    expected = approx_fprime(flat, value, 1e-7)
    got = TraceOfRatio(between, scatter.within, lam).gradient(factors)
    got = np.concatenate([G.ravel() for G in got])
    assert_allclose(got, expected, atol=1e-4 * np.abs(expected).max())


# --- logistic regression ----------------------------------------------------------


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize(
    ("shape", "rank"), [((7,), 1), ((6, 5), "full"), ((4, 3, 5), 12)], ids=str
)
def test_full_rank_is_logistic_regression(shape, rank, n_classes, samples):
    X, y = samples(shape, n_classes=n_classes)
    flat = X.reshape(len(X), -1)
    model = CPLogistic(rank, C=0.5).fit(X, y)
    expected = LogisticRegression(C=0.5, tol=1e-10, max_iter=10_000).fit(flat, y)
    assert_allclose(
        model.coef_.reshape(len(model.coef_), -1), expected.coef_, atol=1e-5
    )
    assert_allclose(model.predict_proba(X), expected.predict_proba(flat), atol=1e-5)


@tensors
@pytest.mark.parametrize("n_classes", [2, 3])
def test_logistic_objective_never_rises_and_is_what_it_says(shape, n_classes, samples):
    X, y = samples(shape, n=30, n_classes=n_classes)
    model = CPLogistic(2, C=0.5, max_iter=5, tol=0).fit(X, y)
    value = oracle.logistic_objective(X, y, model.coef_, model.intercept_, 0.5)
    assert model.objective_ == pytest.approx(value, rel=1e-10)
    assert np.all(np.diff(model.history_) <= 0)
    assert len(model.history_) == 5 * len(shape)
    for p, W in enumerate(model.coef_):
        columns = oracle.khatri_rao_columns([factor[p] for factor in model.factors_])
        assert_allclose(columns.sum(axis=1), W.ravel(), atol=1e-12)


@pytest.mark.parametrize("scale", [2.0**-40, 2.0**-10, 2.0**20, 2.0**40])  # exact
@pytest.mark.parametrize("shape", [(6,), (5, 4)])
@pytest.mark.parametrize("C", [1e-6, 1.0, 1e4])
def test_logistic_regression_knows_no_unit(shape, C, scale, samples):
    """X s, W / s and C / s^2: the same losses, and the same ridge in another unit."""
    X, y = samples(shape)
    one = CPLogistic(1, C=C, max_iter=5, tol=0).fit(X, y)
    other = CPLogistic(1, C=C / scale**2, max_iter=5, tol=0).fit(scale * X, y)
    assert_allclose(other.objective_ * scale**2, one.objective_, rtol=1e-12)
    assert_allclose(other.predict_proba(scale * X), one.predict_proba(X), atol=1e-9)


@pytest.mark.parametrize("order", [1, 2])
def test_logistic_regression_that_ends_early_says_so(order, monkeypatch, samples):
    """At order 1 and at full rank, where sweeps cannot tell."""
    monkeypatch.setitem(alternating_logistic.ALONE, "maxiter", 3)
    X, y = samples((12,) if order == 1 else (4, 3))
    with pytest.warns(ConvergenceWarning, match="L-BFGS ended before") as record:
        CPLogistic("full").fit(X, y)
    assert [each.filename for each in record] == [__file__]


def test_logistic_regression_ends_where_nothing_near_is_better(samples):
    """All factors and intercepts at once, by a general minimiser."""
    X, y = samples((4, 3), n=30, n_classes=3)
    model = CPLogistic(1, C=0.5, max_iter=200, tol=1e-12).fit(X, y)
    start = np.concatenate([np.ravel(f) for f in (*model.factors_, model.intercept_)])

    def value(flat):
        U, V, b = np.split(flat, [12, 21])
        W = np.einsum("pi,pj->pij", U.reshape(3, 4), V.reshape(3, 3))
        return oracle.logistic_objective(X, y, W, b, 0.5)

    best = minimize(value, start, method="BFGS").fun
    assert model.objective_ == pytest.approx(best, rel=1e-6)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_probabilities_are_those_of_the_scores(n_classes, samples):
    X, y = samples((4, 3), n=30, n_classes=n_classes)
    model = CPLogistic(1).fit(X, y)
    scores = model.decision_function(X)
    if n_classes == 2:
        scores = np.stack([0 * scores, scores], axis=1)
    shares = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    assert_allclose(model.predict_proba(X), shares, rtol=1e-10)
    assert (model.predict(X) == model.classes_[shares.argmax(axis=1)]).all()
