"""What a fitted classifier of files makes of new files.

In: files of the kind seen in `fit`, a folder of them, or samples in memory. Out:
labels, probabilities, or features, one row per file or per sample.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.metrics import accuracy_score
from sklearn.utils import Bunch
from sklearn.utils.validation import check_is_fitted

from tensorcrp.base.state import OneState
from tensorcrp.base.types import Array, Fields, Floats
from tensorcrp.files.found import find_files
from tensorcrp.files.predictions import Predictions, per_file, scores_of
from tensorcrp.files.reading import (
    OF_ARRAYS,
    check_kind,
    check_like,
    check_options,
    read_files,
)
from tensorcrp.files.recordings import label_texts
from tensorcrp.files.samples import Samples
from tensorcrp.files.scoring import tempered
from tensorcrp.files.training import named_groups, reading_parameters


class FilePredictor(OneState):
    """The methods of a fitted `FileClassifier`; every call reads one state of it."""

    classes_: Array
    model_: Any
    reader_: dict[str, Any]
    scores_: dict[str, Any]
    classifier: Any
    on_error: str

    if TYPE_CHECKING:  # of scikit-learn, which has no types

        def get_params(self, deep: bool = True) -> dict[str, Any]: ...

    def predict_files(self, data: Any, groups: str | None = None) -> Predictions:
        """Labels of files, with probabilities and second choices.

        Parameters
        ----------
        data : path, list of paths, or array of shape (n, l_1, ..., l_N)
            Files of the kind seen in `fit`, a folder of them with or without
            subfolders, or samples in memory, read as ``reader_`` says.
        groups : str, default=None
            A rule as in `fit`; the groups are listed beside the labels.

        Returns
        -------
        Predictions
            One entry per file; of a file of arrays, one per sample.
        """
        check_is_fitted(self)
        return self._predictions(self._new(data), groups)

    def _predictions(self, samples, groups=None):
        """The same of samples that were read."""
        scores, probabilities = scores_of(self.model_, samples.X)
        names = set(self.classes_)
        if probabilities:
            scores = tempered(scores, self.scores_["temperature"])
        return Predictions(
            samples.files,
            per_file(scores, samples.owner, len(samples.files)),
            self.classes_,
            probabilities,
            [label if label in names else None for label in samples.labels],
            samples.skipped,
            None if groups is None else named_groups(groups, samples).tolist(),
        )

    def predict(self, data: Any) -> Array:
        """Names of the classes of files.

        Parameters
        ----------
        data : path, list of paths, or array of shape (n, l_1, ..., l_N)
            As in `predict_files`.

        Returns
        -------
        ndarray of str, shape (n,)
            One of `classes_` per file.
        """
        return self.predict_files(data).labels

    def score(self, data: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Share of right labels.

        Parameters
        ----------
        data : path, list of paths, or array of shape (n, l_1, ..., l_N)
            As in `predict_files`.
        y : array-like of shape (n,), default=None
            Class of each file; None for the names of the folders that files lie in, or
            the labels in the file, where they are names of classes.
        sample_weight : array-like of shape (n,), default=None
            Weights of the entries of `y`.

        Returns
        -------
        float
            Between 0 and 1.
        """
        predictions = self.predict_files(data)
        if y is not None:
            names = label_texts(np.asarray(y))
            if not set(names) & set(self.classes_):
                raise ValueError(
                    f"y has no label of the model, but {names[0]!r}; the classes are "
                    f"{', '.join(map(str, self.classes_[:5]))}."
                )
            right = accuracy_score(
                names, predictions.labels, sample_weight=sample_weight
            )
            return float(right)
        if predictions.accuracy is None:
            raise ValueError(
                "the classes of these files are not known: none lies in a folder "
                f"named {' or '.join(map(str, self.classes_[:3]))}. Pass y, one class "
                "per file."
            )
        return predictions.accuracy

    def predict_proba(self, data: Any) -> Floats:
        """Probabilities of the classes of files.

        Parameters
        ----------
        data : path, list of paths, or array of shape (n, l_1, ..., l_N)
            As in `predict_files`.

        Returns
        -------
        ndarray of shape (n, c)
            In the order of `classes_`.
        """
        predictions = self.predict_files(data)
        if not predictions.are_probabilities:
            raise AttributeError(
                f"classifier={self.classifier!r} gives no probabilities; use "
                '"logistic" or "lda".'
            )
        return predictions.scores

    def features(self, data: Any, groups: str | None = None) -> Fields:
        """Features of samples, with names and files.

        Parameters
        ----------
        data : path, list of paths, or array of shape (n, l_1, ..., l_N)
            As in `predict_files`.
        groups : str, default=None
            A rule as in `fit`.

        Returns
        -------
        Bunch
            ``data`` (m, h), ``files`` and ``groups`` (one per row, or None),
            ``feature_names``, ``skipped``.
        """
        check_is_fitted(self)
        samples = self._new(data)
        features = self.model_.transform(samples.X)
        names = None if groups is None else named_groups(groups, samples)
        return Bunch(
            data=np.asarray(features),
            groups=None if names is None else names[samples.owner].tolist(),
            files=[samples.files[i] for i in samples.owner],
            feature_names=[f"crp{i}" for i in range(features.shape[1])],
            mode_names=("feature",),
            skipped=samples.skipped,
        )

    def transform(self, data: Any) -> Floats:
        """Features of samples.

        Parameters
        ----------
        data : path, list of paths, or array of shape (n, l_1, ..., l_N)
            As in `predict_files`.

        Returns
        -------
        ndarray of shape (m, h)
            One row per sample.
        """
        return self.features(data).data

    def _new(self, data):
        """Samples of new files, or in memory, that are like those at fit."""
        if isinstance(data, np.ndarray) and data.dtype.kind in "fiub":
            samples = Samples.in_memory(data, self.reader_["mode_names"])
        else:
            found = find_files(data, labelled=False, on_error=self.on_error)
            check_kind(self.reader_, found.kind)
            samples = self._read(found)
        check_like(self.reader_, samples)
        return samples

    def _read(self, found):
        """Samples as at fit, but for variables that have been renamed since."""
        params = self.get_params(deep=False)
        names = {name: params[name] for name in OF_ARRAYS}
        reader = self.reader_ | names
        check_options(found.kind, reader, self.reader_)
        renamed = names["target"] != self.reader_["target"]
        return read_files(found, reader, **reading_parameters(params), labelled=renamed)

    def __sklearn_is_fitted__(self):
        return hasattr(self, "model_")

    @property
    def sample_shape_(self) -> tuple[int, ...]:
        """Shape of a sample as it is read."""
        return self.reader_["shape"]
