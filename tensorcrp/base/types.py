"""Types of the public interface: what callers may pass, and what they get back.

Arguments are as wide as the code allows, results as narrow as it promises. There is
nothing to call here. Scikit-learn, tensorly and matplotlib have no types that could be
relied on: their objects are `Any`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from os import PathLike
from typing import Any, Literal, Protocol, TypeAlias, TypedDict

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array: TypeAlias = NDArray[Any]
Floats: TypeAlias = NDArray[np.floating[Any]]
Flags: TypeAlias = NDArray[np.bool_]
Integers: TypeAlias = NDArray[np.integer[Any]]
Shape: TypeAlias = tuple[int, ...]
AnyPath: TypeAlias = str | PathLike[str]

Rank: TypeAlias = int | Literal["full"]
RegScale: TypeAlias = Literal["relative", "absolute"]
Weighting: TypeAlias = Literal["classes", "samples"]
ClassWeight: TypeAlias = Mapping[Any, float] | Literal["balanced"] | None
RandomState: TypeAlias = int | np.random.RandomState | None
RandomSource: TypeAlias = RandomState | np.random.Generator
Sizes: TypeAlias = int | Sequence[int] | None
Init: TypeAlias = (
    Literal["lda", "identity", "random"]
    | Callable[[Shape, int, Any], Sequence[Array]]
    | Callable[[Shape, int, Any, int], Sequence[Array]]
    | Sequence[Array]
)
Stop: TypeAlias = Callable[[Sequence[float], int], bool]
Callback: TypeAlias = (
    Callable[[int, Array, Array], object]
    | Callable[[int, Array, Array, list[list[Array]]], object]
)


class Stored(Protocol):
    """Samples outside memory, such as a Zarr array or an HDF5 dataset."""

    @property
    def shape(self) -> Any: ...
    @property
    def dtype(self) -> Any: ...
    def __getitem__(self, key: Any, /) -> Any: ...


class DaskArray(Protocol):
    """A dask array: what is computed from it is another one."""

    @property
    def shape(self) -> Any: ...
    def compute(self, **kwargs: Any) -> Any: ...
    def rechunk(self, *args: Any, **kwargs: Any) -> Any: ...


Samples: TypeAlias = ArrayLike | Stored | DaskArray


class Splitter(Protocol):
    """A splitter of scikit-learn, such as ``KFold``."""

    def split(self, X: Any, y: Any, groups: Any, /) -> Any: ...


Folds: TypeAlias = int | Splitter | Iterable[tuple[ArrayLike, ArrayLike]]


class Fields(Protocol):
    """A Bunch with samples: its fields are attributes and items."""

    data: Array
    mode_names: tuple[str, ...]

    def __getattr__(self, name: str, /) -> Any: ...
    def __getitem__(self, name: str, /) -> Any: ...
    def keys(self) -> Iterable[str]: ...


class Dataset(Fields, Protocol):
    """A Bunch with labelled samples."""

    target: Array
    target_names: list[str]
    DESCR: str


XY: TypeAlias = tuple[Array, Array]


class Sought(TypedDict, total=False):
    """Where a data set is looked for."""

    data_home: AnyPath | None
    download_if_missing: bool
