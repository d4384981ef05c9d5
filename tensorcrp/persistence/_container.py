"""Arrays and texts in one file: the safetensors layout with a checksum.

In: named arrays of numbers and a dict of texts. Out: the bytes of a file,

    8 bytes     length of the header, little-endian
    header      ASCII JSON: ``__metadata__`` (the texts, the first of them the SHA-256
                of the whole file with zeros in its own place) and, per array, dtype,
                shape and where its bytes begin and end in the data
    data        the arrays one after the other, little-endian, without gaps

and back. Every declared size is compared with the size of the file before memory is
asked for; names are keys of a dict and nothing else.
"""

import hashlib
from math import prod

import numpy as np

from tensorcrp.persistence._json import (
    LONGEST_TEXT,
    ModelFormatError,
    read_json,
    write_json,
)

DTYPES = {
    "BOOL": "|b1",
    "U8": "|u1",
    "I8": "|i1",
    "U16": "<u2",
    "I16": "<i2",
    "F16": "<f2",
    "U32": "<u4",
    "I32": "<i4",
    "F32": "<f4",
    "U64": "<u8",
    "I64": "<i8",
    "F64": "<f8",
}
DTYPE_NAMES = {np.dtype(code): name for name, code in DTYPES.items()}
MODES = 32  # as many as every supported NumPy has
FIRST = b'{"__metadata__":{"tensorcrp_sha256":"'
ZEROS = b"0" * 64
HASHED_BLOCK = 2**20


def pack(texts, arrays):
    """Pieces of bytes that make up the file.

    Parameters
    ----------
    texts : dict of str
    arrays : dict of ndarray
        Of a dtype in `DTYPE_NAMES`, in any byte order.
    """
    arrays = {name: _little(array) for name, array in arrays.items()}
    metadata = {"tensorcrp_sha256": ZEROS.decode(), **texts}
    header, end = {"__metadata__": metadata}, 0
    for name, array in arrays.items():
        begin, end = end, end + array.nbytes
        header[name] = {
            "dtype": DTYPE_NAMES[array.dtype],
            "shape": list(array.shape),
            "data_offsets": [begin, end],
        }
    text = write_json(header).encode()
    text += b" " * (-len(text) % 8)  # so that the data are aligned
    pieces = [len(text).to_bytes(8, "little"), text, *map(_bytes, arrays.values())]
    digest = hashlib.sha256()
    for piece in pieces:
        digest.update(piece)
    pieces[1] = _with_checksum(text, digest.hexdigest().encode())
    return pieces


def unpack(file, size):
    """Texts and arrays of an open file of `size` bytes, checksum verified."""
    length = int.from_bytes(_read(file, bytearray(8)), "little")
    if length > min(LONGEST_TEXT, size - 8):
        raise ModelFormatError(
            f"not a model of tensorcrp, or only the beginning of one: the header "
            f"claims {length} bytes, the file has {size} and a header at most "
            f"{LONGEST_TEXT}. Copy it again, or name the file that was saved."
        )
    text = bytes(_read(file, bytearray(length)))
    if not text.startswith(FIRST):
        raise ModelFormatError("not a model of tensorcrp: the first bytes are wrong.")
    checksum, text = text[len(FIRST) :][:64], _with_checksum(text, ZEROS)
    header = read_json(text)
    texts, layout = _layout(header, size - 8 - length)
    digest = hashlib.sha256(length.to_bytes(8, "little") + text)
    arrays = {}
    for name, (dtype, shape) in layout.items():
        arrays[name] = np.empty(shape, dtype)
        _read(file, _bytes(arrays[name]), digest)
    if digest.hexdigest().encode() != checksum:
        raise ModelFormatError("the checksum is wrong: the file is damaged.")
    texts["tensorcrp_sha256"] = checksum.decode()
    return texts, {name: _native(array) for name, array in arrays.items()}


def _layout(header, n_bytes):
    """Texts, and dtype and shape of every array, if they fill the data exactly."""
    texts = header.pop("__metadata__", None) if isinstance(header, dict) else None
    if not isinstance(texts, dict) or not all(
        isinstance(t, str) for t in texts.values()
    ):
        raise ModelFormatError("the header has no strings.")
    layout, end = {}, 0
    for name, entry in header.items():
        dtype, shape, offsets = _entry(name, entry)
        begin, end = end, end + prod(shape) * dtype.itemsize
        # With a mode of size 0 the others count for nothing, but not for NumPy.
        largest = prod(max(1, size) for size in shape) * dtype.itemsize
        if offsets != [begin, end] or largest > 2**40:
            raise ModelFormatError(
                f"array {name[:80]!r} of shape {shape} has data_offsets {offsets}, "
                f"which do not fit the arrays before it."[:300]
            )
        layout[name] = dtype, shape
    if end > n_bytes:
        raise ModelFormatError(
            f"the file is cut off: {n_bytes} of {end} bytes of data are there. Copy it "
            "again."
        )
    if end != n_bytes:
        raise ModelFormatError(f"{n_bytes} bytes of data, but arrays of {end}.")
    return texts, layout


def _entry(name, entry):
    if not isinstance(entry, dict) or set(entry) != {"dtype", "shape", "data_offsets"}:
        raise ModelFormatError(f"array {name[:80]!r} lacks dtype, shape or offsets.")
    dtype, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
    if not isinstance(dtype, str) or dtype not in DTYPES:
        raise ModelFormatError(f"dtype {str(dtype)[:80]!r} is not one of {[*DTYPES]}.")
    for sizes in (shape, offsets):
        whole = isinstance(sizes, list) and all(type(s) is int for s in sizes)
        if not whole or len(sizes) > MODES or not all(0 <= s < 2**63 for s in sizes):
            raise ModelFormatError(f"array {name[:80]!r} has invalid sizes.")
    return np.dtype(DTYPES[dtype]), tuple(shape), offsets


def _with_checksum(text, checksum):
    return text[: len(FIRST)] + checksum + text[len(FIRST) + 64 :]


def _read(file, into, digest=None):
    """Fill a writable buffer block by block, or say that the file is too short."""
    view = memoryview(into).cast("B")
    for start in range(0, len(view), HASHED_BLOCK):
        block = view[start : start + HASHED_BLOCK]
        if file.readinto(block) != len(block):
            raise ModelFormatError("the file is shorter than its header says.")
        if digest is not None:
            digest.update(block)
    return into


def _little(array):
    """The array in C order and little-endian."""
    return np.ascontiguousarray(array, array.dtype.newbyteorder("<")).reshape(
        array.shape
    )


def _native(array):
    if array.dtype == bool and array.size and array.view(np.uint8).max() > 1:
        raise ModelFormatError("an array of booleans has bytes other than 0 and 1.")
    return array.astype(array.dtype.newbyteorder("="), copy=False)


def _bytes(array):
    """The memory of an array in C order as bytes, empty ones too."""
    return array.reshape(-1).view(np.uint8).data if array.size else b""
