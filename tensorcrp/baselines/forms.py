"""Quadratic forms of tensors, and their scatters along one mode.

In: rows ``A_i`` of shape ``(n, l_1, ..., l_N)``, the root of a form
``sum_i <A_i, W>^2``; factors ``(l_m, r_m)`` of the modes, or None.
Out: the mode scatter ``sum_i A_i(m) A_i(m)^T`` of size ``l_m x l_m``, with ``A_i(m)``
the unfolding along mode m of row i, whose other modes the factors have projected.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from tensorcrp.base.types import Array, Shape
from tensorcrp.solver.array_rows import ArrayRows
from tensorcrp.solver.cp import mode_products
from tensorcrp.solver.rows import Rows


@dataclass(frozen=True)
class Form:
    """The quadratic form ``sum_i <A_i, W>^2`` of rows, its root.

    Parameters
    ----------
    rows : Rows or ndarray of shape (n, l_1, ..., l_N)
        Never changed, copied in small blocks only.
    known_trace : float, default=None
        The trace of the form, where a statistic has it; otherwise it costs one pass.

    Examples
    --------
    >>> import numpy as np
    >>> from tensorcrp.baselines import Form
    >>> form = Form(np.ones((5, 3, 2)))
    >>> form.shape, form.trace
    ((3, 2), 30.0)
    >>> form.scatter(1, [None, None])
    array([[15., 15.],
           [15., 15.]])
    """

    rows: Array | Rows
    known_trace: float | None = None

    @property
    def shape(self) -> Shape:
        """Shape of a row."""
        return self.rows.shape[1:]

    @property
    def trace(self) -> float:
        """Sum of squares of all rows, ``sum_i ||A_i||^2``."""
        if self.known_trace is not None:
            return self.known_trace
        return float(ArrayRows.of(self.rows).spread()[0].sum())

    def scatter(self, mode: int, factors: Sequence[Array | None]) -> Array:
        """Mode scatter of the rows, projected by all other factors.

        Parameters
        ----------
        mode : int
            The mode that is not projected.
        factors : list of ndarray (l_m, r_m) or None
            One per mode; None leaves its mode as it is.

        Returns
        -------
        ndarray of shape (l_m, l_m)
            Symmetric positive semi-definite, in float64.
        """
        matrices = [None if U is None else U.T for U in factors]
        return ArrayRows.of(self.rows).mode_scatter(mode, matrices)

    def blocks(self) -> Iterator[Array]:
        """The rows, a few at a time.

        Yields
        ------
        ndarray of shape (b, l_1, ..., l_N)
            In float64.
        """
        rows = ArrayRows.of(self.rows)
        # Blocks stay in the processor's cache from one mode product to the next.
        for _, block in rows.blocks(rows.block_size):
            yield np.ascontiguousarray(block, dtype=float)


@dataclass(frozen=True)
class Sum:
    """The sum of several forms, e.g. total = between + within.

    Parameters
    ----------
    parts : tuple of Form
        Forms of samples of one shape.

    Examples
    --------
    >>> import numpy as np
    >>> from tensorcrp.baselines import Form, Ridge, Sum
    >>> form = Sum((Form(np.ones((5, 3, 2))), Ridge(2.0, (3, 2))))
    >>> form.scatter(1, [None, None])
    array([[21., 15.],
           [15., 21.]])
    """

    parts: tuple[FormLike, ...]

    @property
    def shape(self) -> Shape:
        """Shape of a row."""
        return self.parts[0].shape

    def scatter(self, mode: int, factors: Sequence[Array | None]) -> Array:
        """Mode scatter, the sum of those of the parts.

        Parameters
        ----------
        mode : int
            The mode that is not projected.
        factors : list of ndarray (l_m, r_m) or None
            One per mode; None leaves its mode as it is.

        Returns
        -------
        ndarray of shape (l_m, l_m)
            Symmetric positive semi-definite, in float64.
        """
        return sum(part.scatter(mode, factors) for part in self.parts)


@dataclass(frozen=True)
class Ridge:
    """The form ``lam ||W||^2``: that of the unit tensors as rows, times lam.

    Parameters
    ----------
    lam : float
        The strength of the ridge.
    shape : tuple of int
        Shape of a sample.

    Examples
    --------
    >>> from tensorcrp.baselines import Ridge
    >>> Ridge(2.0, (3, 2)).scatter(1, [None, None])
    array([[6., 0.],
           [0., 6.]])
    """

    lam: float
    shape: Shape

    def scatter(self, mode: int, factors: Sequence[Array | None]) -> Array:
        """Mode scatter, a multiple of the identity.

        Parameters
        ----------
        mode : int
            The mode that is not projected.
        factors : list of ndarray (l_m, r_m) or None
            One per mode; None leaves its mode as it is.

        Returns
        -------
        ndarray of shape (l_m, l_m)
            Symmetric positive semi-definite, in float64.
        """
        others = [m for m in range(len(self.shape)) if m != mode]
        sizes = [
            self.shape[m] if factors[m] is None else (factors[m] ** 2).sum()
            for m in others
        ]
        return self.lam * np.prod(sizes) * np.eye(self.shape[mode])


FormLike: TypeAlias = Form | Sum | Ridge


def mode_scatters(top, bottom, mode, factors):
    """``B, W`` of one mode; W is None if there is no denominator."""
    B = top.scatter(mode, factors)
    return B, None if bottom is None else bottom.scatter(mode, factors)


def project(tensors, factors, skip=None):
    """Mode products of tensors (n, l_1, ..., l_N) with all factors but `skip`.

    The mode that shrinks most goes first.
    """
    matrices = [None if U is None else U.T for U in factors]
    if skip is not None:
        matrices[skip] = None
    return mode_products(tensors, matrices)
