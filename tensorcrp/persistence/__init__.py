"""Models in files, without pickle: save, load, ONNX.

In: any estimator of the package, or a pipeline of them. Out: a file of arrays with a
JSON header, from which `load` makes the same estimator and in which nothing is code; or
an ONNX graph. `tensorcrp.persistence.load` of a malicious file raises
`ModelFormatError`.

What can be saved
    Every estimator of `tensorcrp` and `tensorcrp.baselines`, fitted, unfitted, or
    between two batches of ``partial_fit``. Of a `TensorCRPCV` the classifier has to be
    one of `CLASSIFIERS` or a pipeline, and a splitter as `cv` one of scikit-learn's
    usual ones. A scikit-learn `Pipeline` of these estimators, scalers and
    `CLASSIFIERS`; a `tensorcrp.preprocessing.Motion`; a
    `tensorcrp.files.FileClassifier`, with how its files are read.
What cannot
    Code: ``init`` as a function, a metric as a function, classes of others. `save`
    says so before it writes.
Other formats
    ``skops.io`` saves the same estimators with any classifier of scikit-learn; the
    types to trust when it loads are `SKOPS_TYPES`. The nearest neighbours of a
    `TensorCRPCV` need two more, ``sklearn.neighbors._kd_tree.KDTree`` and
    ``sklearn.metrics._dist_metrics.EuclideanDistance64``: trust those in your own files
    only, since compiled code then works on a tree as the file describes it. Pickle
    works too, and executes whatever is in the file.
"""

import warnings

from tensorcrp.persistence._classes import CLASSIFIERS, SKOPS_TYPES
from tensorcrp.persistence._json import ModelFormatError
from tensorcrp.persistence._model_file import describe, load, save
from tensorcrp.persistence._onnx import export_onnx

__all__ = [
    "CLASSIFIERS",
    "SKOPS_TYPES",
    "ModelFormatError",
    "describe",
    "export_onnx",
    "load",
    "save",
]


def __getattr__(name):
    if name == "JUDGES":
        warnings.warn(
            "tensorcrp.persistence.JUDGES is called CLASSIFIERS since version 0.3; the "
            "old name will be an error in version 0.5.",
            FutureWarning,
            stacklevel=2,
        )
        return CLASSIFIERS
    raise AttributeError(f"module 'tensorcrp.persistence' has no attribute {name!r}")
