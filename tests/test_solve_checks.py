"""What `solve` and `Spec` are given is checked before work starts: one error each.

Whatever passes gives the result of plain float64 arrays.
"""

import inspect

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from tensorcrp import ClassScatter, TensorCRP
from tensorcrp.solver import (
    ArrayRows,
    DiscriminantRatio,
    Euclidean,
    Rows,
    Spec,
    fit_path,
    solve,
)

RNG = np.random.default_rng(0)
BETWEEN, WITHIN = RNG.normal(size=(3, 4, 3)), RNG.normal(size=(20, 4, 3))
USUAL = {"lambdas": [1.0], "n_components": 2, "rank": 2, "max_iter": 2, "tol": 0}


@pytest.mark.parametrize("function", [solve, Spec])
def test_the_solver_has_the_defaults_of_the_estimator(function):
    theirs, ours = (inspect.signature(f).parameters for f in (TensorCRP, function))
    given = [name for name, each in ours.items() if each.default is not each.empty]
    shared = [name for name in given if name in theirs]
    assert {"init", "n_init", "max_iter", "tol"} <= set(shared)
    for name in shared:
        assert ours[name].default == theirs[name].default, name
    assert Spec(1).ranks == (theirs["rank"].default,)
    assert Spec(1).regs == (theirs["reg"].default,)


class Untouched(Rows):
    """Rows outside memory that must not be read: an error comes before."""

    shape = (20, 4, 3)

    def blocks(self, size):
        raise AssertionError("work has started")

    def reshape(self, shape):
        raise AssertionError("work has started")


class Tensor:
    """Like a torch tensor: it has `__array__`, and its own module."""

    def __array__(self, dtype=None, copy=None):
        return WITHIN


def with_entry(value):
    rows = WITHIN.copy()
    rows[7, 2, 1] = value
    return rows


BAD_ROWS = [
    (Tensor(), TypeError, "within must be a NumPy array.*Tensor.*numpy.asarray"),
    (None, TypeError, "within must be a NumPy array.*NoneType"),
    (3.0, TypeError, "within must be a NumPy array.*float"),
    (np.float64(3.0), TypeError, "within must be a NumPy array.*float64"),
    (np.array(3.0), ValueError, r"shape \(n, l_1, ..., l_N\).*got shape \(\)"),
    (np.ones(5), ValueError, r"got shape \(5,\)"),
    (np.ones((0, 4, 3)), ValueError, r"at least one row.*\(0, 4, 3\)"),
    (np.ones((2, 0, 3)), ValueError, r"no mode of size 0.*\(2, 0, 3\)"),
    (np.ones((5, 3, 4)), ValueError, r"one shape.*\(4, 3\) and \(3, 4\)"),
    ([[1.0, 2.0], [1.0]], ValueError, "within is ragged"),
    (WITHIN.astype(complex), ValueError, "real numbers.*complex128"),
    (WITHIN.astype(str), ValueError, "real numbers.*<U"),
    (WITHIN.astype(object), ValueError, "real numbers.*object"),
    (np.ma.masked_array(WITHIN), ValueError, "real numbers.*masked"),
    (with_entry(np.nan), ValueError, "within contains NaN or infinity.*row 7"),
    (with_entry(-np.inf), ValueError, "within contains NaN or infinity.*row 7"),
    (with_entry(1e200), ValueError, "within has entries whose squares overflow"),
]


@pytest.mark.parametrize(("rows", "error", "words"), BAD_ROWS)
def test_bad_rows(rows, error, words):
    with pytest.raises(error, match=words):
        solve(BETWEEN, rows, **USUAL)
    swapped = words.replace("within", "between").replace(
        r"\(4, 3\) and \(3, 4\)", r"\(3, 4\) and \(4, 3\)"
    )
    with pytest.raises(error, match=swapped):
        solve(rows, WITHIN, **USUAL)


def test_a_denominator_of_zero():
    with pytest.raises(ValueError, match=r"within is zero.*give lambdas above 0"):
        solve(BETWEEN, 0 * WITHIN, **USUAL | {"lambdas": [1.0, 0.0]})
    (result,) = solve(BETWEEN, 0 * WITHIN, **USUAL)
    largest = np.linalg.svd(BETWEEN.reshape(3, -1))[1][0] ** 2  # of any rank
    assert 0 < result.objective[0] <= largest


def test_nan_in_rows_outside_memory():
    class Read(Untouched):
        def blocks(self, size):
            rows = with_entry(np.nan)
            for first in range(0, 20, 5):
                yield slice(first, first + 5), rows[first : first + 5]

    with pytest.raises(ValueError, match=r"within contains NaN or infinity.*row 7"):
        solve(BETWEEN, Read(), **USUAL)


@pytest.mark.parametrize("scale", [1e-90, 1e90])
def test_rows_outside_memory_have_any_scale_that_arrays_have(scale):
    """Lambda in the square of that scale: the same factors."""

    class Read(Rows):
        shape = WITHIN.shape

        def __init__(self, array):
            self.held, self.shape = array, array.shape

        def blocks(self, size):
            for first in range(0, 20, 5):
                yield slice(first, first + 5), self.held[first : first + 5]

        def reshape(self, shape):
            return Read(self.held.reshape(-1, *shape))

    plain, scaled = (
        solve(by * BETWEEN, Read(by * WITHIN), **USUAL | {"lambdas": [by * by]})[0]
        for by in (1.0, scale)
    )
    for one, other in zip(plain.factors, scaled.factors, strict=True):
        assert_allclose(one, other, rtol=0, atol=1e-10)


BAD_VALUES = [
    ("lambdas", 1.0, "lambdas must be a list.*got 1.0"),
    ("lambdas", np.array(1.0), r"lambdas must be a list.*got array\(1\.\)"),
    ("rank", 1.5, "rank must be an integer of at least 1, got 1.5"),
    ("rank", None, "rank must be an integer of at least 1, got None"),
    ("lambdas", [], "lambdas must be a list.*at least one"),
    ("lambdas", [1.0, -1.0], "every lambda must be.*0 or more, got -1.0"),
    ("lambdas", [np.nan], "every lambda must be a finite number.*got nan"),
    ("lambdas", [np.inf], "every lambda must be a finite number.*got inf"),
    ("lambdas", ["1"], "every lambda must be a finite number.*got '1'"),
    ("rank", 0, "rank must be an integer of at least 1, got 0"),
    ("rank", [2, 1.5], "rank must be an integer of at least 1, got 1.5"),
    ("rank", "full", "rank must be an integer of at least 1, got 'full'"),
    ("n_components", 0, "n_components must be an integer of at least 1, got 0"),
    ("n_components", 13, "n_components=13 is more than the 12 entries"),
    ("init", "svd", "init must be one of 'lda', 'identity', 'random', got 'svd'"),
    ("init", 5, r"init must be one of .*\[\(4, 2\), \(3, 2\)\].*got 5"),
    ("init", [np.ones((4, 2))], r"got \[\(4, 2\)\]"),
    ("init", [np.ones((1, 4, 2)), np.ones((1, 3, 2))], "starts for 1 components"),
    ("init", [np.ones((2, 4, 1)), np.ones((2, 3, 1))], r"got \[\(4, 1\), \(3, 1\)\]"),
    ("init", [np.ones((2, 4, 2)), np.zeros((2, 3, 2))], "zeros for component 0"),
    ("n_init", 0, "n_init must be an integer of at least 1, got 0"),
    ("max_iter", 0, "max_iter must be an integer of at least 1, got 0"),
    ("tol", -0.1, "tol must be a finite number, 0 or more, got -0.1"),
    ("rng", "now", "rng must be None, an integer.*Generator.*got 'now'"),
    ("rng", -1, "rng must be None, an integer.*got -1"),
    ("modes", (0, 2), r"modes must name each of the modes 0 to 1.*got \(0, 2\)"),
    ("modes", (1,), r"modes must name each of the modes 0 to 1.*got \(1,\)"),
    ("callback", 1, "callback must be a function or None, got 1"),
    ("stop", True, "stop must be a function or None, got True"),
]


@pytest.mark.parametrize(("name", "value", "words"), BAD_VALUES)
def test_bad_values(name, value, words):
    with pytest.raises(ValueError, match=words):
        solve(BETWEEN, Untouched(), **USUAL | {name: value})


BAD_SPECS = [
    ({"ranks": 2}, ValueError, "ranks must be a list or tuple"),
    ({"ranks": (2, "most")}, ValueError, "every rank must be .* or 'full', got 'most'"),
    ({"regs": (-1.0,)}, ValueError, "every reg must be .* 0 or more, got -1.0"),
    ({"reg_scale": "own"}, ValueError, "reg_scale must be one of .*got 'own'"),
    (
        {"metrics": (1.0,)},
        TypeError,
        "every metric must be an instance of Metric, got 1.0",
    ),
    ({"lanes": [(Euclidean(), 0, 1.0)]}, ValueError, "every rank .*got 0"),
    ({"objective": "ratio"}, TypeError, "objective must be an instance of Objective"),
    (
        {"deflation": DiscriminantRatio()},
        TypeError,
        "deflation must be an instance of Deflation",
    ),
    ({"random_state": [1, 2, "a"]}, ValueError, "random_state must be None"),
]


@pytest.mark.parametrize(("how", "error", "words"), BAD_SPECS)
def test_a_spec_is_checked_when_it_is_made(how, error, words):
    with pytest.raises(error, match=words):
        Spec(2, **how)


BAD_WARM = [
    np.ones((2, 4, 2)),  # one array, not one per mode
    [np.ones((2, 4, 2)), np.ones((3, 3, 2))],
    [np.ones((2, 4, 2)), np.ones((2, 4, 2))],
    [np.ones((2, 4, 2)), np.full((2, 3, 2), np.nan)],
]


@pytest.mark.parametrize("warm", BAD_WARM)
def test_factors_of_an_earlier_fit_are_compared_with_the_samples(warm):
    scatter = ClassScatter.from_samples(WITHIN, np.arange(20) % 3)
    with pytest.raises(ValueError, match="warm must be one finite array"):
        fit_path(scatter, Spec(2, warm=warm))


GOOD = {
    "lists": lambda rows: rows.tolist(),
    "tuple": tuple,
    "float16": lambda rows: rows.astype(np.float16),
    "big endian": lambda rows: rows.astype(">f8"),
    "integers": lambda rows: rows.astype(np.int8),
    "Rows": ArrayRows.of,
}


@pytest.mark.parametrize("kind", GOOD)
def test_what_is_converted_gives_the_same(kind):
    whole = [np.rint(10 * rows) for rows in (BETWEEN, WITHIN)]  # exact in every type
    (expected,) = solve(*whole, **USUAL)
    (result,) = solve(*map(GOOD[kind], whole), **USUAL)
    for one, other in zip(result.factors, expected.factors, strict=True):
        assert_array_equal(one, other)
    assert result.objective[0] > 0


def test_an_integer_is_a_random_state():
    how = USUAL | {"init": "random"}
    sources = 3, np.int64(3), np.random.RandomState(3)
    first, *others = (solve(BETWEEN, WITHIN, rng=each, **how)[0] for each in sources)
    for other in others:
        assert_array_equal(first.factors[1], other.factors[1])


def test_a_generator_is_used_and_advanced():
    one, other = (np.random.default_rng(3) for _ in range(2))
    (result,) = solve(BETWEEN, WITHIN, init="random", rng=one, **USUAL)
    draws = [[other.standard_normal((n, 2)) for n in (4, 3)] for _ in range(2)]
    starts = [np.stack(mode) for mode in zip(*draws, strict=True)]
    (expected,) = solve(BETWEEN, WITHIN, init=starts, **USUAL)
    for mine, same in zip(result.factors, expected.factors, strict=True):
        assert_array_equal(mine, same)
    assert one.random() == other.random()
