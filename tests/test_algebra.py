"""Every contraction against tensorly on the raw layout; CP helpers against theory."""

import numpy as np
import pytest
import tensorly
from numpy.testing import assert_allclose, assert_array_equal
from pairs import together
from tensorly.cp_tensor import cp_to_tensor
from tensorly.tenalg import inner, mode_dot, multi_mode_dot
from threadpoolctl import threadpool_info, threadpool_limits

from tensorcrp.base.resources import bounded_threads
from tensorcrp.solver import ArrayRows, Rows, cp_form, linalg, products
from tensorcrp.solver import cp as algebra
from tensorcrp.solver.linalg import cholesky_solve, choleskys, fold_rows, positive_solve
from tensorcrp.solver.rows import empty_rows

SHAPES = [
    (5,),
    (1,),
    (4, 3),
    (1, 6),
    (6, 1),
    (3, 4, 2),
    (1, 5, 1),
    (7, 1, 2),
    (2, 3, 4, 2),
    (1, 1, 1, 3),
    (2, 3, 1, 2, 3),
    (9, 2, 1, 1, 2),
    (2, 1, 3, 2, 2, 3),
    (1, 1, 2, 1, 1, 1),
]
ROUNDING = {"rtol": 1e-12, "atol": 1e-12}

shapes = together("shape", SHAPES)
ranks = together("rank", [1, 2, 3])


def random_factors(shape, rank, seed=0, h=None):
    rng = np.random.default_rng(seed)
    lead = () if h is None else (h,)
    return [rng.standard_normal((*lead, size, rank)) for size in shape]


def random_samples(shape, n=5, seed=1):
    return np.random.default_rng(seed).standard_normal((n, *shape))


def contracted(X, factors, mode):
    """X with every factor but one, column by column: (K, l_m, n), by tensorly."""
    others = [m for m in range(len(factors)) if m != mode]
    if not others:
        return np.stack([X.T] * factors[0].shape[1])
    return np.stack(
        [
            multi_mode_dot(
                X, [factors[m][:, r] for m in others], modes=[m + 1 for m in others]
            ).T
            for r in range(factors[0].shape[1])
        ]
    )


def tucker_ranks(dense):
    """Rank of every unfolding."""
    unfoldings = (tensorly.unfold(dense, m) for m in range(dense.ndim))
    return [np.linalg.matrix_rank(unfolding) for unfolding in unfoldings]


@shapes
@together("rank, cache, few", [(1, 1, 2), (2, 200, 9), (3, 10**6, 0), (3, 1, 9)])
def test_contraction_is_multi_mode_dot_for_every_mode(
    shape, rank, cache, few, monkeypatch
):
    monkeypatch.setattr(products, "CACHE", cache)
    monkeypatch.setattr(products, "FEW", few)  # column by column up to there
    monkeypatch.setattr(products, "LARGE", 1)
    X, factors = random_samples(shape), random_factors(shape, rank)
    samples = ArrayRows.of(X)
    for mode in range(len(shape)):
        product = samples.side_product(factors, samples.is_left(mode))
        Z = samples.finish(product, factors, mode)
        assert Z.shape == (rank, shape[mode], len(X))
        assert_allclose(Z, contracted(X, factors, mode), **ROUNDING)


@shapes
@together("dtype, rtol", [(np.float64, 1e-12), (np.float32, 1e-5)])
@together("rank", [4, 8, 11])
def test_many_columns_are_contracted_in_the_type_of_the_samples(
    shape, dtype, rtol, rank
):
    X, factors = random_samples(shape), random_factors(shape, rank)
    samples = ArrayRows.of(X.astype(dtype))
    for left in (True, False):
        product = samples.side_product(factors, left)
        kept = shape[: samples.split] if left else shape[samples.split :]
        assert (product.shape, product.dtype) == ((rank, *kept, len(X)), dtype)
        mode = 0 if left and samples.split else len(shape) - 1
        Z = samples.finish(
            samples.side_product(factors, mode < samples.split), factors, mode
        )
        expected = contracted(X, factors, mode)
        assert_allclose(Z, expected, rtol, rtol * np.abs(expected).max())


@shapes
def test_side_product_contracts_the_other_side_only(shape):
    X, factors = random_samples(shape), random_factors(shape, 2)
    samples = ArrayRows.of(X)
    for left in (True, False):
        gone = [m for m in range(len(shape)) if samples.is_left(m) != left]
        product = samples.side_product(factors, left)
        for r in range(2):
            vectors = [factors[m][:, r] for m in gone]
            expected = multi_mode_dot(X, vectors, modes=[m + 1 for m in gone])
            assert_allclose(product[r], np.moveaxis(expected, 0, -1), **ROUNDING)


@shapes
def test_full_contraction_is_the_inner_product_with_the_cp_tensor(shape):
    X, factors = random_samples(shape), random_factors(shape, 3)
    W = cp_to_tensor((np.ones(3), factors))
    samples = ArrayRows.of(X)
    product = samples.side_product(factors, samples.is_left(0))
    Z = samples.finish(product, factors, 0)
    assert_allclose(
        np.einsum("rln,lr->n", Z, factors[0]), [inner(x, W) for x in X], **ROUNDING
    )


@shapes
@together("count", [1, 3, 4, 8, 11])
def test_combine_is_a_mode_product_along_the_samples(shape, count):
    X = random_samples(shape)
    weights = np.random.default_rng(2).standard_normal((count, len(X)))
    expected = mode_dot(X, weights, 0).reshape(count, -1)
    assert_allclose(ArrayRows.of(X).combine(weights), expected, **ROUNDING)


@shapes
def test_gram_holds_inner_products(shape):
    X, Y = random_samples(shape, 5), random_samples(shape, 3, seed=4)
    mine, theirs = ArrayRows.of(X), ArrayRows.of(Y)
    expected = [[inner(x, y) for y in Y] for x in X]
    assert_allclose(mine.gram(theirs), expected, **ROUNDING)
    assert_allclose(mine.gram(mine), [[inner(x, y) for y in X] for x in X], **ROUNDING)


@shapes
@together("dtype", [np.float32, np.float64])
def test_samples_that_come_last_in_memory_are_not_copied(shape, dtype):
    X = random_samples(shape, 6).astype(dtype)
    last = np.ascontiguousarray(np.moveaxis(X, 0, -1))
    last.flags.writeable = False
    samples = ArrayRows.of(np.moveaxis(last, -1, 0))
    assert np.shares_memory(samples.tensor, last)
    assert len(samples) == 6 and samples.row_shape == shape
    assert_array_equal(samples.flat, X.reshape(6, -1))
    for other in (X, np.asfortranarray(X), X[::-1][::-1]):
        assert_array_equal(ArrayRows.of(other).tensor, samples.tensor)
    room = empty_rows(X.shape, dtype)
    assert (room.shape, room.dtype) == (X.shape, dtype)
    assert np.shares_memory(ArrayRows.of(room).tensor, room)


@shapes
@together("most", [1, 3, 7, 20])
def test_some_samples_are_evenly_spaced(shape, most):
    X = random_samples(shape, 20)
    step = -(-20 // most)
    some, expected = ArrayRows.of(X).some(step), X[::step]
    assert len(some) == len(expected) <= most
    assert_array_equal(some.flat, expected.reshape(len(expected), -1))
    whole = ArrayRows.of(expected)
    assert_array_equal(some.array, expected)
    assert_allclose(some.gram(some), whole.gram(whole), **ROUNDING)
    weights = np.random.default_rng(3).standard_normal((2, len(some)))
    assert_allclose(some.combine(weights), whole.combine(weights), **ROUNDING)


class InBlocks(Rows):
    """Rows that are read two at a time: the least that a kind of rows has to have."""

    def __init__(self, X):
        self.X, self.dtype = X, X.dtype

    @property
    def shape(self):
        return self.X.shape

    def blocks(self, size):
        for start in range(0, len(self.X), 2):
            part = slice(start, start + 2)
            yield part, self.X[part].copy()

    def reshape(self, shape):
        return InBlocks(self.X.reshape(-1, *shape))


@shapes
def test_what_rows_do_follows_from_their_blocks(shape):
    X = random_samples(shape, 7)
    read, array = InBlocks(X), ArrayRows.of(X)
    assert_array_equal(np.asarray(read), X)
    assert_allclose(read.spread(), array.spread(), **ROUNDING)
    for step in (1, 2, 3, 5):
        assert_array_equal(read.some(step).array, X[::step])
    assert (read.nbytes, read.row_shape, len(read)) == (array.nbytes, shape, 7)


@shapes
@together(
    "rank, large, dtype, rtol",
    [  # one by one, together; few and many
        (1, 1, np.float64, 1e-12),
        (3, 10**6, np.float32, 1e-5),
        (4, 1, np.float32, 1e-5),
        (11, 10**6, np.float64, 1e-12),
    ],
)
def test_blocks_that_are_read_give_the_same_products(
    shape, rank, large, dtype, rtol, monkeypatch
):
    monkeypatch.setattr(products, "LARGE_SAMPLE", large)
    X, factors = random_samples(shape).astype(dtype), random_factors(shape, rank)
    samples = ArrayRows.of(X)

    read = InBlocks(X)
    for left in (True, False):
        expected = samples.side_product(factors, left)
        product = read.side_product(factors, left)
        assert product.dtype == dtype
        assert_allclose(product, expected, rtol, rtol * np.abs(expected).max())


@together("n", [1, 2, 31])
def test_positive_systems_are_solved(n):
    rng = np.random.default_rng(n)
    A, right = rng.standard_normal((n, n + 2)), rng.standard_normal((n, 3))
    gram = A @ A.T
    expected = np.linalg.solve(gram + 0.5 * np.eye(n), right)
    assert_allclose(
        cholesky_solve(choleskys(gram[None].copy(), 0.5)[0], right), expected
    )
    assert_allclose(positive_solve(gram + 0.5 * np.eye(n), right), expected)
    assert np.isnan(positive_solve(-gram, right)).all()


@together("n", [1, 7, 300])
@together("n_features", [1, 5, 130])
def test_folding_rows_into_a_triangle_keeps_the_scatter(n, n_features):
    rng = np.random.default_rng(n)
    R = np.triu(rng.standard_normal((n_features, n_features)))
    A = rng.standard_normal((n, n_features))
    before = A.copy()
    folded = fold_rows(np.array(R, order="F"), A)
    assert_array_equal(A, before)
    assert_array_equal(folded, np.triu(folded))
    assert_allclose(folded.T @ folded, R.T @ R + A.T @ A, rtol=1e-12, atol=1e-11)


def blocks_with_null_columns(scale=1.0):
    """Rows in three blocks; the third and the last entry never vary."""
    rng = np.random.default_rng(0)
    blocks = [scale * rng.standard_normal((n, 6)) for n in (4, 7, 1)]
    for block in blocks:
        block[:, [2, 5]] = 0.0
    return blocks


@together("scale", [1e-120, 1.0, 1e120])
def test_the_root_of_products_has_their_sum(scale):
    blocks = blocks_with_null_columns(scale)
    root, A = linalg.product_root(blocks), np.concatenate(blocks) / scale
    assert_array_equal(root, np.triu(root))
    assert not root[[2, 5]].any() and not root[:, [2, 5]].any()
    assert_allclose((root / scale).T @ (root / scale), A.T @ A, **ROUNDING)


@together("scale", [0.0, 1e-127, 1e127, 1e200, np.nan])
def test_products_out_of_range_have_no_root(scale):
    assert linalg.product_root(blocks_with_null_columns(scale)) is None


def test_products_that_cannot_be_factored_have_no_root():
    assert linalg.product_root([np.ones((4, 2))]) is None


def test_half_of_a_product_is_the_whole():
    blocks = [each[:, :5] for each in blocks_with_null_columns()]
    A = np.concatenate(blocks)
    gram = linalg.symmetric_gram(blocks)
    assert gram.flags.c_contiguous
    assert_array_equal(gram, gram.T)
    assert_allclose(gram, A.T @ A, **ROUNDING)


@together("unit", [False, True])
def test_triangular_systems_do_not_look_at_the_rest(unit):
    rng = np.random.default_rng(0)
    lower, right = rng.standard_normal((5, 5)), rng.standard_normal((5, 3))
    L = np.tril(lower, -1) + np.diag(np.ones(5) if unit else np.diag(lower))
    lower[np.triu_indices(5, 0 if unit else 1)] = np.nan
    found = linalg.lower_solve(lower, right, *[unit] * unit)
    assert_allclose(found, np.linalg.solve(L, right))


def test_every_matrix_has_its_own_ridge():
    rng = np.random.default_rng(0)
    A, right = rng.standard_normal((3, 4, 6)), rng.standard_normal((4, 2))
    grams, ridges = A @ A.transpose(0, 2, 1), [0.5, 0.0, 30.0]
    factors = choleskys(grams.copy(), ridges)
    for factor, gram, ridge in zip(factors, grams, ridges, strict=True):
        expected = np.linalg.solve(gram + ridge * np.eye(4), right)
        assert_allclose(cholesky_solve(factor, right), expected)


@together("d, p, n", [(6, 4, 9), (1, 3, 5), (5, 1, 1), (70, 3, 80)])
def test_products_are_subtracted_in_place(d, p, n):
    """Of small matrices together, of large ones lane by lane."""
    rng = np.random.default_rng(0)
    Z, A, S = (rng.standard_normal((4, *size)) for size in ((d, n), (p, d), (p + 2, n)))
    left = A.transpose(0, 2, 1)
    for some in (left, np.ascontiguousarray(left)):
        expected = Z.copy()
        for lane in (1, 2):
            expected[lane] -= some[lane] @ S[lane, :p]
        products.subtract_products(Z[1:3], some[1:3], S[1:3, :p])
        assert_allclose(Z, expected, **ROUNDING)


def test_an_outer_product_is_subtracted_in_place():
    rng = np.random.default_rng(0)
    X, w, s = rng.standard_normal((3, 5, 4)), rng.standard_normal(5), np.arange(4.0)
    expected = X.copy()
    expected[1] -= np.outer(w, s)
    products.subtract_outer(X[1], w, s)
    assert_allclose(X, expected, **ROUNDING)


@pytest.mark.parametrize("T", [3, 30_000])
@pytest.mark.parametrize("lanes", [slice(1, 3), [2, 0]], ids=str)
def test_lanes_are_contracted_with_their_own_vectors(lanes, T):
    rng = np.random.default_rng(0)
    X, vectors = rng.standard_normal((3, 2, 4, T)), rng.standard_normal((2, 2, 4))
    found = products.contract_lanes(X, lanes, vectors)
    assert_allclose(found, np.einsum("blmt,bkm->bklt", X[lanes], vectors), **ROUNDING)


@pytest.mark.parametrize("lanes", [[], [3], [0, 1, 2], [2, 1, 0], [0, 0], [0, 2]])
def test_only_consecutive_lanes_are_a_slice(lanes):
    lanes = np.array(lanes, int)
    found = products.consecutive(lanes)
    assert_array_equal(np.arange(5)[found], lanes)
    assert isinstance(found, slice) == (lanes.tolist() in ([3], [0, 1, 2]))


@pytest.mark.parametrize("size", [1, 2, 7, 24, 25])
def test_eigenvectors_of_many_matrices_are_those_of_each(size):
    """Some have close, equal, negative or no eigenvalues."""
    rng = np.random.default_rng(size)
    values = rng.uniform(0.0, 1.0, (9, size))
    values[0, -2:], values[1], values[2] = 1.0, 0.0, -values[2]
    values[3, -2:] = [1.0, 1.0 - 1e-7][: min(size, 2)]
    values[4, 0], values[4, -1] = -2.0, 1.5
    values[5] *= 1e-200
    Q = np.linalg.qr(rng.standard_normal((9, size, size)))[0]
    matrices = (Q * values[:, None]) @ Q.transpose(0, 2, 1)
    found = linalg.top_eigenvectors(matrices)
    top = np.linalg.eigvalsh(matrices)[:, -1]
    scale = np.abs(values).max(axis=1)
    assert_allclose(np.linalg.norm(found, axis=1), 1)
    image = (matrices @ found[..., None])[..., 0]
    assert (np.abs(image - top[:, None] * found) <= 1e-13 * scale[:, None]).all()


@together("size", [3, 12, 13, 40])
@together("number", [1, 5, 6])
def test_a_few_matrices_have_their_top_eigenvectors(size, number):
    A = np.random.default_rng(0).standard_normal((number, size, size))
    matrices = A + A.transpose(0, 2, 1)
    for matrix, found in zip(matrices, linalg.top_eigenvectors(matrices), strict=True):
        top = np.linalg.eigh(matrix)[1][:, -1]
        assert_allclose(abs(found @ top), 1)
        assert_allclose(np.linalg.norm(found), 1)


def test_many_small_matrices_are_solved_by_powers(monkeypatch):
    """From a number of matrices on, up to a size."""
    ways, powers = [], linalg._by_squaring
    monkeypatch.setattr(linalg, "MANY_MATRICES", 3)
    monkeypatch.setattr(linalg, "SMALL_POWERS", 4)
    monkeypatch.setattr(linalg, "_by_squaring", lambda A: ways.append(A) or powers(A))
    for number, size, by_powers in ((2, 4, 0), (3, 4, 1), (4, 2, 1), (3, 5, 0)):
        ways.clear()
        linalg.top_eigenvectors(np.stack([np.diag(np.arange(1.0, size + 1))] * number))
        assert len(ways) == by_powers, (number, size)


@together("value", [np.nan, np.inf])
def test_eigenproblems_without_numbers_are_rejected(value):
    matrices = np.stack([np.eye(20), np.eye(20)])
    matrices[1, 3, 3] = value
    with pytest.raises(np.linalg.LinAlgError, match="size 20 did not converge"):
        linalg.top_eigenvectors(matrices)


def test_powers_know_which_eigenvectors_they_found():
    """Not of values that are close, or zero, or beside a larger negative one."""
    values = np.array([[0.1, 0.5, 1], [0, 1 - 1e-4, 1], [-2, 0.5, 1], [0, 0, 0.0]])
    Q = np.linalg.qr(np.random.default_rng(0).standard_normal((4, 3, 3)))[0]
    matrices = (Q * values[:, None]) @ Q.transpose(0, 2, 1)
    found, known = linalg._by_squaring(matrices)
    assert_array_equal(known, [True, False, False, False])
    assert_allclose(abs(found[0] @ Q[0, :, -1]), 1)


@shapes
def test_both_sides_are_as_short_as_they_can_be(shape):
    samples = ArrayRows.of(random_samples(shape))
    L, R = np.prod(shape[: samples.split]), np.prod(shape[samples.split :])
    every = [np.prod(shape[:s]) + np.prod(shape[s:]) for s in range(len(shape))]
    assert L + R == min(every)


@together("dtype", ["f2", "i1", "u4", "i8", "f8", ">f8", "?", "f4", ">f4"])
def test_float32_of_any_byte_order_is_all_that_is_single_precision(dtype):
    expected = np.float32 if dtype.endswith("f4") else np.float64
    assert algebra.working_dtype(np.zeros(1, dtype)) is expected


def khatri_rao_except(factors, mode):
    """The Khatri-Rao product of all factors but one, row by row: (P / l_m, k)."""
    K = np.ones((1, factors[0].shape[-1]))
    for m, factor in enumerate(factors):
        if m != mode:
            K = (K[:, None] * factor).reshape(-1, K.shape[1])
    return K


@shapes
@ranks
def test_white_columns_are_orthonormal_and_span_the_khatri_rao_product(shape, rank):
    factors = random_factors(shape, rank)
    for mode in range(len(shape)):
        K = khatri_rao_except(factors, mode)
        T, back = algebra.whitening(factors, mode)
        kept = T.any(axis=0)
        assert kept[-1] and not back[:, ~kept].any()
        Q = (K @ T)[:, kept]
        assert kept.sum() == np.linalg.matrix_rank(K)
        assert_allclose(Q.T @ Q, np.eye(kept.sum()), **ROUNDING)
        assert_allclose(Q @ back[:, kept].T, K, **ROUNDING)


@shapes
@ranks
def test_norm_in_white_coordinates_is_the_norm_of_the_tensor(shape, rank):
    factors = random_factors(shape, rank)
    for mode, size in enumerate(shape):
        T, back = algebra.whitening(factors, mode)
        u = np.random.default_rng(mode).standard_normal((size, rank))
        u = u * T.any(axis=0)  # null directions, if any, stand for nothing
        moved = list(factors)
        moved[mode] = u @ T.T
        W = cp_to_tensor((np.ones(rank), moved))
        assert_allclose(np.linalg.norm(W), np.linalg.norm(u), **ROUNDING)
        # The U that is there, in white coordinates, is the same tensor.
        moved[mode] = factors[mode] @ back @ T.T
        same = cp_to_tensor((np.ones(rank), factors))
        assert_allclose(cp_to_tensor((np.ones(rank), moved)), same, **ROUNDING)


@together("shape", [(6, 5), (6, 5, 4), (4, 3, 3, 3)])
@together("share", [1e-3, 1e-5])
def test_nearly_collinear_columns_lose_digits_by_their_condition_not_its_square(
    shape, share
):
    factors = random_factors(shape, 2)
    for factor in factors[1:]:
        factor[:, 1] = factor[:, 0] + share * factor[:, 1]
    Q = khatri_rao_except(factors, 0) @ algebra.whitening(factors, 0)[0]
    assert_allclose(Q.T @ Q, np.eye(2), atol=1e-13 / share)


def test_whitening_of_a_collinear_factor_keeps_its_range_only():
    rng = np.random.default_rng(0)
    column = rng.standard_normal((5, 1))
    V = np.hstack([column, -3 * column, rng.standard_normal((5, 1))])
    T, _ = algebra.whitening([V, V], 0)
    assert_array_equal(T.any(axis=0), [False, True, True])
    kept = V @ T[:, 1:]
    assert_allclose(kept.T @ kept, np.eye(2), **ROUNDING)


def test_whitening_reaches_every_matrix_when_rank_exceeds_the_mode():
    V = np.random.default_rng(0).standard_normal((2, 4))  # k = 4 columns, l = 2
    T, _ = algebra.whitening([V, V], 0)
    assert_array_equal(T.any(axis=0), [False, False, True, True])
    target = np.random.default_rng(1).standard_normal((3, 2))
    u = target @ V @ T
    assert_allclose(u @ T.T @ V.T, target, **ROUNDING)
    assert_allclose(np.linalg.norm(u), np.linalg.norm(target), **ROUNDING)


@shapes
def test_whitening_is_stacked_over_lanes(shape):
    factors = random_factors(shape, 3, h=4)
    for mode in range(len(shape)):
        lanes = [algebra.whitening([f[b] for f in factors], mode) for b in range(4)]
        for stacked, each in zip(
            algebra.whitening(factors, mode), zip(*lanes, strict=True), strict=True
        ):
            assert_allclose(stacked, each, **ROUNDING)


def test_unit_columns_leaves_null_columns_alone():
    factor = np.array([[3.0, 0.0], [4.0, 0.0]])
    assert_allclose(algebra.unit_columns(factor), [[0.6, 0.0], [0.8, 0.0]])


@shapes
@ranks
def test_cp_dense_is_cp_to_tensor(shape, rank):
    factors = random_factors(shape, rank, h=4)
    expected = [
        cp_to_tensor((np.ones(rank), [f[p] for f in factors])) for p in range(4)
    ]
    assert_allclose(algebra.cp_dense(factors), expected, **ROUNDING)
    assert cp_form.cp_shape(factors) == (4, *shape)


@shapes
def test_cp_sum_adds_the_dense_tensors(shape):
    rng = np.random.default_rng(0)
    factors = [rng.standard_normal((2, 3, size, 2)) for size in shape]
    expected = [algebra.cp_dense([f[a] for f in factors]).sum(axis=0) for a in range(2)]
    assert_allclose(algebra.cp_sum(factors), expected, **ROUNDING)


def test_cp_tensor_is_a_tensorly_cp_tensor():
    factors = random_factors((4, 3, 2), 2)
    dense = algebra.cp_dense([factor[None] for factor in factors])[0]
    assert_allclose(algebra.cp_tensor(factors).to_tensor(), dense, **ROUNDING)


@shapes
@together("rank", [1, 2, 5])
def test_cp_normalize_keeps_the_tensor_up_to_norm_and_sign(shape, rank):
    factors = random_factors(shape, rank, h=3)
    normal, dense = cp_form.cp_normalize(factors)
    flat = algebra.cp_dense(factors).reshape(3, -1)
    unit = flat / np.linalg.norm(flat, axis=1, keepdims=True)
    sign = np.sign(np.take_along_axis(unit, abs(unit).argmax(axis=1)[:, None], axis=1))
    assert [f.shape for f in normal] == [f.shape for f in factors]
    assert_allclose(dense.reshape(3, -1), sign * unit, atol=1e-12)
    assert_allclose(algebra.cp_dense(normal), dense, atol=1e-12)


@shapes
def test_cp_normalize_is_idempotent(shape):
    once, dense = cp_form.cp_normalize(random_factors(shape, 3, h=2))
    twice, again = cp_form.cp_normalize(once)
    assert_allclose(again, dense, atol=1e-12)
    for a, b in zip(once, twice, strict=True):
        assert_allclose(a, b, atol=1e-10)


@shapes
def test_cp_normalize_does_not_see_the_scale_or_order_of_columns(shape):
    factors = random_factors(shape, 3, h=2)
    other = [factor[:, :, [2, 0, 1]] * 2.0 for factor in factors]
    other[0] = -other[0]
    (normal, dense), (moved, same) = map(cp_form.cp_normalize, (factors, other))
    assert_allclose(same, dense, atol=1e-12)
    for a, b in zip(normal, moved, strict=True):
        assert_allclose(a, b, atol=1e-10)


@together("rank", [1, 2, 4])
def test_cp_normalize_shows_singular_vectors_at_order_2(rank):
    (U, V), dense = cp_form.cp_normalize(random_factors((5, 3), rank, h=2))
    for u, v, W in zip(U, V, dense, strict=True):
        weights = np.linalg.norm(u, axis=0) * np.linalg.norm(v, axis=0)
        expected = np.zeros(rank)
        singular = np.linalg.svd(W, compute_uv=False)[: min(rank, 3)]
        expected[: len(singular)] = singular
        assert_allclose(weights, expected, atol=1e-12)
        assert_allclose(u.T @ u, np.diag(weights), atol=1e-12)
        assert_allclose(v.T @ v, np.diag(weights), atol=1e-12)


@together("shape", [(4, 3, 2), (2, 3, 2, 2)])
def test_cp_normalize_shares_weights_between_modes_and_orders_them(shape):
    normal, _ = cp_form.cp_normalize(random_factors(shape, 3, h=2))
    norms = np.array([np.linalg.norm(factor, axis=1) for factor in normal])
    assert_allclose(norms, np.broadcast_to(norms[0], norms.shape), atol=1e-12)
    assert np.all(np.diff(norms[0], axis=1) <= 1e-12)


@shapes
def test_cp_from_dense_is_exact(shape):
    dense = random_samples(shape, 3)
    factors = algebra.cp_from_dense(dense)
    assert {f.shape[2] for f in factors} == {int(np.prod(shape)) // max(shape)}
    assert_array_equal(algebra.cp_dense(factors), dense)


@together(
    "shape, rank", [((5, 4), 1), ((5, 4), 2), ((3, 6), 3), ((1, 4), 1), ((4, 1), 1)]
)
def test_cp_truncate_is_the_best_approximation_at_order_2(shape, rank):
    tensors = random_samples(shape, 3)
    u, s, vt = np.linalg.svd(tensors, full_matrices=False)
    best = (u[:, :, :rank] * s[:, None, :rank]) @ vt[:, :rank]
    cut = algebra.cp_dense(cp_form.cp_truncate(tensors, rank))
    assert_allclose(cut, best, atol=1e-12)


@shapes
@ranks
def test_cp_truncate_has_no_dead_columns(shape, rank):
    factors = cp_form.cp_truncate(random_samples(shape, 2), rank)
    assert [f.shape for f in factors] == [(2, size, rank) for size in shape]
    for factor in factors:
        assert np.all(np.linalg.norm(factor, axis=1) > 0)


@together(
    "shape, rank",
    [((2, 5, 5), 4), ((1, 4, 3), 3), ((2, 2, 3, 4), 4), ((5, 2, 2), 4), ((6, 4), 3)],
)
def test_cp_truncate_terms_are_independent(shape, rank):
    """Equal terms would stay equal in block ascent: the rank would be lost."""
    factors = cp_form.cp_truncate(random_samples(shape, 2), rank)
    for some in zip(*factors, strict=True):
        terms = [cp_to_tensor((None, [f[:, [r]] for f in some])) for r in range(rank)]
        assert np.linalg.matrix_rank(np.reshape(terms, (rank, -1))) == rank


@together("shape", [(4, 3, 2), (2, 3, 2, 3), (5, 3)])
def test_cp_truncate_keeps_a_tensor_of_rank_one(shape):
    dense = algebra.cp_dense(random_factors(shape, 1, h=2))
    assert tucker_ranks(dense[0]) == [1] * len(shape)
    cut = cp_form.cp_truncate(dense, 1)
    assert_allclose(algebra.cp_dense(cut), dense, atol=1e-12)


def blas_threads():
    libraries = threadpool_info()
    return [lib["num_threads"] for lib in libraries if lib["user_api"] == "blas"]


def test_bounded_threads_gives_the_threads_back():
    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        with bounded_threads(1000):
            with bounded_threads(1000):
                assert set(blas_threads()) == {1}
            assert set(blas_threads()) == {1}
        assert blas_threads() == before
        with bounded_threads(2**40):
            assert blas_threads() == before
