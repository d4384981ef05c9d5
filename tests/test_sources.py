"""Samples outside memory: the same results and errors as for arrays, in blocks.

Every test runs on a memory map, a Zarr array and an HDF5 dataset. With
``max_memory=0`` no copy of the samples is made and every pass reads them again.
"""

import mmap
import re
import warnings
from pathlib import Path

import h5py
import numpy as np
import pytest
import zarr
from pairs import pairs
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from tensorcrp import ClassScatter, TensorCRP, TensorCRPCV, baselines
from tensorcrp.base import resources
from tensorcrp.base.resources import available_memory, memory_limit
from tensorcrp.storage import centred, sources
from tensorcrp.storage.sources import as_source

ROUNDING = 1e-10  # of the largest feature: sums in another order, a few sweeps
CRP = TensorCRP(3, max_iter=4, tol=0)
SHAPES = [(5, 4), (4, 3, 5), (3, 2, 3, 4)]
# More samples than entries, and fewer.
sizes = pytest.mark.parametrize("n", [90, 17])
limits = pytest.mark.parametrize("max_memory", [None, 0], ids=["copy", "no copy"])


def as_memmap(folder, X):
    if not X.size:  # NumPy 1 maps no empty files
        return X
    mapped = np.memmap(folder / "X.raw", X.dtype, "w+", shape=X.shape)
    mapped[:] = X
    return np.memmap(folder / "X.raw", X.dtype, "r", shape=X.shape)


def as_zarr(folder, X):
    """In chunks along the first mode too, which reading does not mind."""
    chunks = (7, max(1, X.shape[1] // 2), *X.shape[2:])
    array = zarr.open_array(
        str(folder / "X.zarr"), mode="w", shape=X.shape, chunks=chunks, dtype=X.dtype
    )
    array[:] = X
    return array


def as_hdf5(folder, X):
    return h5py.File(folder / "X.h5", "w").create_dataset("X", data=X)


WAYS = [as_memmap, as_zarr, as_hdf5]


@pytest.fixture(params=WAYS)
def stored(request, tmp_path, monkeypatch):
    """A function that stores an array; loading the result as a whole is an error."""

    def reject(self, *args, **kwargs):
        raise AssertionError("the whole array was loaded")

    monkeypatch.setattr(h5py.Dataset, "__array__", reject)
    monkeypatch.setattr(zarr.Array, "__array__", reject)
    monkeypatch.setattr(sources, "READ_BYTES", 2**10)  # a few samples at a time
    made = []

    def store(X):
        folder = tmp_path / str(len(made))
        folder.mkdir()
        made.append(request.param(folder, X))
        return made[-1]

    yield store
    for each in made:
        if isinstance(each, h5py.Dataset):
            each.file.close()


def samples(shape, n, n_classes=3, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % n_classes
    means = 2 * rng.standard_normal((n_classes, *shape))
    return means[y] + rng.standard_normal((n, *shape)), y


def assert_close(got, expected, tol=ROUNDING):
    assert got.shape == expected.shape
    assert got.dtype == expected.dtype
    np.testing.assert_allclose(got, expected, rtol=0, atol=tol * np.abs(expected).max())


# --- the same results -------------------------------------------------------------


@pairs(["stored"], stored=WAYS, shape=SHAPES, n=[90, 17], max_memory=[None, 0])
def test_features_are_those_of_the_array(stored, shape, n, max_memory):
    X, y = samples(shape, n)
    model = clone(CRP).set_params(max_memory=max_memory).fit(stored(X), y)
    expected = clone(CRP).fit(X, y)
    assert_close(model.transform(stored(X)), expected.transform(X))
    assert model.lambda_ == pytest.approx(expected.lambda_, rel=ROUNDING)
    assert model.n_features_in_ == expected.n_features_in_


@pairs(
    ["stored"],
    stored=WAYS,
    dtype=[np.float32, np.uint8, ">f8", np.float16],
    max_memory=[None, 0],
)
def test_any_type_of_numbers(stored, dtype, max_memory):
    X, y = samples((5, 4), 50)
    X = np.abs(20 * X).astype(dtype)
    model = clone(CRP).set_params(max_memory=max_memory).fit(stored(X), y)
    expected = clone(CRP).fit(X, y).transform(X)
    # Single precision: 1.2e-7 and two digits for the sweeps.
    tol = 2e-5 if dtype == np.float32 else ROUNDING
    assert_close(model.transform(stored(X)), expected, tol)


@limits
def test_flattened_samples_and_weights(stored, max_memory):
    X, y = samples((5, 4), 60)
    weight = np.random.default_rng(1).choice([0.0, 0.5, 2.0], 60)
    weight[5:30] = 0  # a gap that is not read
    model = TensorCRP(3, sample_shape=(5, 4), max_iter=4, tol=0, max_memory=max_memory)
    model.fit(stored(X.reshape(60, -1)), y, sample_weight=weight)
    expected = clone(CRP).fit(X, y, sample_weight=weight)
    assert_close(model.transform(stored(X.reshape(60, -1))), expected.transform(X))


STREAMING = [
    TensorCRP(3, rank="full"),
    *(each.cls() for each in baselines.BASELINES if each.streams),
]


# What is stored how is read by one class, which no method knows.
@pytest.mark.parametrize(
    ("stored", "model"),
    [(WAYS[i % 3], model) for i, model in enumerate(STREAMING)],
    indirect=["stored"],
)
@sizes
def test_every_method_that_streams(stored, model, n, no_memory):
    X, y = samples((5, 4), n)
    expected = clone(model).fit_transform(X, y)
    assert_close(clone(model).fit_transform(stored(X), y), expected)
    no_memory(model)
    if isinstance(model, TensorCRP):  # the best tensor of any rank needs all rows
        with pytest.raises(ValueError, match="Raise max_memory, or choose a finite"):
            clone(model).fit(stored(X), y)
        return
    assert_close(clone(model).fit_transform(stored(X), y), expected)


@limits
def test_cross_validation(stored, max_memory):
    X, y = samples((5, 4), 40)
    names = np.array(["a", "b", "c"])[y]
    full = "full" if max_memory is None else 2
    few = {"n_components": (2, 4), "average": 4, "cv": 3}
    search = TensorCRPCV(ranks=(1, full), regs=(0.1, 1.0), **few)
    expected = clone(search).fit(X, names)
    n_jobs = 2 if max_memory is None else None
    search.set_params(max_memory=max_memory, n_jobs=n_jobs).fit(stored(X), names)
    assert search.best_params_ == expected.best_params_
    assert list(search.predict(stored(X))) == list(expected.predict(X))
    assert search.score(stored(X), names) == expected.score(X, names)
    assert_close(search.transform(stored(X)), expected.transform(X))


def test_batches_from_a_file(stored):
    X, y = samples((5, 4), 60)
    mapped = stored(X)
    model = clone(CRP)
    for part in (slice(0, 20), slice(20, 60)):
        model.partial_fit(mapped[part], y[part])
    assert_close(model.transform(mapped), clone(CRP).fit(X, y).transform(X))


def test_other_methods_take_the_array_as_before(tmp_path):
    X, y = samples((5, 4), 40)
    for model in (baselines.TensorLPP(), baselines.BilinearSVC(random_state=0)):
        expected = clone(model).fit(X, y)
        got = clone(model).fit(as_zarr(tmp_path, X), y)
        for mine, theirs in zip(got.factors_, expected.factors_, strict=True):
            assert_close(mine, theirs)


def test_in_a_pipeline_with_an_array_only_step(tmp_path):
    X, y = samples((20,), 60)
    pipeline = make_pipeline(StandardScaler(), TensorCRP(2, sample_shape=(5, 4)))
    mapped = as_memmap(tmp_path, X)
    expected = clone(pipeline).fit_transform(X, y)
    assert_close(pipeline.fit_transform(mapped, y), expected)


def test_a_private_memory_map_keeps_its_changes(tmp_path):
    X, y = samples((5, 4), 60)
    as_memmap(tmp_path, np.zeros_like(X))
    private = np.memmap(tmp_path / "X.raw", X.dtype, "c", shape=X.shape)
    private[:] = X
    got = clone(CRP).set_params(max_memory=0).fit_transform(private, y)
    assert_close(got, clone(CRP).fit_transform(X, y))
    np.testing.assert_array_equal(private, X)


CUTS = [np.s_[::2], np.s_[5:50], np.s_[:, ::-1], np.s_[:, 1:4]]


@pytest.mark.parametrize("cut", CUTS)
def test_views_of_a_memory_map(tmp_path, cut):
    X, y = samples((5, 4), 60)
    view = as_memmap(tmp_path, X)[cut]
    y = y[cut] if isinstance(cut, slice) else y
    got = clone(CRP).set_params(max_memory=0).fit_transform(view, y)
    assert_close(got, clone(CRP).fit_transform(X[cut], y))


# --- the same errors --------------------------------------------------------------


def with_nan(X):
    X[23, 1, 2] = np.nan
    return X


BAD = {
    "NaN": (with_nan, "Input X contains NaN, first in sample 23 at entry (1, 2)."),
    "complex": (lambda X: X + 1j, "Complex data not supported"),
    "no samples": (lambda X: X[:0], "0 sample(s)"),
    "an empty mode": (lambda X: X[:, :, :0], "mode 1 of its samples has size 0"),
    "one sample too few": (lambda X: X[1:], "inconsistent numbers of samples"),
}


@limits
@pytest.mark.parametrize("name", BAD)
def test_bad_samples_get_the_error_of_an_array(stored, name, max_memory):
    change, words = BAD[name]
    X, y = samples((5, 4), 60)
    bad = change(X)
    model = clone(CRP).set_params(max_memory=max_memory)
    errors = []
    for each in (bad, stored(bad)):
        with pytest.raises(ValueError) as caught:
            model.fit(each, y)
        errors.append(str(caught.value))
    assert words in errors[0]
    assert errors[0] == errors[1]
    assert vars(model) == vars(clone(CRP).set_params(max_memory=max_memory))


def test_bad_samples_to_transform(stored):
    X, y = samples((5, 4), 60)
    model = clone(CRP).fit(X, y)
    for bad, words in ((with_nan(X.copy()), "sample 23"), (X[:, 1:], "(4, 4)")):
        with pytest.raises(ValueError) as array:
            model.transform(bad)
        with pytest.raises(ValueError) as caught:
            model.transform(stored(bad))
        assert str(caught.value) == str(array.value)
        assert words in str(caught.value)


def test_infinities_are_refused_without_warnings_before(stored):
    X, y = samples((5, 4), 30)
    X[0, 1, 2], X[1, 1, 2] = np.inf, np.inf  # their difference is not a number
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ValueError, match="infinity"):
            clone(CRP).fit(stored(X), y)


def test_large_chunks_are_looked_at_one_at_a_time(tmp_path):
    array = zarr.open_array(
        str(tmp_path / "X.zarr"), mode="w", shape=(90, 4), chunks=(30, 4), dtype="f8"
    )
    source = as_source(array)
    assert [source.samples_in(n) for n in (1, 2000)] == [30, 60]
    assert source.samples_in(2**24) % 30 == 0


def test_text_in_a_file(tmp_path):
    X, y = samples((5, 4), 60)
    with h5py.File(tmp_path / "X.h5", "w") as file:
        text = file.create_dataset("X", data=X.astype("S8"))
        with pytest.raises(ValueError, match="not numeric"):
            clone(CRP).fit(text, y)


def test_no_ridge_needs_the_root(stored):
    X, y = samples((5, 4), 90)
    bare = clone(CRP).set_params(reg=0)
    assert_close(bare.fit_transform(stored(X), y), clone(bare).fit_transform(X, y))
    with pytest.raises(ValueError, match=r"reg=0.*raise max_memory"):
        bare.set_params(max_memory=0).fit(stored(X), y)


@pytest.mark.parametrize("value", [-1, "2GB", np.inf, True])
def test_bad_max_memory(value):
    X, y = samples((5, 4), 60)
    with pytest.raises(ValueError, match="max_memory must be a finite number"):
        clone(CRP).set_params(max_memory=value).fit(X, y)


# --- memory -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("n", "max_memory", "words"),
    [
        (90, None, "more samples than entries, so 20 rows"),
        (17, None, "a centred copy of the samples in 14 rows"),
        (17, 100, "every pass reads X.*exceed max_memory"),
        (90, 100, "every pass reads X.*exceed max_memory"),
    ],
)
def test_verbose_says_which_way_and_why(n, max_memory, words, capsys):
    X, y = samples((5, 4), n)
    clone(CRP).set_params(max_memory=max_memory, verbose=1).fit(X, y)
    first = capsys.readouterr().out.splitlines()[0]
    assert first.startswith("[TensorCRP] ")
    assert re.search(words, first)


def test_statistics_of_rows_that_are_read_when_needed():
    X, y = samples((5, 4), 90)
    weight = np.random.default_rng(1).choice([0.0, 1.0, 3.0], 90)
    whole = ClassScatter.from_samples(X, y, weight)
    lazy = ClassScatter.from_samples(X, y, weight, max_memory=0)
    assert lazy.root.shape == (np.count_nonzero(weight), 5, 4)
    assert lazy.root.nbytes == 8 * np.prod(lazy.root.shape)
    assert lazy.trace == pytest.approx(whole.trace, rel=1e-12)
    np.testing.assert_array_equal(np.asarray(lazy.root)[3:9], lazy.root[3:9])
    for each in (lazy, lazy.reshape((20,)), lazy.compress(), lazy.merge(lazy)):
        factor = 2 if len(each.root) and each.counts.sum() > whole.counts.sum() else 1
        rows = np.asarray(each.root).reshape(len(each.root), -1)
        expected = whole.root.reshape(-1, 20)
        np.testing.assert_allclose(
            rows.T @ rows, factor * expected.T @ expected, atol=1e-10
        )


def resident(path):
    """Bytes of a mapped file that this process has in memory, as Linux counts them."""
    total, mine = 0, False
    for line in Path("/proc/self/smaps").read_text().splitlines():
        first, *rest = line.split()
        if not first.endswith(":"):  # the first line of another map
            mine = bool(rest) and rest[-1] == str(path)
        elif mine and first == "Rss:":
            total += 1024 * int(rest[0])
    return total


@pytest.mark.skipif(not Path("/proc/self/smaps").exists(), reason="needs /proc")
def test_pages_of_a_memory_map_are_given_back(tmp_path, monkeypatch):
    """Of 16 MB, 2 MB are read at a time, and what the system reads ahead."""
    X = np.random.default_rng(0).standard_normal((128, 128, 128))
    path, y, seen = tmp_path / "X.npy", np.arange(128) % 5, []
    np.save(path, X)
    mapped, release = np.load(path, mmap_mode="r"), sources.StoredSource.release
    assert mapped[::2].sum() and resident(path) > X.nbytes / 2  # they are counted

    def watched(source, *part):
        seen.append(resident(path))
        release(source, *part)

    monkeypatch.setattr(sources, "READ_BYTES", 2**21)
    monkeypatch.setattr(centred, "LOOK_BYTES", 2**21)
    monkeypatch.setattr(sources.StoredSource, "release", watched)
    release(as_source(mapped), 0, len(X))
    scatter = ClassScatter.from_samples(mapped, y, max_memory=0)
    np.asarray(scatter.root)
    assert len(seen) >= 16 and max(seen) <= X.nbytes / 2
    assert resident(path) <= X.nbytes / 8


# --- what is free -----------------------------------------------------------------


def system(tmp_path, lines="", files=None, meminfo="MemAvailable:    1000 kB\n"):
    """A made-up /proc and /sys/fs/cgroup."""
    proc, groups = tmp_path / "proc", tmp_path / "cgroup"
    (proc / "self").mkdir(parents=True)
    (proc / "self" / "cgroup").write_text(lines)
    if meminfo:
        (proc / "meminfo").write_text("MemTotal:  2000 kB\n" + meminfo)
    for name, text in (files or {}).items():
        (groups / name).parent.mkdir(parents=True, exist_ok=True)
        (groups / name).write_text(text)
    return available_memory(proc, groups)


@pytest.mark.parametrize("offset", [0, 8, 8192 + 24])
@pytest.mark.parametrize(
    "part",
    [np.s_[:], np.s_[3:5], np.s_[::-1], np.s_[4:1:-2, :, 1], np.s_[2:3, ::-1]],
    ids=str,
)
@pytest.mark.parametrize("order", ["C", "F"])
def test_pages_are_those_of_the_samples(tmp_path, offset, part, order):
    """Numbers that know their place in the file; the map begins before them."""
    shape, path = (7, 40, 30), tmp_path / "X.raw"
    size = offset // 8 + np.prod(shape)
    np.arange(size).tofile(path)
    some = np.memmap(path, int, "r", offset, shape, order)[part]
    skipped = offset // mmap.ALLOCATIONGRANULARITY * mmap.ALLOCATIONGRANULARITY
    first, length = resources._pages(some)
    assert first % mmap.PAGESIZE == 0
    assert 0 <= 8 * some.min() - skipped - first < mmap.PAGESIZE
    assert first + length == 8 * (some.max() + 1) - skipped


def test_free_memory_of_a_machine(tmp_path):
    assert system(tmp_path) == 1024 * 1000


def test_free_memory_in_a_group_of_version_2(tmp_path):
    files = {
        "jobs/memory.max": "500000\n",
        "jobs/memory.current": "300000\n",
        "jobs/memory.stat": "anon 1\ninactive_file 100000\n",
        "jobs/one/memory.max": "max\n",
        "jobs/one/memory.current": "200000\n",
    }
    assert system(tmp_path, "0::/jobs/one\n", files) == 300_000


def test_free_memory_in_a_group_of_version_1(tmp_path):
    files = {
        "memory/a/memory.limit_in_bytes": "400000",
        "memory/a/memory.usage_in_bytes": "399000",
        "memory/a/memory.stat": "inactive_file 0\ntotal_inactive_file 2000\n",
        "memory/memory.limit_in_bytes": "9223372036854771712",
        "memory/memory.usage_in_bytes": "1",
    }
    assert system(tmp_path, "3:cpu:/a\n2:memory:/a\n0::/\n", files) == 3_000


def test_free_memory_of_a_group_beyond_its_limit(tmp_path):
    files = {"memory.max": "10", "memory.current": "20"}
    assert system(tmp_path, "0::/\n", files) == 0


def test_free_memory_where_nothing_is_known(tmp_path):
    assert system(tmp_path, meminfo="") > 2**20


def test_half_of_what_is_free(monkeypatch):
    monkeypatch.setattr("tensorcrp.base.resources.available_memory", lambda: 10**9)
    assert memory_limit(None) == 5 * 10**8
    assert memory_limit(123) == 123
    assert memory_limit(None, wanted=1000) == np.inf
