"""A fitted model as an ONNX graph (extra ``onnx``).

In: a fitted transformer, or a pipeline with or without a linear classifier. Out: a file
with a graph from ``X`` (batch, l_1, ..., l_N), or flattened as in `fit`, in float32, to
``features`` (batch, h) and, with a linear classifier, ``scores`` (batch, c) and
``label`` (batch,), the names of classes; with one that has them, ``probabilities``.

A transformer is one matrix product, or one per mode for methods with a factor per mode,
and what a null sample gives.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression
from sklearn.utils.validation import check_is_fitted

from tensorcrp.base.files import replacing
from tensorcrp.base.types import AnyPath
from tensorcrp.baselines.tucker import TuckerTransformer
from tensorcrp.files.linear import affine, linear_classifier, model_steps
from tensorcrp.model_selection import DistanceFeatures, TensorCRPCV
from tensorcrp.persistence._estimators import take_apart
from tensorcrp.preprocessing import SHORTER, Motion

OPSET, IR = 13, 8  # old enough for every runtime in use
LARGEST = 2**31 - 2**20  # bytes that protobuf can hold


def export_onnx(estimator: Any, path: AnyPath) -> None:
    """Write a fitted model as an ONNX graph.

    Under onnxruntime the graph gives `transform` of float32 samples, to the rounding
    of float32, as ``features``. If the model ends in a linear classifier (LDA, logistic
    regression, `LinearSVC`, nearest mean), it also gives ``scores`` of the classes and
    their names as ``label``, and for the first two ``probabilities``. The size of the
    batch is free. Names of classes are also in the metadata of the file, as JSON.

    Parameters
    ----------
    estimator : fitted estimator of tensorcrp, or Pipeline
        Any except `BilinearSVC`, which has no transform. Of a `TensorCRPCV` whose
        classifier is not linear, the features alone.
    path : path
        Replaced atomically, as by `save`.

    Examples
    --------
    >>> import tempfile
    >>> import onnxruntime
    >>> from sklearn.datasets import load_digits
    >>> from tensorcrp import TensorCRP
    >>> from tensorcrp.persistence import export_onnx
    >>> X, y = load_digits().images.astype("float32"), load_digits().target
    >>> crp = TensorCRP(rank=2).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     export_onnx(crp, f"{folder}/digits.onnx")
    ...     session = onnxruntime.InferenceSession(f"{folder}/digits.onnx")
    >>> session.run(["features"], {"X": X})[0].shape
    (1797, 27)
    """
    take_apart(estimator)  # supported, with attributes that go together
    if not hasattr(estimator, "transform") and not hasattr(estimator, "steps"):
        raise ValueError(
            f"{type(estimator).__name__} has no transform to export; its scores are "
            "X @ coef_ + intercept_."
        )
    check_is_fitted(estimator)
    try:
        import onnx
    except ImportError as error:
        raise ImportError(
            "ONNX files need onnx: pip install tensorcrp[onnx]"
        ) from error
    known = getattr(estimator, "scores_", {})
    graph = _Graph(onnx, *_steps(estimator), known.get("temperature", 1.0))
    model = onnx.helper.make_model(
        graph.build(type(estimator).__name__),
        producer_name="tensorcrp",
        ir_version=IR,
        opset_imports=[onnx.helper.make_opsetid("", OPSET)],
    )
    if graph.classifier is not None:
        names = json.dumps([str(each) for each in graph.classes])
        onnx.helper.set_model_props(model, {"classes": names})
    onnx.checker.check_model(model)
    with replacing(path) as file:
        file.write(model.SerializeToString())


def _steps(estimator):
    """Transformers, a linear classifier or None, and names of classes or None."""
    steps, classes = model_steps(estimator)
    classifies = len(steps) > 1 and is_classifier(steps[-1])
    if not classifies:
        return steps, None, None
    classifier = steps.pop()
    try:
        linear_classifier(classifier)
    except ValueError:
        if type(estimator) is not TensorCRPCV:
            raise
        return steps[:-1], None, None  # without the distances
    return steps, classifier, classes


class _Graph:
    """Nodes and constants of a graph under construction."""

    def __init__(self, onnx, steps, classifier, classes, temperature):
        self.onnx, self.steps, self.temperature = onnx, steps, temperature
        self.classifier, self.classes = classifier, classes
        self.nodes, self.constants, self.outputs = [], [], []

    def build(self, name):
        """The graph from X to features and labels."""
        first = self.steps[0]
        shape = getattr(first, "input_shape_", None) or (first.n_features_in_,)
        last, seen = "X", None
        for step in self.steps:
            if isinstance(step, DistanceFeatures):
                seen = self._distances(step, last)
                break
            last = self._step(step, last)
            final = step
        n_features = getattr(final, "_n_features_out", None)
        sizes = ["batch", "features" if n_features is None else int(n_features)]
        if isinstance(final, Motion):
            last = self.node("Flatten", [last], axis=1)
        self.output("features", last, sizes)
        last = last if seen is None else seen
        for step in self._after_distances():
            last = self._step(step, last)
        if self.classifier is not None:
            self._classify(last)
        helper, single = self.onnx.helper, self.onnx.TensorProto.FLOAT
        X = helper.make_tensor_value_info("X", single, ["batch", *map(int, shape)])
        return helper.make_graph(self.nodes, name, [X], self.outputs, self.constants)

    def output(self, name, value, shape, kind=None):
        """Hand a value out under a name."""
        kind = self.onnx.TensorProto.FLOAT if kind is None else kind
        self.node("Identity", [value], output=name)
        info = self.onnx.helper.make_tensor_value_info(name, kind, shape)
        self.outputs.append(info)

    def _step(self, step, last):
        if isinstance(step, Motion):
            return self._motion(step, last)
        if isinstance(step, TuckerTransformer):
            return self._mode_products(step, last)
        slopes, start = affine(step)
        if slopes.ndim == 1:
            scaled = self.node("Mul", [last, self.constant("slopes", slopes)])
            return self.node("Add", [scaled, self.constant("start", start)])
        flat = self.node("Flatten", [last], axis=1)
        return self.node("MatMul", [flat, self.constant("projections", slopes.T)])

    def _after_distances(self):
        """Steps between the distances of a search and its classifier."""
        kinds = [isinstance(step, DistanceFeatures) for step in self.steps]
        return self.steps[kinds.index(True) + 1 :] if any(kinds) else []

    def _distances(self, step, last):
        """Features with the distances that a classifier sees."""
        centred = self.node("Sub", [last, self.constant("mean", step.mean_)])
        if step.distance == "euclidean":
            return centred
        norms = self.node("ReduceL2", [centred], axes=[1], keepdims=1)
        least = self.constant("least", [np.finfo(np.float32).tiny])
        units = self.node("Div", [centred, self.node("Max", [norms, least])])
        if step.distance == "cosine":
            return units
        scales = [self.constant("scale", [each]) for each in step.scales_]
        pair = zip((centred, units), scales, strict=True)
        both = [self.node("Mul", [value, scale]) for value, scale in pair]
        return self.node("Concat", both, axis=1)

    def _motion(self, motion, last):
        if motion.kind == "none":
            return last
        flat = motion.input_shape_ != motion.sample_shape_
        if flat:
            last = self._reshape(last, motion.sample_shape_)
        axis, size = motion.mode + 1, motion.sample_shape_[motion.mode]
        if motion.kind in SHORTER:
            later = self._slice(last, axis, 1, size)
            earlier = self._slice(last, axis, 0, size - 1)
            last = self.node("Abs", [self.node("Sub", [later, earlier])])
        else:
            mean = self.node("ReduceMean", [last], axes=[axis], keepdims=1)
            last = self.node("Sub", [last, mean])
        if motion.kind == "root":
            last = self.node("Sqrt", [last])
        return self.node("Flatten", [last], axis=1) if flat else last

    def _slice(self, value, axis, start, stop):
        ends = [self.constant("end", [each], np.int64) for each in (start, stop, axis)]
        return self.node("Slice", [value, *ends])

    def _reshape(self, value, shape):
        sizes = np.array([-1, *shape], np.int64)
        return self.node("Reshape", [value, self.constant("shape", sizes, np.int64)])

    def _mode_products(self, step, last):
        """Bring every mode to the end in turn and multiply it by its factor.

        After as many turns as there are modes they stand in their old order.
        """
        last = self._reshape(last, step.sample_shape_)
        turn = [0, *range(2, len(step.sample_shape_) + 1), 1]
        for mode, factor in enumerate(step.factors_):
            turned = self.node("Transpose", [last], perm=turn)
            factor = self.constant(f"factor{mode}", factor)
            last = self.node("MatMul", [turned, factor])
        last = self.node("Flatten", [last], axis=1)
        if hasattr(step, "mean_"):
            start = step.transform(np.zeros((1, *step.input_shape_)))
            last = self.node(
                "Add", [last, self.constant("start", np.asarray(start)[0])]
            )
        return last

    def _classify(self, features):
        """Scores, label and probabilities of a linear classifier."""
        weights, constants = linear_classifier(self.classifier)
        product = self.node("MatMul", [features, self.constant("coef", weights.T)])
        scores = self.node("Add", [product, self.constant("intercept", constants)])
        self.output("scores", scores, ["batch", len(weights)])
        if _is_softmax(self.classifier):
            warmth = self.constant("temperature", [self.temperature])
            cooler = self.node("Div", [scores, warmth])
            shares = self.node("Softmax", [cooler], axis=1)
            self.output("probabilities", shares, ["batch", len(weights)])
        best = self.node("ArgMax", [scores], axis=1, keepdims=0)
        names = [str(each) for each in self.classes]
        text = self.onnx.TensorProto.STRING
        bytes_ = [name.encode() for name in names]
        self.constants.append(
            self.onnx.helper.make_tensor("classes", text, [len(names)], bytes_)
        )
        label = self.node("Gather", ["classes", best], axis=0)
        self.output("label", label, ["batch"], text)

    def node(self, kind, inputs, output=None, **attributes):
        """Add an operation; returns the name of what it gives."""
        output = output or f"value{len(self.nodes)}"
        self.nodes.append(
            self.onnx.helper.make_node(kind, inputs, [output], **attributes)
        )
        return output

    def constant(self, name, array, dtype=np.float32):
        """Add an array; returns its name, with a number where it is taken."""
        array = np.ascontiguousarray(array, dtype)
        taken = {each.name for each in self.constants}
        name = f"{name}{len(taken)}" if name in taken else name
        if array.nbytes > LARGEST:
            raise ValueError(
                f"{name} has {array.nbytes} bytes, more than the two gigabytes that an "
                "ONNX file holds; fit fewer components."
            )
        self.constants.append(self.onnx.numpy_helper.from_array(array, name))
        return name


def _is_softmax(classifier):
    """Whether probabilities are the softmax of the scores."""
    if isinstance(classifier, LinearDiscriminantAnalysis):
        return True
    one_by_one = getattr(classifier, "multi_class", "auto") == "ovr"
    many = len(classifier.classes_) > 2
    return isinstance(classifier, LogisticRegression) and not (one_by_one and many)
