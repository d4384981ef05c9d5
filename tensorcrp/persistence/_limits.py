"""Bounds of a model file: what `load` builds is known before it builds anything.

In: the JSON trees of a file and its arrays, from `save` as from anywhere. Out: nothing,
or ModelFormatError.

The container bounds bytes: the file is at most ``max_bytes``, its arrays fill it
without overlaps. Here is bounded what those bytes can become. Every array is named
once, so that no value is made twice of the same bytes; texts, objects and the samples
of nearest-neighbour classifiers have totals per file. `_json` bounds values and depth.
"""

from collections import Counter
from math import prod

from tensorcrp.persistence._json import ModelFormatError

DEEPEST = 24  # nesting of values; `_json` has the levels of brackets
# Of one file: estimators, classifiers, splitters, random numbers and statistics.
OBJECTS = 32
TEXTS = 2**20  # texts that become Python objects, of some 80 bytes each
LONGEST = 2**20  # characters of a text in an array
NEIGHBOURS = 2**23  # samples x features (at least 8) that search trees are built of
LABELS = 2**16  # labels of a classifier, some of which loop over them
METRIC = 2**20  # numbers in the parameters of a metric: scikit-learn inverts matrices
INTEGERS = 2**63  # larger ones can be chosen to collide as keys of a dict


def check_trees(trees, arrays, tags, *, uses=1, complete=True):
    """Raise ModelFormatError unless JSON trees stay within the bounds.

    Parameters
    ----------
    trees : list
        Plain values of JSON.
    arrays : dict of ndarray
        The arrays that they name.
    tags : set of str
        Tags of objects that are rebuilt.
    uses : int, default=1
        How often an array may be named: twice in files before version 1.2.
    complete : bool, default=True
        Every array has to be named.
    """
    named, counts = Counter(), Counter()
    for node in _nodes(trees):
        if type(node) is int:
            counts["long"] += abs(node) >= INTEGERS
        elif type(node) is dict:
            counts["objects"] += any(tag in tags for tag in node)
            name = node.get("array")
            named[name if type(name) is str else None] += "array" in node
            counts["texts"] += _n_texts(node, arrays)
    for name, times in named.items():
        if name not in arrays and times:
            raise ModelFormatError(f"array {str(name)[:80]!r} is not in the file.")
        if times > uses:
            raise ModelFormatError(f"array {name[:80]!r} is named {times} times.")
    if complete and len(+named) < len(arrays):
        unused = next(name for name in arrays if name not in +named)
        raise ModelFormatError(f"array {unused[:80]!r} belongs to nothing.")
    _check_counts(counts)


def _check_counts(counts):
    bounds = {
        "objects": (OBJECTS, "estimators, classifiers, splitters and random states"),
        "texts": (TEXTS, "texts in arrays of objects; use fewer columns with names"),
        "long": (0, "integers of more than 64 bits"),
    }
    for what, (most, words) in bounds.items():
        if counts[what] > most:
            raise ModelFormatError(
                f"{counts[what]} where a model file has at most {most} {words}."
            )


def _nodes(trees):
    """Every value of the trees; a stack of its own, no recursion."""
    stack = list(trees)
    while stack:
        node = stack.pop()
        yield node
        if type(node) is list:
            stack.extend(node)
        elif type(node) is dict:
            stack.extend(node.values())


def _n_texts(node, arrays):
    """Python texts that ``{"objects": {"texts": {"array": name}}}`` becomes."""
    for key in ("objects", "texts", "array"):
        node = node.get(key) if type(node) is dict else None
    array = arrays.get(node) if type(node) is str else None
    return 0 if array is None else prod(array.shape[:-1])


class Allowance:
    """What is left of a total of one file."""

    def __init__(self, left, what):
        self.left, self.most, self.what = left, left, what

    def take(self, number):
        """Subtract, or raise ModelFormatError before the work is done."""
        self.left -= number
        if self.left < 0:
            raise ModelFormatError(
                f"the model has more than {self.most} {self.what}, the most that a "
                "model file holds; use another classifier, or skops.io."
            )
