"""The objective J: its numerator, its value, and the exact solution of a block.

In: class statistics, or both kinds of rows in one block update (`blocks.Block`). Out:
rows of the numerator ``(c, l_1, ..., l_N)``, values (B,) of lanes, or the maximising
blocks (B, d).

With every factor but ``U^(m)`` fixed, ``<X, W> = <Z, U^(m)>`` is linear in the block
(paper, equations 6 and 13), and in white coordinates ``||W||_F = ||u||``. So the block
problem of the paper's objective is a ridge LDA of size ``d = l_m k``, solved exactly.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from tensorcrp.base.types import Array, Weighting
from tensorcrp.solver.blocks import Block
from tensorcrp.solver.linalg import ridge_lda, ridge_lda_of_rows


class Objective(ABC):
    """What a projection maximises. J never decreases if `maximise` is exact.

    Attributes
    ----------
    is_ratio : bool
        Whether J is between over within, so that its maximum over vectors is a ridge
        LDA and needs no ascent.

    See Also
    --------
    DiscriminantRatio : The paper's objective.

    Examples
    --------
    Another numerator needs one method; see also ``tests/test_extending.py``.

    >>> from tensorcrp.solver import DiscriminantRatio
    >>> class TwiceTheFirst(DiscriminantRatio):
    ...     def numerator(self, scatter):
    ...         rows = scatter.between("classes")
    ...         rows[0] *= 2
    ...         return rows
    """

    is_ratio: bool = False

    @abstractmethod
    def numerator(self, scatter: Any) -> Array:
        """Rows of the numerator.

        Parameters
        ----------
        scatter : ClassScatter
            Class statistics.

        Returns
        -------
        ndarray of shape (c, l_1, ..., l_N)
            The numerator of a projection W is the sum of ``<row, W>^2``.
        """

    @abstractmethod
    def value(self, between: Array, within: Array) -> Array:
        """J of several lanes.

        Parameters
        ----------
        between, within : ndarray of shape (B,)
            Sums of squared scores of both kinds of rows. The ridge ``lambda ||W||^2``
            is part of `within`.

        Returns
        -------
        ndarray of shape (B,)
            The larger the better.
        """

    @abstractmethod
    def maximise(self, between: Block, within: Block, lambdas: Array) -> Array:
        """Unit blocks (B, d) of largest J.

        Parameters
        ----------
        between, within : Block
            Features of both kinds of rows in white coordinates.
        lambdas : ndarray of shape (B,)
            Ridges.

        Returns
        -------
        ndarray of shape (B, d)
            One block per lane.
        """


class DiscriminantRatio(Objective):
    """The paper's objective (4): between-class over within-class variation.

    Parameters
    ----------
    weighting : {"classes", "samples"}, default="classes"
        How class means count: each once, as in the paper, or by the size of the class,
        as in classical LDA.

    Examples
    --------
    >>> import numpy as np
    >>> from tensorcrp.solver import DiscriminantRatio
    >>> DiscriminantRatio().value(np.array([3.0, 1.0]), np.array([2.0, 0.0]))
    array([1.5, 0. ])
    """

    is_ratio = True

    def __init__(self, weighting: Weighting = "classes") -> None:
        self.weighting = weighting

    def numerator(self, scatter: Any) -> Array:
        """Deviations of the class means from the overall mean.

        Parameters
        ----------
        scatter : ClassScatter
            Class statistics.

        Returns
        -------
        ndarray of shape (c, l_1, ..., l_N)
            One row per class.
        """
        return scatter.between(self.weighting)

    def value(self, between: Array, within: Array) -> Array:
        """Between over within, zero where there is neither scatter nor ridge.

        Parameters
        ----------
        between, within : ndarray of shape (B,)
            Sums of squared scores, the ridge included.

        Returns
        -------
        ndarray of shape (B,)
            The ratios.
        """
        return between / np.where(within > 0, within, np.inf)

    def maximise(self, between: Block, within: Block, lambdas: Array) -> Array:
        """Ridge LDA, by matrices of the block or of its rows, whichever is smaller.

        Parameters
        ----------
        between, within : Block
            Features of both kinds of rows in white coordinates.
        lambdas : ndarray of shape (B,)
            Ridges.

        Returns
        -------
        ndarray of shape (B, d)
            One unit block per lane.
        """
        if within.is_long:
            return ridge_lda_of_rows(between.Z, within.Z, lambdas)
        return ridge_lda(between.Z, within.gram(), lambdas)
