"""Labelled tensors: synthetic, built in, fetched, or read from files.

Every function returns a `~sklearn.utils.Bunch` with ``data`` (n, l_1, ..., l_N),
``target`` (n,), ``target_names``, ``mode_names`` (one name per mode) and ``DESCR``, or
``(X, y)`` with ``return_X_y=True``. No pickle is ever loaded.

Sets that have to be fetched are looked for, in this order: as ``NAME.npz`` in the
folder that the environment variable ``TENSORCRP_DATA`` names, in the cache folder
(``data_home``), and at their source.
"""

from tensorcrp.datasets._fetch import (
    fetch_dataset,
    fetch_olivetti,
    fetch_umist,
    fetch_usps,
    list_datasets,
)
from tensorcrp.datasets._folders import are_images, read_images
from tensorcrp.datasets._made import make_multichannel, make_tensor_classification
from tensorcrp.datasets._moving import make_moving_shapes
from tensorcrp.datasets._read import read_tensors
from tensorcrp.datasets._shipped import load_digits

__all__ = [
    "are_images",
    "fetch_dataset",
    "fetch_olivetti",
    "fetch_umist",
    "fetch_usps",
    "list_datasets",
    "load_digits",
    "make_moving_shapes",
    "make_multichannel",
    "make_tensor_classification",
    "read_images",
    "read_tensors",
]
