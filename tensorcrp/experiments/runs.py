"""One run: a data set, a split, a method; in, what to compute; out, a row.

A row counts right answers of every classifier for every setting of the method, on the
test samples (``right``) and in a cross-validation on the training samples alone
(``cv_right`` of ``n_cv``). Which setting is reported is no part of the run: both
selections, *paper* (best on the test samples) and *honest* (best in the
cross-validation), are functions of rows (`tensorcrp.base.results`).
"""

import warnings
from dataclasses import asdict, dataclass
from time import perf_counter

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold
from threadpoolctl import threadpool_limits

from tensorcrp import __version__
from tensorcrp.experiments.classifiers import CLASSIFIERS, nearest, svm, tune_svm
from tensorcrp.experiments.data import Skip, load, split
from tensorcrp.experiments.registry import method
from tensorcrp.experiments.store import row_key

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
        A registered name.
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
        parameters = method(self.method).describe()
        return {**asdict(self), "parameters": parameters, "protocol": PROTOCOL}

    @property
    def key(self):
        return row_key(self.spec())


def row_defect(row):
    """What is wrong with a row that `execute` is said to have made, or None.

    The key is computed again from what the row says that it is; a changed data set,
    method, parameter or seed does not agree with it.
    """
    names = [*Run.__dataclass_fields__, "parameters", "protocol"]
    missing = [name for name in names if name not in row]
    if missing:
        return f"it has no {missing[0]!r}"
    if row_key({name: row[name] for name in names}) != row["key"]:
        return "its key is not that of the run that it describes"
    if not {"classifiers", "curve", "skipped"} & set(row):
        return "it has no outcome"
    return None


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
        except Exception as error:
            if not _is_outcome(error, method(run.method)):
                raise
            row["skipped"] = f"{type(error).__name__}: {error}"
    unfinished = [w for w in caught if issubclass(w.category, ConvergenceWarning)]
    if unfinished:
        row["unconverged"] = len(unfinished)
    for warning in caught:
        if warning not in unfinished:
            warnings.warn(warning.message, stacklevel=2)
    row["seconds"] = round(perf_counter() - start, 3)
    return row


def _is_outcome(error, how):
    """Whether an error belongs into a row: all of those of methods of others do."""
    if isinstance(error, (OSError, MemoryError)):
        return False
    return how.home is None or isinstance(error, (ValueError, np.linalg.LinAlgError))


def _outcome(run):
    data, how = load(run.data), method(run.method)
    ids = split(data, run.train, run.seed, run.split)
    if how.outcome is not None:
        return how.outcome(run, data, ids[0])
    return _accuracy(run, data, *ids)


def _accuracy(run, data, train, test):
    how, X, y = method(run.method), data.X[train], data.y[train]
    folds = cv_folds(y, None if data.groups is None else data.groups[train])
    models, fit_seconds = _timed(how, X, y, run, folds)
    counted = _test_counts(models, X, y, data.X[test], data.y[test])
    row = {
        "shape": list(X.shape[1:]),
        "n_classes": data.n_classes,
        "n_train": len(train),
        "n_test": len(test),
        "fit_seconds": round(fit_seconds, 4),
        **counted,
    }
    if run.method.startswith("CRP"):
        row["worst_step"] = min(worst_step(m.history) for m in models)
    if how.tuned and len(how.settings) > 1:
        row |= _fold_counts(run, X, y, folds, counted["classifiers"])
    return row


def worst_step(history):
    """Smallest relative change of J in a block update, over the curves of a fit."""
    with np.errstate(all="ignore"):  # J may be 0 for long: no share of that
        steps = [np.diff(h) / np.abs(h[:-1]) for h in history if len(h) > 1]
    steps = [step[np.isfinite(step)] for step in steps]
    return float(min((step.min() for step in steps if len(step)), default=0.0))


def _timed(how, X, y, run, folds):
    start = perf_counter()
    models = how.fit(X, y, how.settings, run.n_features, folds)
    return models, perf_counter() - start


def _test_counts(models, X, y, X_test, y_test):
    """Right answers on the test samples, per classifier and setting."""
    if not hasattr(models[0], "transform"):
        return _predictor_counts(models, X_test, y_test)
    classifiers = {"1-NN": {"right": []}, "SVM": {"right": [], "C": []}}
    seconds = 0.0
    for model in models:
        start = perf_counter()
        others = model.transform(X_test)
        seconds += perf_counter() - start
        mine = model.transform(X)
        tuning = tune_svm(mine, y)
        classifiers["SVM"]["C"].append(tuning.C)
        for name, guess in _guesses(mine, y, others, tuning.C).items():
            classifiers[name]["right"].append(int((guess == y_test).sum()))
    classifiers["SVM"] |= {"folds": tuning.folds, "tuned_on": tuning.samples}
    return {
        "classifiers": classifiers,
        "transform_seconds": round(seconds / len(models), 5),
        "features": int(mine.shape[1]),
    }


def _predictor_counts(models, X_test, y_test):
    """The same for methods that need no other classifier."""
    start = perf_counter()
    right = [int((model.predict(X_test) == y_test).sum()) for model in models]
    seconds = perf_counter() - start
    return {
        "classifiers": {name: {"right": right} for name in CLASSIFIERS},
        "transform_seconds": round(seconds / len(models), 5),
        "note": "a classifier itself",
    }


def _guesses(mine, y, others, C):
    return {
        "1-NN": nearest(mine, y, others),
        "SVM": svm(mine, y, others, C),
    }


def _fold_counts(run, X, y, folds, classifiers):
    """Right answers in the cross-validation, added to `classifiers`."""
    how, counts, seconds = method(run.method), {}, 0.0
    for train, test in folds:
        models, fit_seconds = _timed(how, X[train], y[train], run, None)
        seconds += fit_seconds
        for i, model in enumerate(models):
            guesses = _fold_guesses(model, X, y, train, test, classifiers, i)
            for name, guess in guesses.items():
                right = counts.setdefault(name, [0] * len(models))
                right[i] += int((guess == y[test]).sum())
    classifiers = {
        name: {**classifiers[name], "cv_right": counts[name]} for name in classifiers
    }
    return {
        "classifiers": classifiers,
        "n_cv": int(sum(len(test) for _, test in folds)),
        "cv_folds": len(folds),
        "tune_seconds": round(seconds, 4),
    }


def _fold_guesses(model, X, y, train, test, classifiers, i):
    if not hasattr(model, "transform"):
        return dict.fromkeys(classifiers, model.predict(X[test]))
    features = model.transform(X)
    C = classifiers["SVM"]["C"][i]
    return _guesses(features[train], y[train], features[test], C)


def cv_folds(y, groups=None):
    """Folds for the choice of settings: of three, as many as test 200 samples.

    Three folds, or two where a class (or all groups) has no more members; training
    samples of one group stay on one side.
    """
    if groups is None:
        n_splits = min(CV_FOLDS, max(2, np.unique(y, return_counts=True)[1].min()))
        splitter = StratifiedKFold(n_splits, shuffle=True, random_state=0)
    else:
        n_splits = min(CV_FOLDS, len(np.unique(groups)))
        splitter = StratifiedGroupKFold(n_splits, shuffle=True, random_state=0)
    folds, tested = [], 0
    for train, test in splitter.split(np.zeros(len(y)), y, groups):
        folds.append((train, test))
        tested += len(test)
        if tested >= CV_ENOUGH:
            break
    return folds
