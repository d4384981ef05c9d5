"""From files to class names: classifiers of clips, images and recordings.

In: a folder with one subfolder per class, single files, lists of files, or a file of
arrays or epochs. Out: a fitted `FileClassifier`, which remembers how its files were
read, and which reads new files in the same way.
"""

from tensorcrp.files.file_classifier import FileClassifier
from tensorcrp.files.grouping import file_groups
from tensorcrp.files.linear import LinearMap, fold_linear
from tensorcrp.files.predictions import Predictions

__all__ = ["FileClassifier", "LinearMap", "Predictions", "file_groups", "fold_linear"]
