"""The process that opens an HDF5 file, and nothing else.

The HDF5 library can crash or run without end on a damaged file, and it follows links
and external storage into other files. `_hdf5` therefore starts this script, which
imports h5py and nothing of ours. It has limits on memory and processor time, and after
the file is open it cannot open another one.

In: a path and settings as arguments, then one JSON request per line. Out: one line of
JSON per answer, followed by the bytes of the array if one was asked for.
"""

import json
import os
import sys
from contextlib import suppress
from itertools import chain
from math import ceil, prod

BLOCK = 2**24  # bytes that are read and sent at a time


class Elsewhere(ValueError):
    """A variable that is not an array of numbers or text inside this file."""


def main(path, settings):
    """Answer requests until the parent closes the pipe."""
    import h5py

    with suppress(ImportError):  # further filters; they cannot be loaded later
        import hdf5plugin  # noqa: F401
    _load_all(h5py)
    _limit(settings)
    try:
        file = h5py.File(path, "r")
        _open_no_more()
        _answer({"names": list(_names(file, settings["deep"]))})
    except Exception as error:
        _answer(_described(error))
        return
    for line in sys.stdin.buffer:
        try:
            _serve(file, json.loads(line), settings)
        except Exception as error:
            _answer(_described(error))


def _load_all(h5py):
    """Use a file in memory, so that nothing has to be imported afterwards."""
    with h5py.File("memory", "w", driver="core", backing_store=False) as file:
        file["text"] = ["a"]
        file["text"].attrs["class"] = b"a"
        for codec in ("ascii", "latin1", "utf-8"):
            file["text"].asstr(codec)[()].astype(str)
        list(file), dict(file["text"].attrs), file.get("text", getlink=True)


def _limit(settings):
    try:
        import resource
    except ImportError:  # Windows
        return
    for name in ("CPU", "AS", "CORE"):
        which = getattr(resource, f"RLIMIT_{name}")
        value, most = settings["limits"][name], resource.getrlimit(which)[1]
        if most != resource.RLIM_INFINITY:
            value = min(value, most)
        resource.setrlimit(which, (value, value))


def _open_no_more():
    """From here on the kernel rejects every further file."""
    with suppress(ImportError):
        import resource

        lowest_free = os.dup(0)
        os.close(lowest_free)
        resource.setrlimit(resource.RLIMIT_NOFILE, (lowest_free, lowest_free))


def _answer(header):
    sys.stdout.buffer.write(json.dumps(header).encode() + b"\n")
    sys.stdout.buffer.flush()


def _described(error):
    words = str(error) if isinstance(error, Elsewhere) else None
    return {"error": f"{type(error).__name__}: {error}"[:500], "elsewhere": words}


def _names(group, deep, prefix="", seen=()):
    """Names of arrays, of links and, unless `deep`, of groups."""
    import h5py

    address = h5py.h5o.get_info(group.id).addr
    if address in seen:  # a group can hold itself
        return
    for name in group:
        try:
            item = follow(group, name)
        except Elsewhere:
            yield prefix + name  # listed, so that whoever asks for it is told why
            continue
        if isinstance(item, h5py.Dataset) or not deep:
            yield prefix + name
        elif isinstance(item, h5py.Group):
            yield from _names(item, deep, f"{prefix}{name}/", (*seen, address))


def follow(group, path, hops=16):
    """The object at a path, by hard links and by soft links inside the file."""
    import h5py

    item = group.file if path.startswith("/") else group
    for part in filter(None, path.split("/")):
        link = None if part == "." else item.get(part, getlink=True)
        if isinstance(link, h5py.SoftLink) and hops:
            item = follow(item, link.path, hops - 1)
        elif link is None or isinstance(link, h5py.HardLink):
            item = item[part]
        else:
            raise Elsewhere(
                f"{path!r} lies in other files or is a link without end; copy it into "
                "this one."
            )
    return item


def _serve(file, request, settings):
    import h5py

    item = follow(file, request["name"])
    if not isinstance(item, h5py.Dataset):
        _answer({"group": True, **_matlab(item)})
    elif not request["read"]:
        shape = _plain_shape(item, request["name"], settings)
        _answer({"group": False, "shape": shape, **_matlab(item)})
    else:
        _check(item, request["name"], settings)
        _send(item, settings)


def _matlab(item):
    """What MATLAB 7.3 notes beside its variables."""
    kind = item.attrs.get("MATLAB_class", b"double")
    kind = kind.decode("latin1") if isinstance(kind, bytes) else str(kind)
    return {"kind": kind, "sparse": "MATLAB_sparse" in item.attrs}


def _plain_shape(item, name, settings):
    """The shape of an array that could be sent, None of others."""
    try:
        _check(item, name, settings)
    except Elsewhere:
        return None
    return item.shape


def _check(item, name, settings):
    """Raise unless the array lies in this file and can be as large as it says."""
    import h5py

    if item.shape is None:
        raise Elsewhere(f"{name!r} is a null data set, without entries; name another.")
    if item.external or item.is_virtual:
        raise Elsewhere(f"{name!r} lies in other files; copy it into this one.")
    if h5py.check_string_dtype(item.dtype) is None and item.dtype.kind not in "biuf":
        raise Elsewhere(
            f"{name!r} has the type {item.dtype}, which is neither numbers nor text; "
            "save it as a plain array."
        )
    sizes = zip(item.shape, item.chunks or item.shape, strict=True)
    n_chunks = prod(ceil(n / max(1, chunk)) for n, chunk in sizes)
    n_bytes = item.dtype.itemsize * prod(item.shape)
    if n_bytes > settings["most_bytes"] or n_chunks > settings["most_chunks"]:
        raise Elsewhere(
            f"{name!r} asks for {n_bytes:,} bytes in {n_chunks:,} chunks, far more "
            "than the file holds; it is damaged, forged or was never filled."
        )


def _send(item, settings):
    """Shape and type, then the entries in C order."""
    import h5py
    import numpy as np

    if h5py.check_string_dtype(item.dtype) is None:
        dtype = item.dtype.newbyteorder("=")
        blocks = (np.ascontiguousarray(each, dtype) for each in _blocks(item))
    else:
        texts = np.asarray(item.asstr()[()])
        longest = max(map(len, texts.flat), default=0)
        if 4 * longest * texts.size > settings["most_bytes"]:
            raise Elsewhere("one text is so long that all together fill the memory.")
        texts = texts.astype(str)
        dtype, blocks = texts.dtype, [texts]
    # The first block is read before anything is promised: most damage shows there.
    first = next(iter(blocks := iter(blocks)), np.empty(0, dtype))
    _answer({"shape": item.shape, "dtype": dtype.str})
    for block in chain([first], blocks):
        if block.size:
            sys.stdout.buffer.write(block.reshape(-1).view(np.uint8))
    sys.stdout.buffer.flush()


def _blocks(item):
    """The entries in pieces along the first mode, made of whole chunks."""
    if item.shape == ():
        yield item[()]
        return
    row = max(1, item.dtype.itemsize * prod(item.shape[1:]))
    chunk = item.chunks[0] if item.chunks else 1
    step = max(1, BLOCK // (row * chunk)) * chunk
    for start in range(0, item.shape[0], step):
        yield item[start : start + step]


if __name__ == "__main__":
    arguments = json.loads(sys.argv[2])
    sys.path[:] = arguments["sys_path"]
    main(sys.argv[1], arguments)
