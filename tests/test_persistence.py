"""Saved models: the same model back, files replaced whole, nothing executed.

Equal means bitwise: features of new samples, every attribute, its type, and the order
of an array in memory.
"""

import ast
import io
import json
import os
import re
import stat
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from model_files import resigned, split_file
from sklearn.base import clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import InconsistentVersionWarning, NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold, LeaveOneOut, StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, NearestCentroid
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.svm import SVC, LinearSVC

import tensorcrp.persistence
from tensorcrp import ClassScatter, TensorCRP, TensorCRPCV, baselines
from tensorcrp.persistence import CLASSIFIERS, ModelFormatError, load, save
from tensorcrp.persistence import _classes as models_module
from tensorcrp.persistence import _classifiers as classifiers_module
from tensorcrp.persistence import _limits as limits
from tensorcrp.persistence import _model_file as format_module

PACKAGE = Path(tensorcrp.persistence.__file__).parent
BASELINES = [each.cls for each in baselines.BASELINES]
GRID = {"ranks": (1, "full"), "regs": (0.1, 1.0), "n_components": (1, 3)}
GRID |= {"cv": 2, "average": 4}


def samples(shape=(4, 3), n=30, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    return rng.standard_normal((n, *shape)) + 2 * y.reshape(-1, *[1] * len(shape)), y


X, Y = samples()
NEW = samples(seed=1)[0]
MODELS = {
    "TensorCRP": TensorCRP(),
    "TensorCRP full": TensorCRP(4, rank="full", between="samples"),
    "TensorCRP random": TensorCRP(4, init="random", n_init=2, random_state=0),
    "TensorCRP start": TensorCRP(4, init=[np.ones((4, 2)), np.ones((3, 2), order="F")]),
    "TensorCRPCV": TensorCRPCV(**GRID),
    **{cls.__name__: cls() for cls in BASELINES},
    "TensorLPP neighbors": baselines.TensorLPP(graph="neighbors", weights="heat"),
    "BilinearSVC hinge": baselines.BilinearSVC(loss="hinge", random_state=0),
}
every = pytest.mark.parametrize("name", MODELS)


def there_and_back(model, path):
    save(model, path)
    return load(path)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.safetensors"


def assert_same(mine, theirs):
    """The same values of the same types, to the last bit."""
    assert type(mine) is type(theirs)
    if isinstance(mine, np.ndarray):
        assert (mine.dtype, mine.shape) == (theirs.dtype, theirs.shape)
        if theirs.flags.forc:  # a piece of a larger array comes back whole
            assert mine.flags.f_contiguous == theirs.flags.f_contiguous
        np.testing.assert_array_equal(mine, theirs)
    elif isinstance(mine, dict):
        assert_same(list(mine), list(theirs))
        assert_same(list(mine.values()), list(theirs.values()))
    elif isinstance(mine, (list, tuple)):
        assert len(mine) == len(theirs)
        for one, other in zip(mine, theirs, strict=True):
            assert_same(one, other)
    elif isinstance(mine, np.random.RandomState):
        assert_same(mine.get_state(), theirs.get_state())
    elif hasattr(mine, "__dict__"):
        assert_same(comparable(mine), comparable(theirs))
    else:
        assert mine == theirs or (mine != mine and theirs != theirs)


def comparable(thing):
    """Attributes, without what is computed when it is asked for.

    A search tree, which is built again, has none of its own.
    """
    computed = ("_tree", "spread")
    return {name: v for name, v in sorted(vars(thing).items()) if name not in computed}


def outputs(model, samples):
    names = ("transform", "predict", "decision_function")
    return [getattr(model, n)(samples) for n in names if hasattr(model, n)]


# --- the same model back ----------------------------------------------------------


def test_every_estimator_is_in_the_tables():
    ours = {TensorCRP, TensorCRPCV, *BASELINES}
    assert (
        set(models_module.CLASSES.values())
        == ours
        == {type(model) for model in MODELS.values()}
    )


@every
def test_fitted(name, path):
    model = clone(MODELS[name]).fit(X, Y)
    again = there_and_back(model, path)
    assert_same(again, model)
    assert_same(outputs(again, NEW), outputs(model, NEW))


@every
def test_unfitted(name, path):
    again = there_and_back(MODELS[name], path)
    assert_same(again, MODELS[name])
    with pytest.raises(NotFittedError):
        outputs(again, X)
    assert_same(outputs(again.fit(X, Y), NEW), outputs(clone(again).fit(X, Y), NEW))


# A given start is for matrices.
@pytest.mark.parametrize("name", [each for each in MODELS if each != "TensorCRP start"])
@pytest.mark.parametrize("shape", [(7,), (2, 2, 1, 3)])
def test_other_orders_flattened_with_names(name, shape, path):
    tensors, y = samples(shape)
    frame = pd.DataFrame(tensors.reshape(len(tensors), -1))
    frame = frame.rename(columns=lambda i: f"pixel[{i}")
    model = clone(MODELS[name]).set_params(sample_shape=shape).fit(frame, y)
    again = there_and_back(model, path)
    assert_same(again, model)
    assert_same(outputs(again, frame), outputs(model, frame))
    with pytest.raises(ValueError, match="feature names"):
        outputs(again, frame.rename(columns={"pixel[0": "other"}))


@pytest.mark.parametrize(
    "labels",
    [
        ["no", "yes", "naïve 試"],
        [True, False, True],
        [-1, 5, 2**40],
        np.array([0.0, 1.0, 7.0], np.float32),
        np.array(["a", "b\0c", "c"], dtype=object),
        np.array([1, 2, 200], np.uint8),
    ],
    ids=lambda value: type(value).__name__,
)
@pytest.mark.parametrize("kind", ["TensorCRP", "TensorCRPCV"])
def test_labels_of_any_plain_type(labels, kind, path):
    model = clone(MODELS[kind]).fit(X, np.asarray(labels)[Y])
    again = there_and_back(model, path)
    assert_same(again.classes_, model.classes_)
    assert_same(outputs(again, NEW), outputs(model, NEW))


@pytest.mark.parametrize("cls", [c for c in BASELINES if hasattr(c, "partial_fit")])
@pytest.mark.parametrize("seen", [1, 10, 20])
def test_a_stream_goes_on_after_loading(cls, seen, path):
    """Also of an estimator that has too few samples to be fitted yet."""
    model = cls().partial_fit(X[:seen], Y[:seen])
    again = there_and_back(model, path)
    assert_same(again, model)
    for each in (model, again):
        each.partial_fit(X[seen:], Y[seen:])
    assert_same(again, model)


@pytest.mark.parametrize("rank", [2, "full"])
def test_a_stream_of_crp_goes_on_after_loading(rank, path):
    model = TensorCRP(rank=rank).partial_fit(X[:15], Y[:15])
    again = there_and_back(model, path).partial_fit(X[15:], Y[15:])
    assert_same(again, model.partial_fit(X[15:], Y[15:]))
    assert isinstance(again._scatter, ClassScatter)


def test_set_output_is_kept(path):
    model = TensorCRP().set_output(transform="pandas").fit(X, Y)
    features = there_and_back(model, path).transform(NEW)
    pd.testing.assert_frame_equal(features, model.transform(NEW))


def test_float32(path):
    model = TensorCRP().fit(X.astype(np.float32), Y)
    assert_same(
        outputs(there_and_back(model, path), NEW.astype(np.float32)),
        outputs(model, NEW.astype(np.float32)),
    )


PARAMETERS = {
    "n_components": [None, 3, np.int64(3), "paper"],
    "reg": [0.1, np.float32(0.1), float("nan"), float("inf"), -float("inf"), 1e-320],
    "init": ["lda", [np.ones((4, 2))], np.ones((2, 4, 2))[:, ::2, ::-1], [[[1.0]], ()]],
    "sample_shape": [(4, 3), [4, 3], np.array([4, 3]), (np.int32(4), 3)],
    "random_state": [0, -5, np.random.RandomState(7)],
    "verbose": [
        True,
        {1: "a", "b": (None, 2.5), None: []},
        "\ud800 \0 é",
        range(1, 7, 2),
    ],
    "tol": [np.float16(0.5), np.bool_(True), np.str_("text"), 2**62, -(2**62)],
    "rank": [
        np.array(["full", "2"]),
        np.array([1, "full", None], object),
        np.zeros((0, 3)),
    ],
}


@pytest.mark.parametrize(
    ("name", "value"), [(n, v) for n, values in PARAMETERS.items() for v in values]
)
def test_parameters_of_every_plain_type(name, value, path):
    model = TensorCRP(**{name: value})
    assert_same(there_and_back(model, path), model)


def test_random_numbers_go_on_where_they_were(path):
    model = TensorCRP(init="random", random_state=np.random.RandomState(3))
    model.random_state.standard_normal(7)  # leaves one number in reserve
    again = there_and_back(model, path)
    assert_same(
        again.random_state.standard_normal(9), model.random_state.standard_normal(9)
    )


def test_arrays_that_are_shared_stay_shared(path):
    model = TensorCRPCV(**GRID).fit(X, Y)
    again = there_and_back(model, path)
    for name in ("components_", "factors_", "classes_"):
        assert getattr(again, name) is getattr(again.best_estimator_, name)
    stored = json.loads(split_file(path.read_bytes())[0])
    assert sum("components_" in name for name in stored) == 1


def test_a_search_whose_best_estimator_is_another_is_refused(path):
    model = TensorCRPCV(**GRID).fit(X, Y)
    model.components_ = 2 * model.components_
    with pytest.raises(ModelFormatError, match="components_ is not that of best_"):
        save(model, path)


def test_an_array_that_is_there_twice_is_stored_twice(path):
    start = np.ones((3, 2))
    again = there_and_back(TensorCRP(init=[start, start], verbose={"a 1": start}), path)
    again.init[0][:] = 7.0
    np.testing.assert_array_equal(again.init[1], start)
    np.testing.assert_array_equal(again.verbose["a 1"], start)


def test_the_same_model_gives_the_same_bytes(path):
    contents = []
    for _ in range(2):
        save(TensorCRPCV(**GRID).fit(X, Y), path)
        contents.append(path.read_bytes())
    assert contents[0] == contents[1]


# --- the judge of TensorCRPCV -----------------------------------------------------

SUPPORTED = [
    KNeighborsClassifier(3, algorithm="kd_tree", leaf_size=2),
    KNeighborsClassifier(3, weights="distance", metric="minkowski", p=1.5),
    KNeighborsClassifier(2, algorithm="brute", metric="cosine"),
    GaussianNB(),
    LinearDiscriminantAnalysis(),
    LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto"),
    LinearSVC(random_state=0),
    LogisticRegression(class_weight={0: 1.0, 1: 2.0, 2: 1.0}),
    NearestCentroid(),
    NearestCentroid(metric="manhattan"),
    SVC(),
    SVC(kernel="linear", class_weight="balanced", decision_function_shape="ovo"),
    SVC(kernel="poly", degree=2, gamma=0.1),
]


def test_every_judge_is_tested():
    assert {type(judge).__name__ for judge in SUPPORTED} == set(CLASSIFIERS)


@pytest.mark.parametrize("classifier", SUPPORTED, ids=str)
def test_classifiers(classifier, path):
    model = TensorCRPCV(classifier, **GRID).fit(X, Y)
    again = there_and_back(model, path)
    assert_same(again, model)
    assert_same(outputs(again, NEW), outputs(model, NEW))
    if hasattr(classifier, "predict_proba"):
        assert_same(again.predict_proba(NEW), model.predict_proba(NEW))


@pytest.mark.parametrize(
    "judge",
    [
        RandomForestClassifier(3, random_state=0),
        make_pipeline(FunctionTransformer(), GaussianNB()),
        KNeighborsClassifier(metric=lambda a, b: abs(a - b).sum()),
        KNeighborsClassifier(weights=np.ones_like),
    ],
    ids=lambda value: type(value).__name__,
)
@pytest.mark.parametrize("fitted", [False, True])
def test_other_judges_are_refused_before_anything_is_written(judge, fitted, path):
    model = TensorCRPCV(judge, **GRID)
    if fitted:
        model.fit(X, Y)
    path.write_text("the old file")
    with pytest.raises(ModelFormatError, match=r"(estimator|step).*(code|skops)"):
        save(model, path)
    assert path.read_text() == "the old file"
    assert [each.name for each in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize(
    ("bound", "value", "words"),
    [
        ("NEIGHBOURS", 240, "more than 239 numbers of nearest neighbours.*skops"),
        ("OBJECTS", 3, "at most 2 estimators"),
        ("TEXTS", 33, "at most 32 texts"),
    ],
)
def test_save_and_load_have_the_same_bounds(bound, value, words, path, monkeypatch):
    """What cannot be loaded is not written; 30 samples count 8 numbers each."""
    model = TensorCRPCV(**GRID | {"average": 1, "distance": "euclidean"})
    model.fit(X, np.array(["a", "b", "c"], object)[Y])
    monkeypatch.setattr(limits, bound, value)
    assert_same(there_and_back(model, path), model)
    monkeypatch.setattr(limits, bound, value - 1)
    for refused in (lambda: save(model, path), lambda: load(path)):
        with pytest.raises(ModelFormatError, match=words):
            refused()


def test_neighbours_with_several_outputs_are_refused(path):
    judge = KNeighborsClassifier(1).fit(X.reshape(30, -1), np.column_stack([Y, Y]))
    with pytest.raises(ModelFormatError, match="y of a KNeighborsClassifier"):
        save(TensorCRPCV(judge), path)


@pytest.mark.parametrize(
    "cv",
    [
        StratifiedKFold(3, shuffle=True, random_state=np.random.RandomState(0)),
        GroupKFold(2),
        LeaveOneOut(),
        [(np.arange(15), np.arange(15, 30))],
        3,
    ],
    ids=lambda value: type(value).__name__,
)
def test_splitters(cv, path):
    model = TensorCRPCV(cv=cv)
    assert_same(there_and_back(model, path), model)


def test_a_judge_of_another_scikit_learn_warns(path, monkeypatch):
    save(TensorCRPCV(GaussianNB(), **GRID).fit(X, Y), path)
    monkeypatch.setattr(classifiers_module, "SKLEARN", "99.0")
    with pytest.warns(InconsistentVersionWarning, match="GaussianNB"):
        load(path)
    save(TensorCRPCV(**GRID).fit(X, Y), path)
    load(path)  # neighbours are fitted again: any version will do


# --- what is not saved ------------------------------------------------------------


class Subclass(TensorCRP):
    """Not a class of the package."""


def own_start(shape, rank, rng):
    return [np.ones((size, rank)) for size in shape]


NESTED = []
for _ in range(40):
    NESTED = [NESTED]
ITSELF = []
ITSELF.append(ITSELF)


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (TensorCRP(init=own_start), "init is code.*own_start.*Replace it"),
        (TensorCRP(init=lambda *a: None), "init is code.*set_params"),
        (TensorCRP(verbose=NESTED), "verbose.*too deep"),
        (TensorCRP(verbose=ITSELF), "verbose.*too deep"),
        (TensorCRP(verbose={1, 2}), "verbose is a set"),
        (TensorCRP(verbose=b"bytes"), "verbose is a bytes"),
        (TensorCRP(verbose=1j), "verbose is a complex"),
        (TensorCRP(verbose=np.ones(2, complex)), "verbose is an array of complex128"),
        (TensorCRP(verbose=np.array(["2020"], "M8[Y]")), "array of datetime64"),
        (TensorCRP(verbose=np.ma.ones(3)), "verbose is a MaskedArray"),
        (TensorCRP(verbose=np.array([open], object)), r"verbose\[0\] is code"),
        (TensorCRP(verbose=2**70), "verbose is an integer of more than 64 bits"),
        (TensorCRP(verbose=list(range(10**6))), "header of .* bytes.*arrays"),
        (
            TensorCRP(random_state=np.random.default_rng()),
            "random_state is a Generator",
        ),
        (
            TensorCRP(random_state=np.random.RandomState(np.random.PCG64())),
            "RandomState of PCG64.*integer",
        ),
        (Subclass(), "takes the estimators of tensorcrp.*got a Subclass"),
        (KNeighborsClassifier(), "got a KNeighborsClassifier"),
        ({}, "got a dict"),
    ],
)
def test_what_is_not_plain_is_refused(model, words, path):
    with pytest.raises(ModelFormatError, match=words):
        save(model, path)
    assert not any(path.parent.iterdir())


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"extra_": 1}, "no attributes"),
        ({"projections_": np.ones((2, 11))}, "projections_"),
        ({"projections_": np.full((2, 12), np.nan)}, "projections_"),
        ({"projections_": np.ones((3, 12))}, "projections_"),
        ({"factors_": [np.ones((2, 4, 2))]}, "factors_"),
        ({"factors_": [np.ones((2, 4, 2)), np.ones((2, 3, 1))]}, "factors_"),
        ({"sample_shape_": (4, 4)}, "shapes alike"),
        ({"input_shape_": (3, 4)}, "flattened"),
        ({"n_features_in_": 5}, "n_features_in_"),
        ({"classes_": np.ones((3, 1))}, "classes_"),
        ({"n_iter_": 2.5}, "n_iter_"),
        ({"lambda_": "1"}, "lambda_"),
        ({"objective_": [np.ones(2)]}, "objective_"),
        ({"feature_names_in_": np.array(["a", "b"], object)}, "feature_names_in_"),
        ({"_scatter": ClassScatter.from_samples(X[:, :2], Y)}, "_scatter"),
        ({"_sklearn_output_config": {"fit": "pandas"}}, "set_output"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_attributes_that_do_not_go_together(changes, words, path):
    """The same check guards save and load."""
    model = TensorCRP(2).fit(X, Y)
    vars(model).update(changes)
    with pytest.raises(ModelFormatError, match=words):
        save(model, path)


@pytest.mark.parametrize("lost", ["projections_", "sample_shape_", "lambda_"])
def test_attributes_that_are_missing(lost, path):
    model = TensorCRP(2).fit(X, Y)
    delattr(model, lost)
    with pytest.raises(ModelFormatError, match=lost):
        save(model, path)


# --- versions ---------------------------------------------------------------------


def rewritten(content, **texts):
    """The file with other texts in its header, signed again."""
    header, data = split_file(content)
    header = json.loads(header)
    header["__metadata__"].update(texts)
    return resigned(json.dumps(header, separators=(",", ":")).encode(), data)


def with_more(texts, name, **more):
    node = json.loads(texts[name])
    node["dict"] += [[key, value] for key, value in more.items()]
    return json.dumps(node)


def test_a_newer_major_version_says_so(path):
    save(TensorCRP(), path)
    path.write_bytes(rewritten(path.read_bytes(), format="2.0"))
    with pytest.raises(ModelFormatError, match=r"format 2\.0.*reads 1\.x: upgrade"):
        load(path)


def test_a_newer_minor_version_loads_without_what_is_new(path):
    model = TensorCRP(2).fit(X, Y)
    save(model, path)
    content = path.read_bytes()
    texts = json.loads(split_file(content)[0])["__metadata__"]
    later = {
        "format": "1.7",
        "parameters": with_more(texts, "parameters", momentum=0.5),
        "state": with_more(texts, "state", momentum_=0.5),
        "licence": "free",
    }
    path.write_bytes(rewritten(content, **later))
    with pytest.warns(UserWarning, match="momentum.*Upgrade"):
        again = load(path)
    assert_same(again, model)
    path.write_bytes(rewritten(content, **later | {"format": "1.0"}))
    with pytest.raises(ModelFormatError):
        load(path)


def test_an_older_minor_version_loads(path, monkeypatch):
    model = TensorCRP(2).fit(X, Y)
    save(model, path)
    monkeypatch.setattr(format_module, "MINOR", 3)
    assert_same(load(path), model)


def without(texts, name, *gone):
    node = json.loads(texts[name])
    node["dict"] = [pair for pair in node["dict"] if pair[0] not in gone]
    return json.dumps(node)


def test_version_1_0_had_no_limits_of_memory(path):
    """Its files have neither those parameters nor the error of the root."""
    model = TensorCRP(2).partial_fit(X, Y)
    save(model, path)
    content = path.read_bytes()
    texts = json.loads(split_file(content)[0])["__metadata__"]
    older = {
        "format": "1.0",
        "parameters": without(texts, "parameters", "max_memory", "max_rows"),
        "state": without(texts, "state", "root_error_"),
    }
    path.write_bytes(rewritten(content, **older))
    again = load(path)
    assert_same(again, model)
    assert (again.root_error_, again.max_memory, again.max_rows) == (0.0, None, None)
    assert_same(again.partial_fit(X, Y), model.partial_fit(X, Y))


@pytest.mark.parametrize("version", ["1.0", "1.1", "1.2", "1.3"])
def test_until_version_1_3_there_was_no_warm_start(path, version):
    model = TensorCRP(2).fit(X, Y)
    model.converged_ = None  # so that there is no array of it
    save(model, path)
    content = path.read_bytes()
    texts = json.loads(split_file(content)[0])["__metadata__"]
    older = {
        "format": version,
        "parameters": without(texts, "parameters", "warm_start", "callback"),
        "state": without(texts, "state", "converged_"),
    }
    path.write_bytes(rewritten(content, **older))
    again = load(path)
    assert (again.warm_start, again.callback, again.converged_) == (False, None, None)
    assert_same(again.transform(NEW), model.transform(NEW))
    assert again.n_iters_.tolist() == model.n_iters_.tolist()


# What a search of version 0.3 holds beyond the best point.
AVERAGE = {"members_", "weights_", "candidates_", "ordered_", "distances_"}


def of_version_1(path, model, **texts):
    """The file of a search as format 1.1 wrote it: the best point, named twice."""
    save(model, path)
    header, data = split_file(path.read_bytes())
    header = json.loads(header)
    node = json.loads(header["__metadata__"]["state"])
    best = dict(node["dict"])["best_estimator_"]["model"]
    state = dict(dict(best["dict"])["state"]["dict"])
    names = ("components_", "projections_", "factors_", "classes_", "n_iter_")
    later = AVERAGE | {"projections_"}
    node["dict"] = [pair for pair in node["dict"] if pair[0] not in later]
    node["dict"] += [[name, state[name]] for name in names]
    header["__metadata__"] |= {"state": json.dumps(node), **texts}
    kept, place = [], 0
    for name in [name for name in header if name != "__metadata__"]:
        if name.split("/")[0].split(".")[0] in later:
            del header[name]
            continue
        first, last = header[name]["data_offsets"]
        header[name]["data_offsets"] = [place, place + last - first]
        kept.append(data[first:last])
        place += last - first
    return resigned(json.dumps(header, separators=(",", ":")).encode(), b"".join(kept))


def test_searches_of_version_1_1_are_averages_of_one(path):
    """Such a file named the arrays of the best point twice."""
    plain = {"average": 1, "distance": "euclidean", "white": False}
    model = TensorCRPCV(**GRID | plain).fit(X, Y)
    model.distances_.mean_[:] = 0.0  # features were not centred
    model.estimator_.fit(model.transform(X), Y)
    path.write_bytes(of_version_1(path, model, format="1.1"))
    again = load(path)
    np.testing.assert_array_equal(again.predict(NEW), model.predict(NEW))
    np.testing.assert_array_equal(again.transform(NEW), model.transform(NEW))
    assert again.members_ == [model.best_params_]
    path.write_bytes(of_version_1(path, model))
    with pytest.raises(ModelFormatError, match="is named 2 times"):
        load(path)


def test_a_stream_keeps_its_error(path):
    model = TensorCRP(2, max_rows=4, max_memory=1e9).partial_fit(X, Y)
    again = there_and_back(model, path)
    assert again.root_error_ == model.root_error_ > 0
    assert_same(again.partial_fit(X, Y), model.partial_fit(X, Y))


@pytest.mark.parametrize("name", ["error", "missing"])
@pytest.mark.parametrize("value", [-1.0, np.inf, np.nan, 1, "a", None])
def test_errors_that_are_none(name, value, path):
    model = TensorCRP(2).partial_fit(X, Y)
    model._scatter = replace(model._scatter, **{name: value})
    save(model, path)
    with pytest.raises(ModelFormatError, match="no number"):
        load(path)


@pytest.mark.parametrize("text", ["", "1", "1.0.0", "0.9", "x.y", "-1.0", "1.99999999"])
def test_no_version(text, path):
    save(TensorCRP(), path)
    path.write_bytes(rewritten(path.read_bytes(), format=text))
    with pytest.raises(ModelFormatError, match=r"version|never"):
        load(path)


def test_the_header_can_be_read_by_people(path):
    save(TensorCRP(3, reg=0.7).fit(X, Y), path)
    texts = json.loads(split_file(path.read_bytes())[0])["__metadata__"]
    assert texts["class"] == "TensorCRP"
    assert json.loads(texts["sample_shape"]) == [4, 3]
    assert set(json.loads(texts["versions"])) == {"tensorcrp", "numpy", "scikit-learn"}
    assert ["reg", 0.7] in json.loads(texts["parameters"])["dict"]
    assert re.fullmatch("[0-9a-f]{64}", texts["tensorcrp_sha256"])


def test_other_readers_of_safetensors_find_the_arrays(path):
    numpy_reader = pytest.importorskip(
        "safetensors.numpy", reason="safetensors is in the extra test"
    )
    model = baselines.MPCA(2).fit(X, Y)
    save(model, path)
    arrays = numpy_reader.load_file(path)
    np.testing.assert_array_equal(arrays["mean_"], model.mean_)


# --- files ------------------------------------------------------------------------


def test_a_failing_save_leaves_the_old_file_and_nothing_else(path, monkeypatch):
    save(TensorCRP(2), path)
    before = path.read_bytes()

    def full_disk(handle):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full_disk)
    with pytest.raises(OSError, match="No space"):
        save(TensorCRP(3), path)
    monkeypatch.undo()
    assert path.read_bytes() == before
    assert [each.name for each in path.parent.iterdir()] == [path.name]


def test_an_interrupted_save_leaves_the_old_file_and_nothing_else(path, monkeypatch):
    save(TensorCRP(2), path)

    def ctrl_c(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", ctrl_c)
    with pytest.raises(KeyboardInterrupt):
        save(TensorCRP(3), path)
    assert load(path).n_components == 2
    assert [each.name for each in path.parent.iterdir()] == [path.name]


def test_flushed_before_renamed_and_the_folder_after(path, disk_calls):
    save(TensorCRP(), path)
    assert disk_calls == ["file", "rename", "folder"]


def test_permissions(path):
    save(TensorCRP(), path)
    umask = os.umask(0)
    os.umask(umask)
    assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~umask
    path.chmod(0o600)
    save(TensorCRP(), path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_link_is_replaced_and_its_target_is_not(path, tmp_path):
    other = tmp_path / "other"
    other.write_text("somebody's file")
    path.symlink_to(other)
    save(TensorCRP(5), path)
    assert not path.is_symlink()
    assert other.read_text() == "somebody's file"
    link = tmp_path / "link"
    link.symlink_to(path)
    assert load(link).n_components == 5


def test_a_long_name_and_a_relative_one(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("m" * 255, "model", "./a model"):
        save(TensorCRP(5), name)
        assert load(name).n_components == 5


def test_no_folder(tmp_path):
    with pytest.raises(FileNotFoundError):
        save(TensorCRP(), tmp_path / "nowhere" / "model")
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "nothing")


def test_not_a_path():
    with pytest.raises(TypeError):
        save(TensorCRP(), io.BytesIO())
    with pytest.raises(TypeError):
        load(io.BytesIO())


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_pipes_folders_and_devices(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in (pipe, tmp_path, Path("/dev/zero")):
        with pytest.raises(ModelFormatError, match="not a regular file"):
            load(path)
        with pytest.raises(ValueError, match="give the path of a file"):
            save(TensorCRP(), path)
    assert [each.name for each in tmp_path.iterdir()] == ["pipe"]


def test_too_large(path):
    save(TensorCRP(3).fit(X, Y), path)
    size = path.stat().st_size
    load(path, max_bytes=size)
    with pytest.raises(ModelFormatError, match=f"{size} bytes.*max_bytes"):
        load(path, max_bytes=size - 1)


def test_a_sparse_file_of_a_terabyte(path):
    save(TensorCRP(3).fit(X, Y), path)
    os.truncate(path, 2**40)
    with pytest.raises(ModelFormatError, match="max_bytes"):
        load(path)


def test_load_closes_the_file(path):
    save(TensorCRP(3).fit(X, Y), path)
    handles = Path("/proc/self/fd")
    if not handles.exists():
        pytest.skip("this system does not list open files")
    before = len(list(handles.iterdir()))
    for content in (path.read_bytes(), b"", b"x" * 100):
        path.write_bytes(content)
        try:
            load(path)
        except ModelFormatError:
            assert content[:1] != b"\x00"
    assert len(list(handles.iterdir())) == before


def test_loaded_arrays_can_be_changed(path):
    again = there_and_back(TensorCRP(3).fit(X, Y), path)
    again.projections_[0, 0] = 7.0
    assert again.projections_.flags.writeable


# --- damage, by hand (the fuzz harness does it by thousands) ----------------------


@pytest.mark.parametrize("where", [0, 3, 8, 50, 120, -1])
def test_a_flipped_bit_is_found(where, path):
    save(TensorCRP(3).fit(X, Y), path)
    content = bytearray(path.read_bytes())
    content[where] ^= 1
    path.write_bytes(content)
    with pytest.raises(ModelFormatError):
        load(path)


@pytest.mark.parametrize("length", [0, 1, 7, 8, 9, 60, 500, -1])
def test_a_cut_file_is_found(length, path):
    save(TensorCRP(3).fit(X, Y), path)
    path.write_bytes(path.read_bytes()[:length])
    with pytest.raises(ModelFormatError):
        load(path)


def test_appended_bytes_are_found(path):
    save(TensorCRP(3).fit(X, Y), path)
    path.write_bytes(path.read_bytes() + b"\0")
    with pytest.raises(ModelFormatError):
        load(path)


@pytest.mark.slow
def test_deep_json_with_a_high_recursion_limit(path):
    """The depth is counted and not tried out: no stack to run over.

    In a child, because the end of the stack is the end of the process. It has its
    modules before it has the limit: only `load` is to go without a safety net.
    """
    text = b'{"__metadata__":{"tensorcrp_sha256":"' + b"0" * 64 + b'","state":'
    text += b"[" * 10**5 + b"]" * 10**5 + b"}}"
    path.write_bytes(resigned(text, b""))
    code = """
import sys
from tensorcrp.persistence import ModelFormatError, load
sys.setrecursionlimit(10**9)
try:
    load(sys.argv[1])
except ModelFormatError as error:
    print(error)
"""
    child = subprocess.run(
        [sys.executable, "-c", code, str(path)],
        capture_output=True,
        text=True,
        cwd=PACKAGE.parent.parent,
    )
    assert "deeper than" in child.stdout, (child.returncode, child.stderr)


def test_brackets_and_quotes_in_texts_are_no_depth(path):
    value = '[{"\\' * 500
    assert there_and_back(TensorCRP(verbose=value), path).verbose == value


def test_a_position_beyond_the_random_key_is_refused(path):
    save(TensorCRP(random_state=np.random.RandomState(0)), path)
    content = path.read_bytes()
    texts = json.loads(split_file(content)[0])["__metadata__"]
    for position in (625, 10**6, -1):
        far = texts["parameters"].replace('["pos",624]', f'["pos",{position}]')
        assert far != texts["parameters"]
        path.write_bytes(rewritten(content, parameters=far))
        with pytest.raises(ModelFormatError, match="RandomState"):
            load(path)


def test_no_module_of_persistence_can_execute_a_file():
    """Neither pickle nor anything that evaluates or imports by name."""
    forbidden = {"pickle", "marshal", "shelve", "joblib", "runpy", "ctypes"}
    forbidden |= {"eval", "exec", "compile", "__import__", "import_module", "np.load"}
    for module in PACKAGE.glob("*.py"):
        for node in ast.walk(ast.parse(module.read_text())):
            names = {alias.name for alias in getattr(node, "names", ()) if alias}
            if isinstance(node, ast.ImportFrom):
                names |= {node.module}
            elif isinstance(node, ast.Call):
                names |= {ast.unparse(node.func)}
            assert not names & forbidden, module.name


def test_a_pickle_is_not_a_model(path):
    path.write_bytes(b"\x80\x04\x95" + b"cos\nsystem\n(S'true'\ntR." * 3)
    with pytest.raises(ModelFormatError):
        load(path)


# --- several at once --------------------------------------------------------------


def test_readers_beside_a_writer_see_whole_files(path):
    small, large = TensorCRP(1).fit(X, Y), TensorCRP(6).fit(X, Y)
    save(small, path)
    stop, seen = threading.Event(), set()

    def read():
        while not stop.is_set():
            seen.add(len(load(path).projections_))

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    for _ in range(15):
        save(large, path)
        save(small, path)
    stop.set()
    for reader in readers:
        reader.join()
    assert seen and seen <= {1, 6}
