"""Every baseline against an independent textbook computation, see baseline_oracles."""

import re
from pathlib import Path

import baseline_oracles as oracle
import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from tensorcrp import TensorCRP, baselines
from tensorcrp.baselines import (
    CMDA,
    DGTDA,
    HODA,
    MPCA,
    STDA,
    UMLDA,
    BilinearSVC,
    MultilinearLDA,
    ParallelLDA,
    RidgeLDA,
    SelectiveLDA,
    TensorLPP,
    ToeplitzLDA,
    TwoDPCA,
)
from tensorcrp.baselines.alternating_svm import SvmProblem
from tensorcrp.solver.array_rows import ArrayRows

SHAPES = [
    ((6, 5), (3, 2)),
    ((4, 7), (2, 4)),
    ((4, 3, 5), (2, 2, 3)),
    ((3, 4, 2), (2, 3, 2)),
]
shapes = pytest.mark.parametrize(("shape", "sizes"), SHAPES, ids=str)


def assert_same_columns(factor, expected, tol=1e-7):
    """Equal up to the sign of each column."""
    assert factor.shape == expected.shape
    signs = np.sign(np.sum(factor * expected, axis=0))
    np.testing.assert_allclose(factor, expected * signs, atol=tol)


def assert_same_factors(model, expected, X, tol=1e-7):
    for factor, other in zip(model.factors_, expected, strict=True):
        assert_same_columns(factor, other, tol)
    centred = X - model.mean_ if hasattr(model, "mean_") else X
    np.testing.assert_allclose(
        model.transform(X), oracle.features(centred, model.factors_), atol=1e-10
    )


def assert_same_span(one, other, tol=1e-6):
    """Equal column spaces."""
    q, r = (np.linalg.qr(each)[0] for each in (one, other))
    cosines = np.linalg.svd(q.T @ r, compute_uv=False)
    assert one.shape == other.shape
    np.testing.assert_allclose(cosines, 1.0, atol=tol)


# --- one factor per mode ----------------------------------------------------------


@shapes
def test_multilinear_lda(shape, sizes, samples):
    X, y = samples(shape)
    model = MultilinearLDA(sizes, reg=1e-3, max_iter=3).fit(X, y)
    factors, history = oracle.multilinear_lda(X, y, sizes, 1e-3, sweeps=3)
    assert_same_factors(model, factors, X)
    np.testing.assert_allclose(model.history_, history, rtol=1e-8)
    assert model.objective_ == model.history_[-1]
    assert model.n_iter_ == 3


def test_the_history_of_multilinear_lda_is_not_monotone(samples):
    falls = []
    for seed in range(5):
        X, y = samples((6, 5), seed=seed)
        falls.append(np.diff(MultilinearLDA(2, max_iter=10).fit(X, y).history_).min())
    assert min(falls) < -1e-3


@shapes
def test_selective_lda(shape, sizes, samples):
    X, y = samples(shape)
    model = SelectiveLDA(sizes, reg=1e-3).fit(X, y)
    objective, factors, order = oracle.selective_lda(X, y, sizes, 1e-3)
    assert model.order_ == order
    assert model.objective_ == pytest.approx(objective, rel=1e-8)
    assert_same_factors(model, factors, X)


def test_selective_lda_tries_a_random_choice_of_many_orders(samples):
    X, y = samples((3, 2, 2, 2))
    few, all_24 = (
        SelectiveLDA(2, n_orders=n, random_state=0).fit(X, y) for n in (3, 24)
    )
    assert sorted(few.order_) == [0, 1, 2, 3]
    assert all_24.objective_ >= few.objective_
    again = SelectiveLDA(2, n_orders=3, random_state=0).fit(X, y)
    assert few.order_ == again.order_


@shapes
@pytest.mark.parametrize("name", oracle.FACTORS)
def test_factors(name, shape, sizes, samples):
    X, y = samples(shape)
    params, expected, tol = oracle.FACTORS[name]
    model = getattr(baselines, name)(sizes, **params).fit(X, y)
    assert_same_factors(model, expected(X, y, sizes), X, tol)


def test_every_baseline_has_an_oracle():
    """In the table of oracles, or in a test of its own here or among later ones."""
    files = Path(__file__), Path(__file__).with_name("test_later_baselines.py")
    source = "".join(file.read_text(encoding="utf-8") for file in files)
    for each in baselines.BASELINES:
        own = re.search(rf"= {each.name}\(.*?oracle\.", source, re.DOTALL)
        assert each.name in oracle.FACTORS or own, each.name


@shapes
def test_mpca(shape, sizes, samples):
    X, _ = samples(shape)
    model = MPCA(sizes, max_iter=4, tol=0).fit(X)
    factors, share = oracle.mpca(X, sizes, sweeps=4)
    assert_same_factors(model, factors, X)
    assert model.objective_ == pytest.approx(share, rel=1e-10)
    assert np.all(np.diff(model.history_) >= -1e-12)


def test_mpca_sizes_by_share(samples):
    X, _ = samples((6, 5))
    centred = X - X.mean(axis=0)
    model = MPCA(0.8).fit(X)
    for m, factor in enumerate(model.factors_):
        values = np.linalg.eigvalsh(oracle.mode_scatter(centred, [None] * 2, m))[::-1]
        kept = np.cumsum(values) / values.sum()
        r = factor.shape[1]
        assert kept[r - 1] >= 0.8
        assert r == 1 or kept[r - 2] < 0.8


@shapes
def test_two_d_pca(shape, sizes, samples):
    X, _ = samples(shape)
    model = TwoDPCA(sizes[-1]).fit(X)
    factors = [*(np.eye(size) for size in shape[:-1]), oracle.two_d_pca(X, sizes[-1])]
    assert_same_factors(model, factors, X)


@shapes
def test_hoda(shape, sizes, samples):
    X, y = samples(shape)
    model = HODA(sizes, reg=0, max_iter=4, tol=0).fit(X, y)
    factors, history = oracle.hoda(X, y, sizes, sweeps=4)
    assert_same_factors(model, factors, X)
    np.testing.assert_allclose(model.history_, history, rtol=1e-8)
    assert np.all(np.diff(model.history_) >= -1e-12)


@shapes
@pytest.mark.parametrize("weights", ["binary", "heat"])
@pytest.mark.parametrize("graph", ["classes", "neighbors"])
def test_tensor_lpp(shape, sizes, graph, weights, samples):
    X, y = samples(shape, n=24)
    heat = weights == "heat"
    if graph == "classes":
        S = oracle.class_edges(X, y, heat)
    else:
        S = oracle.neighbor_edges(X, 4, heat)
    model = TensorLPP(
        sizes, graph=graph, weights=weights, n_neighbors=4, reg=1e-3, max_iter=2
    ).fit(X, y)
    assert_same_factors(model, oracle.tensor_lpp(X, S, sizes, 1e-3, sweeps=2), X)


# --- eigenvectors of B - phi W ----------------------------------------------------


def planted(shape, seed=0, n=200):
    """Two classes that differ by a rank-one tensor in a quiet corner.

    The opposite corner is loud, so that the directions of largest magnitude of
    ``B - phi W`` are those of its noise.
    """
    rng = np.random.default_rng(seed)
    quiet = np.ix_(*(range(size // 2) for size in shape))
    loud = np.ix_(*(range(size // 2, size) for size in shape))
    X, y = rng.standard_normal((n, *shape)), np.arange(n) % 2
    X[:, *loud] *= 10
    X[:, *quiet] += 1.5 * y.reshape(-1, *[1] * len(shape))
    return X, y


def accuracy(features, y):
    half = len(y) // 2
    classifier = LogisticRegression().fit(
        features[:half] / features[:half].std(axis=0), y[:half]
    )
    return classifier.score(features[half:] / features[:half].std(axis=0), y[half:])


@pytest.mark.parametrize("shape", [(8, 7), (5, 4, 6)])
@pytest.mark.parametrize("cls", [DGTDA, HODA])
def test_largest_algebraic_value_separates_a_planted_problem(cls, shape):
    X, y = planted(shape)
    half = len(y) // 2
    model = cls(1).fit(X[:half], y[:half])
    assert accuracy(model.transform(X), y) >= 0.95
    sizes = (1,) * len(shape)
    if cls is DGTDA:
        wrong = oracle.dgtda(X[:half], y[:half], sizes, 1e-6, largest="magnitude")
    else:
        wrong, _ = oracle.hoda(X[:half], y[:half], sizes, 5, largest="magnitude")
    assert 0.35 < accuracy(oracle.features(X, wrong), y) < 0.65


# --- projections to numbers -------------------------------------------------------


@shapes
@pytest.mark.parametrize("n", [24, 150])  # fewer samples than entries, and more
@pytest.mark.parametrize("between", ["samples", "classes"])
def test_ridge_lda(shape, sizes, n, between, samples):
    X, y = samples(shape, n=n)
    model = RidgeLDA(reg=0.2, between=between).fit(X, y)
    W = oracle.ridge_lda(X, y, 0.2, 3, weighted=between == "samples")
    assert_same_columns(model.projections_.T, W, 1e-7 * np.abs(W).max())
    flat = X.reshape(n, -1)
    np.testing.assert_allclose(
        model.transform(X), flat @ model.projections_.T, atol=1e-12
    )


@pytest.mark.parametrize("shrinkage", [0.1, 0.5])
def test_ridge_lda_is_scikit_learns_shrinkage(shrinkage, samples):
    """``(1 - s) S + s tr(S) / P I`` is a ridge of ``s / (1 - s)`` times the mean."""
    X, y = samples((6, 5), n=60)
    model = RidgeLDA(reg=shrinkage / (1 - shrinkage)).fit(X, y)
    lda = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=shrinkage)
    lda.fit(X.reshape(60, -1), y)
    # The columns S^{-1} (mean_c - mean): three of four span all directions.
    assert_same_span(model.projections_.T, (lda.coef_ - lda.priors_ @ lda.coef_)[:3].T)


def test_ridge_lda_begins_like_full_rank_crp(samples):
    X, y = samples((6, 5))
    lda = RidgeLDA(reg=0.5, between="classes").fit(X, y)
    crp = TensorCRP(1, rank="full", reg=0.5).fit(X, y)
    assert lda.lambda_ == pytest.approx(crp.lambda_)
    assert lda.objective_[0] == pytest.approx(crp.objective_[0])
    first = lda.projections_[0] / np.linalg.norm(lda.projections_[0])
    np.testing.assert_allclose(first, crp.projections_[0], atol=1e-8)


def test_ridge_lda_makes_no_matrix_of_all_entries(samples):
    X, y = samples((90, 80), n=20)  # 7200 x 7200 would be 415 MB
    model = RidgeLDA().fit(X, y)
    assert model.projections_.shape == (3, 7200)


@shapes
@pytest.mark.parametrize("n", [24, 150])
def test_toeplitz_lda(shape, sizes, n, samples):
    X, y = samples(shape, n=n)
    model = ToeplitzLDA(reg=0.2).fit(X, y)
    W = oracle.toeplitz_lda(X, y, 0.2, 3)
    assert_same_columns(model.projections_.T, W, 1e-7 * np.abs(W).max())


def test_toeplitz_lda_of_one_time_is_ridge_lda(samples):
    X, y = samples((6, 1))
    toeplitz, ridge = ToeplitzLDA(reg=0.3).fit(X, y), RidgeLDA(reg=0.3).fit(X, y)
    np.testing.assert_allclose(toeplitz.projections_, ridge.projections_, atol=1e-9)
    np.testing.assert_allclose(toeplitz.objective_, ridge.objective_)


def test_stationary_noise_needs_fewer_samples():
    """Forty samples of 200 entries, each method at its best ridge."""
    rng = np.random.default_rng(0)
    noise = rng.standard_normal((1040, 5, 80))
    for t in range(1, 80):
        noise[:, :, t] += 0.9 * noise[:, :, t - 1]
    noise = np.tensordot(noise[:, :, 40:], rng.standard_normal((5, 5)), (1, 1))
    y = np.arange(1040) % 2
    signal = np.outer(np.hanning(40), rng.standard_normal(5))
    X = (noise + 3.0 * y[:, None, None] * signal).swapaxes(1, 2)

    def best(cls):
        regs = (1e-3, 1e-2, 0.1, 1.0)
        models = [cls(reg=reg).fit(X[:40], y[:40]) for reg in regs]
        return max(accuracy(m.transform(X[40:]), y[40:]) for m in models)

    assert best(ToeplitzLDA) > best(RidgeLDA) + 0.05


@shapes
def test_stda(shape, sizes, samples):
    X, y = samples(shape)
    model = STDA(sizes, reg=1e-3, max_iter=3).fit(X, y)
    size = min(3, np.prod(sizes))
    factors, W = oracle.stda(X, y, sizes, 1e-3, 3, size)
    for factor, other in zip(model.factors_, factors, strict=True):
        assert_same_columns(factor, other, 1e-6)
    assert_same_columns(model.projections_.T, W, 1e-5 * np.abs(W).max())


@shapes
def test_umlda(shape, sizes, samples):
    X, y = samples(shape)
    size = min(shape)
    model = UMLDA(size, max_iter=3).fit(X, y)
    expected = oracle.umlda(X, y, size, 1e-3, sweeps=3)
    mine, theirs = (each.reshape(size, -1).T for each in (model.components_, expected))
    assert_same_columns(mine, theirs, 1e-6)
    correlations = np.corrcoef(model.transform(X).T) - np.eye(size)
    assert np.abs(correlations).max() < 1e-9


# --- order 1 ----------------------------------------------------------------------

LDA_AT_ORDER_ONE = [
    RidgeLDA(reg=1e-12),
    MultilinearLDA(reg=0),
    SelectiveLDA(reg=0),
    ParallelLDA(reg=0),
    CMDA(reg=0),
    UMLDA(reg=0),
]
estimator_name = lambda model: type(model).__name__  # noqa: E731


@pytest.mark.parametrize("model", LDA_AT_ORDER_ONE, ids=estimator_name)
def test_discriminants_at_order_one_are_lda(model, samples):
    X, y = samples((9,), n=80)
    lda = LinearDiscriminantAnalysis(solver="eigen").fit(X, y)
    model.fit(X, y)
    mine = model.projections_.T if hasattr(model, "projections_") else model.factors_[0]
    assert_same_span(mine, lda.scalings_[:, :3])


@pytest.mark.parametrize(
    "model", [DGTDA(1, reg=0), HODA(1, reg=0, tol=0)], ids=estimator_name
)
def test_trace_ratios_of_two_classes_at_order_one_are_lda(model, samples):
    X, y = samples((9,), n=80, n_classes=2)
    lda = LinearDiscriminantAnalysis(solver="eigen").fit(X, y)
    assert_same_span(model.fit(X, y).factors_[0], lda.scalings_[:, :1])


def test_class_graph_at_order_one_is_lda_if_classes_are_equally_large(samples):
    X, _ = samples((9,), n=80)
    y = np.arange(80) % 4
    X = X + 2 * np.eye(9)[y]
    lda = LinearDiscriminantAnalysis(solver="eigen").fit(X, y)
    model = TensorLPP(3, reg=0).fit(X, y)
    assert_same_span(model.factors_[0], lda.scalings_[:, :3])


@pytest.mark.parametrize("model", [MPCA(3), TwoDPCA(3)], ids=estimator_name)
def test_mpca_at_order_one_is_pca(model, samples):
    X, _ = samples((9,))
    pca = PCA(3).fit(X)
    model.fit(X)
    assert_same_columns(model.transform(X), pca.transform(X))
    np.testing.assert_allclose(
        model.inverse_transform(model.transform(X)),
        pca.inverse_transform(pca.transform(X)),
        atol=1e-10,
    )
    assert model.objective_ == pytest.approx(pca.explained_variance_ratio_.sum())


# --- support vectors --------------------------------------------------------------


@shapes
@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
@pytest.mark.parametrize("C", [0.01, 1.0])
def test_full_rank_svc_decides_like_linear_svc(shape, sizes, loss, C, samples):
    X, y = samples(shape, n=60)
    flat = X.reshape(60, -1)
    reference = LinearSVC(
        C=C, loss=loss, dual=loss == "hinge", tol=1e-6, max_iter=200000, random_state=0
    ).fit(flat, y)
    model = BilinearSVC("full", C=C, loss=loss, random_state=0).fit(X, y)
    expected = reference.decision_function(flat)
    scale = np.abs(expected).max()
    np.testing.assert_allclose(
        model.decision_function(X),
        expected,
        atol=(2e-3 if loss == "hinge" else 2e-4) * scale,
    )
    largest = BilinearSVC(min(shape) * 9, C=C, loss=loss, random_state=0).fit(X, y)
    np.testing.assert_array_equal(largest.coef_, model.coef_)


def test_alternation_at_full_rank_reaches_linear_svc(samples):
    """Through the factors, without the short cut over vectors."""
    X, y = samples((6, 5), n=60, n_classes=2)
    targets = np.where(y == 1, 1.0, -1.0)
    solver = LinearSVC(C=0.1, dual=False, tol=1e-8)
    result = SvmProblem(ArrayRows.of(X), 5, solver, 3, 0.0).solve(targets)
    reference = LinearSVC(C=0.1, dual=False, tol=1e-8).fit(X.reshape(60, -1), y)
    W = result.factors[0] @ result.factors[1].T
    np.testing.assert_allclose(W.ravel(), reference.coef_[0], atol=1e-5)
    assert result.intercept == pytest.approx(reference.intercept_[0], abs=1e-5)


@shapes
@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
@pytest.mark.parametrize("rank", [1, 2])
def test_svc_objective_never_rises_and_is_what_it_says(
    shape, sizes, loss, rank, samples
):
    X, y = samples(shape, n=50)
    model = BilinearSVC(rank, C=0.1, loss=loss, max_iter=6, tol=0, random_state=0)
    model.fit(X, y)
    for p, history in enumerate(model.history_):
        assert np.all(np.diff(history) <= 0)
        targets = np.where(y == model.classes_[p], 1, -1)
        value = oracle.svm_objective(
            X, targets, model.coef_[p], model.intercept_[p], 0.1, loss
        )
        assert value == pytest.approx(history[-1], rel=1e-9)


@shapes
def test_no_factor_of_svc_can_be_improved(shape, sizes, samples):
    """Each block is a convex problem: a general minimiser finds nothing better."""
    X, y = samples(shape, n=40, n_classes=2)
    model = BilinearSVC(2, C=0.1, max_iter=60, tol=0).fit(X, y)
    targets, end = np.where(y == 1, 1, -1), model.objective_[0]
    letters = "abc"[: len(shape)]
    terms = ",".join(letter + "k" for letter in letters)

    def objective(parameters, mode):
        factors = [factor[0] for factor in model.factors_]
        factors[mode] = parameters[:-1].reshape(factors[mode].shape)
        W = np.einsum(f"{terms}->{letters}", *factors)
        return oracle.svm_objective(X, targets, W, parameters[-1], 0.1, "squared_hinge")

    for mode, factor in enumerate(model.factors_):
        start = np.append(factor[0].ravel(), model.intercept_[0])
        assert objective(start, mode) == pytest.approx(end, rel=1e-9)
        assert minimize(objective, start, args=(mode,)).fun >= end * (1 - 1e-4)


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_svc_weights_have_the_rank(rank, samples):
    X, y = samples((6, 5), n=50)
    model = BilinearSVC(rank, tol=0, max_iter=2).fit(X, y)
    for W in model.coef_:
        assert np.linalg.matrix_rank(W) <= rank


def test_svc_of_two_classes_has_one_score(samples):
    X, y = samples((6, 5), n=50, n_classes=2)
    labels = np.array(["no", "yes"])[y]
    model = BilinearSVC(1, tol=0, max_iter=3).fit(X, labels)
    scores = model.decision_function(X)
    assert scores.shape == (50,)
    np.testing.assert_array_equal(model.predict(X), np.where(scores > 0, "yes", "no"))
    assert model.score(X, labels) > 0.9


@pytest.mark.parametrize("cls", [baselines.MultilinearLDA, baselines.TensorLPP])
def test_a_border_that_never_varies_changes_nothing_but_the_start(cls):
    """Silhouettes: the first slices of all modes are empty together."""
    rng = np.random.default_rng(0)
    y = np.arange(40) % 4
    means = 3 * rng.standard_normal((4, 4, 3, 3))
    X = np.zeros((40, 9, 8, 7))
    X[:, 5:, 5:, 4:] = means[y] + rng.standard_normal((40, 4, 3, 3))
    features = cls(sizes=(2, 2, 2)).fit(X, y).transform(X).reshape(40, -1)
    spread = features.std(axis=0)
    assert (spread > 1e-6 * spread.max()).all()
