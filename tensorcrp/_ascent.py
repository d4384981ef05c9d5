"""Block updates of all lanes: the inner loop of the solver.

In: rows ``(n, l_1, ..., l_N)`` of numerator and denominator, arranged; factors
``(B, l_m, k)`` of B lanes; earlier projections to deflate by.
Out: factors that maximise J one mode at a time (paper, equations 6 and 13).

With every factor but ``U^(m)`` fixed, ``<X, W> = <Z, U^(m)>``: linear in the block, so
a block update is a ridge LDA of size ``d = l_m k``, solved exactly. J never falls.
"""

from dataclasses import dataclass
from itertools import groupby

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs, dtrtrs

from tensorcrp._algebra import (
    Samples,
    gram_except,
    top_eigenvector,
    unit_columns,
    whitening,
)

EPS = np.finfo(float).eps


@dataclass(frozen=True)
class Problem:
    """Numerator and denominator rows, and the order in which modes are updated."""

    between: Samples
    within: Samples
    order_of_modes: object = None

    @property
    def rows(self):
        return self.between, self.within

    @property
    def shape(self):
        return self.within.shape

    @property
    def modes(self):
        given = self.order_of_modes
        return range(len(self.shape)) if given is None else given

    @property
    def is_flat(self):
        """Order 1: the ridge-LDA start is the answer."""
        return len(self.shape) == 1

    def features(self, rows, product, factors, mode, white):
        """Rows contracted with all factors but one, in white coordinates: (B, d, n)."""
        lanes, size, rank = factors[mode].shape
        Z = rows.finish(product, _columns(factors), mode)
        Z = Z.transpose(0, 2, 1).reshape(lanes, rank, -1)
        Z = white.transpose(0, 2, 1) @ Z.astype(float, copy=False)
        return Z.reshape(lanes, rank * size, -1)


class Ascent:
    """Block ascent of B lanes on one component; a lane that is done drops out.

    Factors have unit columns; `weights` (B, k) belong to the columns of W.
    """

    def __init__(self, problem, found, which, factors):
        B = len(factors[0])
        self.problem, self.found, self.which = problem, found, which
        self.factors = [unit_columns(factor) for factor in factors]
        self.weights = np.prod([np.linalg.norm(f, axis=1) for f in factors], axis=0)
        self.objective, self.before = np.zeros(B), np.zeros(B)
        self.scores = np.zeros((B, len(problem.within)))
        self.scores_between = np.zeros((B, len(problem.between)))
        self.history = [[] for _ in range(B)]
        self.n_iter = np.zeros(B, int)
        self.converged = np.zeros(B, bool)

    def climb(self, max_iter, tol):
        """Maximise J, at order 1 by the start alone."""
        if self.problem.is_flat:
            self._accept()
        else:
            self._run(max_iter, tol)

    def _run(self, max_iter, tol):
        """Sweep over the modes until J grows by at most the share `tol`."""
        active = np.arange(len(self.which))
        for _ in range(max_iter):
            self._sweep(active)
            self.n_iter[active] += 1
            gain = self.objective[active] - self.before[active]
            done = (gain <= tol * self.objective[active]) & (tol > 0)
            self.before[active] = self.objective[active]
            self.converged[active[done]] = True
            active = active[~done]
            if not len(active):
                break

    def _accept(self):
        """Take the start as it is: at order 1 its first column is the projection."""
        found = self.found
        u = found.orthogonal(self.which, self.factors[0][:, :, 0])
        white = np.ones((len(u), 1, 1))
        t, s = (
            rows.side_product(_columns([u[:, :, None]]), left=True).astype(float)
            for rows in self.problem.rows
        )
        scores, scores_between = found.all_scores()
        for lane, a in enumerate(self.which):
            overlaps = found.vectors(a) @ u[lane]
            t[lane] -= overlaps @ scores_between[a]
            s[lane] -= overlaps @ scores[a]
        self._keep(np.arange(len(u)), 0, u, white, t, s)
        self.n_iter[:], self.converged[:] = 1, True

    def _sweep(self, active):
        problem = self.problem
        for left, modes in groupby(problem.modes, key=problem.within.is_left):
            columns = _columns([factor[active] for factor in self.factors])
            products = [rows.side_product(columns, left) for rows in problem.rows]
            for mode in modes:
                self._update(active, mode, products)

    def _update(self, active, mode, products):
        """One exact block update of every active lane: a small ridge LDA."""
        factors = [factor[active] for factor in self.factors]
        # ||W||_F is the plain norm in white coordinates, so the ridge is lambda I in
        # every block; lambda I on U^(m) itself would be another objective per mode.
        grams = [factor.transpose(0, 2, 1) @ factor for factor in factors]
        gram = gram_except(grams, mode)
        white = whitening(gram)
        D, Z = (
            self.problem.features(rows, product, factors, mode, white)
            for rows, product in zip(self.problem.rows, products, strict=True)
        )
        which, found = self.which[active], self.found
        if found.count:
            H = found.overlaps(which, factors, mode, white)
            D -= H @ found.scores_between[which, : found.count]
            Z -= H @ found.scores[which, : found.count]
        if not self.n_iter[active].any() and mode == self.problem.modes[0]:
            # A good start is known by how little the first sweep adds to it.
            U = factors[mode] * self.weights[active][:, None] @ gram @ white
            u = U.transpose(0, 2, 1).reshape(len(U), -1)
            ridges = found.lambdas[which] * (u**2).sum(axis=1)
            self.before[active] = _ratio(*_scores(u, D, Z), ridges)
        u = ridge_lda(D, Z, found.lambdas[which])
        t, s = _scores(u, D, Z)
        self._keep(active, mode, u, white, t, s)

    def _keep(self, active, mode, u, white, t, s):
        """Take the new factor of each lane unless rounding made J smaller.

        The block update is exact, so only nearly collinear columns can do that.
        """
        J = _ratio(t, s, self.found.lambdas[self.which[active]])
        better = J >= self.objective[active]
        lanes = active[better]
        U = u.reshape(len(u), white.shape[2], -1).transpose(0, 2, 1)[better]
        if len(self.factors) == 2:
            # u (V T)^T is the same matrix as (u T^T) V^T, but V T has orthonormal
            # columns: nearly collinear ones are not handed from factor to factor.
            self.factors[1 - mode][lanes] = (
                self.factors[1 - mode][lanes] @ white[better]
            )
        else:
            U = U @ white[better].transpose(0, 2, 1)
        self.factors[mode][lanes] = unit_columns(U)
        self.weights[lanes] = np.linalg.norm(U, axis=1)
        self.objective[lanes] = J[better]
        self.scores[lanes], self.scores_between[lanes] = s[better], t[better]
        for lane in active:
            self.history[lane].append(self.objective[lane])


def _scores(u, D, Z):
    """What a block (B, d) makes of the rows (B, d, c) and (B, d, n)."""
    return [(u[:, None] @ rows)[:, 0] for rows in (D, Z)]


def _ratio(t, s, ridges):
    """J of each lane from its scores t (B, c), s (B, n) and lambda ||W||_F^2."""
    denominator = (s**2).sum(axis=1) + ridges
    return (t**2).sum(axis=1) / np.where(denominator > 0, denominator, np.inf)


def ridge_lda(D, Z, lambdas):
    """Unit maximisers of ``||D^T u||^2 / (||Z^T u||^2 + lambda ||u||^2)``.

    Parameters
    ----------
    D : ndarray of shape (B, d, c)
    Z : ndarray of shape (B, d, n)
    lambdas : ndarray of shape (B,)

    Returns
    -------
    ndarray of shape (B, d)
    """
    lanes = zip(D, Z, lambdas, strict=True)
    u = np.stack([_direction(*lane) for lane in lanes])
    norms = np.linalg.norm(u, axis=1, keepdims=True)
    # Nothing left to separate: any direction is as good. The last white coordinate
    # belongs to the largest eigenvalue of the Gram matrix and is never null.
    u[norms[:, 0] == 0, -1] = 1.0
    return u / np.where(norms > 0, norms, 1.0)


def _direction(D, Z, lam):
    """Top generalised eigenvector of ``D D^T`` and ``N = Z Z^T + lambda I``: (d,)."""
    d, n = Z.shape
    gram = Z @ Z.T if d <= n else Z.T @ Z
    # A ridge below rounding cannot be factored.
    lam = max(lam, 4 * EPS * np.trace(gram))
    gram.flat[:: len(gram) + 1] += lam
    L = _cholesky(gram)
    return _primal(D, L) if d <= n else _dual(D, Z, L, lam)


def _primal(D, L):
    """``u = L^{-T} a``, a the top left singular vector of ``L^{-1} D``; N = L L^T.

    By the smaller of the two Gram matrices: the numerator has few columns, or the
    block few entries.
    """
    M, _ = dtrtrs(L, D, lower=1)
    few = M.shape[1] < M.shape[0]
    a = M @ top_eigenvector(M.T @ M) if few else top_eigenvector(M @ M.T)
    u, _ = dtrtrs(L, a, lower=1, trans=1)
    return u


def _dual(D, Z, L, lam):
    """The same from ``Z^T Z + lambda I = L L^T`` where there are fewer rows: (d,)."""
    inside, _ = dpotrs(L, Z.T @ D, lower=1)
    V = (D - Z @ inside) / lam
    return V @ top_eigenvector(D.T @ V)


def _cholesky(matrix):
    L, info = dpotrf(matrix, lower=1)
    if info:
        raise np.linalg.LinAlgError(f"a scatter of size {len(matrix)} is not positive")
    return L


def _columns(factors):
    """Factors (B, l_m, k) as matrices (l_m, B k): lanes are more columns."""
    return [f.transpose(1, 0, 2).reshape(f.shape[1], -1) for f in factors]
