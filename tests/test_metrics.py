"""Metrics of the ridge: smoothness per mode and matrices of the user, exactly.

The oracle writes the ridge out as a Kronecker product of all modes and deflates really;
it knows nothing of roots, coordinates or lanes.
"""

from functools import reduce

import numpy as np
import oracle
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.linalg import sqrtm
from sklearn.base import clone

from tensorcrp import ClassScatter, TensorCRP
from tensorcrp.persistence import load, save
from tensorcrp.solver import Euclidean, Smoothness, Spec, fit_path
from tensorcrp.solver.metric import isotropic_energy

EXACT = {"rtol": 1e-8, "atol": 1e-8}
CASES = [
    ((6,), 40, 3.0),
    ((5, 4), 60, (2.0, 0.0)),
    ((7, 6), 25, (0.5, 10.0)),
    ((4, 3, 3), 60, (0.0, 4.0, 1.0)),
    ((5, 4, 3), 25, 1.0),
    ((3, 2, 2, 3), 25, (1.0, 0.0, 3.0, 0.2)),
]
cases = pytest.mark.parametrize(("shape", "n", "smooth"), CASES, ids=str)


def mode_matrices(shape, smooth):
    """``I + mu D^T D`` of every mode, difference by difference."""
    matrices = []
    for size, mu in zip(shape, np.broadcast_to(smooth, len(shape)), strict=True):
        R = np.eye(size)
        for i in range(size - 1):
            step = np.zeros(size)
            step[i], step[i + 1] = -1.0, 1.0
            R += mu * np.outer(step, step)
        matrices.append(R)
    return matrices


def whole_metric(shape, smooth):
    """The Kronecker product over the modes, written out."""
    return reduce(np.kron, mode_matrices(shape, smooth))


def slow_fit(X, y, smooth, lam=2.0, h=4, n_sweeps=6):
    """Projections (h, P) with ``w^T R w = 1``, features (n, h) and what is left.

    A block is ``w = B q``; the generalised eigenproblem has the ridge
    ``lam B^T R B``. Starts are factors of w itself.
    """
    shape = X.shape[1:]
    starts, R = starts_of(shape), whole_metric(shape, smooth)
    roots = [np.real(sqrtm(np.linalg.inv(M))) for M in mode_matrices(shape, smooth)]
    back = reduce(np.kron, roots)
    starts = [np.linalg.inv(S) @ U for S, U in zip(roots, starts, strict=True)]
    left, found, features = X.reshape(len(X), -1).astype(float), [], []
    for _ in range(h):
        S_b, S_w = oracle.scatter_matrices(left.reshape(X.shape), y, "classes")
        # Factors of W' = R^{1/2} w are updated: the metric is a product of modes.
        W, _ = oracle.order_n_component(
            back @ S_b @ back,
            back @ (S_w + lam * R) @ back,
            starts,
            n_sweeps,
            range(len(starts)),
        )
        w = back @ (W.ravel() / np.linalg.norm(W))
        w = oracle.fix_sign(w)
        features.append(left @ w)
        left = left - np.outer(features[-1], R @ w)
        found.append(w)
    return np.array(found), np.transpose(features), left


def starts_of(shape, rank=2):
    rng = np.random.RandomState(0)
    rank = 1 if len(shape) == 1 else rank
    return [rng.standard_normal((size, rank)) for size in shape]


def fixed(shape, **how):
    starts = starts_of(shape)
    exact = {"reg": 2.0, "reg_scale": "absolute", "max_iter": 6, "tol": 0}
    return TensorCRP(4, rank=starts[0].shape[1], init=starts, **(exact | how))


@cases
def test_smoothness_is_an_explicit_kronecker_ridge(make_samples, shape, n, smooth):
    X, y = make_samples(shape, n, n_classes=6)
    crp = fixed(shape, smooth=smooth).fit(X, y)
    R = whole_metric(shape, smooth)
    W, features, left = slow_fit(X, y, smooth)
    assert_allclose(crp.components_.reshape(4, -1), W, **EXACT)
    assert_allclose(crp.transform(X), features, **EXACT)
    rest = X - crp.inverse_transform(crp.transform(X))
    assert_allclose(rest.reshape(n, -1), left, **EXACT)
    for curve in crp.history_:
        assert (np.diff(curve) >= 0).all()
    # Factors multiply up to components, whose norm under the metric is one.
    dense = [crp.cp_tensor(p).to_tensor() for p in range(4)]
    assert_allclose(dense, crp.components_, **EXACT)
    assert_allclose(np.einsum("pi,ij,pj->p", W, R, W), 1)


@cases
def test_the_relative_ridge_is_in_units_of_the_metric(make_samples, shape, n, smooth):
    X, y = make_samples(shape, n, n_classes=6)
    crp = TensorCRP(2, smooth=smooth, reg=0.7).fit(X, y)
    _, S_w = oracle.scatter_matrices(X, y, "classes")
    trace = np.trace(np.linalg.solve(whole_metric(shape, smooth), S_w))
    assert_allclose(crp.lambda_, 0.7 * trace / X[0].size)


@pytest.mark.parametrize("init", ["lda", "identity", "random"])
@pytest.mark.parametrize("rank", [1, 2, "full"])
def test_no_strength_is_bit_for_bit_the_plain_ridge(make_samples, init, rank):
    X, y = make_samples((6, 5), 30, n_classes=3)
    how = {"rank": rank, "init": init, "random_state": 0}
    plain = TensorCRP(4, **how).fit(X, y).projections_
    for nothing in (None, 0, 0.0, (0, 0)):
        same = TensorCRP(4, smooth=nothing, **how).fit(X, y).projections_
        assert_array_equal(same, plain)
    identity = TensorCRP(4, metrics=[None, np.eye(5)], **how).fit(X, y).projections_
    assert_allclose(identity, plain, **EXACT)


@pytest.mark.parametrize("rank", [2, "full"])
def test_matrices_of_the_user(make_samples, rank):
    """Those of smoothness give smoothness; any others, the best J at full rank."""
    X, y = make_samples((4, 3), 40, n_classes=4)
    R = [whole_metric((4,), 3.0), None]
    given = TensorCRP(3, rank=rank, metrics=R, reg=0.5).fit(X, y)
    smooth = TensorCRP(3, rank=rank, smooth=(3.0, 0.0), reg=0.5).fit(X, y)
    assert_allclose(given.projections_, smooth.projections_, **EXACT)
    A = np.random.default_rng(0).standard_normal((3, 3))
    R = [None, A @ A.T + np.eye(3)]
    crp = TensorCRP(1, rank="full", metrics=R, reg=2.0, reg_scale="absolute").fit(X, y)
    S_b, S_w = oracle.scatter_matrices(X, y, "classes")
    ridge = 2.0 * np.kron(np.eye(4), R[1])
    _, value = oracle.top_eigenvector(S_b, S_w + ridge, np.eye(12))
    assert_allclose(crp.objective_[0], value, rtol=1e-8)


def places(X, folder):
    """The same samples in memory, in a file and in chunks."""
    import dask.array as da

    np.save(folder / "X.npy", X)
    yield np.load(folder / "X.npy", mmap_mode="r")
    yield da.from_array(X, chunks=(8, *X.shape[1:]))


@pytest.mark.parametrize(("shape", "n"), [((6, 5), 24), ((4, 3), 48), ((3, 4, 2), 20)])
def test_any_storage_gives_the_same(make_samples, tmp_path, shape, n):
    X, y = make_samples(shape, n, n_classes=3)
    model = TensorCRP(4, smooth=2.0)
    expected = clone(model).fit(X, y).transform(X)
    for samples in places(X, tmp_path):
        for limit in (0, None):
            lazy = clone(model).set_params(max_memory=limit).fit(samples, y)
            assert_allclose(lazy.transform(X), expected, **EXACT)
    batches = clone(model)
    for part in np.array_split(np.arange(n), 3):
        batches.partial_fit(X[part], y[part])
    assert_allclose(batches.transform(X), expected, **EXACT)
    scatter = ClassScatter.from_samples(X, y)
    assert_allclose(clone(model).fit_scatter(scatter).transform(X), expected, **EXACT)
    save(batches, tmp_path / "model")
    again = load(tmp_path / "model")
    assert_array_equal(again.transform(X), batches.transform(X))
    features = again.transform(X)
    assert_array_equal(
        again.inverse_transform(features), batches.inverse_transform(features)
    )


def test_energy_of_what_is_alike_in_all_directions():
    """The Kronecker product over the modes, written out."""
    rng = np.random.default_rng(0)
    matrices = [rng.standard_normal((2, 4)), None, rng.standard_normal((3, 2))]
    whole = reduce(np.kron, [matrices[0], np.eye(3), matrices[2]])
    energy = isotropic_energy(matrices, (4, 3, 2))
    assert_allclose(energy, np.sum(whole**2) / 24)


def test_permuting_an_unordered_mode_permutes_the_solution(make_samples):
    X, y = make_samples((5, 4, 3), 40, n_classes=4)
    order = np.array([2, 0, 3, 1])
    model = TensorCRP(4, smooth=(2.0, 0.0, 1.0), tol=0, max_iter=8)
    plain, moved = (clone(model).fit(each, y) for each in (X, X[:, :, order]))
    assert_allclose(moved.components_, plain.components_[:, :, order], atol=1e-6)
    # Of an ordered mode it is another problem.
    other = clone(model).set_params(smooth=(2.0, 1.0, 1.0))
    plain, moved = (clone(other).fit(each, y) for each in (X, X[:, :, order]))
    assert not np.allclose(moved.objective_, plain.objective_, rtol=1e-3)


@pytest.mark.parametrize("rank", [1, 2])
@pytest.mark.parametrize("shape", [(5, 4), (4, 3, 3)], ids=str)
def test_a_given_start_is_in_the_coordinates_of_the_samples(make_samples, shape, rank):
    """One block update from the start, with the ridge written out and no roots."""
    X, y = make_samples(shape, 40, n_classes=4)
    starts, smooth = starts_of(shape, rank), tuple(2.0 + m for m in range(len(shape)))
    S_b, S_w = oracle.scatter_matrices(X, y, "classes")
    R = whole_metric(shape, smooth)
    W, _ = oracle.order_n_component(S_b, S_w + 2.0 * R, starts, 1, range(len(shape)))
    w = oracle.fix_sign(W.ravel() / np.sqrt(W.ravel() @ R @ W.ravel()))
    how = {"rank": rank, "reg": 2.0, "reg_scale": "absolute", "smooth": smooth}
    for init in (starts, lambda *_: starts, [U[None] for U in starts]):
        crp = TensorCRP(1, init=init, max_iter=1, tol=0, **how).fit(X, y)
        assert_allclose(crp.components_[0].ravel(), w, **EXACT)


@pytest.mark.parametrize("mu", [1e-6, 1e-2, 1e2, 1e6])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_strengths_of_any_size(make_samples, mu, dtype):
    X, y = make_samples((5, 4), 30, n_classes=4)
    crp = fixed((5, 4), smooth=mu).fit(X.astype(dtype), y)
    _, features, _ = slow_fit(X, y, mu)
    size = np.abs(features).max()
    tolerance = 1e-6 if dtype == np.float64 else 1e-2
    first = crp.transform(X.astype(dtype))[:, 0]
    assert_allclose(first, features[:, 0], rtol=0, atol=tolerance * size)
    for curve in crp.history_:
        assert (np.diff(curve) >= 0).all()


def test_strong_smoothness_gives_smooth_factors(make_samples):
    X, y = make_samples((12, 5), 60, n_classes=4)
    steps = []
    for mu in (0.0, 10.0, 1e4):
        factor = TensorCRP(2, rank=1, smooth=(mu, 0.0)).fit(X, y).factors_[0]
        steps.append((np.diff(factor, axis=1) ** 2).sum() / (factor**2).sum())
    assert steps[0] > 2 * steps[1] > 20 * steps[2]


def test_a_mode_of_size_one(make_samples):
    X, y = make_samples((6, 1, 4), 40, n_classes=3)
    one = TensorCRP(3, smooth=(1.0, 5.0, 2.0)).fit(X, y).transform(X)
    other = TensorCRP(3, smooth=(1.0, 2.0)).fit(X[:, :, 0], y).transform(X[:, :, 0])
    assert_allclose(one, other, **EXACT)


def test_modes_without_steps_or_strength_have_no_matrix():
    *nothing, last = Smoothness((0.0, 2.0, 3.0)).matrices((4, 1, 3))
    assert nothing == [None, None]
    assert_array_equal(last, mode_matrices((3,), 3.0)[0])
    assert Euclidean().matrices((4, 1)) == [None, None] and Euclidean().is_plain


BAD = [
    ({"smooth": -1.0}, "smooth of mode 0 must be a finite number, 0 or more, got -1.0"),
    ({"smooth": (1.0, np.nan)}, "smooth of mode 1"),
    (
        {"smooth": (1.0, 2.0, 3.0)},
        r"each of the 2 modes of a sample of shape \(4, 3\)",
    ),
    ({"smooth": "much"}, "smooth must be None, a number"),
    ({"metrics": [np.eye(4)]}, "a list of 2 matrices or None"),
    ({"metrics": np.eye(4)}, "a list of 2 matrices or None"),
    (
        {"metrics": [np.eye(3), None]},
        r"metrics\[0\] must be a real matrix of shape",
    ),
    ({"metrics": [None, np.triu(np.ones((3, 3)))]}, r"metrics\[1\] must be symmetric"),
    (
        {"metrics": [None, np.diag([1.0, 0, 1])]},
        "positive definite, but",
    ),
    ({"metrics": [None, -np.eye(3)]}, "positive definite"),
    ({"smooth": 1.0, "metrics": [None, None]}, "exclude each other"),
]


@pytest.mark.parametrize(("how", "words"), BAD)
def test_bad_metrics_are_rejected_before_any_work(make_samples, how, words):
    X, y = make_samples((4, 3), 30)
    with pytest.raises(ValueError, match=words):
        TensorCRP(**how).fit(X, y)


@pytest.mark.parametrize("strengths", [-1.0, (1.0, np.nan), (1.0, 2.0, 3.0)])
def test_bad_strengths_without_an_estimator(make_samples, strengths):
    """They are not taken for none."""
    scatter = ClassScatter.from_samples(*make_samples((4, 3), 30))
    with pytest.raises(ValueError, match=r"^strengths (of mode|must be)"):
        fit_path(scatter, Spec(2, metrics=(Smoothness(strengths),)))
