"""Layers, imports and sizes: the shape of the package is a test.

Imports point strictly downwards, `solver.cp` alone knows tensorly, names of modules,
classes and functions are unique, and importing the package loads nothing optional.
"""

import ast
import importlib
import json
import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import tensorcrp

PACKAGE = Path(tensorcrp.__file__).parent
REPOSITORY = Path(__file__).parent.parent

# A module may import modules of a smaller number only, and those of its own room:
# statistics (scatter) and optimisation (solver) meet in crp and model_selection alone.
RANK = {
    "base.files": 0,
    "base.namespace": 0,
    "base.parameters": 0,
    "base.pixels": 0,
    "base.progress": 0,
    "base.resources": 0,
    "base.results": 0,
    "base.types": 0,
    "base.validation": 0,
    "base.notebook": 1,
    "base.one_by_one": 1,
    "base.sample_steps": 1,
    "base.state": 1,
    "base.targets": 1,
    "solver": 1,
    "storage.sources": 1,
    "storage.tasks": 1,
    "base.fit_warnings": 2,
    "base.gate": 2,
    "base.labelled": 2,
    "storage.device_samples": 2,
    "storage.roots": 2,
    "video": 2,
    "base.estimator": 3,
    "datasets": 3,  # reads clips through video
    "storage.centred": 3,
    "storage.merging": 3,
    "preprocessing": 4,
    "scatter": 4,
    "signals": 4,
    "storage.chunks": 4,
    "base.raw_units": 5,
    "base.shrinkage": 5,
    "storage.chunk_statistics": 5,
    "base.batches": 6,
    "base.projections": 6,
    "base.fitting": 7,
    "baselines": 8,
    "crp": 8,
    "patterns": 8,
    "model_selection": 9,
    "files": 10,  # classifiers of files
    "plotting": 10,
    "persistence": 11,
    "__init__": 12,
    "report": 13,
    "experiments": 14,
    "commands": 15,
    "cli": 16,
    "__main__": 17,
}
OPTIONAL = (
    *("matplotlib", "pandas", "dask", "distributed", "av", "tqdm", "torch"),
    *("onnx", "onnxruntime", "skops", "kalelinear"),
    *("h5py", "zarr", "PIL", "mne", "xarray"),
)
DEPENDENCIES = (
    "sklearn.base, sklearn.utils.validation, sklearn.utils.multiclass, "
    "sklearn.exceptions, scipy.linalg, tensorly, tensorly.tenalg, tensorly.cp_tensor"
)
LONGEST_MODULE, SHORTEST_MODULE = 300, 80
# Modules of one small idea, which would be harder to find beside another.
SHORT = {
    "base.pixels": "PNG files, without another package",
    "base.progress": "the one progress bar",
    "baselines.separable": "one matrix per mode, for two methods",
    "commands.inspect_command": "a module for each command",
    "datasets._bunch": "what every loader returns",
    "datasets._matlab": "which of two formats a MATLAB file has",
    "datasets._shipped": "sets that need no file",
    "experiments.bench.bench_rows": "what a row of the bench is",
    "experiments.errors": "what a user can correct",
    "experiments.paper.published": "the numbers of the paper",
    "experiments.spatial_lda": "a method of published protocols alone",
    "files.samples": "what the readers return",
    "model_selection.chosen": "what a search does once it has scores",
    "plotting.style": "colours and markers",
    "report.class_samples": "examples of classes, for two reports",
    "storage.device_samples": "statistics of samples on a device",
}
FOLDERS = {"tensorcrp", "tests", "docs", "examples"}

LARGEST_PACKAGES = ("base", "storage")  # whose modules have layers of their own
MODULES = sorted(PACKAGE.rglob("*.py"))


def dotted(path):
    """``solver.rows`` for tensorcrp/solver/rows.py, ``solver`` for its __init__."""
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts[:-1] if len(parts) > 1 and parts[-1] == "__init__" else parts)


KNOWN = {dotted(each) for each in MODULES}


def room(name):
    """The entry of RANK that a dotted name inside the package belongs to."""
    first, *rest = name.split(".")
    return ".".join([first, *rest[:1]]) if first in LARGEST_PACKAGES else first


@cache
def parsed(path):
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def imported_names(path):
    """Dotted names of everything that a file imports, inside functions too.

    But for the names that the package itself loads later and shows to type checkers.
    """
    return list(_imported_names(path, parsed(path)))


def _imported_names(path, tree):
    body = tree.body
    if path == PACKAGE / "__init__.py":
        body = [node for node in body if not isinstance(node, ast.If)]
    for node in (inner for outer in body for inner in ast.walk(outer)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.name}: use absolute imports"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def own_rooms(path):
    """Rooms of this package that a file imports from."""
    for name in imported_names(path):
        first, _, rest = name.partition(".")
        if first == "tensorcrp":
            inside = rest in KNOWN or rest.rpartition(".")[0] in KNOWN
            yield room(rest) if inside else "__init__"


def outside_packages(path):
    return {name.split(".")[0] for name in imported_names(path)} - {"tensorcrp"}


def python(code):
    """What a fresh interpreter prints."""
    command = [sys.executable, "-c", code]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


# --- imports ----------------------------------------------------------------------


def number(name):
    assert name in RANK, f"give {name} a number in RANK"
    return RANK[name]


def test_imports_point_downwards():
    for path in MODULES:
        me = room(dotted(path))
        if me in LARGEST_PACKAGES:  # their __init__ imports nothing
            assert not set(own_rooms(path))
            continue
        for other in own_rooms(path):
            allowed = other == me or number(other) < number(me)
            words = f"{me} ({number(me)}) imports {other} ({number(other)})"
            assert allowed, f"{dotted(path)}: {words}"


def test_the_contributors_table_has_every_room_on_its_layer():
    text = (REPOSITORY / "CONTRIBUTING.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\d+) \| ([^|]+) \| [^|]+ \|$", text, re.MULTILINE)
    named = [(room, int(n)) for n, rooms in rows for room in rooms.split(", ")]
    inside = {name: n for name, n in RANK.items() if not name.startswith("__")}
    assert {room.strip("`"): n for room, n in named} == inside
    numbers = [int(n) for n, _ in rows]
    assert len(named) == len(inside) and numbers == sorted(numbers, reverse=True)


def test_private_modules_stay_in_their_package():
    for path in MODULES:
        me = dotted(path).split(".")[0]
        for name in imported_names(path):
            parts = name.split(".")
            private = parts[0] == "tensorcrp" and any(
                part.startswith("_") and not part.startswith("__") for part in parts
            )
            assert not private or parts[1] == me, f"{dotted(path)} imports {name}"


# Private to others, used all the same: of scikit-learn, NumPy, dask and tensorly, and
# what the base of all fits has for the functions that work for it.
OF_OTHERS = {
    *("_fit_X", "_get_metadata_request", "_max_components", "_serialize", "_y"),
    *("_current_frames", "_exit", "_getframe", "_meta", "_mmap", "_replace"),
    "_THREAD_LOCAL_DATA",
}
OF_A_FIT = {"_check", "_checked_statistics", "_linear_features", "_merged"}
OF_A_FIT |= {"_n_features_out"}  # scikit-learn's own name
ITSELF = {"self", "cls", "new"}  # `new` is a copy of self that a fit works on


def test_nobody_uses_what_is_private_to_another_class():
    for path in MODULES:
        tree = parsed(path)
        here = {n.name for n in ast.walk(tree) if hasattr(n, "name")}
        uses = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute)]
        own = {n.attr for n in uses if ast.unparse(n.value) in ITSELF}
        for node in uses:
            private = node.attr.startswith("_") and not node.attr.endswith("__")
            if not private or node.attr in here | own | OF_OTHERS:
                continue
            of_a_fit = dotted(path).startswith("base.") and node.attr in OF_A_FIT
            words = f"{dotted(path)}:{node.lineno} {ast.unparse(node)}"
            assert of_a_fit or ast.unparse(node.value) == "super()", words


def test_statistics_and_optimisation_are_strangers():
    """Scatter knows rows and no projections, the solver knows no labels."""
    for path in MODULES:
        names = [n for n in imported_names(path) if n.startswith("tensorcrp.")]
        if dotted(path).startswith("solver"):
            rooms = {room(name.partition(".")[2]) for name in names}
            rooms -= {"base.parameters", "base.validation"}  # checks of values
            known = {"base.namespace", "base.resources", "base.types"}
            assert rooms <= {"solver", *known}, dotted(path)
        if dotted(path) == "scatter":
            from_solver = {n for n in names if n.startswith("tensorcrp.solver")}
            modules = {name.split(".")[2] for name in from_solver}
            assert modules <= {"rows", "array_rows", "cp", "metric"}


def test_one_module_talks_to_tensorly_and_one_to_blas():
    for path in MODULES:
        names = set(imported_names(path))
        # The bench measures other packages.
        if not dotted(path).startswith(("solver.cp", "experiments.bench")):
            assert "tensorly" not in outside_packages(path), dotted(path)
        low = {
            n for n in names if n.startswith(("scipy.linalg.blas", "scipy.linalg.la"))
        }
        homes = ("solver.linalg", "solver.products")
        assert not low or dotted(path) in homes, dotted(path)


def test_one_module_knows_other_array_libraries():
    """No other asks an array for its namespace, or names a library."""
    for path in MODULES:
        text = path.read_text(encoding="utf-8")
        if not dotted(path).startswith(("base.namespace", "experiments.bench")):
            assert "__array_namespace__" not in text, dotted(path)
            assert "torch" not in outside_packages(path), dotted(path)


def test_numerics_do_not_know_estimators():
    for path in MODULES:
        name = dotted(path)
        if (name.startswith("solver") and name != "solver.path") or name == "scatter":
            assert "sklearn" not in outside_packages(path), name


def test_names_of_modules_are_unique():
    names = [path.name for path in MODULES if path.name != "__init__.py"]
    assert sorted(names) == sorted(set(names))


def test_names_of_classes_are_unique():
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef):
                found.setdefault(node.name, []).append(path.relative_to(PACKAGE))
    assert not {name: where for name, where in found.items() if len(where) > 1}


# Functions with one name that mean the same, each for its own part of the package.
MEAN_THE_SAME = {
    *("add_command", "run"),  # of each command
    "check_apart",  # no group on both sides of a split
    "main",  # of a program
    "opened",  # a file, with what is needed to read it
    "spec_of",  # what an estimator asks the solver for
}


def test_names_of_functions_are_unique():
    found = {}
    for path in MODULES:
        for node in parsed(path).body:
            if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
                found.setdefault(node.name, set()).add(dotted(path))
    twice = {name: where for name, where in found.items() if len(where) > 1}
    assert set(twice) == MEAN_THE_SAME, twice


# Constants with one name that mean the same, each for its own page of the site.
OF_EVERY_PAGE = {"COMMAND", "HEAD", "SECTIONS"}


def constants(tree):
    """Names that a module gives to values, but for private ones."""
    for node in tree.body:
        targets = getattr(node, "targets", [getattr(node, "target", None)])
        for target in targets:
            for name in ast.walk(target) if target is not None else ():
                if isinstance(name, ast.Name) and name.id[0] != "_":
                    yield name.id


def test_names_of_constants_are_unique():
    found = {}
    for path in MODULES:
        for name in constants(parsed(path)):
            found.setdefault(name, set()).add(dotted(path))
    twice = {name: where for name, where in found.items() if len(where) > 1}
    assert set(twice) == OF_EVERY_PAGE, twice


def test_the_top_of_the_package_is_small():
    assert len(list(PACKAGE.glob("*.py"))) <= 7


# --- importing the package --------------------------------------------------------


IMPORT = f"""
import {DEPENDENCIES}
import json, numpy, sklearn, sys, tensorly, warnings

def state():
    return (numpy.geterr(), sklearn.get_config(), tensorly.get_backend(),
            tensorly.tenalg.get_backend(), list(warnings.filters))

before, modules = state(), set(sys.modules)
import tensorcrp
from tensorcrp import TensorCRP, TensorCRPCV, ClassScatter
import tensorcrp.datasets, tensorcrp.video, tensorcrp.signals, tensorcrp.plotting
loaded = sorted(set(sys.modules) - modules)
found = {{"loaded": loaded, "same state": before == state()}}
found["ridge"], found["names"] = repr(tensorcrp.baselines.RidgeLDA()), dir(tensorcrp)
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def imported():
    """What an import does in an interpreter that has the dependencies loaded.

    (scikit-learn itself imports pandas where it is installed.)
    """
    return json.loads(python(IMPORT))


def test_import_loads_nothing_optional(imported):
    assert "tensorcrp.crp" in imported["loaded"]
    assert not {name.split(".")[0] for name in imported["loaded"]} & set(OPTIONAL)


HIDE = f"""
import sys
class Hidden:
    def find_spec(name, path=None, target=None):
        if name.split(".")[0] in {OPTIONAL}:
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Hidden)
"""


def test_import_works_without_anything_optional():
    code = HIDE + "import tensorcrp; print(tensorcrp.TensorCRP())"
    assert python(code).strip() == "TensorCRP()"


def test_import_changes_no_global_state(imported):
    assert imported["same state"]


# --- sizes, names, folders --------------------------------------------------------


def test_no_module_is_too_long():
    for path in MODULES:
        length = len(path.read_text(encoding="utf-8").splitlines())
        assert length <= LONGEST_MODULE, f"{path.name} has {length} lines: split it"


def test_short_modules_have_a_reason():
    lengths = {dotted(p): len(p.read_text("utf-8").splitlines()) for p in MODULES}
    entries = {dotted(p) for p in MODULES if p.name in ("__init__.py", "__main__.py")}
    short = {name for name, n in lengths.items() if n < SHORTEST_MODULE} - entries
    assert short <= set(SHORT), short
    assert set(SHORT) <= set(lengths)


def body_lengths(path):
    """Lines of every function without its docstring."""
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.FunctionDef):
            documented = ast.get_docstring(node) is not None
            body = node.body[1:] if documented else node.body
            yield body[-1].end_lineno - body[0].lineno + 1 if body else 0


def test_functions_are_short():
    """Nine of ten at least; ``pytest -s`` prints how short."""
    lengths = [length for path in MODULES for length in body_lengths(path)]
    p90 = np.percentile(lengths, 90)
    print(f"{len(lengths)} functions, body p90 {p90:.0f}, longest {max(lengths)} lines")
    assert p90 <= 18


def test_every_module_says_what_it_is():
    for path in MODULES:
        assert ast.get_docstring(parsed(path)), path


def test_public_names_are_strings_that_resolve():
    for path in MODULES:
        name = f"tensorcrp.{dotted(path)}".removesuffix(".__init__")
        module = importlib.import_module(name)
        for public in getattr(module, "__all__", []):
            assert isinstance(public, str)
            assert hasattr(module, public)


def test_submodules_are_attributes_after_import(imported):
    assert imported["ridge"] == "RidgeLDA()"
    expected = {*tensorcrp.__all__, "baselines", "solver", "video", "plotting"}
    assert expected <= set(imported["names"])


def test_star_import():
    names = {}
    exec("from tensorcrp import *", names)
    assert set(tensorcrp.__all__) <= set(names)


def test_top_level_of_the_repository():
    """What git has; an environment or results of somebody's run are no part of it."""
    if not (REPOSITORY / ".git").exists() or not shutil.which("git"):
        pytest.skip("this is no clone")
    command = ["git", "ls-tree", "-d", "--name-only", "HEAD"]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True)
    if done.returncode:
        pytest.skip(done.stderr)  # for example, the clone of another user
    visible = {name for name in done.stdout.split("\n") if name and name[0] != "."}
    assert visible == FOLDERS
