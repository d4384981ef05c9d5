"""Arrays of other libraries than NumPy: the same numbers, of the same kind, there.

array-api-strict has a second device whose arrays NumPy cannot read: whatever works on
it copies nothing to the host without saying so.
"""

import pickle
import sys
from functools import cache
from itertools import product
from math import prod
from types import SimpleNamespace

import numpy as np
import pytest
import sklearn
from numpy.testing import assert_allclose
from pairs import together
from sklearn.base import clone, is_classifier
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

from tensorcrp import ClassScatter, TensorCRP, TensorCRPCV, cli
from tensorcrp.base import namespace
from tensorcrp.baselines import (
    BASELINES,
    BilinearSVC,
    CPLogistic,
    ManPDA,
    covariate_effect,
)
from tensorcrp.plotting import EmbeddingDisplay
from tensorcrp.preprocessing import Motion
from tensorcrp.signals import ChannelImputer, ChannelScaler
from tensorcrp.solver import ArrayRows, Deflation, Spec, fit_path, solve
from tensorcrp.solver.device_rows import DeviceRows

SHAPES = [(7,), (4, 3), (3, 2, 4), (2, 3, 2, 2)]
KINDS = ["numpy", "torch", "strict", "strict on device1"]
OTHERS = KINDS[1:]
others = pytest.mark.parametrize("kind", OTHERS)


def put(X, kind):
    """A NumPy array as one of another kind; skips without its library."""
    if kind == "numpy":
        return X
    if kind == "torch":
        return pytest.importorskip("torch").asarray(X.copy())
    if kind == "jax":
        return pytest.importorskip("jax.numpy").asarray(X)
    xp = pytest.importorskip("array_api_strict")
    device = kind.partition(" on ")[2] or "CPU_DEVICE"
    return xp.asarray(X, device=xp.Device(device))


def there(array, like, dtype):
    """The numbers of an array that has to be of the kind and on the device of X."""
    assert type(array) is type(like)
    assert namespace.type_name(array) == dtype
    if namespace.is_foreign(like):
        assert array.device == like.device
    return namespace.host(array)


def samples(shape, n, dtype="float64"):
    rng = np.random.default_rng(0)
    y = np.arange(n) % 3
    X = 2 * rng.standard_normal((3, *shape))[y] + rng.standard_normal((n, *shape))
    return X.astype(dtype), y


PLAIN = {"ranks": (1,), "regs": (0.1, 1.0), "cv": 2, "average": 2}


def crp(h=3, **params):
    return TensorCRP(h, **{"max_iter": 3, "tol": 0, **params})


# Single precision is 1.2e-7, of which sweeps of eigenvectors lose one or two digits.
TOLERANCE = {"float64": 1e-11, "float32": 2e-5}


def assert_near(values, expected, dtype):
    atol = TOLERANCE[dtype] * np.abs(expected).max()
    assert_allclose(values, expected, rtol=0, atol=atol)


# --- everything follows X ---------------------------------------------------------


SHORT = {"h": 2, "max_iter": 2}


@cache
def numpy_fit(dtype, shape, n):
    """What a fit to NumPy's arrays gives, its features, and what these go back to."""
    X, y = samples(shape, n, dtype)
    model = crp(**SHORT).fit(X, y)
    features = model.transform(X)
    return model.projections_, features, model.inverse_transform(features)


def same_fit(kind, dtype, shape, n):
    """A fit and its features against those of NumPy."""
    X, y = samples(shape, n, dtype)
    Xd, (projections, known, back) = put(X, kind), numpy_fit(dtype, shape, n)
    model = crp(**SHORT).fit(Xd, y)
    assert type(model.projections_) is np.ndarray
    assert_near(model.projections_, projections, dtype)
    features = model.transform(Xd)
    assert_near(there(features, Xd, dtype), known, dtype)
    tensors = there(model.inverse_transform(features), Xd, dtype)
    assert tensors.shape == X.shape
    assert_near(tensors, back, dtype)


def same_batches(kind, dtype, shape, n):
    """Two batches against one fit."""
    X, y = samples(shape, n, dtype)
    model, half = crp(**SHORT), n // 2
    for part in (slice(0, half), slice(half, n)):
        model.partial_fit(put(X[part], kind), y[part])
    assert_near(model.projections_, numpy_fit(dtype, shape, n)[0], dtype)


@pytest.mark.parametrize("same", [same_fit, same_batches])
@pytest.mark.parametrize("kind", ["numpy", "torch", "strict on device1"])
@together("dtype, shape, n", product(TOLERANCE, SHAPES, [60, 9]))
def test_fits_equal_those_of_numpy(same, kind, dtype, shape, n):
    same(kind, dtype, shape, n)


@pytest.mark.parametrize("same", [same_fit, same_batches])
@together("shape, n", product(SHAPES, [60, 9]))
def test_a_device_without_types_of_64_bits(same, shape, n):
    same("strict on no_x64", "float32", shape, n)


@pytest.mark.slow  # JAX compiles every shape
@pytest.mark.parametrize("same", [same_fit, same_batches])
@together("dtype, shape, n", product(TOLERANCE, SHAPES, [60, 9]))
def test_jax(same, dtype, shape, n):
    """It has no type of 64 bits, unless it is told otherwise."""
    jax = pytest.importorskip("jax")
    with jax.enable_x64(True):
        same("jax", dtype, shape, n)
    if dtype == "float32":
        same("jax", dtype, shape, n)


OPTIONS = [
    {"rank": "full"},
    {"smooth": 1.0},
    {"smooth": 1.0, "rank": "full"},
    {"white": True},
    {"reg": "auto", "smooth": 0.5},
    {"reg": 0, "n": 60},
    {"init": "identity", "n_init": 2, "random_state": 0},
    {"max_rows": 6, "batches": True},
    {"weighted": True},
    {"weighted": True, "n": 60},
    {"sample_shape": (4, 3), "flat": True},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_options_of_a_fit(options):
    """On a device that NumPy cannot read: nothing is copied by accident."""
    options = dict(options)
    X, y = samples((4, 3), options.pop("n", 11))
    X = X.reshape(len(X), -1) if options.pop("flat", False) else X
    method = "partial_fit" if options.pop("batches", False) else "fit"
    weight = np.arange(len(y)) % 4.0 if options.pop("weighted", False) else None
    one, other = (
        getattr(crp(**options), method)(each, y, weight)
        for each in (X, put(X, "strict on device1"))
    )
    assert_near(other.projections_, one.projections_, "float64")


class Half(Deflation):
    """Half of each projection is subtracted, which starts cannot follow."""

    def removed(self, gram):
        return np.broadcast_to(np.eye(gram.shape[-1]) / 2, gram.shape)


@others
def test_rows_of_the_numerator_may_be_there_too(kind):
    rng = np.random.default_rng(0)
    both = [rng.standard_normal((n, 4, 3)) for n in (3, 20)]
    rows = [DeviceRows(put(A.reshape(len(A), -1).T, kind), (4, 3)) for A in both]
    how = {"n_components": 2, "max_iter": 3, "tol": 0}
    (one,), (other,) = solve(*both, [1.0], **how), solve(*rows, [1.0], **how)
    for mine, known in zip(other.factors, one.factors, strict=True):
        assert_near(mine, known, "float64")


def test_another_deflation():
    X, y = samples((4, 3), 11)
    scatters = (ClassScatter.from_samples(each, y) for each in (X, put(X, OTHERS[-1])))
    spec = Spec(3, deflation=Half(), max_iter=3, tol=0)
    one, other = (fit_path(scatter, spec)[0] for scatter in scatters)
    assert_near(other.projections, one.projections, "float64")


# The length of a late step may be decided by rounding. A few show what is computed.
FEW_STEPS = {
    ManPDA: {"max_iter": 5, "tol": 0},
    BilinearSVC: {"rank": 1, "max_iter": 2, "tol": 0},
    CPLogistic: {"rank": 1, "max_iter": 2, "tol": 0},
}


@pytest.mark.parametrize("cls", [each.cls for each in BASELINES])
@together("dtype, shape", product(TOLERANCE, SHAPES[:3]))
def test_every_method_takes_arrays_of_other_libraries(cls, dtype, shape):
    X, y = samples(shape, 30, dtype)
    one = cls(**FEW_STEPS.get(cls, {})).fit(X, y)
    for kind in ("torch", "strict on device1"):
        Xd = put(X, kind)
        other = clone(one).fit(Xd, put(y, kind))
        if is_classifier(one):
            same_scores_and_labels(one, other, X, Xd, dtype)
            continue
        known, features = one.transform(X), other.transform(Xd)
        assert_near(there(features, Xd, dtype), known, dtype)
        tensors = there(other.inverse_transform(features), Xd, dtype)
        assert_near(tensors, one.inverse_transform(known), dtype)


def same_scores_and_labels(one, other, X, Xd, dtype):
    """Scores and labels of classifiers that were fitted to X and to Xd."""
    scores = there(other.decision_function(Xd), Xd, dtype)
    assert_near(scores, one.decision_function(X), dtype)
    labels = there(other.predict(Xd), Xd, "int64")
    np.testing.assert_array_equal(labels, one.predict(X))
    assert other.score(Xd, labels) == 1
    if hasattr(one, "predict_proba"):
        shares = there(other.predict_proba(Xd), Xd, dtype)
        assert_near(shares, one.predict_proba(X), dtype)


@others
@pytest.mark.parametrize("dtype", TOLERANCE)
def test_a_pipeline_stays_where_its_samples_are(kind, dtype):
    """Steps before TensorCRP as well: the same numbers, back where X is."""
    X, y = samples((4, 3), 30, dtype)
    steps = ChannelImputer(), Motion("centred"), ChannelScaler(centre="sample")
    one, other = make_pipeline(*steps, crp()), make_pipeline(*map(clone, steps), crp())
    X[7, 2] = np.nan
    Xd = put(X, kind)
    one.fit(X, y)
    for own, known in zip(other.fit(Xd, y), one, strict=True):
        Xd, X = own.transform(Xd), known.transform(X)
        assert_near(there(Xd, put(X, kind), dtype), X, dtype)
        if isinstance(own, ChannelScaler):
            back = own.inverse_transform(Xd)
            assert_near(there(back, Xd, dtype), known.inverse_transform(X), dtype)


@others
def test_the_effect_of_covariates_and_a_picture(kind):
    X, y = samples((4, 3), 30)
    Z = np.random.default_rng(1).standard_normal((30, 2))
    effect = covariate_effect(put(X, kind), put(y, kind), put(Z, kind))
    np.testing.assert_array_equal(effect, covariate_effect(X, y, Z))
    model = crp().fit(X, y)
    display = EmbeddingDisplay(model.transform(put(X, kind)), put(y, kind))
    assert_near(display.points, model.transform(X)[:, :2], "float64")


@pytest.mark.parametrize("model", [BilinearSVC(1), CPLogistic(1)], ids=str)
def test_words_as_labels_stay_on_the_host(model):
    X, y = samples((4, 3), 30)
    words = np.array(["ape", "bee"])[y // 2]  # two classes: one row of scores
    Xd = put(X, OTHERS[-1])
    np.testing.assert_array_equal(model.fit(Xd, words).predict(Xd), model.predict(X))
    assert there(model.decision_function(Xd), Xd, "float64").shape == (30,)
    assert 0.5 < model.score(Xd, words) <= 1


@others
def test_a_search_and_its_labels(kind):
    X, y = samples((4, 3), 30)
    Xd = put(X, kind)
    search = TensorCRPCV(
        KNeighborsClassifier(3), ranks=(1,), regs=(0.1, 1.0), cv=2, average=2
    )
    one, other = clone(search).fit(X, y), clone(search).fit(Xd, put(y, kind))
    assert other.best_params_ == one.best_params_
    np.testing.assert_array_equal(there(other.predict(Xd), Xd, "int64"), one.predict(X))
    features = there(other.transform(Xd), Xd, "float64")
    assert_near(features, one.transform(X), "float64")
    words = np.array(["ape", "bee", "cat"])[y]
    assert clone(search).fit(Xd, words).predict(Xd).dtype.kind == "U"


class Capsule:
    """What knows DLPack and nothing else."""

    def __init__(self, X):
        self.X, self.shape, self.dtype = X, X.shape, X.dtype

    def __dlpack__(self, **kwargs):
        return self.X.__dlpack__(**kwargs)

    def __dlpack_device__(self):
        return self.X.__dlpack_device__()


def test_arrays_that_know_nothing_but_dlpack():
    X, y = samples((4, 3), 30)
    model, expected = crp().fit(Capsule(X), y), crp().fit(X, y)
    features = model.transform(Capsule(X))
    np.testing.assert_array_equal(features, expected.transform(X))
    tensors = model.inverse_transform(Capsule(features))
    np.testing.assert_array_equal(tensors, expected.inverse_transform(features))


@pytest.mark.parametrize("kind", ["torch", "strict on device1"])
def test_array_api_dispatch_of_scikit_learn(kind, monkeypatch):
    """The configuration asks for an environment variable that SciPy reads."""
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")
    X, y = samples((4, 3), 30)
    Xd, yd = put(X, kind), put(y, kind)
    steps = ChannelScaler(), crp(), LinearDiscriminantAnalysis()
    pipeline, search = make_pipeline(*steps), TensorCRPCV(**PLAIN)
    labels, chosen = (clone(each).fit(X, y).predict(X) for each in (pipeline, search))
    with sklearn.config_context(array_api_dispatch=True):
        model = crp().fit(Xd, yd)
        features = model.transform(Xd)
        tensors = there(model.inverse_transform(features), Xd, "float64")
        parts = crp().partial_fit(Xd[:15, ...], yd[:15])
        parts.partial_fit(Xd[15:, ...], yd[15:])
        pipeline.fit(Xd, yd)
        search.fit(Xd, yd)
        for known, one in ((labels, pipeline), (chosen, search)):
            np.testing.assert_array_equal(there(one.predict(Xd), Xd, "int64"), known)
        expected = crp().fit(X, y)  # of NumPy, beside them
    known = expected.transform(X)
    assert_near(there(features, Xd, "float64"), known, "float64")
    assert_near(tensors, expected.inverse_transform(known), "float64")
    assert_near(parts.projections_, expected.projections_, "float64")


# --- what is computed where -------------------------------------------------------


@pytest.mark.parametrize("n", [200, 30])
def test_nothing_of_the_size_of_the_data_comes_to_the_host(n, copied):
    X, y = samples((12, 10), n)
    crp(5, white=True, smooth=1.0).fit(put(X, "strict on device1"), y)
    few = min(n, prod(X.shape[1:]))
    assert 0 < max(copied) <= max(few**2, 3 * X[0].size)
    assert max(copied) < X.size


@pytest.mark.parametrize("cls", [each.cls for each in BASELINES])
def test_methods_copy_the_data_once(cls, copied):
    """At most: beside the rows there are class means and scatters of modes."""
    X, y = samples((12, 10), 60)
    cls().fit(put(X, "strict on device1"), y)
    assert 0 < sum(copied) < 1.75 * X.size


@pytest.fixture
def copied(monkeypatch):
    """The number of entries of every array that comes to the host."""
    sizes, host = [], namespace.host

    def watched(array):
        if namespace.is_foreign(array):
            sizes.append(prod(array.shape))
        return host(array)

    for name, module in list(sys.modules.items()):
        if name.startswith("tensorcrp.") and getattr(module, "host", None) is host:
            monkeypatch.setattr(module, "host", watched)
    return sizes


@others
def test_rows_sum_what_arrays_sum(kind):
    rng = np.random.default_rng(0)
    X, W = rng.standard_normal((9, 4, 3, 2)), rng.standard_normal((5, 24))
    there = DeviceRows(put(X.reshape(9, -1).T, kind), (4, 3, 2))
    here = ArrayRows.of(X)
    matrices = [rng.standard_normal((2, 4)), None, rng.standard_normal((3, 2))]
    for question in (
        lambda rows: rows.spread(),
        lambda rows: rows.energy(matrices),
        lambda rows: rows.feature_scatter(W),
        lambda rows: rows.mode_scatter(1, matrices),
        lambda rows: rows.inner(),
        lambda rows: rows.gram(rows),
        lambda rows: rows.gram(ArrayRows.of(X[:4])),
        lambda rows: rows.combine(W[:, :9]),
        lambda rows: rows.unit_sums(W[:, :9], 2.5),
        lambda rows: rows.singular_values(),
        lambda rows: np.asarray(rows.transformed(matrices)),
        lambda rows: np.asarray(rows.some(2)),
    ):
        assert_allclose(question(there), question(here), rtol=1e-12, atol=1e-12)


def test_a_model_between_two_batches_is_pickled():
    X, y = samples((4, 3), 20)
    Xd = put(X, "torch")
    model = pickle.loads(pickle.dumps(crp().partial_fit(Xd[:10], y[:10])))
    model.partial_fit(Xd[10:], y[10:])
    assert_near(model.projections_, crp().fit(X, y).projections_, "float64")


@pytest.mark.slow
def test_the_bench_compares_numpy_and_torch(capsys):
    pytest.importorskip("torch")
    assert cli.main(["bench", "device", "--small"]) == 0
    printed = capsys.readouterr().out
    assert printed.count("| NumPy |") == printed.count("| PyTorch on cpu |") == 2


# --- what is rejected, before any work --------------------------------------------


def test_a_layout_of_other_libraries_is_no_sparse_tensor():
    """Arrays of JAX 0.4 to 0.6 have an attribute of that name."""
    X = SimpleNamespace(dtype="float32", layout="Layout(major_to_minor=(0, 1))")
    namespace.check_foreign(X)


def test_what_torch_cannot_hand_over():
    torch = pytest.importorskip("torch")
    X, y = samples((4, 3), 30)
    Xd, model = torch.asarray(X), crp().fit(X, y)
    for method in (crp().fit, crp().partial_fit, lambda X, y: model.transform(X)):
        with pytest.raises(ValueError, match=r"bfloat16.*X\.to\(torch\.float32\)"):
            method(Xd.to(torch.bfloat16), y)
        with pytest.raises(ValueError, match=r"gradient.*X\.detach\(\)"):
            method(Xd.clone().requires_grad_(), y)
        with pytest.raises(ValueError, match=r"torch\.sparse_coo. Pass X\.to_dense"):
            method(Xd.to_sparse(), y)
    lazily = torch.complex(Xd, -Xd).conj().imag  # minus, when it is looked at
    assert_near(crp().fit(lazily, y).projections_, model.projections_, "float64")
    with pytest.raises(ValueError, match="int64"):
        model.inverse_transform(torch.ones((2, 3), dtype=torch.int64))


@others
def test_nan_is_named_where_it_is(kind):
    X, y = samples((4, 3), 30)
    X[7, 2, 1] = np.nan
    Xd, model = put(X, kind), crp().fit(*samples((4, 3), 30))
    for method in (crp().fit, lambda X, y: model.transform(X)):
        with pytest.raises(
            ValueError, match=r"NaN, first in sample 7 at entry \(2, 1\)"
        ):
            method(Xd, y)


def test_arrays_of_several_devices():
    xp = pytest.importorskip("array_api_strict")
    X, y = samples((4, 3), 30)
    one, other = (xp.Device(name) for name in ("device1", "device2"))
    Xd = xp.asarray(X, device=one)
    with pytest.raises(ValueError, match=r"device1.*y is .*device2.*Move y"):
        crp().fit(Xd, xp.asarray(y, device=other))
    with pytest.raises(ValueError, match=r"Move sample_weight"):
        crp().fit(X, y, xp.ones(30, device=other))
    model = crp().partial_fit(Xd, y)
    for batch in (X, xp.asarray(X, device=other)):
        with pytest.raises(ValueError, match=r"one kind of array, on one device"):
            model.partial_fit(batch, y)
    model.partial_fit(Xd, xp.asarray(y, device=one))  # labels may be where X is
