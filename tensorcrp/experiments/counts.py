"""Right answers of a method: on test samples, and in folds of the training samples.

In: a `Method`, training samples with codes, folds, test samples. Out: the part of a row
that counts right answers, per classifier and setting. The C of the SVM belongs to a
setting: it is the one with the most right answers in the folds, on features of samples
that the method had not seen; of several, the middle one. Where there are no folds, it
is 10.

Features are centred at the mean of the training samples: then the same C is as strong
wherever their origin is. A mean that is large beside what varies would weaken every C,
and only some methods subtract it. The reproduction of the paper, which does not say so,
takes features as they are.
"""

from dataclasses import dataclass
from time import perf_counter

import numpy as np
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold

from tensorcrp.experiments.classifiers import (
    CENTROID,
    COSTS,
    OWN,
    middle_of_best,
    nearest_mean,
    one_nearest,
    svm_right,
    svms,
    tune_svm,
)

CV_FOLDS, CV_ENOUGH = 3, 200
SIMPLE = {"1-NN": one_nearest, CENTROID: nearest_mean}  # nothing of theirs is tuned
UNTUNED = COSTS[(len(COSTS) - 1) // 2]


@dataclass(frozen=True)
class Split:
    """Training and test samples of a run.

    Attributes
    ----------
    X, X_test : ndarrays of shape (n, l_1, ..., l_N)
    y, y_test : ndarrays of int
    groups : ndarray of shape (n,) or None
        Of the training samples.
    n_features : int
        Number of features that the protocol asks for; 0 for the method's default.
    centred : bool
        Whether classifiers see centred features.
    """

    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray
    groups: np.ndarray | None = None
    n_features: int = 0
    centred: bool = True

    def moved(self, mine, others):
        """Features of training and of other samples as classifiers see them."""
        mean = mine.mean(axis=0) if self.centred else 0.0
        return mine - mean, others - mean

    def folds(self):
        """Folds of the training samples."""
        return cv_folds(self.y, self.groups)


def counted(how, split, paper=False):
    """Fit a method and count its right answers.

    Parameters
    ----------
    how : Method
    split : Split
    paper : bool
        Also count those of the SVM whose C is tuned as the paper does.

    Returns
    -------
    (row, models, guesses) : dict, list, dict of str -> list of ndarrays
        Predicted codes of the test samples by each classifier, for every setting.
    """
    start = perf_counter()
    models = how.fit(split.X, split.y, how.settings, split.n_features, split.folds())
    seconds = perf_counter() - start
    row = {"fit_seconds": round(seconds, 4)}
    features = hasattr(models[0], "transform")
    folded = _needs_folds(how, features)
    cv = FoldCounts.of(how, split, models) if folded else None
    if features:
        more, guesses = _feature_counts(how, models, split, cv, paper)
    else:
        more, guesses = _predictor_counts(how, models, split)
    row |= more
    return (row if cv is None else cv.added_to(row)), models, guesses


def _needs_folds(how, features):
    """Whether settings, or the C of the SVM, are chosen in folds."""
    several = len(how.settings) > 1 or (features and "SVM" in how.classifiers)
    return how.tuned and several


@dataclass
class FoldCounts:
    """Right answers in the folds.

    Attributes
    ----------
    right : dict of str -> ndarray of shape (settings,), of "SVM" (settings, costs)
    tested, folds : int
    seconds : float
        Of the fits.
    """

    right: dict
    tested: int
    folds: int
    seconds: float

    @classmethod
    def of(cls, how, split, models):
        """Fit to each fold, count right answers on the rest of the training samples."""
        folds, n_settings = split.folds(), len(models)
        fit = how.fit if how.refit is None else how.refit(models[0])
        cv = cls({}, sum(len(test) for _, test in folds), len(folds), 0.0)
        for train, test in folds:
            start, mine = perf_counter(), (split.X[train], split.y[train])
            fitted = fit(*mine, how.settings, split.n_features, None)
            cv.seconds += perf_counter() - start
            for i, model in enumerate(fitted):
                for name, right in _fold_right(how, model, split, train, test).items():
                    shape = (n_settings, *np.shape(right))
                    cv.right.setdefault(name, np.zeros(shape, int))[i] += right
        return cv

    def costs(self):
        """Of each setting, the index of its C."""
        return [middle_of_best(each) for each in self.right["SVM"]]

    def added_to(self, row):
        """The row with counts per setting; of the SVM, those with its C."""
        right = dict(self.right)
        if np.ndim(right.get("SVM", [])) == 2:
            right["SVM"] = right["SVM"][np.arange(len(self.costs())), self.costs()]
        classifiers = {
            name: {**counts, "cv_right": right[name].tolist()}
            if name in right
            else counts
            for name, counts in row["classifiers"].items()
        }
        more = {"n_cv": self.tested, "cv_folds": self.folds}
        return {
            **row,
            "classifiers": classifiers,
            **more,
            "tune_seconds": round(self.seconds, 4),
        }


def _fold_right(how, model, split, train, test):
    """Right answers of one model in one fold; of the SVM, for every C."""
    truth = split.y[test]
    if not hasattr(model, "transform"):
        right = int((model.predict(split.X[test]) == truth).sum())
        return dict.fromkeys(how.classifiers, right)
    features, y = model.transform(split.X), split.y[train]
    mine, others = split.moved(features[train], features[test])
    simple = {name: SIMPLE[name] for name in how.classifiers if name in SIMPLE}
    right = {
        name: int((classify(mine, y, others) == truth).sum())
        for name, classify in simple.items()
    }
    if "SVM" in how.classifiers:
        right["SVM"] = svm_right(mine, y, others, truth)
    if hasattr(model, "predict"):
        right[OWN] = int((model.predict(split.X[test]) == truth).sum())
    return right


def _feature_counts(how, models, split, cv, paper):
    """Right answers on the test samples, per classifier and setting; all answers."""
    names = [*how.classifiers, *([OWN] if hasattr(models[0], "predict") else [])]
    classifiers = {name: {"right": []} for name in names}
    answers = {name: [] for name in names}
    by_paper, seconds, constant = PaperTuning(), 0.0, 0
    for i, model in enumerate(models):
        start = perf_counter()
        others = model.transform(split.X_test)
        seconds += perf_counter() - start
        mine = model.transform(split.X)
        constant += not np.ptp(mine, axis=0).any()
        mine, others = split.moved(mine, others)
        guesses = _simple_guesses(names, model, mine, others, split)
        if "SVM" in classifiers:
            C = UNTUNED if cv is None else COSTS[cv.costs()[i]]
            more = by_paper if paper else None
            guesses["SVM"] = _svm_guess(mine, others, split, C, more)
            classifiers["SVM"].setdefault("C", []).append(C)
        for name, guess in guesses.items():
            right = int((guess == split.y_test).sum())
            classifiers[name]["right"].append(right)
            answers[name].append(guess)
    if paper and by_paper.C:
        classifiers["SVM"] |= by_paper.entries()
    row = {
        "classifiers": classifiers,
        "transform_seconds": round(seconds / len(models), 5),
        "features": int(mine.shape[1]),
        **({"constant": constant} if constant else {}),
    }
    return row, answers


def _simple_guesses(names, model, mine, others, split):
    """Answers of the classifiers that have nothing to tune, and of the model itself."""
    simple = {name: SIMPLE[name] for name in names if name in SIMPLE}
    guesses = {n: classify(mine, split.y, others) for n, classify in simple.items()}
    if OWN in names:
        guesses[OWN] = model.predict(split.X_test)
    return guesses


def _svm_guess(mine, others, split, C, by_paper):
    """Answers of the SVM with this C; `by_paper` counts those with the paper's C."""
    costs = [C] if by_paper is None else [C, by_paper.tuned(mine, split.y)]
    found = svms(mine, split.y, others, costs)
    if by_paper is not None:
        by_paper.count(found[costs[1]], split.y_test)
    return found[C]


class PaperTuning:
    """The SVM whose C is tuned on features of all training samples."""

    def __init__(self):
        self.C, self.right = [], []

    def tuned(self, mine, y):
        """C for the features of another setting."""
        self.tuning = tune_svm(mine, y)
        self.C.append(self.tuning.C)
        return self.tuning.C

    def count(self, guess, truth):
        """Right answers of the predictions for one more setting."""
        self.right.append(int((guess == truth).sum()))

    def entries(self):
        """What the row says of it."""
        how = {"folds": self.tuning.folds, "tuned_on": self.tuning.samples}
        return {"paper_right": self.right, "paper_C": self.C, **how}


def _predictor_counts(how, models, split):
    """The same for methods that need no other classifier."""
    start = perf_counter()
    answers = [model.predict(split.X_test) for model in models]
    seconds = perf_counter() - start
    right = [int((guess == split.y_test).sum()) for guess in answers]
    row = {
        "classifiers": {name: {"right": right} for name in how.classifiers},
        "transform_seconds": round(seconds / len(models), 5),
        "note": "a classifier itself",
    }
    return row, dict.fromkeys(how.classifiers, answers)


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
