"""Dask arrays and collections of batches: the same results as in memory.

Most tests use the synchronous scheduler, which is the quickest; threads, processes and
a cluster of two worker processes run the same graphs.
"""

import os

import cloudpickle
import dask
import dask.array as da
import dask.bag
import numpy as np
import pytest
from clusters import two_workers
from pairs import pairs
from sklearn.base import clone

from tensorcrp import TensorCRP, TensorCRPCV, baselines
from tensorcrp.persistence import load, save

ROUNDING = 1e-10  # of the largest feature: sums in another order, a few sweeps
CRP = TensorCRP(3, max_iter=4, tol=0)
SHAPES = {2: (5, 4), 3: (4, 3, 5), 4: (3, 2, 3, 4)}
# More samples than entries (merged in a tree), and fewer (gathered).
sizes = pytest.mark.parametrize("n", [90, 17])
limits = pytest.mark.parametrize("max_memory", [None, 0], ids=["here", "in passes"])
CHUNKS = {"even": 10, "uneven": (1, 2, 3), "one": -1, "empty": (5, 0, 6, 0)}


@pytest.fixture(autouse=True)
def synchronous():
    with dask.config.set(scheduler="synchronous"):
        yield


def samples(shape, n, n_classes=3, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % n_classes
    means = 2 * rng.standard_normal((n_classes, *shape))
    return means[y] + rng.standard_normal((n, *shape)), y


def chunked(X, sizes=10):
    """X in chunks along its first axis; sizes given as a tuple, and the rest."""
    if isinstance(sizes, tuple):
        sizes = (*sizes, len(X) - sum(sizes))
    return da.from_array(X, chunks=(sizes, *X.shape[1:]))


def assert_close(got, expected, tol=ROUNDING):
    got = np.asarray(got)
    assert got.shape == expected.shape
    assert got.dtype == expected.dtype
    np.testing.assert_allclose(got, expected, rtol=0, atol=tol * np.abs(expected).max())


# --- the same results -------------------------------------------------------------


@pairs(shape=list(SHAPES.values()), n=[90, 17], max_memory=[None, 0])
def test_features_are_those_of_the_array(shape, n, max_memory):
    X, y = samples(shape, n)
    model = clone(CRP).set_params(max_memory=max_memory)
    expected = clone(CRP).fit(X, y)
    features = model.fit_transform(chunked(X), y)
    assert isinstance(features, da.Array)
    assert_close(features, expected.transform(X))
    assert_close(model.components_, expected.components_)
    assert model.lambda_ == pytest.approx(expected.lambda_, rel=ROUNDING)


@pairs(n=[90, 17], max_memory=[None, 0], chunks=list(CHUNKS.values()))
def test_any_chunks(n, max_memory, chunks):
    X, y = samples((5, 4), n)
    model = clone(CRP).set_params(max_memory=max_memory)
    got = model.fit(chunked(X, chunks), chunked(y, chunks)).transform(X)
    assert_close(got, clone(CRP).fit_transform(X, y))


def test_features_are_lazy_and_their_chunks_known():
    X, y = samples((5, 4), 90)
    model = clone(CRP).fit(X, y)
    features = model.transform(chunked(X, (5, 0, 6)))
    assert features.chunks == ((5, 0, 6, 79), (3,))
    assert features.dtype == np.float64
    assert model.transform(chunked(X.astype(np.float32))).dtype == np.float32
    assert_close(features[3:9], model.transform(X[3:9]))
    assert len(features[:5].compute()) == 5


def test_samples_are_not_computed_before_they_are_needed():
    X, y = samples((5, 4), 90)
    model = clone(CRP).fit(X, y)
    calls = []

    def seen(block):
        calls.append(len(block))
        return block

    lazy = chunked(X).map_blocks(seen, meta=np.empty((0, 0, 0)))
    features = model.transform(lazy)
    assert not calls
    features[:10].compute()
    assert calls == [10]


@sizes
def test_every_chunk_is_read_once(n):
    """More samples than entries or fewer: one pass, after which all is here."""
    X, y = samples((5, 4), n)
    calls = []

    def seen(block):
        calls.append(len(block))
        return block

    clone(CRP).fit(chunked(X).map_blocks(seen, meta=np.empty((0, 0, 0))), y)
    assert sum(calls) == n


@limits
def test_weights_and_flattened_samples(max_memory):
    X, y = samples((5, 4), 90)
    weight = np.random.default_rng(1).choice([0.0, 0.5, 2.0], 90)
    weight[10:30] = 0  # two chunks that count for nothing
    flat = chunked(X.reshape(90, -1))
    model = TensorCRP(3, sample_shape=(5, 4), max_iter=4, tol=0, max_memory=max_memory)
    expected = clone(CRP).fit(X, y, sample_weight=weight).transform(X)
    for each in (weight, chunked(weight)):
        assert_close(model.fit(flat, y, sample_weight=each).transform(flat), expected)


UNLIKE = {
    "turned": lambda block: block.transpose(0, 2, 1),
    "longer": lambda block: np.concatenate([block, block + 99]),
    "shorter": lambda block: block[1:],
    "empty": lambda block: block[:0],
}


@pairs(change=list(UNLIKE.values()), n=[90, 17], max_memory=[None, 0])
def test_chunks_that_are_not_what_dask_was_told(change, n, max_memory):
    """``map_blocks`` believes that the shape stays the same."""
    X, y = samples((5, 4), n)
    model = clone(CRP).fit(X, y)
    other = chunked(X).map_blocks(change, meta=X[:0])
    with pytest.raises(ValueError, match=r"chunk of shape.*\(chunk \d\).*true"):
        clone(CRP).set_params(max_memory=max_memory).fit(other, y)
    with pytest.raises(ValueError, match=r"chunk of shape.*\(chunk \d\).*true"):
        model.transform(other).compute()


@limits
def test_sums_that_overflow_in_chunks(max_memory):
    X, y = samples((5, 4), 90)
    X[::2] *= 1e307
    with np.errstate(over="ignore"), pytest.raises(ValueError, match="Divide X"):
        clone(CRP).set_params(max_memory=max_memory).fit(chunked(X), y)


@pytest.mark.parametrize("dtype", [np.float32, np.uint8])
def test_other_types(dtype):
    X, y = samples((5, 4), 90)
    X = np.abs(20 * X).astype(dtype)
    expected = clone(CRP).fit_transform(X, y)
    # Single precision: 1.2e-7 and two digits for the sweeps.
    tol = 2e-5 if dtype == np.float32 else ROUNDING
    assert_close(clone(CRP).fit_transform(chunked(X), y), expected, tol)


@pytest.mark.parametrize(
    "model",
    [
        TensorCRP(3, max_iter=4, tol=0),
        TensorCRP(3, rank="full"),
        *(each.cls() for each in baselines.BASELINES if each.streams),
    ],
    ids=lambda model: type(model).__name__,
)
@sizes
def test_every_method_that_streams(model, n, no_memory):
    X, y = samples((5, 4), n)
    expected = clone(model).fit_transform(X, y)
    assert_close(clone(model).fit_transform(chunked(X), chunked(y)), expected)
    if model.get_params().get("rank") == "full":  # needs all rows in memory
        return
    no_memory(model)
    assert_close(clone(model).fit_transform(chunked(X), chunked(y)), expected)


@pytest.mark.parametrize(
    "model",
    [each.cls() for each in baselines.BASELINES if not each.streams],
    ids=lambda model: type(model).__name__,
)
def test_methods_that_need_the_samples_say_so(model):
    X, y = samples((5, 4), 90)
    with pytest.raises(TypeError, match=r"needs all samples in memory.*X.compute\(\)"):
        model.fit(chunked(X), y)


def test_cross_validation():
    X, y = samples((5, 4), 60)
    names = np.array(["a", "b", "c"])[y]
    few = {"n_components": (2, 4), "average": 4, "cv": 3}
    search = TensorCRPCV(ranks=(1, "full"), regs=(0.1, 1.0), **few)
    expected = clone(search).fit(X, names)
    lazy = chunked(X, (5, 0, 6))
    search.fit(lazy, names)
    assert search.best_params_ == expected.best_params_
    np.testing.assert_array_equal(
        search.cv_results_["mean_test_score"], expected.cv_results_["mean_test_score"]
    )
    labels = search.predict(lazy)
    assert isinstance(labels, da.Array)
    assert labels.chunks == (lazy.chunks[0],)
    assert list(labels.compute()) == list(expected.predict(X))
    assert_close(search.transform(lazy), expected.transform(X))
    assert search.score(lazy, names) == expected.score(X, names)


def test_a_class_that_is_missing_from_most_chunks():
    X, y = samples((5, 4), 90)
    order = np.argsort(y, kind="stable")
    X, names = X[order], np.array(["b", "zebra", "a"])[y[order]]
    for max_memory in (None, 0):
        model = clone(CRP).set_params(max_memory=max_memory)
        model.fit(chunked(X), chunked(names))
        assert list(model.classes_) == ["a", "b", "zebra"]
        assert_close(model.transform(X), clone(CRP).fit_transform(X, names))


def test_a_fitted_model_is_saved_as_always(tmp_path):
    X, y = samples((5, 4), 90)
    model = clone(CRP).fit(chunked(X), chunked(y))
    save(model, tmp_path / "model")
    got = load(tmp_path / "model").transform(chunked(X))
    np.testing.assert_array_equal(got.compute(), model.transform(X))


# --- schedulers -------------------------------------------------------------------


@pytest.mark.parametrize(
    "scheduler", ["threads", pytest.param("processes", marks=pytest.mark.slow)]
)
def test_local_schedulers(scheduler):
    X, y = samples((4, 3, 5), 90)
    expected = clone(CRP).fit_transform(X, y)
    with dask.config.set(scheduler=scheduler, num_workers=2):
        assert_close(clone(CRP).fit_transform(chunked(X, 30), y), expected)


@pytest.fixture(scope="module")
def cluster():
    with two_workers() as client:
        yield client


@pytest.fixture
def on_cluster(cluster):
    with cluster.as_current(), dask.config.set(scheduler="dask.distributed"):
        assert dask.delayed(os.getpid)().compute() != os.getpid()
        yield


def pickling(graph, keys, **kwargs):
    """A scheduler that sends all tasks as bytes, like one with processes."""
    return dask.get(cloudpickle.loads(cloudpickle.dumps(graph)), keys, **kwargs)


@limits
def test_tasks_can_be_sent_to_other_processes(max_memory):
    """Without the processes, which take seconds to start (`pytest -m slow`)."""
    X, y = samples((4, 3, 5), 90)
    model = clone(CRP).set_params(max_memory=max_memory)
    with dask.config.set(scheduler=pickling):
        got = model.fit_transform(chunked(X), chunked(y)).compute()
        batches = [dask.delayed((X[i : i + 9], y[i : i + 9])) for i in range(0, 90, 9)]
        merged = clone(CRP).fit_batches(batches).transform(X)
    expected = clone(CRP).fit_transform(X, y)
    assert_close(got, expected)
    assert_close(merged, expected)


# Orders and limits act in the tasks, which all schedulers run as they are.
@pytest.mark.slow
@pytest.mark.parametrize(("order", "max_memory"), [(2, 0), (4, None)])
def test_cluster(on_cluster, order, max_memory):
    X, y = samples(SHAPES[order], 90)
    lazy = chunked(X).persist()
    model = clone(CRP).set_params(max_memory=max_memory)
    got = model.fit_transform(lazy, chunked(y))
    assert_close(got, clone(CRP).fit_transform(X, y))


@pytest.mark.slow
def test_batches_on_a_cluster(on_cluster):
    X, y = samples((5, 4), 90)
    batches = [dask.delayed((X[i : i + 9], y[i : i + 9])) for i in range(0, 90, 9)]
    got = clone(CRP).fit_batches(batches).transform(X)
    assert_close(got, clone(CRP).fit_transform(X, y))


# --- batches ----------------------------------------------------------------------


def in_a_bag(batches):
    return dask.bag.from_sequence(batches, npartitions=3)


def delayed(batches):
    return [dask.delayed(batch) for batch in batches]


@pytest.mark.parametrize("collection", [in_a_bag, delayed])
@sizes
def test_collections_of_batches(collection, n):
    X, y = samples((5, 4), n)
    batches = [(X[i : i + 4], y[i : i + 4]) for i in range(0, n, 4)]
    got = clone(CRP).fit_batches(collection(batches))
    expected = clone(CRP).fit(X, y)
    assert_close(got.transform(X), expected.transform(X))
    assert got.input_shape_ == (5, 4)
    more = [
        model.partial_fit(X + 1, y) for model in (got, clone(CRP).partial_fit(X, y))
    ]
    assert_close(more[0].transform(X), more[1].transform(X))


def test_one_delayed_batch():
    X, y = samples((5, 4), 90)
    got = clone(CRP).fit_batches(dask.delayed((X, y))).transform(X)
    assert_close(got, clone(CRP).fit_transform(X, y))


@pytest.mark.parametrize("collection", [in_a_bag, delayed])
def test_collections_with_fewer_rows(collection):
    X, y = samples((5, 4), 90)
    batches = [(X[i : i + 9], y[i : i + 9]) for i in range(0, 90, 9)]
    model = clone(CRP).set_params(max_rows=8).fit_batches(collection(batches))
    deviations = X - np.stack([X[y == c].mean(axis=0) for c in range(3)])[y]
    rows = model._scatter.root.reshape(len(model._scatter.root), -1)
    exact = np.einsum("iab,icd->abcd", deviations, deviations).reshape(20, 20)
    off = np.linalg.eigvalsh(exact - rows.T @ rows)
    assert len(rows) <= 8
    assert off[-1] <= model.root_error_ * np.trace(exact) * (1 + 1e-10)
    assert 0 < model.root_error_ < 1


def test_batches_of_unequal_shape_in_a_collection():
    X, y = samples((5, 4), 90)
    model = clone(CRP).fit(X, y)
    before = dict(vars(model))
    with pytest.raises(ValueError, match=r"\(4, 4\).*others of shape \(5, 4\)"):
        model.fit_batches(delayed([(X, y), (X[:, 1:], y)]))
    assert vars(model) == before


def test_a_dask_array_as_a_batch():
    X, y = samples((5, 4), 90)
    model = clone(CRP)
    for part in (slice(0, 30), slice(30, 90)):
        model.partial_fit(chunked(X[part]), y[part])
    assert_close(model.transform(X), clone(CRP).fit_transform(X, y))


# --- bad input --------------------------------------------------------------------


def sparse(X):
    from scipy.sparse import csr_array

    return chunked(X.reshape(len(X), -1)).map_blocks(
        csr_array, dtype=float, meta=csr_array((0, 0))
    )


def masked(X):
    return da.ma.masked_greater(chunked(X), 1)


BAD = {
    "along a mode": (
        lambda X: da.from_array(X, chunks=(10, 5, 2)),
        "(1, 2) chunks along the modes of a sample; cut it along the samples only: "
        "X.rechunk({1: -1, 2: -1})",
    ),
    "unknown sizes": (
        lambda X: chunked(X)[chunked(X[:, 0, 0]) > -99],
        "unknown chunk sizes, as filters leave them. Call X.compute_chunk_sizes()",
    ),
    "objects": (lambda X: chunked(X.astype(object)), "dtype object, which is not num"),
    "text": (lambda X: chunked(X.astype(str)), "which is not numeric"),
    "complex": (lambda X: chunked(X + 1j), "Complex data not supported"),
    "sparse": (sparse, "not NumPy arrays"),
    "masked": (masked, "not NumPy arrays"),
    "no samples": (lambda X: chunked(X[:0]), "0 sample(s)"),
    "too few": (lambda X: chunked(X[1:]), "inconsistent numbers of samples"),
    "an empty mode": (lambda X: chunked(X[:, :, :0]), "mode 1 of its samples has size"),
    "one mode": (lambda X: chunked(X[:, 0, 0]), "2D array"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_arrays(name):
    make, words = BAD[name]
    X, y = samples((5, 4), 90)
    model = clone(CRP)
    with pytest.raises(ValueError) as caught:
        model.fit(make(X), y)
    assert words in str(caught.value)
    assert vars(model) == vars(clone(CRP))


@pytest.mark.parametrize("name", ["along a mode", "unknown sizes", "sparse"])
def test_bad_arrays_to_transform(name):
    make, words = BAD[name]
    X, y = samples((5, 4), 90)
    with pytest.raises(ValueError) as caught:
        clone(CRP).fit(X, y).transform(make(X))
    assert words in str(caught.value)


@pairs(n=[90, 17], max_memory=[None, 0], value=[np.nan, -np.inf])
def test_the_chunk_and_the_sample_with_nan_are_named(n, max_memory, value):
    X, y = samples((5, 4), n)
    X[14, 2, 3] = value
    model, twin = (clone(CRP).set_params(max_memory=max_memory) for _ in range(2))
    with pytest.raises(ValueError, match=r"sample 14 at entry \(2, 3\) \(chunk 1\)"):
        model.fit(chunked(X), y)
    assert vars(model) == vars(twin)
    features = clone(CRP).fit(np.nan_to_num(X, neginf=0), y).transform(chunked(X))
    with pytest.raises(ValueError, match=r"sample 14 at entry \(2, 3\) \(chunk 1\)"):
        features.compute()


def test_labels_in_other_chunks():
    X, y = samples((5, 4), 90)
    words = (
        r"y is a dask array with chunks of 50, 40 samples, X one with chunks of 10, "
    )
    with pytest.raises(ValueError, match=words + r".*y.rechunk\(\(X.chunks\[0\],\)\)"):
        clone(CRP).fit(chunked(X), chunked(y, 50))
    with pytest.raises(ValueError, match="sample_weight is a dask array with chunks"):
        clone(CRP).fit(chunked(X), y, sample_weight=chunked(y, 50))


def test_labels_of_unknown_chunks():
    X, y = samples((5, 4), 90)
    lazy = chunked(y)
    with pytest.raises(ValueError, match=r"y\.compute_chunk_sizes"):
        clone(CRP).fit(chunked(X), lazy[lazy >= 0])


def test_dask_labels_of_an_array():
    X, y = samples((5, 4), 90)
    assert_close(clone(CRP).fit_transform(X, chunked(y)), CRP.fit_transform(X, y))


def test_a_chunk_that_fails_leaves_the_estimator():
    X, y = samples((5, 4), 90)
    model = clone(CRP).fit(X, y)
    before = dict(vars(model))

    def broken(block, block_id=None):
        if block_id[0] == 4:
            raise OSError("chunk 4 cannot be read")
        return block

    lazy = chunked(X).map_blocks(broken, meta=np.empty((0, 0, 0)))
    for max_memory in (None, 0):
        model.set_params(max_memory=max_memory)
        with pytest.raises(OSError, match="chunk 4 cannot be read"):
            model.fit(lazy, y)
        assert vars(model) == before | {"max_memory": max_memory}
