"""One image file to an array of its own depth.

In: a path. Out: (height, width[, 3]) of uint8, or of uint16, int32, uint32, int8 or
float32 where a gray image is stored so. Pillow decodes; the formats are named here, as
it would also hand Encapsulated PostScript to a program outside. Images of more than
179 million pixels are rejected, see ``PIL.Image.MAX_IMAGE_PIXELS``.
"""

import numpy as np

_FORMATS = ("BMP", "GIF", "JPEG", "PNG", "PPM", "TIFF", "WEBP")
_BITS, _SAMPLE_FORMAT = 258, 339  # tags of TIFF
_ORIENTATION = 274  # of EXIF: whether to mirror it, then quarter turns to the left
_TURNS = {2: (1, 0), 3: (0, 2), 4: (1, 2), 5: (1, 1), 6: (0, 3), 7: (1, 3), 8: (0, 1)}


def read_image(path, size, color):
    """Read one image.

    Parameters
    ----------
    path : path
    size : (int, int) or None
        Height and width to resize to, by area.
    color : {"gray", "rgb"}

    Returns
    -------
    ndarray of shape (height, width) or (height, width, 3)

    Raises
    ------
    ValueError
        If the file is not an image, or a damaged one.
    """
    image_module = _import_pillow(path)
    try:
        with image_module.open(path, formats=_FORMATS) as image:
            pixels = _upright(image, _pixels(image, color))
    except Exception as error:  # damaged files make decoders fail in many ways
        raise ValueError(
            f"{path} cannot be read as an image ({type(error).__name__}: {error}): "
            'copy it again, or move it elsewhere, or pass on_error="skip".'
        ) from error
    return pixels if size is None else _resized(pixels, size)


def _import_pillow(path):
    try:
        from PIL import Image
    except ImportError as error:
        raise ImportError(
            f"reading {path} needs Pillow: pip install tensorcrp[files]"
        ) from error
    return Image


def _pixels(image, color):
    """All pixels; gray ones that are deeper than 8 bits as they are."""
    dtype = _gray_dtype(image)
    if dtype is None:
        if image.mode == "P" and "transparency" in image.info:
            image = image.convert("RGBA")  # of the others Pillow warns
        return np.asarray(image.convert("L" if color == "gray" else "RGB"))
    gray = np.asarray(image)
    # Pillow keeps unsigned TIFF of 32 bits in int32 and signed of 8 bits in uint8.
    same = gray.dtype.itemsize == np.dtype(dtype).itemsize and gray.dtype.kind in "iu"
    gray = gray.view(dtype) if same and gray.dtype.isnative else gray.astype(dtype)
    return gray if color == "gray" else np.repeat(gray[..., None], 3, axis=2)


def _upright(image, pixels):
    """Turn a picture the way a viewer shows it (telephones store it sideways)."""
    try:
        orientation = image.getexif().get(_ORIENTATION)
    except Exception:  # damaged notes on a picture that is whole
        return pixels
    mirrored, turns = _TURNS.get(orientation, (False, 0))
    return np.rot90(pixels[:, ::-1] if mirrored else pixels, turns)


def _gray_dtype(image):
    """Depth of a gray image in which one byte per pixel is not enough, else None."""
    tags = getattr(image, "tag_v2", {})
    bits, kind = (tags.get(tag, (None,)) for tag in (_BITS, _SAMPLE_FORMAT))
    bits, kind = bits[0], kind[0]  # kind: 1 or missing unsigned, 2 signed, 3 float
    if image.mode == "F":
        return np.float32
    if image.mode.startswith("I;16"):
        return np.uint16
    if image.mode == "I":
        if image.format in ("PNG", "PPM"):  # of 16 bits in these formats
            return np.uint16
        return np.uint32 if bits == 32 and kind in (None, 1) else np.int32
    return np.int8 if image.mode == "L" and bits == 8 and kind == 2 else None


def _resized(pixels, size):
    """Means over areas, rounded where pixels are whole numbers."""
    from tensorcrp.base.pixels import resize_area

    means = resize_area(pixels, size)
    whole = pixels.dtype.kind in "iu"
    return (np.rint(means) if whole else means).astype(pixels.dtype)
