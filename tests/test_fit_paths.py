"""Several scatters in one call: what each has alone, together and one by one."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from tensorcrp import ClassScatter
from tensorcrp.solver import (
    Euclidean,
    PaperDeflation,
    Smoothness,
    Spec,
    directions,
    fit_path,
    fit_paths,
    lane_rows,
)
from tensorcrp.solver.array_rows import ArrayRows
from tensorcrp.solver.path import _groups
from tensorcrp.solver.spec import Lane

METRICS = Euclidean(), Smoothness(2.0)
SHAPES = [(6,), (5, 4), (3, 4, 2), (2, 3, 2, 2)]


def scatters(shape, sizes=(12, 40, 25), seed=0):
    """Three sets of samples, more and fewer than entries, of three classes."""
    rng = np.random.default_rng(seed)
    means = rng.standard_normal((3, *shape))
    each = [np.arange(n) % 3 for n in sizes]
    noise = [rng.standard_normal((n, *shape)) for n in sizes]
    return [
        ClassScatter.from_samples(means[y] + Z, y)
        for y, Z in zip(each, noise, strict=True)
    ]


def combinations(shape):
    """Other ones for every scatter."""
    some = [(m, k, reg) for m in METRICS for k in (1, 2, "full") for reg in (0.1, 3.0)]
    return [some, some[::2], some[-5:]]


@pytest.mark.parametrize("copies", [True, False])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_every_scatter_has_the_models_that_it_has_alone(shape, copies, monkeypatch):
    if not copies:  # lanes of a source share its rows
        monkeypatch.setattr(lane_rows, "MOST_BYTES", 0)
    spec = Spec(3, max_iter=4, tol=0.0)
    asked = list(zip(scatters(shape), combinations(shape), strict=True))
    together = fit_paths(asked, spec)
    for (scatter, some), models in zip(asked, together, strict=True):
        assert [(m.metric, m.rank, m.reg) for m in models] == some
        for lane, model in zip(some, models, strict=True):
            (alone,) = fit_path(scatter, Spec(3, lanes=[lane], max_iter=4, tol=0.0))
            assert model.lam == alone.lam
            assert_allclose(model.projections, alone.projections, atol=1e-8)
            for mine, other in zip(model.history, alone.history, strict=True):
                assert_allclose(mine, other, rtol=1e-9)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_copies_start_from_the_rows_that_others_start_from(shape, monkeypatch):
    """From every fourth one, of sources of several lengths, in every metric."""
    monkeypatch.setattr(directions, "START_ROWS", 10)
    asked = list(zip(scatters(shape), combinations(shape), strict=True))
    copies = fit_paths(asked, Spec(3, max_iter=1))
    monkeypatch.setattr(lane_rows, "MOST_BYTES", 0)
    for mine, other in zip(copies, fit_paths(asked, Spec(3, max_iter=1)), strict=True):
        for one, same in zip(mine, other, strict=True):
            assert_allclose(one.projections, same.projections, atol=1e-8)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_lanes_of_one_scatter_may_be_done_before_those_of_others(shape, monkeypatch):
    monkeypatch.setattr(lane_rows, "MOST_BYTES", 0)
    how, some = {"max_iter": 20, "tol": 0.01}, [(METRICS[0], k, 0.1) for k in (1, 2)]
    asked = [(scatter, some) for scatter in scatters(shape)]
    for (scatter, _), models in zip(
        asked, fit_paths(asked, Spec(2, **how)), strict=True
    ):
        alone = fit_path(scatter, Spec(2, ranks=(1, 2), regs=(0.1,), **how))
        for mine, other in zip(models, alone, strict=True):
            assert_array_equal(mine.result.n_iter, other.result.n_iter)
            assert_allclose(mine.projections, other.projections, atol=1e-8)


@pytest.mark.parametrize("init", ["random", "identity"])
def test_starts_that_do_not_look_at_the_data(init):
    spec = Spec(2, init=init, n_init=2, max_iter=3, tol=0.0, random_state=0)
    some = [(METRICS[0], k, 1.0) for k in (1, 2)]
    asked = [(scatter, some) for scatter in scatters((5, 4))]
    for (scatter, _), models in zip(asked, fit_paths(asked, spec), strict=True):
        alone = fit_path(scatter, Spec(2, ranks=(1, 2), regs=(1.0,), **how(spec)))
        for mine, other in zip(models, alone, strict=True):
            assert_allclose(mine.projections, other.projections, atol=1e-8)


def how(spec):
    names = "init", "n_init", "max_iter", "tol", "random_state"
    return {name: getattr(spec, name) for name in names}


def test_large_scatters_are_solved_one_by_one(monkeypatch):
    spec, shape = Spec(2, max_iter=2), (5, 4)
    asked = list(zip(scatters(shape), combinations(shape), strict=True))
    together = fit_paths(asked, spec)
    monkeypatch.setattr(lane_rows, "SMALL_BYTES", 0)
    for mine, other in zip(fit_paths(asked, spec), together, strict=True):
        for one, same in zip(mine, other, strict=True):
            assert_allclose(one.projections, same.projections, atol=1e-8)


def test_lanes_of_small_rows_are_two_groups_and_those_of_large_ones_more(monkeypatch):
    """Full rank apart; of large rows each source too, and each metric at full rank."""
    rows = [[ArrayRows.of(np.ones((n, 5, 4))) for n in (3, 9)]] * 2
    asked = [(s, m, k) for s in (0, 1) for m in METRICS for k in (2, "full", 1)]
    lanes = [Lane(*each, reg=1.0, lam=1.0) for each in asked]

    def groups():
        return [[asked[i] for i in group] for group in _groups(lanes, rows)]

    low = [[[(s, m, k) for m in METRICS] for k in (1, 2)] for s in (0, 1)]
    full = [(s, m, "full") for s in (0, 1) for m in METRICS]
    (one, two), (three, four) = low
    assert groups() == [one + three + two + four, full]
    monkeypatch.setattr(lane_rows, "SMALL_BYTES", 0)
    apart = [one + two, three + four, *([each] for each in full)]
    assert sorted(groups(), key=str) == sorted(apart, key=str)


def test_a_callback_hears_of_all_lanes_that_are_solved_together():
    heard = []

    def callback(p, objective, n_iter, factors):
        heard.append((p, len(objective), [factor[0].shape for factor in factors]))

    some = [(METRICS[0], "full", 1.0), (METRICS[1], "full", 1.0)]
    asked = [(scatter, some) for scatter in scatters((5, 4))]
    models = fit_paths(asked, Spec(2, callback=callback))
    assert [(p, n) for p, n, _ in heard] == [(0, 6), (1, 6)]
    assert heard[0][2] == [(5, 4)] * 6
    assert all(len(each) == 2 for each in models)


def test_an_order_of_modes_does_not_concern_vectors():
    class Half(PaperDeflation):
        is_plain = False

        def removed(self, gram):
            return np.broadcast_to(np.eye(gram.shape[-1]) / 2, gram.shape)

    how, scatter = {"ranks": ("full",), "deflation": Half()}, scatters((5, 4))[0]
    (usual,) = fit_path(scatter, Spec(2, **how))
    (other,) = fit_path(scatter, Spec(2, modes=(1, 0), **how))
    assert_array_equal(other.projections, usual.projections)


def test_bad_requests():
    one, other = scatters((5, 4))[0], scatters((6, 4))[0]
    lanes = [(METRICS[0], 1, 1.0)]
    with pytest.raises(ValueError, match=r"one shape, got the shapes \[\]"):
        fit_paths([], Spec(2))
    with pytest.raises(ValueError, match=r"\(5, 4\), \(6, 4\)"):
        fit_paths([(one, lanes), (other, lanes)], Spec(2))
    with pytest.raises(ValueError, match="every rank"):
        fit_paths([(one, [(METRICS[0], 0, 1.0)])], Spec(2))
