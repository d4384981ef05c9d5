"""Crafted files of every kind that is read; `hostile_files` writes cases of them.

Each trap takes the folder of the case, the format, and the folder with the files that
it tries to reach.
"""

import json
import os
import shutil
import struct
import zipfile
import zlib

import h5py
from hostile_files import (
    FORMATS,
    HEAD_73,
    IMAGES,
    VIDEOS,
    X,
    classes,
    hdf5_bytes,
    pickled,
    png_chunk,
    seeds,
    target,
    write_zarr,
)


def _content(make):
    """A trap that is one file with the content that `make` returns."""

    def trap(case, form, outside):
        path = target(case, form)
        if form in IMAGES + VIDEOS:
            classes(case, form)
            path = case / "a" / f"0.{form}"
        path.write_bytes(make(outside))

    trap.__name__ = make.__name__
    return trap


# --- every format -----------------------------------------------------------------


def pipe(case, form, outside):
    path = target(case, form)
    if form in IMAGES + VIDEOS:
        classes(case, form)
        path = case / "a" / f"1.{form}"
    elif form == "zarr":
        write_zarr(path)
        path = next(each for each in path.glob("X/0*"))
        path.unlink()
    os.mkfifo(path)


def link_to_outside(case, form, outside):
    """For folders: a file as the path itself may be a link of the user."""
    if form == "zarr":
        write_zarr(target(case, form))
        path = next(target(case, form).glob("X/0*"))
        path.unlink()
        path.symlink_to(outside / "secret.raw")
    else:
        classes(case, form)
        secret = "secret.png" if form in IMAGES else "secret.mp4"
        (case / "a" / f"1.{form}").symlink_to(outside / secret)


def folder_outside(case, form, outside):
    classes(case, form)
    (case / "c").symlink_to(outside)


@_content
def is_pickle(outside):
    return pickled()


@_content
def empty(outside):
    return b""


@_content
def zeros(outside):
    return bytes(5000)


# --- NumPy ------------------------------------------------------------------------


def _npy(shape, descr="<f8", data=b""):
    text = f"{{'descr': {descr!r}, 'fortran_order': False, 'shape': {shape}, }}\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode() + data


HEADERS = [
    _npy((10**9, 10**6)),
    _npy((2**62, 4)),
    _npy((-1, 4)),
    _npy((10**6, 500)),
    _npy((3, 0, 10**18)),
    _npy((10**18, 3), "|S0"),
    _npy((2, 2), "|O", pickled()),
    _npy((2, 2), [("a", "<f8"), ("b", "|O")]),
    _npy("(" * 3000 + ")" * 3000),
    _npy((2,) * 60, "<f8", bytes(64)),
    _npy((4, 4), "<M8[s]", bytes(128)),
    _npy((4, 4), "<U1000000000"),
]
NPY = [_content(lambda outside, header=header: header) for header in HEADERS]


def _archive(fill, **options):
    def trap(case, form, outside):
        with zipfile.ZipFile(target(case, form), "w", **options) as file:
            fill(file)

    return trap


def _bomb(file):
    """Zeros, packed as far as the method can."""
    file.writestr("X.npy", _npy((2, 2**21), "<f8", bytes(2**25)))
    file.writestr("y.npy", _npy((2,), "|u1", b"ab"))


def _shared(file):
    """Many names for one member."""
    file.writestr("X.npy", _npy((2, 2**18), "<f8", bytes(2**22)))
    file.writestr("y.npy", _npy((2,), "|u1", b"ab"))
    for i in range(2000):
        entry = zipfile.ZipInfo(f"X{i}.npy")
        for name in ("header_offset", "CRC", "compress_size", "file_size"):
            setattr(entry, name, getattr(file.filelist[0], name))
        entry.compress_type = file.filelist[0].compress_type
        file.filelist.append(entry)


def _paths(file):
    for name in ("../../../etc/passwd.npy", "/etc/passwd.npy", "X.npy", "y.npy"):
        file.writestr(name, _npy((2, 3), "<f8", bytes(48)))


NPZ = [
    _archive(_bomb, compression=zipfile.ZIP_DEFLATED),
    _archive(_bomb, compression=zipfile.ZIP_LZMA),
    _archive(_shared, compression=zipfile.ZIP_DEFLATED),
    _archive(_paths),
    *(
        _archive(lambda file, header=header: file.writestr("X.npy", header))
        for header in HEADERS
    ),
]


# --- MATLAB 4 and 5 ---------------------------------------------------------------


def _tag(kind, body):
    return struct.pack("<2I", kind, len(body)) + body + bytes(-len(body) % 8)


def _mat5(*elements):
    return b"MATLAB 5.0 MAT-file".ljust(124) + b"\x00\x01IM" + b"".join(elements)


def _matrix(code=6, shape=(2, 3), name=b"X", data=None, kind=9):
    data = bytes(48) if data is None else data
    body = _tag(6, struct.pack("<2I", code, 0))
    body += _tag(5, struct.pack(f"<{len(shape)}i", *shape)) + _tag(1, name)
    return _tag(14, body + _tag(kind, data))


def _nested(depth):
    """Cells in cells, without recursion."""
    body = _matrix()
    for _ in range(depth):
        inner = _tag(6, struct.pack("<2I", 1, 0)) + _tag(5, struct.pack("<2i", 1, 1))
        body = _tag(14, inner + _tag(1, b"X") + body)
    return body


MAT5 = [
    _content(lambda outside, content=content: content)
    for content in (
        *(_mat5(_matrix(kind=kind)) for kind in (0, 8, 10, 14, 15, 19, 128, 2**31)),
        *(_mat5(_matrix(code=code)) for code in (0, 1, 2, 3, 4, 5, 16, 17, 18, 255)),
        _mat5(_matrix(shape=(2**31 - 1, 2**31 - 1))),
        _mat5(_matrix(shape=(-1, 3))),
        _mat5(_matrix(shape=(1,) * 33)),
        _mat5(_matrix(shape=())),
        _mat5(_matrix(name=b"X" * 100_000)),
        _mat5(_nested(3000)),
        _mat5(_tag(15, zlib.compress(_matrix())[:-4])),
        _mat5(_tag(15, b"")),
    )
]


@MAT5.append
@_content
def packed_zeros(outside):
    return _mat5(_tag(15, zlib.compress(_tag(14, bytes(2**24)))))


@MAT5.append
@_content
def packed_array(outside):
    matrix = _matrix(shape=(2**12, 2**10), data=bytes(2**25))
    return _mat5(_tag(15, zlib.compress(matrix)))


def _mat4(mopt=0, rows=2, columns=3, is_complex=0, n_name=2, data=bytes(48)):
    return struct.pack("<5i", mopt, rows, columns, is_complex, n_name) + b"X\0" + data


MAT4 = [
    _content(lambda outside, content=content: content)
    for content in (
        *(_mat4(mopt) for mopt in (1, 2, 3, 60, 99, 100, 1000, 4000, 4999, -1)),
        _mat4(rows=-3),  # would lead back to the start of the file
        _mat4(rows=-1, columns=-6),
        _mat4(rows=2**31 - 1, columns=2**31 - 1),
        _mat4(n_name=-2),
        _mat4(n_name=2**31 - 1),
        _mat4(is_complex=7),
        _mat4() * 2000,
    )
]


# --- HDF5 -------------------------------------------------------------------------


def _hdf5(fill):
    """A trap for ``.h5`` and for MATLAB 7.3."""

    def trap(case, form, outside):
        head = HEAD_73 if form == "mat73" else b""
        content = hdf5_bytes(lambda file: fill(file, outside), head)
        target(case, form).write_bytes(content)

    return trap


def _virtual(file, outside):
    layout = h5py.VirtualLayout((6, 8), "u1")
    layout[:] = h5py.VirtualSource(str(outside / "secret.h5"), "s", (6, 8))
    file.create_virtual_dataset("X", layout)


def _raw(file, outside):
    where = [(str(outside / "secret.raw"), 0, 48)]
    file.create_dataset("X", (6, 8), "u1", external=where)


def _linked(file, outside):
    file["X"] = h5py.ExternalLink(str(outside / "secret.h5"), "/s")


def _linked_twice(file, outside):
    file["away"] = h5py.ExternalLink(str(outside / "secret.h5"), "/")
    file["X"] = h5py.SoftLink("/away/s")


def _loops(file, outside):
    file["X"], file["y"] = h5py.SoftLink("/y"), h5py.SoftLink("/X")
    group = file.create_group("g")
    group["g"], group["h"] = group, file["/"]


def _references(file, outside):
    file["s"] = X
    file.create_dataset("X", data=[file["s"].ref] * 4, dtype=h5py.ref_dtype)


HDF5 = [
    _hdf5(fill)
    for fill in (
        _virtual,
        _raw,
        _linked,
        _linked_twice,
        _loops,
        _references,
        lambda file, outside: file.create_dataset("X", data=h5py.Empty("f8")),
        lambda file, outside: file.create_dataset("X", (10**9, 10**3), "f8"),
        lambda file, outside: file.create_dataset(
            "X", (7000, 7000), "u1", chunks=(1, 1)
        ),
        lambda file, outside: file.create_dataset(
            "X", data=[["a" * 10**5], ["b"]], dtype=h5py.string_dtype()
        ),
        lambda file, outside: file.create_dataset("X", (3, 2), [("a", "f8")]),
    )
]


# --- Zarr -------------------------------------------------------------------------


def _described(change):
    """A sound Zarr folder in which the description of X is changed."""

    def trap(case, form, outside):
        write_zarr(target(case, form))
        file = target(case, form) / "X" / ".zarray"
        file.write_text(json.dumps({**json.loads(file.read_text()), **change}))

    return trap


def _zarr_text(text):
    def trap(case, form, outside):
        target(case, form).mkdir()
        (target(case, form) / "zarr.json").write_text(text)

    return trap


def _zarr_consolidated(case, form, outside):
    write_zarr(target(case, form))
    entry = json.loads((target(case, form) / "X" / ".zarray").read_text())
    inner = {"metadata": {f"../../{outside.name}/.zarray": entry}}
    (target(case, form) / ".zmetadata").write_text(json.dumps(inner))


def _zarr_linked_folder(case, form, outside):
    write_zarr(target(case, form))
    shutil.rmtree(target(case, form) / "y")
    (target(case, form) / "y").symlink_to(outside)


ZARR = [
    *(
        _described(change)
        for change in (
            {"filters": [{"id": "pickle"}]},
            {"dtype": "|O"},
            {"shape": [10**9, 10**6, 3]},
            {"shape": [10**7, 4, 3], "chunks": [1, 1, 1]},
            {"chunks": [0, 4, 3]},
            {"chunks": [10**9, 10**9, 10**9]},
            {"dtype": "<U100000000"},
            {"dimension_separator": "../"},
            {"compressor": {"id": "zlib", "level": 1}},
        )
    ),
    _zarr_text("[" * 10**5),
    _zarr_text('{"node_type": "array", "zarr_format": 3}'),
    _zarr_consolidated,
    _zarr_linked_folder,
]


# --- images and clips -------------------------------------------------------------


def _png(width, height, depth=8, color=0, data=b""):
    head = struct.pack(">IIBBBBB", width, height, depth, color, 0, 0, 0)
    body = png_chunk(b"IHDR", head) + png_chunk(b"IDAT", zlib.compress(data))
    return b"\x89PNG\r\n\x1a\n" + body + png_chunk(b"IEND", b"")


POSTSCRIPT = b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n(/tmp/x) (w) file\n"
PICTURES = [
    _content(lambda outside, content=content: content)
    for content in (
        _png(40000, 40000),
        _png(2**31 - 1, 2**31 - 1),
        _png(0, 0),
        _png(10, 12, 16, 2, bytes(12 * 61)),
        POSTSCRIPT,
        b"P5 100000 100000 255\n",
        b"P5 -3 3 255\n" + bytes(9),
        b"P2 3 3 255\n" + b"9" * 10**6,
        b"P5 3 3 70000\n" + bytes(18),
        b"<svg xmlns='x'><image href='/etc/passwd'/></svg>",
        seeds("tiff")[0][:4] + struct.pack("<I", 8) + b"\xff\xff" + bytes(20),
    )
]


@PICTURES.append
@_content
def large_png(outside):
    return _png(2000, 2000, data=bytes(2000 * 2001))


def _play_list(outside):
    lines = "#EXTM3U\n#EXT-X-TARGETDURATION:9\n#EXTINF:1,\n{}\n#EXT-X-ENDLIST\n"
    return lines.format(outside / "secret.ts").encode()


def _concat(outside):
    return f"ffconcat version 1.0\nfile '{outside / 'secret.ts'}'\n".encode()


def _session(outside):
    return b"v=0\no=- 0 0 IN IP4 127.0.0.1\nm=video 9 RTP/AVP 96\nc=IN IP4 127.0.0.1\n"


def _dash(outside):
    return (
        "<?xml version='1.0'?><MPD xmlns='urn:mpeg:dash:schema:mpd:2011' type='static'"
        " mediaPresentationDuration='PT9S'><Period><AdaptationSet mimeType='video/mp4'>"
        f"<Representation id='1'><BaseURL>file://{outside}/secret.mp4</BaseURL>"
        "</Representation></AdaptationSet></Period></MPD>"
    ).encode()


def m3u8(case, form, outside):
    """A play list under its own name among clips."""
    classes(case, form)
    (case / "a" / "1.m3u8").write_bytes(_play_list(outside))


CLIPS = [*map(_content, (_play_list, _concat, _session, _dash)), m3u8]

_FILE = [pipe, is_pickle, empty, zeros]
_FOLDER = [*_FILE, link_to_outside, folder_outside]
TRAPS = {
    "npz": _FILE + NPZ,
    "npy": _FILE + NPY,
    "mat4": _FILE + MAT4,
    "mat5": _FILE + MAT5,
    "mat73": _FILE + HDF5,
    "h5": _FILE + HDF5,
    "zarr": [pipe, is_pickle, empty, link_to_outside, *ZARR],
    **dict.fromkeys(IMAGES, _FOLDER + PICTURES),
    **dict.fromkeys(VIDEOS, _FOLDER + CLIPS),
}
assert set(TRAPS) == set(FORMATS)
