"""Batches through `partial_fit` and merged statistics give the result of one `fit`.

"To rounding" means here: features and projections differ by less than 1e-10 of the
largest one. Batches are merged by other sums than one fit uses (errors of about
1e-15), and a few sweeps of eigenvectors on well separated classes lose some digits.
"""

import pickle
from functools import reduce

import dask
import numpy as np
import pandas as pd
import pytest
from pairs import pairs
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from tensorcrp import ClassScatter, TensorCRP, baselines

ROUNDING = 1e-10
SHAPES = [(8,), (4, 3), (3, 2, 4)]
orders = pytest.mark.parametrize(
    "shape", SHAPES, ids=lambda shape: f"order{len(shape)}"
)
# More samples than entries, and fewer.
sizes = pytest.mark.parametrize("n", [30, 7])
MODELS = {
    "lda": TensorCRP(3, max_iter=4, tol=0),
    "until converged": TensorCRP(3, max_iter=200),
    "identity": TensorCRP(3, init="identity", max_iter=4, tol=0),
    "full rank": TensorCRP(3, rank="full"),
    "weighted between": TensorCRP(3, between="samples", max_iter=4, tol=0),
    "absolute ridge": TensorCRP(3, reg=2.0, reg_scale="absolute", max_iter=4, tol=0),
}
CRP = MODELS["lda"]
models = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS.keys())


def samples(shape, n, n_classes=3, seed=0):
    """Well separated classes of unequal size, at least two samples in each."""
    rng = np.random.default_rng(seed)
    y = np.concatenate([np.arange(2 * n_classes) % n_classes, np.zeros(n, int)])[:n]
    y[2 * n_classes :] = rng.integers(0, n_classes, max(n - 2 * n_classes, 0))
    means = 2 * rng.standard_normal((n_classes, *shape))
    return means[y] + rng.standard_normal((n, *shape)), y


def one_by_one(y, rng):
    return [[i] for i in rng.permutation(len(y))]


def uneven(y, rng):
    cuts = np.sort(rng.choice(np.arange(1, len(y)), 3, replace=False))
    return np.split(rng.permutation(len(y)), cuts)


def sorted_by_class(y, rng):
    return np.array_split(np.argsort(y, kind="stable"), 6)


def backwards(y, rng):
    return np.array_split(np.arange(len(y))[::-1], 2)


def all_at_once(y, rng):
    return [np.arange(len(y))]


WAYS = [one_by_one, uneven, sorted_by_class, backwards, all_at_once]


def stream(model, X, y, batches, weight=None):
    model = clone(model)
    for batch in batches:
        part = None if weight is None else weight[batch]
        model.partial_fit(X[batch], y[batch], sample_weight=part)
    return model


def assert_close(got, expected):
    np.testing.assert_allclose(
        got, expected, rtol=0, atol=ROUNDING * np.abs(expected).max()
    )


def assert_equivalent(got, expected, X):
    """The same model to rounding, and the same features of new samples."""
    new = X + np.random.default_rng(9).standard_normal(X.shape)
    assert_close(got.transform(new), expected.transform(new))
    assert_close(got.projections_, expected.projections_)
    assert_close(got.components_, expected.components_)
    assert got.lambda_ == pytest.approx(expected.lambda_, rel=ROUNDING)
    assert got.n_iter_ == expected.n_iter_
    np.testing.assert_array_equal(got.classes_, expected.classes_)


def assert_untouched(model, twin, X):
    """Bitwise the twin's features, and nothing else changed."""
    np.testing.assert_array_equal(model.transform(X), twin.transform(X))
    assert list(vars(model)) == list(vars(twin))


# --- batches ----------------------------------------------------------------------


@pairs(shape=SHAPES, n=[30, 7], batches=WAYS)
def test_any_batches_equal_one_fit(shape, n, batches):
    X, y = samples(shape, n)
    parts = batches(y, np.random.default_rng(1))
    assert_equivalent(stream(CRP, X, y, parts), clone(CRP).fit(X, y), X)


@pairs(n=[30, 7], model=list(MODELS.values()), batches=[uneven, sorted_by_class])
def test_any_settings_equal_one_fit(n, model, batches):
    X, y = samples((4, 3), n)
    parts = batches(y, np.random.default_rng(1))
    assert_equivalent(stream(model, X, y, parts), clone(model).fit(X, y), X)


@orders
def test_every_batch_equals_a_fit_of_all_samples_so_far(shape):
    X, y = samples(shape, 40)
    model = clone(CRP)
    for end in range(10, 41, 10):
        model.partial_fit(X[end - 10 : end], y[end - 10 : end])
        assert_equivalent(model, clone(CRP).fit(X[:end], y[:end]), X)


@pairs(shape=SHAPES, n=[30, 7], batches=[uneven, sorted_by_class])
def test_weighted_batches(shape, n, batches):
    X, y = samples(shape, n)
    weight = np.random.default_rng(2).uniform(0.5, 3, n)
    got = stream(CRP, X, y, batches(y, np.random.default_rng(1)), weight)
    assert_equivalent(got, clone(CRP).fit(X, y, sample_weight=weight), X)


def test_samples_of_zero_weight_in_a_batch():
    X, y = samples((4, 3), 40)
    weight = (np.arange(40) % 4 > 0).astype(float)
    got = stream(CRP, X, y, [range(10), range(10, 40)], weight)
    assert_equivalent(got, clone(CRP).fit(X[weight > 0], y[weight > 0]), X)


@orders
def test_class_first_seen_in_a_later_batch(shape):
    X, y = samples(shape, 40, n_classes=4)
    order = np.argsort(y == 1, kind="stable")  # class 1 last: in between the others
    first, later = np.split(order, [np.count_nonzero(y != 1)])
    model = stream(CRP, X, y, [first])
    np.testing.assert_array_equal(model.classes_, [0, 2, 3])
    model.partial_fit(X[later], y[later])
    np.testing.assert_array_equal(model.classes_, [0, 1, 2, 3])
    assert_equivalent(model, clone(CRP).fit(X, y), X)


def test_longer_string_label_in_a_later_batch():
    X, y = samples((4, 3), 40)
    names = np.array(["a", "bee", "zebra"])[y]
    first, later = np.flatnonzero(y != 2), np.flatnonzero(y == 2)
    model = clone(CRP).partial_fit(X[first], np.array(["a", "bee"])[y[first]])
    model.partial_fit(X[later], names[later])
    assert list(model.classes_) == ["a", "bee", "zebra"]
    assert_equivalent(model, clone(CRP).fit(X, names), X)


def test_flattened_batches():
    X, y = samples((4, 3), 40)
    flat = X.reshape(40, -1)
    model = clone(CRP).set_params(sample_shape=(4, 3))
    got = stream(model, flat, y, np.array_split(np.arange(40), 4))
    assert_close(got.transform(flat), clone(CRP).fit(X, y).transform(X))


def test_float32_batches():
    X, y = samples((4, 3), 40)
    X = X.astype(np.float32)
    got = stream(CRP, X, y, np.array_split(np.arange(40), 4)).transform(X)
    expected = clone(CRP).fit(X, y).transform(X)
    assert got.dtype == np.float32
    # Single precision: 1.2e-7 and two digits for the sweeps, as in one fit.
    np.testing.assert_allclose(
        got, expected, rtol=0, atol=2e-5 * np.abs(expected).max()
    )


@sizes
def test_large_offset_does_not_spoil_the_sums(n):
    """Means are merged, not raw sums of squares: 1e6 leaves ten digits of 1e-16."""
    X, y = samples((4, 3), n)
    far = X + 1e6
    got = stream(CRP, far, y, one_by_one(y, np.random.default_rng(1)))
    expected = clone(CRP).fit(X, y)
    np.testing.assert_allclose(got.components_, expected.components_, rtol=0, atol=1e-7)


def test_statistics_stay_small():
    X, y = samples((4, 3), 70)
    model = stream(CRP, X, y, one_by_one(y, np.random.default_rng(1)))
    assert (
        len(pickle.dumps(model))
        < len(pickle.dumps(stream(CRP, X, y, [range(70)]))) + 500
    )


# --- not enough yet ---------------------------------------------------------------


def assert_unfitted(model, X):
    with pytest.raises(NotFittedError):
        model.transform(X)
    assert not hasattr(model, "components_")


def test_unfitted_until_there_are_two_classes():
    X, y = samples((4, 3), 40)
    model = clone(CRP)
    for batch in np.array_split(np.flatnonzero(y == 0), 3):
        assert model.partial_fit(X[batch], y[batch]) is model
        assert_unfitted(model, X)
    rest = np.flatnonzero(y)
    model.partial_fit(X[rest], y[rest])
    assert_equivalent(model, clone(CRP).fit(X, y), X)


def test_unfitted_until_something_varies_within_a_class():
    X, y = samples((4, 3), 40)
    one_each = np.unique(y, return_index=True)[1]
    model = clone(CRP).partial_fit(X[one_each], y[one_each])
    assert_unfitted(model, X)
    rest = np.setdiff1d(np.arange(40), one_each)
    model.partial_fit(X[rest], y[rest])
    assert_equivalent(model, clone(CRP).fit(X, y), X)


@orders
@pytest.mark.parametrize("init", ["lda", "identity"])
def test_without_a_ridge_unfitted_until_the_scatter_is_regular(shape, init):
    X, y = samples(shape, 60)
    bare = clone(CRP).set_params(reg=0, init=init)
    model = clone(bare).partial_fit(X[:8], y[:8])
    assert_unfitted(model, X)
    model.partial_fit(X[8:], y[8:])
    assert_equivalent(model, bare.fit(X, y), X)


# --- errors and starting over -----------------------------------------------------


BAD_BATCHES = {
    "another size": (np.ones((4, 5, 3)), "(5, 3)"),
    "modes swapped": (np.ones((4, 3, 4)), "(3, 4)"),
    "flattened": (np.ones((4, 12)), "(12,)"),
    "another order": (np.ones((4, 4, 3, 1)), "(4, 3, 1)"),
    "NaN": (np.full((4, 4, 3), np.nan), "NaN"),
}


@pytest.mark.parametrize("name", BAD_BATCHES)
def test_bad_batch_leaves_the_earlier_state(name):
    X, y = samples((4, 3), 40)
    bad, word = BAD_BATCHES[name]
    model, twin = (clone(CRP).partial_fit(X[:20], y[:20]) for _ in range(2))
    with pytest.raises(ValueError) as caught:
        model.partial_fit(bad, y[:4])
    assert word in str(caught.value)
    assert_untouched(model, twin, X)
    model.partial_fit(X[20:], y[20:])
    assert_untouched(model, twin.partial_fit(X[20:], y[20:]), X)
    assert_equivalent(model, clone(CRP).fit(X, y), X)


@pytest.mark.parametrize("name", BAD_BATCHES)
def test_bad_batch_before_the_first_fit_is_forgotten(name):
    X, y = samples((4, 3), 40)
    bad, _ = BAD_BATCHES[name]
    order = np.argsort(y, kind="stable")
    model = clone(CRP).partial_fit(X[order[:2]], y[order[:2]])
    with pytest.raises(ValueError):
        model.partial_fit(bad, y[:4])
    model.partial_fit(X[order[2:]], y[order[2:]])
    assert_equivalent(model, clone(CRP).fit(X, y), X)


LARGE = 2**53 + np.arange(3)
MIXED_LABELS = {
    "signed, then not": (LARGE, LARGE.astype("u8")),
    "unsigned, then signed": (LARGE.astype("u8"), LARGE),
    "beyond int64": (np.arange(3), np.array([0, 2**63 + 1, 2**63 + 2], "u8")),
    "floats": (np.arange(3), np.arange(3.0)),
    "small floats": (np.arange(3.0, dtype="f4"), np.arange(3)),
    "booleans": (np.array([False, True, True]), np.arange(3)),
}


@pytest.mark.parametrize("name", MIXED_LABELS)
def test_labels_of_several_types_stay_apart(name):
    X, y = samples((4, 3), 30)
    labels = [each[y] for each in MIXED_LABELS[name]]
    model = clone(CRP).partial_fit(X, labels[0]).partial_fit(X, labels[1])
    expected = set(labels[0].tolist()) | set(labels[1].tolist())
    assert set(model.classes_.tolist()) == expected
    assert len(model.classes_) == len(expected)
    assert model._scatter.counts.sum() == 60


NO_TYPE = {
    "negative, and beyond int64": ([-1, 0, 1], 2**63 + np.arange(3, dtype="u8")),
    "integers beyond 2**53, and halves": (LARGE, [0.5, 1.5, 2.5]),
}


@pytest.mark.parametrize("name", NO_TYPE)
def test_labels_without_a_common_type_are_not_merged(name):
    X, y = samples((4, 3), 30)
    one, other = (
        ClassScatter.from_samples(X, np.asarray(labels)[y]) for labels in NO_TYPE[name]
    )
    for pair in ((one, other), (other, one)):
        with pytest.raises(ValueError, match="no type of numbers holds both"):
            ClassScatter.merge(*pair)


@pytest.mark.parametrize("scale", [1e-90, 1e-30, 1e30, 1e90])
@pytest.mark.parametrize(
    "model",
    [each for name, each in MODELS.items() if name != "absolute ridge"],
    ids=str,
)
def test_the_scale_of_all_weights_does_not_count(model, scale):
    X, y = samples((4, 3), 30)
    weight = np.random.default_rng(1).uniform(0.5, 2, len(y))
    expected = clone(model).fit(X, y, weight).transform(X)
    assert_close(clone(model).fit(X, y, scale * weight).transform(X), expected)
    got = stream(model, X, y, uneven(y, np.random.default_rng(0)), scale * weight)
    assert_close(got.transform(X), expected)


WEIGHTED = [CRP, *(each.cls() for each in baselines.BASELINES if each.streams)]


@pytest.mark.parametrize("model", WEIGHTED, ids=str)
def test_weights_of_any_size_give_the_same_features(model):
    """Nothing overflows or underflows; bitwise if the scale is a power of four."""
    X, y = samples((4, 3), 30)
    weight = np.random.default_rng(1).uniform(0.5, 2, len(y))
    expected = clone(model).fit(X, y, weight).transform(X)
    for exponent in (-1000, -502, 502, 1022):
        got = clone(model).fit(X, y, np.ldexp(weight, exponent)).transform(X)
        np.testing.assert_array_equal(got, expected)


def test_weights_too_far_apart_are_not_dropped():
    X, y = samples((4, 3), 30)
    with pytest.raises(ValueError, match=r"from 1.0e-300 to 1.0e\+300"):
        clone(CRP).fit(X, y, np.where(y == 0, 1e-300, 1e300))
    weight = np.where(y == 0, 0.0, 1e300)
    assert list(clone(CRP).fit(X, y, weight).classes_) == [1, 2]


def test_batches_share_the_unit_of_their_weights():
    X, y = samples((4, 3), 30)
    for call in (
        lambda: clone(CRP).partial_fit(X, y, np.full(30, 1e300)),
        lambda: clone(CRP).fit_batches([(X, y, np.full(30, 1e-300))]),
    ):
        with pytest.raises(ValueError, match="Divide all weights, of all batches"):
            call()


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("scale", [1e-30, 1.0, 1e4, 1e30])
def test_equal_samples_do_not_vary_whatever_their_weights(seed, scale):
    """Deviations are rounding alone, in rows, in a triangle and in merged batches."""
    for n, step in ((12, 12), (90, 90), (90, 15)):
        y = np.arange(n) % 3
        X = np.full((n, 4, 3), 0.1) * (1 + 0.7 * y)[:, None, None]
        weight = scale * np.random.default_rng(seed).random(n)
        parts = [slice(i, i + step) for i in range(0, n, step)]
        each = [ClassScatter.from_samples(X[p], y[p], weight[p]) for p in parts]
        scatter = reduce(ClassScatter.merge, each)
        assert scatter.trace == 0
        with pytest.raises(ValueError, match="nothing varies"):
            clone(CRP).fit_scatter(scatter)


def test_labels_of_another_kind_leave_the_earlier_state():
    X, y = samples((4, 3), 40)
    model, twin = (clone(CRP).partial_fit(X[:20], y[:20]) for _ in range(2))
    with pytest.raises(ValueError, match="labels"):
        model.partial_fit(X[20:], np.array(["a", "b", "c"])[y[20:]])
    assert_untouched(model, twin, X)


def test_batch_after_fit_starts_over_and_says_so():
    X, y = samples((4, 3), 40)
    model = clone(CRP).fit(X[:20], y[:20])
    with pytest.warns(UserWarning, match="starts over") as record:
        model.partial_fit(X[20:], y[20:])
    assert len(record) == 1
    assert record[0].filename == __file__
    assert_equivalent(model, clone(CRP).fit(X[20:], y[20:]), X)


def test_batch_of_one_class_after_fit_leaves_no_mixture():
    X, y = samples((4, 3), 40)
    model = clone(CRP).fit(X, y)
    with pytest.warns(UserWarning, match="starts over"):
        model.partial_fit(np.ones((2, 5)), [0, 0])
    assert_unfitted(model, np.ones((2, 5)))


def test_fit_after_batches_forgets_them():
    X, y = samples((4, 3), 40)
    model = clone(CRP).partial_fit(X[:20], y[:20]).fit(X[20:], y[20:])
    assert_untouched(model, clone(CRP).fit(X[20:], y[20:]), X)


def test_clone_forgets_the_batches():
    X, y = samples((4, 3), 40)
    model = clone(clone(CRP).partial_fit(X[:20], y[:20]))
    model.partial_fit(X[20:], y[20:])
    assert_equivalent(model, clone(CRP).fit(X[20:], y[20:]), X)


# --- merged statistics ------------------------------------------------------------


@pairs(shape=SHAPES, n=[30, 7], batches=WAYS)
def test_fit_scatter_of_merged_statistics(shape, n, batches):
    X, y = samples(shape, n)
    parts = batches(y, np.random.default_rng(1))
    scatters = [ClassScatter.from_samples(X[part], y[part]) for part in parts]
    merged = reduce(ClassScatter.merge, scatters)
    assert_equivalent(clone(CRP).fit_scatter(merged), clone(CRP).fit(X, y), X)


@models
def test_fit_scatter_with_any_settings(model):
    X, y = samples((4, 3), 40)
    scatter = ClassScatter.from_samples(X, y)
    assert_equivalent(clone(model).fit_scatter(scatter), clone(model).fit(X, y), X)


def test_statistics_merge_like_a_tree():
    X, y = samples((3, 2, 4), 40)
    a, b, c, d = (
        ClassScatter.from_samples(X[part], y[part])
        for part in np.array_split(np.arange(40), 4)
    )
    tree, chain = d.merge(b).merge(a.merge(c)), a.merge(b).merge(c).merge(d)
    assert_equivalent(clone(CRP).fit_scatter(tree), clone(CRP).fit_scatter(chain), X)


def test_fit_scatter_of_another_shape_replaces_everything():
    X, y = samples((4, 3), 40)
    swapped = X.transpose(0, 2, 1)
    model = clone(CRP).fit(X, y)
    model.fit_scatter(ClassScatter.from_samples(swapped, y))
    assert model.sample_shape_ == model.input_shape_ == (3, 4)
    assert_equivalent(model, clone(CRP).fit(swapped, y), swapped)


# --- a stream as a whole ----------------------------------------------------------


@pairs(shape=SHAPES, n=[30, 7], batches=WAYS)
def test_fit_batches_equals_one_fit(shape, n, batches):
    X, y = samples(shape, n)
    parts = batches(y, np.random.default_rng(1))
    model = clone(CRP).fit_batches((X[part], y[part]) for part in parts)
    assert_equivalent(model, clone(CRP).fit(X, y), X)


def test_fit_batches_with_weights_and_a_batch_after_it():
    X, y = samples((4, 3), 60)
    weight = np.random.default_rng(2).uniform(0.5, 3, 60)
    parts = [slice(0, 20), slice(20, 40), slice(40, 60)]
    *first, last = [(X[part], y[part], weight[part]) for part in parts]
    model = clone(CRP).fit_batches(first).partial_fit(*last)
    assert_equivalent(model, clone(CRP).fit(X, y, sample_weight=weight), X)


@pytest.mark.parametrize("collection", [False, True], ids=["list", "dask"])
def test_fit_batches_compares_the_names_of_columns(collection):
    X, y = samples((12,), 40)
    columns = [f"entry {i}" for i in range(12)]
    frame = pd.DataFrame(X, columns=columns)
    batches = [(frame[:20], y[:20]), (frame[20:][columns[::-1]], y[20:])]
    if collection:
        batches = [dask.delayed(batch) for batch in batches]
    model = clone(CRP).set_params(sample_shape=(4, 3))
    with pytest.raises(ValueError, match=r"another order.*column 0 is 'entry 11'"):
        model.fit_batches(batches)
    batches = [(frame[:20], y[:20]), (frame[20:], y[20:])]
    expected = clone(model).fit(frame, y).transform(frame)
    assert_close(model.fit_batches(batches).transform(frame), expected)


def test_fit_batches_with_and_without_names_says_so():
    X, y = samples((12,), 40)
    frame = pd.DataFrame(X, columns=[f"entry {i}" for i in range(12)])
    with pytest.warns(UserWarning, match="some have none"):
        clone(CRP).fit_batches([(frame[:20], y[:20]), (X[20:], y[20:])])


X_Y = samples((4, 3), 30)


@pytest.mark.parametrize(
    ("batches", "word"),
    [
        (X_Y, "ndarray"),
        ([(*X_Y, np.ones(30), 0)], "tuple of 4"),
        ([X_Y[:1]], "tuple of 1"),
        ([X_Y, None], "NoneType"),
    ],
    ids="samples four one none".split(),
)
def test_fit_batches_says_what_a_batch_is(batches, word):
    model = clone(CRP)
    with pytest.raises(ValueError, match=rf"{word}.*\[\(X, y\)\]"):
        model.fit_batches(batches)
    assert vars(model) == vars(clone(CRP))


def test_fit_batches_starts_anew():
    X, y = samples((4, 3), 40)
    model = clone(CRP).partial_fit(X[:20] + 5, y[:20])
    model.fit_batches([(X, y)])
    assert_equivalent(model, clone(CRP).fit(X, y), X)


def test_fit_batches_of_a_method_without_labels():
    X, _ = samples((4, 3), 40)
    got = baselines.MPCA(2).fit_batches([(X[:9], None), (X[9:], None)])
    assert_close(got.transform(X), baselines.MPCA(2).fit(X).transform(X))


BAD_STREAMS = {
    "another size": ([np.ones((4, 5, 3))], "(5, 3)"),
    "NaN": ([np.full((4, 4, 3), np.nan)], "NaN"),
    "one class": ([], "fewer than two classes"),
}


@pytest.mark.parametrize("name", BAD_STREAMS)
def test_bad_streams_leave_the_earlier_state(name):
    X, y = samples((4, 3), 40)
    more, words = BAD_STREAMS[name]
    model, twin = (clone(CRP).fit(X, y) for _ in range(2))
    with pytest.raises(ValueError) as caught:
        one = y == 0
        model.fit_batches([(X[one], y[one]), *((bad, y[:4]) for bad in more)])
    assert words in str(caught.value)
    assert_untouched(model, twin, X)


def test_an_empty_stream():
    with pytest.raises(ValueError, match="batches is empty"):
        clone(CRP).fit_batches([])


def test_an_iterator_that_fails_leaves_the_earlier_state():
    X, y = samples((4, 3), 40)
    model, twin = (clone(CRP).fit(X, y) for _ in range(2))

    def batches():
        yield X[:20], y[:20]
        raise OSError("the disk is gone")

    with pytest.raises(OSError, match="disk"):
        model.fit_batches(batches())
    assert_untouched(model, twin, X)


# --- fewer rows than P ------------------------------------------------------------


def within(X, y, weight=None):
    """The within-class scatter (P, P), as its definition says."""
    flat, total = X.reshape(len(X), -1), 0.0
    weight = np.ones(len(X)) if weight is None else weight
    for label in np.unique(y):
        member = y == label
        mean = np.average(flat[member], axis=0, weights=weight[member])
        deviations = (flat[member] - mean) * np.sqrt(weight[member])[:, None]
        total = total + deviations.T @ deviations
    return total


@pairs(
    max_rows=[2, 5, 10, 24, 40],
    decay=[0.0, 1.0, 3.0],
    batches=[one_by_one, uneven, all_at_once],
)
def test_error_of_fewer_rows_is_within_its_bound(max_rows, decay, batches):
    """``0 <= S_w - root^T root <= error`` in every direction; the trace is exact."""
    X, y = samples((4, 6), 80)
    X = X * np.arange(1.0, 25).reshape(4, 6) ** -decay  # directions of unequal scatter
    parts = batches(y, np.random.default_rng(1))
    model = clone(CRP).set_params(max_rows=max_rows)
    model.fit_batches((X[part], y[part]) for part in parts)
    scatter, exact = model._scatter, within(X, y)
    rows = scatter.root.reshape(len(scatter.root), -1)
    assert len(rows) <= max_rows
    off = np.linalg.eigvalsh(exact - rows.T @ rows)
    rounding = 1e-12 * np.trace(exact)
    assert off[0] >= -rounding
    assert off[-1] <= scatter.error + rounding
    assert scatter.trace == pytest.approx(np.trace(exact), rel=1e-12)
    assert model.root_error_ == pytest.approx(scatter.error / np.trace(exact))
    # Each shrinking by delta takes delta off half as many directions as there are rows.
    assert model.root_error_ <= 1 / (max_rows // 2 + 1)
    assert model.lambda_ == pytest.approx(clone(CRP).fit(X, y).lambda_, rel=1e-10)


def test_the_bound_is_of_use():
    """Where few directions vary, a few rows are nearly exact, and the bound says so."""
    rng = np.random.default_rng(0)
    X, y = samples((8, 8), 400)
    hidden = 10 * rng.standard_normal((400, 5)) @ rng.standard_normal((5, 64))
    X = X + hidden.reshape(-1, 8, 8)
    model = TensorCRP(2, max_rows=30)
    model.fit_batches((X[i : i + 50], y[i : i + 50]) for i in range(0, 400, 50))
    assert 0 < model.root_error_ < 0.01
    expected = TensorCRP(2).fit(X, y).transform(X)
    got = model.transform(X)
    for p in range(2):
        assert abs(np.corrcoef(got[:, p], expected[:, p])[0, 1]) > 0.99


@pytest.mark.parametrize("max_rows", [None, 12, 100])
def test_enough_rows_are_exact(max_rows):
    X, y = samples((4, 3), 40)
    model = clone(CRP).set_params(max_rows=max_rows)
    model.fit_batches((X[i : i + 9], y[i : i + 9]) for i in range(0, 40, 9))
    assert model.root_error_ == 0
    assert_equivalent(model, clone(CRP).fit(X, y), X)


def test_errors_of_shrunk_statistics_add_up():
    X, y = samples((4, 3), 60)
    parts = [ClassScatter.from_samples(X[i::2], y[i::2]).shrink(6) for i in range(2)]
    merged = parts[0].merge(parts[1])
    assert merged.error == parts[0].error + parts[1].error > 0
    assert merged.trace == pytest.approx(np.trace(within(X, y)), rel=1e-12)
    off = np.linalg.eigvalsh(
        within(X, y) - np.einsum("iab,icd->abcd", *[merged.root] * 2).reshape(12, 12)
    )
    assert off[-1] <= merged.error * (1 + 1e-12)


def test_nothing_to_shrink():
    X = np.zeros((40, 4, 3))
    scatter = ClassScatter.from_samples(X, np.arange(40) % 2).shrink(4)
    assert scatter.root.shape == (1, 4, 3)
    assert (scatter.error, scatter.missing, scatter.trace) == (0, 0, 0)


@pytest.mark.parametrize("value", [1, 0, 2.5, "many"])
def test_bad_max_rows(value):
    X, y = samples((4, 3), 40)
    with pytest.raises(ValueError, match="max_rows must be an integer of at least 2"):
        clone(CRP).set_params(max_rows=value).partial_fit(X, y)
