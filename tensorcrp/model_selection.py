"""Choice of rank, ridge and number of components on the training data alone.

In: samples ``X`` (n, l_1, ..., l_N), labels ``y``, grids of ranks k, of ridges and of
numbers of components h.
Out: cross-validated accuracy of a classifier on the features, for every point of the
grid, and a TensorCRP with the classifier, refitted with the best on all samples.

All ranks and ridges of a fold are one run of the solver, in lanes, and components are
nested, so a smaller h costs no fit: a grid costs a few fits, not one per point.
"""

from functools import partial
from math import prod
from numbers import Integral

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import ClassifierMixin, clone
from sklearn.model_selection import check_cv
from sklearn.neighbors import KNeighborsClassifier

from tensorcrp._estimator import (
    TensorTransformer,
    TooFewSamples,
    all_or_nothing,
    check_integer,
    check_real,
    check_samples,
    check_shape,
    check_tensor,
)
from tensorcrp._folds import TIE, Grid, score_fold, views_of
from tensorcrp._progress import progress
from tensorcrp._sources import Source, map_samples
from tensorcrp.crp import TensorCRP


class TensorCRPCV(ClassifierMixin, TensorTransformer):
    """TensorCRP with rank, ridge and number of components chosen by cross-validation.

    Parameters
    ----------
    estimator : classifier, default=None
        Judge of the features; None stands for ``KNeighborsClassifier(1)``.
    ranks : sequence of int or "full", default=(1, 2, "full")
        Ranks to try. "full" is ridge LDA on vectorised samples.
    regs : sequence of float, default=(0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
        Ridges to try.
    n_components : int, sequence of int or None, default=None
        Numbers of components to try; None stands for ``c - 1`` and ``2 (c - 1)`` with
        c classes, as far as a sample has as many entries.
    cv : int, splitter or iterable, default=5
        Folds, as in scikit-learn. An integer is lowered to the size of the smallest
        class, at least 2.
    reg_scale : {"relative", "absolute"}, default="relative"
        Unit of the ridges, as in `TensorCRP`.
    between : {"classes", "samples"}, default="classes"
        How class means count, as in `TensorCRP`.
    init : {"lda", "identity", "random"}, callable or list of arrays, default="lda"
        Start of each projection, as in `TensorCRP`.
    n_init : int, default=1
        Number of starts of each projection.
    max_iter : int, default=20
        Largest number of sweeps over the modes for one projection.
    tol : float, default=0.1
        A projection is done when a sweep raises J by no more than this share.
    sample_shape : tuple of int, default=None
        Shape of a sample when the rows of X are flattened samples.
    random_state : int, RandomState instance or None, default=None
        Source of random starts, the same for every fold.
    n_jobs : int, default=None
        Processes over the folds. Of no use if X is not in memory: folds then follow
        each other, and a dask array is worked on by its own scheduler.
    max_memory : float, default=None
        As in `TensorCRP`.
    verbose : int, default=0
        Show a progress bar over the folds (needs tqdm).

    Attributes
    ----------
    best_params_ : dict
        Chosen "rank", "reg" and "n_components": the best mean score. If several points
        share it, the one that scores best together with the next smaller and the next
        larger ridge, and after that the first in the order of the grids.
    best_score_ : float
        Its mean score over the folds.
    best_index_ : int
    cv_results_ : dict of ndarray
        As in `sklearn.model_selection.GridSearchCV`, one entry per point of the grid.
    best_estimator_ : TensorCRP
        Refitted on all samples.
    estimator_ : classifier
        The judge, fitted on the features of all samples.
    components_, projections_, factors_, classes_, n_iter_, sample_shape_, input_shape_
        Those of `best_estimator_`.
    n_splits_ : int
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only when X had column names.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from tensorcrp import TensorCRPCV
    >>> digits = load_digits()
    >>> X, y = digits.images[:200], digits.target[:200]
    >>> search = TensorCRPCV(ranks=(1, 2), regs=(0.1, 1.0), cv=3).fit(X, y)
    >>> sorted(search.best_params_)
    ['n_components', 'rank', 'reg']
    >>> search.transform(X).shape == (200, search.best_params_["n_components"])
    True
    """

    def __init__(
        self,
        estimator=None,
        *,
        ranks=(1, 2, "full"),
        regs=(0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0),
        n_components=None,
        cv=5,
        reg_scale="relative",
        between="classes",
        init="lda",
        n_init=1,
        max_iter=20,
        tol=0.1,
        sample_shape=None,
        random_state=None,
        n_jobs=None,
        max_memory=None,
        verbose=0,
    ):
        self.estimator = estimator
        self.ranks = ranks
        self.regs = regs
        self.n_components = n_components
        self.cv = cv
        self.reg_scale = reg_scale
        self.between = between
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.sample_shape = sample_shape
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.max_memory = max_memory
        self.verbose = verbose

    def fit(self, X, y, groups=None):
        """Choose the parameters by cross-validation and refit on all samples.

        Parameters
        ----------
        X : array-like of shape (n, l_1, ..., l_N), or (n, P) with `sample_shape`
            Training samples; never changed. May be outside memory as in
            `TensorCRP.fit`; features of all samples are in memory.
        y : array-like of shape (n,)
            Labels.
        groups : array-like of shape (n,), default=None
            Handed to `cv`: samples of one group stay on one side of a split.

        Returns
        -------
        TensorCRPCV
            The fitted estimator. After an error or Ctrl-C it is what it was before.
        """
        with all_or_nothing(self):
            self._check_parameters()
            X, y, _ = check_samples(self, X, y, lazy=True)
            sizes = self._sizes(len(np.unique(y)), prod(X.shape[1:]))
            folds = self._folds(X, y, groups)
            grid = Grid(list(self.ranks), list(self.regs), sizes)
            seed = self._seed()
            models = [self._crp(k, max(sizes), seed) for k in grid.ranks]
            views = views_of(models, X, folds)
            n_jobs = None if isinstance(X, Source) else self.n_jobs
            scores = Parallel(n_jobs=n_jobs)(
                delayed(score_fold)(models, views, self._judge(), y, fold, grid)
                for fold in progress(folds, "TensorCRPCV", self.verbose)
            )
            self._choose(grid, np.reshape(scores, (len(folds), -1)))
            return self._refit(X, y, seed)

    def predict(self, X):
        """Labels of samples, by the classifier on their features.

        Parameters
        ----------
        X : array-like of shape (n, l_1, ..., l_N), or as in `fit`
            Samples of the shape that `fit` has seen.

        Returns
        -------
        ndarray of shape (n,)
            One of `classes_` per sample. A dask array, not computed, if X is one.
        """
        X = check_tensor(self, X)
        labels = partial(_labels, self._feature_map(), self.estimator_)
        return map_samples(labels, X, self.classes_.dtype)

    def _choose(self, grid, scores):
        """Results of every point of the grid from scores (folds, points)."""
        points = grid.points()
        mean = scores.mean(axis=0)
        results = {f"param_{name}": [p[name] for p in points] for name in points[0]}
        results = {name: np.array(v, dtype=object) for name, v in results.items()}
        results["params"] = points
        for i, fold in enumerate(scores):
            results[f"split{i}_test_score"] = fold
        results["mean_test_score"], results["std_test_score"] = mean, scores.std(axis=0)
        better = mean[:, None] < mean[None] - TIE
        results["rank_test_score"] = 1 + better.sum(axis=1)
        self.cv_results_, self.n_splits_ = results, len(scores)
        self.best_index_ = grid.best(mean)
        self.best_score_ = float(mean[self.best_index_])
        self.best_params_ = points[self.best_index_]

    def _refit(self, X, y, seed):
        best = self.best_params_
        crp = self._crp(best["rank"], best["n_components"], seed)
        crp.set_params(reg=best["reg"])
        self.best_estimator_ = crp.fit(X, y)
        self.estimator_ = self._judge().fit(np.asarray(crp.transform(X)), y)
        for name in ("components_", "projections_", "factors_", "classes_", "n_iter_"):
            setattr(self, name, getattr(crp, name))
        return self

    def _crp(self, rank, n_components, seed=None):
        """An unfitted TensorCRP with the parameters that are not searched."""
        names = ("reg_scale", "between", "init", "n_init", "max_iter", "tol")
        shared = {name: getattr(self, name) for name in (*names, "max_memory")}
        return TensorCRP(n_components, rank=rank, random_state=seed, **shared)

    def _seed(self):
        """One number for every fold: a generator would depend on their order."""
        if isinstance(self.random_state, np.random.RandomState):
            return self.random_state.randint(2**31)
        return self.random_state

    def _judge(self):
        if self.estimator is None:
            return KNeighborsClassifier(1)
        return clone(self.estimator)

    def _sizes(self, n_classes, n_features):
        """The numbers of components to try, in ascending order."""
        given = self.n_components
        if given is None:
            given = (n_classes - 1, 2 * (n_classes - 1))
            return sorted({max(1, min(h, n_features)) for h in given})
        given = np.atleast_1d(given).tolist()
        if not given:
            raise ValueError("n_components is empty: give at least one number to try.")
        for h in given:
            check_integer("n_components", h)
            crp = self._crp(1, h)
            crp.sample_shape_ = self.sample_shape_
            crp._n_components(range(n_classes))  # no more than a sample has entries
        return sorted(set(given))

    def _folds(self, X, y, groups):
        cv = self.cv
        if isinstance(cv, Integral):
            check_integer("cv", cv, least=2)
            cv = max(2, min(cv, np.unique(y, return_counts=True)[1].min()))
        if isinstance(X, Source):  # splitters look at the number of samples alone
            X = np.zeros(len(y))
        folds = list(check_cv(cv, y, classifier=True).split(X, y, groups))
        for train, _ in folds:
            classes, counts = np.unique(y[train], return_counts=True)
            if len(classes) < 2 or counts.max() < 2:
                raise TooFewSamples(
                    f"a training fold has {len(classes)} classes of at most "
                    f"{counts.max()} samples: each needs two classes, one of them with "
                    "two samples. Pass more samples or other folds as cv."
                )
        return folds

    def _check_parameters(self):
        for name in ("ranks", "regs"):
            value = getattr(self, name)
            if not isinstance(value, (list, tuple, np.ndarray)) or not len(value):
                raise ValueError(
                    f"{name} must be a list or tuple of at least one value, "
                    f"got {value!r}."
                )
        for rank in self.ranks:
            check_integer("each of ranks", rank, also=("full",))
        for reg in self.regs:
            check_real("each of regs", reg)
        self._crp(self.ranks[0], None)._check_parameters()
        if self.sample_shape is not None:
            check_shape("sample_shape", self.sample_shape)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.estimator_type = "classifier"
        return tags


def _labels(features, judge, X):
    """Labels of samples by a fitted classifier of their features."""
    return judge.predict(features(X))
