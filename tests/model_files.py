"""Model files taken apart and signed again, for tests that forge them.

The layout as the documentation of `tensorcrp.persistence` states it, written a second
time: 8 bytes of header length, the header, the data; the SHA-256 of all of it stands
in the header, computed with zeros in its own place.
"""

import hashlib
import struct

FIRST = b'{"__metadata__":{"tensorcrp_sha256":"'


def split_file(content):
    """Header and data of a file."""
    (length,) = struct.unpack_from("<Q", content)
    return content[8 : 8 + length], content[8 + length :]


def resigned(header, data, length=None):
    """A file with the right checksum, if the header has a place for it."""
    length = struct.pack("<Q", len(header) if length is None else length)
    if header.startswith(FIRST) and len(header) >= len(FIRST) + 64:
        start, rest = header[: len(FIRST)], header[len(FIRST) + 64 :]
        digest = hashlib.sha256(length + start + b"0" * 64 + rest + data).hexdigest()
        header = start + digest.encode() + rest
    return length + header + data
