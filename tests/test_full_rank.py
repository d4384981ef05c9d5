"""Full rank in the span of the rows, and features from factors alone."""

import tracemalloc

import numpy as np
import pytest

from tensorcrp import ClassScatter
from tensorcrp.solver import GivenMetric, PaperDeflation, Smoothness, Spec, fit_path
from tensorcrp.solver import model as model_module

SHAPES = [(40,), (9, 8), (5, 4, 6)]


def scatter_of(shape, n=12, n_classes=3):
    rng, y = np.random.default_rng(0), np.arange(n) % n_classes
    means = rng.standard_normal((n_classes, *shape))
    X = rng.standard_normal((n, *shape)) + means[y]
    return X, ClassScatter.from_samples(X, y)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("smooth", [0.0, 3.0])
def test_lanes_in_a_span_are_those_that_are_solved_alone(shape, smooth):
    _, scatter = scatter_of(shape)
    how = {"ranks": ("full",), "metrics": (Smoothness(smooth),)}
    regs = (0.1, 1.0, 10.0)
    together = fit_path(scatter, Spec(4, regs=regs, **how))
    for reg, model in zip(regs, together, strict=True):
        (alone,) = fit_path(scatter, Spec(4, regs=(reg,), **how))
        np.testing.assert_allclose(model.projections, alone.projections, atol=1e-9)
        np.testing.assert_allclose(model.objective, alone.objective, rtol=1e-9)


def test_more_projections_than_the_span_has_are_orthonormal():
    _, scatter = scatter_of((9, 8))
    for model in fit_path(scatter, Spec(30, ranks=("full",), regs=(0.1, 1.0))):
        W = model.components.reshape(30, -1)
        np.testing.assert_allclose(W @ W.T, np.eye(30), atol=1e-10)
        # Two class differences, then what deflation leaves; beyond the rows nothing.
        assert (model.objective[15:] < 1e-12 * model.objective[0]).all()


def test_a_callback_sees_the_tensors_of_samples():
    _, scatter = scatter_of((9, 8))
    seen = []
    spec = Spec(
        2,
        ranks=("full",),
        regs=(0.1, 1.0),
        callback=lambda p, objective, n_iter, factors: seen.append(factors),
    )
    first, _ = fit_path(scatter, spec)
    W = first.components[1].ravel()
    told = np.einsum("ik,jk->ij", *seen[1][0]).ravel()
    np.testing.assert_allclose(np.abs(told @ W), np.linalg.norm(told), rtol=1e-9)


class HalfDeflation(PaperDeflation):
    """Half of each projection is subtracted."""

    is_plain = False

    def removed(self, gram):
        return 0.5 * np.broadcast_to(np.eye(gram.shape[-1]), gram.shape)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("deflation", [PaperDeflation(), HalfDeflation()])
def test_features_from_factors_differ_by_signs_alone(shape, deflation):
    X, scatter = scatter_of(shape, n=30)
    rng = np.random.default_rng(1)
    roots = [rng.standard_normal((size, size)) for size in shape]
    given = GivenMetric(
        [
            root @ root.T + size * np.eye(size)
            for size, root in zip(shape, roots, strict=True)
        ]
    )
    spec = Spec(
        4,
        ranks=(1, 2, "full"),
        regs=(0.3,),
        deflation=deflation,
        metrics=(Smoothness(0.0), Smoothness(2.0), given),
    )
    for model in fit_path(scatter, spec):
        signed, unsigned = model.transform(X), model.unsigned_features(X)
        signs = np.sign(np.einsum("np,np->p", signed, unsigned))
        np.testing.assert_allclose(unsigned * signs, signed, rtol=1e-9, atol=1e-11)


def test_samples_of_another_type_are_converted_in_blocks(monkeypatch):
    _, scatter = scatter_of((9, 8), n=30)
    whole = np.random.default_rng(0).integers(0, 256, (4000, 9, 8), dtype=np.uint8)
    (model,) = fit_path(scatter, Spec(2))
    expected = model.unsigned_features(whole.astype(float))
    monkeypatch.setattr(model_module, "CONVERTED", 72 * 8 * 100)
    tracemalloc.start()
    features = model.unsigned_features(whole)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    np.testing.assert_allclose(features, expected, rtol=1e-12)
    assert peak < 8 * whole.size / 4
