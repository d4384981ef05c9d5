"""Types of the public interface: all of it has some, and checkers agree with them.

`typed_user` is what a user writes; it runs, and mypy and pyright find nothing in it.
They find something in the same script with one mistake in it.
"""

import doctest
import importlib
import inspect
import json
import os
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from pairs import together

import tensorcrp

REPOSITORY = Path(tensorcrp.__file__).parent.parent
SCRIPT = Path(__file__).with_name("typed_user.py")
STUDY = REPOSITORY / "examples" / "plot_own_study.py"

# Each line is wrong, and the right one beside it is documented.
MISTAKES = {
    'TensorCRP(4, rank="full"': 'TensorCRP(4, rank="whole"',
    "TensorCRPCV(ranks=(1, ": "TensorCRPCV(rank=(1, ",
    "tensorcrp.signals.window(": "tensorcrp.signal.window(",
    'register_method("Mine", lambda': "register_method(1, lambda",
    "back: NDArray[np.floating]": "back: list[int]",
    "hoda.objective_ / 2": 'hoda.objective_ + "2"',
    'between("classes")': 'between("class")',
    "deflation=Nothing()": "deflation=Smooth(1.0)",
    "def matrices(self, shape: tuple[int, ...])": "def matrices(self, shape: str)",
    "load_digits(return_X_y=True)": "load_digits()",
}


# --- all of it has types ----------------------------------------------------------


def public_objects():
    """Dotted names of all that the public modules name, and the objects."""
    modules = [name for name in dir(tensorcrp) if inspect.ismodule(attribute(name))]
    for name in ["", *modules]:
        module = importlib.import_module(f"tensorcrp.{name}".rstrip("."))
        for each in getattr(module, "__all__", own_names(module)):
            yield f"{module.__name__}.{each}", getattr(module, each)


def attribute(name):
    return getattr(tensorcrp, name)


def own_names(module):
    """Public functions and classes that a module without ``__all__`` defines."""
    return [
        name
        for name, each in vars(module).items()
        if not name.startswith("_")
        and getattr(each, "__module__", "") == module.__name__
    ]


def functions(name, each):
    """A function, or all public methods and properties of a class of this package."""
    if inspect.isfunction(each):
        yield name, each
    for cls in inspect.getmro(each) if inspect.isclass(each) else ():
        ours = cls.__module__.startswith("tensorcrp.")
        for method, value in vars(cls).items() if ours else ():
            if method in ("__init__", "__call__") or not method.startswith("_"):
                value = getattr(value, "fget", None) or value
                value = getattr(value, "func", None) or value
                value = inspect.unwrap(getattr(value, "__func__", value))
                if inspect.isfunction(value):
                    yield f"{cls.__module__}.{cls.__name__}.{method}", value


FUNCTIONS = dict(
    pair for name, each in public_objects() for pair in functions(name, each)
)


def missing_types(function):
    """Names of parameters without a type; "return" if that has none."""
    signature = inspect.signature(function)
    missing = [
        name
        for i, (name, parameter) in enumerate(signature.parameters.items())
        if parameter.annotation is parameter.empty
        and not (i == 0 and name in ("self", "cls"))
    ]
    untyped = signature.return_annotation is signature.empty
    return [*missing, *["return"] * untyped]


def test_functions_are_found():
    assert len(FUNCTIONS) > 120
    for name in (
        "tensorcrp.crp.TensorCRP.__init__",
        "tensorcrp.base.estimator.TensorTransformer.transform",
        "tensorcrp.scatter.ClassScatter.from_samples",
        "tensorcrp.scatter.ClassScatter.trace",
        "tensorcrp.solver.row_products.RowProducts.split",
        "tensorcrp.signals.window",
        "tensorcrp.datasets.load_digits",
    ):
        assert name in FUNCTIONS


@together("name", sorted(FUNCTIONS))
def test_every_parameter_and_result_has_a_type(name):
    assert missing_types(FUNCTIONS[name]) == []


def test_a_missing_type_is_found():
    def untyped(self, a: int, b=0, *, c):
        """Nothing."""

    assert missing_types(untyped) == ["b", "c", "return"]


def fitted_attributes(cls):
    """Names under "Attributes" in a docstring that end with an underscore."""
    text = inspect.getdoc(cls).partition("\nAttributes\n")[2].split("\n\n")[0]
    lines = [line.split(" : ")[0] for line in text.splitlines() if line[:1] != " "]
    names = [name.strip() for line in lines for name in line.split(",")]
    return [name for name in names if name.endswith("_")]


CLASSES = {name: each for name, each in public_objects() if inspect.isclass(each)}


@together("name", [n for n in CLASSES if fitted_attributes(CLASSES[n])])
def test_every_fitted_attribute_has_a_type(name):
    typed = {key for cls in CLASSES[name].__mro__ for key in _annotations(cls)}
    assert set(fitted_attributes(CLASSES[name])) <= typed


def _annotations(cls):
    return vars(cls).get("__annotations__", {})


# --- and checkers agree with them -------------------------------------------------


def test_the_script_runs(capsys, own_methods):
    runpy.run_path(str(SCRIPT), run_name="__main__")
    assert capsys.readouterr().out


def mypy(folder):
    """The command that checks all scripts of a folder, and its environment."""
    # Errors inside the package are not the user's, as if it were installed.
    command = [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", "."]
    return command, os.environ | {"MYPYPATH": str(REPOSITORY)}


def pyright(folder):
    """The same by pyright, in its strict mode."""
    settings = {"typeCheckingMode": "strict", "extraPaths": [str(REPOSITORY)]}
    (folder / "pyrightconfig.json").write_text(json.dumps(settings))
    return ["pyright", "--pythonpath", sys.executable], os.environ


def lines_with_errors(checker, folder):
    """Pairs (file name, number of a line) that a checker complains about."""
    command, env = checker(folder)
    run = subprocess.run(command, capture_output=True, text=True, cwd=folder, env=env)
    errors = re.findall(r"(\w+\.py):(\d+):.*error", run.stdout)
    assert bool(errors) == bool(run.returncode), run.stdout + run.stderr
    return {(name, int(number)) for name, number in errors}


def has_mypy():
    return importlib.util.find_spec("mypy") is not None


CHECKERS = [
    pytest.param(mypy, marks=pytest.mark.skipif(not has_mypy(), reason="no mypy")),
    pytest.param(
        pyright,
        marks=pytest.mark.skipif(not shutil.which("pyright"), reason="no pyright"),
    ),
]


@pytest.mark.slow
@pytest.mark.parametrize("checker", CHECKERS)
def test_checkers_find_nothing_in_a_study(checker, tmp_path):
    for package in ("matplotlib", "xarray"):
        pytest.importorskip(package)
    shutil.copy(STUDY, tmp_path)
    assert lines_with_errors(checker, tmp_path) == set()


@pytest.mark.slow
@pytest.mark.skipif(not has_mypy(), reason="no mypy")
def test_mypy_finds_nothing_in_the_code_of_the_pages(tmp_path):
    """All calls of README and pages; pyright does not know scikit-learn's types."""
    readme = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    for number, code in enumerate(
        re.findall(r"```python\n(.*?)```", readme, re.DOTALL)
    ):
        (tmp_path / f"readme_{number}.py").write_text(code, encoding="utf-8")
    for page in (REPOSITORY / "docs").glob("*.rst"):
        examples = doctest.DocTestParser().get_examples(page.read_text("utf-8"))
        code = "".join(each.source for each in examples)
        (tmp_path / f"page_{page.stem}.py").write_text(code, encoding="utf-8")
    (tmp_path / "page_wrong.py").write_text("import tensorcrp; tensorcrp.crp2\n")
    command, env = mypy(tmp_path)
    command[command.index("--strict")] = "--ignore-missing-imports"
    run = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=env)
    errors = re.findall(r"^.*error:.*$", run.stdout, re.MULTILINE)
    assert [each.split(":")[0] for each in errors] == ["page_wrong.py"], run.stdout


@pytest.mark.slow
@pytest.mark.parametrize("checker", CHECKERS)
def test_checkers_find_the_mistakes_and_nothing_else(checker, tmp_path):
    right = wrong = SCRIPT.read_text(encoding="utf-8")
    for line, mistake in MISTAKES.items():
        assert right.count(line) == 1, line
        wrong = wrong.replace(line, mistake)
    (tmp_path / "right.py").write_text(right, encoding="utf-8")
    (tmp_path / "wrong.py").write_text(wrong, encoding="utf-8")
    pairs = enumerate(zip(right.splitlines(), wrong.splitlines(), strict=True), start=1)
    mistakes = {("wrong.py", number) for number, (one, other) in pairs if one != other}
    found = lines_with_errors(checker, tmp_path)
    assert {name for name, _ in found} == {"wrong.py"}, sorted(found)
    assert mistakes <= found, sorted(mistakes - found)
