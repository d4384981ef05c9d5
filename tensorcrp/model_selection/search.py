"""Choice of rank, ridge and number of components on the training data alone.

In: samples ``X`` (n, l_1, ..., l_N), labels ``y``, grids of ranks k, of ridges and of
numbers of components h.
Out: cross-validated accuracy of a classifier on the features, for every point of the
grid, and a TensorCRP with the classifier, refitted with the best on all samples.

All ranks and ridges of a fold are one run of the solver, in lanes, and components are
nested, so a smaller h costs no fit: a grid costs a few fits, not one per point.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import partial
from math import prod
from numbers import Integral
from typing import TYPE_CHECKING, Any, Self, overload

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike
from sklearn.base import ClassifierMixin, clone
from sklearn.model_selection import check_cv
from sklearn.neighbors import KNeighborsClassifier

from tensorcrp.base.estimator import TensorTransformer, check_samples, check_tensor
from tensorcrp.base.parameters import check_integer, check_real
from tensorcrp.base.progress import progress
from tensorcrp.base.state import replaced_at_once
from tensorcrp.base.types import (
    Array,
    DaskArray,
    Floats,
    Folds,
    Init,
    RandomState,
    Rank,
    RegScale,
    Samples,
    Stored,
    Weighting,
)
from tensorcrp.base.validation import TooFewSamples
from tensorcrp.crp import TensorCRP, check_search_parameters, count_components
from tensorcrp.model_selection.folds import TIE, Grid, score_fold, seen_by_ranks
from tensorcrp.solver.objective import DiscriminantRatio
from tensorcrp.solver.path import Spec
from tensorcrp.storage.sources import Source, map_samples


class TensorCRPCV(ClassifierMixin, TensorTransformer):
    """TensorCRP with rank, ridge and number of components chosen by cross-validation.

    Parameters
    ----------
    estimator : classifier, default=None
        Classifier of the features; None means ``KNeighborsClassifier(1)``.
    ranks : sequence of int or "full", default=(1, 2, "full")
        Ranks to try. "full" is ridge LDA on vectorised samples.
    regs : sequence of float, default=(0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
        Ridges to try.
    n_components : int, sequence of int or None, default=None
        Numbers of components to try; None for ``c - 1`` and ``2 (c - 1)`` with
        c classes, as far as a sample has as many entries.
    cv : int, splitter or iterable, default=5
        Folds, as in scikit-learn. An integer is lowered to the size of the smallest
        class, but not below 2.
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
        Number of processes over the folds. Ignored if X is not in memory: folds then
        run one after the other, and dask schedules the work on a dask array.
    max_memory : float, default=None
        As in `TensorCRP`.
    verbose : int, default=0
        Show a progress bar over the folds (needs tqdm).

    Attributes
    ----------
    best_params_ : dict
        Chosen "rank", "reg" and "n_components": the best mean score. Among ties, the
        point whose mean score with the next smaller and the next larger ridge is best;
        then the first in the order of the grids.
    best_score_ : float
        Its mean score over the folds.
    best_index_ : int
    cv_results_ : dict of ndarray
        As in `sklearn.model_selection.GridSearchCV`, one entry per point of the grid.
    best_estimator_ : TensorCRP
        Refitted on all samples.
    estimator_ : classifier
        The classifier, fitted on the features of all samples.
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

    best_params_: dict[str, Any]
    best_score_: float
    best_index_: int
    cv_results_: dict[str, Any]
    best_estimator_: TensorCRP
    estimator_: Any
    factors_: list[Floats]
    components_: Floats
    projections_: Floats
    classes_: Array
    n_iter_: int
    n_splits_: int

    if TYPE_CHECKING:  # scikit-learn's method, which has no types

        def score(
            self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None
        ) -> float: ...

    def __init__(
        self,
        estimator: Any = None,
        *,
        ranks: Sequence[Rank] | Array = (1, 2, "full"),
        regs: Sequence[float] | Array = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0),
        n_components: int | Sequence[int] | Array | None = None,
        cv: Folds = 5,
        reg_scale: RegScale = "relative",
        between: Weighting = "classes",
        init: Init = "lda",
        n_init: int = 1,
        max_iter: int = 20,
        tol: float = 0.1,
        sample_shape: Sequence[int] | None = None,
        random_state: RandomState = None,
        n_jobs: int | None = None,
        max_memory: float | None = None,
        verbose: int = 0,
    ) -> None:
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

    def fit(self, X: Samples, y: ArrayLike, groups: ArrayLike | None = None) -> Self:
        """Choose the parameters by cross-validation and refit on all samples.

        Parameters
        ----------
        X : array-like of shape (n, l_1, ..., l_N), or (n, P) with `sample_shape`
            Training samples; never modified. May be outside memory as in
            `TensorCRP.fit`; features of all samples are in memory.
        y : array-like of shape (n,)
            Labels.
        groups : array-like of shape (n,), default=None
            Passed to `cv`: samples of one group stay on one side of a split.

        Returns
        -------
        TensorCRPCV
            The fitted estimator. After an error or Ctrl-C it is unchanged.
        """
        with replaced_at_once(self) as new:
            new._check_parameters()
            X, y, _ = check_samples(new, X, y, lazy=True)
            sizes = new._sizes(len(np.unique(y)), prod(X.shape[1:]))
            folds = new._folds(X, y, groups)
            grid = Grid(list(new.ranks), list(new.regs), sizes)
            seed = new._seed()
            spec = new._spec(grid, seed)
            seen = seen_by_ranks(spec, X, folds, new.max_memory)
            n_jobs = None if isinstance(X, Source) else new.n_jobs
            scores = Parallel(n_jobs=n_jobs)(
                delayed(score_fold)(
                    spec, seen, new._classifier(), y, fold, sizes, new.max_memory
                )
                for fold in progress(folds, "TensorCRPCV", new.verbose)
            )
            new._choose(grid, np.reshape(scores, (len(folds), -1)))
            new._refit(X, y, seed)
        return self

    @overload
    def predict(self, X: DaskArray) -> Any: ...
    @overload
    def predict(self, X: ArrayLike | Stored) -> Array: ...

    def predict(self, X: Samples) -> Any:
        """Labels of samples, by the classifier on their features.

        Parameters
        ----------
        X : array-like of shape (n, l_1, ..., l_N), or as in `fit`
            Samples of the shape seen in `fit`.

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
        _check_scores(mean, self._classifier())
        results = {f"param_{name}": [p[name] for p in points] for name in points[0]}
        results = {name: np.array(v, dtype=object) for name, v in results.items()}
        results["params"] = points
        for i, fold in enumerate(scores):
            results[f"split{i}_test_score"] = fold
        results["mean_test_score"], results["std_test_score"] = mean, scores.std(axis=0)
        known = np.where(np.isnan(mean), -np.inf, mean)
        better = known[:, None] < known[None] - TIE
        results["rank_test_score"] = 1 + better.sum(axis=1)
        self.cv_results_, self.n_splits_ = results, len(scores)
        self.best_index_ = grid.best(mean)
        self.best_score_ = float(mean[self.best_index_])
        self.best_params_ = points[self.best_index_]

    def _refit(self, X, y, seed):
        names = ("reg_scale", "between", "init", "n_init", "max_iter", "tol")
        shared = {name: getattr(self, name) for name in (*names, "max_memory")}
        crp = TensorCRP(random_state=seed, **self.best_params_, **shared)
        self.best_estimator_ = crp.fit(X, y)
        self.estimator_ = self._classifier().fit(np.asarray(crp.transform(X)), y)
        for name in ("components_", "projections_", "factors_", "classes_", "n_iter_"):
            setattr(self, name, getattr(crp, name))
        return self

    def _spec(self, grid, seed):
        """What the solver is asked for in every fold: all ranks and ridges."""
        return Spec(
            max(grid.sizes),
            ranks=tuple(grid.ranks),
            regs=tuple(grid.regs),
            reg_scale=self.reg_scale,
            objective=DiscriminantRatio(self.between),
            init=self.init,
            n_init=self.n_init,
            max_iter=self.max_iter,
            tol=self.tol,
            random_state=seed,
        )

    def _seed(self):
        """One number for every fold: a generator would depend on their order."""
        if isinstance(self.random_state, np.random.RandomState):
            return self.random_state.randint(2**31)
        return self.random_state

    def _classifier(self):
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
            count_components(h, n_classes, self.sample_shape_)
        return sorted(set(given))

    def _folds(self, X, y, groups):
        cv = self.cv
        if isinstance(cv, Integral):
            check_integer("cv", cv, least=2)
            cv = max(2, min(cv, np.unique(y, return_counts=True)[1].min()))
        if isinstance(X, Source):  # splitters look at the number of samples alone
            X = np.zeros(len(y))
        splits = check_cv(cv, y, classifier=True).split(X, y, groups)
        folds = [tuple(np.arange(len(y))[part] for part in fold) for fold in splits]
        if not folds:
            raise ValueError(
                f"cv={self.cv!r} gives no folds. A generator gives its folds once: "
                "pass a list of them, or a splitter such as KFold."
            )
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
        check_search_parameters(self)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.estimator_type = "classifier"
        return tags


def _check_scores(scores, classifier):
    """Reject mean scores that are all NaN; warn of those that are."""
    unknown = int(np.isnan(scores).sum())
    if unknown == len(scores):
        raise ValueError(
            f"the scores of all {unknown} points of the grid are NaN: the score method "
            f"of estimator={classifier} gives no number. Use a classifier that does."
        )
    if unknown:
        warnings.warn(
            f"the scores of {unknown} of {len(scores)} points of the grid are NaN; "
            "these points are not chosen.",
            stacklevel=4,
        )


def _labels(features, classifier, X):
    """Labels of samples by a fitted classifier of their features."""
    return classifier.predict(features(X))
