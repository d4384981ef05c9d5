"""Choice of a model, or of several, on the training data alone.

In: samples ``X`` (n, l_1, ..., l_N), labels ``y``, grids of smoothness, ranks k, ridges
and numbers of components h.
Out: cross-validated scores of a classifier on the features, for every point of the
grid, and an average of the models at the good points, of the folds and of all samples:
one linear map with a classifier.

All lanes (smoothness, rank, ridge) of small folds are one run of the solver, components
are nested, and only the best lanes of the first folds see the others: a grid costs a
few dozen fits, not one per point and fold.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from tensorcrp.base.estimator import TensorTransformer
from tensorcrp.base.gate import check_samples
from tensorcrp.base.projections import metric_of
from tensorcrp.base.resources import SMALL_PASSES, bounded_threads
from tensorcrp.base.state import replaced_at_once
from tensorcrp.base.types import (
    Array,
    ClassWeight,
    Floats,
    Folds,
    Init,
    RandomSource,
    Rank,
    RegScale,
    Samples,
    Weighting,
)
from tensorcrp.crp import TensorCRP
from tensorcrp.model_selection.chosen import ChosenModels
from tensorcrp.model_selection.distances import Distance, DistanceFeatures
from tensorcrp.model_selection.folds import Search
from tensorcrp.model_selection.request import (
    check_request,
    grid_of,
    scorable_options,
    spec_of,
)
from tensorcrp.model_selection.selection import score_points
from tensorcrp.model_selection.splits import fewest_of, folds_of


class TensorCRPCV(ChosenModels, TensorTransformer):
    """TensorCRP with its parameters chosen, and models averaged, by cross-validation.

    Every point of a grid of smoothness, rank, ridge and number of components is scored
    on the folds. The models of the folds at the best points, and those of all samples,
    are averaged: their features are scaled, weighted and put side by side, so that
    `transform` is still one matrix product. With few samples that is more accurate than
    the best point alone, which is best by chance to a good part.

    Parameters
    ----------
    estimator : classifier or sequence of classifiers, default=None
        Classifier of the features. Of several, the first scores the points of the grid,
        and the folds choose one for averaged features. None means
        ``KNeighborsClassifier(1)`` and ``SVC(C=10)``, if `scoring` can score them, or
        with `class_weight` a LogisticRegression, which takes weights. LDA of averaged
        features, many and much alike, needs shrinkage. `predict_proba` and
        `decision_function` are there if the chosen classifier has them.
    ranks : sequence of int or "full", default=(1, 2, "full")
        Ranks to try. "full" is ridge LDA on vectorised samples.
    regs : sequence of float, default=(0.001, 0.01, 0.1, 1.0, 10.0)
        Ridges to try.
    smooth : sequence of float, default=(0.0, 1.0, 10.0)
        Strengths of smoothness to try, along the ordered modes; see `TensorCRP`.
    ordered : sequence of bool, default=None
        Which modes are ordered (time, space, wavelength; not channels or colours). None
        proposes those whose neighbouring slices are alike in the training samples.
    n_components : int, sequence of int or None, default=None
        Numbers of components to try; None for 1, 2, 4 and 9 times ``c - 1`` with c
        classes, the last two only up to 100 and from order 2 on, as far as a sample has
        as many entries.
    white : bool, default=True
        Whether features are made white within classes; see `TensorCRP`.
    average : int, default=5
        Number of points whose models are averaged: one model per fold, and one of all
        samples. 1 for the best point alone, refitted on all samples.
    distance : {"euclidean", "cosine", "both"} or sequence of them, default="both"
        The distance of features that the classifier sees, see `DistanceFeatures`. Of
        several, the folds choose one.
    cv : int, splitter or iterable, default=5
        Folds, as in scikit-learn. An integer is lowered to the size of the smallest
        class, in samples or groups, but not below 2.
    race : bool, default=True
        Whether only the best six lanes (smoothness, rank, ridge), or as many as points
        are averaged, see all folds. All begin on two folds or a fifth of the samples,
        without the largest of several `n_components`; it follows if the next does best.
    scoring : str or callable, default=None
        As in scikit-learn; None for the classifier's ``score``, the accuracy.
    reg_scale : {"relative", "absolute"}, default="relative"
        Unit of the ridges, as in `TensorCRP`.
    between : {"classes", "samples"}, default="classes"
        How class means count, as in `TensorCRP`. With two classes it has no effect.
    class_weight : dict, "balanced" or None, default=None
        Weights of classes in every fit and score, as in `TensorCRP`.
    init : {"lda", "identity", "random"}, callable or list of arrays, default="lda"
        Start of each projection, as in `TensorCRP`.
    n_init : int, default=1
        Number of starts of each projection.
    max_iter : int, default=1
        Largest number of sweeps over the modes for one projection. One keeps a large
        grid affordable.
    tol : float, default=0.0
        A projection is done when a sweep raises J by no more than this share; with 0,
        after `max_iter` sweeps.
    sample_shape : tuple of int, default=None
        Shape of a sample when the rows of X are flattened samples.
    random_state : int, RandomState, Generator or None, default=None
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
        The best point, as parameters of `TensorCRP`. Among ties, the point whose mean
        score with the next smaller and the next larger ridge is best; then the first in
        the order of the grids.
    best_score_ : float
        Its mean score over the folds.
    best_index_ : int
    cv_results_ : dict of ndarray
        As in `sklearn.model_selection.GridSearchCV`, one entry per point of the grid.
        NaN in folds that a point did not see in a race; "n_splits" is how many it saw.
    best_estimator_ : TensorCRP
        The best point, refitted on all samples.
    members_ : list of dict
        The points of the average, the best first.
    weights_ : ndarray
        Their weights, which sum to one.
    distances_ : DistanceFeatures
        What the features pass before the classifier.
    estimator_ : classifier
        The classifier, fitted on the features of all samples.
    candidates_ : list of dict
        Mean score of every "distance" and "estimator" on the averaged features, if
        there are several.
    projections_ : ndarray of shape (H, P)
        Rows that give the averaged features of a raw sample.
    components_, factors_, n_iter_
        Those of `best_estimator_`.
    classes_, sample_shape_, input_shape_
        As in `TensorCRP`.
    ordered_ : list of bool
        Which modes are smoothed.
    n_splits_ : int
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only when X had column names.

    See Also
    --------
    TensorCRP : One model.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from tensorcrp import TensorCRPCV
    >>> digits = load_digits()
    >>> X, y = digits.images[:200], digits.target[:200]
    >>> search = TensorCRPCV(ranks=(1, 2), regs=(0.1, 1.0), cv=3).fit(X, y)
    >>> sorted(search.best_params_)
    ['n_components', 'rank', 'reg', 'smooth']
    >>> search.transform(X).shape == (200, len(search.projections_))
    True
    """

    best_params_: dict[str, Any]
    best_score_: float
    best_index_: int
    cv_results_: dict[str, Any]
    best_estimator_: TensorCRP
    members_: list[dict[str, Any]]
    weights_: Floats
    distances_: DistanceFeatures
    estimator_: Any
    candidates_: list[dict[str, Any]]
    factors_: list[Floats]
    components_: Floats
    projections_: Floats
    classes_: Array
    ordered_: list[bool]
    n_iter_: int
    n_splits_: int

    def __init__(
        self,
        estimator: Any = None,
        *,
        ranks: Sequence[Rank] | Array = (1, 2, "full"),
        regs: Sequence[float] | Array = (0.001, 0.01, 0.1, 1.0, 10.0),
        smooth: Sequence[float] | Array = (0.0, 1.0, 10.0),
        ordered: Sequence[bool] | None = None,
        n_components: int | Sequence[int] | Array | None = None,
        white: bool = True,
        average: int = 5,
        distance: Distance | Sequence[Distance] = "both",
        cv: Folds = 5,
        race: bool = True,
        scoring: Any = None,
        reg_scale: RegScale = "relative",
        between: Weighting = "classes",
        class_weight: ClassWeight = None,
        init: Init = "lda",
        n_init: int = 1,
        max_iter: int = 1,
        tol: float = 0.0,
        sample_shape: Sequence[int] | None = None,
        random_state: RandomSource = None,
        n_jobs: int | None = None,
        max_memory: float | None = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.ranks = ranks
        self.regs = regs
        self.smooth = smooth
        self.ordered = ordered
        self.n_components = n_components
        self.white = white
        self.average = average
        self.distance = distance
        self.cv = cv
        self.race = race
        self.scoring = scoring
        self.reg_scale = reg_scale
        self.between = between
        self.class_weight = class_weight
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.sample_shape = sample_shape
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.max_memory = max_memory
        self.verbose = verbose

    def fit(
        self,
        X: Samples,
        y: ArrayLike,
        groups: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Choose the parameters by cross-validation and refit on all samples.

        Parameters
        ----------
        X : array-like of shape (n, l_1, ..., l_N), or (n, P) with `sample_shape`
            Training samples; never modified. May be outside memory as in
            `TensorCRP.fit`; features of all samples are in memory.
        y : array-like of shape (n,)
            Labels.
        groups : array-like of shape (n,), default=None
            Samples of one group stay on one side of a split; a splitter is given them.
        sample_weight : array-like of shape (n,), default=None
            Weights in every fit and score, and of the classifier if it takes them. An
            integer `cv` splits samples with weight; folds that test none are left out.

        Returns
        -------
        TensorCRPCV
            The fitted estimator. After an error or Ctrl-C it is unchanged.
        """
        with replaced_at_once(self) as new:
            new._check_parameters()
            X, y, weight = check_samples(new, X, y, sample_weight, lazy=True)
            folds = folds_of(new.cv, X, y, groups, weight)
            grid, new.ordered_ = grid_of(new, X, y, weight)
            weight = np.ones(len(y)) if weight is None else weight
            fewest = fewest_of(folds, weight)
            spec, shape = spec_of(new, max(grid.sizes)), new.sample_shape_
            metrics = [metric_of(each, None, shape) for each in grid.smooths]
            search = Search(X, y, weight, spec, metrics, fewest, new.max_memory)
            options = scorable_options(new, X, y)
            with bounded_threads(X.nbytes, SMALL_PASSES):
                scores, seen, models = score_points(search, grid, folds, options)
                best = new._choose(grid, scores, seen)
                new._refit(search, grid, best, folds, models, options)
        return self

    def _check_parameters(self):
        check_request(self)
