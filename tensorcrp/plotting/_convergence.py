"""Curves of the objective.

In: J after every block update, one array per component (``history_``). Out: a line per
component over block updates or over sweeps, which never decreases.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from tensorcrp.plotting.axes import (
    check_components,
    fitted_model,
    legend_beside,
    panels,
    whole_ticks,
)
from tensorcrp.plotting.style import series


class ConvergenceDisplay:
    """Objective over block updates, one line per component.

    Parameters
    ----------
    objective : sequence of arrays
        J after each block update; the arrays may differ in length.
    labels : iterable of str, default=None
        Names of the lines; None for "projection 1", "projection 2", ...
    order : int, default=1
        Number of modes, that is, of block updates in a sweep.

    Attributes
    ----------
    figure_ : matplotlib Figure
    ax_ : matplotlib Axes
    lines_ : list of matplotlib Line2D
        One per component.

    See Also
    --------
    ProjectionDisplay : What the components look like.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from sklearn.datasets import load_digits
    >>> from tensorcrp import TensorCRP
    >>> from tensorcrp.plotting import ConvergenceDisplay
    >>> digits = load_digits()
    >>> crp = TensorCRP(3, max_iter=10, tol=0).fit(digits.images, digits.target)
    >>> display = ConvergenceDisplay.from_estimator(crp, components=[0, 2])
    >>> [len(curve) for curve in display.objective]
    [20, 20]
    >>> plt.close(display.figure_)
    """

    figure_: Any
    ax_: Any
    lines_: list[Any]

    def __init__(
        self,
        objective: Sequence[ArrayLike],
        *,
        labels: Iterable[str] | None = None,
        order: int = 1,
    ) -> None:
        self.objective = [np.asarray(curve, float) for curve in objective]
        if labels is None:
            labels = [f"projection {p + 1}" for p in range(len(self.objective))]
        self.labels, self.order = list(labels), order

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        components: int | Sequence[int] | None = None,
        ax: Any = None,
        **how: Any,
    ) -> Self:
        """Draw the objective of a fitted estimator.

        Parameters
        ----------
        estimator : TensorCRP, TensorCRPCV or BilinearSVC
            Fitted; of a TensorCRPCV the refitted best.
        components : int or sequence of int, default=None
            Which ones, numbered from 0; None for all.
        ax : matplotlib Axes, default=None
            None for a new figure.
        **how
            Passed to `plot`.

        Returns
        -------
        ConvergenceDisplay
        """
        model = fitted_model(estimator, "objective_", "sample_shape_")
        objective = getattr(model, "history_", None)
        if not isinstance(objective, list):  # none, or one curve for all
            raise ValueError(
                f"{type(model).__name__} keeps no history of its objective; pass a "
                "fitted TensorCRP, TensorCRPCV or BilinearSVC."
            )
        numbers = check_components(components, len(objective))
        labels = [f"projection {p + 1}" for p in numbers]
        # N block updates are a sweep, but at full rank one update is all there is.
        order = min(len(model.sample_shape_), max(map(len, objective)))
        display = cls([objective[p] for p in numbers], labels=labels, order=order)
        return display.plot(ax=ax, **how)

    def plot(
        self,
        *,
        ax: Any = None,
        unit: Literal["update", "sweep"] = "update",
        relative: bool = False,
        line_kw: dict[str, Any] | None = None,
    ) -> Self:
        """Draw the lines.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            None for a new figure.
        unit : {"update", "sweep"}, default="update"
            What is counted: block updates, or sweeps over all modes.
        relative : bool, default=False
            Divide every line by its last value.
        line_kw : dict, default=None
            Passed to ``Axes.plot``, for all lines.

        Returns
        -------
        ConvergenceDisplay
            With `figure_`, `ax_` and `lines_`.
        """
        self._check(unit)
        with panels(ax) as (figure, axes):
            self.figure_, self.ax_, self.lines_ = figure, axes[0, 0], []
            for i, (curve, label) in enumerate(
                zip(self.objective, self.labels, strict=True)
            ):
                style = {
                    **series(i),
                    "markevery": max(1, len(curve) // 8),
                    "label": label,
                }
                count = np.arange(1, len(curve) + 1)
                x = count / (self.order if unit == "sweep" else 1)
                y = curve / (curve[-1] or 1.0) if relative else curve
                self.lines_ += self.ax_.plot(x, y, **style | (line_kw or {}))
            what = "share of the last" if relative else "J"
            x_label = "block update" if unit == "update" else "sweep over the modes"
            self.ax_.set(xlabel=x_label, ylabel=f"objective, {what}")
            whole_ticks(self.ax_.xaxis)
            if len(self.objective) > 1:
                legend_beside(self.ax_, len(self.objective))
        return self

    def _check(self, unit):
        if not self.objective or not all(map(len, self.objective)):
            raise ValueError("objective has no values: pass J after each block update.")
        if len(self.labels) != len(self.objective):
            raise ValueError(
                f"labels names {len(self.labels)} lines, but there are "
                f"{len(self.objective)}; give one name per line."
            )
        if unit not in ("update", "sweep"):
            raise ValueError(f"unit must be 'update' or 'sweep', got {unit!r}.")
