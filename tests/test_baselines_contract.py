"""Promises that every baseline keeps: shapes, types, state, errors, words and cost."""

import ast
import inspect
import pickle
import re
from math import prod

import numpy as np
import pandas as pd
import pytest
from pairs import together
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

from tensorcrp import ClassScatter, TensorCRP, baselines
from tensorcrp.baselines import (
    HODA,
    MPCA,
    BilinearSVC,
    RidgeLDA,
    SelectiveLDA,
    TensorLPP,
)

CLASSES = [each.cls for each in baselines.BASELINES]
every = pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
TRANSFORMERS = [cls for cls in CLASSES if not is_classifier(cls())]
transformers = pytest.mark.parametrize("cls", TRANSFORMERS, ids=lambda c: c.__name__)
STREAMS = [each.cls for each in baselines.BASELINES if each.streams]
streaming = pytest.mark.parametrize("cls", STREAMS, ids=lambda cls: cls.__name__)
SHAPES = [(7,), (4, 3), (3, 2, 4), (2, 3, 2, 2)]
orders = together("shape", SHAPES)
# What acts on arrays before a method sees modes: vectors, and one order of tensors.
some_orders = together("shape", [(7,), (3, 2, 4)])


def samples(shape=(4, 3), n=30, n_classes=3, seed=0):
    """Well separated classes, labels in turn."""
    rng = np.random.default_rng(seed)
    means = 2 * rng.standard_normal((n_classes, *shape))
    y = np.arange(n) % n_classes
    return means[y] + rng.standard_normal((n, *shape)), y


def output(model, X):
    """What a model makes of samples: features or scores."""
    return (model.decision_function if is_classifier(model) else model.transform)(X)


def is_supervised(model):
    return model.__sklearn_tags__().target_tags.required


# --- shapes, types, layouts -------------------------------------------------------


@every
@orders
@together("n", [60, 12])  # more samples than entries, and fewer
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_any_order(cls, shape, n):
    X, y = samples(shape, n)
    model = cls().fit(X, y)
    assert model.sample_shape_ == model.input_shape_ == shape
    values = output(model, X)
    assert len(values) == n
    assert np.isfinite(values).all()
    assert values.dtype == np.float64


@pytest.mark.parametrize(
    "cls", [TensorCRP, *TRANSFORMERS], ids=lambda cls: cls.__name__
)
@some_orders
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_features_of_a_sample_alone_and_among_others(cls, shape, dtype):
    """To the last bit, whatever the number of samples and their layout."""
    X, y = samples(shape, n=70)
    model = cls().fit(X, y)
    X = X.astype(dtype)
    together = model.transform(X)
    np.testing.assert_array_equal(model.transform(np.asfortranarray(X)), together)
    for first, n in ((0, 1), (5, 2), (37, 1), (20, 33), (69, 1)):
        part = slice(first, first + n)
        np.testing.assert_array_equal(model.transform(X[part]), together[part])


@every
def test_classes_are_told_apart(cls):
    X, y = samples((5, 4, 3), n=60)
    new = X + 0.1 * np.random.default_rng(1).standard_normal(X.shape)
    model = cls()
    model = (
        model if is_classifier(model) else make_pipeline(model, KNeighborsClassifier(1))
    )
    assert model.fit(X, y).score(new, y) >= 0.95


@every
@some_orders
def test_flattened_equals_tensors(cls, shape):
    X, y = samples(shape)
    flat = X.reshape(len(X), -1)
    tensors, vectors = cls().fit(X, y), cls(sample_shape=shape).fit(flat, y)
    np.testing.assert_array_equal(output(tensors, X), output(vectors, flat))
    assert vectors.sample_shape_ == shape
    assert vectors.input_shape_ == (prod(shape),)


@every
@some_orders
def test_float32_stays_float32(cls, shape):
    X, y = samples(shape)
    small = X.astype(np.float32)
    values = output(cls().fit(small, y), small)
    assert values.dtype == np.float32
    expected = output(cls().fit(small.astype(float), y), small.astype(float))
    np.testing.assert_allclose(values, expected, atol=1e-3 * np.abs(expected).max())


@every
@together("dtype", [np.uint8, np.int64, bool, object])
def test_other_numbers_equal_floats(cls, dtype):
    X, y = samples((4, 3), n=40)
    numbers = (
        (X > 0).astype(bool) if dtype is bool else np.round(3 * X + 30).astype(dtype)
    )
    plain = numbers.astype(float)
    np.testing.assert_allclose(
        output(cls().fit(numbers, y), numbers),
        output(cls().fit(plain, y), plain),
        atol=1e-9,
    )


@every
@some_orders
def test_input_is_unchanged(cls, shape, tmp_path):
    X, y = samples(shape)
    arguments = X.copy(), y.copy()
    expected = output(cls().fit(*arguments), arguments[0])
    np.testing.assert_array_equal(arguments[0], X)
    np.testing.assert_array_equal(arguments[1], y)
    path = tmp_path / f"order{len(shape)}.npy"
    np.save(path, X)
    mapped = np.load(path, mmap_mode="r")
    np.testing.assert_array_equal(output(cls().fit(mapped, y), mapped), expected)


@transformers
@orders
def test_inverse_transform_gives_tensors_with_these_features(cls, shape):
    X, y = samples(shape)
    model = cls().fit(X, y)
    features = model.transform(X)
    tensors = model.inverse_transform(features)
    assert tensors.shape == X.shape
    np.testing.assert_allclose(
        model.transform(tensors), features, atol=1e-9 * np.abs(features).max()
    )
    assert model.inverse_transform(features.astype(np.float32)).dtype == np.float32


@transformers
def test_inverse_transform_follows_the_layout_of_the_input(cls):
    X, y = samples()
    flat = X.reshape(len(X), -1)
    model = cls(sample_shape=(4, 3)).fit(flat, y)
    assert model.inverse_transform(model.transform(flat)).shape == flat.shape


@transformers
def test_pandas_output(cls):
    X, y = samples()
    frame = cls().set_output(transform="pandas").fit(X, y).transform(X)
    assert isinstance(frame, pd.DataFrame)
    assert frame.columns[0] == f"{cls.__name__.lower()}0"
    np.testing.assert_array_equal(frame.to_numpy(), cls().fit(X, y).transform(X))


# --- sizes ------------------------------------------------------------------------

TUCKER = [cls for cls in TRANSFORMERS if "sizes" in cls().get_params()]


@pytest.mark.parametrize("cls", TUCKER, ids=lambda cls: cls.__name__)
@pytest.mark.parametrize(
    ("sizes", "expected"), [(2, (2, 2, 2)), (3, (3, 2, 3)), ((1, 2, 4), (1, 2, 4))]
)
def test_sizes(cls, sizes, expected):
    X, y = samples((3, 2, 4))
    model = cls(sizes).fit(X, y)
    assert tuple(factor.shape[1] for factor in model.factors_) == expected
    # A method that combines the entries of the core has c - 1 features.
    count = 2 if hasattr(model, "projections_") else prod(expected)
    assert model.transform(X).shape == (30, count)


@pytest.mark.parametrize(
    ("shape", "n_classes", "expected"),
    [
        ((9,), 4, (3,)),
        ((9, 8), 4, (3, 3)),
        ((9, 2), 4, (3, 2)),
        ((9, 8), 2, (2, 2)),
        ((9, 9, 9), 9, (4, 4, 4)),
        ((2, 9, 9), 5, (2, 3, 3)),
    ],
)
def test_default_sizes_of_discriminants(shape, n_classes, expected):
    X, y = samples(shape, n=4 * n_classes, n_classes=n_classes)
    model = baselines.ParallelLDA().fit(X, y)
    assert tuple(factor.shape[1] for factor in model.factors_) == expected


# --- state ------------------------------------------------------------------------


@every
def test_fit_sets_no_parameter_and_refits_the_same(cls):
    X, y = samples()
    model = cls(sample_shape=[4, 3])
    before = dict(model.get_params())
    first = output(model.fit(X, y), X)
    assert all(model.get_params()[name] is value for name, value in before.items())
    np.testing.assert_array_equal(first, output(model.fit(X, y), X))
    np.testing.assert_array_equal(first, output(clone(model).fit(X, y), X))
    np.testing.assert_array_equal(first, output(pickle.loads(pickle.dumps(model)), X))


@every
def test_unfitted_says_so(cls):
    with pytest.raises(NotFittedError, match="not fitted"):
        output(cls(), samples()[0])


@pytest.mark.parametrize(
    "model",
    [
        MPCA(1, tol=1e-15, max_iter=1),
        HODA(1, tol=1e-15, max_iter=1),
        BilinearSVC(1, tol=1e-15, max_iter=1),
        baselines.CPLogistic(1, tol=1e-15, max_iter=1),
        baselines.CPTDA(rank=1, tol=1e-15, max_iter=1),
        baselines.CATCH(tol=1e-15, max_iter=1),
        baselines.ManPDA(tol=1e-15, max_iter=1),
    ],
    ids=lambda model: type(model).__name__,
)
def test_one_convergence_warning_that_names_the_parameters(model):
    X, y = samples((4, 3, 3))
    with pytest.warns(ConvergenceWarning) as record:
        model.fit(X, y)
    assert len(record) == 1
    assert re.search("tol=1e-15.*max_iter=1.*usable", str(record[0].message))
    assert record[0].filename == __file__
    model.set_params(tol=0).fit(X, y)


# --- streams ----------------------------------------------------------------------


@streaming
@orders
def test_batches_equal_one_fit(cls, shape):
    X, y = samples(shape, n=60)
    whole, stream = cls().fit(X, y), cls()
    for start in range(0, 60, 17):
        stream.partial_fit(X[start : start + 17], y[start : start + 17])
    expected = np.abs(whole.transform(X))
    np.testing.assert_allclose(
        np.abs(stream.transform(X)), expected, atol=1e-7 * expected.max()
    )
    merged = ClassScatter.from_samples(X[:20], y[:20]).merge(
        ClassScatter.from_samples(X[20:], y[20:])
    )
    np.testing.assert_allclose(
        np.abs(cls().fit_scatter(merged).transform(X)),
        expected,
        atol=1e-7 * expected.max(),
    )


@streaming
def test_a_batch_that_is_too_small_is_taken_in(cls):
    X, y = samples(n=60)
    model = cls().partial_fit(X[:1], y[:1])
    with pytest.raises(NotFittedError):
        model.transform(X)
    expected = np.abs(cls().fit(X, y).transform(X))
    model.partial_fit(X[1:], y[1:])
    np.testing.assert_allclose(
        np.abs(model.transform(X)), expected, atol=1e-7 * expected.max()
    )


@streaming
def test_a_batch_after_fit_starts_over(cls):
    X, y = samples(n=60)
    model = cls().fit(X[:30], y[:30])
    with pytest.warns(UserWarning, match="starts over"):
        model.partial_fit(X[30:], y[30:])
    expected = cls().fit(X[30:], y[30:]).transform(X)
    np.testing.assert_allclose(model.transform(X), expected, atol=1e-9)


@pytest.mark.parametrize("entry", baselines.BASELINES, ids=lambda each: each.name)
def test_the_registration_is_true(entry):
    """What other tests rely on; they test whoever says that it streams."""
    assert entry.streams == hasattr(entry.cls, "partial_fit")
    required = {"yes": True, "no": False, "or not": True}[entry.supervised]
    assert is_supervised(entry.cls()) == required
    iterates = "max_iter" in entry.cls().get_params()
    assert iterates == (entry.monotone in ("yes", "no"))
    assert {entry.name, *entry.aliases} <= set(baselines.__all__)
    assert all(getattr(baselines, alias) is entry.cls for alias in entry.aliases)


def test_every_estimator_of_the_package_is_registered():
    public = [getattr(baselines, name) for name in baselines.__all__]
    estimators = {
        value
        for value in public
        if inspect.isclass(value) and issubclass(value, BaseEstimator)
    }
    assert estimators - {baselines.TuckerDiscriminant} == set(CLASSES)
    assert len(CLASSES) == len(set(CLASSES))


# --- errors of their own; what all share is in test_bad_input ---------------------

X, Y = samples(n=20)
FLAT = X.reshape(20, -1)


OWN_PARAMETERS = [
    *((cls(sizes=bad), "sizes") for cls in TUCKER for bad in (0, "two", (2,), (9, 1))),
    *((cls(sizes=bad), "sizes") for cls in TUCKER for bad in (-1, (0, 1), 1.5, True)),
    (baselines.TwoDPCA(0), "sizes"),
    (RidgeLDA(3), "at most 2"),
    (baselines.ToeplitzLDA(3), "at most 2"),
    (RidgeLDA(0), "n_components must be an integer"),
    (RidgeLDA(between="class"), "'samples', 'classes'"),
    (baselines.UMLDA(4), "at most 3"),
    (baselines.UMLDA(1.0), "n_components must be an integer"),
    (SelectiveLDA(n_orders=0), "n_orders must be an integer"),
    (TensorLPP(graph="knn"), "'classes', 'neighbors'"),
    (TensorLPP(weights="cosine"), "'binary', 'heat'"),
    (TensorLPP(n_neighbors=0), "n_neighbors must be an integer"),
    (TensorLPP(graph="neighbors", n_neighbors=20), "n_samples=20"),
    (baselines.ManPDA(4), "at most 3"),
    (baselines.ManPDA(0), "n_components must be an integer"),
    (baselines.CPTDA(3), "at most 2"),
    (baselines.CPTDA(n_components=1.0), "n_components must be an integer"),
    (baselines.CPTDA(rank="full"), "rank must be an integer"),
    (baselines.CATCH(1.0), "penalty must be less than 1"),
    (baselines.CATCH(-0.1), "penalty must be a finite number"),
    (baselines.CPLogistic(0), "rank must be an integer"),
    (baselines.CPLogistic(C=0), "C must be larger than 0"),
    (BilinearSVC(C=0), "C must be larger than 0"),
    (BilinearSVC(C=-1), "C must be a finite number"),
    (BilinearSVC(loss="log"), "'squared_hinge', 'hinge'"),
]


def test_more_columns_than_the_mode_has_are_all_of_them():
    more, all_of_them = (baselines.TwoDPCA(size).fit(X) for size in (4, 3))
    np.testing.assert_array_equal(more.transform(X), all_of_them.transform(X))


@together("model, words", OWN_PARAMETERS)
def test_own_parameters(model, words):
    before = dict(vars(model))
    with pytest.raises(ValueError, match=words):
        model.fit(X, Y)
    assert vars(model) == before


LABELS = [None, X[:, 0, 0], np.where(Y == 1, np.nan, Y), np.zeros(20), np.arange(20)]


@pytest.mark.parametrize(
    "cls",
    [cls for cls in CLASSES if not is_supervised(cls())],
    ids=lambda c: c.__name__,
)
def test_labels_are_not_looked_at(cls):
    for labels in LABELS:
        np.testing.assert_array_equal(
            cls().fit(X, labels).transform(X), cls().fit(X, Y).transform(X)
        )


def test_a_margin_needs_no_variation_within_the_classes():
    equal = np.ones((20, 4, 3)) * Y[:, None, None]
    assert BilinearSVC().fit(equal, Y).score(equal, Y) == 1
    BilinearSVC().fit(X, np.arange(20))


def test_a_singular_scatter_in_the_words_of_tensor_crp():
    errors = []
    for model in (RidgeLDA(reg=0), TensorCRP(reg=0)):
        with pytest.raises(ValueError) as caught:
            model.fit(X[:9], Y[:9])
        errors.append(str(caught.value))
    mine, theirs = errors  # TensorCRP goes on to name its default
    assert theirs.startswith(mine.removesuffix("."))


@pytest.mark.parametrize("cls", [MPCA, baselines.TwoDPCA])
def test_nothing_varies_at_all(cls):
    for samples in (X[:1], np.ones((5, 4, 3))):
        with pytest.raises(ValueError, match=r"one sample.*Pass two"):
            cls().fit(samples)


# --- words ------------------------------------------------------------------------


def section(cls, name):
    """Entries of a numpydoc section of a class: name -> the rest of the line."""
    text = inspect.getdoc(cls)
    body = re.search(rf"^{name}\n-+\n(.*?)(?=^\S[^\n]*\n-{{3,}}|\Z)", text, re.M | re.S)
    return dict(re.findall(r"^(\w+)(?: : (.*))?$", body.group(1), re.M))


@every
def test_documented_defaults_equal_the_signature(cls):
    documented, signature = (
        section(cls, "Parameters"),
        inspect.signature(cls).parameters,
    )
    assert list(documented) == list(signature)
    for name, text in documented.items():
        value = ast.literal_eval(text.split("default=")[1])
        assert value == signature[name].default, name


@every
def test_fitted_attributes_are_documented(cls):
    columns = [f"pixel{j}" for j in range(12)]
    model = cls(sample_shape=(4, 3)).fit(pd.DataFrame(FLAT, columns=columns), Y)
    public = {name for name in vars(model) if not name.startswith("_")}
    public |= {"objective_"} & set(dir(type(model)))  # a property of some
    assert set(section(cls, "Attributes")) == public - set(model.get_params())
    assert "$" not in cls.__doc__
    assert "References" in cls.__doc__ and ">>>" in cls.__doc__


METHODS = """fit partial_fit fit_scatter transform inverse_transform
decision_function predict predict_proba""".split()


@every
def test_method_arguments_are_documented(cls):
    for function in (getattr(cls, name) for name in METHODS if hasattr(cls, name)):
        for name in list(inspect.signature(function).parameters)[1:]:
            assert re.search(rf"^ *{name} : ", function.__doc__, re.M), name
        assert "Returns\n" in function.__doc__
