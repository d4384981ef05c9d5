"""What a drawing of projections gets: the weights, their colours, the modes' values.

In: a `ProjectionDisplay` and how it is to look. Out: a `Picture` for the drawings of
`_panels`, the kind of drawing that suits a shape, and where on an axis the entries of
a mode are, by number or by name.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from tensorcrp.plotting.style import weight_colours

MOST_NAMES = 14  # at an axis: more would be printed over each other


@dataclass(frozen=True)
class Picture:
    """What is drawn and how."""

    display: Any
    frame_mode: int | None
    max_frames: int
    cmap: Any
    line_kw: dict

    @property
    def weights(self):
        return self.display.components

    @property
    def shape(self):
        return self.weights.shape[1:]

    def limit(self):
        """Largest magnitude of all: one scale of colours, centred at zero."""
        return float(np.abs(self.weights).max()) or 1.0

    def colours(self):
        cmap = weight_colours() if self.cmap is None else self.cmap
        return {"cmap": cmap, "vmin": -self.limit(), "vmax": self.limit()}

    def in_colour(self, weights):
        """Weights of three colours as colours: 0 is gray, the limits black and full."""
        return 0.5 + 0.5 * weights / self.limit()

    def frames(self):
        """Projections with the mode of time first, and the frames that are shown."""
        mode = 0 if self.frame_mode is None else self.frame_mode
        films = np.moveaxis(self.weights, mode + 1, 1)
        count = min(self.max_frames, films.shape[1])
        return films, np.linspace(0, films.shape[1] - 1, count).round().astype(int)


def default_kind(shape):
    """The picture that suits projections of this shape."""
    coloured = len(shape) > 2 and shape[-1] == 3
    order = len(shape) - coloured
    by_order = {1: "curve", 2: "rgb" if coloured else "image", 3: "film"}
    return by_order.get(order, "factors")


def check_order(picture, kind, what, *orders):
    if len(picture.shape) not in orders:
        raise ValueError(
            f"kind={kind!r} is for {what}, but the projections have shape "
            f"{picture.shape}; kind='factors' suits every shape."
        )


def are_names(values):
    """Whether the entries of a mode have names, such as channels, and no numbers."""
    return values.dtype.kind not in "biuf"


def coordinates(values):
    """Where the entries of a mode are drawn: at their values, or one by one."""
    return np.arange(len(values)) if are_names(values) else values


def in_words(value):
    """A value of a mode in a title."""
    return value if isinstance(value, str) else f"{value:.4g}"


def name_ticks(axis, values):
    """Names of entries at an axis, as many as can be read."""
    if not are_names(values):
        return
    shown = np.arange(0, len(values), -(-len(values) // MOST_NAMES))
    rotation = 90 if axis.axis_name == "x" else 0
    axis.set_ticks(shown, values[shown], fontsize="x-small", rotation=rotation)
