"""Numbers that stay sane: scales, offsets, class sizes, scatters close to singular.

Every case agrees with a reference in float64 to the tolerance that it states, or ends
in an error or a warning that names the remedy; never in a silent NaN. References are
the same problem at a harmless scale, without the offset, or solved by other means.
"""

import warnings

import numpy as np
import oracle
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from pairs import together
from sklearn.base import clone, is_classifier
from sklearn.exceptions import ConvergenceWarning

from tensorcrp import ClassScatter, TensorCRP, TensorCRPCV, baselines
from tensorcrp.baselines import (
    MPCA,
    BilinearSVC,
    CPLogistic,
    RidgeLDA,
    TensorLPP,
    TwoDPCA,
)

ESTIMATORS = [
    TensorCRP(),
    TensorCRP(rank="full"),
    TensorCRP(4, init="identity", between="samples"),
    TensorCRP(4, init="random", n_init=2, random_state=0),
    TensorCRPCV(ranks=(1,), regs=(1.0,), smooth=(0.0,), n_components=4, cv=2),
    *(each.cls() for each in baselines.BASELINES),
]
# The loss of a classifier has a scale of its own: neither scale nor offset are free.
FREE = [
    model for model in ESTIMATORS if not isinstance(model, BilinearSVC | CPLogistic)
]
every = pytest.mark.parametrize("model", ESTIMATORS, ids=str)
free = pytest.mark.parametrize("model", FREE, ids=str)
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def samples(n=60, shape=(4, 3), seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    means = 2 * rng.standard_normal((3, *shape))
    return means[y] + rng.standard_normal((n, *shape)), y


def features(model, X, y, new=None):
    model = clone(model).fit(X, y)
    new = X if new is None else new
    scores = model.transform if hasattr(model, "transform") else model.decision_function
    return scores(new)


def in_units(values):
    """Features as shares of their largest magnitude, whatever their scale.

    The sign of a direction is that of its largest entry, which rounding may choose
    among equals.
    """
    values = np.asarray(values, float) - np.mean(values, axis=0)
    signs = np.sign(values[np.abs(values).argmax(axis=0), np.arange(values.shape[1])])
    return signs * values / np.abs(values).max()


# --- scale ------------------------------------------------------------------------


@free
@together("exponent", [-150, 150])
@together("n", [60, 9])  # more samples than entries, and fewer
def test_entries_of_any_scale(model, exponent, n):
    """Powers of two are exact, so that nothing but the range of numbers can differ."""
    X, y = samples(n)
    scale = 2.0 ** round(exponent * np.log2(10))
    expected = in_units(features(model, X, y))
    assert_allclose(in_units(features(model, X * scale, y)), expected, atol=1e-9)


@free
@together("exponent", [-30, 30])
def test_float32_of_any_scale(model, exponent):
    X, y = samples()
    X = X.astype(np.float32)
    scale = np.float32(2.0 ** round(exponent * np.log2(10)))
    expected = in_units(features(model, X, y))
    assert_allclose(in_units(features(model, X * scale, y)), expected, atol=1e-4)


@together("exponent", [-140, -20, 20, 140])
@pytest.mark.parametrize("model", [TensorCRP(3), RidgeLDA()], ids=str)
def test_an_absolute_ridge_scales_with_the_square(model, exponent):
    X, y = samples()
    scale = 2.0 ** round(exponent * np.log2(10))
    plain = clone(model).set_params(reg_scale="absolute", reg=3.0).fit(X, y)
    scaled = clone(model).set_params(reg_scale="absolute", reg=3.0 * scale**2)
    scaled.fit(X * scale, y)
    size = np.abs(plain.projections_).max() / np.abs(scaled.projections_).max()
    assert_allclose(scaled.projections_ * size, plain.projections_, atol=1e-12)
    assert scaled.lambda_ == plain.lambda_ * scale**2


# Of data without full rank some features are constant, and a warning says so:
# `test_constant_features.py` compares the number.
some_constant = pytest.mark.filterwarnings(r"ignore:\d+ of \d+ features of")


@free
@some_constant
def test_entries_of_all_scales_at_once(model):
    X, y = samples()
    X = X * np.logspace(150, -150, 12).reshape(4, 3)
    assert np.isfinite(features(model, X, y)).all()


@every
def test_subnormal_entries(model):
    """Squares are zero: finite, or an error that says so."""
    X, y = samples()
    refused_or_finite(model, X * 1e-310, y)


@every
def test_entries_whose_squares_overflow(model):
    X, y = samples()
    refused_or_finite(model, X * 1e160, y)


def refused_or_finite(model, X, y):
    """A documented error that names a remedy, or a finite result that is right."""
    try:
        with np.errstate(all="ignore"):
            values = features(model, X, y)
    except ValueError as error:
        assert any(word in str(error) for word in REMEDIES), error
    else:
        assert np.isfinite(values).all()


REMEDIES = ("Divide X", "Pass", "Set reg", "Raise", "Lower reg")


@free
def test_a_scale_that_is_refused_says_that_it_is_the_scale(model):
    """And not that nothing varies."""
    X, y = samples()
    for scale in (1e307, 1e160, 1e-160, 1e-170):
        with np.errstate(all="ignore"), pytest.raises(ValueError, match="Divide X"):
            features(model, X * scale, y)


@pytest.mark.parametrize("model", [TensorCRP(), RidgeLDA()], ids=str)
def test_a_ridge_that_overflows_says_so(model):
    X, y = samples()
    with np.errstate(all="ignore"), pytest.raises(ValueError, match="Lower reg"):
        features(clone(model).set_params(reg=1e20), X * 1e150, y)


# --- offsets ----------------------------------------------------------------------


@free
@together("offset", [1e2, 1e6])
@together("n", [60, 9])
def test_a_constant_tensor_changes_nothing_but_rounding(model, offset, n):
    """A shift by a whole tensor, not by a number. Rounding is that of the offset.

    Each entry is off by half a unit in the last place of the offset; what the
    conditioning of the problem makes of it is the factor, the same for all offsets.
    """
    X, y = samples(n)
    shift = offset * (1 + np.random.default_rng(1).random(X.shape[1:]))
    expected = in_units(features(model, X, y))
    got = in_units(features(model, X + shift, y))
    rounding = offset * np.finfo(float).eps
    assert_allclose(got, expected, atol=1e5 * rounding)


@free
@together("n", [60, 9])
def test_float32_with_means_a_million_times_the_deviations(model, n):
    """Fitted in float32 and in float64 to the same numbers: the same directions."""
    X, y = samples(n)
    X = (X + 1e6 * (1 + np.random.default_rng(1).random(X.shape[1:]))).astype("f4")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of float32 features, see below
        single = features(model, X, y, new=X.astype(float))
    double = features(model, X.astype(float), y)
    tolerance = 1e-3 if len(X) < 12 else 1e-6  # few samples: the root is float32
    assert_allclose(in_units(single), in_units(double), atol=tolerance)


@free
def test_float32_features_of_such_samples_are_right_or_warned_of(model):
    X, y = samples()
    X = (X + 1e6 * (1 + np.random.default_rng(1).random(X.shape[1:]))).astype("f4")
    with warnings.catch_warnings(record=True) as record:
        warnings.simplefilter("always")
        single = features(model, X, y)
    exact = in_units(features(model, X.astype(float), y))
    words = [str(each.message) for each in record]
    warned = any("float32" in each and "X.astype(float)" in each for each in words)
    assert warned or np.abs(in_units(single) - exact).max() < 1e-3


@free
def test_float32_of_moderate_offset_is_not_warned_of(model):
    X, y = samples()
    X = (X + 100).astype(np.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ConvergenceWarning)
        single = features(model, X, y)
    exact = in_units(features(model, X.astype(float), y))
    assert_allclose(in_units(single), exact, atol=1e-3)


# --- class sizes ------------------------------------------------------------------


def of_counts(counts, shape=(2, 2), seed=0):
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(len(counts)), counts)
    means = 2 * rng.standard_normal((len(counts), *shape))
    return means[y] + rng.standard_normal((len(y), *shape)), y


LARGE = [
    model for model in ESTIMATORS if not isinstance(model, TensorLPP | TensorCRPCV)
]


@pytest.mark.parametrize("model", LARGE, ids=str)
@together("counts", [(2, 1), (1, 10_000), (50_000, 50_000), (2,) * 100])
def test_tiny_and_huge_classes(model, counts):
    X, y = of_counts(counts)
    assert np.isfinite(features(model, X, y)).all()


@every
def test_two_samples(model):
    X, y = of_counts((1, 1))
    with np.errstate(all="raise"):
        try:
            assert np.isfinite(features(model, X, y)).all()
        except ValueError as error:
            assert "Pass" in str(error) or "n_splits" in str(error)


@pytest.mark.parametrize("between", ["classes", "samples"])
def test_one_sample_beside_ten_thousand(between):
    """Against the objective written out over all samples."""
    X, y = of_counts((1, 10_000), shape=(3, 2))
    model = TensorCRP(1, between=between, rank="full", tol=0).fit(X, y)
    (W,) = model.components_
    J = oracle.objective(W, X, y, model.lambda_, between)
    assert_allclose(model.objective_[0], J, rtol=1e-10)


def test_a_hundred_thousand_samples_give_the_scatter_of_the_textbook():
    X, y = of_counts((50_000, 50_000))
    scatter = ClassScatter.from_samples(X, y)
    flat = scatter.root.reshape(len(scatter.root), -1)
    centred = (X - np.array([X[y == c].mean(axis=0) for c in (0, 1)])[y]).reshape(-1, 4)
    assert_allclose(flat.T @ flat, centred.T @ centred, rtol=1e-10)


# Without graphs and folds of samples, which are not statistics alone.
@pytest.mark.parametrize(
    "model",
    [each for each in FREE if not isinstance(each, TensorLPP | TensorCRPCV)],
    ids=str,
)
def test_every_sample_ten_thousand_times(model):
    """The same ratio: a relative ridge grows with the scatter, an even split stays."""
    X, y = samples(12)
    weight = np.full(12, 1e4)
    got = clone(model).fit(X, y, sample_weight=weight).transform(X)
    assert_allclose(in_units(got), in_units(features(model, X, y)), atol=1e-6)


# --- close to singular ------------------------------------------------------------


def near_singular(kind):
    X, y = samples()
    rng = np.random.default_rng(2)
    centres = np.array([X[y == c].mean(axis=0) for c in range(3)])[y]
    return {
        "entries twice": np.repeat(X, 2, axis=1),
        "entries nearly twice": np.concatenate([X, X * (1 + 1e-12)], axis=1),
        "entries of falling size": X * np.logspace(0, -8, 12).reshape(4, 3),
        "constant entries": np.concatenate([X, 0 * X + 7], axis=1),
        "rank one": rng.standard_normal((60, 1, 1)) * X[0] + 1e-9 * X,
        "one sample differs": centres + (np.arange(60) == 5)[:, None, None] * X,
        "an outlier": X * np.where(np.arange(60) == 3, 1e9, 1)[:, None, None],
        "tiny noise": centres + 1e-9 * X,
    }[kind], y


KINDS = """entries twice|entries nearly twice|entries of falling size|constant entries
rank one|one sample differs|an outlier|tiny noise""".replace("\n", "|").split("|")


RIDGED = [model for model in ESTIMATORS if "reg" in model.get_params()]
BARELY_RIDGED = [clone(model).set_params(reg=1e-12) for model in RIDGED]


@pytest.mark.parametrize("model", ESTIMATORS + BARELY_RIDGED, ids=str)
@some_constant
def test_near_singular_scatters(model):
    # A fold without the one sample that differs has nothing within: another error.
    folds = isinstance(model, TensorCRPCV)
    for kind in (
        each for each in KINDS if not (folds and each == "one sample differs")
    ):
        X, y = near_singular(kind)
        assert np.isfinite(features(model, X, y)).all(), kind


@pytest.mark.parametrize("reg", [1e-12, 0.3, 1e12])
@together("kind", KINDS)
def test_near_singular_scatters_reach_the_maximum(kind, reg):
    """At full rank J has a known maximum: compare with the textbook's eigenproblem."""
    X, y = near_singular(kind)
    model = TensorCRP(1, rank="full", reg=reg).fit(X, y)
    scatter = ClassScatter.from_samples(X, y)
    A = scatter.root.reshape(len(scatter.root), -1)
    D = scatter.between("classes").reshape(3, -1)
    # max of w'D'Dw / w'(A'A + lambda)w, by singular values of a whitened D.
    _, s, Vt = np.linalg.svd(A, full_matrices=True)
    s = np.concatenate([s, np.zeros(A.shape[1] - len(s))])
    floor = 4 * np.finfo(float).eps * (s**2).sum()  # below it a ridge is rounding
    white = D @ Vt.T / np.sqrt(s**2 + max(model.lambda_, floor))
    best = np.linalg.norm(white, 2) ** 2
    assert_allclose(model.objective_[0], best, rtol=1e-3)


@free
@together("value", [1e9, 1e150])
def test_a_huge_constant_entry_hides_nothing(model, value):
    """Other entries still vary; the constant one has no part in any feature."""
    X, y = samples()
    X[:, 0, 0] = value
    assert np.isfinite(features(model, X, y)).all()


@pytest.mark.parametrize("model", RIDGED, ids=str)
@some_constant
@together("kind", KINDS)
def test_no_ridge_at_all(model, kind):
    X, y = near_singular(kind)
    refused_or_finite(clone(model).set_params(reg=0), X, y)


# --- the other numbers ------------------------------------------------------------


@every
@together("dtype", [np.uint8, np.int8, np.int64, bool, np.float16])
def test_other_types_of_numbers_do_not_wrap_around(model, dtype):
    """Squares and sums of small integers leave their type; ours never stay in it."""
    X, y = samples()
    X = (40 * X + 100).clip(0, 127)
    numbers = (X > 100) if dtype is bool else X.astype(dtype)
    got, expected = (features(model, Z, y) for Z in (numbers, numbers.astype(float)))
    scale = np.abs(expected).max()
    assert_allclose(got, expected, atol=1e-9 * scale)


@every
def test_features_are_the_same_bit_by_bit_in_any_batch_of_one_type(model):
    X, y = samples()
    fitted = clone(model).fit(X, y)
    scores = (
        fitted.decision_function
        if is_classifier(fitted) and not hasattr(fitted, "transform")
        else fitted.transform
    )
    assert_array_equal(scores(X), scores(X.copy(order="F")))
    assert_allclose(scores(X)[:7], scores(X[:7]), rtol=1e-12, atol=1e-12)


def test_centred_methods_take_the_mean_off_before_they_project():
    """Otherwise float32 would lose the deviations behind the mean."""
    X, y = samples()
    X = (X + 1e6).astype(np.float32)
    for model in (MPCA(), TwoDPCA(), TensorLPP()):
        exact = in_units(features(model, X.astype(float), y))
        assert_allclose(in_units(features(model, X, y)), exact, atol=1e-4)
