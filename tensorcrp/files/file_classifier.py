"""A classifier that takes files and gives names of classes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, Self

from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin

from tensorcrp.base.parameters import (
    check_choice,
    check_instance,
    check_integer,
    check_picture_size,
)
from tensorcrp.base.state import replaced_at_once
from tensorcrp.base.types import AnyPath, RandomState
from tensorcrp.files.cache import folder_of_clips
from tensorcrp.files.found import find_files
from tensorcrp.files.new_files import FilePredictor
from tensorcrp.files.predictions import Predictions
from tensorcrp.files.reading import check_options, check_settings
from tensorcrp.files.training import (
    check_halves,
    check_rule,
    chosen_classifier,
    halves_of,
    learnt,
    left_out_of,
)
from tensorcrp.model_selection import TensorCRPCV
from tensorcrp.preprocessing import KINDS


class FileClassifier(FilePredictor, ClassifierMixin, BaseEstimator):
    """Classify video clips, images or recordings by their files.

    Everything is chosen by cross-validation on the training files: the transformation
    along time, then rank, ridge and number of components of the projections. What is to
    be expected of new files is estimated on held-out files, with all choices made
    without them.

    Parameters
    ----------
    classifier : str or classifier, default="lda"
        Classifier of the features: "lda" (shrunk), "logistic", "nearest-mean", "1-nn",
        "linear-svm", "rbf-svm", or any classifier of scikit-learn.
    frames : int, default=16
        Frames of a clip.
    size : (int, int), default=None
        Height and width to which frames and images are resized; None for (32, 32).
    color : {"gray", "rgb"}, default="gray"
        One value per pixel, or three as a last mode.
    sampling : {"uniform", "center", "windows"}, default="uniform"
        As in `tensorcrp.video.read_clips`. With "windows" the scores of a file are
        means over its windows, and the windows of a file stay together.
    stride : int, default=None
        Frames between the starts of windows.
    motion : {"auto", "none", "centred", "difference", "root"}, default="auto"
        Transformation along time, see `tensorcrp.preprocessing.Motion`. "auto" chooses
        one for clips and takes "none" for all else.
    data, target : str, default=None
        Variables of samples and labels in a file of arrays. New files may have others:
        `set_params` on the fitted model.
    samples : {"first", "last"}, default="first"
        Which axis of an array counts the samples.
    search : TensorCRPCV, default=None
        Grids to choose from; its `estimator` and `cv` are replaced.
    cv : int, default=5
        Number of folds of every cross-validation, at most. Of a class of five files or
        groups, or fewer, one at a time is left out.
    on_error : {"raise", "skip"}, default="raise"
        What to do with a file that cannot be read; "skip" lists it in ``skipped_``.
    n_jobs : int, default=None
        Number of threads that decode, and of processes over folds.
    cache : path, default=None
        Folder for decoded clips: decoded once, mapped into memory by all processes,
        used again by the next fit on the same files. None for a temporary folder that
        `fit` removes at its end.
    random_state : int or None, default=0
        Of the folds.
    verbose : int, default=0
        Show progress bars.

    Attributes
    ----------
    classes_ : ndarray of str
        Names of the classes, sorted.
    model_ : Pipeline
        `Motion` and `TensorCRPCV`, fitted on numbers of classes.
    reader_ : dict
        How files were read, and what samples are like; kept in model files.
    scores_ : dict
        Held-out "accuracy", "chance" and "majority" beside it, "confusion" (true class
        by predicted class), scores of every "motion", the "temperature" by which
        probabilities are made less sure, as held-out files ask for, and with
        ``train/`` and ``test/`` folders "test_accuracy" and "left_out", the names of
        folders beside them, such as ``val``.
    held_out_ : Predictions
        Of the training files, each by a model chosen without it. Not in model files.
    skipped_ : list of (str, str)
        Training files that could not be read. Not in model files.

    See Also
    --------
    tensorcrp.persistence.save : One file with all of it.
    tensorcrp.files.fold_linear : The fast path for samples in memory.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from tensorcrp import TensorCRPCV
    >>> from tensorcrp.datasets import make_moving_shapes
    >>> from tensorcrp.files import FileClassifier
    >>> grid = TensorCRPCV(ranks=(1,), regs=(0.1, 1.0))
    >>> with TemporaryDirectory() as folder:
    ...     made = make_moving_shapes(8, 2, random_state=0, folder=folder)
    ...     model = FileClassifier(frames=8, size=(16, 16), search=grid, cv=2)
    ...     labels = model.fit(folder).predict(f"{folder}/left")
    >>> model.classes_.tolist(), labels[:2].tolist()
    (['left', 'right'], ['left', 'left'])
    """

    held_out_: Predictions
    skipped_: list[tuple[str, str]]

    if TYPE_CHECKING:  # scikit-learn's methods, which have no types

        def set_params(self, **params: Any) -> Self: ...

    def __init__(
        self,
        classifier: Any = "lda",
        *,
        frames: int = 16,
        size: tuple[int, int] | None = None,
        color: Literal["gray", "rgb"] = "gray",
        sampling: Literal["uniform", "center", "windows"] = "uniform",
        stride: int | None = None,
        motion: Literal["auto", "none", "centred", "difference", "root"] = "auto",
        data: str | None = None,
        target: str | None = None,
        samples: Literal["first", "last"] = "first",
        search: Any = None,
        cv: int = 5,
        on_error: Literal["raise", "skip"] = "raise",
        n_jobs: int | None = None,
        cache: AnyPath | None = None,
        random_state: RandomState = 0,
        verbose: int = 0,
    ) -> None:
        self.classifier = classifier
        self.frames = frames
        self.size = size
        self.color = color
        self.sampling = sampling
        self.stride = stride
        self.motion = motion
        self.data = data
        self.target = target
        self.samples = samples
        self.search = search
        self.cv = cv
        self.on_error = on_error
        self.n_jobs = n_jobs
        self.cache = cache
        self.random_state = random_state
        self.verbose = verbose

    def fit(
        self,
        data: AnyPath | Sequence[AnyPath],
        y: ArrayLike | None = None,
        groups: str | ArrayLike | None = None,
    ) -> Self:
        """Read labelled files, choose everything, fit.

        Parameters
        ----------
        data : path, or list of paths
            A folder with one subfolder per class, or with ``train/`` and ``test/``
            folders of such (``val/`` is left out); a file of arrays (``.npz``,
            ``.mat``, HDF5, Zarr) or of epochs (``.fif``); or files with labels `y`.
        y : array-like of shape (n,), default=None
            Class of each file (of each sample in a file of arrays); None for the names
            of the subfolders, or the labels in the file.
        groups : str or array-like of shape (n,), default=None
            Files that stay together in every split, as a rule of `file_groups`, the
            name of an array in the file, or one group per file. None keeps the samples
            of a file together if files have classes, of each class four or more.

        Returns
        -------
        FileClassifier
            The fitted estimator. After an error or Ctrl-C it is unchanged.
        """
        with replaced_at_once(self) as new:
            new._check_parameters()
            halves = halves_of(data) if y is None else None
            first = data if halves is None else halves[0]
            found = find_files(first, labelled=y is None, on_error=new.on_error)
            check_rule(groups, found)
            check_halves(halves, found, groups)
            params = new.get_params(deep=False)
            check_options(found.kind, params, type(new)().get_params(deep=False))
            with folder_of_clips(new.cache) as cache:
                state = learnt(params | {"cache": cache}, found, y, groups)
            vars(new).update(state)
            if halves is not None:
                new._add_test(halves[1])
                new.scores_["left_out"] = left_out_of(data, halves)
        return self

    def _add_test(self, folder):
        """Score the files of a test folder that came with the training files."""
        samples = self._new(folder)
        unknown = set(samples.labels) - {*self.classes_, None}
        if unknown:
            raise ValueError(
                f"{folder} has the class {min(unknown)}, which the training files lack."
            )
        test = self._predictions(samples)
        self.skipped_ = [*self.skipped_, *test.skipped]
        self.scores_["test_accuracy"] = test.accuracy
        self.scores_["test_files"] = sum(each is not None for each in test.truth)

    def _check_parameters(self):
        check_choice("motion", self.motion, ("auto", *KINDS))
        check_choice("on_error", self.on_error, ("raise", "skip"))
        check_choice("samples", self.samples, ("first", "last"))
        check_integer("cv", self.cv, least=2)
        if self.size is not None:
            check_picture_size(self.size)
        if self.search is not None:
            check_instance("search", self.search, TensorCRPCV)
        chosen_classifier(self.classifier)

    @staticmethod
    def check_reader(reader: dict[str, Any]) -> None:
        """Raise ValueError unless a dict has the settings of a reader.

        Parameters
        ----------
        reader : dict
            As in ``reader_``.
        """
        check_settings(reader)
