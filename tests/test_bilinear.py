"""The paper's case, matrices: its lemmas, its theorem and stored reference values.

Lemma numbers are those printed in the appendix (its fourth has the label lemma5, its
fifth lemma4); ``vec`` stacks columns, as there. The values in
``reference_digits.json`` come from the oracle by way of ``make_reference.py``.
"""

import json

import make_reference
import numpy as np
import oracle
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from oracle import unvec, vec

from tensorcrp import ClassScatter, TensorCRP
from tensorcrp.solver import solve
from tensorcrp.solver.array_rows import ArrayRows
from tensorcrp.solver.cp import whitening
from tensorcrp.solver.cp_form import cp_normalize

ROUNDING = {"rtol": 1e-12, "atol": 1e-12}
EXACT = {"rtol": 1e-8, "atol": 1e-8}
L1, L2, K = 5, 4, 3

problems = pytest.mark.parametrize("name", sorted(make_reference.PROBLEMS))


@pytest.fixture
def matrices():
    """U (l_1, k), V (l_2, k) and X (l_1, l_2) without any structure."""
    rng = np.random.default_rng(0)
    shapes = (L1, K), (L2, K), (L1, L2)
    return tuple(rng.standard_normal(shape) for shape in shapes)


@pytest.fixture(scope="module")
def stored():
    return json.loads(make_reference.STORED.read_text())


@pytest.fixture(scope="module")
def digits():
    return make_reference.training_samples(10)


def paper(n_components, lam, **changes):
    """The paper's algorithm, with a fixed number of sweeps."""
    params = {"rank": 2, "reg": lam, "reg_scale": "absolute", "init": "identity"}
    return TensorCRP(n_components, **(params | {"max_iter": 10, "tol": 0} | changes))


def test_lemma_1_the_projector_takes_the_feature_times_the_projection(matrices):
    U, V, X = matrices
    w = vec(U @ V.T)
    feature = np.trace(U.T @ X @ V)
    assert_allclose(np.outer(w, w) @ vec(X), feature * w, **ROUNDING)


def test_lemma_2_vec_of_a_product_is_a_sum_of_kronecker_products(matrices):
    U, V, _ = matrices
    total = sum(np.kron(V[:, i], U[:, i]) for i in range(K))
    assert_allclose(vec(U @ V.T), total, **ROUNDING)


def test_lemma_3_the_norm_is_a_trace_of_gram_matrices(matrices):
    U, V, _ = matrices
    w = vec(U @ V.T)
    assert_allclose(w @ w, np.trace(U.T @ U @ V.T @ V), **ROUNDING)


def test_lemma_4_vec_of_a_triple_product(matrices):
    U, V, X = matrices
    A, B = U.T, V
    assert_allclose(vec(A @ X @ B), np.kron(B.T, A) @ vec(X), **ROUNDING)


def test_lemma_5_the_feature_is_bilinear_in_both_factors(matrices):
    U, V, X = matrices
    bilinear = vec(U) @ np.kron(np.eye(K), X) @ vec(V)
    assert_allclose(np.trace(U.T @ X @ V), bilinear, **ROUNDING)


def test_lemma_6_the_trace_with_the_identity_on_the_other_side():
    rng = np.random.default_rng(1)
    A, B, C = (rng.standard_normal(shape) for shape in ((5, 3), (5, 4), (4, 3)))
    bilinear = vec(A) @ np.kron(C.T, np.eye(5)) @ vec(B)
    assert_allclose(np.trace(A.T @ B @ C), bilinear, **ROUNDING)


def test_the_solver_contracts_as_lemma_5_says(matrices):
    U, V, X = matrices
    samples = ArrayRows.of(X[None])
    Z = samples.finish(samples.side_product([U, V], samples.is_left(0)), [U, V], 0)
    assert_allclose(
        unvec(np.kron(np.eye(K), X) @ vec(V), L1, K), Z[:, :, 0].T, **ROUNDING
    )
    Z = samples.finish(samples.side_product([U, V], samples.is_left(1)), [U, V], 1)
    expected = unvec(np.kron(np.eye(K), X.T) @ vec(U), L2, K)
    assert_allclose(expected, Z[:, :, 0].T, **ROUNDING)


def test_the_solver_takes_the_norm_as_lemma_3_says(matrices):
    U, V, _ = matrices
    D = np.kron(V.T @ V, np.eye(L1))  # D^v of the paper
    assert_allclose(vec(U) @ D @ vec(U), np.linalg.norm(U @ V.T) ** 2, **ROUNDING)
    _, back = whitening([U, V], 0)
    assert_allclose(back @ back.T, V.T @ V, **ROUNDING)


def test_features_deflate_as_lemma_1_says(digits):
    X, y = digits
    crp = paper(3, 100.0).fit(X, y)
    for x, features in zip(X[:5], crp.transform(X[:5]), strict=True):
        left = vec(x)
        for p, feature in enumerate(features):
            U, V = (factor[p] for factor in crp.factors_)
            assert_allclose(feature, np.trace(U.T @ unvec(left, 8, 6) @ V), **EXACT)
            w = vec(U @ V.T)
            left = left - np.outer(w, w) @ left


@problems
def test_reference_values(stored, name):
    settings = stored[name]["settings"]
    X, y = make_reference.training_samples(settings["per_class"])
    crp = paper(
        settings["n_components"], settings["lam"], between=settings["between"]
    ).fit(X, y)
    assert_allclose(crp.history_, stored[name]["objective"], rtol=1e-8)
    assert_allclose(crp.components_, stored[name]["projections"], **EXACT)
    features = crp.transform(make_reference.new_samples())
    assert_allclose(features, stored[name]["features"], **EXACT)


@pytest.mark.slow  # of the oracle alone: the package has no part in it
def test_reference_values_are_those_of_the_script(stored):
    made = make_reference.make()
    assert made.keys() == stored.keys()
    for name, values in made.items():
        assert values["settings"] == stored[name]["settings"]
        for what in ("objective", "projections", "features"):
            assert_allclose(values[what], stored[name][what], rtol=1e-9, atol=1e-9)


def test_reference_problems_are_tall_and_wide_and_of_rank_2(stored):
    sizes = {name: 10 * each["settings"]["per_class"] for name, each in stored.items()}
    assert sizes["tall"] > 48 > sizes["wide"]
    for each in stored.values():
        ranks = np.linalg.matrix_rank(np.array(each["projections"]), tol=1e-3)
        assert_array_equal(ranks, make_reference.RANK)


@pytest.mark.parametrize("init", ["identity", "lda", "random"])
@pytest.mark.parametrize("lam", [1e-3, 1.0, 1e3, 1e6])
def test_theorem_1_the_objective_never_decreases(digits, init, lam):
    crp = paper(6, lam, init=init, random_state=0).fit(*digits)
    for history in crp.history_:
        assert np.all(np.diff(history) >= -1e-9 * history[:-1])


def test_the_ridge_counts_the_norm_of_the_projection(digits):
    X, y = digits
    crp = paper(1, 1e4).fit(X, y)
    U, V = (factor[0] for factor in crp.factors_)
    for a in (0.1, 3.0):  # J does not see how U and V share the scale
        J = oracle.objective((a * U) @ (V / a).T, X, y, 1e4)
        assert_allclose(crp.history_[0][-1], J, rtol=1e-9)


@pytest.mark.parametrize("diagonal", [0.5, 2.0])
def test_the_initial_diagonal_does_not_matter(digits, diagonal):
    X, y = digits
    plain = paper(6, 100.0).fit(X, y)
    start = [diagonal * np.eye(8, 2), diagonal * np.eye(6, 2)]
    scaled = paper(6, 100.0, init=start).fit(X, y)
    assert_allclose(scaled.components_, plain.components_, **EXACT)
    assert_allclose(scaled.history_, plain.history_, rtol=1e-9)


@pytest.mark.parametrize("rank", ["full", 6])
@pytest.mark.parametrize("per_class", [4, 10])
def test_full_rank_is_ridge_lda_on_vectors(rank, per_class):
    X, y = make_reference.training_samples(per_class)
    crp = paper(9, 100.0, rank=rank).fit(X, y)
    expected = oracle.ridge_lda(X, y, n_components=9, lam=100.0)
    assert_allclose(crp.components_, expected.projections, **EXACT)
    final = [history[-1] for history in crp.history_]
    assert_allclose(final, np.ravel(expected.objective), rtol=1e-8)


def test_one_update_of_a_full_factor_is_ridge_lda(digits):
    X, y = digits
    scatter = ClassScatter.from_samples(X, y)
    rows = scatter.between("classes"), scatter.root
    (result,) = solve(
        *rows, [100.0], rank=6, n_components=5, init="identity", max_iter=1, tol=0
    )
    expected = oracle.ridge_lda(X, y, n_components=5, lam=100.0)
    assert_allclose(cp_normalize(result.factors)[1], expected.projections, **EXACT)


def test_a_larger_rank_never_has_a_smaller_first_objective(digits):
    X, y = digits
    finals, start = [], [np.empty((8, 0)), np.empty((6, 0))]
    for rank in (1, 2, 3, 4):
        # The columns found so far and new ones: the first update can leave those out.
        start = [np.hstack([f, np.eye(len(f), rank)[:, f.shape[1] :]]) for f in start]
        crp = paper(1, 100.0, rank=rank, init=start).fit(X, y)
        start = [factor[0] for factor in crp.factors_]
        finals.append(crp.history_[0][-1])
    assert np.all(np.diff(finals) >= -1e-9 * finals[0])


def test_the_papers_interface(digits):
    """The call of the README: ten sweeps of Algorithm 1, component by component."""
    X, y = digits
    crp = TensorCRP(
        3, rank=2, reg=100.0, reg_scale="absolute", init="identity", max_iter=10, tol=0
    ).fit(X, y)
    expected = oracle.algorithm_1(X, y, n_components=3, rank=2, lam=100.0, n_sweeps=10)
    for ours, theirs in zip(crp.history_, expected.objective, strict=True):
        assert_allclose(ours, theirs, rtol=1e-8)
    assert_allclose(crp.components_, expected.projections, **EXACT)
    assert [factor.shape for factor in crp.factors_] == [(3, 8, 2), (3, 6, 2)]
    assert crp.lambda_ == 100.0 and crp.n_iter_ == 10


def test_a_tolerance_only_ends_the_same_sweeps_earlier(digits):
    X, y = digits
    expected = oracle.algorithm_1(X, y, n_components=1, rank=2, lam=100.0, n_sweeps=10)
    crp = TensorCRP(
        1, rank=2, reg=100.0, reg_scale="absolute", init="identity", tol=0.01
    ).fit(X, y)
    history = crp.history_[0][:20]
    assert_allclose(history, expected.objective[0][: len(history)], rtol=1e-8)
