"""What CRP does, in one figure for matrices, one for video and one for signals.

    python docs/pictures/overview.py docs

writes the README's figures; the site draws its own copies when it is built. Each shows
a sample, what was learnt, and two features of samples that were not used for training:
side by side, or one below the other for phones.
"""

import sys
from functools import partial
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from tensorcrp import TensorCRP
from tensorcrp.datasets import load_digits, make_moving_shapes, make_multichannel
from tensorcrp.plotting import EmbeddingDisplay, ProjectionDisplay

GRAY = {"cmap": "gray", "vmin": 0, "vmax": 1}


def _parts(widths, narrow):
    """A figure in three parts, and the axes of the last."""
    figure = plt.figure(figsize=(4.4, 9) if narrow else (11, 3.2), layout="constrained")
    if narrow:
        left, middle, right = figure.subfigures(3, 1)
    else:
        left, middle, right = figure.subfigures(1, 3, width_ratios=widths)
    return figure, left, middle, right.subplots(), right


def _seen(crp, X, y, ax, part, names, title):
    """Other samples by their first two features."""
    EmbeddingDisplay.from_estimator(crp, X, np.array(names)[y], ax=ax)
    part.suptitle(title)


def matrices(narrow=False):
    """Digits: a matrix, tables of weights of rank two, features."""
    X, y = load_digits(return_X_y=True)
    few = y < 6
    X, y = X[few], y[few]
    crp = TensorCRP(18, rank=2).fit(X[:500], y[:500])
    figure, left, middle, ax, right = _parts((1.0, 2.9, 2.1), narrow)
    sample = left.subplots()
    sample.imshow(X[500] / 16, **GRAY)
    sample.set(xticks=[], yticks=[])
    left.suptitle("a sample, 8 x 8")
    axes = middle.subplots(1, 3)
    ProjectionDisplay.from_estimator(crp, components=range(3), ax=axes)
    for p, each in enumerate(axes):
        each.set_title(f"$W_{p + 1}$")
    middle.suptitle("weights $W = u_1 v_1^T + u_2 v_2^T$, from 500 digits")
    names = list(map(str, range(6)))
    _seen(crp, X[500:], y[500:], ax, right, names, "features of other digits")
    return figure


def video(narrow=False):
    """Clips: frames, weights at the same times, features."""
    clips = make_moving_shapes(40, 2, random_state=0)
    X, y, new = clips.data, clips.target, np.arange(80) % 2 == 1
    crp = TensorCRP(2, rank=2, reg=10.0).fit(X[~new], y[~new])
    figure, left, middle, ax, right = _parts((2.0, 2.0, 2.1), narrow)
    times = np.arange(1, 14, 2)[:6]
    weights = crp.components_[0]
    most = np.abs(weights[times]).max()
    how = {"cmap": "RdBu_r", "vmin": -most, "vmax": most}
    for part, frames, look in ((left, X[0], GRAY), (middle, weights, how)):
        for t, each in zip(times, part.subplots(2, 3).flat, strict=True):
            each.imshow(frames[t], **look)
            each.set(title=f"t = {t}", xticks=[], yticks=[])
    left.suptitle("a clip: a light crosses a scene")
    middle.suptitle("weights $\\sum_r u_r \\circ v_r \\circ w_r$, from 40 clips")
    names = [f"to the {name}" for name in clips.target_names]
    _seen(crp, X[new], y[new], ax, right, names, "features of other clips")
    return figure


def signals(narrow=False):
    """Recordings: channels over time, where and when classes differ, features."""
    made = make_multichannel(240, 32, snr_db=-12, random_state=0)
    X, y = made.data, made.target
    crp = TensorCRP(2, rank=1, smooth=(0.0, 10.0)).fit(X[:120], y[:120])
    figure, left, middle, ax, right = _parts((1.5, 2.6, 2.1), narrow)
    sample = left.subplots()
    sample.imshow(
        X[0], aspect="auto", cmap="gray", extent=(*made.times[[0, -1]], 32, 0)
    )
    sample.set(xlabel="time (s)", ylabel="channel")
    left.suptitle("a recording, 32 x 128")
    ProjectionDisplay.from_estimator(
        crp,
        components=0,
        kind="patterns",
        X=X[:120],
        ax=middle.subplots(1, 2),
        mode_names=["channel", "time (s)"],
        mode_values=[None, made.times],
        positions=made.positions,
    )
    middle.suptitle("where and when classes differ, from 120 recordings")
    names = ["burst 1", "burst 2", "burst 3"]
    _seen(crp, X[120:], y[120:], ax, right, names, "features of other recordings")
    return figure


matrices_narrow = partial(matrices, narrow=True)
video_narrow = partial(video, narrow=True)
signals_narrow = partial(signals, narrow=True)


if __name__ == "__main__" and len(sys.argv) > 1:
    for draw in (matrices, video, signals):
        draw().savefig(Path(sys.argv[1]) / f"overview_{draw.__name__}.png", dpi=100)
