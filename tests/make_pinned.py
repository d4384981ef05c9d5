"""Make ``pinned_fits.npz``: numbers of a dozen and a half fits, to hold a rebuild to.

    python tests/make_pinned.py

Not an oracle (those are in ``oracle.py``): what the package computed before its inside
was rebuilt. Orders 1 to 4, samples above and below the number of entries, float32,
several ranks and ridges in lanes, full rank, files, dask, batches, weights. Stored per
fit: features of new samples, factors, and J of every projection. Only public names are
used, so that the same script runs on either side of a rebuild.
"""

import tempfile
import warnings
from pathlib import Path

import numpy as np

from tensorcrp import TensorCRP, TensorCRPCV

STORED = Path(__file__).with_name("pinned_fits.npz")
SWEEPS = {"max_iter": 6, "tol": 0.0}


def samples(shape, n, n_classes=3, seed=0, dtype=float):
    """Classes apart by half a deviation: (n, *shape), labels, and five new samples."""
    rng = np.random.default_rng(seed)
    y = np.arange(n + 5) % n_classes
    means = rng.standard_normal((n_classes, *shape))
    X = (means[y] + 2 * rng.standard_normal((n + 5, *shape))).astype(dtype)
    return X[:n], y[:n], X[n:]


def from_file(X):
    """The same samples as a read-only memory map."""
    path = Path(tempfile.mkdtemp()) / "X.npy"
    np.save(path, X)
    return np.load(path, mmap_mode="r")


def on_dask(X):
    """The same samples in four chunks."""
    import dask.array as da

    return da.from_array(X, chunks=(-(-len(X) // 4), *X.shape[1:]))


def in_batches(model, X, y):
    for part in np.array_split(np.arange(len(X)), 4):
        model.partial_fit(X[part], y[part])
    return model


def weighted(model, X, y):
    return model.fit(X, y, np.random.default_rng(1).integers(0, 4, len(y)))


def plain(model, X, y):
    return model.fit(X, y)


# name: (shape, n), parameters, where the samples are, how they are fitted
FITS = {
    "vectors, tall": ((6,), 60, {}, None, plain),
    "vectors, wide": ((20,), 15, {}, None, plain),
    "matrices, tall": ((5, 4), 60, {"rank": 2}, None, plain),
    "matrices, wide": ((8, 7), 30, {"rank": 2}, None, plain),
    "paper": (
        (6, 5),
        24,
        {
            "init": "identity",
            "reg": 5.0,
            "reg_scale": "absolute",
            "between": "samples",
            **SWEEPS,
        },
        None,
        plain,
    ),
    "order 3, tall": ((4, 3, 2), 60, {"rank": 3}, None, plain),
    "order 3, wide": ((6, 5, 4), 30, {"rank": 2, "reg": 1.0}, None, plain),
    "order 3, rank 1": ((6, 5, 4), 30, {"rank": 1, **SWEEPS}, None, plain),
    "order 4": ((3, 4, 3, 2), 40, {"rank": 2}, None, plain),
    "long mode": ((3, 60), 20, {"rank": 2}, None, plain),
    "full rank, tall": ((4, 3), 40, {"rank": "full"}, None, plain),
    "full rank, wide": ((8, 7), 30, {"rank": "full", "reg": 1.0}, None, plain),
    "random starts": (
        (6, 5),
        30,
        {"init": "random", "n_init": 3, "random_state": 0, **SWEEPS},
        None,
        plain,
    ),
    "file": ((8, 7), 30, {"max_memory": 0}, from_file, plain),
    "dask": ((8, 7), 30, {"max_memory": 0}, on_dask, plain),
    "dask, tall": ((4, 3), 60, {}, on_dask, plain),
    "batches": ((6, 5), 45, {}, None, in_batches),
    "weights": ((6, 5), 45, {}, None, weighted),
}


def compute(name):
    """Arrays of one fit by their names."""
    shape, n, parameters, place, fitted = FITS[name]
    X, y, new = samples(shape, n)
    model = fitted(TensorCRP(4, **parameters), X if place is None else place(X), y)
    return numbers(model, new)


def numbers(model, new):
    """Features of new samples, factors and J of a fitted TensorCRP."""
    curves = getattr(model, "history_", None) or model.objective_
    return {
        "features": model.transform(new),
        **{f"factor {m}": factor for m, factor in enumerate(model.factors_)},
        "J": np.array([curve[-1] for curve in curves]),
    }


def single():
    """A fit of float32 samples."""
    X, y, new = samples((8, 7), 30, dtype=np.float32)
    return numbers(TensorCRP(4).fit(X, y), new)


def search():
    """Lanes: three ranks and four ridges, every fold's score and the best model."""
    X, y, new = samples((6, 5), 36)
    grid = {"ranks": (1, 2, "full"), "regs": (0.03, 0.3, 3.0, 30.0)}
    plain = {"smooth": (0.0,), "white": False, "average": 1, "race": False}
    grid |= plain | {"max_iter": 20, "tol": 0.1}  # what there was when it was stored
    model = TensorCRPCV(**grid, n_components=(2, 4), cv=3).fit(X, y)
    scores = [model.cv_results_[f"split{i}_test_score"] for i in range(3)]
    return {"scores": np.stack(scores), "features": model.transform(new)}


def everything():
    """All arrays: ``fit/array`` -> values."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = {name: compute(name) for name in FITS}
        found |= {"float32": single(), "search": search()}
    return {
        f"{name}/{array}": values
        for name, arrays in found.items()
        for array, values in arrays.items()
    }


if __name__ == "__main__":
    np.savez_compressed(STORED, **everything())
    print(f"wrote {STORED.name}, {STORED.stat().st_size / 1e3:.0f} kB")
