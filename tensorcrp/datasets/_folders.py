"""Folders with one subfolder per class: images or video clips.

In: ``folder/class/file``. Out: images (n, height, width[, 3]) or clips
(n, frames, height, width[, 3]) and labels, as a Bunch.
"""

from pathlib import Path

import numpy as np

from tensorcrp.base.parameters import check_choice, check_integer
from tensorcrp.datasets._bunch import as_bunch
from tensorcrp.datasets._images import read_image

_IMAGES = {".png", ".jpg", ".jpeg", ".bmp", ".pgm", ".ppm", ".pbm", ".tif", ".tiff"}


def read_folder(folder, **options):
    """Images if most files are images, else clips."""
    from tensorcrp.video import labelled_files, read_clips

    files, codes, names = labelled_files(folder)
    pictures = sum(Path(path).suffix.lower() in _IMAGES for path in files)
    if 2 * pictures >= len(files):
        return _read_images(files, codes, names, folder, **options)
    clips = read_clips(folder, **options)
    return as_bunch(
        clips.data,
        clips.target,
        f"{len(clips.data)} clips of shape {clips.data.shape[1:]} read from {folder}.",
        mode_names=clips.mode_names,
        target_names=clips.target_names,
        files=clips.files,
        starts=clips.starts,
        skipped=clips.skipped,
    )


def _read_images(
    files, codes, names, folder, *, size=None, color="gray", on_error="raise"
):
    """Images in their own depth; resized by area to `size`, else all of one size."""
    check_choice("color", color, ("gray", "rgb"))
    check_choice("on_error", on_error, ("raise", "skip"))
    _check_image_size(size)
    X, kept, skipped = [], [], []
    for i, path in enumerate(files):
        try:
            pixels = read_image(path, size, color)
            _check_alike(path, pixels, X[0] if X else pixels)
            X.append(pixels)
            kept.append(i)
        except ValueError as error:
            if on_error == "raise":
                raise
            skipped.append((path, str(error)))
    if len(np.unique(codes[kept])) < 2:
        raise ValueError(f"too few images of {folder} can be read: {skipped[0][1]}")
    return as_bunch(
        np.stack(X),
        codes[kept],
        f"{len(X)} images of shape {X[0].shape} read from {folder}.",
        mode_names=("row", "column", "color")[: X[0].ndim],
        target_names=names,
        files=[files[i] for i in kept],
        skipped=skipped,
    )


def _check_image_size(size):
    if size is None:
        return
    try:
        height, width = size
    except (TypeError, ValueError):
        raise ValueError(
            f"size must be (height, width), e.g. (32, 32), or None, got {size!r}."
        ) from None
    check_integer("size[0]", height)
    check_integer("size[1]", width)


def _check_alike(path, pixels, first):
    """All images of a folder have one shape and one depth."""
    if pixels.shape != first.shape:
        raise ValueError(
            f"{path} has shape {pixels.shape} where earlier images have {first.shape}: "
            "pass size=(height, width) to bring all to one size."
        )
    if pixels.dtype != first.dtype:
        raise ValueError(
            f"{path} has pixels of {pixels.dtype} where earlier images have "
            f"{first.dtype}: convert all images to one depth, or move it elsewhere."
        )
