"""Samples that were read from files, each with the file that it comes from."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from tensorcrp.base.types import Array, Floats, Integers

# What one entry of `Samples.files` is called.
NOUNS = {"clips": "file", "images": "file", "arrays": "sample", "epochs": "epoch"}

PARENTHESES = r"\((?:[^()]|\([^()]*\))*\)"  # with others inside


def why_skipped(file: str, words: str) -> str:
    """Why a file gave no sample, without its name, repairs and names of parameters.

    Parameters
    ----------
    file : str
    words : str
        The message of the reader: what is wrong, and after a colon, or as another
        sentence, the repair.
    """
    words = words.removeprefix(file).lstrip(" :")
    words = re.match(rf"(?:{PARENTHESES}|(?!: |\. [A-Z]).)*", words)[0]
    return re.sub(r"(\w+)=(\d+)", r"\2 \1", words).rstrip(" .")


@dataclass(frozen=True)
class Samples:
    """Samples and where they come from.

    Attributes
    ----------
    X : ndarray of shape (m, l_1, ..., l_N)
    owner : ndarray of int, shape (m,)
        Index into `files`.
    files : list of str
        A file, or a file and the number of the sample in it, ``a.npz[3]``.
    labels : list of str or None
        Class of each of `files`; None where it is not known.
    mode_names : tuple of str
    skipped : list of (str, str)
        Files that could not be read, with the reason.
    more : dict
        Further arrays of a file, or columns of its table: one value per sample.
    channel_names : list of str or None
        Those of epochs.
    times : ndarray or None
        Those of epochs, in seconds.
    """

    X: Array
    owner: Integers
    files: list[str]
    labels: list[str | None]
    mode_names: tuple[str, ...]
    skipped: list[tuple[str, str]] = field(default_factory=list)
    more: dict[str, Any] = field(default_factory=dict)
    channel_names: list[str] | None = None
    times: Floats | None = None

    @classmethod
    def in_memory(cls, X: Array, mode_names: tuple[str, ...]) -> Self:
        """Samples that are in no file."""
        n = len(X)
        files = [f"sample {i}" for i in range(n)]
        return cls(X, np.arange(n), files, [None] * n, mode_names)


def same_times(some, others):
    """Whether two rows of times (l,) are equal to a microsecond."""
    return np.allclose(some, others, rtol=0, atol=1e-6)
