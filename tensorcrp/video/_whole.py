"""Whether a video file was cut off, from the sizes that its parts announce.

In: an open file and the name of its format in FFmpeg. Out: True if a part of the file
ends behind the end of the file. FFmpeg itself reads such a file as a shorter one.

A container is a row of parts (boxes, tags, pages, packets) that say how long they are.
`STEPS` has a function for each format: from where a part starts to where it ends. What
a function does not understand gives no verdict, so that a whole file with something odd
in it is not called cut off. Nothing is found where the cut lies exactly between two
parts and the format has no total size (transport streams, live recordings), nor in
files without a container (``.h264``).
"""

import os
import re
import struct

# Parts that are looked at before the walk gives up: nobody waits for a file that is
# made of nothing but small parts.
MOST_PARTS = 2**22


class _Cut(Exception):
    """The file ends inside the head of a part."""


def is_cut_off(file, name):
    """Walk through the parts of a file of FFmpeg's format `name`."""
    step = STEPS.get(name)
    size = os.fstat(file.fileno()).st_size
    place, parts = 0, 0
    try:
        while step is not None and place < size and parts < MOST_PARTS:
            end = step(file, place, size)
            if end is None or end <= place:
                return False
            place, parts = end, parts + 1
    except _Cut:
        return True
    return place > size and step is not None


def _read(file, place, n):
    """The n bytes from `place` on; they have to be there."""
    file.seek(place)
    data = file.read(n)
    if len(data) < n:
        raise _Cut
    return data


def _matroska(file, place, size):
    """EBML: an identity and a length, both of variable size."""
    first = _read(file, place, 1)[0]
    if first < 0x10:  # an identity has at most four bytes
        return None
    width = 9 - first.bit_length()
    identity = _read(file, place, width)
    head = _read(file, place + width, 1)[0]
    if head == 0:
        return None
    length_width = 9 - head.bit_length()
    coded = int.from_bytes(_read(file, place + width, length_width), "big")
    most = 2 ** (7 * length_width) - 1
    start = place + width + length_width
    if coded & most == most:  # length not known, as in live recordings: go inside
        unknown = (b"\x18\x53\x80\x67", b"\x1f\x43\xb6\x75")  # segment, cluster
        return start if identity in unknown else None
    return start + (coded & most)


def _flv(file, place, size):
    """Tags; each is followed by four bytes that repeat its size."""
    if place == 0:
        return int.from_bytes(_read(file, 5, 4), "big") + 4
    head = _read(file, place, 11)
    if head[0] & 0x1F not in (8, 9, 18):
        return None
    length = int.from_bytes(head[1:4], "big")
    if head[0] == 18:
        text = _read(file, place + 11, length)
        found = re.search(rb"\x00\x08filesize\x00(.{8})", text, re.DOTALL)
        if found and struct.unpack(">d", found[1])[0] > size:
            return size + 1
    return place + 11 + length + 4


def _mov(file, place, size):
    """Boxes. Unknown ones may be anything that somebody appended."""
    length, kind = struct.unpack(">I4s", _read(file, place, 8))
    if kind not in _BOXES or length == 0:  # 0: up to the end of the file
        return None
    if length == 1:
        length = int.from_bytes(_read(file, place + 8, 8), "big")
    return place + length


_BOXES = (
    b"ftyp moov mdat moof mfra free skip wide styp sidx udta uuid meta emsg prft pnot"
).split()


def _mpegts(file, place, size):
    """Packets of one size, with a synchronisation byte at the start of each."""
    head = _read(file, 0, min(size, 800))
    for length, offset in ((188, 0), (192, 4), (204, 0)):
        marks = head[offset::length]
        if len(marks) > 2 and set(marks) == {0x47}:
            return -(-size // length) * length
    return None


def _mpeg(file, place, size):
    """Packs and packets of a program stream (MPEG-1 and MPEG-2)."""
    head = _read(file, place, 4)
    if head[:3] != b"\0\0\1":
        return None
    if head[3] == 0xB9:  # the end of the programme
        return place + 4
    if head[3] == 0xBA:
        if _read(file, place + 4, 1)[0] >> 6 == 1:  # MPEG-2
            return place + 14 + (_read(file, place + 13, 1)[0] & 7)
        return place + 12
    length = int.from_bytes(_read(file, place + 4, 2), "big")
    return place + 6 + length if head[3] > 0xBA and length else None


def _asf(file, place, size):
    """The header holds the size of the file, unless it is of a broadcast."""
    head = file.read(2**16) if place == 0 and not file.seek(0) else b""
    at = head.find(bytes.fromhex("a1dcab8c47a9cf118ee400c00c205365"))
    if at < 0 or len(head) < at + 92 or head[at + 88] & 1:
        return None
    return int.from_bytes(head[at + 40 : at + 48], "little")


def _ogg(file, place, size):
    """Pages, each with the sizes of its segments."""
    head = _read(file, place, 27)
    if head[:4] != b"OggS":
        return None
    return place + 27 + head[26] + sum(_read(file, place + 27, head[26]))


def _mxf(file, place, size):
    """A key of sixteen bytes, a length of one to nine, a value."""
    if _read(file, place, 4) != b"\x06\x0e\x2b\x34":
        return None
    first = _read(file, place + 16, 1)[0]
    if first < 0x80:
        return place + 17 + first
    more = first & 0x7F
    if not 0 < more < 9:
        return None
    return place + 17 + more + int.from_bytes(_read(file, place + 17, more), "big")


def _gif(file, place, size):
    """A screen, then images and extensions made of blocks of at most 255 bytes."""
    if place == 0:
        flags = _read(file, 10, 1)[0]
        return 13 + (3 << (flags & 7) + 1 if flags & 0x80 else 0)
    kind = _read(file, place, 1)
    if kind == b"!":
        return _gif_blocks(file, place + 2, size)
    if kind != b",":
        return None  # the end, or something appended
    flags = _read(file, place + 9, 1)[0]
    table = 3 << (flags & 7) + 1 if flags & 0x80 else 0
    return _gif_blocks(file, place + 11 + table, size)


def _gif_blocks(file, place, size):
    while length := _read(file, place, 1)[0]:
        place += 1 + length
    return place + 1


def _ivf(file, place, size):
    """Frames with a head of twelve bytes."""
    if place == 0:
        return int.from_bytes(_read(file, 6, 2), "little")
    return place + 12 + int.from_bytes(_read(file, place, 12)[:4], "little")


STEPS = {
    "matroska,webm": _matroska,
    "flv": _flv,
    "mov,mp4,m4a,3gp,3g2,mj2": _mov,
    "mpegts": _mpegts,
    "mpeg": _mpeg,
    "asf": _asf,
    "ogg": _ogg,
    "mxf": _mxf,
    "gif": _gif,
    "ivf": _ivf,
}
