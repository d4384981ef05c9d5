"""Block updates of all lanes: the inner loop of the solver.

In: rows of numerator and denominator (`_rows`), factors ``(B, l_m, k)`` of B lanes,
earlier projections to deflate by.
Out: factors that maximise J one mode at a time (paper, equations 6 and 13).

With every factor but ``U^(m)`` fixed, ``<X, W> = <Z, U^(m)>``: linear in the block, so
a block update is a ridge LDA of size ``d = l_m k``, solved exactly. J never falls.
"""

from dataclasses import dataclass
from itertools import groupby

import numpy as np
from scipy.linalg.blas import dtrsm
from scipy.linalg.lapack import dposv, dpotrf, dtrtrs

from tensorcrp._algebra import unit_columns, whitening
from tensorcrp._lapack import LOST, top_eigenvector
from tensorcrp._rows import View

EPS = np.finfo(float).eps


@dataclass(frozen=True)
class Problem:
    """Numerator and denominator rows, and the order in which modes are updated."""

    between: object
    within: object
    order_of_modes: object = None

    @property
    def rows(self):
        return self.between, self.within

    @property
    def shape(self):
        return self.between.samples.shape

    @property
    def modes(self):
        given = self.order_of_modes
        return range(len(self.shape)) if given is None else given

    def is_left(self, mode):
        return self.between.samples.is_left(mode)

    @property
    def is_flat(self):
        """Order 1: the ridge-LDA start is the answer."""
        return len(self.shape) == 1


class Ascent:
    """Block ascent of B lanes on one component; a lane that is done drops out.

    Factors have unit columns; `weights` (B, k) belong to the columns of W.
    """

    def __init__(self, problem, found, which, factors):
        B = len(factors[0])
        self.problem, self.found, self.which = problem, found, which
        self.factors = [unit_columns(factor) for factor in factors]
        self.weights = np.prod([np.linalg.norm(f, axis=1) for f in factors], axis=0)
        self.objective, self.begun = np.zeros(B), np.zeros(B)
        self.scores = [rows.no_scores(B) for rows in problem.rows]
        self.history = [[] for _ in range(B)]
        self.n_iter = np.zeros(B, int)
        self.converged = np.zeros(B, bool)

    def steps(self, max_iter, tol):
        """Sweep over the modes until a sweep's worth of updates adds a share `tol`.

        Yields
        ------
        factors : list of ndarray (B, l_m, k)
            Of the lanes that are not done.
        left : bool
            The side whose modes are next. What the generator is sent are the products
            of both kinds of rows with the other side, see `Rows.begin`.
        """
        active = np.arange(len(self.which))
        for _ in range(max_iter):
            self.n_iter[active] += 1
            for left, modes in groupby(self.problem.modes, key=self.problem.is_left):
                products = yield [factor[active] for factor in self.factors], left
                for mode in modes:
                    self._update(active, mode, products)
                active = active[~self._done(active, tol)]
                if not len(active):
                    return

    def _done(self, active, tol):
        """Which lanes gained at most the share `tol` in their last N block updates."""
        N, done = len(self.factors), np.zeros(len(active), bool)
        for i, lane in enumerate(active):
            J = [self.begun[lane], *self.history[lane]]
            done[i] = 0 < tol and len(J) > N and J[-1] - J[-1 - N] <= tol * J[-1]
        self.converged[active] = done
        return done

    def accept(self):
        """Take the start as it is: at order 1 its first column is the projection."""
        which, found = self.which, self.found
        u = found.orthogonal(which, self.factors[0][:, :, 0])
        overlaps = [found.vectors(a) @ each for a, each in zip(which, u, strict=True)]
        blocks = [rows.projected(u, overlaps, which) for rows in self.problem.rows]
        white = unit = np.ones((len(u), 1, 1))
        self._keep(np.arange(len(u)), 0, u, white, blocks, unit[:, 0])
        self.n_iter[:], self.converged[:] = 1, True

    def _update(self, active, mode, products):
        """One exact block update of every active lane: a small ridge LDA."""
        factors = [factor[active] for factor in self.factors]
        # ||W||_F is the plain norm in white coordinates, so the ridge is lambda I in
        # every block; lambda I on U^(m) itself would be another objective per mode.
        white, back = whitening(factors, mode)
        which, found = self.which[active], self.found
        overlaps = found.overlaps(which, factors, mode, white)
        view = View(factors, mode, white, overlaps, which)
        blocks = [
            rows.block(product, view)
            for rows, product in zip(self.problem.rows, products, strict=True)
        ]
        lambdas = found.lambdas[which]
        if not self.history[active[0]]:
            # A good start is known by how little the first sweep adds to it.
            U = factors[mode] * self.weights[active][:, None] @ back
            u = U.transpose(0, 2, 1).reshape(len(U), -1)
            self.begun[active] = _ratio(blocks, u, lambdas * (u**2).sum(axis=1))
        D, within = blocks[0].Z, blocks[1]
        if within.is_long:
            u = ridge_lda_of_rows(D, within.Z, lambdas)
        else:
            u = ridge_lda(D, within.gram(), lambdas)
        self._keep(active, mode, u, white, blocks, u)

    def _keep(self, active, mode, u, white, blocks, coordinates):
        """Take the new factor of each lane unless rounding made J smaller.

        The block update is exact, so only nearly collinear columns can do that.
        """
        J = _ratio(blocks, coordinates, self.found.lambdas[self.which[active]])
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
        for scores, block in zip(self.scores, blocks, strict=True):
            scores[lanes] = block.scores(coordinates)[better]
        for lane in active:
            self.history[lane].append(self.objective[lane])


def climb(ascents, max_iter, tol):
    """Maximise J, at order 1 by the start alone.

    Ascents of several ranks go in lockstep: they ask for the same side at the same
    time, and one pass over the data serves the columns of all.
    """
    problem = ascents[0].problem
    if problem.is_flat:
        for ascent in ascents:
            ascent.accept()
        return
    running = [ascent.steps(max_iter, tol) for ascent in ascents]
    asked = [next(steps) for steps in running]
    while running:
        factors, (left, *_) = zip(*asked, strict=True)
        both = [rows.begin(factors, left) for rows in problem.rows]
        products = zip(*both, strict=True)
        answers = [_sent(*each) for each in zip(running, products, strict=True)]
        running = [each for each, more in zip(running, answers, strict=True) if more]
        asked = [more for more in answers if more]


def _sent(steps, products):
    """What a generator asks for next, or None at its end."""
    try:
        return steps.send(products)
    except StopIteration:
        return None


def _ratio(blocks, u, ridges):
    """J of each lane: blocks of both kinds of rows, u (B, d), lambda ||W||_F^2 (B,)."""
    numerator, denominator = (block.energy(u) for block in blocks)
    denominator = denominator + ridges
    return numerator / np.where(denominator > 0, denominator, np.inf)


def ridge_lda(D, grams, lambdas):
    """Unit maximisers of ``||D^T u||^2 / (u^T G u + lambda ||u||^2)``.

    Parameters
    ----------
    D : ndarray of shape (B, d, c)
    grams : ndarray of shape (B, d, d)
        G, overwritten.
    lambdas : ndarray of shape (B,)

    Returns
    -------
    ndarray of shape (B, d)
    """
    lanes = zip(D, grams, lambdas, strict=True)
    return _units(np.stack([_direction(*lane) for lane in lanes]))


def ridge_lda_of_rows(D, Z, lambdas):
    """The same for ``G = Z Z^T`` of few rows, Z (B, d, n) with n < d."""
    lanes = zip(D, Z, lambdas, strict=True)
    return _units(np.stack([_direction_of_rows(*lane) for lane in lanes]))


def _units(u):
    """Blocks (B, d) scaled to norm one."""
    norms = np.linalg.norm(u, axis=1, keepdims=True)
    # Nothing left to separate: any direction is as good, but a white coordinate may be
    # null. The last never is; it is also what LAPACK takes if D D^T underflows.
    u[norms[:, 0] == 0, -1] = 1.0
    return u / np.where(norms > 0, norms, 1.0)


def _direction(D, gram, lam):
    """Top generalised eigenvector of ``D D^T`` and ``N = gram + lambda I``: (d,).

    ``u = L^{-T} a``, a the top left singular vector of ``L^{-1} D``, ``N = L L^T``;
    by the smaller of two Gram matrices: the numerator has few rows, or the block few
    entries.
    """
    # A ridge below rounding cannot be factored.
    diagonal = np.einsum("ii->i", gram)  # a view
    diagonal += max(lam, 4 * EPS * diagonal.sum())
    # Transposed, arrays in C order have LAPACK's order of columns and are not copied.
    L, info = dpotrf(gram.T, lower=1, clean=0, overwrite_a=1)
    if info:
        raise np.linalg.LinAlgError(f"a scatter of size {len(gram)} is not positive")
    M = dtrsm(1.0, L, D.T, side=1, lower=1, trans_a=1).T
    few = M.shape[1] < M.shape[0]
    a = M @ top_eigenvector(M.T @ M) if few else top_eigenvector(M @ M.T)
    u, _ = dtrtrs(L, a, lower=1, trans=1)
    return u


def _direction_of_rows(D, Z, lam):
    """The same from rows, by n x n matrices: a long mode and few samples.

    ``u = lambda N^{-1} D a`` with ``lambda N^{-1} D = D - Z F`` and
    ``F = (Z^T Z + lambda I)^{-1} Z^T D``; a is the top eigenvector of
    ``lambda D^T N^{-1} D = D^T D - D^T Z F``.
    """
    gram, cross = Z.T @ Z, Z.T @ D
    diagonal = np.einsum("ii->i", gram)  # a view
    if EPS * diagonal.sum() > LOST * lam:  # of the differences rounding would be left
        return _direction(D, Z @ Z.T, lam)
    diagonal += lam
    _, F, info = dposv(gram.T, cross, lower=1, overwrite_a=1)
    if info:
        raise np.linalg.LinAlgError(f"a scatter of {len(gram)} rows is not positive")
    a = top_eigenvector(D.T @ D - cross.T @ F)
    return D @ a - Z @ (F @ a)
