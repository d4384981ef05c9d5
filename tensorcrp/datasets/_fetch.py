"""Data sets by name, as scikit-learn's fetchers give them.

In: a name. Out: a Bunch or ``(X, y)``. `_places` says where data sets are looked for;
here is what is asked of OpenML and of scikit-learn.
"""

from __future__ import annotations

from typing import Literal, Unpack, overload

import numpy as np
from sklearn import datasets as sklearn_datasets

from tensorcrp.base.types import XY, AnyPath, Dataset, Sought
from tensorcrp.datasets._bunch import hand_out
from tensorcrp.datasets._places import find_dataset
from tensorcrp.datasets.origins import SOURCES, Origin

_OLIVETTI = Origin((400, 64, 64), ("row", "column"), "", "Olivetti faces, 64x64.")


def list_datasets() -> list[str]:
    """Names that `fetch_dataset` takes.

    Returns
    -------
    list of str
        In alphabetical order.

    Examples
    --------
    >>> from tensorcrp.datasets import list_datasets
    >>> list_datasets()[:3]
    ['basic_motions', 'binalpha', 'cmu_faces']
    """
    return sorted(SOURCES)


@overload
def fetch_dataset(
    name: str, *, return_X_y: Literal[True], **how: Unpack[Sought]
) -> XY: ...
@overload
def fetch_dataset(
    name: str, *, return_X_y: Literal[False] = ..., **how: Unpack[Sought]
) -> Dataset: ...
def fetch_dataset(
    name: str,
    *,
    data_home: AnyPath | None = None,
    download_if_missing: bool = True,
    return_X_y: bool = False,
) -> Dataset | XY:
    """Fetch a data set of the registry by name.

    Looked for in this order: ``NAME.npz`` in the folder that the environment variable
    ``TENSORCRP_DATA`` names; ``NAME.npz`` in the cache folder; the file of the source
    in the cache folder, put there by hand; the source. The last two are checked
    against the registry, then kept in the cache as ``NAME.npz``.

    Parameters
    ----------
    name : str
        One of `list_datasets`.
    data_home : path, default=None
        The cache folder is ``data_home/tensorcrp``; by default scikit-learn's data
        folder, ``~/scikit_learn_data`` or the environment's ``SCIKIT_LEARN_DATA``.
    download_if_missing : bool, default=True
        If False, raise an error if the data set is not available locally.
    return_X_y : bool, default=False
        Return ``(X, y)`` instead of a Bunch.

    Returns
    -------
    Bunch or (X, y)
        Beside the usual fields: further arrays of the file, such as ``train`` or
        ``subject``; ``verified``, whether the arrays are those of the registry; and
        ``file``, where they were read.

    Raises
    ------
    FileNotFoundError
        If it is nowhere; the message says which file to put where.

    Examples
    --------
    Where there is no network, a file in the cache will do.

    >>> import numpy as np
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from tensorcrp.datasets import fetch_dataset
    >>> with TemporaryDirectory() as home:
    ...     file = Path(home) / "tensorcrp" / "usps.npz"
    ...     file.parent.mkdir()
    ...     np.savez(file, X=np.ones((2, 16, 16)), y=[0, 1])
    ...     usps = fetch_dataset("usps", data_home=home)
    >>> usps.data.shape[1:], usps.mode_names
    ((16, 16), ('row', 'column'))
    """
    if name not in SOURCES:
        raise ValueError(f"name must be one of {list_datasets()}, got {name!r}.")
    by_name = {"usps": fetch_usps, "umist": fetch_umist}
    how = {"data_home": data_home, "download_if_missing": download_if_missing}
    if name in by_name:
        return by_name[name](**how, return_X_y=return_X_y)
    return hand_out(find_dataset(name, SOURCES[name], **how), return_X_y)


@overload
def fetch_usps(*, return_X_y: Literal[True], **how: Unpack[Sought]) -> XY: ...
@overload
def fetch_usps(
    *, return_X_y: Literal[False] = ..., **how: Unpack[Sought]
) -> Dataset: ...
def fetch_usps(
    *,
    data_home: AnyPath | None = None,
    download_if_missing: bool = True,
    return_X_y: bool = False,
) -> Dataset | XY:
    """USPS handwritten digits, (9298, 16, 16), values in [-1, 1].

    From OpenML (41082) through `sklearn.datasets.fetch_openml`, unless ``usps.npz`` is
    in ``TENSORCRP_DATA`` or in the cache.

    Parameters
    ----------
    data_home : path, default=None
        See `fetch_dataset`.
    download_if_missing : bool, default=True
        If False, raise an error if the data set is not available locally.
    return_X_y : bool, default=False
        Return ``(X, y)`` instead of a Bunch.

    Returns
    -------
    Bunch or (X, y)
        Labels are the digits 0 to 9.

    Examples
    --------
    Where there is no network, a file in the cache will do.

    >>> import numpy as np
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from tensorcrp.datasets import fetch_usps
    >>> with TemporaryDirectory() as home:
    ...     file = Path(home) / "tensorcrp" / "usps.npz"
    ...     file.parent.mkdir()
    ...     np.savez(file, X=np.ones((2, 16, 16)), y=[0, 1])
    ...     X, y = fetch_usps(data_home=home, return_X_y=True)
    >>> X.shape[1:]
    (16, 16)
    """

    def fetch():
        X, y = _openml(data_home, data_id=41082)
        # OpenML numbers the classes from 1.
        return {"X": X.reshape(-1, 16, 16).astype(np.float32), "y": y - 1}

    bunch = find_dataset("usps", SOURCES["usps"], data_home, download_if_missing, fetch)
    return hand_out(bunch, return_X_y)


@overload
def fetch_umist(*, return_X_y: Literal[True], **how: Unpack[Sought]) -> XY: ...
@overload
def fetch_umist(
    *, return_X_y: Literal[False] = ..., **how: Unpack[Sought]
) -> Dataset: ...
def fetch_umist(
    *,
    data_home: AnyPath | None = None,
    download_if_missing: bool = True,
    return_X_y: bool = False,
) -> Dataset | XY:
    """UMIST (Sheffield) faces of 20 people from profile to front, 575 images.

    (575, 112, 92) from OpenML (UMIST_Faces_Cropped) through
    `sklearn.datasets.fetch_openml`, unless ``umist.npz``, which is 32x32 in the shared
    form, is in ``TENSORCRP_DATA`` or in the cache.

    Parameters
    ----------
    data_home : path, default=None
        See `fetch_dataset`.
    download_if_missing : bool, default=True
        If False, raise an error if the data set is not available locally.
    return_X_y : bool, default=False
        Return ``(X, y)`` instead of a Bunch.

    Returns
    -------
    Bunch or (X, y)
        Labels are the numbers of the people.

    Examples
    --------
    Where there is no network, a file in the cache will do.

    >>> import numpy as np
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from tensorcrp.datasets import fetch_umist
    >>> with TemporaryDirectory() as home:
    ...     file = Path(home) / "tensorcrp" / "umist.npz"
    ...     file.parent.mkdir()
    ...     np.savez(file, X=np.ones((2, 32, 32)), y=[0, 1])
    ...     X, y = fetch_umist(data_home=home, return_X_y=True)
    >>> X.shape[1:]
    (32, 32)
    """

    def fetch():
        X, y = _openml(data_home, name="UMIST_Faces_Cropped", version=1)
        return {"X": _upright(X, (112, 92)), "y": y}

    bunch = find_dataset(
        "umist", SOURCES["umist"], data_home, download_if_missing, fetch
    )
    return hand_out(bunch, return_X_y)


@overload
def fetch_olivetti(*, return_X_y: Literal[True], **how: Unpack[Sought]) -> XY: ...
@overload
def fetch_olivetti(
    *, return_X_y: Literal[False] = ..., **how: Unpack[Sought]
) -> Dataset: ...
def fetch_olivetti(
    *,
    data_home: AnyPath | None = None,
    download_if_missing: bool = True,
    return_X_y: bool = False,
) -> Dataset | XY:
    """Olivetti faces of 40 people, (400, 64, 64), values in [0, 1].

    Through `sklearn.datasets.fetch_olivetti_faces`, unless ``olivetti.npz`` is in
    ``TENSORCRP_DATA`` or in the cache. ``fetch_dataset("orl")`` is the same faces in
    the 32x32 crop that the literature on matrix methods uses.

    Parameters
    ----------
    data_home : path, default=None
        See `fetch_dataset`. Scikit-learn keeps a pickle of its own there.
    download_if_missing : bool, default=True
        If False, raise an error if the data set is not available locally.
    return_X_y : bool, default=False
        Return ``(X, y)`` instead of a Bunch.

    Returns
    -------
    Bunch or (X, y)
        Labels are the numbers of the people.

    Examples
    --------
    Where there is no network, a file in the cache will do.

    >>> import numpy as np
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from tensorcrp.datasets import fetch_olivetti
    >>> with TemporaryDirectory() as home:
    ...     file = Path(home) / "tensorcrp" / "olivetti.npz"
    ...     file.parent.mkdir()
    ...     np.savez(file, X=np.ones((2, 64, 64)), y=[0, 1])
    ...     X, y = fetch_olivetti(data_home=home, return_X_y=True)
    >>> X.shape[1:]
    (64, 64)
    """

    def fetch():
        faces = sklearn_datasets.fetch_olivetti_faces(data_home=data_home)
        return {"X": faces.images, "y": faces.target}

    bunch = find_dataset("olivetti", _OLIVETTI, data_home, download_if_missing, fetch)
    return hand_out(bunch, return_X_y)


def _openml(data_home, **which):
    """Flat samples and whole-number labels."""
    found = sklearn_datasets.fetch_openml(
        **which, data_home=data_home, as_frame=False, parser="liac-arff"
    )
    return found.data, found.target.astype(float).astype(int)


def _upright(flat, shape):
    """Images of the given shape, row by row or column by column: the smoother."""
    rows = flat.reshape(-1, *shape)
    columns = flat.reshape(-1, *shape[::-1]).swapaxes(1, 2)
    rough = [np.abs(np.diff(X[:20], axis=1)).mean() for X in (rows, columns)]
    return np.ascontiguousarray((rows, columns)[int(np.argmin(rough))])
