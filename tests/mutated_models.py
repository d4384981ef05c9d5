"""Sound model files, mutated: bytes, header, arrays, texts, checksum.

In: the content of a sound file and a random generator. Out: the content of another
file, most of them with a correct checksum, so that what is behind it is reached.
"""

import json
import os
import tempfile
from pathlib import Path

from json_places import json_places
from model_files import FIRST, resigned, split_file

# What runs would leave this file; the processes of one fuzz run share its name.
CANARY = Path(tempfile.gettempdir()) / f"tensorcrp-canary-{os.getpid()}"
CANARY = Path(os.environ.setdefault("TENSORCRP_CANARY", str(CANARY)))
HUGE = [0, 1, -1, 2**31, 2**32 - 1, 2**40, 2**53, 2**62, 2**63, 2**64, 10**30, 1.5]
PATHS = ["../../etc/passwd", "/etc/passwd", "a/../b", "C:\\x", "x\0y", "", "." * 300]
DTYPES = ["F64", "F32", "I64", "U8", "BOOL", "O", "object", "F128", "<f8", "", None, 7]
ODD = [None, True, -1, 1e308, "", "x" * 1000, [], {}, [[]], {"array": "nothing"}]
TAGS = "array tuple dict range scalar texts objects float model classifier splitter"
TAGS = [*TAGS.split(), "random_state", "scatter", "pickle", "__reduce__", "eval", "py"]


def flip_bits(content, rng):
    content = bytearray(content)
    for _ in range(rng.choice([1, 1, 2, 8, 64])):
        content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
    return bytes(content)


def cut_or_grow(content, rng):
    where = rng.randrange(len(content) + 1)
    return rng.choice(
        [
            content[:where],
            content[where:],
            content + bytes(rng.randrange(1, 5000)),
            content[:where] + bytes(rng.randrange(1, 100)) + content[where:],
            content[:where] + content[:where],
        ]
    )


def forge_length(content, rng):
    header, data = split_file(content)
    length = rng.choice([0, 1, len(header) - 1, len(header) + 1, 2**21, 2**31, 2**40])
    length = rng.choice([length, 2**63, 2**64 - 1, rng.randrange(2**64)])
    return resigned(header, data, length)


def flip_header(content, rng):
    """Characters of the header, signed again."""
    header, data = split_file(content)
    header = bytearray(header)
    for _ in range(rng.choice([1, 1, 3, 20])):
        where = rng.randrange(len(FIRST) + 64, len(header))
        header[where] = rng.choice(
            b'0123456789"[]{},:.\\-eaN ' + header[where : where + 1]
        )
    return resigned(bytes(header), data)


def flip_data(content, rng):
    """Numbers of the arrays, signed again: also NaN, infinity and huge ones."""
    header, data = split_file(content)
    data = bytearray(data)
    for _ in range(rng.choice([1, 1, 5, 50]) if data else 0):
        where = 8 * rng.randrange(max(1, len(data) // 8))
        eight = rng.choice(
            [b"\xff" * 8, bytes(8), rng.randbytes(8), b"\0" * 6 + b"\xf0\x7f"]
        )
        data[where : where + 8] = eight[: len(data[where : where + 8])]
    return resigned(header, bytes(data))


def forge_arrays(content, rng):
    """dtype, shape, offsets and names of arrays."""
    header, data = split_file(content)
    header = json.loads(header)
    names = [name for name in header if name != "__metadata__"]
    for _ in range(rng.choice([1, 1, 3]) if names else 0):
        entry = header[rng.choice(names)]
        what = rng.choice(["dtype", "shape", "data_offsets", "key", "name"])
        if what == "dtype":
            entry["dtype"] = rng.choice(DTYPES)
        elif what == "key":
            entry[rng.choice(["dtype", "shape", "x"])] = rng.choice(ODD)
        elif what == "name":
            header[rng.choice(PATHS)] = dict(entry)
        elif isinstance(entry.get(what), list) and entry[what]:
            entry[what][rng.randrange(len(entry[what]))] = rng.choice(HUGE)
        else:
            entry[what] = rng.choice(ODD) or [rng.choice(HUGE)] * rng.choice([1, 40])
    return resigned(_dump(header), data)


def terabytes(content, rng):
    """Sizes that agree with each other and not with the file."""
    header, data = split_file(content)
    header = json.loads(header)
    size = rng.choice([2**30, 2**40, 2**43, 2**60])
    shape = rng.choice(
        [[size // 8], [size // 64, 8], [1] * 31 + [size // 8], [0, size]]
    )
    end = len(data) + (0 if 0 in shape else size)
    header["big"] = {"dtype": "F64", "shape": shape, "data_offsets": [len(data), end]}
    return resigned(_dump(header), data)


def forge_texts(content, rng):
    """Class, version, parameters and attributes: a node of the tree replaced."""
    header, data = split_file(content)
    header = json.loads(header)
    texts = header["__metadata__"]
    name = rng.choice(["class", "format", "versions", "sample_shape"] + ["state"] * 4)
    name = rng.choice([name, "parameters"])
    if name in ("class", "format"):
        texts[name] = rng.choice(
            [*PATHS, "os.system", "TensorCRP", "MPCA", "9.9", "1.5"]
        )
    else:
        tree = json.loads(texts[name])
        _spoil(tree, rng)
        texts[name] = json.dumps(tree)
    return resigned(_dump(header), data)


def _spoil(tree, rng):
    """Change one place of a tree of JSON."""
    places = json_places(tree)
    if not places:
        return
    node, key = rng.choice(places)
    old = node[key]
    tag = rng.choice(TAGS)
    node[key] = rng.choice(
        [
            rng.choice(ODD),
            rng.choice(HUGE),
            {tag: old},
            {tag: rng.choice(ODD)},
            rng.choice(places)[0],
            _payload(rng),
            {
                "dict": [
                    ["class", rng.choice(["os.system", "TensorCRP"])],
                    ["params", old],
                ]
            },
        ]
    )
    try:
        json.dumps(tree)
    except (ValueError, RecursionError):  # a tree that holds itself
        node[key] = old


def _payload(rng):
    """What would run if anything ran."""
    words = ["fuzz_models.canary", "planted_canary", "os.system", "builtins.eval"]
    command = f"touch {CANARY}"
    return rng.choice(
        [
            {"model": {"dict": [["class", rng.choice(words)], ["params", command]]}},
            {"__reduce__": [rng.choice(words), [command]]},
            {"py/reduce": [{"py/function": rng.choice(words)}, [command]]},
            f"__import__('os').system({command!r})",
            f"!!python/object/apply:os.system [{command}]",
        ]
    )


def deep_or_large(content, rng):
    header, data = split_file(content)
    n = rng.choice([10**3, 10**5, 10**6])
    piece = rng.choice(
        [
            b"[" * n + b"]" * n,
            b'{"a":' * n,
            b'{"":1},' * (2**21 // 7),
            b"[]," * (2**21 // 3),
        ]
    )
    header = header.rstrip()[:-1] + b',"x":[' + piece[: rng.choice([len(piece), 2**20])]
    return resigned(header + rng.choice([b"0]}", b"]}", b""]), data)


def nested_text(content, rng):
    """Many values in the JSON of the attributes, within the size of a header."""
    header, data = split_file(content)
    header = json.loads(header)
    piece = rng.choice(
        ["[],", '{"":1},', "1.5,", '{"tuple":[]},', "[" * 50 + "]" * 50 + ","]
    )
    n = rng.choice(
        [1000, 14_000, 40_000, (2**21 - len(_dump(header))) // (len(piece) + 4)]
    )
    header["__metadata__"]["state"] = "[" + piece * max(n, 0) + "0]"
    return resigned(_dump(header), data)


def without_checksum(content, rng):
    where = rng.randrange(8 + len(FIRST), 8 + len(FIRST) + 64)
    return (
        content[:where] + rng.choice([b"0", b"g", b'"', b"\xff"]) + content[where + 1 :]
    )


def other_formats(content, rng):
    header, _ = split_file(content)
    return rng.choice(
        [
            b"\x80\x04c" + b"fuzz_models\ncanary\n(tR.",
            b"PK\x03\x04" + content,  # a zip archive
            b"\x1f\x8b\x08" + content,  # gzip
            b"\x93NUMPY\x01\x00" + content,
            resigned(b" " + header, b""),
            b"",
        ]
    )


MUTATIONS = [
    flip_bits,
    cut_or_grow,
    forge_length,
    flip_header,
    flip_data,
    forge_arrays,
    terabytes,
    forge_texts,
    forge_texts,
    deep_or_large,
    nested_text,
    without_checksum,
    other_formats,
]


def _dump(header):
    """The header with the checksum first, where it belongs."""
    return json.dumps(header, separators=(",", ":")).encode()
