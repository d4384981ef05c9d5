"""What scikit-learn's own checks leave out: tensors of any order, and our promises.

scikit-learn feeds tables. Here the same contract is checked on samples of order 1 to
6, together with what the class docstring says of types, shapes, signs and warnings.
"""

import ast
import inspect
import pickle
import re
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from math import prod

import joblib
import numpy as np
import pandas as pd
import pytest
import sklearn
import threadpoolctl
from pairs import pairs
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from tensorly.cp_tensor import CPTensor, cp_to_tensor

from tensorcrp import ClassScatter, TensorCRP
from tensorcrp.preprocessing import Motion
from tensorcrp.signals import ChannelImputer, ChannelScaler

SHAPES = [(7,), (4, 3), (3, 2, 4), (2, 3, 2, 2), (2, 2, 3, 1, 2), (2, 1, 2, 2, 2, 2)]
orders = pytest.mark.parametrize(
    "shape", SHAPES, ids=lambda shape: f"order{len(shape)}"
)
# More samples than entries, and fewer.
sizes = pytest.mark.parametrize("n", [60, 9])


def samples(shape, n=30, n_classes=3, seed=0):
    """Well separated classes, labels in turn."""
    rng = np.random.default_rng(seed)
    means = 2 * rng.standard_normal((n_classes, *shape))
    y = np.arange(n) % n_classes
    return means[y] + rng.standard_normal((n, *shape)), y


def crp(n_components=3, **params):
    """A fixed number of sweeps, so that no run depends on when to stop.

    The third projection is on data that were deflated twice: further ones, of which
    there are 27 by default, only take longer.
    """
    return TensorCRP(n_components, **{"max_iter": 4, "tol": 0, **params})


def assert_same_model(one, other):
    """Bitwise: the same fitted arrays."""
    for mine, theirs in zip(one.factors_, other.factors_, strict=True):
        np.testing.assert_array_equal(mine, theirs)
    np.testing.assert_array_equal(one.components_, other.components_)
    np.testing.assert_array_equal(one.projections_, other.projections_)


# --- shapes and orders ------------------------------------------------------------


@orders
@sizes
def test_fitted_shapes(shape, n):
    X, y = samples(shape, n)
    model = crp(3, rank=2).fit(X, y)
    assert model.sample_shape_ == model.input_shape_ == shape
    assert model.components_.shape == (3, *shape)
    assert model.projections_.shape == (3, prod(shape))
    assert model.transform(X).shape == (n, 3)
    assert len(model.objective_) == 3
    rank = model.factors_[0].shape[2]
    assert [f.shape for f in model.factors_] == [(3, size, rank) for size in shape]


@orders
@sizes
def test_features_separate_the_classes(shape, n):
    X, y = samples(shape, n)
    model = make_pipeline(crp(2), KNeighborsClassifier(1)).fit(X, y)
    new = X + 0.1 * np.random.default_rng(1).standard_normal(X.shape)
    assert model.score(new, y) == 1.0


@orders
def test_components_have_unit_norm_and_a_fixed_sign(shape):
    model = crp(4).fit(*samples(shape))
    flat = model.components_.reshape(4, -1)
    np.testing.assert_allclose(np.linalg.norm(flat, axis=1), 1.0, rtol=1e-13)
    assert np.all(flat.max(axis=1) >= -flat.min(axis=1) * (1 - 1e-6))


@orders
@pytest.mark.parametrize("rank", [1, 3, "full"])
def test_cp_tensor_is_the_component(shape, rank):
    model = crp(2, rank=rank).fit(*samples(shape))
    for p in range(2):
        tensor = model.cp_tensor(p)
        assert isinstance(tensor, CPTensor)
        np.testing.assert_allclose(
            cp_to_tensor(tensor), model.components_[p], rtol=0, atol=1e-13
        )


@orders
def test_inverse_transform_leaves_the_deflated_sample(shape):
    X, y = samples(shape)
    model = crp(3).fit(X, y)
    deflated = X.reshape(len(X), -1)
    for W in model.components_.reshape(3, -1):
        deflated = deflated - np.outer(deflated @ W, W)
    left = X - model.inverse_transform(model.transform(X))
    np.testing.assert_allclose(left.reshape(len(X), -1), deflated, rtol=0, atol=1e-12)


@pytest.mark.parametrize("flattened", [True, False])
def test_inverse_transform_follows_the_layout_of_the_input(flattened):
    X, y = samples((4, 3))
    X = X.reshape(len(X), -1) if flattened else X
    model = crp(sample_shape=(4, 3)).fit(X, y)
    assert model.inverse_transform(model.transform(X)).shape == X.shape


@orders
def test_flattened_equals_tensors(shape):
    X, y = samples(shape)
    flat = X.reshape(len(X), -1)
    tensors = crp(3).fit(X, y)
    vectors = crp(3, sample_shape=shape).fit(flat, y)
    assert_same_model(tensors, vectors)
    np.testing.assert_array_equal(tensors.transform(X), vectors.transform(flat))
    assert vectors.sample_shape_ == shape
    assert vectors.input_shape_ == (prod(shape),)


# --- number of components ---------------------------------------------------------


@pytest.mark.parametrize(
    ("n_components", "n_classes", "shape", "expected"),
    [
        (None, 4, (4, 3), 12),  # as many entries as there are
        (None, 4, (2, 2), 4),
        (None, 2, (7, 5), 27),  # the least number
        (None, 12, (7, 5), 33),
        (None, 2, (12,), 3),  # of vectors there is none
        ("paper", 4, (4, 3), 9),
        ("paper", 5, (4, 3), 12),
        ("paper", 2, (4, 3), 1),
        (5, 2, (4, 3), 5),
        (12, 2, (4, 3), 12),
    ],
)
def test_number_of_components(n_components, n_classes, shape, expected):
    X, y = samples(shape, n_classes=n_classes)
    assert crp(n_components).fit(X, y).components_.shape == (expected, *shape)
    full = TensorCRP(n_components, rank="full").fit(X, y)
    if n_components is None:
        least = min(3 * (n_classes - 1), np.prod(shape))
        assert len(full.components_) == least


def test_components_are_nested():
    X, y = samples((4, 3))
    few, many = crp(2).fit(X, y), crp(5).fit(X, y)
    np.testing.assert_array_equal(few.components_, many.components_[:2])
    np.testing.assert_allclose(
        few.transform(X), many.transform(X)[:, :2], rtol=0, atol=1e-12
    )


# --- at home in scikit-learn ------------------------------------------------------


def test_grid_search_over_samples_of_order_four():
    X, y = samples((2, 3, 2, 2), n=36)  # X itself has five axes
    pipeline = Pipeline([("crp", crp()), ("knn", KNeighborsClassifier(1))])
    grid = {"crp__rank": [1, 2, "full"], "crp__reg": [0.1, 1.0]}
    search = GridSearchCV(pipeline, grid, cv=3, error_score="raise").fit(X, y)
    assert len(search.cv_results_["params"]) == 6
    assert search.best_score_ > 0.9
    assert search.predict(X).shape == (36,)


@orders
def test_clone_is_unfitted_with_the_same_parameters(shape):
    X, y = samples(shape)
    start = [np.ones((size, 2)) * np.arange(1, 3) for size in shape]
    model = crp(2, init=start).fit(X, y)
    copy = clone(model)
    with pytest.raises(NotFittedError):
        copy.transform(X)
    assert_same_model(model, copy.fit(X, y))


def test_fit_does_not_change_parameters():
    model = crp("paper", sample_shape=[4, 3], rank="full")
    before = dict(model.get_params())
    X, y = samples((4, 3))
    model.fit(X, y)
    assert all(model.get_params()[name] is value for name, value in before.items())


@orders
def test_pandas_output(shape):
    X, y = samples(shape)
    model = crp(2).set_output(transform="pandas").fit(X, y)
    frame = model.transform(X)
    assert isinstance(frame, pd.DataFrame)
    assert list(frame.columns) == ["tensorcrp0", "tensorcrp1"]
    assert list(model.get_feature_names_out()) == ["tensorcrp0", "tensorcrp1"]
    plain = crp(2).fit(X, y)
    np.testing.assert_array_equal(frame.to_numpy(), plain.transform(X))
    np.testing.assert_array_equal(
        model.inverse_transform(frame), plain.inverse_transform(plain.transform(X))
    )


STEPS = [Motion("centred"), ChannelScaler(), ChannelImputer()]


@pytest.mark.parametrize("step", STEPS, ids=lambda step: type(step).__name__)
@pytest.mark.parametrize("shape", [(6,), (5, 6), (3, 2, 4)], ids=str)
def test_frames_hold_2d_samples_and_others_stay_arrays(step, shape):
    X, y = samples(shape)
    expected = make_pipeline(step, crp(2)).fit(X, y).transform(X)
    model = make_pipeline(clone(step), crp(2)).set_output(transform="pandas")
    for frame in (model.fit_transform(X, y), model.transform(X)):
        assert list(frame.columns) == ["tensorcrp0", "tensorcrp1"]
        np.testing.assert_array_equal(frame.to_numpy(), expected)
    kind = pd.DataFrame if len(shape) == 1 else np.ndarray
    with sklearn.config_context(transform_output="pandas"):
        assert type(clone(step).fit_transform(X)) is type(model[0].transform(X)) is kind


@pytest.mark.parametrize("steps", [*[[step] for step in STEPS], STEPS, STEPS[::-1]])
def test_names_of_features_after_steps_from_samples_to_samples(steps):
    X, y = samples((5, 6))
    model = make_pipeline(*map(clone, steps), crp(2)).fit(X, y)
    assert list(model.get_feature_names_out()) == ["tensorcrp0", "tensorcrp1"]
    names = model[:-1].get_feature_names_out()
    word = "motion" if isinstance(steps[0], Motion) else "x"
    own = "motion" if isinstance(steps[-1], Motion) else word
    assert list(names) == [f"{own}{i}" for i in range(30)]


def test_names_of_columns_that_do_not_fit_are_an_error():
    X, y = samples((7,))
    for model in (crp(2).fit(X, y), ChannelScaler().fit(X)):
        with pytest.raises(ValueError, match="input_features"):
            model.get_feature_names_out(["one", "two"])


def data_frame(X):
    columns = [f"pixel{j}" for j in range(prod(X.shape[1:]))]
    return pd.DataFrame(X.reshape(len(X), -1), columns=columns)


def test_data_frame_with_sample_shape():
    X, y = samples((4, 3))
    frame = data_frame(X)
    model = crp(sample_shape=(4, 3)).set_output(transform="pandas").fit(frame, y)
    assert list(model.feature_names_in_) == list(frame.columns)
    assert model.n_features_in_ == 12
    frame.index = [f"sample{i}" for i in range(len(X))]
    features = model.transform(frame)
    assert list(features.index) == list(frame.index)
    expected = crp().fit(X, y).transform(X)
    np.testing.assert_allclose(features.to_numpy(), expected, rtol=0, atol=1e-12)


def test_data_frame_with_columns_in_another_order():
    X, y = samples((4, 3))
    frame = data_frame(X)
    model = crp(sample_shape=(4, 3)).fit(frame, y)
    with pytest.raises(ValueError, match="feature names should match"):
        model.transform(frame[frame.columns[::-1]])


def test_scaled_flattened_samples_in_a_pipeline():
    X, y = samples((4, 3))
    flat = X.reshape(len(X), -1)
    model = make_pipeline(
        StandardScaler(), crp(sample_shape=(4, 3)), KNeighborsClassifier(1)
    )
    assert model.fit(flat, y).score(flat, y) == 1.0


@orders
def test_joblib_round_trip(shape, tmp_path):
    X, y = samples(shape)
    model = crp().fit(X, y)
    path = tmp_path / "model.joblib"
    joblib.dump(model, path)
    loaded = joblib.load(path)
    assert_same_model(model, loaded)
    np.testing.assert_array_equal(model.transform(X), loaded.transform(X))


def test_memory_mapped_model_still_transforms(tmp_path):
    X, y = samples((4, 3))
    model = crp().fit(X, y)
    path = tmp_path / "model.joblib"
    joblib.dump(model, path)
    loaded = joblib.load(path, mmap_mode="r")
    np.testing.assert_array_equal(model.transform(X), loaded.transform(X))


def test_pickle_between_two_batches():
    X, y = samples((4, 3), n=40)
    model = crp().partial_fit(X[:20], y[:20])
    loaded = pickle.loads(pickle.dumps(model))
    assert_same_model(model, loaded)
    model.partial_fit(X[20:], y[20:])
    assert_same_model(model, loaded.partial_fit(X[20:], y[20:]))


@pytest.mark.parametrize("method", ["transform", "inverse_transform", "cp_tensor"])
def test_unfitted_says_so(method):
    argument = 0 if method == "cp_tensor" else np.zeros((2, 2))
    with pytest.raises(NotFittedError, match="not fitted"):
        getattr(TensorCRP(), method)(argument)


# --- types ------------------------------------------------------------------------


@orders
@sizes
def test_float32_stays_float32(shape, n):
    X, y = samples(shape, n)
    model = crp(3).fit(X.astype(np.float32), y)
    features = model.transform(X.astype(np.float32))
    assert features.dtype == np.float32
    assert model.inverse_transform(features).dtype == np.float32
    expected = crp(3).fit(X, y).transform(X)
    # Single precision is 1.2e-7; a few sweeps of eigenvectors lose two more digits.
    np.testing.assert_allclose(
        features, expected, rtol=0, atol=2e-5 * np.abs(expected).max()
    )


def test_output_type_follows_the_argument_of_transform():
    X, y = samples((4, 3))
    model = crp().fit(X.astype(np.float32), y)
    assert model.transform(X).dtype == np.float64
    assert crp().fit(X, y).transform(X.astype(np.float32)).dtype == np.float32


@pytest.mark.parametrize(
    "dtype", [np.int64, np.uint8, np.int8, bool, np.float16, object]
)
def test_other_numbers_equal_floats(dtype):
    X, y = samples((3, 2, 4))
    numbers = np.clip(np.round(2 * X + 6), 0, 12).astype(dtype)
    if dtype is bool:
        numbers = X > 0
    plain = numbers.astype(float)
    features = crp().fit(numbers, y).transform(numbers)
    assert features.dtype == np.float64
    np.testing.assert_array_equal(features, crp().fit(plain, y).transform(plain))


def test_nested_lists():
    X, y = samples((4, 3))
    features = crp().fit(X.tolist(), y.tolist()).transform(X.tolist())
    np.testing.assert_array_equal(features, crp().fit(X, y).transform(X))


@pytest.mark.parametrize("layout", ["C", "F", "strided", "transposed"])
def test_memory_layout_does_not_matter(layout):
    X, y = samples((4, 3))
    views = {
        "C": X,
        "F": np.asfortranarray(X),
        "strided": np.repeat(X, 2, axis=2)[:, :, ::2],
        "transposed": np.ascontiguousarray(X.transpose(2, 0, 1)).transpose(1, 2, 0),
    }
    features = crp().fit(views[layout], y).transform(views[layout])
    expected = crp().fit(X, y).transform(X)
    np.testing.assert_allclose(
        features, expected, rtol=0, atol=1e-12 * np.abs(expected).max()
    )


@pairs(n=[60, 9], rank=[2, "full"], dtype=[np.float64, np.float32, np.uint8])
def test_read_only_memory_map(n, rank, dtype, tmp_path):
    X, y = samples((4, 3), n)
    X = np.round(10 * X + 100).clip(0, 255).astype(dtype)
    path = tmp_path / "samples.npy"
    np.save(path, X)
    content = path.read_bytes()
    mapped = np.load(path, mmap_mode="r")
    model = crp(rank=rank).fit(mapped, y)
    plain = crp(rank=rank).fit(X, y)
    np.testing.assert_array_equal(model.transform(mapped), plain.transform(X))
    crp(rank=rank).partial_fit(mapped, y)
    assert path.read_bytes() == content


@pairs(shape=SHAPES, n=[60, 9], rank=[2, "full"], method=["fit", "partial_fit"])
def test_arguments_are_unchanged(shape, n, rank, method):
    X, y = samples(shape, n)
    weight = np.random.default_rng(2).uniform(0.5, 2, n)
    arguments = X.copy(), y.copy(), weight.copy()
    model = getattr(crp(rank=rank), method)(*arguments)
    model.transform(arguments[0])
    for now, before in zip(arguments, (X, y, weight), strict=True):
        np.testing.assert_array_equal(now, before)


# --- labels and weights -----------------------------------------------------------


@pytest.mark.parametrize("dtype", [str, object, bool, np.float64])
def test_labels_of_any_kind(dtype):
    X, y = samples((4, 3), n_classes=2)
    labels = np.array(["ape", "bee"])[y] if dtype in (str, object) else y
    labels = labels.astype(dtype)
    model = crp().fit(X, labels)
    np.testing.assert_array_equal(model.classes_, np.unique(labels))
    np.testing.assert_array_equal(model.components_, crp().fit(X, y).components_)


@pairs(shape=SHAPES, n=[60, 9], between=["classes", "samples"])
def test_weight_is_repetition(shape, n, between):
    X, y = samples(shape, n)
    weight = np.random.default_rng(3).integers(0, 4, n)
    weight[:3] = 2  # no class disappears
    weighted = crp(3, between=between).fit(X, y, sample_weight=weight)
    repeated = crp(3, between=between).fit(X.repeat(weight, axis=0), y.repeat(weight))
    assert weighted.lambda_ == pytest.approx(repeated.lambda_, rel=1e-12)
    expected = repeated.transform(X)
    np.testing.assert_allclose(
        weighted.transform(X), expected, rtol=0, atol=1e-10 * np.abs(expected).max()
    )


@pytest.mark.parametrize("between", ["classes", "samples"])
def test_balanced_classes_are_samples_with_weights(between, make_samples):
    """Every class has the same sum of weights, whatever the weights of its samples."""
    X, y = make_samples((4, 3), n=31)
    given = np.random.default_rng(0).integers(0, 3, 31).astype(float)
    for sample_weight in (None, given):
        each = np.ones(31) if sample_weight is None else given
        sums = {label: each[y == label].sum() for label in np.unique(y)}
        weight = each * each.sum() / (len(sums) * np.array([sums[c] for c in y]))
        crp = TensorCRP(between=between, class_weight="balanced")
        crp.fit(X, y, sample_weight)
        plain = TensorCRP(between=between).fit(X, y, weight)
        np.testing.assert_allclose(crp.projections_, plain.projections_, atol=1e-9)
    by_label = {label: i + 0.5 for i, label in enumerate(np.unique(y))}
    crp = TensorCRP(between=between, class_weight=by_label).fit(X, y)
    plain = TensorCRP(between=between).fit(X, y, [by_label[c] for c in y])
    np.testing.assert_allclose(crp.projections_, plain.projections_, atol=1e-9)


def test_weights_of_classes_that_make_no_sense(make_samples):
    X, y = make_samples((4, 3))
    for bad, words in (
        ("even", "balanced.*got 'even'"),
        ({y[0]: -1.0}, "at least 0, got -1.0"),
        ({"nobody": 2.0}, "'nobody', which is none of the labels"),
    ):
        with pytest.raises(ValueError, match=words):
            TensorCRP(class_weight=bad).fit(X, y)
    balanced = TensorCRP(class_weight="balanced")
    for use in (balanced.partial_fit, lambda X, y: balanced.fit_batches([(X, y)])):
        with pytest.raises(ValueError, match=r"all labels at once.*dict"):
            use(X, y)
    with pytest.raises(ValueError, match="leave class_weight out"):
        balanced.fit_scatter(ClassScatter.from_samples(X, y))


def test_class_of_zero_weight_does_not_exist():
    X, y = samples((4, 3), n_classes=3)
    model = crp().fit(X, y, sample_weight=(y != 1).astype(float))
    np.testing.assert_array_equal(model.classes_, [0, 2])
    expected = crp().fit(X[y != 1], y[y != 1])
    np.testing.assert_allclose(
        model.components_, expected.components_, rtol=0, atol=1e-11
    )


def test_every_class_with_one_sample_works_with_an_absolute_ridge():
    X, y = samples((4, 3), n=3)
    features = crp(2, reg_scale="absolute").fit_transform(X, y)
    assert len(np.unique(features.round(6), axis=0)) == 3


# --- determinism ------------------------------------------------------------------


@pytest.mark.parametrize("init", ["lda", "identity", "random"])
def test_same_random_state_same_model(init):
    X, y = samples((3, 2, 4))
    model = crp(init=init, n_init=3, random_state=7)
    assert_same_model(clone(model).fit(X, y), clone(model).fit(X, y))


def test_refit_is_identical():
    X, y = samples((4, 3))
    model = crp(init="random", random_state=7).fit(X, y)
    first = clone(model).fit(X, y)
    assert_same_model(first, model.fit(X, y))


def test_sums_of_final_values_are_numbers():
    model = crp().fit(*samples((4, 3)))
    finals = [curve[-1] for curve in model.history_]
    for total in (model.objective_.sum(), np.mean(model.objective_)):
        assert type(total) is np.float64
    assert model.objective_.sum() == np.sum(finals)
    doubled = 2 * model.objective_
    assert type(doubled) is np.ndarray
    np.testing.assert_array_equal(doubled, 2 * np.array(finals))


@pytest.mark.parametrize("make", [np.random.RandomState, np.random.default_rng])
def test_random_state_instance_moves_on(make):
    X, y = samples((5, 6, 4), n=12)
    rng = make(0)
    first, second = (
        crp(1, init="random", max_iter=1, random_state=rng).fit(X, y) for _ in range(2)
    )
    assert not np.allclose(first.components_, second.components_)


def test_nothing_touches_the_global_random_state():
    X, y = samples((4, 3))
    np.random.seed(0)  # noqa: NPY002
    crp(init="random", n_init=2, random_state=1).fit(X, y)
    state = np.random.get_state()[1]  # noqa: NPY002
    np.random.seed(0)  # noqa: NPY002
    np.testing.assert_array_equal(state, np.random.get_state()[1])  # noqa: NPY002


def test_more_starts_never_give_a_worse_first_projection():
    X, y = samples((4, 3, 3), n=20)
    best = [
        crp(1, init="random", n_init=n, random_state=0).fit(X, y).objective_[0]
        for n in (1, 3, 6)
    ]
    assert best == sorted(best)


# --- progress, warnings, threads --------------------------------------------------


def test_verbose_prints_one_line_per_component(capsys):
    X, y = samples((4, 3))
    crp(5, verbose=1).fit(X, y)
    memory, *lines = capsys.readouterr().out.splitlines()
    assert "12 rows" in memory
    assert len(lines) == 5
    for p, line in enumerate(lines, start=1):
        assert f"{p}/5" in line
    crp(5).fit(X, y)
    assert capsys.readouterr() == ("", "")


UNFINISHED = {"max_iter": 1, "init": "identity"}


def test_one_convergence_warning_per_fit():
    X, y = samples((5, 4, 3))
    with pytest.warns(ConvergenceWarning) as record:
        model = TensorCRP(6, tol=1e-9, **UNFINISHED).fit(X, y)
    assert len(record) == 1
    for word in ("6 projections", "tol", "max_iter", "usable"):
        assert word in str(record[0].message)
    assert record[0].filename == __file__
    assert model.transform(X).shape == (30, 6)


def test_one_convergence_warning_per_batch():
    X, y = samples((5, 4, 3))
    with pytest.warns(ConvergenceWarning) as record:
        TensorCRP(6, tol=1e-9, **UNFINISHED).partial_fit(X, y)
    assert len(record) == 1


def test_no_warning_without_a_tolerance_or_when_done():
    X, y = samples((5, 4, 3))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        TensorCRP(6, tol=0, **UNFINISHED).fit(X, y)
        TensorCRP(6, tol=1e-3, max_iter=1000).fit(X, y)


def test_warning_as_error_leaves_the_estimator_unfitted():
    X, y = samples((5, 4, 3))
    model = TensorCRP(tol=1e-9, **UNFINISHED)
    with pytest.raises(ConvergenceWarning):  # pytest turns warnings into errors
        model.fit(X, y)
    with pytest.raises(NotFittedError):
        model.transform(X)


def threads():
    """Thread count of every BLAS and OpenMP library in the process."""
    return {d["filepath"]: d["num_threads"] for d in threadpoolctl.threadpool_info()}


def counting_start(seen, error_at=None):
    """A start that notes the thread counts and fails on its n-th call, if asked to."""

    def start(shape, rank, rng):
        seen.append(threads())
        if len(seen) == error_at:
            raise RuntimeError("enough")
        return [rng.standard_normal((size, rank)) for size in shape]

    return start


def blas_limit(limit):
    return threadpoolctl.threadpool_limits(limit, user_api="blas")


def test_blas_threads_are_bounded_in_a_small_fit_and_restored():
    X, y = samples((4, 3))
    seen = []
    with blas_limit(2):
        before = threads()
        crp(init=counting_start(seen)).fit(X, y)
        assert threads() == before
    blas = [d["filepath"] for d in threadpoolctl.threadpool_info()]
    blas = [path for path in blas if "openblas" in path or "mkl" in path]
    assert all(counts[path] == 1 for counts in seen for path in blas)


def test_blas_threads_are_restored_after_an_error():
    X, y = samples((4, 3))
    with blas_limit(2):
        before = threads()
        with pytest.raises(RuntimeError, match="enough"):
            crp(4, init=counting_start([], error_at=3)).fit(X, y)
        assert threads() == before


SECONDS = 120  # only a fit that hangs takes that long


def rendezvous(arrived, go_on):
    """A start that tells that its fit is under way and then waits for a sign."""

    def start(shape, rank, rng):
        arrived.set()
        assert go_on.wait(timeout=SECONDS)
        return [np.ones((size, rank)) for size in shape]

    return start


def test_blas_threads_are_restored_after_fits_that_overlap():
    """The first fit to begin ends first; the other one must not undo its clean-up.

    Without a limit of our own around it: threadpoolctl lets the thread that set one
    keep control, and the fits would then change nothing.
    """
    X, y = samples((4, 3))
    first_inside, second_inside, first_done = (threading.Event() for _ in range(3))
    first = crp(1, rank=1, init=rendezvous(first_inside, second_inside))
    second = crp(1, rank=1, init=rendezvous(second_inside, first_done))
    before = threads()
    with ThreadPoolExecutor(2) as pool:
        one = pool.submit(first.fit, X, y)
        assert first_inside.wait(timeout=SECONDS)
        two = pool.submit(second.fit, X, y)
        one.result(timeout=SECONDS)
        first_done.set()
        two.result(timeout=SECONDS)
    assert threads() == before


# --- documentation ----------------------------------------------------------------


def section(name):
    """Entries of a numpydoc section of the class: name -> the rest of the line."""
    text = inspect.getdoc(TensorCRP)
    body = re.search(rf"^{name}\n-+\n(.*?)(?=^\S[^\n]*\n-{{3,}}|\Z)", text, re.M | re.S)
    entries = re.findall(r"^(\w+)(?: : (.*))?$", body.group(1), re.M)
    return dict(entries)


def test_documented_defaults_equal_the_signature():
    documented = section("Parameters")
    signature = inspect.signature(TensorCRP).parameters
    assert list(documented) == list(signature)
    for name, text in documented.items():
        value = ast.literal_eval(text.split("default=")[1])
        assert value == signature[name].default, name
        assert type(value) is type(signature[name].default), name


def test_fitted_attributes_are_documented():
    X, y = samples((4, 3))
    model = crp(sample_shape=(4, 3)).fit(data_frame(X), y)
    public = {name for name in vars(model) if not name.startswith("_")}
    public |= {"objective_", "n_iters_"} & set(dir(type(model)))  # properties
    fitted = public - set(model.get_params())
    assert set(section("Attributes")) == fitted
    assert all(name.endswith("_") for name in fitted)


@pytest.mark.parametrize(
    "method",
    "fit partial_fit fit_scatter transform inverse_transform cp_tensor".split(),
)
def test_method_arguments_are_documented(method):
    function = getattr(TensorCRP, method)
    for name in list(inspect.signature(function).parameters)[1:]:
        assert re.search(rf"^ *{name} : ", function.__doc__, re.M), name
    assert "Returns\n" in function.__doc__


@pytest.mark.parametrize("shape", [(6,), (5, 4)])
def test_between_makes_no_difference_for_two_classes(shape, make_samples):
    X, y = make_samples(shape, n=40, n_classes=2)
    one, other = (TensorCRP(3, between=b).fit(X, y) for b in ("classes", "samples"))
    np.testing.assert_allclose(one.projections_, other.projections_, atol=1e-9)
