"""What samples of a data set look like: classes, counts, and a few of each class.

In: names of classes, and samples (row, column[, 3]) or (time, row, column[, 3]). Out:
HTML. Reports of a fit and of a comparison share it.
"""

from __future__ import annotations

from html import escape

import numpy as np

from tensorcrp.report.html_page import film, rows_table

SHOWN_CLASSES = 12  # with examples
EACH = 2  # film strips of a class
THUMBNAILS = 8  # pictures of a class, side by side


def class_table(classes, counts, noun="files"):
    """How many samples each class has."""
    rows = [(name, int(n)) for name, n in zip(classes, counts, strict=True)]
    return rows_table(["class", noun], rows)


def class_examples(classes, members, sample, name):
    """A few samples of each of the first classes.

    Parameters
    ----------
    classes : sequence of str
    members : sequence of lists of int
        Numbers of the samples of each class.
    sample : callable
        Number -> ndarray of pixels, or None if it is not a picture.
    name : callable
        Number -> str, the file of a sample, or "".
    """
    pairs = list(zip(classes, members, strict=True))[:SHOWN_CLASSES]
    drawn = [_examples(label, list(ids), sample, name) for label, ids in pairs if ids]
    return "<h3>Examples</h3>" + "".join(drawn)


def _examples(label, ids, sample, name):
    first = sample(ids[0])
    if first is not None and _is_thumbnail(first):
        chosen = ids[:THUMBNAILS]
        return film(np.stack([sample(i) for i in chosen]), label, THUMBNAILS)
    return "".join(picture(sample(i), _caption(label, name(i))) for i in ids[:EACH])


def _caption(label, file):
    return f"{label}: {file}" if file else label


def _is_thumbnail(pixels):
    """Whether pixels are one picture, not frames, and not as long as a recording."""
    still = pixels.ndim == 2 or (pixels.ndim == 3 and pixels.shape[-1] == 3)
    return still and pixels.shape[1] <= 2 * pixels.shape[0]


def picture(pixels, caption):
    """A film strip of a sample, or its caption alone if there are no pixels."""
    if pixels is None:
        return f'<p class="soft">{escape(caption)}</p>'
    return film(pixels, caption)


def is_picture(shape):
    """Whether samples of a shape can be drawn as pictures or films."""
    colour = len(shape) > 2 and shape[-1] == 3
    return len(shape) - colour in (2, 3)
