"""Model files made by hand, taken apart and signed again, for tests that forge them.

The layout as the documentation of `tensorcrp.persistence` states it, written a second
time: 8 bytes of header length, the header, the data; the SHA-256 of all of it stands
in the header, computed with zeros in its own place.
"""

import hashlib
import json
import struct

import numpy as np

DTYPES = {"b": "BOOL", "i": "I", "u": "U", "f": "F"}
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


def signed_file(texts, arrays):
    """A file with these texts and arrays, and the right checksum."""
    header, data = {"__metadata__": {"tensorcrp_sha256": "0" * 64, **texts}}, b""
    for name, array in arrays.items():
        array = np.asarray(array)
        kind = DTYPES[array.dtype.kind]
        header[name] = {
            "dtype": kind if kind == "BOOL" else f"{kind}{8 * array.itemsize}",
            "shape": list(array.shape),
            "data_offsets": [len(data), len(data) + array.nbytes],
        }
        data += array.tobytes()
    return resigned(json.dumps(header, separators=(",", ":")).encode(), data)


# --- values and models in a file --------------------------------------------------


def ref(name, axes=None):
    return {"array": name} if axes is None else {"array": name, "axes": axes}


def mapping(pairs):
    return {"dict": [[key, value] for key, value in dict(pairs).items()]}


def thing(tag, name, params=None, state=None):
    """A model, classifier or splitter inside a file."""
    parts = {"class": name, "params": mapping(params or {})}
    return {tag: mapping(parts | {"state": mapping(state or {})})}


def neighbours(X="X", y="y", **params):
    return thing(
        "classifier", "KNeighborsClassifier", params, {"X": ref(X), "y": ref(y)}
    )


def crp_state(shape=(4, 3), h=2, k=2):
    """Attributes and arrays of a fitted TensorCRP."""
    size = int(np.prod(shape))
    arrays = {
        "components_": np.ones((h, *shape)),
        "projections_": np.ones((h, size)),
        "classes_": np.arange(3),
        **{f"factor{m}": np.ones((h, each, k)) for m, each in enumerate(shape)},
        **{f"history{i}": np.ones(1) for i in range(h)},
    }
    sizes = {"tuple": list(shape)}
    state = {"sample_shape_": sizes, "input_shape_": sizes, "n_features_in_": shape[0]}
    for name in ("components_", "projections_", "classes_"):
        state[name] = ref(name)
    state["factors_"] = [ref(f"factor{m}") for m in range(len(shape))]
    state["objective_"] = [ref(f"history{i}") for i in range(h)]
    return state | {"n_iter_": 1, "lambda_": 1.0, "root_error_": 0.0}, arrays


def model_file(
    params=None, state=None, arrays=None, name="TensorCRP", shape=None, version="1.2"
):
    texts = {
        "format": version,
        "class": name,
        "sample_shape": json.dumps(shape),
        "versions": "{}",
        "parameters": json.dumps(mapping(params or {})),
        "state": json.dumps(mapping(state or {})),
    }
    return signed_file(texts, arrays or {})


def crp_file(attributes=None, arrays=None):
    """A fitted TensorCRP of samples (4, 3), with other attributes or arrays."""
    state, own = crp_state()
    merged = own | (arrays or {})
    return model_file({}, state | (attributes or {}), merged, shape=[4, 3])
