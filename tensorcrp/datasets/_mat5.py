"""Plain arrays of MATLAB files of version 4 to 7.

In: a file. Out: its variables, each with name, MATLAB class and place, and on request
the array. A reader of our own: scipy's follows tags in compiled code without checking
them, so that one changed byte can end the process. This one is Python over bounded
reads. The format is described in MathWorks' "MAT-File Format".
"""

import os
import struct
import zlib
from dataclasses import dataclass
from math import prod

import numpy as np

from tensorcrp.datasets._containers import check_size

_MATRIX, _COMPRESSED = 14, 15
_STORED = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8"}
_STORED |= {12: "i8", 13: "u8"}
_TEXT = {1: "latin1", 2: "latin1", 4: "utf-16", 16: "utf-8", 17: "utf-16", 18: "utf-32"}
_CLASSES = "cell struct object char sparse double single int8 uint8 int16 uint16 int32 "
_CLASSES = (_CLASSES + "uint32 int64 uint64 function opaque object").split()
_LOGICAL, _COMPLEX = 0x200, 0x800
_STORED_4 = ("f8", "f4", "i4", "i2", "u2", "u1")
_CLASSES_4 = ("double", "char", "sparse")
_LONGEST = 4096  # bytes of a name or of the sizes: MATLAB has far fewer


@dataclass(frozen=True)
class Variable:
    """A variable of a file.

    Attributes
    ----------
    name, kind : str
        Its name and MATLAB class, e.g. "double"; "complex" for complex numbers.
    shape : tuple of int
    start, stop : int
        Where it lies in the file.
    byte_order : {"<", ">"}
    stored : str or None
        Type of the entries in version 4; in version 5 a tag before them says it.
    """

    name: str
    kind: str
    shape: tuple
    start: int
    stop: int
    byte_order: str
    stored: str | None = None


def variables(file):
    """Variables of an open file by name; of the same name, the last."""
    file.seek(0)
    start = file.read(128)
    size = os.fstat(file.fileno()).st_size
    if 0 in start[:4] or len(start) < 20:
        found = _list_4(file, size)
    else:
        found = _list_5(file, size, start)
    # MATLAB keeps the workspaces of functions in a variable without a name.
    return {each.name: each for each in found if each.name}


def read_variable(path, variable):
    """The array of a variable of numbers or text."""
    with open(path, "rb") as file:
        file.seek(variable.start)
        stream = _Stream(file, variable.stop - variable.start, variable.byte_order)
        if variable.stored is None:
            stream = _matrix(stream)
            _header(stream)
            stored, n_bytes, after = stream.tag()
        else:
            stored, after = variable.stored, 0
            n_bytes = prod(variable.shape) * np.dtype(stored).itemsize
        check_size(path, variable.name, n_bytes, os.path.getsize(path))
        entries = stream.take(n_bytes)
        stream.check_end(after)
    return _array(variable, stored, entries)


def _array(variable, stored, entries):
    """Entries (column by column) as an array of the variable's shape."""
    if variable.stored is None:
        table = _TEXT if variable.kind == "char" else _STORED
        if stored not in table:
            raise ValueError(f"entries of {variable.kind} have the type {stored}")
        stored = table[stored]
    if variable.kind == "char":
        return _texts(variable, entries, stored)
    dtype = np.dtype(variable.byte_order + stored)
    array = np.frombuffer(entries, dtype).reshape(variable.shape, order="F")
    return array.astype(dtype.newbyteorder("="), copy=False)


def _texts(variable, entries, codec):
    """Characters as one text per row; the last mode runs along the texts."""
    if variable.stored is not None:  # version 4 stores codes, usually as doubles
        codes = np.frombuffer(entries, variable.byte_order + variable.stored)
        if not np.isin(codes, np.arange(256)).all():
            raise ValueError("a text has codes beyond 255")
        letters = codes.astype(np.uint8).tobytes().decode("latin1")
    else:
        if codec in ("utf-16", "utf-32"):
            codec += "-le" if variable.byte_order == "<" else "-be"
        letters = entries.decode(codec)
    chars = np.array(list(letters), "U1").reshape(variable.shape, order="F")
    width = variable.shape[-1]
    if not chars.size:
        return np.full(variable.shape[:-1], "")
    return np.char.rstrip(np.ascontiguousarray(chars).view(f"U{width}")[..., 0])


# --- version 5 to 7 ---------------------------------------------------------------


class _Stream:
    """Bounded reads of one element of a file, inflated if it is compressed."""

    def __init__(self, file, left, byte_order):
        self._file, self._left, self.byte_order = file, left, byte_order
        self._inflate, self._packed = None, b""

    def inflate(self):
        """Inflate all that follows."""
        self._inflate = zlib.decompressobj()

    def take(self, n):
        """The next n bytes, or an error."""
        if self._inflate is None:
            if n > self._left:
                raise ValueError(f"{n} bytes are wanted where {self._left} are left")
            self._left -= n
            taken = bytearray(n)
            n_read = self._file.readinto(taken)
        else:
            taken, n_read = bytearray(n), 0
            while n_read < n and (more := self._inflated(n - n_read)):
                taken[n_read : n_read + len(more)] = more
                n_read += len(more)
        if n_read < n:
            raise ValueError(f"the file ends {n - n_read} bytes too early")
        return taken

    def _inflated(self, most):
        """At most `most` bytes, and at least one unless the data is at its end."""
        most = max(1, min(most, 2**24))  # none at all would be without a bound
        while not self._inflate.eof:
            if not self._packed:
                self._packed = self._file.read(min(self._left, 2**16))
                self._left -= len(self._packed)
            given = self._packed
            out = self._inflate.decompress(given, most)
            self._packed = self._inflate.unconsumed_tail
            if out or not given:
                return out
        return b""

    def check_end(self, padding):
        """Compare what was inflated with its checksum, which follows the padding."""
        if self._inflate is not None:
            if self._inflated(padding) and self._inflated(1):
                raise ValueError("a variable has more entries than its sizes say")
            if not self._inflate.eof:
                raise ValueError("compressed entries end too early")

    def words(self, n):
        return struct.unpack(f"{self.byte_order}{n}I", self.take(4 * n))

    def tag(self):
        """Type and length of the next element, and the bytes of padding behind it."""
        (first,) = self.words(1)
        if first >> 16:  # short form: length, type and at most 4 bytes in 8
            kind, n = first & 0xFFFF, first >> 16
            if n > 4:
                raise ValueError(f"a short element has {n} bytes")
            return kind, n, 4 - n
        (n,) = self.words(1)
        return first, n, -n % 8

    def short_element(self, *kinds):
        """The bytes of an element of a header."""
        kind, n, after = self.tag()
        if kind not in kinds or n > _LONGEST:
            raise ValueError(f"a header has an element of type {kind} and {n} bytes")
        return self.take(n + after)[:n]


def _list_5(file, size, start):
    if len(start) < 128 or start[126:128] not in (b"IM", b"MI"):
        raise ValueError("there is no MATLAB header")
    byte_order = "<" if start[126:128] == b"IM" else ">"
    position = 128
    while position < size:
        file.seek(position)
        _, n = _Stream(file, 8, byte_order).words(2)
        stop = position + 8 + n
        if not n or stop > size:
            raise ValueError(f"a variable of {n} bytes does not fit the file")
        file.seek(position)
        stream = _matrix(_Stream(file, 8 + n, byte_order))
        name, kind, shape = _header(stream)
        yield Variable(name, kind, shape, position, stop, byte_order)
        position = stop


def _matrix(stream):
    """The stream behind the tag of a matrix, which may be compressed."""
    kind, _ = stream.words(2)
    if kind == _COMPRESSED:
        stream.inflate()
        kind, _ = stream.words(2)
    if kind != _MATRIX:
        raise ValueError(f"an element of type {kind} is where a matrix should be")
    return stream


def _header(stream):
    """Name, class and shape; the stream is left at the entries."""
    words = struct.unpack(f"{stream.byte_order}2I", stream.short_element(6))
    code = (words[0] & 0xFF) - 1
    kind = _CLASSES[code] if 0 <= code < len(_CLASSES) else "unknown"
    if kind == "opaque":  # has no shape
        return _name(stream.short_element(1, 2, 16)), kind, ()
    sizes = stream.short_element(5, 6)
    shape = struct.unpack(f"{stream.byte_order}{len(sizes) // 4}i", sizes)
    if not 2 <= len(shape) <= 32 or min(shape) < 0:
        raise ValueError(f"a variable has the shape {shape}")
    name = _name(stream.short_element(1, 2, 16))
    if kind in _CLASSES[3:15] and kind != "sparse":
        if words[0] & _COMPLEX:
            kind = "complex"
        elif words[0] & _LOGICAL:
            kind = "logical"
    return name, kind, shape


def _name(content):
    return bytes(content).split(b"\0")[0].decode("latin1")


# --- version 4 --------------------------------------------------------------------


def _list_4(file, size):
    position = 0
    while position < size:
        file.seek(position)
        head = file.read(20)
        if len(head) < 20:
            raise ValueError("the last header is cut off")
        byte_order = "<" if 0 <= struct.unpack("<i", head[:4])[0] < 5000 else ">"
        mopt, rows, columns, is_complex, n_name = struct.unpack(byte_order + "5i", head)
        thousands, hundreds, stored, kind = (int(c) for c in f"{mopt:04d}"[-4:])
        sound = 0 <= mopt < 2000 and not hundreds and stored < 6 and kind < 3
        sound = sound and thousands == (byte_order == ">")
        if not sound or min(rows, columns) < 0 or not 0 < n_name <= _LONGEST:
            raise ValueError(f"a header of version 4 is wrong: {head.hex()}")
        name = _name(file.read(n_name))
        start = position + 20 + n_name
        n_bytes = rows * columns * np.dtype(_STORED_4[stored]).itemsize
        position = start + n_bytes * (1 + (is_complex == 1))
        if position > size:
            raise ValueError(f"the variable {name!r} does not fit the file")
        kind = "complex" if is_complex else _CLASSES_4[kind]
        yield Variable(
            name,
            kind,
            (rows, columns),
            start,
            position,
            byte_order,
            _STORED_4[stored],
        )
