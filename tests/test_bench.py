"""The bench: its literal algorithm is the paper's, its figures are what they say."""

import json
from functools import partial
from pathlib import Path

import numpy as np
import oracle
import pytest
from numpy.testing import assert_allclose

from tensorcrp import TensorCRP, cli
from tensorcrp.experiments.bench.bench_page import bar_table, bench_section
from tensorcrp.experiments.bench.bench_rows import Row, table
from tensorcrp.experiments.bench.beside import separation
from tensorcrp.experiments.bench.cases import CASES
from tensorcrp.experiments.bench.larger_cases import exponent, growing
from tensorcrp.experiments.bench.measure import peak_bytes, seconds
from tensorcrp.experiments.bench.references import cp_plsr, literal_sweep, rows_of
from tensorcrp.scatter import ClassScatter
from tensorcrp.solver import ArrayRows, Spec, fit_path, lane_rows


def test_literal_sweep_is_algorithm_1(make_samples):
    X, y = make_samples((5, 4), 30, n_classes=3)
    U, V, values = literal_sweep(X, y, np.eye(4, 2), 0.7)
    expected = oracle.algorithm_1(X, y, n_components=1, rank=2, lam=0.7, n_sweeps=1)
    W = oracle.fix_sign(U @ V.T)
    W /= np.linalg.norm(W)
    assert_allclose(W, expected.projections[0], atol=1e-10)
    assert_allclose(values, expected.objective[0], rtol=1e-10)


def test_separation_is_that_of_the_subspace(make_samples):
    X, y = make_samples((4, 3), 60, n_classes=4)
    scatter = ClassScatter.from_samples(X, y)
    W = np.random.default_rng(0).standard_normal((5, 12))
    mixed = np.random.default_rng(1).standard_normal((5, 5)) @ W
    assert_allclose(separation(W, scatter), separation(mixed, scatter))
    # One direction: the objective J itself.
    crp = TensorCRP(1, rank="full").fit(X, y)
    assert_allclose(separation(crp.projections_, scatter), crp.objective_[0])


def test_rows_of_an_affine_model_are_its_transform(make_samples):
    X, y = make_samples((4, 3), 30, n_classes=3)
    model = cp_plsr(X, y, 2)()
    W = rows_of(model, (4, 3))
    features = model.transform(X)
    assert_allclose(
        (X.reshape(30, -1) @ W.T)[1:] - X[0].ravel() @ W.T,
        features[1:] - features[0],
        atol=1e-10,
    )


def test_the_exponent_is_that_of_a_power_law():
    sizes = np.array([3.0, 10.0, 40.0, 41.0])
    assert_allclose(exponent(sizes, 7 * sizes**1.75), 1.75)


def test_seconds_measures_every_function_as_often():
    calls = []
    times = seconds({"a": lambda: calls.append("a"), "b": lambda: calls.append("b")}, 3)
    assert calls == ["a", "b"] * 3 and set(times) == {"a", "b"}
    assert all(time >= 0 for time in times.values())


def test_peak_bytes_sees_an_array():
    peak = peak_bytes(lambda: np.ones(2**24))  # 128 MB
    assert peak is None or 2**27 <= peak < 1.2 * 2**27


def test_table_marks_a_bar_that_is_not_met():
    rows = [Row("c", "a", 1.0, 3.0, bar="at most 2", met=False), Row("c", "b", 0.5)]
    text = table(rows)
    assert "| a | 1 | 3 |  |  | at most 2: NOT met |  |" in text
    assert "| b | 0.5 |" in text


def test_bench_prints_and_writes_the_same_rows(tmp_path, capsys):
    out = tmp_path / "rows.json"
    assert cli.main(["bench", "growth", "--small", "--out", str(out)]) == 0
    printed = capsys.readouterr().out
    machine = printed.partition("###")[0].splitlines()
    assert max(map(len, machine)) <= 80 and "numpy:" in " ".join(machine)
    content = json.loads(out.read_text())
    assert content["machine"]["small"] and content["machine"]["blas_threads"] == 1
    assert [row["method"] for row in content["rows"]] == [
        "sweeps, n", "sweeps, 4 n", "statistics, n", "statistics, 4 n"
    ]  # fmt: skip
    for row in content["rows"]:
        assert row["method"] in printed and row["seconds"] > 0
        assert row["met"] is None  # bars are for the full size
    assert [path.name for path in tmp_path.iterdir()] == ["rows.json"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["bench", "galt"], "unknown case 'galt'. Did you mean gait"),
        (["bench", "galt"], f"Known are: {', '.join(CASES)}."),
        (["bench", "--threads", "0"], "--threads: needs a whole number of at least 1"),
        (["bench", "--out", "/dev/null/x.json"], "cannot write to the folder"),
    ],
)
def test_bad_arguments_are_named(arguments, words, capsys):
    with pytest.raises(SystemExit) as stop:
        cli.main(arguments)
    assert stop.value.code == 2
    assert words in " ".join(capsys.readouterr().err.split())


def test_the_page_has_the_rows_of_the_run():
    docs = Path(__file__).parents[1] / "docs"
    content = json.loads((docs / "results" / "bench.json").read_text())
    assert bench_section(content).strip() in (docs / "performance.md").read_text()
    assert content["minutes"].keys() <= CASES.keys()


def test_every_bar_is_counted():
    rows = [Row("c", "a", 1.0, 3.0).at_most(2), Row("c", "b", 1.0, 3.0).at_least(2)]
    text = bar_table([*rows, Row("c", "d", 1.0, 1.0)])
    assert "1 of 2 are met." in text and "| d |" not in text
    assert "| c | a | 3 | at most 2 | **missed** |" in text
    assert bar_table([]) == ""


def test_copies_and_growing_products_find_the_same(make_samples):
    X, y = make_samples((5, 4), n=40, n_classes=4, seed=1)
    fit = partial(fit_path, ClassScatter.from_samples(X, y), Spec(9, regs=(0.1, 1.0)))
    assert not lane_rows.worth_copies([ArrayRows.of(X)], 10**6)
    for copied, grown in zip(fit(), growing(fit), strict=True):
        assert_allclose(copied.projections, grown.projections, atol=1e-8)
