"""JSON texts with bounds: in size, in depth, one value per key.

In: ASCII text as bytes, from anywhere. Out: Python's plain values, or ModelFormatError;
no recursion that the text controls.
"""

import json

import numpy as np

# Bytes and values of a text: parsed values take up to fifty times the bytes of their
# text, and some microseconds each.
LONGEST_TEXT, VALUES = 2**21, 2**17
BRACKETS = 96  # of brackets: a value of `_limits` takes up to four levels


class ModelFormatError(ValueError):
    """A file is not a valid model file, or a model does not fit into one.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from tensorcrp.persistence import ModelFormatError, load
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder) / "model.safetensors"
    ...     size = file.write_bytes(b"not a model")
    ...     try:
    ...         load(file)
    ...     except ModelFormatError:
    ...         print("rejected")
    rejected
    """


def write_json(value):
    """ASCII text of plain values, always the same for the same values."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    if len(text) > LONGEST_TEXT - 8 or _values(text.encode()) > VALUES:
        raise ModelFormatError(
            f"the model needs a header of {len(text)} bytes with {VALUES} values or "
            f"more, and at most {LONGEST_TEXT} bytes are read. Pass long parameters as "
            "arrays, not as lists of numbers."
        )
    return text


def read_json(text):
    """Plain values of a text (bytes or str) from an untrusted source."""
    text = text.encode() if isinstance(text, str) else text
    if len(text) > LONGEST_TEXT or _values(text) > VALUES:
        raise ModelFormatError(
            f"a JSON text of {len(text)} bytes; at most {LONGEST_TEXT} and {VALUES} "
            "values are read."
        )
    if not text.isascii() or depth(text) > BRACKETS:
        raise ModelFormatError(
            f"a JSON text is not ASCII, or deeper than {BRACKETS} levels."
        )
    try:
        return json.loads(text, object_pairs_hook=_unique, parse_constant=_reject)
    except ModelFormatError:
        raise
    except ValueError as error:  # also of numbers with thousands of digits
        raise ModelFormatError(f"a text is not JSON: {error}.") from error


def _values(text):
    """No fewer than the values of a text: each needs a comma or a bracket."""
    return text.count(b",") + text.count(b"[") + text.count(b"{")


def depth(text):
    """Deepest nesting of brackets outside of strings, in one pass."""
    # Pairs of backslashes first: what is left before a quote escapes it.
    text = text.replace(b"\\\\", b"").replace(b'\\"', b"")
    codes = np.frombuffer(text, np.uint8)
    outside = np.cumsum(codes == ord('"'), dtype=np.int32) % 2 == 0
    opens = (codes == ord("[")) | (codes == ord("{"))
    closes = (codes == ord("]")) | (codes == ord("}"))
    steps = (opens & outside).astype(np.int8) - (closes & outside)
    return int(np.cumsum(steps, dtype=np.int32).max(initial=0))


def _unique(pairs):
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ModelFormatError("a JSON object has a key twice.")
    return found


def _reject(name):
    raise ModelFormatError(f"{name} is not a JSON number.")
