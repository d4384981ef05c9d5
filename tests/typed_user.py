"""What a user writes, with types: clean under ``mypy --strict`` and strict pyright.

Run by `test_types` as a script as well, so that the types are true.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray

import tensorcrp
from tensorcrp import ClassScatter, TensorCRP, TensorCRPCV
from tensorcrp.baselines import HODA, BilinearSVC, MultilinearLDA
from tensorcrp.datasets import load_digits, make_tensor_classification
from tensorcrp.persistence import load, save
from tensorcrp.solver import Deflation, Metric, Model, Rows, Spec, fit_path, solve

Array = NDArray[np.float64]


class Smooth(Metric):
    """Large differences of neighbours in the first mode cost more."""

    def __init__(self, mu: float) -> None:
        self.mu = mu

    def matrices(self, shape: tuple[int, ...]) -> list[Array | None]:
        D: Array = np.diff(np.eye(shape[0]), axis=0)
        return [np.eye(shape[0]) + self.mu * D.T @ D, *[None] * (len(shape) - 1)]


class GeneratedRows(Rows):
    """Rows that a function makes whenever they are needed."""

    def __init__(self, make: Callable[[int], Array], shape: tuple[int, ...]) -> None:
        self.make, self.whole = make, shape

    @property
    def shape(self) -> tuple[int, ...]:
        return self.whole

    def blocks(self, size: int) -> Iterator[tuple[slice, Array]]:
        for i in range(len(self)):
            yield slice(i, i + 1), self.make(i).reshape(1, *self.whole[1:])

    def reshape(self, shape: tuple[int, ...]) -> "GeneratedRows":
        return GeneratedRows(self.make, (len(self), *shape))


class Nothing(Deflation):
    """Every projection is the first one again: nothing is subtracted."""

    def removed(self, gram: NDArray[np.floating]) -> Array:
        return np.zeros(gram.shape)


def start(shape: tuple[int, ...], rank: int, rng: np.random.RandomState) -> list[Array]:
    return [rng.standard_normal((size, rank)) for size in shape]


def wave(
    shape: tuple[int, ...], rank: int, rng: np.random.Generator, component: int
) -> list[Array]:
    return [rng.standard_normal((size, rank)) + component for size in shape]


def first_only(
    p: int,
    objective: NDArray[np.floating],
    n_iter: NDArray[np.integer],
    factors: list[list[NDArray[np.floating]]],
) -> bool:
    return p == 0 and factors[0][0].shape[1] > 0


def estimators() -> None:
    """Parameters, chained calls, fitted attributes."""
    digits = load_digits()
    X, y = digits.data[:200], digits.target[:200]
    crp = TensorCRP(4, rank="full", reg=0.1).fit(X, y)
    features = crp.transform(X)
    back: NDArray[np.floating] = crp.inverse_transform(features)
    shapes: list[tuple[int, ...]] = [factor.shape for factor in crp.factors_]
    print(features.shape, back.shape, shapes, crp.objective_[0], crp.classes_.tolist())
    print(TensorCRP("paper", init=start, random_state=0).fit(X, y).n_iter_)
    print(
        TensorCRP(2).partial_fit(X[:100], y[:100]).partial_fit(X[100:], y[100:]).lambda_
    )
    print(
        TensorCRP(2).fit_batches([(X[:100], y[:100]), (X[100:], y[100:])]).cp_tensor(0)
    )
    search = TensorCRPCV(ranks=(1, "full"), regs=np.logspace(-1, 0, 2), cv=3).fit(X, y)
    best: TensorCRP = search.best_estimator_
    print(
        search.best_params_["rank"], search.predict(X).shape, best.set_params(reg=1.0)
    )
    print(search.score(X, y), TensorCRP(2).fit_transform(X, y).mean())
    warm = TensorCRP(2, warm_start=True, init=wave, callback=first_only).fit(X, y)
    print(
        warm.n_iters_.sum(),
        warm.converged_,
        warm.to_pandas(["row", "column of pixels"]).shape,
    )
    print(TensorCRP(2, init=[warm.cp_tensor(0)] * 2).fit(X, y).factors_[0].shape)
    print(MultilinearLDA().fit(X, y).factors_[0].shape)
    print(BilinearSVC(1, max_iter=2, tol=0).fit(X, y).decision_function(X).shape)


def solver() -> None:
    """Statistics and the solver, with parts of one's own."""
    made = make_tensor_classification((5, 4), random_state=0)
    half = ClassScatter.from_samples(made.data[:60], made.target[:60])
    scatter = half.merge(ClassScatter.from_samples(made.data[60:], made.target[60:]))
    print(TensorCRP(2).fit_scatter(scatter).transform(made.data).dtype, made.factors[0])
    spec = Spec(2, ranks=(1, 2), metrics=(Smooth(1.0),), deflation=Nothing())
    models: list[Model] = fit_path(scatter, spec)
    print(models[0].projections.shape, models[1].history[0][-1], models[0].rank)
    root = np.asarray(scatter.root)
    rows = GeneratedRows(lambda i: root[i], root.shape)
    (result,) = solve(
        scatter.between("classes"), rows, [1.0], n_components=2, init="lda"
    )
    solve(
        [[1.0, 2.0]], [[0.0, 1.0]], [1.0], n_components=1, rng=np.random.default_rng()
    )
    print(result.factors[0].shape, bool(result.converged.all()), result.n_iter.sum())


def package() -> None:
    """Models on disk, and modules as attributes of the package."""
    X, y = load_digits(return_X_y=True)
    hoda = HODA(sizes=(3, 2)).fit(X, y)
    print(hoda.objective_ / 2, hoda.history_[-1])
    with TemporaryDirectory() as folder:
        file = Path(folder) / "model.safetensors"
        save(hoda, file)
        again: HODA = load(file)
        print(np.array_equal(again.transform(X), hoda.transform(X)))
    print(tensorcrp.experiments.register_method("Mine", lambda: HODA(3)).choice)
    print(tensorcrp.signals.window(np.zeros((2, 60)), 20).data.shape)
    print(tensorcrp.datasets.list_datasets(), tensorcrp.__version__)


if __name__ == "__main__":
    estimators()
    solver()
    package()
