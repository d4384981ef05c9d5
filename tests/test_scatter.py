"""Class statistics against plain loops, and the ways to put batches together."""

from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from tensorcrp import ClassScatter
from tensorcrp.base.validation import TooFewSamples
from tensorcrp.solver import Smoothness
from tensorcrp.solver import rows as rows_module
from tensorcrp.solver.array_rows import ArrayRows
from tensorcrp.storage import centred as _centred
from tensorcrp.storage import merging, roots
from tensorcrp.storage.sources import source_of

SHAPES = [(5,), (4, 3), (2, 3, 2), (1, 6), (3, 1, 2, 2)]
ROUNDING = {"rtol": 1e-10, "atol": 1e-10}

shapes = pytest.mark.parametrize("shape", SHAPES, ids=str)


def within_scatter(X, y, weight=None):
    """S_w of the vectorised samples, class by class and sample by sample."""
    weight = np.ones(len(X)) if weight is None else weight
    flat = np.asarray(X, float).reshape(len(X), -1)
    S = np.zeros((flat.shape[1], flat.shape[1]))
    for label in np.unique(y):
        members = np.flatnonzero((y == label) & (weight > 0))
        mean = sum(weight[i] * flat[i] for i in members) / weight[members].sum()
        for i in members:
            S += weight[i] * np.outer(flat[i] - mean, flat[i] - mean)
    return S


def gram_of(scatter):
    """S_w that the root stands for."""
    rows = scatter.root.reshape(len(scatter.root), -1).astype(float)
    return rows.T @ rows


def assert_same(a, b):
    assert_array_equal(a.classes, b.classes)
    assert_allclose(a.counts, b.counts, rtol=1e-12)
    assert_allclose(a.means, b.means, **ROUNDING)
    assert_allclose(gram_of(a), gram_of(b), **ROUNDING)


def set_blocks(monkeypatch, room, rows=1024):
    """Blocks of so many bytes, and so many rows folded into a triangle at a time."""
    for module in (rows_module, _centred):
        monkeypatch.setattr(module, "BLOCK_BYTES", room)
    for module in (merging, _centred):
        monkeypatch.setattr(module, "ROWS", rows)


@shapes
@pytest.mark.parametrize("n", [8, 40])
def test_statistics_equal_plain_loops(make_samples, shape, n):
    X, y = make_samples(shape, n)
    scatter = ClassScatter.from_samples(X, y)
    assert_array_equal(scatter.classes, np.unique(y))
    assert_array_equal(scatter.counts, [np.sum(y == c) for c in scatter.classes])
    means = [X[y == c].mean(axis=0) for c in scatter.classes]
    assert_allclose(scatter.means, means, **ROUNDING)
    assert_allclose(gram_of(scatter), within_scatter(X, y), **ROUNDING)
    assert scatter.shape == shape


@shapes
@pytest.mark.parametrize("n", [8, 40])
def test_root_has_at_most_as_many_rows_as_entries(make_samples, shape, n):
    X, y = make_samples(shape, n)
    root = ClassScatter.from_samples(X, y).root
    assert root.shape[1:] == shape
    assert len(root) <= min(n, np.prod(shape))


@pytest.mark.parametrize("weights", [None, [1e3, 1.0, 0.5, 1e-6, 0.0]], ids=str)
def test_root_of_few_samples_has_one_row_less_for_every_class(make_samples, weights):
    X, y = make_samples((5, 4), 16)
    weight = None if weights is None else np.resize(weights, len(X))
    used = np.ones(len(X)) if weight is None else weight
    scatter = ClassScatter.from_samples(X, y, weight)
    centred = X - scatter.means[np.searchsorted(scatter.classes, y)]
    rows = (centred * np.sqrt(used)[:, None, None]).reshape(len(X), -1)
    root = scatter.root.reshape(-1, 20)
    assert_allclose(root.T @ root, rows.T @ rows, **ROUNDING)
    assert len(root) == (used > 0).sum() - len(scatter.classes)


def test_a_class_of_one_sample_has_no_row(make_samples):
    X, y = make_samples((5, 4), 9)
    y[:] = [0, 1, 1, 1, 2, 3, 3, 3, 3]
    assert len(ClassScatter.from_samples(X, y).root) == 2 + 3
    # Nothing within the classes is nothing but rounding, though not of no rows.
    nothing = ClassScatter.from_samples(X, np.arange(9))
    assert len(nothing.root) and nothing.trace == 0


@pytest.mark.parametrize("n", [8, 40])
def test_root_has_the_memory_order_of_the_solver(make_samples, n):
    scatter = ClassScatter.from_samples(*make_samples((2, 3, 2), n))
    for each in (scatter, scatter.merge(scatter)):
        for rows in (each.root, each.between("classes"), each.between("samples")):
            assert np.shares_memory(ArrayRows.of(rows).tensor, rows)


@pytest.mark.parametrize("n", [25, 200])
def test_blocks_of_samples_do_not_change_the_statistics(make_samples, n, monkeypatch):
    X, y = make_samples((6, 5), n)
    whole = ClassScatter.from_samples(X, y)
    set_blocks(monkeypatch, 8 * 30 * 7)  # seven samples
    blocks = ClassScatter.from_samples(X, y)
    assert_same(blocks, whole)
    assert_allclose(blocks.trace, whole.trace)


def folded(monkeypatch):
    """Count the calls of `fold_rows`: none where products were factored."""
    calls, fold = [], roots.fold_rows
    monkeypatch.setattr(roots, "fold_rows", lambda *a: calls.append(1) or fold(*a))
    return calls


@shapes
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("rows", [1, 7, 1024])
def test_a_root_from_products(make_samples, shape, weighted, rows, monkeypatch):
    X, y = make_samples(shape, 60)
    weight = np.resize([1.0, 0.3, 2.0, 0.0], len(X)) if weighted else None
    X[:, ..., -1] = 5.0  # entries that never vary
    set_blocks(monkeypatch, 1, rows)
    calls = folded(monkeypatch)
    scatter = ClassScatter.from_samples(X, y, weight, least_ridge=0.3)
    assert not calls
    root = scatter.root.reshape(len(scatter.root), -1)
    assert_array_equal(root, np.triu(root))
    assert_allclose(root.T @ root, within_scatter(X, y, weight), **ROUNDING)
    assert_array_equal(root.reshape(-1, *shape)[..., -1], 0.0)
    assert_same(scatter, ClassScatter.from_samples(X, y, weight))
    assert calls


@pytest.mark.parametrize("ridge, is_folded", [(0.0, True), (1e-7, True), (1e-4, False)])
def test_products_only_where_a_ridge_hides_their_rounding(
    make_samples, ridge, is_folded, monkeypatch
):
    calls = folded(monkeypatch)
    ClassScatter.from_samples(*make_samples((4, 3), 60), least_ridge=ridge)
    assert bool(calls) == is_folded


@pytest.mark.parametrize("scale", [1e-130, 1e130])
def test_products_beyond_the_range_of_numbers_are_not_taken(make_samples, scale):
    X, y = make_samples((4, 3), 60)
    scatter = ClassScatter.from_samples(scale * X, y, least_ridge=1.0)
    assert_allclose(gram_of(scatter) / scale**2, within_scatter(X, y), **ROUNDING)


def test_products_that_cannot_be_factored_are_not_taken(make_samples, monkeypatch):
    X, y = make_samples((8, 8), 80)
    X = X[:, :1, :1] * np.random.default_rng(0).uniform(1, 2, (8, 8))  # rank one
    calls = folded(monkeypatch)
    scatter = ClassScatter.from_samples(X, y, least_ridge=1.0)
    assert calls
    assert_allclose(gram_of(scatter), within_scatter(X, y), **ROUNDING)


def test_nothing_varies_whatever_the_ridge():
    X, y = np.ones((20, 2, 2)), np.arange(20) % 2
    assert ClassScatter.from_samples(X, y, least_ridge=1.0).trace == 0


def test_labels_of_any_kind(make_samples):
    X, y = make_samples((3, 2), 20)
    names = np.array(["pear", "apple", "fig"])[y]
    scatter = ClassScatter.from_samples(X, names)
    assert_array_equal(scatter.classes, ["apple", "fig", "pear"])
    assert_allclose(scatter.means[0], X[names == "apple"].mean(axis=0))


@shapes
@pytest.mark.parametrize("sizes", [(1, 1, 38), (10, 20, 10), (39, 1), (5,) * 8])
def test_merged_batches_equal_all_samples_at_once(make_samples, shape, sizes):
    X, y = make_samples(shape, 40)
    ends = np.cumsum((0, *sizes))
    parts = [slice(a, b) for a, b in pairwise(ends)]
    batches = [ClassScatter.from_samples(X[part], y[part]) for part in parts]
    whole = ClassScatter.from_samples(X, y)
    for order in (batches, batches[::-1]):
        merged = order[0]
        for batch in order[1:]:
            merged = merged.merge(batch)
            assert len(merged.root) <= np.prod(shape)
        assert_same(merged, whole)


def test_merging_is_associative(make_samples):
    X, y = make_samples((3, 4), 60, n_classes=5)
    a, b, c = (ClassScatter.from_samples(X[i::3], y[i::3]) for i in range(3))
    assert_same(a.merge(b).merge(c), a.merge(b.merge(c)))
    assert_same(a.merge(b), b.merge(a))


def test_a_class_may_turn_up_in_a_later_batch(make_samples):
    X, y = make_samples((3, 2), 30, n_classes=4)
    early = y != 2
    parts = [ClassScatter.from_samples(X[k], y[k]) for k in (early, ~early)]
    assert 2 not in parts[0].classes
    assert_same(parts[0].merge(parts[1]), ClassScatter.from_samples(X, y))
    assert_same(parts[1].merge(parts[0]), ClassScatter.from_samples(X, y))


def test_merging_far_from_zero_keeps_the_scatter(make_samples):
    X, y = make_samples((3, 2), 60)
    far = X + 1e6
    merged = ClassScatter.from_samples(far[:20], y[:20])
    merged = merged.merge(ClassScatter.from_samples(far[20:], y[20:]))
    assert_allclose(gram_of(merged), within_scatter(X, y), rtol=1e-7, atol=1e-7)


def test_merging_samples_of_another_shape_is_refused(make_samples):
    a = ClassScatter.from_samples(*make_samples((3, 2)))
    b = ClassScatter.from_samples(*make_samples((2, 3)))
    with pytest.raises(ValueError, match=r"\(2, 3\).*\(3, 2\)"):
        a.merge(b)


def test_merging_changes_neither_batch(make_samples):
    X, y = make_samples((3, 2), 20)
    a, b = (ClassScatter.from_samples(X[i::2], y[i::2]) for i in range(2))
    before = [np.copy(v) for part in (a, b) for v in vars(part).values()]
    a.merge(b)
    after = [v for part in (a, b) for v in vars(part).values()]
    for old, new in zip(before, after, strict=True):
        assert_array_equal(old, new)


def test_merging_equal_samples_leaves_an_empty_scatter():
    X, y = np.ones((4, 2, 3)), np.array([0, 0, 1, 1])
    part = ClassScatter.from_samples(X, y)
    merged = part.merge(part)
    assert merged.trace == 0 and len(merged.root) >= 1
    assert_allclose(merged.means, np.ones((2, 2, 3)))


@shapes
@pytest.mark.parametrize("n", [8, 40])
def test_weights_equal_repetition(make_samples, shape, n):
    X, y = make_samples(shape, n)
    times = np.random.default_rng(0).integers(1, 4, n)
    weighted = ClassScatter.from_samples(X, y, times.astype(float))
    repeated = ClassScatter.from_samples(np.repeat(X, times, axis=0), y.repeat(times))
    assert_same(weighted, repeated)


@pytest.mark.parametrize("n", [10, 40])
def test_weight_zero_equals_removal(make_samples, n):
    X, y = make_samples((4, 3), n)
    weight = np.ones(n)
    weight[y == 1] = 0
    weight[::5] = 0
    used = weight > 0
    weighted = ClassScatter.from_samples(X, y, weight)
    assert 1 not in weighted.classes
    assert_same(weighted, ClassScatter.from_samples(X[used], y[used]))


def test_fractional_weights_equal_plain_loops(make_samples):
    X, y = make_samples((4, 3), 40)
    weight = np.random.default_rng(0).random(40)
    scatter = ClassScatter.from_samples(X, y, weight)
    assert_allclose(gram_of(scatter), within_scatter(X, y, weight), **ROUNDING)


def test_float32_stays_float32(make_samples):
    X, y = make_samples((5, 4), 12, dtype=np.float32)
    scatter = ClassScatter.from_samples(X, y)
    assert scatter.root.dtype == np.float32
    assert scatter.means.dtype == np.float64
    half = [ClassScatter.from_samples(X[i::2], y[i::2]) for i in range(2)]
    assert half[0].merge(half[1]).root.dtype == np.float32


def test_float32_statistics_are_summed_in_float64(make_samples):
    X, y = make_samples((3, 2), 60, dtype=np.float32)
    scatter = ClassScatter.from_samples(X, y)
    expected = within_scatter(X.astype(float), y)
    assert_allclose(gram_of(scatter), expected, **ROUNDING)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int64, bool])
@pytest.mark.parametrize("n", [8, 40])
def test_integers_count_as_numbers(dtype, n):
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 2, (n, 4, 3)).astype(dtype), np.arange(n) % 3
    assert_same(
        ClassScatter.from_samples(X, y), ClassScatter.from_samples(X.astype(float), y)
    )


@pytest.mark.parametrize("n", [8, 40])
@pytest.mark.parametrize("order", ["C", "F"])
def test_read_only_samples_stay_as_they_are(make_samples, n, order):
    X, y = make_samples((4, 3), n)
    X = np.array(X, order=order)
    before = X.copy()
    X.flags.writeable = False
    ClassScatter.from_samples(X, y, np.linspace(0, 1, n))
    assert_array_equal(X, before)


@pytest.mark.parametrize("n", [8, 40])
def test_writable_samples_stay_as_they_are(make_samples, n):
    X, y = make_samples((4, 3), n)
    before = X.copy()
    ClassScatter.from_samples(X, y)
    assert_array_equal(X, before)


@pytest.mark.parametrize("mode", ["r", "r+"])
def test_a_memory_map_is_read_and_not_written(make_samples, tmp_path, mode):
    X, y = make_samples((4, 3), 40)
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode=mode)
    assert_same(ClassScatter.from_samples(mapped, y), ClassScatter.from_samples(X, y))
    del mapped
    assert_array_equal(np.load(tmp_path / "X.npy"), X)


@shapes
def test_between_rows_of_both_weightings(make_samples, shape):
    X, y = make_samples(shape, 40)
    scatter = ClassScatter.from_samples(X, y)
    mean = X.mean(axis=0)
    plain = [X[y == c].mean(axis=0) - mean for c in np.unique(y)]
    sized = [
        np.sqrt(np.sum(y == c)) * (X[y == c].mean(axis=0) - mean) for c in np.unique(y)
    ]
    assert_allclose(scatter.between("classes"), plain, **ROUNDING)
    assert_allclose(scatter.between("samples"), sized, **ROUNDING)


def test_within_and_between_add_up_to_the_total(make_samples):
    X, y = make_samples((4, 3), 40)
    scatter = ClassScatter.from_samples(X, y)
    rows = scatter.between("samples").reshape(3, -1)
    flat = (X - X.mean(axis=0)).reshape(40, -1)
    assert_allclose(gram_of(scatter) + rows.T @ rows, flat.T @ flat, **ROUNDING)


@shapes
@pytest.mark.parametrize("n", [8, 40])
def test_trace(make_samples, shape, n):
    X, y = make_samples(shape, n)
    scatter = ClassScatter.from_samples(X, y)
    assert_allclose(scatter.trace, np.trace(within_scatter(X, y)))


@pytest.mark.parametrize("n", [8, 40])
def test_flatten_gives_the_statistics_of_vectors(make_samples, n):
    X, y = make_samples((2, 3, 2), n)
    flat = ClassScatter.from_samples(X, y).reshape((X[0].size,))
    assert flat.shape == (12,)
    assert_same(flat, ClassScatter.from_samples(X.reshape(n, -1), y))


def test_compress_keeps_a_short_root(make_samples):
    scatter = ClassScatter.from_samples(*make_samples((4, 3), 8))
    assert scatter.compress() is scatter


# --- blocks, precision, refusals --------------------------------------------------


@pytest.mark.parametrize("room", [1, 7, 100])
def test_blocks_are_as_large_as_their_room(make_samples, room, monkeypatch):
    """Samples of float64 that fit; one at a time if none does."""
    X, y = make_samples((6, 5), 25)
    set_blocks(monkeypatch, 8 * 30 * room + 8 * 29)
    used = _centred.Used(source_of(X), np.arange(25), y, np.ones(25))
    sizes = [len(block) for _, block in used.blocks(used.rows)]
    assert sum(sizes) == 25
    assert set(sizes[:-1]) <= {room} and sizes[0] == min(room, 25)
    set_blocks(monkeypatch, 1)
    assert used.rows == 1


@pytest.mark.parametrize("n", [25, 60])
def test_one_sample_at_a_time_gives_the_same_statistics(make_samples, n, monkeypatch):
    X, y = make_samples((6, 5), n)
    whole = ClassScatter.from_samples(X, y)
    set_blocks(monkeypatch, 1, rows=1)
    alone = ClassScatter.from_samples(X, y)
    assert_same(alone, whole)
    assert_allclose([alone.trace, alone.largest], [whole.trace, whole.largest])
    assert_same(alone.merge(whole), whole.merge(whole))


@pytest.mark.parametrize("n", [12, 40])
def test_largest_magnitude_of_the_root(make_samples, n):
    scatter = ClassScatter.from_samples(*make_samples((4, 3), n))
    assert scatter.largest == abs(scatter.root).max()


def test_the_ridge_is_in_the_scale_that_is_asked_for(make_samples):
    X, y = make_samples((4, 3), 40)
    scatter = ClassScatter.from_samples(X, y)
    S = within_scatter(X, y)
    assert_allclose(scatter.ridge(0.7), 0.7 * np.trace(S) / 12, rtol=1e-12)
    assert scatter.ridge(0.7, "absolute") == 0.7
    # Of differences along the first mode: tr(R^-1 S) with R = I + mu D'D, twice.
    D = np.diff(np.eye(4), axis=0)
    R = np.kron(np.eye(4) + 3 * D.T @ D, np.eye(3))
    expected = 0.7 * np.trace(np.linalg.solve(R, S)) / 12
    for _ in range(2):
        found = scatter.ridge(0.7, "relative", Smoothness((3.0, 0.0)))
        assert_allclose(found, expected, rtol=1e-12)


def test_a_ridge_that_cannot_be(make_samples):
    X, y = make_samples((4, 3), 40)
    scatter = ClassScatter.from_samples(X, y)
    mean = scatter.trace / 12
    huge = np.finfo(float).max / mean
    assert np.isfinite(scatter.ridge(0.99 * huge))
    with pytest.raises(ValueError, match="overflows"):
        scatter.ridge(1.01 * huge)
    assert scatter.ridge(1e308, "absolute") == 1e308
    for reg in (np.inf, np.finfo(float).max):
        with pytest.raises(ValueError, match="overflows"):
            scatter.ridge(reg, "absolute")
    equal = ClassScatter.from_samples(np.repeat(X[:2], 3, axis=0), np.arange(6) // 3)
    assert equal.ridge(2.0, "absolute") == 2.0
    with pytest.raises(TooFewSamples, match="has no scale"):
        equal.ridge(2.0)
    with pytest.raises(TooFewSamples, match="my words"):
        equal.ridge(2.0, nothing="my words")
    one = ClassScatter.from_samples(X, np.zeros(40))
    with pytest.raises(TooFewSamples, match="fewer than two classes"):
        one.ridge(1.0)


@pytest.mark.parametrize("count", [0.0, -1.0, np.nan, np.inf])
def test_a_class_of_no_weight_is_rejected(count):
    root = np.ones((1, 2))
    with pytest.raises(ValueError, match="a class of no weight"):
        ClassScatter(np.arange(2), np.array([3.0, count]), np.eye(2), root)


@pytest.mark.parametrize(("step", "varies"), [(4, False), (32, False), (64, True)])
def test_rounding_of_a_mean_is_no_variation(step, varies):
    """Deviations of a few units in the last place of the largest class mean."""
    eps = np.finfo(float).eps
    scatter = ClassScatter(
        classes=np.arange(2),
        counts=np.full(2, 3.0),
        means=np.array([[3.0, 0.0], [-5.0, 0.0]]),
        root=np.array([[step * 5 * eps, 0.0], [-eps, 0.0]]),
    )
    assert (scatter.trace > 0) == (scatter.largest > 0) == varies
    # The other entry has its own, smaller mean and no variation at all.
    assert_array_equal(scatter.spread[:, 1], 0)


@pytest.mark.parametrize("n, known", [(60, True), (20, False)])
def test_what_is_a_triangle_is_not_folded_again(make_samples, monkeypatch, n, known):
    """P rows that are one are where the others are folded into; samples are none."""
    X, y = make_samples((4, 3), n)
    half = n // 2
    parts = ClassScatter.from_samples(X[:half], y[:half]), X[half:], y[half:]
    starts, fold = [], merging.triangle

    def noted(blocks, start):
        starts.append(start)
        return fold(blocks, start)

    monkeypatch.setattr(merging, "triangle", noted)
    merged = parts[0].merge(ClassScatter.from_samples(*parts[1:]))
    assert len(starts) == 1 and (starts[0] is not None) == known
    assert_same(merged, ClassScatter.from_samples(X, y))


@pytest.mark.parametrize("swap", [False, True])
def test_merging_keeps_the_better_precision(make_samples, swap):
    X, y = make_samples((5, 4), 12)
    parts = [
        ClassScatter.from_samples(X[:6].astype(np.float32), y[:6]),
        ClassScatter.from_samples(X[6:], y[6:]),
    ][:: -1 if swap else 1]
    assert parts[0].merge(parts[1]).root.dtype == np.float64


def test_merging_drops_null_rows_and_no_others(make_samples):
    X, y = make_samples((5, 4), 8, n_classes=2)
    X[y == 0] = X[0]  # nothing within the first class
    one, other = (ClassScatter.from_samples(X[i::2], y[i::2]) for i in range(2))
    merged = one.merge(other)
    assert merged.root.any(axis=(1, 2)).all()
    # Of the second class: one row less than samples twice, and the gap between means.
    assert len(merged.root) == np.sum(y == 1) - 1


@pytest.mark.parametrize(
    ("X", "y", "weight", "words"),
    [
        (np.ones(4), np.arange(4), None, r"got \(4,\) and \(4,\)"),
        (np.ones((4, 2)), np.arange(3), None, r"got \(4, 2\) and \(3,\)"),
        (np.ones((4, 2)), np.arange(4), [1, 1, 1, -0.5], "4 numbers, none negative"),
        (np.ones((4, 2)), np.arange(4), [1, 1, 1, np.nan], "none negative"),
        (np.ones((4, 2)), np.arange(4), np.zeros(4), "not all zero"),
        (np.ones((4, 2)), np.arange(4), np.ones(3), "4 numbers"),
    ],
)
def test_what_does_not_belong_together_is_refused(X, y, weight, words):
    with pytest.raises(ValueError, match=words):
        ClassScatter.from_samples(X, y, weight)


@pytest.mark.parametrize("swap", [False, True])
def test_merging_numbers_and_names_is_refused(make_samples, swap):
    X, y = make_samples((3, 2), 20)
    names = np.array(["pear", "apple", "fig"])[y]
    parts = [ClassScatter.from_samples(X, labels) for labels in (y, names)]
    one, other = parts[:: -1 if swap else 1]
    with pytest.raises(ValueError, match="numbers in every batch"):
        one.merge(other)
    assert_same(
        parts[0].merge(ClassScatter.from_samples(X, y.astype(float))),
        parts[0].merge(parts[0]),
    )


@pytest.mark.parametrize(
    ("shape", "dtype", "expected"),
    [
        ((7, 3, 2), np.float64, 16 * 6 * 6),  # more samples than entries: triangles
        ((6, 3, 2), np.float64, 6 * 6 * 8),  # else the samples themselves
        ((5, 3, 2), np.float32, 5 * 6 * 4),
    ],
)
def test_bytes_of_a_root(shape, dtype, expected):
    assert roots.root_bytes(shape, dtype) == expected


@pytest.mark.parametrize("n", [5, 7])
def test_weights_of_another_number_are_refused(make_samples, n):
    X, y = make_samples((3, 2), 6)
    with pytest.raises(ValueError, match="sample_weight needs 6 numbers"):
        ClassScatter.from_samples(X, y, np.ones(n))
