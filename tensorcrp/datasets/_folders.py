"""Folders with one subfolder per class: images or video clips.

In: ``folder/class/file``. Out: images (n, height, width[, 3]) or clips
(n, frames, height, width[, 3]) and labels, as a Bunch.
"""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Literal

import numpy as np
from sklearn.utils import Bunch

from tensorcrp.base.parameters import check_choice, check_picture_size
from tensorcrp.base.types import AnyPath, Fields
from tensorcrp.base.validation import nothing_read
from tensorcrp.datasets._bunch import as_bunch
from tensorcrp.datasets._images import read_image

_NO_PIXELS = (".npz", ".npy", ".mat", ".h5", ".hdf5", ".fif", ".fif.gz")
IMAGES = {".png", ".jpg", ".jpeg", ".bmp", ".pgm", ".ppm", ".pbm", ".tif", ".tiff"}


def read_folder(folder, **options):
    """Images if most files are images, else clips."""
    from tensorcrp.video import labelled_files, read_clips

    files, codes, names = labelled_files(folder)
    _check_pixels(folder, files)
    if are_images(files):
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


def _check_pixels(folder, files):
    """Reject folders of arrays and recordings, which hold many samples each."""
    found = [path for path in files if path.lower().endswith(_NO_PIXELS)]
    if 2 * len(found) > len(files):
        raise ValueError(
            f"{folder} is a folder of files such as {found[0]}, not of images or "
            "clips: give one such file, or read them by tensorcrp fit, "
            "tensorcrp.files.FileClassifier."
        )


def are_images(files: Sequence[AnyPath]) -> bool:
    """Whether most of the files are images, by their names.

    Parameters
    ----------
    files : list of paths
        Nothing is opened.

    Returns
    -------
    bool
        True if at least half of the names end as those of images do.

    Examples
    --------
    >>> from tensorcrp.datasets import are_images
    >>> are_images(["a.png", "b.JPG", "notes.txt"])
    True
    """
    pictures = sum(Path(path).suffix.lower() in IMAGES for path in files)
    return 2 * pictures >= len(files)


def _read_images(files, codes, names, folder, **options):
    """Labelled images; an error if fewer than two classes can be read."""
    images = read_images(files, **options)
    kept = _positions(files, images.files)
    if len(np.unique(codes[kept])) < 2:
        reason = f": {images.skipped[0][1]}" if images.skipped else "."
        raise ValueError(f"too few images of {folder} can be read{reason}")
    return as_bunch(
        images.data,
        codes[kept],
        f"{len(kept)} images of shape {images.data.shape[1:]} read from {folder}.",
        mode_names=images.mode_names,
        target_names=names,
        files=images.files,
        skipped=images.skipped,
    )


def _positions(files, kept):
    """Where the files that were kept are among all of them."""
    places = {path: i for i, path in enumerate(files)}
    return np.array([places[path] for path in kept], int)


def read_images(
    files: Sequence[AnyPath],
    *,
    size: tuple[int, int] | None = None,
    color: Literal["gray", "rgb"] = "gray",
    on_error: Literal["raise", "skip"] = "raise",
) -> Fields:
    """Read image files in their own depth (extra ``files``).

    Parameters
    ----------
    files : list of paths
        One image each.
    size : (int, int), default=None
        Height and width to which images are resized by area; None if all have one size.
    color : {"gray", "rgb"}, default="gray"
        One value per pixel, or three as a last mode.
    on_error : {"raise", "skip"}, default="raise"
        What to do with a file that cannot be read; "skip" lists it in ``skipped``.

    Returns
    -------
    Bunch
        ``data`` (n, height, width) or (n, height, width, 3), ``files`` of the images,
        ``mode_names``, and ``skipped``, pairs of file and reason.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from PIL import Image
    >>> from tensorcrp.datasets import read_images
    >>> with TemporaryDirectory() as folder:
    ...     Image.new("L", (8, 6)).save(f"{folder}/a.png")
    ...     read_images([f"{folder}/a.png"], size=(3, 4)).data.shape
    (1, 3, 4)
    """
    check_choice("color", color, ("gray", "rgb"))
    check_choice("on_error", on_error, ("raise", "skip"))
    if size is not None:
        check_picture_size(size)
    if isinstance(files, (str, PathLike)):  # a text is a list of letters
        raise TypeError(
            f"files is one path, {files!r}: give a list of images, or read a folder of "
            "them by read_tensors."
        )
    X, kept, skipped = [], [], []
    for path in map(str, files):
        try:
            pixels = read_image(path, size, color)
            _check_alike(path, pixels, X[0] if X else pixels)
            X.append(pixels)
            kept.append(path)
        except ValueError as error:
            if on_error == "raise":
                raise
            skipped.append((path, str(error)))
    if not X:
        raise nothing_read(skipped, "image")
    return Bunch(
        data=np.stack(X),
        files=kept,
        mode_names=("row", "column", "color")[: X[0].ndim],
        skipped=skipped,
    )


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
