"""The README's code runs and prints what the README says; its commands exist."""

import contextlib
import io
import re
import tomllib
from pathlib import Path

import pytest

from tensorcrp.datasets import make_moving_shapes

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()


def test_python_blocks_print_what_is_written_below_them():
    pairs = re.findall(r"```python\n([^`]*)```\s+```text\n(.*?)```", README, re.DOTALL)
    assert pairs
    for code, expected in pairs:
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile(code, "README.md", "exec"), {})
        assert out.getvalue() == expected


@pytest.mark.slow
def test_ten_lines_go_from_a_folder_to_predictions(tmp_path, monkeypatch, capsys):
    make_moving_shapes(6, 2, folder=tmp_path / "clips", random_state=0)
    make_moving_shapes(2, 2, folder=tmp_path / "new", random_state=1)
    monkeypatch.chdir(tmp_path)
    block = README.split("<!-- ten lines -->")[1].split("```")[1]
    exec(compile(block.removeprefix("python\n"), "README.md", "exec"), {})
    printed = capsys.readouterr().out.splitlines()
    assert printed[0].startswith("expected accuracy") and printed[1] == "chance 0.50"
    assert len(printed) == 6 and set(printed[2:]) <= {"left", "right"}
    lines = [line for line in block.splitlines()[1:] if line and line[0] != "#"]
    assert len(lines) <= 10


def test_the_two_commands_stand_at_the_top():
    top = "\n".join(README.splitlines()[:20])
    assert 'pip install -e ".[all]" && tensorcrp compare' in top
    assert 'pip install -e ".[test]" && pytest' in top


def test_lower_bounds_are_the_versions_that_ci_installs():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lowest = (ROOT / ".ci" / "lowest.txt").read_text()
    assert len(project["dependencies"]) == 4
    for requirement in project["dependencies"]:
        name, version = requirement.split(">=")
        pinned = re.search(rf"^{name}==(\S+)$", lowest, re.MULTILINE).group(1)
        assert pinned.split(".")[: version.count(".") + 1] == version.split(".")
