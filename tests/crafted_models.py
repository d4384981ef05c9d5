"""Hostile model files with a correct checksum: `load` has to reject every one.

Each function of `CRAFTED` makes a file that is wrong in a way that its author wants:
more work or memory than the file has bytes, values of other types, arrays that do not
go together, classes of others.

In: a random generator. Out: the bytes of a file.
"""

import json
from inspect import signature

import numpy as np
from model_files import (
    crp_file,
    crp_state,
    mapping,
    model_file,
    neighbours,
    ref,
    resigned,
    split_file,
    thing,
)

PRIME = 2**61 - 1  # Python's hash of an integer is its remainder


# --- more work than bytes ---------------------------------------------------------


def one_array_many_times(rng):
    """Each text of an object array becomes a Python object."""
    texts = {"objects": {"texts": ref("a")}}
    array = np.full((10_000, 2), 300, np.uint32)
    return model_file(
        {"verbose": [texts] * rng.choice([2, 100, 2000])}, {}, {"a": array}
    )


def one_array_three_times_in_an_old_version(rng):
    """Version 1.1 named some arrays twice."""
    nodes = [ref("a")] * rng.choice([3, 1000])
    version = rng.choice(["1.0", "1.1"])
    return model_file({"verbose": nodes}, {}, {"a": np.ones(3)}, version=version)


def one_array_in_many_orders(rng):
    nodes = [ref("a", axes) for axes in ([0, 1], [1, 0])] * rng.choice([1, 500])
    return model_file({"verbose": nodes}, {}, {"a": np.ones((3, 2))})


def one_array_in_two_attributes(rng):
    name = rng.choice(["components_", "factor0", "classes_", "history0"])
    return crp_file({"_scatter": ref(name)})


def one_array_as_parameter_and_attribute(rng):
    state, arrays = crp_state()
    return model_file({"verbose": ref("factor1")}, state, arrays, shape=[4, 3])


def too_many_texts(rng):
    array = np.full((2**20 + 1, 1), 300, np.uint32)
    return model_file({"verbose": {"objects": {"texts": ref("a")}}}, {}, {"a": array})


def many_neighbours_of_one_array(rng):
    arrays = {"X": np.ones((5000, 4)), "y": np.arange(5000) % 5}
    knn = neighbours(algorithm="kd_tree", leaf_size=1)
    return model_file({"verbose": [knn] * 300}, {}, arrays)


def many_objects(rng):
    make = rng.choice(
        [
            lambda i: neighbours(f"X{i}", f"y{i}"),
            lambda i: thing("splitter", "KFold", {"n_splits": 2}),
            lambda i: thing("model", "TensorCRP"),
            lambda i: thing("classifier", "GaussianNB"),
        ]
    )
    nodes = [make(i) for i in range(rng.choice([33, 2000]))]
    arrays = {f"X{i}": np.ones((3, 1)) for i in range(len(nodes))}
    arrays |= {f"y{i}": np.arange(3) for i in range(len(nodes))}
    arrays = arrays if "X" in json.dumps(nodes[0]) else {}
    return model_file({"verbose": nodes}, {}, arrays)


def too_many_neighbours(rng):
    n = 2**20 + 1
    arrays = {"X": np.zeros((n, 1), np.int8), "y": np.zeros(n, np.int8)}
    return model_file({"verbose": neighbours(leaf_size=1)}, {}, arrays)


def two_halves_too_many_neighbours(rng):
    n = 2**19 + 1
    nodes = [neighbours(f"X{i}", f"y{i}", algorithm="brute") for i in range(2)]
    arrays = {f"X{i}": np.zeros((n, 1), np.int8) for i in range(2)}
    arrays |= {f"y{i}": np.zeros(n, np.int8) for i in range(2)}
    return model_file({"verbose": nodes}, {}, arrays)


def metric_to_invert(rng):
    metric = mapping({"V": ref("V")})
    knn = neighbours(algorithm="ball_tree", metric="mahalanobis", metric_params=metric)
    arrays = {"X": np.ones((3, 1030)), "y": np.arange(3), "V": np.ones((1030, 1030))}
    return model_file({"verbose": knn}, {}, arrays)


def scores_that_broadcast(rng):
    """Coefficients (n, 1) and intercepts (n, 1) would make n x n scores."""
    n, name = 5000, rng.choice(["LogisticRegression", "LinearSVC"])
    state = {"classes_": ref("c"), "coef_": ref("W"), "intercept_": ref("b")}
    state["n_features_in_"] = 1
    arrays = {"c": np.arange(n), "W": np.ones((n, 1)), "b": np.ones((n, 1))}
    judge = thing("classifier", name, {}, state)
    return model_file({"verbose": judge}, {}, arrays)


def classes_to_loop_over(rng):
    n = 2**16 + 1
    names = {"classes_": (n,), "theta_": (n, 1), "var_": (n, 1)}
    names |= {"class_prior_": (n,), "class_count_": (n,)}
    state = {name: ref(name) for name in names} | {"n_features_in_": 1}
    arrays = {name: np.ones(shape) for name, shape in names.items()}
    judge = thing("classifier", "GaussianNB", {}, state | {"epsilon_": 1e-9})
    return model_file({"verbose": judge}, {}, arrays)


def keys_that_collide(rng):
    """Thousands of integers of one hash would take seconds to put into a dict."""
    pairs = [[i * PRIME, 0] for i in range(1, 15_000)]
    return model_file({"verbose": {"dict": pairs}})


def values_in_both_trees(rng):
    """Each text of the header is within its bound, both together are not."""
    values = {"verbose": [0] * 70_000}
    return model_file(values, values)


def models_in_models(rng):
    node = thing("model", "TensorCRP")
    for _ in range(rng.choice([24, 31])):
        node = thing("model", "TensorCRP", {"verbose": node})
    return model_file({"verbose": node})


def deep_lists(rng):
    node = []
    for _ in range(rng.choice([100, 150])):
        node = rng.choice([[node], {"tuple": [node]}])
    return model_file({"verbose": node})


def an_array_of_nothing(rng):
    return crp_file(arrays={rng.choice(["unused", "../x", ""]): np.ones(3)})


# --- shapes and numbers -----------------------------------------------------------


def shapes_that_wrap(rng):
    """100 x 100 is 16 in int8: every product of sizes has to be one of Python's."""
    dtype = rng.choice([np.int8, np.uint8, np.int16, np.uint64, np.bool_, np.float64])
    names = ["s0", "s1", "s2", "s3"]
    sizes = [{"scalar": ref(name)} for name in names]
    state, arrays = crp_state((100, 100))
    state["sample_shape_"] = {"tuple": sizes[:2]}
    state["input_shape_"] = {"tuple": sizes[2:]}
    arrays |= {name: np.array(100).astype(dtype) for name in names}
    wrapped = int(np.array(100).astype(dtype) * np.array(100).astype(dtype))
    arrays["projections_"] = np.ones((2, wrapped))
    return model_file({}, state, arrays, shape=[100, 100])


def sizes_that_are_none(rng):
    size = rng.choice([0, -4, True, None, "4", 4.0, 2**62, [4], {"float": "inf"}])
    shape = {"tuple": [size, 3]}
    first = rng.choice([size, 4])
    sizes = {"sample_shape_": shape, "input_shape_": shape, "n_features_in_": first}
    return crp_file(sizes)


def declared_shapes(rng):
    """The entry of an array says something else than its bytes."""
    header, data = split_file(crp_file())
    header = json.loads(header)
    huge = [2**62, 2**62, 4]
    shapes = [[2, -12], [0, 2**62], huge, [2**40], [2, 12, 0], [1] * 40, [True, 24]]
    header["projections_"]["shape"] = rng.choice(shapes)
    return resigned(json.dumps(header, separators=(",", ":")).encode(), data)


def texts_of_endless_length(rng):
    """No texts, each of 2**38 characters."""
    none = np.zeros((0, 7), np.uint32)
    header, data = split_file(
        model_file({"rank": {"texts": ref("a")}}, {}, {"a": none})
    )
    return resigned(header.replace(b"[0,7]", b"[0,%d]" % 2**38), data)


def not_finite(rng):
    name = rng.choice(["components_", "projections_", "factor0", "factor1"])
    array = crp_state()[1][name]
    array.flat[rng.randrange(array.size)] = rng.choice([np.nan, np.inf, -np.inf])
    return crp_file(arrays={name: array})


def other_dtypes(rng):
    name = rng.choice(["components_", "projections_", "factor0", "history0"])
    dtype = rng.choice([bool, np.int8, np.uint8, np.int64, np.uint32])
    return crp_file(arrays={name: crp_state()[1][name].astype(dtype)})


def other_shapes(rng):
    """One axis of one array is longer than the others say."""
    names = ["components_", "projections_", "factor0", "factor1"]
    name = rng.choice(names)
    shape = list(crp_state()[1][name].shape)
    shape[rng.randrange(len(shape))] += rng.choice([1, 2])
    return crp_file(arrays={name: np.ones(shape)})


def other_orders(rng):
    name, node = rng.choice([("components_", [0, 2, 1]), ("projections_", [1, 0])])
    wrong = rng.choice([node, node[:-1], [0] * len(node), "ab", [0.0, 1.0], [9, 8, 7]])
    return crp_file({name: ref(name, wrong)})


def other_types(rng):
    """Texts where numbers are expected, and the other way round."""
    odd = ["1", None, True, [], {"float": "nan"}, {"tuple": []}, mapping({}), 7]
    name = rng.choice(["n_iter_", "n_features_in_", "factors_", "objective_"])
    good = {"n_features_in_": 4, "n_iter_": 7}.get(name)
    return crp_file({name: rng.choice([each for each in odd if each != good])})


def missing_attributes(rng):
    state, arrays = crp_state()
    name = rng.choice(["components_", "projections_", "classes_", "sample_shape_"])
    state.pop(name), arrays.pop(name, None)
    return model_file({}, state, arrays, shape=[4, 3])


def statistics_that_do_not_go_together(rng):
    parts = {
        "classes": np.arange(3),
        "counts": np.ones(3),
        "means": np.ones((3, 4, 3)),
        "root": np.ones((5, 4, 3)),
    }
    name = rng.choice(["counts", "means", "root"])
    parts[name] = rng.choice(
        [
            parts[name] * np.nan,
            parts[name][:, None],
            parts[name].astype(int),
            -np.ones(2),
        ]
    )
    node = {"scatter": mapping({name: ref(f"s.{name}") for name in parts})}
    return crp_file({"_scatter": node}, {f"s.{n}": each for n, each in parts.items()})


# --- classes ----------------------------------------------------------------------


def classes_of_others(rng):
    words = [
        "os.system",
        "builtins.eval",
        "SVC",
        "Pipeline",
        "TensorCRP ",
        "",
        "__doc__",
    ]
    name, tag = rng.choice(words), rng.choice(["model", "classifier", "splitter"])
    if rng.random() < 0.3:
        return model_file(name=name)
    return model_file({"verbose": thing(tag, name)})


def classes_in_the_wrong_place(rng):
    tag, name = rng.choice(
        [
            ("model", "KNeighborsClassifier"),
            ("classifier", "MPCA"),
            ("splitter", "MPCA"),
        ]
    )
    return model_file({"verbose": thing(tag, name)})


def attributes_that_hide_methods(rng):
    names = ["predict", "fit", "__class__", "__dict__", "_fit_X", "decision_function"]
    tag, name = rng.choice([("classifier", "GaussianNB"), ("model", "MPCA")])
    return model_file({"verbose": thing(tag, name, {}, {rng.choice(names): 1})})


def parameters_of_nobody(rng):
    return model_file({rng.choice(["self", "__class__", "factors_", "x" * 500]): 1})


def crafted():
    """Every function above that makes a file of a random generator, by name."""
    found = {name: each for name, each in globals().items() if callable(each)}
    return {
        name: each
        for name, each in found.items()
        if each.__module__ == __name__ and [*signature(each).parameters] == ["rng"]
    }


CRAFTED = crafted()
