"""Layers, imports and sizes: the shape of the package is a test.

Imports point strictly downwards, `_algebra` alone knows tensorly, and importing the
package loads nothing optional and takes no time of its own to speak of.
"""

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tensorcrp

PACKAGE = Path(tensorcrp.__file__).parent
REPOSITORY = Path(__file__).parent.parent

# A module may import modules of a smaller number only. Equal numbers do not know
# each other: statistics (scatter) and optimisation (solver) meet in crp alone.
RANK = {
    "_blas": 0,
    "_checks": 0,
    "_lapack": 0,
    "_memory": 0,
    "_notebook": 0,
    "_progress": 0,
    "_results": 0,
    "_sketch": 0,
    "_sources": 0,
    "_threads": 0,
    "signals": 0,
    "video": 0,
    "_algebra": 1,
    "datasets": 1,  # reads clips through video
    "_samples": 2,
    "_rows": 3,
    "_ascent": 4,
    "_centred": 4,
    "_starts": 4,
    "scatter": 5,
    "solver": 5,
    "_estimator": 6,
    "distributed": 6,  # makes statistics for _fitting; knows scatter, no estimators
    "_fitting": 7,
    "_folds": 8,
    "crp": 8,
    "baselines": 8,
    "model_selection": 9,
    "plotting": 10,
    "persistence": 10,
    "__init__": 11,
    "bench": 12,
    "experiments": 12,
    "cli": 13,
    "__main__": 14,
}
LEAVES = [name for name, number in RANK.items() if number == 0]
OPTIONAL = (
    *("matplotlib", "pandas", "dask", "distributed", "av", "tqdm", "torch"),
    *("onnx", "onnxruntime", "skops", "kalelinear"),
)
DEPENDENCIES = (
    "sklearn.base, sklearn.utils.validation, sklearn.utils.multiclass, "
    "sklearn.exceptions, scipy.linalg, tensorly, tensorly.tenalg, tensorly.cp_tensor"
)
LONGEST_MODULE = 400
FOLDERS = {"tensorcrp", "tests", "docs", "examples"}

MODULES = sorted(PACKAGE.rglob("*.py"))
modules = pytest.mark.parametrize(
    "path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE))
)


def layer(path):
    """The entry of RANK that a file belongs to: its module, or its subpackage."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported_names(path):
    """Dotted names of everything that a file imports, inside functions too."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.name}: use absolute imports"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def own_layers(path):
    """Layers of this package that a file imports."""
    for name in imported_names(path):
        first, *rest = name.split(".")
        if first == "tensorcrp":
            is_module = rest and rest[0] in known_layers()
            yield rest[0] if is_module else "__init__"


def known_layers():
    return {layer(path) for path in MODULES}


def outside_packages(path):
    return {name.split(".")[0] for name in imported_names(path)} - {"tensorcrp"}


def python(code):
    """What a fresh interpreter prints."""
    command = [sys.executable, "-c", code]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


# --- imports ----------------------------------------------------------------------


def number(name):
    assert name in RANK, f"give {name} a number in RANK; DESIGN.md names the layers"
    return RANK[name]


@modules
def test_imports_point_downwards(path):
    me = layer(path)
    for other in own_layers(path):
        allowed = other == me or number(other) < number(me)
        assert allowed, f"{me} (layer {number(me)}) imports {other} ({number(other)})"


@modules
def test_every_module_has_a_layer(path):
    number(layer(path))


@pytest.mark.parametrize("name", LEAVES)
def test_leaves_import_nothing_of_ours(name):
    files = [path for path in MODULES if layer(path) == name]
    assert not {other for path in files for other in own_layers(path)} - {name}


@pytest.mark.parametrize(
    ("name", "stranger"),
    [
        ("scatter", "solver"),
        ("scatter", "_ascent"),
        ("scatter", "_starts"),
        ("solver", "scatter"),
        ("_ascent", "scatter"),
        ("_starts", "scatter"),
    ],
)
def test_statistics_and_optimisation_are_strangers(name, stranger):
    assert stranger not in set(own_layers(PACKAGE / f"{name}.py"))


@modules
def test_algebra_alone_talks_to_tensorly(path):
    allowed = layer(path) in ("_algebra", "bench")  # the bench measures rivals
    assert allowed or "tensorly" not in outside_packages(path)


@pytest.mark.parametrize(
    "name", ["_algebra", "_rows", "_ascent", "_starts", "scatter", "solver"]
)
def test_numerics_do_not_know_scikit_learn(name):
    assert "sklearn" not in outside_packages(PACKAGE / f"{name}.py")


# --- importing the package --------------------------------------------------------


def optional_loaded_by(names):
    code = f"import {names}, sys; print(*sys.modules)"
    return set(python(code).split()) & set(OPTIONAL)


def test_import_loads_nothing_optional():
    """scikit-learn itself imports pandas where it is installed; we add nothing."""
    assert optional_loaded_by("tensorcrp") <= optional_loaded_by(DEPENDENCIES)


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


def test_import_changes_no_global_state():
    code = """
import numpy, sklearn, tensorly, warnings
def state():
    return (numpy.geterr(), sklearn.get_config(), tensorly.get_backend(),
            tensorly.tenalg.get_backend(), list(warnings.filters))
before = state()
import tensorcrp
print(before == state())
"""
    assert python(code).strip() == "True"


# --- sizes, names, folders --------------------------------------------------------


@modules
def test_no_module_is_too_long(path):
    length = len(path.read_text(encoding="utf-8").splitlines())
    assert length <= LONGEST_MODULE, f"{path.name} has {length} lines: split it"


def body_lengths(path):
    """Lines of every function without its docstring."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef):
            documented = ast.get_docstring(node) is not None
            body = node.body[1:] if documented else node.body
            yield body[-1].end_lineno - body[0].lineno + 1 if body else 0


def test_print_function_lengths():
    """A report to read (``pytest -s``), not a limit: aim for a p90 of at most 25."""
    lengths = [length for path in MODULES for length in body_lengths(path)]
    p90 = np.percentile(lengths, 90)
    print(f"{len(lengths)} functions, body p90 {p90:.0f}, longest {max(lengths)} lines")
    assert lengths


@modules
def test_every_module_says_what_it_is(path):
    assert ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))


@modules
def test_public_names_are_strings_that_resolve(path):
    name = ".".join(["tensorcrp", *path.relative_to(PACKAGE).with_suffix("").parts])
    module = importlib.import_module(name.removesuffix(".__init__"))
    for public in getattr(module, "__all__", []):
        assert isinstance(public, str)
        assert hasattr(module, public)


def test_star_import():
    names = {}
    exec("from tensorcrp import *", names)
    assert set(tensorcrp.__all__) <= set(names)


def test_top_level_of_the_repository():
    """Hidden folders are caches and tools; ``__pycache__`` is Python's."""
    found = {path.name for path in REPOSITORY.iterdir() if path.is_dir()}
    visible = {name for name in found if not name.startswith((".", "_"))}
    assert visible <= FOLDERS, f"put {sorted(visible - FOLDERS)} into {sorted(FOLDERS)}"
