"""White features and the ridge "auto", against direct computations with samples."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from tensorcrp import ClassScatter, TensorCRP
from tensorcrp.base import shrinkage
from tensorcrp.base.shrinkage import oas_reg, white_mixing
from tensorcrp.solver import Euclidean, Smoothness


def samples(shape=(6, 5), n=90, n_classes=3, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % n_classes
    means = rng.standard_normal((n_classes, *shape))
    return means[y] + rng.standard_normal((n, *shape)), y


def centred(X, y):
    """Deviations (n, P) from the class means."""
    flat = X.reshape(len(X), -1).astype(float)
    return np.concatenate([flat[y == c] - flat[y == c].mean(0) for c in np.unique(y)])


@pytest.mark.parametrize("parameters", [{}, {"smooth": 1.0}, {"rank": "full"}], ids=str)
@pytest.mark.parametrize("shape", [(6, 5), (4, 3, 2)])
def test_features_are_white_within_classes_but_for_the_shrinkage(shape, parameters):
    X, y = samples(shape)
    raw = TensorCRP(5, **parameters).fit(X, y)
    white = TensorCRP(5, white=True, **parameters).fit(X, y)
    rest = centred(raw.transform(X), y)
    S = rest.T @ rest / (len(y) - 3)
    shrunk = S / 2 + np.trace(S) / 5 / 2 * np.eye(5)
    R = white.mixing_
    assert_allclose(R, R.T)
    assert_allclose(R @ shrunk @ R, np.eye(5), atol=1e-10)
    assert_allclose(white.transform(X), raw.transform(X) @ R, atol=1e-10)
    assert_array_equal(white.components_, raw.components_)
    assert raw.mixing_ is None


def test_what_white_features_add_up_to_is_the_same():
    X, y = samples()
    both = [TensorCRP(4, white=white).fit(X, y) for white in (False, True)]
    assert_allclose(*(crp.inverse_transform(crp.transform(X)) for crp in both))


def test_white_features_of_batches_files_and_chunks(tmp_path):
    da = pytest.importorskip("dask.array")
    X, y = samples()
    np.save(tmp_path / "X.npy", X)
    expected = TensorCRP(4, white=True).fit(X, y).transform(X)
    batches = TensorCRP(4, white=True).fit_batches([(X[:50], y[:50]), (X[50:], y[50:])])
    stored = np.load(tmp_path / "X.npy", mmap_mode="r")
    passes = TensorCRP(4, white=True, max_memory=1e3).fit(stored, y)
    chunks = da.from_array(X, chunks=(30, -1, -1))
    remote = TensorCRP(4, white=True, max_memory=1e3).fit(
        chunks, da.from_array(y, chunks=30)
    )
    for model in (batches, passes, remote):
        assert_allclose(model.transform(X), expected, atol=1e-8)


def test_two_equal_samples_of_a_class_are_white():
    """Nothing varies in one of two classes: the shrinkage has the rest."""
    rng = np.random.default_rng(0)
    X = np.concatenate([np.ones((2, 3, 3)), rng.normal(size=(4, 3, 3))])
    crp = TensorCRP(2, white=True).fit(X, [0, 0, 1, 1, 1, 1])
    assert np.isfinite(crp.transform(X)).all()


def oas(A, n):
    """`reg` of OAS for deviations (n, P), by the P x P covariance."""
    P = A.shape[1]
    S = A.T @ A / n
    top = (1 - 2 / P) * np.trace(S @ S) + np.trace(S) ** 2
    bottom = (n + 1 - 2 / P) * (np.trace(S @ S) - np.trace(S) ** 2 / P)
    rho = min(1.0, top / bottom)
    return rho / (1 - rho)


@pytest.mark.parametrize("n", [24, 90])  # fewer samples than entries, and more
@pytest.mark.parametrize("smooth", [0.0, (3.0, 0.0)])
def test_the_automatic_ridge_is_that_of_shrinkage(n, smooth):
    X, y = samples(n=n)
    X = X * np.linspace(0.1, 3.0, 5)  # far from a multiple of the identity
    metric = Smoothness(smooth) if smooth else Euclidean()
    A = centred(X, y)
    if smooth:
        D = np.diff(np.eye(6), axis=0)
        values, vectors = np.linalg.eigh(np.eye(6) + 3.0 * D.T @ D)
        root = (vectors / np.sqrt(values)) @ vectors.T
        A = A @ np.kron(root, np.eye(5))
    expected = oas(A, n - 3)
    assert_allclose(oas_reg(ClassScatter.from_samples(X, y), metric), expected)
    crp = TensorCRP(3, reg="auto", smooth=smooth).fit(X, y)
    assert_allclose(crp.lambda_, expected * np.square(A).sum() / 30)
    batches = TensorCRP(3, reg="auto", smooth=smooth)
    batches.fit_batches([(X[:12], y[:12]), (X[12:], y[12:])])
    assert_allclose(batches.lambda_, crp.lambda_)


def test_some_of_many_rows_tell_the_ridge_of_all(monkeypatch):
    monkeypatch.setattr(shrinkage, "MOST_ROWS", 200)
    rng = np.random.default_rng(0)
    n, P = 600, 1000
    X = rng.standard_normal((n, 8, P // 8)) * np.linspace(0.2, 2.0, P // 8)
    y = np.arange(n) % 2
    scatter = ClassScatter.from_samples(X, y, max_memory=1e5)
    assert not scatter.within.in_memory
    expected = oas(centred(X, y), n - 2)
    assert_allclose(oas_reg(scatter, Euclidean()), expected, rtol=0.02)


def test_rows_of_a_triangle_are_all_used(monkeypatch):
    """They are no samples: of one common factor the first has nearly all."""
    rng = np.random.default_rng(1)
    factor = 5 * np.outer(rng.standard_normal(90), rng.standard_normal(30))
    X, y = rng.standard_normal((90, 6, 5)) + factor.reshape(90, 6, 5), np.arange(90) % 3
    scatter = ClassScatter.from_samples(X, y)
    assert len(scatter.root) == 30
    for metric in (Euclidean(), Smoothness((3.0, 0.0))):
        expected = oas_reg(scatter, metric)
        monkeypatch.setattr(shrinkage, "MOST_ROWS", 7)
        assert_allclose(oas_reg(scatter, metric), expected)
        monkeypatch.undo()


@pytest.mark.parametrize("smooth", [0.0, 3.0])
def test_a_lost_trace_counts_as_lost_alike_in_all_directions(smooth):
    """As if the root had a share of the identity more."""
    scatter = ClassScatter.from_samples(*samples(n=90))
    metric = Smoothness(smooth) if smooth else Euclidean()
    fewer = replace(scatter, root=scatter.root[:8], missing=60.0)
    rows = np.sqrt(2.0) * np.eye(30).reshape(30, 6, 5)
    whole = replace(scatter, root=np.concatenate([scatter.root[:8], rows]))
    for each in ("relative", "absolute"):
        ridges = [some.ridge(0.3, each, metric) for some in (fewer, whole)]
        assert_allclose(*ridges)
    assert_allclose(oas_reg(fewer, metric), oas_reg(whole, metric))
    W = np.random.default_rng(0).standard_normal((4, 30))
    assert_allclose(white_mixing(fewer, W), white_mixing(whole, W))


def test_a_stream_of_few_rows_has_ridges_of_the_same_size():
    """A strength next to none is none, whatever the rows have lost."""
    X, y = samples(n=300)
    lambdas = []
    for smooth in (None, 1e-9):
        crp = TensorCRP(2, max_rows=10, smooth=smooth)
        for part in np.array_split(np.arange(300), 10):
            crp.partial_fit(X[part], y[part])
        lambdas.append(crp.lambda_)
    assert_allclose(*lambdas, rtol=1e-6)


def test_samples_that_look_like_white_noise_give_a_large_ridge():
    X, y = samples(n=6)
    scatter = ClassScatter.from_samples(np.eye(6).reshape(6, 3, 2), np.arange(6) % 2)
    assert oas_reg(scatter, Euclidean()) >= 1.0
    assert TensorCRP(2, reg="auto").fit(X, y).lambda_ > 0


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"white": 1}, "white must be True or False, got 1"),
        ({"white": "yes"}, "white must be True or False, got 'yes'"),
        ({"reg": "lw"}, "reg must be a finite number"),
    ],
)
def test_bad_values(parameters, words):
    X, y = samples()
    with pytest.raises(ValueError, match=words):
        TensorCRP(**parameters).fit(X, y)
