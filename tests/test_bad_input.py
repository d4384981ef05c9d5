"""Bad input: one error that names the problem, the value and the repair.

It comes before any work (no statistics, no solver) and leaves the estimator as it was,
whether that was unfitted or fitted. Every line of the tables is one mistake of a user,
and every public estimator that can be given it answers with the same class of error
and the same words.
"""

from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cache

import numpy as np
import pandas as pd
import pytest
from pairs import together
from scipy import sparse
from sklearn.base import clone, is_classifier

import tensorcrp.base.gate
from tensorcrp import ClassScatter, TensorCRP, TensorCRPCV
from tensorcrp.baselines import BASELINES
from tensorcrp.solver import path

N, SHAPE, CLASSES = 20, (4, 3), 3


def good_samples():
    rng = np.random.default_rng(0)
    y = np.arange(N) % CLASSES
    return rng.standard_normal((N, *SHAPE)) + 3 * y[:, None, None], y


X, Y = good_samples()
FLAT = X.reshape(N, -1)
GOOD = TensorCRP(2, max_iter=3, tol=0)


def with_entry(value, where=(5, 2, 1), dtype=float):
    spoilt = X.astype(dtype)
    spoilt[where] = value
    return spoilt


def with_constant_entry():
    spoilt = X.copy()
    spoilt[:, 1, 2] = 0.1
    return spoilt


def factors(*shapes):
    return [np.ones(shape) for shape in shapes]


@dataclass
class Case:
    """A call of fit, and words that its error message must hold."""

    name: str
    words: tuple
    params: dict = field(default_factory=dict)
    X: object = field(default_factory=lambda: X)
    y: object = field(default_factory=lambda: Y)
    weight: object = None
    error: type = ValueError
    needs_statistics: bool = False  # nothing but the scatter itself can tell
    grows: bool = False  # more batches could mend it: partial_fit waits for them

    def call(self, model, method="fit"):
        getattr(model, method)(self.X, self.y, sample_weight=self.weight)


def bad_parameter(name, value, *words):
    text = " ".join(f"{name}={value!r}".split())
    return Case(text, (name, *words), {name: value})


AT_LEAST_ONE = ("integer", "at least 1")
FINITE = ("finite number", "0 or more")
START = ("one array", "(4, 2)", "(3, 2)")
PARAMETERS = [
    bad_parameter("reg", -0.5, "-0.5", *FINITE),
    bad_parameter("reg", np.nan, "nan", *FINITE),
    bad_parameter("reg", np.inf, "inf", *FINITE),
    bad_parameter("reg", "strong", "'strong'", *FINITE),
    bad_parameter("reg", None, "None", *FINITE),
    bad_parameter("rank", 0, "got 0", "'full'", *AT_LEAST_ONE),
    bad_parameter("rank", -1, "got -1", *AT_LEAST_ONE),
    bad_parameter("rank", 1.5, "1.5", *AT_LEAST_ONE),
    bad_parameter("rank", "two", "'two'", "'full'", *AT_LEAST_ONE),
    bad_parameter("rank", None, "None", *AT_LEAST_ONE),
    bad_parameter("n_components", 0, "got 0", "'paper'", *AT_LEAST_ONE),
    bad_parameter("n_components", -2, "got -2", *AT_LEAST_ONE),
    bad_parameter("n_components", 2.0, "2.0", *AT_LEAST_ONE),
    bad_parameter("n_components", "papers", "'papers'", "'paper'", *AT_LEAST_ONE),
    bad_parameter("n_components", 13, "=13", "12", str(SHAPE), "at most 12"),
    bad_parameter("n_init", 0, "got 0", *AT_LEAST_ONE),
    bad_parameter("n_init", 1.5, "1.5", *AT_LEAST_ONE),
    bad_parameter("max_iter", 0, "got 0", *AT_LEAST_ONE),
    bad_parameter("max_iter", "many", "'many'", *AT_LEAST_ONE),
    bad_parameter("tol", -1e-3, "-0.001", *FINITE),
    bad_parameter("tol", np.nan, "nan", *FINITE),
    bad_parameter("tol", None, "None", *FINITE),
    bad_parameter("between", "class", "'class'", "'classes'", "'samples'"),
    bad_parameter("between", None, "None", "'classes'", "'samples'"),
    bad_parameter("reg_scale", "rel", "'rel'", "'relative'", "'absolute'"),
    bad_parameter("init", "svd", "'svd'", "'lda'", "'identity'", "'random'"),
    bad_parameter("init", None, "None", *START),
    bad_parameter("init", 5, "got 5", *START),
    bad_parameter("init", factors((4, 2)), "[(4, 2)]", *START),
    bad_parameter("init", factors((4, 2), (3, 3)), "(3, 3)", *START),
    bad_parameter("init", factors((3, 2), (4, 2)), "[(3, 2), (4, 2)]", *START),
    bad_parameter("init", factors((4, 2), (3, 2), (1, 2)), "(1, 2)", *START),
    bad_parameter("init", [np.ones((4, 2)), np.full((3, 2), np.nan)], "NaN"),
    bad_parameter("init", [np.ones((4, 2)), np.full((3, 2), np.inf)], "infinity"),
    bad_parameter("init", [np.ones((4, 2)), np.zeros((3, 2))], "zeros"),
    Case("random_state", ("'seed'", "RandomState"), {"random_state": "seed"}),
    bad_parameter("sample_shape", 12, "got 12", "positive integers", "e.g."),
    bad_parameter("sample_shape", "4x3", "'4x3'", "positive integers"),
    bad_parameter("sample_shape", (4, 3.0), "(4, 3.0)", "positive integers"),
    bad_parameter("sample_shape", (-4, -3), "(-4, -3)", "positive integers"),
    bad_parameter("sample_shape", (), "()", "positive integers"),
    bad_parameter("sample_shape", (3, 4), "(3, 4)", str(SHAPE), "leave sample_shape"),
]
SINGULAR = ("reg=0", "singular", "Set reg > 0")
ONE_CLASS = ("two classes", "Pass")
RAGGED = ("ragged", "same shape", "numpy.stack")
MISSING = {
    "None": np.array(["a", "b", None], object),
    "NaN among words": np.array(["a", "b", np.nan], object),
    "pandas.NA": np.array(["a", "b", pd.NA], object),
    "NaT": np.array(["2020-01-01", "2021-01-01", "NaT"], "M8[D]"),
}
ABSOLUTE = {"reg_scale": "absolute"}
UNIT = ("sample_weight", "between 1e-100 and 1e+100", "Divide all weights")
SAMPLES = [
    Case("NaN", ("NaN", "sample 5", "(2, 1)", "fill"), X=with_entry(np.nan)),
    Case("infinity", ("inf", "sample 5", "(2, 1)", "Remove"), X=with_entry(np.inf)),
    Case("minus infinity", ("inf", "sample 5", "(2, 1)"), X=with_entry(-np.inf)),
    Case("NaN first", ("NaN", "sample 0", "(0, 0)"), X=with_entry(np.nan, (0, 0, 0))),
    Case(
        "infinities of both signs",
        ("inf", "sample 2", "(0, 1)"),
        X=with_entry([np.inf, -np.inf], ([2, 7], [0, 1], [1, 1])),
    ),
    Case(
        "NaN in float32",
        ("NaN", "sample 5", "(2, 1)"),
        X=with_entry(np.nan).astype(np.float32),
    ),
    Case(
        "NaN in flattened samples",
        ("NaN", "sample 5", "(7,)"),
        {"sample_shape": SHAPE},
        X=with_entry(np.nan).reshape(N, -1),
    ),
    Case("missing object", ("NaN", "sample 5"), X=with_entry(np.nan).astype(object)),
    Case(
        "a long double beyond float64",
        ("too large for float64", "sample 5", "(2, 1)"),
        X=with_entry(np.longdouble("1e4000"), dtype=np.longdouble),
    ),
    Case("durations", ("timedelta64", "numbers"), X=(100 * X).astype("m8[s]")),
    Case("dates", ("datetime64", "numbers"), X=(100 * X).astype("M8[s]")),
    Case("one class", (*ONE_CLASS, "[0]"), y=np.zeros(N, int), grows=True),
    Case(
        "one class of positive weight",
        (*ONE_CLASS, "[1]"),
        weight=(Y == 1).astype(float),
        grows=True,
    ),
    Case(
        "every class one sample",
        ("one sample", "within", 'reg_scale="absolute"'),
        y=np.arange(N),
        grows=True,
    ),
    Case(
        "equal samples within classes",
        ("within", "equal", 'reg_scale="absolute"'),
        X=np.ones((N, *SHAPE)) * Y[:, None, None],
        needs_statistics=True,
        grows=True,
    ),
    Case(
        "reg=0, n < P",
        SINGULAR,
        {"reg": 0},
        X=X[:9],
        y=Y[:9],
        needs_statistics=True,
        grows=True,
    ),
    Case(
        "reg=0, constant entry",
        SINGULAR,
        {"reg": 0.0},
        X=with_constant_entry(),
        needs_statistics=True,
        grows=True,
    ),
    Case(
        "sample_shape of another size",
        ("sample_shape=(4, 4)", "16", "12", "the shape of one sample"),
        {"sample_shape": (4, 4)},
        X=FLAT,
    ),
    Case("y shorter", ("inconsistent", "[20, 19]"), y=Y[:-1]),
    Case("y longer", ("inconsistent", "[20, 40]"), y=np.tile(Y, 2)),
    Case("y missing", ("requires y", "None"), y=None),
    Case("y continuous", ("continuous", "label"), y=X[:, 0, 0]),
    Case("y with NaN", ("y contains NaN",), y=np.where(Y == 1, np.nan, Y)),
    *(
        Case(f"y with {name}", ("y contains NaN", "missing", "sample 2"), y=labels[Y])
        for name, labels in MISSING.items()
    ),
    Case("y of two columns", ("1d", "(20, 2)"), y=np.column_stack([Y, Y])),
    Case("no samples", ("0 sample(s)", "(0, 4, 3)"), X=X[:0], y=Y[:0]),
    Case("first mode of size 0", ("mode 0", "size 0", "(20, 0, 3)"), X=X[:, :0]),
    Case("second mode of size 0", ("mode 1", "size 0", "(20, 4, 0)"), X=X[:, :, :0]),
    Case("no columns", ("0 feature(s)", "(20, 0)"), X=FLAT[:, :0]),
    Case("complex", ("Complex", "complex128", "X.real"), X=X + 1j),
    Case("strings", ("strings", "Convert"), X=X.astype(str)),
    Case("words", ("strings", "Convert"), X=np.full(X.shape, "pixel")),
    Case("masked", ("masked", "X.filled"), X=np.ma.masked_array(X, X > 3)),
    Case("nothing", ("2D array", "scalar"), X=None),
    Case(
        "objects",
        ("not numbers", "dict", "convert"),
        X=np.array([[{}, 1.0]] * N, dtype=object),
        error=TypeError,
    ),
    Case(
        "words as objects",
        ("could not convert", "'red'"),
        X=np.array([["red", 1.0]] * N, dtype=object),
    ),
    Case(
        "sparse",
        ("Sparse", "dense", ".toarray()"),
        X=sparse.csr_array(FLAT),
        error=TypeError,
    ),
    Case("ragged list", RAGGED, X=[X[0], X[1, :2]] * (N // 2)),
    Case("ragged numbers", RAGGED, X=[[1.0, 2.0], [3.0]] * (N // 2)),
    Case(
        "ragged object array",
        RAGGED,
        X=np.array([X[0], X[1, :2]] * (N // 2), dtype=object),
    ),
    Case("one number per sample", ("2D array", "1D", "reshape"), X=X[:, 0, 0]),
    Case("a number", ("2D array", "scalar"), X=3.0),
    Case("negative weight", ("Negative", "sample_weight"), weight=1.0 - Y),
    Case("all weights zero", ("weights", "non-zero"), weight=np.zeros(N)),
    Case("NaN weight", ("sample_weight", "NaN"), weight=np.full(N, np.nan)),
    Case("huge weights", ("1.0e+300", *UNIT), ABSOLUTE, weight=np.full(N, 1e300)),
    Case("tiny weights", ("1.0e-300", *UNIT), ABSOLUTE, weight=np.full(N, 1e-300)),
    Case("too few weights", ("sample_weight", "(3,)", "(20,)"), weight=np.ones(3)),
]
CASES = PARAMETERS + SAMPLES
BY_NAME = {case.name: case for case in CASES}
assert len(BY_NAME) == len(CASES)
cases = together("what", BY_NAME)
lasting = together("what", [name for name, case in BY_NAME.items() if not case.grows])


def must_not_run(*args, **kwargs):
    pytest.fail("work was done before the input was checked")


@pytest.fixture
def no_solver(monkeypatch):
    monkeypatch.setattr(path, "solve_lanes", must_not_run)


@cache
def good_fit():
    return clone(GOOD).fit(X, Y)


@contextmanager
def unchanged(model):
    """Nothing in the model is replaced, added or lost meanwhile."""
    before = dict(vars(model))
    yield
    after = vars(model)
    assert list(after) == list(before)
    assert all(after[name] is value for name, value in before.items())


def refused(model, call, error, words):
    """The call fails with all the words and changes nothing in the model."""
    with unchanged(model), pytest.raises(error) as caught:
        call()
    message = str(caught.value)
    missing = [word for word in words if word not in message]
    assert not missing, f"{missing} not in: {message}"


@cases
def test_fit_of_an_unfitted_estimator(what, no_solver, monkeypatch):
    case = BY_NAME[what]
    model = clone(GOOD).set_params(**case.params)
    with monkeypatch.context() as inside:
        if not case.needs_statistics:
            inside.setattr(ClassScatter, "from_samples", must_not_run)
        refused(model, lambda: case.call(model), case.error, case.words)


@cases
def test_fit_of_a_fitted_estimator(what, monkeypatch):
    case, model = BY_NAME[what], copy(good_fit())
    features = model.transform(X)
    model.set_params(**case.params)
    with monkeypatch.context() as inside:
        inside.setattr(path, "solve_lanes", must_not_run)
        refused(model, lambda: case.call(model), case.error, case.words)
    np.testing.assert_array_equal(model.transform(X), features)


@lasting
def test_first_partial_fit(what, no_solver):
    case = BY_NAME[what]
    model = clone(GOOD).set_params(**case.params)
    refused(model, lambda: case.call(model, "partial_fit"), case.error, case.words)


# --- every public estimator, the same words ---------------------------------------

ESTIMATORS = {
    "TensorCRP": TensorCRP(),
    "TensorCRPCV": TensorCRPCV(ranks=(2,), regs=(0.3,), cv=2),
    **{each.name: each.cls() for each in BASELINES},
}


def baselines(which=lambda each: True):
    return {each.name for each in BASELINES if which(each)}


SEARCH = {"TensorCRPCV"}
MARGIN = baselines(lambda each: is_classifier(each.cls()))
# Not the same mistake, or not the same repair: (parameter or case, who, why).
OTHERWISE = [
    ("n_components", baselines(), "the limit is another, no 'paper'"),
    ("n_components", SEARCH, "numbers to try"),
    ("between", baselines(), "its default comes first in the list"),
    ("init", SEARCH, "compared with rank 2 of every fold, in the folds"),
    ("sample_weight", baselines(lambda each: not each.streams), "no weights"),
    ("one class", SEARCH, "folds are made first"),
    ("every class one sample", SEARCH, "folds are made first"),
    ("every class one sample", MARGIN, "not a mistake for a margin"),
    ("equal samples within classes", MARGIN, "not a mistake for a margin"),
    (
        "equal samples within classes",
        baselines(lambda each: each.supervised == "no"),
        "the means still vary",
    ),
    ("reg=0", baselines(), "a floor of rounding, or no default to name"),
]
NO_RATIO = "ratio is undefined. Pass two different samples"
# Who has no reg_scale cannot be told to set it.
OWN_REPAIR = {"every class one sample", "equal samples within classes"}


def is_supervised(model):
    return model.__sklearn_tags__().target_tags.required


def can_be_given(name, case):
    """Whether the mistake of a case can be made with an estimator."""
    model = ESTIMATORS[name]
    about = {*case.params, case.name, case.name.split(",")[0]}
    if case.weight is not None:
        about.add("sample_weight")
    if any(what in about and name in who for what, who, _ in OTHERWISE):
        return False
    labels = case.y is not Y and case.X is X
    if (labels or (case.weight is not None and case.grows)) and not is_supervised(
        model
    ):
        return False  # labels are not looked at
    return set(case.params) <= set(model.get_params())


# Every estimator has the same gate (the spies below see to it), so that a few mistakes
# of each kind stand for all of them: of parameters, of samples, of labels, of weights.
REPRESENTATIVES = {
    *("reg=-0.5", "tol=nan", "sample_shape=(3, 4)", "NaN", "one class", "y shorter"),
    *("complex", "ragged list", "every class one sample", "too few weights"),
}
EVERYWHERE = [
    (name, case.name)
    for case in CASES
    for name in ESTIMATORS
    if case.name in REPRESENTATIVES and can_be_given(name, case)
]


class Seen(Exception):
    """A spy was asked."""


def spy(*args, **kwargs):
    raise Seen


@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_every_fit_goes_through_the_gates(name, method, monkeypatch):
    """Parameters first, then samples; both before anything else."""
    model = clone(ESTIMATORS[name])
    if not hasattr(model, method):
        method = "fit"
    monkeypatch.setattr(type(model), "_check_parameters", spy)
    with unchanged(model), pytest.raises(Seen):
        getattr(model, method)(X, Y)
    monkeypatch.undo()
    monkeypatch.setattr(tensorcrp.base.gate, "reject_unusable", spy)
    monkeypatch.setattr(ClassScatter, "from_samples", must_not_run)
    with unchanged(model), pytest.raises(Seen):
        getattr(model, method)(X, Y)


def error_of(model, call):
    """Type and words of an error, without the name of the class; state unchanged."""
    with unchanged(model), pytest.raises((ValueError, TypeError)) as caught:
        call()
    return caught.type, str(caught.value).replace(type(model).__name__, "TensorCRP")


def called(method, case):
    """Call a method with the samples, labels and weights of a case."""
    weight = {} if case.weight is None else {"sample_weight": case.weight}
    return method(case.X, case.y, **weight)


@cache
def fitted_once(name):
    return clone(ESTIMATORS[name]).fit(X, Y)


@cache
def reference_error(what):
    case = BY_NAME[what]
    model = TensorCRP(**case.params)
    return error_of(model, lambda: called(model.fit, case))


@pytest.mark.parametrize("fitted", [False, True], ids=["unfitted", "fitted"])
@together("name, what", EVERYWHERE)
def test_every_estimator_says_the_same(name, what, fitted):
    case = BY_NAME[what]
    model = copy(fitted_once(name)) if fitted else clone(ESTIMATORS[name])
    model.set_params(**case.params)
    assert_same_words(case, model, model.fit, reference_error(what))


@together(
    "name, what",
    [
        (name, what)
        for name, what in EVERYWHERE
        if hasattr(ESTIMATORS[name], "partial_fit") and not BY_NAME[what].grows
    ],
)
def test_every_first_batch_says_the_same(name, what):
    case, model = BY_NAME[what], clone(ESTIMATORS[name])
    model.set_params(**case.params)
    assert_same_words(case, model, model.partial_fit, reference_error(what))


def assert_same_words(case, model, method, wanted):
    got = error_of(model, lambda: called(method, case))
    assert got[0] is wanted[0]
    if case.name in OWN_REPAIR and "reg_scale" not in model.get_params():
        assert NO_RATIO in got[1]
        assert got[1].split("so")[0] == wanted[1].split("so")[0]
    else:
        assert got[1] == wanted[1]


def test_every_estimator_is_in_the_table_and_every_case_has_one():
    names = [name for name, _ in EVERYWHERE]
    assert set(names) == set(ESTIMATORS)
    assert {what for _, what in EVERYWHERE} == REPRESENTATIVES
    each = {name: names.count(name) for name in ESTIMATORS}
    assert min(each.values()) >= 5, each


# --- starts that only the solver asks for -----------------------------------------


@pytest.mark.parametrize(
    ("returned", "words"),
    [
        (factors((4, 2)), ("init", "[(4, 2)]", *START)),
        (factors((4, 2), (2, 2)), ("init", "(2, 2)", *START)),
        (factors((4, 1), (3, 1)), ("init", "(4, 1)", *START)),
        ([np.ones((4, 2)), np.full((3, 2), np.nan)], ("init", "NaN")),
        (None, ("init", "None", *START)),
    ],
)
@pytest.mark.parametrize("fitted", [False, True])
def test_callable_start(returned, words, fitted):
    model = clone(GOOD)
    if fitted:
        model.fit(X, Y)
    model.set_params(init=lambda shape, rank, random_state: returned)
    refused(model, lambda: model.fit(X, Y), ValueError, words)


def test_given_start_of_the_wrong_shape_where_the_rank_is_full_anyway():
    """Samples (2, 2) and rank 2: the start is not used, but it is still wrong."""
    model = TensorCRP(init=factors((2, 2), (3, 2)))
    small = X[:, :2, :2]
    words = ("init", "(3, 2)", "(2, 2)")
    refused(model, lambda: model.fit(small, Y), ValueError, words)


def test_given_start_with_full_rank():
    model = TensorCRP(rank="full", init=factors((4, 2), (3, 2)))
    words = ("init", 'rank="full"', "leave it out")
    refused(model, lambda: model.fit(X, Y), ValueError, words)


# --- transform --------------------------------------------------------------------


def of_shape(*shape):
    return np.ones((2, *shape))


OTHER_SHAPES = [
    of_shape(5, 3),
    of_shape(4, 2),
    of_shape(4, 4),
    of_shape(3, 4),
    of_shape(4),
    of_shape(12),
    of_shape(4, 3, 1),
    of_shape(1, 4, 3),
    of_shape(4, 3, 2),
    of_shape(4, 0),
]


def shape_words(samples, fitted=SHAPE):
    return str(samples.shape[1:]), str(fitted), "fitted", "reshape"


@together("samples", OTHER_SHAPES)
def test_transform_of_lists_of_another_shape(samples):
    model = copy(good_fit())
    words = shape_words(samples)[1:]
    refused(model, lambda: model.transform(samples.tolist()), ValueError, words)


@pytest.mark.parametrize("mode", range(4))
def test_transform_of_another_size_in_any_mode(mode):
    shape = (2, 3, 2, 2)
    samples = np.random.default_rng(0).standard_normal((N, *shape))
    model = clone(GOOD).fit(samples, Y)
    longer = np.repeat(samples, 2, axis=mode + 1)
    words = shape_words(longer, shape)
    refused(model, lambda: model.transform(longer), ValueError, words)


def test_transform_of_tensors_after_flattened_samples():
    model = clone(GOOD).set_params(sample_shape=SHAPE).fit(FLAT, Y)
    words = shape_words(X, (12,))
    refused(model, lambda: model.transform(X), ValueError, words)


def test_transform_of_another_length_at_order_one():
    model = clone(GOOD).fit(FLAT, Y)
    words = ("11 features", "12 features")
    refused(model, lambda: model.transform(FLAT[:, :11]), ValueError, words)


OTHER_OBJECTS = np.full(X.shape, {}, dtype=object)
BAD_NEW = {
    "nan": (with_entry(np.nan), ValueError, ("NaN", "sample 5", "(2, 1)", "fill")),
    "inf": (with_entry(-np.inf), ValueError, ("inf", "sample 5", "(2, 1)")),
    "complex": (X + 0j, ValueError, ("Complex", "X.real")),
    "strings": (X.astype(str), ValueError, ("strings", "Convert")),
    "objects": (OTHER_OBJECTS, TypeError, ("not numbers", "dict", "convert")),
    "masked": (np.ma.masked_array(X, X > 3), ValueError, ("masked", "X.filled")),
    "sparse": (sparse.csr_array(FLAT), TypeError, ("Sparse", ".toarray()")),
    "ragged": ([X[0], X[0, :2]], ValueError, RAGGED),
    "ragged objects": (
        np.array([X[0], X[0, :2]], dtype=object),
        ValueError,
        RAGGED,
    ),
    "empty": (X[:0], ValueError, ("0 sample(s)",)),
    "2d": (X[0, 0], ValueError, ("shape", str(SHAPE))),
    "a number": (3.0, ValueError, ("shape", str(SHAPE))),
    "none": (None, ValueError, ("shape", str(SHAPE))),
    **{
        f"shape {samples.shape[1:]}": (samples, ValueError, shape_words(samples))
        for samples in OTHER_SHAPES
    },
}
bad_new = together("what", BAD_NEW)


@bad_new
def test_transform_of_bad_samples(what):
    samples, error, words = BAD_NEW[what]
    model = copy(good_fit())
    refused(model, lambda: model.transform(samples), error, words)


METHODS = ("transform", "predict", "decision_function")


@together(
    "name, method",
    [(e, m) for e in ESTIMATORS for m in METHODS if hasattr(ESTIMATORS[e], m)],
)
@bad_new
def test_every_fitted_estimator_says_the_same(name, method, what):
    model, reference = copy(fitted_once(name)), fitted_once("TensorCRP")
    samples = BAD_NEW[what][0]
    got = error_of(model, lambda: getattr(model, method)(samples))
    assert got == error_of(reference, lambda: reference.transform(samples))


@together(
    "name", [e for e in ESTIMATORS if hasattr(ESTIMATORS[e], "inverse_transform")]
)
@together("shape", [(3, 99), (2,), (2, 2, 2)])
def test_inverse_transform_of_another_shape(name, shape):
    model = copy(fitted_once(name))
    words = (str(shape), f"(n, {model.transform(X).shape[1]})", "transform")
    refused(model, lambda: model.inverse_transform(np.ones(shape)), ValueError, words)


@together(
    "name", [e for e in ESTIMATORS if hasattr(ESTIMATORS[e], "inverse_transform")]
)
@together(
    "spoil, words",
    [
        (lambda F: np.ma.masked_array(F, F > 0), ("masked", "X.filled")),
        (lambda F: F + 1j, ("Complex", "X.real")),
        (lambda F: np.where(F == F[2, 0], np.nan, F), ("NaN", "sample 2")),
        (lambda F: np.full(F.shape, "word"), ("could not convert",)),
    ],
)
def test_inverse_transform_of_bad_features(name, spoil, words):
    model = copy(fitted_once(name))
    features = spoil(model.transform(X))
    refused(model, lambda: model.inverse_transform(features), ValueError, words)


@pytest.mark.parametrize(
    "name", [e for e in ESTIMATORS if hasattr(ESTIMATORS[e], "partial_fit")]
)
def test_a_later_batch_with_another_sample_shape(name):
    model = clone(ESTIMATORS[name]).set_params(sample_shape=SHAPE)
    model.partial_fit(FLAT, Y).set_params(sample_shape=(3, 4))
    words = ("sample_shape=(3, 4)", str(SHAPE), "Set it back")
    refused(model, lambda: model.partial_fit(FLAT, Y), ValueError, words)


@pytest.mark.parametrize(
    "name", [e for e in ESTIMATORS if hasattr(ESTIMATORS[e], "partial_fit")]
)
def test_every_later_batch_of_another_shape(name):
    model = clone(ESTIMATORS[name]).partial_fit(X, Y)
    other = np.ones((N, 5, 3))
    words = shape_words(other)
    refused(model, lambda: model.partial_fit(other, Y), ValueError, words)


# --- statistics -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scatter", "params", "words"),
    [
        (ClassScatter.from_samples(X, Y * 0), {}, ONE_CLASS),
        (ClassScatter.from_samples(X, np.arange(N)), {}, ("within", "absolute")),
        (ClassScatter.from_samples(X[:9], Y[:9]), {"reg": 0}, SINGULAR),
        (ClassScatter.from_samples(X, Y), {"rank": 0}, ("rank", "got 0")),
        (ClassScatter.from_samples(X, Y), {"n_components": 13}, ("13", "at most 12")),
        (ClassScatter.from_samples(X, Y), {"init": factors((4, 2))}, START),
    ],
    ids="one_class nothing_within singular rank n_components init".split(),
)
@pytest.mark.parametrize("fitted", [False, True])
def test_fit_scatter(scatter, params, words, fitted, monkeypatch):
    model = clone(GOOD)
    if fitted:
        model.fit(X, Y)
    model.set_params(**params)
    monkeypatch.setattr(path, "solve_lanes", must_not_run)
    refused(model, lambda: model.fit_scatter(scatter), ValueError, words)


BAD_STATISTICS = {
    "NaN": (with_entry(np.nan), ("NaN", "sample 5", "(2, 1)", "fill")),
    "infinity": (with_entry(np.inf), ("inf", "sample 5", "(2, 1)")),
    "long double": (
        with_entry(np.longdouble("1e4000"), dtype=np.longdouble),
        ("too large for float64", "sample 5"),
    ),
    "largest number first": (with_entry(1.7e308, (0, 2, 1)), ("missing", "Divide X")),
    "largest number later": (with_entry(1.7e308), ("overflow", "Divide X")),
    "1e307": (X * 1e307, ("Divide X",)),
    "1e-160": (X * 1e-160, ("underflow", "Divide X")),
    "durations": ((100 * X).astype("m8[s]"), ("timedelta64", "numbers")),
    "masked": (np.ma.masked_array(X, X > 3), ("masked", "X.filled")),
    "complex": (X + 1j, ("Complex", "X.real")),
    "words": (X.astype(str), ("not numeric", "numbers")),
}


@together("few", [False, True])
@together("what", BAD_STATISTICS)
def test_statistics_of_bad_samples(what, few):
    """The public statistics reject what `fit` does."""
    samples, words = BAD_STATISTICS[what]
    n = 9 if few else N
    with np.errstate(over="ignore"), pytest.raises(ValueError) as caught:
        ClassScatter.from_samples(samples[:n], Y[:n])
    assert all(word in str(caught.value) for word in words), caught.value


@pytest.mark.parametrize("weight", [np.nan, np.inf, 1e300, 1e-300, -1.0])
def test_statistics_of_bad_weights(weight):
    with pytest.raises(ValueError, match="sample_weight"):
        ClassScatter.from_samples(X, Y, np.full(N, weight))


@pytest.mark.parametrize("labels", MISSING.values(), ids=MISSING.keys())
def test_statistics_of_missing_labels(labels):
    with pytest.raises(ValueError, match=r"missing label.*sample 2"):
        ClassScatter.from_samples(X, labels[Y])


@pytest.mark.parametrize("name", ["counts", "means"])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_statistics_that_are_not_numbers(name, value):
    good = ClassScatter.from_samples(X, Y)
    bad = getattr(good, name).copy()
    bad.flat[1] = value
    with pytest.raises(ValueError, match="NaN, infinity"):
        replace(good, **{name: bad})


@together("name", [e for e in ESTIMATORS if hasattr(ESTIMATORS[e], "fit_scatter")])
@together("value", [np.nan, np.inf])
def test_fit_scatter_of_a_root_that_is_not_numbers(name, value):
    good = ClassScatter.from_samples(X, Y)
    root = good.root.copy()
    root[0, 0, 0] = value
    model, bad = clone(ESTIMATORS[name]), replace(good, root=root)
    refused(model, lambda: model.fit_scatter(bad), ValueError, ("differ", "Divide X"))


def test_fit_scatter_of_samples():
    model = clone(GOOD)
    words = ("ClassScatter", "ndarray", "from_samples")
    refused(model, lambda: model.fit_scatter(X), TypeError, words)


def test_merge_of_batches_that_differ_too_much():
    mine, other = (ClassScatter.from_samples(X + s, Y) for s in (1e308, -1e308))
    with pytest.raises(ValueError, match="difference of two batches"):
        mine.merge(other)


def test_merge_of_another_shape():
    mine, other = (ClassScatter.from_samples(each, Y) for each in (X, FLAT))
    with pytest.raises(ValueError, match=r"merge.*\(12,\).*\(4, 3\).*reshape"):
        mine.merge(other)


def test_merge_of_another_kind_of_labels():
    mine = ClassScatter.from_samples(X, Y)
    other = ClassScatter.from_samples(X, np.array(["a", "b", "c"])[Y])
    with pytest.raises(ValueError, match=r"labels.*numbers in every batch, or strings"):
        mine.merge(other)


# --- not a mistake ----------------------------------------------------------------


def test_large_finite_numbers_are_not_taken_for_infinity():
    features = clone(GOOD).fit(X, Y).transform(np.full((2, *SHAPE), 1e307))
    assert features.shape == (2, 2)


def test_objects_that_are_numbers():
    features = clone(GOOD).fit(X.astype(object), Y).transform(X.astype(object))
    np.testing.assert_array_equal(features, clone(GOOD).fit(X, Y).transform(X))


def test_reg_zero_with_enough_samples():
    assert clone(GOOD).set_params(reg=0).fit(X, Y).lambda_ == 0.0


@pytest.mark.parametrize("y", [np.arange(N), Y])
@pytest.mark.filterwarnings(r"ignore:\d+ of \d+ features of TensorCRP are constant")
def test_absolute_ridge_with_nothing_within(y):
    samples = X if len(set(y)) == N else np.ones((N, *SHAPE)) * y[:, None, None]
    model = clone(GOOD).set_params(reg_scale="absolute").fit(samples, y)
    assert np.isfinite(model.transform(samples)).all()
    assert model.lambda_ == model.reg
