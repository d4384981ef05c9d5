"""Folders with one subfolder per class, holding images or video clips.

In: ``folder/class/file``. Out: images (n, height, width[, 3]) or clips
(n, frames, height, width[, 3]) and labels, as a Bunch.
"""

from pathlib import Path

import numpy as np

from tensorcrp.datasets._bunch import as_bunch, check_choice

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
    """Images as uint8; resized by area to `size`, else all must have one size."""
    check_choice("color", color, ("gray", "rgb"))
    check_choice("on_error", on_error, ("raise", "skip"))
    X, kept, skipped = [], [], []
    for i, path in enumerate(files):
        try:
            X.append(_picture(path, size, color, X[0].shape if X else None))
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


def _picture(path, size, color, shape):
    """One image as uint8 (height, width[, 3])."""
    try:
        from PIL import Image, UnidentifiedImageError
    except ImportError as error:
        raise ImportError(
            f"reading {path} needs Pillow: pip install tensorcrp[files]"
        ) from error
    try:
        with Image.open(path) as image:
            pixels = np.asarray(image.convert("L" if color == "gray" else "RGB"))
    except (UnidentifiedImageError, OSError, SyntaxError, ValueError) as error:
        raise ValueError(
            f"{path} cannot be read as an image ({error}): copy it again, move it "
            'elsewhere, or pass on_error="skip".'
        ) from error
    if size is not None:
        from tensorcrp.video._decode import resize_area

        pixels = np.rint(resize_area(pixels, size)).astype(np.uint8)
    if shape is not None and pixels.shape != shape:
        raise ValueError(
            f"{path} has shape {pixels.shape} where earlier images have {shape}: pass "
            "size=(height, width) to bring all to one size."
        )
    return pixels
