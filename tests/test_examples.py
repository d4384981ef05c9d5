"""Every example runs as a script, on made or shipped data, without a warning."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("*.py"))
# What an example has to print, as parts of its idea.
PRINTS = {
    "plot_video": "ahead of the better of pixels and RidgeLDA by",
    "plot_matrix_case": "worst step of the objective",
    "plot_tensorly_factors": "same as components_: True",
    "plot_choosing_parameters": "TensorCRPCV took",
    "plot_multichannel": "patterns [1. 1.]",
    "plot_mne_epochs": "same as all at once: True",
    "plot_dask": "below 1e-6: True",
}


def run(path, tmp_path):
    environment = {
        **os.environ,
        "MPLBACKEND": "Agg",
        "MPLCONFIGDIR": str(tmp_path / "matplotlib"),
        "SCIKIT_LEARN_DATA": str(tmp_path / "data"),
        "OPENBLAS_NUM_THREADS": "1",
    }
    environment.pop("TENSORCRP_DATA", None)  # the real sets take longer
    # Old and new third parties deprecate each other; that is not the example's fault.
    strict = ["-W", "error", "-W", "default::DeprecationWarning"]
    command = [sys.executable, *strict, str(path)]
    return subprocess.run(
        command, env=environment, cwd=tmp_path, capture_output=True, text=True
    )


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_runs(path, tmp_path):
    done = run(path, tmp_path)
    assert done.returncode == 0, done.stderr
    assert PRINTS.get(path.stem, "") in done.stdout
    if path.stem == "plot_video":
        margin = float(done.stdout.split("RidgeLDA by ")[1].split()[0])
        assert margin > 30


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_has_the_form_of_the_gallery(path):
    text = path.read_text()
    lines = text.splitlines()
    assert 50 <= len(lines) <= 100, len(lines)
    title, underline = lines[1], lines[2]
    assert lines[0] == '"""' and set(underline) == {"="}
    assert len(title) == len(underline)
    assert text.count("\n# %%\n") >= 2


def test_there_is_an_example_for_every_idea():
    assert {path.stem for path in EXAMPLES} >= {
        "plot_choosing_parameters",
        "plot_dask",
        "plot_gait",
        "plot_hyperspectral",
        "plot_matrix_case",
        "plot_mne_epochs",
        "plot_multichannel",
        "plot_own_initialisation",
        "plot_rank_and_lambda",
        "plot_tensorly_factors",
        "plot_video",
    }
