"""Where a Display draws: axes of its own, given ones, or a grid inside given ones.

In: what a caller passes as ``ax``, and how many panels are to be drawn. Out: a figure
and an array of axes. Here is also what Displays check before a figure is opened.
"""

from contextlib import contextmanager
from numbers import Integral

import numpy as np
from sklearn.utils.validation import check_is_fitted


def check_matplotlib():
    """Raise an error that names the extra if matplotlib is not installed."""
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError as error:
        raise ImportError(
            'figures need matplotlib: pip install "tensorcrp[plot]"'
        ) from error


@contextmanager
def panels(ax, n_rows=1, n_columns=1, size=(6.0, 3.8), **how):
    """Figure and axes (n_rows, n_columns) to draw into.

    Without `ax` a new figure of pyplot, closed again if drawing fails; else the given
    axes, as many as there are panels, or one to be divided.
    """
    check_matplotlib()
    if ax is not None:
        axes = _given(ax, n_rows, n_columns, how)
        yield axes.flat[0].figure, axes
        return
    import matplotlib.pyplot as plt

    figure = plt.figure(figsize=size, layout="constrained")
    try:
        yield figure, figure.subplots(n_rows, n_columns, squeeze=False, **how)
    except BaseException:
        plt.close(figure)
        raise


def _given(ax, n_rows, n_columns, how):
    count = n_rows * n_columns
    many = np.ravel(np.array(ax, dtype=object))
    if len(many) == count:
        return many.reshape(n_rows, n_columns)
    if len(many) != 1:
        raise ValueError(
            f"ax has {len(many)} axes, but {count} panels are to be drawn; pass one, "
            f"to be divided, or an array of {n_rows} x {n_columns}."
        )
    place = many[0].get_subplotspec()
    if place is None:
        raise ValueError(
            f"ax cannot be divided into {count} panels: it is not part of a grid. Make "
            f"it by plt.subplots, or pass an array of {n_rows} x {n_columns} axes."
        )
    many[0].set_axis_off()
    return place.subgridspec(n_rows, n_columns).subplots(squeeze=False, **how)


def fitted_model(estimator, *names):
    """The fitted model with the attributes `names`: a search hands its best one on."""
    check_is_fitted(estimator)
    model = getattr(estimator, "best_estimator_", estimator)
    for name in names:
        if not hasattr(model, name):
            raise ValueError(
                f"{type(model).__name__} has no {name}; pass a fitted TensorCRP or "
                "TensorCRPCV, of a pipeline the step itself, e.g. pipeline[0]."
            )
    return model


def check_components(components, count):
    """Numbers of components as a list, from one, several, or None for all."""
    if components is None:
        return list(range(count))
    numbers = [components] if isinstance(components, Integral) else list(components)
    if not numbers:
        raise ValueError(f"components is empty: name at least one of 0 to {count - 1}.")
    for number in numbers:
        integer = isinstance(number, Integral) and not isinstance(number, bool)
        if not integer or not 0 <= number < count:
            raise ValueError(
                f"components={components!r}: {number!r} is none of the {count} there "
                f"are; they are numbered from 0 to {count - 1}."
            )
    return [int(number) for number in numbers]


def legend_beside(ax, count, most=28, **how):
    """A legend right of the axes, hiding nothing; none beyond `most` entries."""
    if count > most:
        return
    how = {"fontsize": "small", "bbox_to_anchor": (1.01, 1.0), **how}
    columns = 1 if count <= 14 else 2
    ax.legend(loc="upper left", frameon=False, ncols=columns, **how)


def whole_ticks(axis):
    """No ticks between whole numbers, unless the given axis has a scale of its own."""
    from matplotlib.ticker import MaxNLocator

    if axis.get_scale() == "linear":
        axis.set_major_locator(MaxNLocator("auto", integer=True))
