"""One run: a data set, a split, a method; in, what to compute; out, a row.

A row counts right answers of every classifier for every setting of the method, on the
test samples (``right``) and in a cross-validation on the training samples alone
(``cv_right`` of ``n_cv``). Which setting is reported is no part of the run: both
selections, *paper* (best on the test samples) and *honest* (best in the
cross-validation), are functions of rows (`tensorcrp._results`).
"""

import warnings
from dataclasses import asdict, dataclass
from time import perf_counter

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold
from threadpoolctl import threadpool_limits

from tensorcrp import __version__
from tensorcrp.experiments import _convergence, _judges
from tensorcrp.experiments._data import Skip, load, split
from tensorcrp.experiments._methods import method
from tensorcrp.experiments._rows import row_key

CV_FOLDS, CV_ENOUGH = 3, 200
PROTOCOL = 1  # to be raised when the same run would give another row


@dataclass(frozen=True)
class Run:
    """What to compute.

    Attributes
    ----------
    data : str
        Name or path.
    checksum : str
        Of the samples and labels; empty if there are none.
    train : int or float
        Training samples per class, or the share of all samples.
    split, seed : int
    method : str
        A name of `_methods` or `_convergence`.
    n_features : int
        Number of features that the protocol asks for; 0 for the method's default.
    """

    data: str
    checksum: str
    train: int | float
    split: int
    seed: int
    method: str
    n_features: int = 0

    def spec(self):
        """Everything that determines the result, as a dictionary."""
        if self.method in _convergence.STARTS:
            parameters = _convergence.describe(self.method)
        else:
            parameters = method(self.method).describe()
        return {**asdict(self), "parameters": parameters, "protocol": PROTOCOL}

    @property
    def key(self):
        return row_key(self.spec())


def execute(run):
    """The row of a run; one thread, so that the same seed gives the same row."""
    start = perf_counter()
    row = {"key": run.key, "version": __version__, **run.spec()}
    with threadpool_limits(1), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConvergenceWarning)
        try:
            row |= _outcome(run)
        except Skip as skip:
            row["skipped"] = str(skip)
        except (ValueError, np.linalg.LinAlgError) as error:
            row["skipped"] = f"{type(error).__name__}: {error}"
    unfinished = [w for w in caught if issubclass(w.category, ConvergenceWarning)]
    if unfinished:
        row["unconverged"] = len(unfinished)
    for warning in caught:
        if warning not in unfinished:
            warnings.warn(warning.message, stacklevel=2)
    row["seconds"] = round(perf_counter() - start, 3)
    return row


def _outcome(run):
    data = load(run.data)
    ids = split(data, run.train, run.seed, run.split)
    if run.method in _convergence.STARTS:
        return _convergence.outcome(run, data, ids[0])
    return _accuracy(run, data, *ids)


def _accuracy(run, data, train, test):
    how, X, y = method(run.method), data.X[train], data.y[train]
    folds = cv_folds(y, None if data.groups is None else data.groups[train])
    models, fit_seconds = _timed(how, X, y, run, folds)
    judged = _judge_test(models, X, y, data.X[test], data.y[test])
    row = {
        "shape": list(X.shape[1:]),
        "n_classes": data.n_classes,
        "n_train": len(train),
        "n_test": len(test),
        "fit_seconds": round(fit_seconds, 4),
        **judged,
    }
    if hasattr(models[0], "objective_") and run.method.startswith("CRP"):
        row["worst_step"] = min(_convergence.worst_step(m) for m in models)
    if how.tuned and len(how.settings) > 1:
        row |= _judge_folds(run, X, y, folds, judged["judges"])
    return row


def _timed(how, X, y, run, folds):
    start = perf_counter()
    models = how.fit(X, y, how.settings, run.n_features, folds)
    return models, perf_counter() - start


def _judge_test(models, X, y, X_test, y_test):
    """Right answers on the test samples, per classifier and setting."""
    if not hasattr(models[0], "transform"):
        return _judge_classifiers(models, X_test, y_test)
    judges = {"1-NN": {"right": []}, "SVM": {"right": [], "C": []}}
    seconds = 0.0
    for model in models:
        start = perf_counter()
        others = model.transform(X_test)
        seconds += perf_counter() - start
        mine = model.transform(X)
        tuning = _judges.tune_svm(mine, y)
        judges["SVM"]["C"].append(tuning.C)
        for name, guess in _guesses(mine, y, others, tuning.C).items():
            judges[name]["right"].append(int((guess == y_test).sum()))
    judges["SVM"] |= {"folds": tuning.folds, "tuned_on": tuning.samples}
    return {
        "judges": judges,
        "transform_seconds": round(seconds / len(models), 5),
        "features": int(mine.shape[1]),
    }


def _judge_classifiers(models, X_test, y_test):
    """The same for methods that need no other classifier."""
    start = perf_counter()
    right = [int((model.predict(X_test) == y_test).sum()) for model in models]
    seconds = perf_counter() - start
    return {
        "judges": {name: {"right": right} for name in _judges.JUDGES},
        "transform_seconds": round(seconds / len(models), 5),
        "note": "a classifier itself",
    }


def _guesses(mine, y, others, C):
    return {
        "1-NN": _judges.nearest(mine, y, others),
        "SVM": _judges.svm(mine, y, others, C),
    }


def _judge_folds(run, X, y, folds, judges):
    """Right answers in the cross-validation, added to `judges`."""
    how, counts, seconds = method(run.method), {}, 0.0
    for train, test in folds:
        models, fit_seconds = _timed(how, X[train], y[train], run, None)
        seconds += fit_seconds
        for i, model in enumerate(models):
            guesses = _fold_guesses(model, X, y, train, test, judges, i)
            for name, guess in guesses.items():
                right = counts.setdefault(name, [0] * len(models))
                right[i] += int((guess == y[test]).sum())
    judges = {name: {**judges[name], "cv_right": counts[name]} for name in judges}
    return {
        "judges": judges,
        "n_cv": int(sum(len(test) for _, test in folds)),
        "cv_folds": len(folds),
        "tune_seconds": round(seconds, 4),
    }


def _fold_guesses(model, X, y, train, test, judges, i):
    if not hasattr(model, "transform"):
        return dict.fromkeys(judges, model.predict(X[test]))
    features = model.transform(X)
    C = judges["SVM"]["C"][i]
    return _guesses(features[train], y[train], features[test], C)


def cv_folds(y, groups=None):
    """Folds for the choice of settings: of three, as many as judge 200 samples.

    Three folds, or two where a class (or all groups) has no more members; training
    samples of one group stay on one side.
    """
    if groups is None:
        n_splits = min(CV_FOLDS, max(2, np.unique(y, return_counts=True)[1].min()))
        splitter = StratifiedKFold(n_splits, shuffle=True, random_state=0)
    else:
        n_splits = min(CV_FOLDS, len(np.unique(groups)))
        splitter = StratifiedGroupKFold(n_splits, shuffle=True, random_state=0)
    folds, judged = [], 0
    for train, test in splitter.split(np.zeros(len(y)), y, groups):
        folds.append((train, test))
        judged += len(test)
        if judged >= CV_ENOUGH:
            break
    return folds
