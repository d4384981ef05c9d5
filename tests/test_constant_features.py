"""Features that are the same for all training samples are warned of, once."""

import re
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone, is_classifier

from tensorcrp import ClassScatter, TensorCRP, TensorCRPCV, baselines
from tensorcrp.base.fit_warnings import MINORITY
from tensorcrp.baselines import (
    HODA,
    MPCA,
    UMLDA,
    BilinearSVC,
    CPLogistic,
    MultilinearLDA,
    TensorLPP,
    TuckerDiscriminant,
)
from tensorcrp.baselines.modes import ModesResult

WORDS = "features of .* are constant on the training samples.*Remove entries"
NUMBER = r"(\d+) of \d+ features of .* are constant"


def framed(value=0.7, n=60):
    """Three classes of pictures with a border that never changes."""
    rng = np.random.default_rng(0)
    X, y = np.full((n, 6, 5), value), np.arange(n) % 3
    inside = 2 * rng.standard_normal((3, 4, 3))[y] + rng.standard_normal((n, 4, 3))
    X[:, 1:-1, 1:-1] = inside
    return X, y


class OnTheBorder(TuckerDiscriminant):
    """Factors that see nothing but the first row and column."""

    def __init__(self, sizes=None, *, sample_shape=None):
        self.sizes = sizes
        self.sample_shape = sample_shape

    def solve_modes(self, between, within, sizes):
        return ModesResult([np.eye(size, 1) for size in between.shape], np.zeros(1))


# The paper's start has its weights on the border, where nothing pulls them away.
STUCK = TensorCRP(2, rank=1, init="identity")


OTHERS = [TensorLPP(), MultilinearLDA(), HODA(), UMLDA()]


def one_warning(call):
    with pytest.warns(UserWarning, match=WORDS) as record:
        call()
    assert [each.filename for each in record] == [__file__]


@pytest.mark.parametrize("value", [0.0, 0.7, 255.0])
@pytest.mark.parametrize("model", [STUCK, OnTheBorder()], ids=str)
def test_constant_features_are_warned_of(model, value):
    X, y = framed(value)
    fitted = clone(model)
    one_warning(lambda: fitted.fit(X, y))
    assert np.ptp(fitted.transform(X), axis=0).max() == 0
    one_warning(lambda: clone(model).partial_fit(X, y))
    one_warning(lambda: clone(model).fit_batches([(X[:31], y[:31]), (X[31:], y[31:])]))
    one_warning(lambda: clone(model).fit_scatter(ClassScatter.from_samples(X, y)))


@pytest.mark.parametrize("model", [BilinearSVC(), CPLogistic()], ids=str)
def test_scores_of_equal_samples_are_warned_of(model):
    y = np.arange(20) % 3
    one_warning(lambda: model.fit(np.ones((20, 4, 3)), y))


def test_a_search_warns_too():
    search = TensorCRPCV(
        ranks=(1,), regs=(1.0,), smooth=(0.0,), init="identity", n_components=1, cv=3
    )
    with pytest.warns(UserWarning, match=WORDS) as record:
        search.fit(*framed())
    assert len(record) == 1


def told(fit):
    """The number of constant features that a fit warns of, as its warning says."""
    with warnings.catch_warnings(record=True) as record:
        warnings.simplefilter("always")
        fit()
    words = [re.match(NUMBER, str(each.message)) for each in record]
    return sum(int(each[1]) for each in words if each)


def constant_features(features):
    """The number of features (n, h) that do not vary beside the one that varies most.

    Those of real data are far above this; null directions are far below it.
    """
    ranges = np.ptp(features.reshape(len(features), -1), axis=0)
    return int((ranges <= 1e-8 * ranges.max()).sum())


def worth_a_warning(features):
    """The number of constant features, 0 if it is a minority."""
    number, h = constant_features(features), features[0].size
    return number if number > MINORITY * h else 0


# Their rules give the null directions of a mode some of the factor's columns.
TAKE_NULL_DIRECTIONS = ("DGTDA", "HODA", "UMLDA", "ManPDA")
ALL = [TensorCRP(), MPCA(1), *(each.cls() for each in baselines.BASELINES)]


@pytest.mark.parametrize("value", [0.0, 0.7, 255.0])
@pytest.mark.parametrize("model", ALL, ids=str)
def test_a_border_alone_is_no_reason(model, value):
    X, y = framed(value)
    model = clone(model)
    number = told(lambda: model.fit(X, y))
    scores = model.decision_function if is_classifier(model) else model.transform
    assert np.ptp(scores(X), axis=0).max() > 0
    if type(model).__name__ in TAKE_NULL_DIRECTIONS:
        assert constant_features(scores(X)) > 0
        assert number == worth_a_warning(scores(X))
    else:
        assert number == 0


def repeated(kind):
    """Three classes in which some entries of a sample repeat others."""
    rng = np.random.default_rng(0)
    y = np.arange(60) % 3
    A = 1.5 * rng.standard_normal((3, 6, 5))[y] + rng.standard_normal((60, 6, 5))
    if kind == "enlarged":
        return A.repeat(2, 1).repeat(2, 2), y
    return np.stack([A, A, A, A[:, ::-1]], axis=-1), y  # frames of a clip


@pytest.mark.parametrize("kind", ["enlarged", "frames"])
@pytest.mark.parametrize("model", ALL, ids=str)
def test_weights_that_cancel_are_counted(model, kind):
    """In memory, from statistics, and of samples that are read in blocks."""
    X, y = repeated(kind)
    model = clone(model)
    number = told(lambda: model.fit(X, y))
    if is_classifier(model):
        assert number == 0
        return
    assert number == worth_a_warning(model.transform(X))
    found = constant_features(model.transform(X))
    assert bool(found) == (type(model).__name__ in TAKE_NULL_DIRECTIONS)
    if hasattr(model, "fit_batches"):
        batches = [(X[:31], y[:31]), (X[31:], y[31:])]
        assert told(lambda: model.fit_batches(batches)) == number


def test_weights_that_cancel_are_counted_beyond_memory(tmp_path):
    """Of rows that are read from a file, or in chunks."""
    X, y = repeated("enlarged")
    np.save(tmp_path / "X.npy", X)
    stored = np.load(tmp_path / "X.npy", mmap_mode="r")
    scatter = ClassScatter.from_samples(stored, y, max_memory=0)
    assert not scatter.within.in_memory
    model = HODA()
    number = told(lambda: model.fit_scatter(scatter))
    assert number == constant_features(model.transform(X)) > 0
    da = pytest.importorskip("dask.array")
    chunks = da.from_array(X, chunks=(25, -1, -1)), da.from_array(y, chunks=25)
    assert told(lambda: HODA().fit(*chunks)) == number


@pytest.mark.skipif(np.__version__ < "2", reason="array-api-strict needs NumPy 2")
def test_weights_that_cancel_are_counted_on_a_device():
    xp = pytest.importorskip("array_api_strict")
    X, y = repeated("enlarged")
    there = xp.asarray(X, device=xp.Device("device1"))
    number = told(lambda: HODA().fit(X, y))
    assert told(lambda: HODA().fit(there, y)) == number > 0


def test_lpp_of_repeated_entries_is_that_of_each_once():
    """At order 1, where no start counts: two features (c - 1), equal but for scale."""
    X, y = repeated("enlarged")
    each = [TensorLPP(2, reg=0).fit(Z, y) for Z in (X[:, 0, ::2], X[:, 0])]
    assert_allclose(*(lpp.objective_ for lpp in each), rtol=1e-8)
    few, all_ = (
        lpp.transform(X[:, 0, :: X.shape[2] // len(lpp.mean_)]) for lpp in each
    )
    scale = (few * all_).sum(axis=0) / (few**2).sum(axis=0)
    assert_allclose(all_, few * scale, rtol=0, atol=1e-8)


@pytest.mark.parametrize("model", [TensorCRP(), MPCA(), *OTHERS], ids=str)
@pytest.mark.parametrize("size", [1e3, 1e9])
def test_an_outlier_hides_no_feature(model, size):
    """Features of its complement are small beside it, and vary."""
    rng = np.random.default_rng(0)
    y = np.arange(60) % 3
    X = 2 * rng.standard_normal((3, 4, 3))[y] + rng.standard_normal((60, 4, 3))
    X[7] *= size
    assert told(lambda: clone(model).fit(X, y)) == 0


def test_lpp_beyond_the_rank_of_a_mode():
    """Null directions come last, and are told of if they are many."""
    X, y = repeated("enlarged")
    for size, number in ((8, 0), (12, 12)):
        lpp = TensorLPP((size, 2))
        assert told(lambda lpp=lpp: lpp.fit(X, y)) == number
        ranges = np.ptp(lpp.transform(X), axis=0).reshape(size, 2)
        assert (ranges[:6] > 1e-3).all() and (ranges[6:] < 1e-8).all()
