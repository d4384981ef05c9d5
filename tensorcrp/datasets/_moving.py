"""Short clips whose classes are motions.

In: sizes and a seed. Out: clips (n, frames, height, width[, 3]) and labels; on request
the same clips as video files, ``folder/class/clip.mp4``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal, overload

import numpy as np
from scipy.ndimage import gaussian_filter
from sklearn.utils import check_random_state

from tensorcrp.base.parameters import (
    check_choice,
    check_integer,
    check_picture_size,
)
from tensorcrp.base.types import XY, AnyPath, Dataset, RandomState
from tensorcrp.datasets._bunch import as_bunch, hand_out

# Name -> (sweeps across the picture, starts at the right edge)
ROUTES = {
    "right": (1, False),
    "left": (1, True),
    "right-left": (2, False),
    "left-right": (2, True),
    "right-left-right": (3, False),
    "left-right-left": (3, True),
}
# Gray of the scene, and what a shape adds to it: room for clutter of three deviations.
SCENE, SHAPE = 0.42, 0.14


@overload
def make_moving_shapes(
    n_per_class: int = ...,
    n_classes: int = ...,
    *,
    frames: int = ...,
    size: tuple[int, int] = ...,
    color: Literal["gray", "rgb"] = ...,
    clutter: float = ...,
    noise: float = ...,
    folder: AnyPath | None = ...,
    suffix: Literal[".mp4", ".avi", ".mkv", ".mov"] = ...,
    random_state: RandomState = ...,
    return_X_y: Literal[True],
) -> XY: ...
@overload
def make_moving_shapes(
    n_per_class: int = ...,
    n_classes: int = ...,
    *,
    frames: int = ...,
    size: tuple[int, int] = ...,
    color: Literal["gray", "rgb"] = ...,
    clutter: float = ...,
    noise: float = ...,
    folder: AnyPath | None = ...,
    suffix: Literal[".mp4", ".avi", ".mkv", ".mov"] = ...,
    random_state: RandomState = ...,
    return_X_y: Literal[False] = ...,
) -> Dataset: ...
def make_moving_shapes(
    n_per_class: int = 10,
    n_classes: int = 4,
    *,
    frames: int = 16,
    size: tuple[int, int] = (32, 32),
    color: Literal["gray", "rgb"] = "gray",
    clutter: float = 1.0,
    noise: float = 0.1,
    folder: AnyPath | None = None,
    suffix: Literal[".mp4", ".avi", ".mkv", ".mov"] = ".mp4",
    random_state: RandomState = None,
    return_X_y: bool = False,
) -> Dataset | XY:
    """Clips of a light that crosses a static scene; classes differ in motion only.

    A disc, square or diamond of light moves right, left, right and back, left and back
    (and so on) at constant speed across a static scene that is different in every clip.
    A random frame of a clip has the same distribution in every class, so it is not
    informative. The position of the light *at a given time* is informative, but hard to
    see in the clutter of one frame. Change over time is what separates the classes, and
    a projection can learn it in its factor of time.

    Parameters
    ----------
    n_per_class : int, default=10
        Clips of each class.
    n_classes : int, default=4
        2 to 6: one sweep across, two, three; each from the left and from the right.
    frames : int, default=16
        Frames of a clip.
    size : (int, int), default=(32, 32)
        Height and width.
    color : {"gray", "rgb"}, default="gray"
        In "rgb", lights and scenes have random colours.
    clutter : float, default=1.0
        Standard deviation of the scene, as a multiple of the brightness of the light.
    noise : float, default=0.1
        Standard deviation of the noise of pixels in the same unit.
    folder : path, default=None
        Also write every clip to ``folder/class/clip_000.mp4`` (needs the extra
        ``video``).
    suffix : {".mp4", ".avi", ".mkv", ".mov"}, default=".mp4"
        Kind of file, see `tensorcrp.video.write_clip`.
    random_state : int, RandomState instance or None, default=None
        Seed of the random numbers.
    return_X_y : bool, default=False
        Return ``(X, y)`` instead of a Bunch.

    Returns
    -------
    Bunch or (X, y)
        ``data`` is float32 in [0, 1], (n, frames, height, width) or with 3 colours
        last, sorted by class. With `folder`, ``files`` lists the files.

    Examples
    --------
    >>> from tensorcrp.datasets import make_moving_shapes
    >>> made = make_moving_shapes(3, random_state=0)
    >>> made.data.shape, made.target_names
    ((12, 16, 32, 32), ['right', 'left', 'right-left', 'left-right'])
    """
    check_integer("n_per_class", n_per_class)
    check_integer("frames", frames)
    check_choice("color", color, ("gray", "rgb"))
    if n_classes not in range(2, len(ROUTES) + 1):
        raise ValueError(f"n_classes must be 2 to {len(ROUTES)}, got {n_classes!r}.")
    check_picture_size(size, least=8)
    rng = check_random_state(random_state)
    names = list(ROUTES)[:n_classes]
    y = np.repeat(np.arange(n_classes), n_per_class)
    channels = () if color == "gray" else (3,)
    X = np.empty((len(y), frames, *size, *channels), np.float32)
    for clip, label in zip(X, y, strict=True):
        _film(clip, *ROUTES[names[label]], clutter, noise, rng)
    DESCR = (
        f"{len(y)} clips of {frames} frames of {size[0]}x{size[1]}: a light crosses a "
        "still scene; the classes are its motions and share their single frames."
    )
    modes = ("time", "row", "column") + (("color",) if channels else ())
    bunch = as_bunch(X, y, DESCR, mode_names=modes, target_names=names)
    if folder is not None:
        bunch.files = _write(bunch, Path(folder), suffix)
    return hand_out(bunch, return_X_y)


def _film(clip, sweeps, backwards, clutter, noise, rng):
    """Fill one clip (frames, height, width[, 3])."""
    frames, (height, width), channels = len(clip), clip.shape[1:3], clip.shape[3:]
    radius = 0.16 * min(height, width) * rng.uniform(0.8, 1.2)
    row = height * rng.uniform(0.4, 0.6)
    norm = (_disc, _square, _diamond)[rng.randint(3)]
    light = rng.uniform(0.9, 1.1) * (rng.uniform(0.6, 1.4, 3) if channels else 1.0)
    # The camera starts at a random moment between two frames: every place on the way
    # is then equally likely in a frame, however many sweeps there are.
    way = _triangle(sweeps * (np.arange(frames) + rng.uniform()) / frames)
    way = radius + (width - 1 - 2 * radius) * (1 - way if backwards else way)
    way = way + rng.uniform(-0.03, 0.03, frames) * width
    blur = (0.06 * height, 0.06 * width) + (0,) * len(channels)
    scene = gaussian_filter(rng.standard_normal(clip.shape[1:]), blur, mode="wrap")
    scene = scene * clutter / scene.std()
    rows, columns = np.arange(height)[:, None], np.arange(width)
    for frame, place in zip(clip, way, strict=True):
        shape = np.clip(radius - norm(rows - row, columns - place) + 0.5, 0, 1)
        shape = shape[..., None] * light if channels else shape * light
        grain = noise * rng.standard_normal(frame.shape)
        frame[...] = np.clip(SCENE + SHAPE * (scene + shape + grain), 0, 1)


def _triangle(t):
    """0 at even t, 1 at odd t, straight in between."""
    return np.abs((t + 1) % 2 - 1)


def _disc(down, across):
    return np.hypot(down, across)


def _square(down, across):
    return np.maximum(np.abs(down), np.abs(across))


def _diamond(down, across):
    return np.abs(down) + np.abs(across)


def _write(bunch, folder, suffix):
    """Write every clip; their files in the order of the clips."""
    from tensorcrp.video import write_clip

    files, numbers = [], {}
    for clip, label in zip(bunch.data, bunch.target, strict=True):
        name = bunch.target_names[label]
        number = numbers[name] = numbers.get(name, -1) + 1
        (folder / name).mkdir(parents=True, exist_ok=True)
        path = folder / name / f"clip_{number:03d}{suffix}"
        files.append(str(write_clip(path, clip)))
    return files
