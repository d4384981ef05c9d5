"""A fitted transform as an ONNX graph (extra ``onnx``).

In: a fitted transformer. Out: a file with a graph from ``X`` (batch, l_1, ..., l_N), or
flattened as in `fit`, to ``features`` (batch, h), in float32: one matrix product, or
one per mode for methods with a factor per mode, and what a null sample gives.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tensorcrp.base.files import replacing
from tensorcrp.base.types import AnyPath
from tensorcrp.baselines.tucker import TuckerTransformer
from tensorcrp.persistence._estimators import take_apart

OPSET, IR = 13, 8  # old enough for every runtime in use
LARGEST = 2**31 - 2**20  # bytes that protobuf can hold


def export_onnx(estimator: Any, path: AnyPath) -> None:
    """Write the transform of a fitted estimator as an ONNX graph.

    Under onnxruntime the graph gives `transform` of float32 samples, to the rounding
    of float32. The size of the batch is free.

    Parameters
    ----------
    estimator : fitted transformer of tensorcrp
        Any except `BilinearSVC`, which has no transform.
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
    take_apart(estimator)  # an estimator of ours, whose attributes go together
    if not hasattr(estimator, "transform"):
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
    graph = _Graph(onnx, estimator)
    model = onnx.helper.make_model(
        graph.build(),
        producer_name="tensorcrp",
        ir_version=IR,
        opset_imports=[onnx.helper.make_opsetid("", OPSET)],
    )
    onnx.checker.check_model(model)
    with replacing(path) as file:
        file.write(model.SerializeToString())


class _Graph:
    """Nodes and constants of a graph under construction."""

    def __init__(self, onnx, estimator):
        self.onnx, self.estimator = onnx, estimator
        self.nodes, self.constants = [], []

    def build(self):
        """The graph from X to features."""
        helper, single = self.onnx.helper, self.onnx.TensorProto.FLOAT
        estimator = self.estimator
        if isinstance(estimator, TuckerTransformer):
            last = self._mode_products()
        else:
            last = self._matrix_product()
        self.node("Identity", [last], output="features")
        shape = ["batch", *map(int, estimator.input_shape_)]
        X = helper.make_tensor_value_info("X", single, shape)
        features = helper.make_tensor_value_info(
            "features", single, ["batch", int(estimator._n_features_out)]
        )
        return helper.make_graph(
            self.nodes, type(estimator).__name__, [X], [features], self.constants
        )

    def _matrix_product(self):
        flat = self.node("Flatten", ["X"], axis=1)
        return self.node(
            "MatMul",
            [flat, self.constant("projections", self.estimator.projections_.T)],
        )

    def _mode_products(self):
        """Bring every mode to the end in turn and multiply it by its factor.

        After as many turns as there are modes they stand in their old order.
        """
        estimator = self.estimator
        shape = np.array([-1, *estimator.sample_shape_], np.int64)
        last = self.node("Reshape", ["X", self.constant("shape", shape, np.int64)])
        turn = [0, *range(2, len(shape)), 1]
        for mode, factor in enumerate(estimator.factors_):
            turned = self.node("Transpose", [last], perm=turn)
            factor = self.constant(f"factor{mode}", factor)
            last = self.node("MatMul", [turned, factor])
        last = self.node("Flatten", [last], axis=1)
        if hasattr(estimator, "mean_"):
            start = estimator.transform(np.zeros((1, *estimator.input_shape_)))
            last = self.node(
                "Add", [last, self.constant("start", np.asarray(start)[0])]
            )
        return last

    def node(self, kind, inputs, output=None, **attributes):
        """Add an operation; returns the name of what it gives."""
        output = output or f"value{len(self.nodes)}"
        self.nodes.append(
            self.onnx.helper.make_node(kind, inputs, [output], **attributes)
        )
        return output

    def constant(self, name, array, dtype=np.float32):
        """Add an array; returns its name."""
        array = np.ascontiguousarray(array, dtype)
        if array.nbytes > LARGEST:
            raise ValueError(
                f"{name} has {array.nbytes} bytes, more than the two gigabytes that an "
                "ONNX file holds; fit fewer components."
            )
        self.constants.append(self.onnx.numpy_helper.from_array(array, name))
        return name
