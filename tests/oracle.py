"""Slow, literal oracle for compound rank-k projections (CRP).

The fast solver is tested against this file, so nothing here is clever: samples are
visited one by one, Kronecker and Khatri-Rao matrices are written out, data are really
deflated, and the package under test is never imported.

The source is Chang et al., "Compound Rank-k Projections for Bilinear Analysis", IEEE
TNNLS 27(7), 2016. Names in brackets, such as [value_mkv], are its equation labels.

What goes in
    X : (n, l_1, ..., l_N), the samples; y : (n,), their labels; P = l_1 * ... * l_N.
    ``lam`` > 0 is the paper's lambda, ``rank`` its k, ``n_components`` its h.
    ``between`` weights the classes in the numerator of J: "classes" gives each the
    weight 1 (the paper), "samples" gives each its number of samples (classical LDA).

What comes out
    An `OracleResult`: unit projections (h, l_1, ..., l_N) of fixed sign, and one array
    of J values per component, a value after every block update.

For a projection W, on data deflated by the earlier projections,

    J(W) =            sum_c weight_c <mean_c - mean, W>^2
           -----------------------------------------------------------  [eq_opt]
           sum_c sum_{i in c} <X_i - mean_c, W>^2  +  lam * ||W||_F^2

    X <- X - <X, W> W      (deflation, done after each component)        [eq_x]

`algorithm_1` is the paper's Algorithm 1 for matrices, `order_n` its counterpart for
tensors of any order, and `ridge_lda` the limit of both at full rank.
"""

from typing import NamedTuple

import numpy as np
import scipy.linalg

RANGE_TOLERANCE = 1e-12  # relative size below which an eigenvalue of D counts as zero
SIGN_TOLERANCE = 1e-6  # relative: entries this close to the largest are ties


class OracleResult(NamedTuple):
    """Projections with the values of J on the way to them.

    Attributes
    ----------
    projections : ndarray of shape (h, l_1, ..., l_N)
        Each with Frobenius norm 1 and the sign of `fix_sign`.
    objective : list of h ndarrays
        J on the deflated data after every block update, in the order of the updates.
    """

    projections: np.ndarray
    objective: list[np.ndarray]


def vec(A):
    """Stack the columns of a matrix (Fortran order), as the paper does."""
    return np.asarray(A).reshape(-1, order="F")


def unvec(a, n_rows, n_columns):
    """Undo `vec`: the paper's reshape."""
    return np.asarray(a).reshape(n_rows, n_columns, order="F")


def fix_sign(W):
    """Make the entry of largest magnitude positive.

    Ties (within 1e-6 of the maximum, relative) go to the first entry in C order, so
    that rounding cannot choose between two entries of equal size.
    """
    size = np.abs(W).ravel()
    first = np.argmax(size >= (1 - SIGN_TOLERANCE) * size.max())
    return W if W.ravel()[first] > 0 else -W


def deviations(X, y, between):
    """Class and sample deviations, the only way in which data enter J.

    Returns
    -------
    class_terms : list of (weight, mean_c - mean), one per class
    sample_terms : list of X_i - mean_c, one per sample
    """
    if between not in ("classes", "samples"):
        raise ValueError(f"between is 'classes' or 'samples', not {between!r}")
    mean = X.mean(axis=0)
    class_terms, sample_terms = [], []
    for label in np.unique(y):
        members = X[np.asarray(y) == label]
        class_mean = members.mean(axis=0)
        weight = len(members) if between == "samples" else 1
        class_terms.append((weight, class_mean - mean))
        for sample in members:
            sample_terms.append(sample - class_mean)
    return class_terms, sample_terms


def objective(W, X, y, lam, between="classes"):
    """J(W) of [eq_opt], one sample after another.

    Parameters
    ----------
    W : ndarray of shape (l_1, ..., l_N), of any norm
    X : ndarray of shape (n, l_1, ..., l_N), already deflated by earlier projections

    Returns
    -------
    float
    """
    class_terms, sample_terms = deviations(np.asarray(X, np.float64), y, between)
    numerator = 0.0
    for weight, deviation in class_terms:
        numerator += weight * np.sum(deviation * W) ** 2
    denominator = lam * np.sum(W * W)
    for deviation in sample_terms:
        denominator += np.sum(deviation * W) ** 2
    return float(numerator / denominator)


def deflate(X, W):
    """[eq_x] for every sample: subtract <X, W> W; W has norm 1.

    Returns
    -------
    scores : ndarray of shape (n,), the values <X_i, W>
    deflated : ndarray, a new array of the shape of X
    """
    scores = np.array([np.sum(sample * W) for sample in X])
    deflated = np.array(
        [sample - score * W for sample, score in zip(X, scores, strict=True)]
    )
    return scores, deflated


def features(projections, X):
    """Features of new samples, by deflating them as the training data were.

    Returns
    -------
    scores : ndarray of shape (n, h)
    deflated : ndarray of shape (n, l_1, ..., l_N), what is left of the samples
    """
    X = np.array(X, dtype=np.float64)
    scores = np.empty((len(X), len(projections)))
    for p, W in enumerate(projections):
        scores[:, p], X = deflate(X, W)
    return scores, X


def top_eigenvector(M, N, D):
    """Maximise q^T M q / q^T N q and scale to q^T D q = 1.

    q holds one factor of W, all others being fixed, and D is the matrix for which
    q^T D q = ||W||_F^2. M, N and D are symmetric.

    Returns
    -------
    q : ndarray of shape (d,)
    value : float, the quotient, which is J(W)
    """
    values, vectors = np.linalg.eigh(D)
    kept = values > RANGE_TOLERANCE * values[-1]
    if kept.all():
        q = scipy.linalg.eigh(M, N)[1][:, -1]
    else:
        # Collinear columns (or k > l_m) in the fixed factors: D has a null space. A
        # null vector of D gives W = 0, so it is null for M and N too, N cannot be
        # factorised, and adding that vector to q changes nothing. The range of D
        # reaches every possible W, and there N >= lam D is positive definite.
        basis = vectors[:, kept]
        small = scipy.linalg.eigh(basis.T @ M @ basis, basis.T @ N @ basis)
        q = basis @ small[1][:, -1]
    q = q / np.sqrt(q @ D @ q)
    return q, float((q @ M @ q) / (q @ N @ q))


def paper_matrices(class_terms, sample_terms, V, lam):
    """D^v, M^v and N^v of [value_dkv], [value_mkv] and [value_nkv].

    Given the transposed deviations and U in the place of V, the same lines are D^u,
    M^u and N^u of [value_dku], [value_mku] and [value_nku].
    """
    n_rows = sample_terms[0].shape[0]
    k = V.shape[1]
    vv = np.outer(vec(V), vec(V))
    D = np.kron(V.T @ V, np.eye(n_rows))
    M = np.zeros_like(D)
    for weight, A in class_terms:
        M += weight * (np.kron(np.eye(k), A) @ vv @ np.kron(np.eye(k), A.T))
    N = lam * D
    for A in sample_terms:
        N += np.kron(np.eye(k), A) @ vv @ np.kron(np.eye(k), A.T)
    return D, M, N


def paper_component(X, y, V, lam, n_sweeps, between):
    """Lines 2 to 19 of Algorithm 1: one component of the data X, starting from V.

    Algorithm 1 writes r and c for l_1 and l_2, and (N^v)^{-1} M^v where the update of
    V needs (N^u)^{-1} M^u; both are put right here.
    """
    _, l_1, l_2 = X.shape
    k = V.shape[1]
    class_terms, sample_terms = deviations(X, y, between)
    class_terms_t = [(weight, A.T) for weight, A in class_terms]
    sample_terms_t = [A.T for A in sample_terms]
    history = []
    for _ in range(n_sweeps):
        D, M, N = paper_matrices(class_terms, sample_terms, V, lam)
        u, value = top_eigenvector(M, N, D)
        U = unvec(u, l_1, k)
        history.append(value)
        D, M, N = paper_matrices(class_terms_t, sample_terms_t, U, lam)
        v, value = top_eigenvector(M, N, D)
        V = unvec(v, l_2, k)
        history.append(value)
    return U, V, np.array(history)


def algorithm_1(
    X,
    y,
    *,
    n_components,
    rank,
    lam,
    n_sweeps,
    init_diagonal=1.0,
    V0=None,
    between="classes",
):
    """Algorithm 1 of the paper, with a fixed number of sweeps.

    Parameters
    ----------
    X : ndarray of shape (n, l_1, l_2)
    y : ndarray of shape (n,)
    n_sweeps : int
        At least 1. An update of U followed by one of V is one sweep.
    init_diagonal : float
        Every component starts from V = init_diagonal * eye(l_2, rank).
    V0 : ndarray of shape (l_2, rank), optional
        Another start, used instead for every component.

    Returns
    -------
    OracleResult
        With 2 * n_sweeps values of J per component.
    """
    X = np.array(X, dtype=np.float64)
    start = init_diagonal * np.eye(X.shape[2], rank) if V0 is None else np.asarray(V0)
    if start.shape != (X.shape[2], rank):
        raise ValueError(f"V0 must have shape {(X.shape[2], rank)}")
    projections, histories = [], []
    for _ in range(n_components):
        U, V, history = paper_component(X, y, start, lam, n_sweeps, between)
        W = U @ V.T
        for i in range(len(X)):
            X[i] = X[i] - np.trace(U.T @ X[i] @ V) * W
        projections.append(fix_sign(W))
        histories.append(history)
    return OracleResult(np.array(projections), histories)


def identity_starts(shape, rank):
    """The paper's start for every mode: eye(l_m, rank), when rank <= every l_m."""
    if rank > min(shape):
        # A longer eye has columns of zeros: those terms of W would be lost for good.
        raise ValueError(f"identity starts need rank <= {min(shape)}, not {rank}")
    return [np.eye(length, rank) for length in shape]


def khatri_rao(factors, k):
    """Column-wise Kronecker product; the last factor's index runs fastest.

    Of no factors (order 1) it is a row of k ones.
    """
    K = np.ones((1, k))
    for factor in factors:
        K = np.column_stack([np.kron(K[:, r], factor[:, r]) for r in range(k)])
    return K


def factor_to_tensor(factors, mode):
    """The matrix B with W.ravel() = B @ factors[mode].ravel(), both in C order.

    Unfolded along the mode, W is U K^T, K being the Khatri-Rao product of the other
    factors; row by row, that is kron(I, K) times U. The rows of that matrix are then
    put where the unfolding took the entries of W from.

    Returns
    -------
    ndarray of shape (P, l_m * k); the factor at ``mode`` counts by its shape only.
    """
    shape = tuple(len(factor) for factor in factors)
    l_m, k = factors[mode].shape
    others = [factor for m, factor in enumerate(factors) if m != mode]
    unfolded = np.kron(np.eye(l_m), khatri_rao(others, k))
    position = np.arange(len(unfolded)).reshape(shape)
    B = np.empty_like(unfolded)
    B[np.moveaxis(position, mode, 0).ravel()] = unfolded
    return B


def scatter_matrices(X, y, between):
    """Between- and within-class scatter of the C-order vectorised samples, P x P."""
    class_terms, sample_terms = deviations(X.reshape(len(X), -1), y, between)
    S_b = sum(weight * np.outer(a, a) for weight, a in class_terms)
    S_w = sum(np.outer(a, a) for a in sample_terms)
    return S_b, S_w


def order_n_component(S_b, N_full, factors, n_sweeps, modes):
    """One component by block ascent over the modes; ``N_full`` is S_w + lam I."""
    factors = list(factors)
    history = []
    for _ in range(n_sweeps):
        for mode in modes:
            B = factor_to_tensor(factors, mode)
            q, value = top_eigenvector(B.T @ S_b @ B, B.T @ N_full @ B, B.T @ B)
            factors[mode] = q.reshape(factors[mode].shape)
            vector = B @ q
            history.append(value)
    shape = tuple(len(factor) for factor in factors)
    return vector.reshape(shape), np.array(history)


def order_n(
    X, y, *, n_components, rank, lam, n_sweeps, starts, modes=None, between="classes"
):
    """CRP for samples of any order N >= 1, with explicit P x P scatter matrices.

    Parameters
    ----------
    X : ndarray of shape (n, l_1, ..., l_N)
    y : ndarray of shape (n,)
    n_sweeps : int
        At least 1. One sweep updates every mode in ``modes`` once.
    starts : list of N ndarrays of shape (l_m, rank)
        Where every component starts. The first mode to be updated does not use its
        own.
    modes : sequence of int, optional
        The order of the updates within a sweep; 0, ..., N-1 if not given.

    Returns
    -------
    OracleResult
        With n_sweeps * len(modes) values of J per component.
    """
    X = np.array(X, dtype=np.float64)
    shape = X.shape[1:]
    starts = [np.asarray(start, dtype=np.float64) for start in starts]
    if [start.shape for start in starts] != [(length, rank) for length in shape]:
        raise ValueError("starts must be one (l_m, rank) array per mode")
    modes = range(len(shape)) if modes is None else modes
    projections, histories = [], []
    for _ in range(n_components):
        S_b, S_w = scatter_matrices(X, y, between)
        N_full = S_w + lam * np.eye(len(S_w))
        W, history = order_n_component(S_b, N_full, starts, n_sweeps, modes)
        _, X = deflate(X, W)
        projections.append(fix_sign(W))
        histories.append(history)
    return OracleResult(np.array(projections), histories)


def ridge_lda(X, y, *, n_components, lam, between="classes"):
    """Ridge LDA on vectorised samples, deflated as in CRP: CRP without a rank limit.

    Parameters
    ----------
    X : ndarray of shape (n, l_1, ..., l_N)
    y : ndarray of shape (n,)

    Returns
    -------
    OracleResult
        With one value of J per component.
    """
    X = np.array(X, dtype=np.float64)
    projections, histories = [], []
    for _ in range(n_components):
        S_b, S_w = scatter_matrices(X, y, between)
        identity = np.eye(len(S_w))
        w, value = top_eigenvector(S_b, S_w + lam * identity, identity)
        W = w.reshape(X.shape[1:])
        _, X = deflate(X, W)
        projections.append(fix_sign(W))
        histories.append(np.array([value]))
    return OracleResult(np.array(projections), histories)
