"""What must hold for every data set, searched for counter-examples by hypothesis.

A data set has order 1 to 5, modes from size 1 up, two to four classes of any size (one
sample too), and may repeat samples, hold constant entries, whole numbers (hence ties)
or rows of low rank. Ranks go beyond the size of modes; lambda from 1e-6 to 1e6.
"""

from dataclasses import dataclass
from math import prod

import numpy as np
import oracle
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from tensorcrp import ClassScatter, TensorCRP
from tensorcrp.solver import solve
from tensorcrp.solver.cp_form import cp_normalize
from tensorcrp.solver.starts import random_start

# Samples that are equal in all classes are among the cases.
pytestmark = pytest.mark.filterwarnings(
    r"ignore:\d+ of \d+ features of TensorCRP are constant"
)

# Sizes per order that keep a sample at 60 entries or so: the search is for corner
# cases, and those are small.
LARGEST = {1: 12, 2: 6, 3: 4, 4: 3, 5: 3}


@dataclass(frozen=True)
class Case:
    """A data set and the parameters of a fit."""

    shape: tuple
    counts: tuple
    kind: str
    seed: int
    duplicates: bool
    constant: bool
    exponent: float
    rank: int
    n_components: int
    init: str
    between: str

    @property
    def lam(self):
        return 10.0**self.exponent

    def samples(self):
        rng = np.random.default_rng(self.seed)
        y = np.repeat(np.arange(len(self.counts)), self.counts)
        X = KINDS[self.kind](rng, len(y), self.shape) + 0.0
        if self.duplicates:
            X[1::2] = X[: len(X) - 1 : 2]
        if self.constant:
            X[:, rng.random(self.shape) < 0.5] = 3.0
        return X, y

    def estimator(self, **changes):
        params = {
            "n_components": self.n_components,
            "rank": self.rank,
            "reg": self.lam,
            "reg_scale": "absolute",
            "between": self.between,
            "init": self.init,
            "max_iter": 4,
            "tol": 0,
            "random_state": 0,
        }
        return TensorCRP(**(params | changes))


def _normal(rng, n, shape):
    return rng.standard_normal((n, *shape))


def _whole_numbers(rng, n, shape):
    return rng.integers(-1, 2, (n, *shape)).astype(float)


def _low_rank(rng, n, shape):
    flat = rng.standard_normal((n, 2)) @ rng.standard_normal((2, prod(shape)))
    return flat.reshape(n, *shape)


KINDS = {"normal": _normal, "whole": _whole_numbers, "low rank": _low_rank}


@st.composite
def cases(draw, kinds=tuple(KINDS), constants=(False, True)):
    order = draw(st.integers(1, 5))
    sizes = st.integers(1, LARGEST[order])
    shape = tuple(draw(st.lists(sizes, min_size=order, max_size=order)))
    return Case(
        shape=shape,
        counts=tuple(draw(st.lists(st.integers(1, 8), min_size=2, max_size=4))),
        kind=draw(st.sampled_from(kinds)),
        seed=draw(st.integers(0, 2**16)),
        duplicates=draw(st.booleans()),
        constant=draw(st.sampled_from(constants)),
        exponent=draw(st.floats(-6, 6)),
        rank=draw(st.integers(1, 4)),
        n_components=draw(st.integers(1, min(4, prod(shape)))),
        init=draw(st.sampled_from(["lda", "identity", "random"])),
        between=draw(st.sampled_from(["classes", "samples"])),
    )


@given(cases())
def test_a_fit_is_what_it_says(case):
    """One fit of a case for all that must hold for it."""
    X, y = case.samples()
    before = X.tobytes()
    crp = case.estimator().fit(X, y)
    assert X.tobytes() == before
    the_objective_never_decreases(crp)
    projections_have_unit_norm_and_everything_is_finite(crp, X)
    the_residual_is_the_sequentially_deflated_sample(crp, X)
    the_objective_is_that_of_the_projections(crp, case, X, y)
    a_refit_is_bitwise_the_same(crp, case, X, y)


def the_objective_never_decreases(crp):
    for history in crp.history_:
        assert np.all(np.diff(history) >= -1e-9 * history[:-1])


def projections_have_unit_norm_and_everything_is_finite(crp, X):
    flat = crp.components_.reshape(crp.n_components, -1)
    assert_allclose(np.linalg.norm(flat, axis=1), 1, rtol=1e-12)
    fitted = [*crp.factors_, *crp.history_, crp.projections_, crp.transform(X)]
    assert all(np.isfinite(each).all() for each in fitted)
    assert all(np.all(history >= 0) for history in crp.history_)


def the_residual_is_the_sequentially_deflated_sample(crp, X):
    scores, left = oracle.features(crp.components_, X)
    features = crp.transform(X)
    size = np.abs(X).max()
    assert_allclose(features, scores, atol=1e-10 * size)
    assert_allclose(X - crp.inverse_transform(features), left, atol=1e-10 * size)


def the_objective_is_that_of_the_projections(crp, case, X, y):
    # J is a square of scores over lambda or more, and a score is off by some units in
    # the last place of the samples times the terms of W, which may cancel each other.
    terms = np.prod([np.linalg.norm(f, axis=1) for f in crp.factors_], axis=0)
    rounding = 1e-14 * np.linalg.norm(X) * terms.sum(axis=1) / np.sqrt(case.lam)
    for p, (W, history) in enumerate(zip(crp.components_, crp.history_, strict=True)):
        J = oracle.objective(W, X, y, case.lam, case.between)
        assert_allclose(np.sqrt(history[-1]), np.sqrt(J), rtol=1e-9, atol=rounding[p])
        _, X = oracle.deflate(X, W)


def a_refit_is_bitwise_the_same(crp, case, X, y):
    again = case.estimator().fit(X, y)
    assert_array_equal(again.projections_, crp.projections_)
    for mine, theirs in zip(again.factors_, crp.factors_, strict=True):
        assert_array_equal(mine, theirs)
    assert_array_equal(again.transform(X), crp.transform(X))


generic = cases(kinds=("normal",), constants=(False,))


def assert_same_projections(case, W, objective, W_other, objective_other):
    """Two ways to one solution: equal where rounding does not decide.

    It decides where a start, or all that is left, tells nothing apart; hence no
    constant entries, which a term of the identity start may lie on. And rounding in one
    component moves the next, by little when the ridge holds it: so all components are
    compared if lambda is 1 or more, the first if it is smaller.
    """
    noise = (1e-14 * np.linalg.norm(case.samples()[0])) ** 2 / case.lam
    first = np.array([history[0] for history in objective])
    J, J_other = reached(objective), reached(objective_other)
    kept = (J > 1e-6 * J[0]) & (first > 1e6 * noise)
    kept[1:] &= case.lam >= 1
    kept = np.logical_and.accumulate(kept)
    tolerance = 1e-6 if case.lam >= 1 else 1e-5
    assert_allclose(W_other[kept], W[kept], atol=tolerance)
    assert_allclose(J_other[kept], J[kept], rtol=tolerance)


def reached(objective):
    return np.array([history[-1] for history in objective])


@given(generic, st.floats(-3, 3))
def test_scaling_samples_and_ridge_changes_nothing(case, exponent):
    X, y = case.samples()
    s = 10.0**exponent
    plain = case.estimator().fit(X, y)
    scaled = case.estimator(reg=case.lam * s**2).fit(X * s, y)
    assert_same_projections(
        case,
        plain.components_,
        plain.history_,
        scaled.components_,
        scaled.history_,
    )


@given(generic, st.randoms(use_true_random=False))
def test_permuting_modes_permutes_projections(case, random):
    X, y = case.samples()
    order = random.sample(range(len(case.shape)), len(case.shape))
    rank = case.rank if len(case.shape) > 1 else 1
    starts = random_start(case.shape, rank, np.random.RandomState(0))
    turned = X.transpose(0, *(m + 1 for m in order))
    plain = solve_one(case, X, y, starts, None)
    moved = solve_one(
        case, turned, y, [starts[m] for m in order], modes=np.argsort(order)
    )
    back = [moved.factors[m] for m in np.argsort(order)]
    assert_same_projections(
        case,
        cp_normalize(plain.factors)[1],
        plain.history,
        cp_normalize(back)[1],
        moved.history,
    )


def solve_one(case, X, y, starts, modes):
    scatter = ClassScatter.from_samples(X, y)
    (result,) = solve(
        scatter.between(case.between),
        scatter.root,
        [case.lam],
        rank=starts[0].shape[1],
        n_components=case.n_components,
        init=starts,
        modes=modes,
        max_iter=4,
        tol=0,
    )
    return result
