"""Accuracy on EEG by blocks: this package beside the pipelines of pyRiemann.

``TENSORCRP_DATA=DIR python tests/measure_signals.py [NAME ...]`` (with ``pip install
pyriemann``) prints the mean accuracy and the standard error over ten blocks of
successive trials of the finger movements of BCI Competition II. Each block is left out
once. Parameters are chosen by folds of whole blocks among the other nine.
`docs/baselines.rst` has the table.
"""

import sys
import warnings
from time import process_time

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, GroupKFold, LeaveOneGroupOut
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from tensorcrp import TensorCRPCV
from tensorcrp.baselines import (
    CPTDA,
    STDA,
    ManPDA,
    MultilinearLDA,
    RidgeLDA,
    ToeplitzLDA,
)
from tensorcrp.datasets import fetch_dataset
from tensorcrp.experiments.methods import method

REGS = (1e-4, 1e-3, 0.01, 0.1, 1.0, 10.0)
INNER = GroupKFold(5)


def searched(method, *sizes):
    """A method with LDA of its features, its ridge chosen by inner folds."""
    grid = {f"{type(method).__name__.lower()}__reg": REGS}
    if sizes:
        grid[f"{type(method).__name__.lower()}__sizes"] = sizes
    model = make_pipeline(method, LinearDiscriminantAnalysis())
    return GridSearchCV(model, grid, cv=INNER)


class Compared(ClassifierMixin, BaseEstimator):
    """A method as `tensorcrp compare` runs it, its setting chosen by folds of groups.

    Features go to LDA.
    """

    def __init__(self, name, cv=INNER):
        self.name = name
        self.cv = cv

    def fit(self, X, y, groups):
        how, scores = method(self.name), []
        for train, test in self.cv.split(X, y, groups):
            models = self._fitted(how.settings, X[train], y[train])
            scores.append([np.mean(each(X[test]) == y[test]) for each in models])
        best = how.settings[np.argmax(np.mean(scores, axis=0))]
        (self.predict,) = self._fitted([best], X, y)
        return self

    def _fitted(self, settings, X, y):
        """A function from samples to labels for each setting."""
        models = method(self.name).fit(X, y, settings, 0, None)
        return [self._labelling(model, X, y) for model in models]

    def _labelling(self, model, X, y):
        if hasattr(model, "predict"):
            return model.predict
        lda = LinearDiscriminantAnalysis().fit(model.transform(X), y)
        return lambda new: lda.predict(model.transform(new))


def methods():
    flat = FunctionTransformer(lambda X: X.reshape(len(X), -1))
    plain = LinearDiscriminantAnalysis()
    shrunk = LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto")
    found = {
        "TensorCRPCV": TensorCRPCV(cv=INNER),
        "TensorCRPCV, best point, LDA": TensorCRPCV(plain, average=1, cv=INNER),
        "TensorCRPCV, shrinkage LDA": TensorCRPCV(shrunk, cv=INNER),
        "TensorCRPCV, LDA": TensorCRPCV(plain, cv=INNER),
        "ToeplitzLDA": searched(ToeplitzLDA()),
        "STDA": searched(STDA(), 2, 3, 5),
        "MultilinearLDA": searched(MultilinearLDA(), 2, 3, 5),
        "RidgeLDA": searched(RidgeLDA()),
        "CPTDA": searched(CPTDA()),
        "ManPDA": searched(ManPDA()),
        "CATCH": Compared("CATCH"),
        "CPLogistic": Compared("CPLogistic"),
        "linear SVM": Compared("linear SVM"),
        "RBF SVM": Compared("RBF SVM"),
        "LDA, Ledoit-Wolf shrinkage": make_pipeline(flat, shrunk),
    }
    try:
        from pyriemann.estimation import XdawnCovariances
        from pyriemann.tangentspace import TangentSpace
    except ImportError:
        print("pyRiemann is not installed: its pipelines are left out")
        return found
    tangent = make_pipeline(
        XdawnCovariances(4, estimator="lwf", xdawn_estimator="lwf"),
        TangentSpace(),
        LogisticRegression(max_iter=1000),
    )
    grid = {"logisticregression__C": (0.001, 0.01, 0.1, 1.0)}
    found["xDAWN, tangent space"] = GridSearchCV(tangent, grid, cv=INNER)
    return found


def accuracies(model, X, y, blocks):
    """Accuracy on every block: (10,)."""
    scores = []
    for train, test in LeaveOneGroupOut().split(X, y, blocks):
        fitted = clone(model)
        inner = {} if not hasattr(model, "cv") else {"groups": blocks[train]}
        fitted.fit(X[train], y[train], **inner)
        scores.append(fitted.score(X[test], y[test]))
    return np.array(scores)


if __name__ == "__main__":
    warnings.simplefilter("ignore")  # sweeps that could go on
    eeg = fetch_dataset("eeg_finger")
    blocks = np.arange(len(eeg.target)) * 10 // len(eeg.target)
    majority = np.bincount(eeg.target).max() / len(eeg.target)
    print(f"{eeg.data.shape}, majority class {majority:.3f}", flush=True)
    chosen = methods()
    for name in sys.argv[1:] or chosen:
        model = chosen[name]
        scores = accuracies(model, eeg.data, eeg.target, blocks)
        error = scores.std(ddof=1) / np.sqrt(len(scores))
        print(f"{name:28} {scores.mean():.3f} +- {error:.3f}", flush=True)
    print(f"{process_time() / 60:.1f} minutes of processor time")
