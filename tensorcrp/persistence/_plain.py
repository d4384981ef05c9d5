"""Python values as plain JSON and arrays, and back; nothing else gets through.

In: numbers, texts, None, tuples, lists, dicts, ranges, NumPy arrays and scalars of
numbers, of texts or of plain objects, and the `Kind` of things that a caller adds.
Out: a JSON value, in which everything but numbers, texts, None and lists is an object
of one key, the tag; and the arrays that it names.
"""

from dataclasses import dataclass
from math import isfinite

import numpy as np

from tensorcrp.persistence._container import DTYPE_NAMES, MODES
from tensorcrp.persistence._json import BRACKETS, ModelFormatError
from tensorcrp.persistence._limits import DEEPEST, LONGEST

FLOATS = {"nan": np.nan, "inf": np.inf, "-inf": -np.inf}


@dataclass(frozen=True)
class Kind:
    """How to take things of some types apart into plain values, and put together."""

    tag: str
    types: tuple
    apart: object
    together: object


class Writer:
    """Collects arrays while values are turned into JSON."""

    def __init__(self, kinds):
        self.kinds = {each: kind for kind in kinds for each in kind.types}
        self.arrays = {}

    def json(self, value, where, depth=0):
        """JSON of a value; `where` names it in errors and its arrays in the file."""
        if depth > DEEPEST:
            raise ModelFormatError(f"{where} is nested too deeply, or contains itself.")
        kind = type(value)
        if value is None or kind in (bool, str):
            return value
        if kind is int:
            return _whole(value, where)
        if kind is float:
            return value if isfinite(value) else {"float": str(value)}
        if kind in (list, tuple):
            items = self._items(value, where, depth + 1)
            return items if kind is list else {"tuple": items}
        if kind is dict:
            return {"dict": self._pairs(value, where, depth + 1)}
        if kind is range:
            return {"range": [value.start, value.stop, value.step]}
        if isinstance(value, np.generic):
            return {"scalar": self._array(np.asarray(value), where, depth)}
        if kind in (np.ndarray, np.memmap):
            return self._array(value, where, depth)
        if kind in self.kinds:
            known = self.kinds[kind]
            return {known.tag: self.json(known.apart(value), where, depth + 1)}
        raise ModelFormatError(_cannot(value, where))

    def _items(self, values, where, depth):
        return [
            self.json(each, f"{where}[{i}]", depth) for i, each in enumerate(values)
        ]

    def _pairs(self, mapping, where, depth):
        inside = f"{where}." if where else ""
        return [
            [
                self.json(key, f"a key of {where}", depth),
                self.json(value, f"{inside}{key}", depth),
            ]
            for key, value in mapping.items()
        ]

    def _array(self, array, where, depth):
        if array.dtype.kind == "O":
            texts = self._texts(array, where) if array.size else None
            if texts is not None:
                return {"objects": texts}
            items = self.json(array.ravel().tolist(), where, depth + 1)
            return {"objects": [list(array.shape), items]}
        if array.dtype.kind == "U" and array.itemsize <= 4 * LONGEST:
            return {"texts": self._named(_code_points(array), where)}
        if array.dtype.newbyteorder("<") not in DTYPE_NAMES:
            raise ModelFormatError(
                f"{where} is an array of {array.dtype}; numbers and texts can be saved."
            )
        return self._named(array, where)

    def _texts(self, array, where):
        """Many texts as one array, if that keeps them: NumPy drops zeros at the end."""
        if any(type(each) is not str or each.endswith("\0") for each in array.flat):
            return None
        if max(map(len, array.flat)) > LONGEST:
            return None
        return {"texts": self._named(_code_points(array.astype(str)), where)}

    def _named(self, array, where):
        """The array by name, and the order of its axes in memory if that is not C's.

        Matrix products of another memory order differ in the last bits.
        """
        axes = sorted(range(array.ndim), key=lambda i: -abs(array.strides[i]))
        stored = array.transpose(axes)
        name, number = where, len(self.arrays)
        while name in self.arrays:
            name, number = f"{where} {number}", number + 1
        self.arrays[name] = stored
        node = {"array": name}
        return node if axes == sorted(axes) else {"array": name, "axes": axes}


class Reader:
    """Turns JSON within the bounds of `_limits` back into values, types checked."""

    def __init__(self, arrays, kinds):
        self.arrays = arrays
        self.kinds = {kind.tag: kind for kind in kinds}

    def value(self, node, depth=0):
        """The value that a JSON node means."""
        if depth > BRACKETS:
            raise ModelFormatError("values are nested too deep.")
        if node is None or type(node) in (bool, int, float, str):
            return node
        if type(node) is list:
            return [self.value(each, depth + 1) for each in node]
        if "array" in node:
            return self._array(node)
        if len(node) != 1:
            raise ModelFormatError(f"a value with tags {sorted(node)!r}."[:200])
        ((tag, content),) = node.items()
        if tag in self.kinds:
            return self.kinds[tag].together(self.value(content, depth + 1))
        if tag not in _READ:
            raise ModelFormatError(f"a value with the unknown tag {tag[:80]!r}.")
        return _READ[tag](self, content, depth + 1)

    def _array(self, node):
        """The array of a name, with its axes in the order that they had in memory."""
        name, axes = node["array"], node.get("axes")
        if set(node) - {"array", "axes"} or type(name) is not str:
            raise ModelFormatError("an array without a name.")
        stored = self.arrays[name]
        if axes is None:
            return stored
        if not _are_whole(axes) or sorted(axes) != list(range(stored.ndim)):
            raise ModelFormatError(f"array {name[:80]!r} has other axes.")
        return stored.transpose(np.argsort(axes))

    def _list(self, node, depth):
        value = self.value(node, depth)
        if type(value) is not list:
            raise ModelFormatError("a list is missing.")
        return value

    def _tuple(self, node, depth):
        return tuple(self._list(node, depth))

    def _dict(self, node, depth):
        pairs = self._list(node, depth)
        if not all(type(pair) is list and len(pair) == 2 for pair in pairs):
            raise ModelFormatError("a dict of something else than pairs.")
        if not all(_is_key(key) for key, _ in pairs):
            raise ModelFormatError("a key of a dict is not a number or text.")
        return dict(pairs)

    def _range(self, node, depth):
        if not _are_whole(node) or len(node) != 3 or node[2] == 0:
            raise ModelFormatError("a range without three whole numbers.")
        return range(*node)

    def _float(self, node, depth):
        if type(node) is not str or node not in FLOATS:
            raise ModelFormatError("a value tagged as a number that is not one.")
        return FLOATS[node]

    def _scalar(self, node, depth):
        value = self.value(node, depth)
        if not isinstance(value, np.ndarray) or value.ndim:
            raise ModelFormatError("a scalar that is not one.")
        return value[()]

    def _texts(self, node, depth):
        codes = self.value(node, depth)
        array = isinstance(codes, np.ndarray) and codes.dtype == np.uint32
        if (
            not array
            or codes.ndim == 0
            or not 0 < codes.shape[-1] <= LONGEST
            or codes.max(initial=0) > 0x10FFFF
        ):
            raise ModelFormatError("an array of strings with other values in it.")
        codes = np.ascontiguousarray(codes)
        return codes.view(f"U{codes.shape[-1]}").reshape(codes.shape[:-1])

    def _objects(self, node, depth):
        if type(node) is dict:
            texts = self.value(node, depth)
            if not isinstance(texts, np.ndarray):
                raise ModelFormatError("an invalid array of objects.")
            return texts.astype(object)
        whole = type(node) is list and len(node) == 2 and _are_whole(node[0])
        items = self._list(node[1], depth) if whole else None
        if not whole or len(node[0]) > MODES or not _fill(node[0], len(items)):
            raise ModelFormatError("an array of objects of another shape.")
        array = np.empty(len(items), dtype=object)
        for i, item in enumerate(items):
            array[i] = item
        return array.reshape(node[0])


_READ = {
    "dict": Reader._dict,
    "float": Reader._float,
    "objects": Reader._objects,
    "range": Reader._range,
    "scalar": Reader._scalar,
    "texts": Reader._texts,
    "tuple": Reader._tuple,
}


def _whole(value, where):
    if abs(value) >= 2**63:
        raise ModelFormatError(f"{where} is an integer of more than 64 bits.")
    return value


def _cannot(value, where):
    name = type(value).__name__
    if callable(value) and not hasattr(value, "get_params"):
        return (
            f"{where} is code ({name} {getattr(value, '__name__', '')}), and a model "
            "file holds none. Replace it before saving, e.g. by set_params with a name "
            "or with arrays."
        )
    return (
        f"{where} is a {name}; a model file holds numbers, texts, lists, arrays and "
        "the estimators that tensorcrp.persistence names. Replace it by set_params, "
        "or use skops.io."
    )


def _code_points(array):
    """Texts (...) as code points (..., length)."""
    array = np.array(array, array.dtype.newbyteorder("="), order="C")
    length = array.dtype.itemsize // 4
    if not length or not array.size:  # only empty texts, or none
        return np.zeros((*array.shape, max(length, 1)), np.uint32)
    return array.reshape(-1).view(np.uint32).reshape(*array.shape, length)


def _are_whole(values):
    return type(values) is list and all(type(each) is int for each in values)


def _fill(shape, n_items):
    total = 1
    for size in shape:
        if not 0 <= size <= max(n_items, 1):
            return False
        total *= size
    return total == n_items


def _is_key(value):
    return value is None or isinstance(value, (bool, int, float, str, np.generic))
