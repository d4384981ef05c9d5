"""Damaged and forged data files of every kind that is read: mutants and traps.

`cases` writes them. A *mutant* is a sound file with changed bytes; checksums are mended
half of the time, so that what lies behind them is reached. A *trap* is crafted: it
points to files in another folder, promises terabytes, holds itself, is a pipe, or
would run something. Each case is a folder ``00012-png`` with what is to be read in it.
"""

import io
import json
import os
import pickle
import random
import struct
import tempfile
import zipfile
import zlib
from fractions import Fraction
from functools import cache
from pathlib import Path

import av
import h5py
import numpy as np
import zarr
from json_places import json_places
from PIL import Image
from scipy.io import savemat

RNG = np.random.default_rng(0)
X, Y = RNG.standard_normal((12, 4, 3)), np.arange(12) % 3
NAMES = np.array(["anna", "bert", "carl"] * 4)
PIXELS = RNG.integers(0, 256, (12, 10, 3), dtype=np.uint8)
IMAGES, VIDEOS = ("png", "tiff", "pgm"), ("mp4", "mkv", "avi", "webm")
FORMATS = ("npz", "npy", "mat4", "mat5", "mat73", "h5", "zarr", *IMAGES, *VIDEOS)
SUFFIX = {"mat4": "mat", "mat5": "mat", "mat73": "mat"}
HUGE = (0, 1, 2**15, 2**16, 2**24, 2**31 - 1, 2**31, 2**32 - 1)
HEAD_73 = b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM"


def target(case, form):
    """What a reader is given: a file, or a folder of classes."""
    if form in IMAGES + VIDEOS:
        return case
    return case / f"a.{SUFFIX.get(form, form)}"


# --- sound files ------------------------------------------------------------------


def _saved(write, *args, **options):
    file = io.BytesIO()
    write(file, *args, **options)
    return file.getvalue()


def hdf5_bytes(fill, head=b"", **options):
    """An HDF5 file that `fill` fills, behind `head` as MATLAB has it."""
    file = io.BytesIO()
    with h5py.File(file, "w", userblock_size=512 * bool(head), **options) as h5:
        fill(h5)
    return head + file.getvalue()[len(head) :]


def _arrays(chunked):
    def fill(file):
        how = {"chunks": (4, 4, 3), "compression": "gzip"} if chunked else {}
        file.create_dataset("X", data=X, **how)
        file["y"], file["who"], file["inner/z"] = Y, NAMES.tolist(), Y
        file["link"] = h5py.SoftLink("/y")

    return fill


def _columns(file):
    for name, array in {"X": X, "y": Y[:, None]}.items():
        item = file.create_dataset(name, data=array.T)
        item.attrs["MATLAB_class"] = np.bytes_("double")


def _image(pixels, form, **options):
    return _saved(Image.fromarray(pixels).save, form, **options)


def _video(form, codec):
    file = io.BytesIO()
    with av.open(file, "w", format={"mkv": "matroska"}.get(form, form)) as out:
        stream = out.add_stream(codec, rate=Fraction(10))
        stream.width, stream.height, stream.pix_fmt = 32, 32, "yuv420p"
        stream.pix_fmt = "yuvj420p" if codec == "mjpeg" else "yuv420p"
        for i in range(18):
            picture = np.full((32, 32, 3), 12 * i, np.uint8)
            picture[:, : i + 1] = 255 - 8 * i
            out.mux(stream.encode(av.VideoFrame.from_ndarray(picture)))
        out.mux(stream.encode())
    return file.getvalue()


@cache
def seeds(form):
    """Contents of sound files of a format."""
    deep = PIXELS[..., 0].astype(np.uint16) * 257
    flat = {"X": X.reshape(12, 12), "y": Y, "who": NAMES}
    make = {
        "npz": lambda: [
            _saved(np.savez, X=X, y=Y, who=NAMES),
            _saved(np.savez_compressed, X=X, y=Y),
        ],
        "npy": lambda: [_saved(np.save, X), _saved(np.save, NAMES)],
        "mat4": lambda: [_saved(savemat, flat, format="4")],
        "mat5": lambda: [
            _saved(savemat, {**flat, "X": X, "s": {"a": 1}}, do_compression=packed)
            for packed in (False, True)
        ],
        "mat73": lambda: [hdf5_bytes(_columns, HEAD_73)],
        "h5": lambda: [
            hdf5_bytes(_arrays(chunked), libver=version)
            for chunked in (False, True)
            for version in ("earliest", "latest")
        ],
        "png": lambda: [_image(PIXELS, "PNG"), _image(deep, "PNG")],
        "tiff": lambda: [
            _image(PIXELS, "TIFF"),
            _image(deep, "TIFF"),
            _image((deep / 9).astype(np.float32), "TIFF"),
            *(
                _image(PIXELS, "TIFF", compression=each)
                for each in ("tiff_lzw", "tiff_adobe_deflate", "jpeg", "packbits")
            ),
        ],
        "pgm": lambda: [
            b"P5 10 12 255\n" + PIXELS[..., 0].tobytes(),
            b"P5 10 12 1023\n" + (deep // 64).astype(">u2").tobytes(),
            b"P2 10 12 65535\n" + " ".join(map(str, deep.ravel())).encode(),
        ],
        "mp4": lambda: [_video("mp4", "mpeg4"), _video("mp4", "libx264")],
        "mkv": lambda: [_video("mkv", "ffv1"), _video("mkv", "libx264")],
        "avi": lambda: [_video("avi", "mjpeg"), _video("avi", "mpeg4")],
        "webm": lambda: [_video("webm", "libvpx")],
    }
    return make[form]()


# --- mutants ----------------------------------------------------------------------


def mutated(content, rng):
    """A few bytes changed, or the file cut, grown, repeated."""
    content = bytearray(content)
    for _ in range(rng.choice([1, 1, 2, 4, 16])):
        where = rng.randrange(max(1, len(content)))
        if rng.random() < 0.5:  # headers, not data
            where = rng.randrange(max(1, min(512, len(content))))
        kind = rng.randrange(10)
        if kind < 5 and content:
            content[where] = rng.choice([0, 1, 127, 128, 255, rng.randrange(256)])
        elif kind < 8:
            order = rng.choice("<>")
            number = struct.pack(order + "I", rng.choice([*HUGE, rng.getrandbits(32)]))
            content[where : where + 4] = number
        elif kind == 8:
            end = where + rng.randrange(1, 64)
            content[where:end] = rng.choice([b"", 2 * content[where:end]])
        elif where:
            content = content[:where]
    return bytes(content)


def _repacked_mat5(content, rng):
    """Mutate what is inside the compressed variables."""
    out, position = content[:128], 128
    while position < len(content):
        kind, n = struct.unpack_from("<2I", content, position)
        body = content[position + 8 : position + 8 + n]
        if kind == 15:
            body = zlib.compress(mutated(zlib.decompress(body), rng))
        out += struct.pack("<2I", kind, len(body)) + body
        position += 8 + n
    return out


def _repacked_png(content, rng):
    """Mutate the chunks and write their checksums anew."""
    out, position = content[:8], 8
    while position < len(content):
        (n,) = struct.unpack_from(">I", content, position)
        kind = content[position + 4 : position + 8]
        body = content[position + 8 : position + 8 + n]
        if body and rng.random() < 0.5:
            inner = zlib.decompress(body) if kind == b"IDAT" else body
            body = mutated(inner, rng)
            body = zlib.compress(body) if kind == b"IDAT" else body
        out += png_chunk(kind, body)
        position += 12 + n
    return out


def _repacked_npz(content, rng):
    """Mutate the members, not the archive."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(out, "w") as new:
        for name in old.namelist():
            new.writestr(name, mutated(old.read(name), rng))
    return out.getvalue()


def png_chunk(kind, body):
    return struct.pack(">I", len(body)) + kind + body + _crc(kind + body)


def _crc(content):
    return struct.pack(">I", zlib.crc32(content))


REPACKED = {"mat5": _repacked_mat5, "png": _repacked_png, "npz": _repacked_npz}


def _write_mutant(case, form, rng):
    if form == "zarr":
        _mutant_zarr(target(case, form), rng)
        return
    content = rng.choice(seeds(form))
    repack = REPACKED.get(form)
    content = (repack if repack and rng.random() < 0.5 else mutated)(content, rng)
    if form in IMAGES + VIDEOS:
        classes(case, form)
        (case / "a" / f"0.{form}").write_bytes(content)
    else:
        target(case, form).write_bytes(content)


def classes(case, form):
    """Two classes with one sound file each."""
    for name in "ab":
        (case / name).mkdir(parents=True)
        (case / name / f"0.{form}").write_bytes(seeds(form)[0])


def write_zarr(path, version=2):
    """A sound Zarr folder."""
    group = zarr.open_group(str(path), mode="w", zarr_format=version)
    for name, array in {"X": X, "y": Y}.items():
        item = group.create_array(
            name, shape=array.shape, chunks=(4, *array.shape[1:]), dtype=array.dtype
        )
        item[...] = array


def _mutant_zarr(path, rng):
    contents = dict(_sound_zarr(rng.choice([2, 3])))
    for name in rng.sample(sorted(contents), rng.choice([1, 1, 3])):
        is_text = contents[name].startswith(b"{")
        spoil = is_text and rng.random() < 0.7
        tree = json.loads(contents[name]) if spoil else None
        contents[name] = _spoiled(tree, rng) if spoil else mutated(contents[name], rng)
    for name, content in contents.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_bytes(content)


@cache
def _sound_zarr(version):
    """Contents of the files of a sound Zarr folder."""
    with tempfile.TemporaryDirectory() as folder:
        write_zarr(folder, version)
        files = [each for each in Path(folder).rglob("*") if each.is_file()]
        return {str(f.relative_to(folder)): f.read_bytes() for f in sorted(files)}


def _spoiled(tree, rng):
    """JSON with one value changed."""
    places = json_places(tree)
    if not places:
        return b"[]"
    node, key = rng.choice(places)
    odd = [None, -1, 0, 1.5, 10**9, 10**30, "", "pickle", "../../x", [], {}, "|O"]
    node[key] = rng.choice([*odd, [node[key]], "<f4", "<U100000", [10**6] * 3])
    return json.dumps(tree).encode()


# --- a folder of cases ------------------------------------------------------------


def cases(folder, forms, count, seed, outside, traps=True):
    """Write `count` cases, first every trap, then mutants in turn over the formats."""
    from hostile_traps import TRAPS

    rng = random.Random(seed)
    todo = [(form, trap) for form in forms for trap in TRAPS[form] if traps]
    weighted = [form for form in forms for _ in range(WEIGHTS.get(form, 4))]
    while len(todo) < count:
        todo.append((weighted[len(todo) % len(weighted)], None))
    for i, (form, trap) in enumerate(todo[:count]):
        case = folder / f"{i:06d}-{form}"
        case.mkdir()
        if trap is None:
            _write_mutant(case, form, rng)
        else:
            trap(case, form, outside)
    return todo[:count]


# HDF5 files are read by a process of their own, which costs most of the time.
WEIGHTS = {"h5": 3, "mat73": 2, "webm": 2, "avi": 2, "mp4": 2, "mkv": 2}


def plant(outside):
    """Files that no case may reach."""
    outside.mkdir()
    secret = np.frombuffer(b"SECRET" * 8, np.uint8).reshape(6, 8)
    np.save(outside / "secret.npy", secret)
    (outside / "secret.raw").write_bytes(secret.tobytes())
    (outside / "secret.h5").write_bytes(
        hdf5_bytes(lambda file: file.create_dataset("s", data=secret))
    )
    (outside / "secret.png").write_bytes(seeds("png")[0])
    (outside / "secret.mp4").write_bytes(seeds("mp4")[0])
    with av.open(str(outside / "secret.ts"), "w", format="mpegts") as out:
        stream = out.add_stream("mpeg2video", rate=25)
        stream.width, stream.height, stream.pix_fmt = 32, 32, "yuv420p"
        for _ in range(30):
            out.mux(stream.encode(av.VideoFrame(32, 32, "yuv420p")))
        out.mux(stream.encode())


def pickled():
    """A pickle; the audit hook sees it if it is loaded."""
    return pickle.dumps(_Bomb())


class _Bomb:
    def __reduce__(self):
        return (os.getcwd, ())
