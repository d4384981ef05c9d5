"""Folders of images: depth, size, what is skipped and what is rejected."""

import os
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from hostile_files import png_chunk
from PIL import Image, ImageOps

from tensorcrp.datasets import read_images, read_tensors
from tensorcrp.datasets._images import read_image

RAMP = np.arange(64).reshape(8, 8)


@pytest.fixture
def folder(tmp_path):
    """Two classes of two gray images each, one of them deeper inside."""
    for name in "ab":
        (tmp_path / name / "more").mkdir(parents=True)
        for file in ("0.png", "more/1.png"):
            Image.fromarray(RAMP.astype(np.uint8)).save(tmp_path / name / file)
    return tmp_path


def pillow(dtype):
    return lambda path, pixels: Image.fromarray(pixels.astype(dtype)).save(path)


def portable(largest):
    """Writer of PGM files of two bytes per pixel."""

    def write(path, pixels):
        head = f"P5 8 8 {largest}\n".encode()
        path.write_bytes(head + pixels.astype(">u2").tobytes())

    return write


def tiff(path, pixels):
    """As it is, for the types that Pillow does not write; little-endian."""
    bits, kind = 8 * pixels.itemsize, {"u": 1, "i": 2, "f": 3}[pixels.dtype.kind]
    height, width = pixels.shape
    tags = [(256, width), (257, height), (258, bits), (259, 1), (262, 1)]
    tags += [(273, 8), (277, 1), (278, height), (279, pixels.nbytes), (339, kind)]
    entries = b"".join(struct.pack("<HHII", tag, 4, 1, value) for tag, value in tags)
    table = struct.pack("<H", len(tags)) + entries + bytes(4)
    head = b"II*\0" + struct.pack("<I", 8 + pixels.nbytes)
    path.write_bytes(head + pixels.tobytes() + table)


DEEP = {
    "png16": ("0.png", RAMP * 1000, pillow("u2"), np.uint16),
    "tiff16": ("0.tif", RAMP * 1000, pillow("u2"), np.uint16),
    "pgm16": ("0.pgm", RAMP * 1000, portable(65535), np.uint16),
    "int32": ("0.tif", RAMP * 10**5 - 10**6, pillow("i4"), np.int32),
    "uint32": ("0.tif", (RAMP * 60_000_000).astype("<u4"), tiff, np.uint32),
    "int16": ("0.tif", (RAMP * 1000 - 30_000).astype("<i2"), tiff, np.int32),
    "int8": ("0.tif", (RAMP * 4 - 128).astype("i1"), tiff, np.int8),
    "float32": ("0.tif", RAMP / 64, pillow("f4"), np.float32),
}


def write_twice(folder, name, pixels, write):
    for each in "ab":
        (folder / each).mkdir()
        write(folder / each / name, pixels)


@pytest.mark.parametrize("name, pixels, write, dtype", DEEP.values(), ids=DEEP)
def test_deep_images_keep_their_depth(name, pixels, write, dtype, tmp_path):
    write_twice(tmp_path, name, pixels, write)
    found = read_tensors(tmp_path).data
    assert found.dtype == dtype
    np.testing.assert_array_equal(found, [pixels, pixels])
    small = read_tensors(tmp_path, size=(2, 8)).data[0]
    rounding = 0.5 if found.dtype.kind in "iu" else 1e-6
    means = pixels.reshape(2, 4, 8).mean(axis=1, dtype=float)
    np.testing.assert_allclose(small, means, atol=rounding, rtol=1e-9)
    colored = read_tensors(tmp_path, color="rgb").data
    np.testing.assert_array_equal(colored, np.repeat(found[..., None], 3, axis=3))


def test_a_depth_of_10_bits_fills_16(tmp_path):
    write_twice(tmp_path, "0.pgm", RAMP * 16, portable(1023))
    found = read_tensors(tmp_path).data[0]
    assert found.dtype == np.uint16
    np.testing.assert_allclose(found, RAMP * 16 * 65535 / 1023, atol=0.5)


def test_depths_are_not_mixed(folder):
    Image.fromarray((RAMP * 1000).astype(np.uint16)).save(folder / "b" / "2.png")
    with pytest.raises(ValueError, match=r"2.png has pixels of uint16.*one depth"):
        read_tensors(folder)
    assert len(read_tensors(folder, on_error="skip").skipped) == 1


@pytest.mark.parametrize("size", [(0, 8), (8, -1), (2.5, 8), (True, 8)])
def test_sizes_are_positive(size, folder):
    with pytest.raises(ValueError, match=r"size\[[01]\] must be an integer of at"):
        read_tensors(folder, size=size)


@pytest.mark.parametrize("size", [8, (8,), (8, 8, 3), "large"])
def test_a_size_is_height_and_width(size, folder):
    with pytest.raises(ValueError, match=r"size must be \(height, width\).*got"):
        read_tensors(folder, size=size)


def test_one_path_is_no_list_of_images(folder):
    with pytest.raises(TypeError, match="files is one path"):
        read_images(str(folder))


def bomb(path):
    """A small file of 1.6 billion pixels."""
    head = png_chunk(b"IHDR", struct.pack(">IIBBBBB", 40000, 40000, 8, 0, 0, 0, 0))
    data = png_chunk(b"IDAT", zlib.compress(b"")) + png_chunk(b"IEND", b"")
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + head + data)


def postscript(path):
    """Pillow would have it drawn by a program outside."""
    path.write_bytes(b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 8 8\n")


@pytest.mark.parametrize("write", [bomb, postscript])
def test_images_that_attack_are_errors_or_skipped(write, folder):
    write(folder / "a" / "9.png")
    with pytest.raises(ValueError, match=r"9.png cannot be read as an image"):
        read_tensors(folder)
    found = read_tensors(folder, on_error="skip")
    assert len(found.data) == 4
    assert [Path(file).name for file, _ in found.skipped] == ["9.png"]


@pytest.mark.parametrize("inner", ["a/more", "a"])
def test_unreadable_subfolders_are_errors(inner, folder, as_nobody):
    with as_nobody(folder / inner):
        with pytest.raises(PermissionError, match=rf"{inner} is denied.*chmod"):
            read_tensors(folder)


@pytest.fixture
def as_nobody(folder):
    """Take the rights to a folder away, root's right to read everything too."""
    from contextlib import contextmanager

    @contextmanager
    def locked(inner):
        above = [each for each in folder.parents if each.stat().st_uid == os.getuid()]
        modes = {each: each.stat().st_mode for each in (folder, *above, inner)}
        for each in modes:
            each.chmod(modes[each] | 0o055)
        inner.chmod(0)
        if os.getuid() == 0:
            os.seteuid(65534)
        try:
            yield
        finally:
            if os.getuid() == 0:
                os.seteuid(0)
            for each in reversed(modes):
                each.chmod(modes[each])

    return locked


def test_links_stay_inside_the_folder(folder, tmp_path_factory):
    (folder / "b" / "linked.png").symlink_to(folder / "a" / "0.png")
    assert len(read_tensors(folder).data) == 5
    outside = tmp_path_factory.mktemp("outside")
    Image.fromarray(RAMP.astype(np.uint8)).save(outside / "0.png")
    (folder / "b" / "away.png").symlink_to(outside / "0.png")
    with pytest.raises(ValueError, match=r"away.png is a link that leads out of"):
        read_tensors(folder)
    (folder / "b" / "away.png").unlink()
    (folder / "c").symlink_to(outside)
    with pytest.raises(ValueError, match=r"c is a link that leads out of"):
        read_tensors(folder)


def test_hidden_folders_are_passed_over(folder):
    (folder / "a" / ".ipynb_checkpoints").mkdir()
    (folder / "a" / ".ipynb_checkpoints" / "0.png").write_bytes(b"no image")
    assert len(read_tensors(folder).data) == 4


@pytest.mark.parametrize("orientation", range(10))
@pytest.mark.parametrize("suffix", ["jpg", "png", "webp", "tif"])
@pytest.mark.parametrize("color", ["gray", "rgb"])
def test_pictures_are_upright(orientation, suffix, color, tmp_path):
    """As a viewer shows them; telephones store them sideways and note how."""
    entries = np.random.default_rng(0).integers(0, 256, (16, 24, 3), np.uint8)
    notes = Image.Exif()
    notes[274] = orientation  # 0 and 9 have no meaning
    path = tmp_path / f"a.{suffix}"
    Image.fromarray(entries).save(path, exif=notes)
    with Image.open(path) as image:
        shown = ImageOps.exif_transpose(image)
        expected = np.asarray(shown.convert("L" if color == "gray" else "RGB"))
    np.testing.assert_array_equal(read_image(path, None, color), expected)


def test_damaged_notes_leave_the_picture(tmp_path):
    entries = np.arange(48, dtype=np.uint8).reshape(6, 8)
    Image.fromarray(entries).save(tmp_path / "a.png", exif=b"Exif\0\0MM\0*\0\0\xff")
    np.testing.assert_array_equal(read_image(tmp_path / "a.png", None, "gray"), entries)


@pytest.mark.parametrize("color", ["gray", "rgb"])
def test_transparent_palettes_are_read_without_a_warning(color, tmp_path):
    """As the same picture without transparency."""
    entries = np.random.default_rng(0).integers(0, 256, (6, 8), np.uint8)
    image = Image.fromarray(entries).convert("P")
    image.save(tmp_path / "plain.png")
    image.save(tmp_path / "a.png", transparency=bytes(range(256)))
    plain = read_image(tmp_path / "plain.png", None, color)
    np.testing.assert_array_equal(read_image(tmp_path / "a.png", None, color), plain)
