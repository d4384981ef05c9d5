"""Every example runs as a script, on synthetic or shipped data, without a warning.

`.ci/run` leaves that to the build of the site, which runs all of them for the gallery.
"""

import os
import subprocess
import sys

import pytest
from site_gallery import EXAMPLES, wrong_output


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


@pytest.mark.slow
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_runs(path, tmp_path):
    if path.stem == "plot_own_study":
        pytest.importorskip("xarray")
    done = run(path, tmp_path)
    assert done.returncode == 0, done.stderr
    assert wrong_output(path.stem, done.stdout) is None


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
        "plot_own_study",
        "plot_rank_and_lambda",
        "plot_tensorly_factors",
        "plot_video",
    }
