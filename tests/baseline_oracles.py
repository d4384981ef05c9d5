"""The baselines as a textbook writes them: dense, slow and explicit.

Nothing is shared with `tensorcrp.baselines`: loops over samples, Kronecker products,
unsymmetric eigenproblems (`numpy.linalg.eig`) and explicit inverses. Samples have
shape (n, l_1, ..., l_N), factors (l_m, r_m).
"""

from functools import reduce
from itertools import permutations

import numpy as np

# --- samples ----------------------------------------------------------------------


def class_rows(X, y):
    """Class-mean deviations times sqrt(n_c), and samples minus their class mean."""
    grand = sum(X) / len(X)
    between, within = [], []
    for label in sorted(set(y.tolist())):
        members = [x for x, each in zip(X, y, strict=True) if each == label]
        mean = sum(members) / len(members)
        between.append(np.sqrt(len(members)) * (mean - grand))
        within.extend(member - mean for member in members)
    return np.array(between), np.array(within)


def unfolding(tensor, mode):
    """Columns are the fibres of a mode; the other modes in their order."""
    columns = []
    others = [size for m, size in enumerate(tensor.shape) if m != mode]
    for index in np.ndindex(*others):
        where = list(index)
        where.insert(mode, slice(None))
        columns.append(tensor[tuple(where)])
    return np.array(columns).T


def mode_scatter(rows, factors, mode):
    """``sum_i A_i(m) K K^T A_i(m)^T``, K the Kronecker product of the other factors.

    A factor of None leaves its mode as it is.
    """
    shape = rows.shape[1:]
    others = [
        np.eye(shape[m]) if factor is None else factor
        for m, factor in enumerate(factors)
        if m != mode
    ]
    K = reduce(np.kron, others, np.eye(1))
    scatter = np.zeros((shape[mode], shape[mode]))
    for row in rows:
        projected = unfolding(row, mode) @ K
        scatter += projected @ projected.T
    return scatter


def features(X, factors):
    """Flattened cores: vec(X) times the Kronecker product of all factors."""
    K = reduce(np.kron, factors, np.eye(1))
    return np.array([x.ravel() for x in X]) @ K


def ridged(W, reg):
    return W + reg * np.trace(W) / len(W) * np.eye(len(W))


def eigenvectors(matrix, size):
    """Unit eigenvectors of the algebraically largest eigenvalues, any matrix."""
    values, vectors = np.linalg.eig(matrix)
    order = np.argsort(-values.real)[:size]
    vectors = vectors[:, order].real
    return vectors / np.linalg.norm(vectors, axis=0)


# --- one factor per mode ----------------------------------------------------------


def fisher(B, W, size, reg):
    return eigenvectors(np.linalg.inv(ridged(W, reg)) @ B, size)


def multilinear_lda(X, y, sizes, reg, sweeps):
    between, within = class_rows(X, y)
    factors = [np.eye(size, r) for size, r in zip(X.shape[1:], sizes, strict=True)]
    history = []
    for _ in range(sweeps):
        for m, size in enumerate(sizes):
            B, W = (mode_scatter(rows, factors, m) for rows in (between, within))
            U = factors[m] = fisher(B, W, size, reg)
            history.append(np.trace(U.T @ B @ U) / np.trace(U.T @ W @ U))
    return factors, history


def selective_lda(X, y, sizes, reg):
    between, within = class_rows(X, y)
    best = None
    for order in permutations(range(len(sizes))):
        factors = [None] * len(sizes)
        for m in order:
            B, W = (mode_scatter(rows, factors, m) for rows in (between, within))
            factors[m] = fisher(B, W, sizes[m], reg)
        top, bottom = (np.sum(features(r, factors) ** 2) for r in (between, within))
        if best is None or top / bottom > best[0]:
            best = top / bottom, factors, order
    return best


def parallel_lda(X, y, sizes, reg):
    between, within = class_rows(X, y)
    nothing = [None] * len(sizes)
    return [
        fisher(*(mode_scatter(r, nothing, m) for r in (between, within)), size, reg)
        for m, size in enumerate(sizes)
    ]


def mpca(X, sizes, sweeps):
    centred = X - sum(X) / len(X)
    nothing = [None] * len(sizes)
    factors = [
        eigenvectors(mode_scatter(centred, nothing, m), size)
        for m, size in enumerate(sizes)
    ]
    for _ in range(sweeps):
        for m, size in enumerate(sizes):
            factors[m] = eigenvectors(mode_scatter(centred, factors, m), size)
    return factors, np.sum(features(centred, factors) ** 2) / np.sum(centred**2)


def two_d_pca(X, size):
    """Eigenvectors of the image covariance; more modes than two are more rows."""
    images = X.reshape(len(X), -1, X.shape[-1])
    mean = sum(images) / len(images)
    return eigenvectors(sum((A - mean).T @ (A - mean) for A in images), size)


def cmda(X, y, sizes, reg, sweeps):
    between, within = class_rows(X, y)
    factors = [np.ones(pair) for pair in zip(X.shape[1:], sizes, strict=True)]
    for _ in range(sweeps):
        for m, size in enumerate(sizes):
            B, W = (mode_scatter(rows, factors, m) for rows in (between, within))
            left = np.linalg.svd(np.linalg.inv(ridged(W, reg)) @ B)[0]
            factors[m] = left[:, :size]
    return factors


def dgtda(X, y, sizes, reg, largest="algebraic"):
    """With ``largest="magnitude"``: the bug of taking singular vectors."""
    between, within = class_rows(X, y)
    nothing = [None] * len(sizes)
    factors = []
    for m, size in enumerate(sizes):
        B, W = (mode_scatter(rows, nothing, m) for rows in (between, within))
        W = ridged(W, reg)
        phi = np.linalg.eigvals(np.linalg.inv(W) @ B).real.max()
        factors.append(_chosen(B - phi * W, size, largest))
    return factors


def hoda(X, y, sizes, sweeps, largest="algebraic"):
    between, within = class_rows(X, y)
    nothing = [None] * len(sizes)
    total = np.concatenate([between, within])
    factors = [
        eigenvectors(mode_scatter(total, nothing, m), size)
        for m, size in enumerate(sizes)
    ]
    history = []
    for _ in range(sweeps):
        for m, size in enumerate(sizes):
            B, W = (mode_scatter(rows, factors, m) for rows in (between, within))
            U = factors[m]
            phi = np.trace(U.T @ B @ U) / np.trace(U.T @ W @ U)
            U = _chosen(B - phi * W, size, largest)
            factors[m] = U @ eigenvectors(U.T @ (B + W) @ U, size)
            history.append(
                np.trace(factors[m].T @ B @ factors[m])
                / np.trace(factors[m].T @ W @ factors[m])
            )
    return factors, history


def _chosen(matrix, size, largest):
    if largest == "algebraic":
        return eigenvectors(matrix, size)
    return np.linalg.svd(matrix)[0][:, :size]


# Methods of which the factors tell everything: parameters of the estimator, the same
# computation (X, y, sizes) -> factors, and how far they may differ. `test_baselines`
# compares them all.
FACTORS = {
    "ParallelLDA": (
        {"reg": 1e-3},
        lambda X, y, sizes: parallel_lda(X, y, sizes, 1e-3),
        1e-7,
    ),
    "CMDA": (
        {"reg": 1e-3, "max_iter": 3},
        lambda X, y, sizes: cmda(X, y, sizes, 1e-3, sweeps=3),
        1e-6,
    ),
    "DGTDA": ({"reg": 1e-3}, lambda X, y, sizes: dgtda(X, y, sizes, 1e-3), 1e-7),
}


def tensor_lpp(X, S, sizes, reg, sweeps):
    """S is the (n, n) matrix of edge weights."""
    degrees = S.sum(axis=1)
    centred = X - sum(d * x for d, x in zip(degrees, X, strict=True)) / degrees.sum()
    factors = [np.eye(size, r) for size, r in zip(X.shape[1:], sizes, strict=True)]
    edges = [
        np.sqrt(S[i, j] / 2) * (X[i] - X[j])
        for i in range(len(X))
        for j in range(len(X))
        if S[i, j] > 0
    ]
    weighted = np.array([np.sqrt(d) * x for d, x in zip(degrees, centred, strict=True)])
    for _ in range(sweeps):
        for m, size in enumerate(sizes):
            L = mode_scatter(np.array(edges), factors, m)
            D = ridged(mode_scatter(weighted, factors, m), reg)
            factors[m] = eigenvectors(-np.linalg.inv(D) @ L, size)
    return factors


def class_edges(X, y, heat=False):
    S = np.array([[float(a == b) for a in y] for b in y])
    return _heat(X, S) if heat else S


def neighbor_edges(X, n_neighbors, heat=False):
    n = len(X)
    S = np.zeros((n, n))
    for i in range(n):
        distances = [np.sum((X[i] - X[j]) ** 2) if j != i else np.inf for j in range(n)]
        S[i, np.argsort(distances)[:n_neighbors]] = 1.0
    S = np.maximum(S, S.T)
    return _heat(X, S) if heat else S


def _heat(X, S):
    squares = np.array([[np.sum((a - b) ** 2) for a in X] for b in X])
    return S * np.exp(-squares / (np.sum(S * squares) / np.sum(S)))


# --- projections to numbers -------------------------------------------------------


def ridge_lda(X, y, reg, size, weighted=True):
    """Columns w with ``w^T (S_w + lambda I) w = n``, from the P x P eigenproblem."""
    between, within = class_rows(X, y)
    flat_b, flat_w = (rows.reshape(len(rows), -1) for rows in (between, within))
    if not weighted:
        counts = [np.sum(y == label) for label in np.unique(y)]
        flat_b = flat_b / np.sqrt(counts)[:, None]
    S_b, S_w = flat_b.T @ flat_b, flat_w.T @ flat_w
    S_w = S_w + reg * np.trace(S_w) / len(S_w) * np.eye(len(S_w))
    W = eigenvectors(np.linalg.inv(S_w) @ S_b, size)
    return W * np.sqrt(len(X) / np.einsum("ip,ij,jp->p", W, S_w, W))


def toeplitz_lda(X, y, reg, size):
    """Blocks averaged along the diagonals, tapered, entry by entry."""
    between, within = class_rows(X, y)
    channels, T = int(np.prod(X.shape[1:-1])), X.shape[-1]
    flat_b, flat_w = (rows.reshape(len(rows), -1) for rows in (between, within))
    S = (flat_w.T @ flat_w).reshape(channels, T, channels, T)
    C = np.zeros_like(S)
    for lag in range(1 - T, T):
        pairs = [(t, t + lag) for t in range(T) if 0 <= t + lag < T]
        block = sum(S[:, t, :, s] for t, s in pairs) / len(pairs)
        for t, s in pairs:
            C[:, t, :, s] = (1 - abs(lag) / T) * block
    C = C.reshape(channels * T, -1)
    C = C + reg * np.trace(C) / len(C) * np.eye(len(C))
    W = eigenvectors(np.linalg.inv(C) @ flat_b.T @ flat_b, size)
    return W * np.sqrt(len(X) / np.einsum("ip,ij,jp->p", W, C, W))


def stda(X, y, sizes, reg, sweeps, size):
    """Alternating discriminants from identity matrices, then LDA of the cores."""
    between, within = class_rows(X, y)
    factors = [np.eye(n) for n in X.shape[1:]]
    for _ in range(sweeps):
        for m, r in enumerate(sizes):
            B, W = (mode_scatter(rows, factors, m) for rows in (between, within))
            factors[m] = fisher(B, W, r, reg)
    cores = features(X, factors)
    return factors, reduce(np.kron, factors) @ ridge_lda(cores, y, reg, size)


def umlda(X, y, size, reg, sweeps):
    """Lu et al. with their matrix R that keeps features uncorrelated.

    Returns the projections as tensors (size, l_1, ..., l_N).
    """
    centred = X - sum(X) / len(X)
    between, within = class_rows(X, y)
    order = X.ndim - 1
    ridges = [
        reg * np.linalg.eigvalsh(mode_scatter(within, [None] * order, m)).max()
        for m in range(order)
    ]
    found, scores = [], []
    for _ in range(size):
        vectors = [np.ones(n) / np.sqrt(n) for n in X.shape[1:]]
        for _ in range(sweeps):
            for m in range(order):
                Y, Yb, Yw = (
                    np.array([_contracted(x, vectors, m) for x in rows])
                    for rows in (centred, between, within)
                )
                B, W = Yb.T @ Yb, Yw.T @ Yw + ridges[m] * np.eye(Y.shape[1])
                R = np.eye(len(W))
                if scores:
                    C, inverse = Y.T @ np.array(scores).T, np.linalg.inv(W)
                    R = R - C @ np.linalg.inv(C.T @ inverse @ C) @ C.T @ inverse
                vectors[m] = eigenvectors(np.linalg.inv(W) @ R @ B, 1)[:, 0]
        W = reduce(np.multiply.outer, vectors)
        found.append(W)
        scores.append(np.array([np.sum(x * W) for x in centred]))
    return np.array(found)


def _contracted(x, vectors, mode):
    for m in reversed(range(x.ndim)):
        if m != mode:
            x = np.tensordot(x, vectors[m], axes=(m, 0))
    return x


def svm_objective(X, targets, W, intercept, C, loss):
    total = (np.sum(W**2) + intercept**2) / 2
    for x, t in zip(X, targets, strict=True):
        slack = max(0.0, 1 - t * (np.sum(x * W) + intercept))
        total += C * (slack**2 if loss == "squared_hinge" else slack)
    return total


# --- a separable covariance -------------------------------------------------------


def separable_covariance(X, y, reg):
    """P x P: a unit times the Kronecker product of mode scatters of mean eigenvalue 1.

    The unit is the mean within-class variance of an entry.
    """
    within = class_rows(X, y)[1]
    nothing, product = [None] * (X.ndim - 1), np.eye(1)
    for m in range(X.ndim - 1):
        scatter = mode_scatter(within, nothing, m)
        scatter = scatter / (np.trace(scatter) / len(scatter))
        product = np.kron(product, (scatter + reg * np.eye(len(scatter))) / (1 + reg))
    return np.sum(within**2) / X.size * product


def separable_discriminants(X, y, reg, size):
    """Columns w with ``w^T S w = 1``, from the P x P eigenproblem."""
    S = separable_covariance(X, y, reg)
    flat = class_rows(X, y)[0].reshape(len(set(y.tolist())), -1)
    W = eigenvectors(np.linalg.inv(S) @ flat.T @ flat, size)
    return W / np.sqrt(np.einsum("ip,ij,jp->p", W, S, W))


def khatri_rao_columns(factors):
    """Columns are the Kronecker products of the p-th columns of all factors."""
    columns = range(factors[0].shape[1])
    return np.array([reduce(np.kron, [U[:, p] for U in factors]) for p in columns]).T


def nearest_cp(tensor, rank, sweeps):
    """Rank-one terms subtracted one after the other, then explicit least squares."""
    rest, terms = tensor, []
    for _ in range(rank):
        vectors, part = [], rest
        for size in tensor.shape[:-1]:
            left, _, right = np.linalg.svd(part.reshape(size, -1), full_matrices=False)
            vectors.append(left[:, 0])
            part = right[0]
        vectors.append(part.ravel())
        term = reduce(np.multiply.outer, vectors)
        rest = rest - np.sum(rest * term) * term
        terms.append(vectors)
    factors = [np.array(columns).T for columns in zip(*terms, strict=True)]
    for _ in range(sweeps):
        for m in range(tensor.ndim):
            others = [U for n, U in enumerate(factors) if n != m]
            K = khatri_rao_columns(others)
            factors[m] = unfolding(tensor, m) @ np.linalg.pinv(K.T)
    return (khatri_rao_columns(factors).sum(axis=1)).reshape(tensor.shape)


def group_lasso(D, S, lam, sweeps):
    """Block coordinate descent over the entries, one group at a time; B is (h, P)."""
    B = np.zeros_like(D)
    for _ in range(sweeps):
        for j in range(len(S)):
            pull = D[:, j] - B @ S[:, j] + B[:, j] * S[j, j]
            size = np.linalg.norm(pull)
            B[:, j] = max(0.0, 1 - lam / size) * pull / S[j, j] if size > 0 else 0.0
    return B


def catch(X, y, penalty, reg, sweeps):
    """Sizes of the entries in the sparse tensors, and their discriminants, columns."""
    S = separable_covariance(X, y, reg)
    unit = np.trace(S) / len(S)
    means = [X[y == label].mean(axis=0).ravel() for label in np.unique(y)]
    D = (np.array(means[1:]) - means[0]) / np.sqrt(unit)
    lam = penalty * max(np.linalg.norm(column) for column in D.T)
    B = group_lasso(D, S / unit, lam, sweeps)
    basis = np.linalg.qr(B.T)[0]
    scores = X.reshape(len(X), -1) @ basis
    return np.linalg.norm(B, axis=0), basis @ ridge_lda(scores, y, reg, len(B))


def covariate_effect(X, y, Z):
    """Entry by entry, a regression on the covariates and one constant per class."""
    constants = np.array([[float(a == label) for label in np.unique(y)] for a in y])
    design = np.hstack([Z, constants])
    effect = np.zeros((Z.shape[1], *X.shape[1:]))
    for index in np.ndindex(*X.shape[1:]):
        found = np.linalg.lstsq(design, X[(slice(None), *index)], rcond=None)[0]
        effect[(slice(None), *index)] = found[: Z.shape[1]]
    return effect


# --- rank-one tensors together ----------------------------------------------------


def trace_of_ratio(X, y, factors, reg):
    """``tr((K^T S_w K + lambda I)^{-1} K^T S_b K)``, factors (l_m, h)."""
    between, within = (rows.reshape(len(rows), -1) for rows in class_rows(X, y))
    K = khatri_rao_columns(factors)
    B, W = (K.T @ rows.T @ rows @ K for rows in (between, within))
    lam = reg * np.sum(within**2) / within.shape[1]
    return np.trace(np.linalg.inv(W + lam * np.eye(len(W))) @ B)


def logistic_objective(X, y, W, intercept, C):
    """Tensors W (p, ...) and intercepts (p,), p = 1 for the second of two classes."""
    total, classes = np.sum(W**2) / 2, sorted(set(y.tolist()))
    for x, label in zip(X, y, strict=True):
        scores = [np.sum(x * w) + b for w, b in zip(W, intercept, strict=True)]
        scores = [0.0, *scores] if len(scores) == 1 else scores
        shares = np.exp(scores) / np.sum(np.exp(scores))
        total -= C * np.log(shares[classes.index(label)])
    return total
