"""ONNX graphs give what `transform` gives, under onnxruntime, for any batch."""

import sys
from math import prod

import numpy as np
import pytest
from pairs import pairs
from sklearn.base import is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.neighbors import KNeighborsClassifier

from tensorcrp import TensorCRP, TensorCRPCV, baselines
from tensorcrp.baselines import BASELINES
from tensorcrp.persistence import ModelFormatError, export_onnx
from tensorcrp.persistence import _onnx as onnx_module

onnxruntime = pytest.importorskip(
    "onnxruntime", reason="onnxruntime has no wheel for this Python"
)

TRANSFORMERS = [
    TensorCRP(),
    TensorCRP(rank="full"),
    TensorCRPCV(ranks=(1,), regs=(0.1, 1.0), cv=2),
    *(each.cls() for each in BASELINES if not is_classifier(each.cls())),
]
every = pytest.mark.parametrize("model", TRANSFORMERS, ids=str)
SHAPES = [(7,), (4, 3), (3, 2, 4), (2, 3, 2, 2), (1, 4, 1, 2, 2)]


def samples(shape, n=40, offset=0.0):
    rng = np.random.default_rng(0)
    y = np.arange(n) % 3
    X = rng.standard_normal((n, *shape)) + 2 * y.reshape(-1, *[1] * len(shape))
    return (X + offset).astype(np.float32), y


def run(model, path, X):
    export_onnx(model, path)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    (features,) = session.run(["features"], {"X": X})
    return features


def rounding(model, X):
    """What float32 may do to a feature: some units of the sum of its terms' sizes.

    The matrix of a linear map has its values on unit tensors as rows.
    """
    eye = np.eye(prod(X.shape[1:])).reshape(-1, *X.shape[1:])
    zero = model.transform(np.zeros((1, *X.shape[1:])))
    matrix = model.transform(eye) - zero
    flat = X.reshape(len(X), -1).astype(float)
    terms = np.abs(flat) @ np.abs(matrix) + np.abs(zero)
    return 32 * np.finfo(np.float32).eps * terms.max()


@pairs(model=TRANSFORMERS, shape=SHAPES, flat=[False, True])
def test_equal_to_transform(model, shape, flat, tmp_path):
    X, y = samples(shape, offset=3.0)
    if flat:
        X = X.reshape(len(X), -1)
        model = type(model)(**model.get_params() | {"sample_shape": shape})
    model.fit(X, y)
    features = run(model, tmp_path / "model.onnx", X)
    exact = model.transform(X.astype(float))
    assert features.dtype == np.float32
    np.testing.assert_allclose(features, exact, rtol=0, atol=rounding(model, X))


@pytest.mark.parametrize("model", [TensorCRP(), baselines.MPCA()], ids=str)
def test_the_batch_is_free(model, tmp_path):
    X, y = samples((4, 3))
    path = tmp_path / "model.onnx"
    whole = run(model.fit(X, y), path, X)
    session = onnxruntime.InferenceSession(path)
    for n in (1, 2, 17):
        (features,) = session.run(None, {"X": X[:n]})
        np.testing.assert_allclose(features, whole[:n], rtol=1e-5, atol=1e-5)
    (inputs,) = session.get_inputs()
    assert inputs.shape == ["batch", 4, 3]
    with pytest.raises(Exception, match=r"Got invalid dimensions|INVALID_ARGUMENT"):
        session.run(None, {"X": X[:, :2]})


def test_the_file_is_replaced_whole(tmp_path):
    X, y = samples((4, 3))
    path = tmp_path / "model.onnx"
    path.write_text("the old file")
    with pytest.raises(NotFittedError):
        export_onnx(TensorCRP(), path)
    assert path.read_text() == "the old file"
    export_onnx(TensorCRP().fit(X, y), path)
    assert [each.name for each in tmp_path.iterdir()] == ["model.onnx"]


@pytest.mark.parametrize(
    ("model", "error", "words"),
    [
        (baselines.BilinearSVC(), ValueError, "no transform.*coef_"),
        (KNeighborsClassifier(), ModelFormatError, "KNeighborsClassifier"),
    ],
)
def test_what_cannot_be_exported(model, error, words, tmp_path):
    X, y = samples((12,))
    with pytest.raises(error, match=words):
        export_onnx(model.fit(X, y), tmp_path / "model.onnx")
    assert not any(tmp_path.iterdir())


def test_too_large_for_the_format(tmp_path, monkeypatch):
    X, y = samples((4, 3))
    monkeypatch.setattr(onnx_module, "LARGEST", 100)
    with pytest.raises(ValueError, match=r"two gigabytes.*fewer components"):
        export_onnx(TensorCRP().fit(X, y), tmp_path / "model.onnx")


def test_without_onnx_the_extra_is_named(tmp_path, monkeypatch):
    X, y = samples((4, 3))
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match=r"pip install tensorcrp\[onnx\]"):
        export_onnx(TensorCRP().fit(X, y), tmp_path / "model.onnx")
