"""The documentation says what the code does.

Docstrings of the public interface have numpydoc's form, with an example that runs and
the defaults of the signature; the code on the pages of the site runs; the page of the
interface lists all of it. (Doctests of docstrings run by ``--doctest-modules``.)
"""

import ast
import doctest
import importlib
import importlib.util
import inspect
import json
import re
import runpy
import tomllib
from dataclasses import MISSING
from pathlib import Path

import measure_scaling as scaling
import pytest
from numpydoc.docscrape import FunctionDoc
from numpydoc.validate import validate
from site_links import broken_links

import tensorcrp
from tensorcrp import baselines
from tensorcrp.baselines import BASELINES

DOCS = Path(__file__).parent.parent / "docs"
MODULES = (
    "tensorcrp",
    "tensorcrp.baselines",
    "tensorcrp.datasets",
    "tensorcrp.experiments",
    "tensorcrp.files",
    "tensorcrp.model_selection",
    "tensorcrp.persistence",
    "tensorcrp.plotting",
    "tensorcrp.preprocessing",
    "tensorcrp.report",
    "tensorcrp.signals",
    "tensorcrp.solver",
    "tensorcrp.video",
)
# Checks of numpydoc that are not asked for, and why.
LEFT_OUT = {
    "ES01": "one line is enough where it says everything",
    "SA01": "a See Also section only where there is something to see",
    "SS05": "summaries are noun phrases; numpydoc takes a plural for a verb",
}
OF_METHODS = {"EX01": "the class has the example"}


def public():
    """Dotted names of all public classes and functions, and their public methods."""
    for module in map(importlib.import_module, MODULES):
        for name in names_of(module):
            value = getattr(module, name)
            again = module is not tensorcrp and name in tensorcrp.__all__
            if not callable(value) or again:
                continue
            yield f"{module.__name__}.{name}"
            if inspect.isclass(value):
                yield from (f"{module.__name__}.{name}.{m}" for m in methods(value))


def names_of(module):
    """Names in ``__all__``, or those defined in the module without an underscore."""
    mine = [
        name
        for name, value in vars(module).items()
        if getattr(value, "__module__", None) == module.__name__ and name[0] != "_"
    ]
    return getattr(module, "__all__", mine)


def methods(cls):
    """Public methods that this package defines, inherited ones too."""
    for name, value in inspect.getmembers(cls, inspect.isroutine):
        home = getattr(value, "__module__", None) or ""
        if name[0] != "_" and home.startswith("tensorcrp"):
            yield name


def resolve(dotted):
    """The object of a dotted name, and whether it is a method."""
    module = max((m for m in MODULES if dotted.startswith(m + ".")), key=len)
    value, rest = importlib.import_module(module), dotted[len(module) + 1 :].split(".")
    for name in rest:
        value = getattr(value, name)
    return value, len(rest) > 1


PUBLIC = sorted(public())


def test_the_interface_is_found():
    assert {"tensorcrp.TensorCRP.fit", "tensorcrp.solver.solve"} <= set(PUBLIC)
    assert "tensorcrp.TensorCRP.get_params" not in PUBLIC  # scikit-learn's


def test_docstrings_are_numpydoc():
    found = {}
    for dotted in PUBLIC:
        left_out = set(LEFT_OUT) | (set(OF_METHODS) if resolve(dotted)[1] else set())
        errors = validate(dotted)["errors"]
        found[dotted] = [error for error in errors if error[0] not in left_out]
    assert not {dotted: errors for dotted, errors in found.items() if errors}


# --- documented defaults ------------------------------------------------------------


def documented_defaults(docstring):
    """Name -> text after ``default=``, or None, of every documented parameter.

    ``a, b : int, default=1, 2`` gives each its own, ``default=1`` the same to both.
    """
    found = {}
    for entry in FunctionDoc(None, doc=docstring)["Parameters"]:
        default = re.search(r"default=(.+)$", entry.type)
        names = entry.name.split(", ")
        texts = [default and default[1]] * len(names)
        if default and len(names) > 1 and ", " in default[1]:
            texts = default[1].split(", ")
        found |= dict(zip(names, texts, strict=True))
    return found


def wrong_defaults(function, docstring):
    """Lines about every default that the docstring has wrong."""
    documented = documented_defaults(docstring)
    for name, parameter in inspect.signature(function).parameters.items():
        variadic = parameter.kind in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL)
        if variadic or name not in documented:
            continue
        text, empty = documented[name], parameter.default is parameter.empty
        default = _default(function, parameter)
        if (text is None) != empty or not (empty or _is_value(text, default)):
            yield f"{name}: documented {text}, in fact {default!r}"


def _default(function, parameter):
    """The default of a parameter; of a dataclass, what its factory makes."""
    field = getattr(function, "__dataclass_fields__", {}).get(parameter.name)
    made = field is not None and field.default_factory is not MISSING
    return field.default_factory() if made else parameter.default


def _is_value(text, default):
    """Whether a text is the default: a literal, its repr, or a call of its class."""
    try:
        return _value(text) == default
    except ValueError:
        return text in (repr(default), f"{type(default).__name__}()")


def _value(text):
    """The value of a literal, of ``inf``, or of a power such as ``2**30``."""
    power = re.fullmatch(r"(\d+)\*\*(\d+)", text)
    if power:
        return int(power[1]) ** int(power[2])
    return float(text) if text == "inf" else ast.literal_eval(text)


def is_error(dotted):
    value, _ = resolve(dotted)
    return inspect.isclass(value) and issubclass(value, Exception)


def test_documented_defaults_are_those_of_the_signature():
    found = {}
    for dotted in PUBLIC:
        if not is_error(dotted):
            value, _ = resolve(dotted)
            found[dotted] = list(wrong_defaults(value, inspect.getdoc(value)))
    assert len(found) > 200
    assert not {dotted: lines for dotted, lines in found.items() if lines}


def test_a_wrong_default_is_found():
    def function(a, b=1, c=2**30, d=None):
        """Sum.

        Parameters
        ----------
        a : int, default=0
        b, c : int, default=2, 2**30
        d : int
        """

    names = [line[0] for line in wrong_defaults(function, function.__doc__)]
    assert names == ["a", "b", "d"]


# --- pages --------------------------------------------------------------------------

LONG_PAGES = {"files", "guide", "online", "parameters"}  # whose code takes seconds


def pages():
    for path in sorted(DOCS.glob("*.rst")):
        if ">>> " in path.read_text():
            marks = [pytest.mark.slow] if path.stem in LONG_PAGES else []
            yield pytest.param(path, marks=marks, id=path.stem)


@pytest.mark.parametrize("path", list(pages()))
def test_code_on_the_page_runs(path, tmp_path, monkeypatch, own_methods):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TENSORCRP_DATA", raising=False)
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    result = doctest.testfile(
        str(path), module_relative=False, optionflags=flags, encoding="utf-8"
    )
    assert result.attempted and not result.failed


def test_the_page_of_the_interface_lists_it():
    page = (DOCS / "api.rst").read_text()
    listed, module = set(), "tensorcrp"
    for line in page.splitlines():
        if match := re.match(r"\.\. currentmodule:: (\S+)", line):
            module = match[1]
        elif match := re.fullmatch(r"(?:   |\.\. data:: )([A-Za-z_]\w*)", line):
            listed.add(f"{module}.{match[1]}")
    tops = {name for name in PUBLIC if not resolve(name)[1]}
    constants = {
        f"tensorcrp.persistence.{name}" for name in ("CLASSIFIERS", "SKOPS_TYPES")
    } | {"tensorcrp.baselines.BASELINES"}
    assert listed | listed_baselines() == tops | constants
    assert not listed & listed_baselines()


def test_the_page_on_installing_lists_every_extra():
    project = tomllib.loads((DOCS.parent / "pyproject.toml").read_text())["project"]
    page = (DOCS / "install.rst").read_text()
    extras = project["optional-dependencies"]
    assert set(re.findall(r"^``(\w+)`` ", page, re.MULTILINE)) == set(extras)


def listed_baselines():
    """Baselines, and other names of them: in the list that docs/conf.py makes."""
    pages = [path.read_text() for path in DOCS.glob("*.rst")]
    assert sum(".. automodule:: tensorcrp.baselines\n" in page for page in pages) == 1
    names = [name for each in BASELINES for name in (each.name, *each.aliases)]
    return {f"tensorcrp.baselines.{name}" for name in names}


def test_the_tables_of_methods_are_what_the_package_knows():
    table = runpy.run_path(str(DOCS / "methods_table.py"))
    page = table["README"].read_text(encoding="utf-8")
    assert table["page_with_table"](page) == page, "run python docs/methods_table.py"
    with pytest.raises(ValueError, match="needs the lines"):
        table["page_with_table"]("a page without markers")
    for each in BASELINES:
        assert f"\n| `{each.name}`" in page
        assert f"\n{each.name} " in baselines.__doc__


def test_included_code_exists():
    """What the pages include from the source is still there (no Sphinx needed)."""
    pattern = r"literalinclude:: (\S+)\n((?:   :\S+:.*\n)*)"
    pages = "".join(path.read_text() for path in DOCS.glob("*.rst"))
    included = re.findall(pattern, pages)
    assert included
    for file, options in included:
        source = DOCS / file
        assert source.exists(), file
        text = source.read_text()
        for key, value in re.findall(r":(\S+): (.*)", options):
            if key == "pyobject":
                assert value in _objects(ast.parse(text)), f"{file}: {value}"
            elif key in ("start-at", "end-at", "start-after", "end-before"):
                assert value in text, f"{file}: {value}"


def test_a_fit_makes_the_calls_that_are_drawn():
    path = DOCS / "pictures" / "journey.py"
    journey = importlib.util.module_from_spec(
        spec := importlib.util.spec_from_file_location("journey", path)
    )
    spec.loader.exec_module(journey)
    names = {call.code.co_qualname for call, _ in journey.fit_lines()}
    assert names == set(journey.DRAWN)


def test_the_table_of_scaling_is_what_its_rows_say():
    results = json.loads(scaling.RESULTS.read_text())
    page = scaling.PAGE.read_text()
    assert scaling.page_with(page, results) == page
    assert set(results) == set(scaling.PARTS)


def test_broken_links_are_found(tmp_path):
    (tmp_path / "a.html").write_text(
        '<h1 id="here"></h1><a href="#here"></a><a href="b.html#there"></a>'
        '<a href="#gone"></a><a href="c.html"></a><img src="d.png"><a href="b.html#x">'
        '<a href="https://example.org/not-ours"></a><a href="../outside.html"></a>'
    )
    (tmp_path / "b.html").write_text('<p id="there"><a href="a.html#here"></a></p>')
    found = [line.split(" -> ")[1] for line in broken_links(tmp_path)]
    assert found == ["#gone", "c.html", "d.png", "b.html#x", "../outside.html"]


def _objects(tree, prefix=""):
    """Qualified names of all classes and functions."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
            yield prefix + node.name
            yield from _objects(node, f"{prefix}{node.name}.")
