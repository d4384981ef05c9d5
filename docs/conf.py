"""The site. One command builds it, warnings are errors::

    pip install -e ".[docs]" && sphinx-build -W docs docs/_build/html

Nothing on its pages comes from another host: MathJax, fonts and icons are copied into
the build. Figures and the gallery are drawn while it is built.
"""

import inspect
import os

import matplotlib

import tensorcrp
from tensorcrp import baselines

# The same site wherever it is built: without the data of whoever builds it.
os.environ.pop("TENSORCRP_DATA", None)
matplotlib.use("Agg")

project = "tensorcrp"
author = "The tensorcrp developers"
project_copyright = author
version = release = tensorcrp.__version__

extensions = [
    "matplotlib.sphinxext.plot_directive",
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.doctest",
    "sphinx.ext.mathjax",
    "sphinx-mathjax-offline",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "results", "auto_examples/*.ipynb"]
templates_path = ["_templates"]
default_role = "literal"
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3

# --- docstrings -----------------------------------------------------------------------

autosummary_generate = True
autodoc_typehints = "none"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False


def with_list(docstring, names):
    """A module's docstring that ends with links to pages of its classes."""
    options = ":toctree: generated\n   :template: class.rst"
    lines = "".join(f"   {name}\n" for name in names)
    return f"{docstring}\n.. autosummary::\n   {options}\n\n{lines}"


# Where `automodule` shows the docstring, autosummary makes the pages of the baselines.
baselines.__doc__ = with_list(
    baselines.__doc__, [each.name for each in baselines.BASELINES]
)


def leave_out(app, what, name, value, skip, options):
    """Methods that scikit-learn defines are documented by scikit-learn."""
    home = getattr(value, "__module__", None) or ""
    theirs = inspect.isroutine(value) and not home.startswith("tensorcrp")
    return True if theirs else None


def accessible(app, page, template, context, doctree):
    """Repair what a screen reader cannot use.

    A list needs items, and what opens a part of the sidebar needs a name.
    """
    if "body" in context:
        context["body"] = context["body"].replace(' role="list"', "")
    toctree = context["generate_toctree_html"]

    def named(*args, **kwargs):
        made = str(toctree(*args, **kwargs))
        return made.replace("<summary>", '<summary aria-label="Show its pages">')

    context["generate_toctree_html"] = named


# --- code and figures -----------------------------------------------------------------

doctest_global_setup = "import os; os.environ.pop('TENSORCRP_DATA', None)"
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
plot_formats = [("png", 110)]
plot_html_show_formats = False
plot_html_show_source_link = False
plot_include_source = False
plot_working_directory = os.path.dirname(__file__)
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "auto_examples",
    "filename_pattern": "plot_",
    "backreferences_dir": "generated/backreferences",
    "doc_module": ("tensorcrp",),
    "abort_on_example_error": True,
    "capture_repr": (),
    "download_all_examples": False,
    "min_reported_time": 3600,
    "within_subsection_order": "ExampleTitleSortKey",
    "show_signature": False,
    "write_computation_times": False,
    "thumbnail_size": (400, 300),
    "plot_gallery": "True",
}

# --- looks ----------------------------------------------------------------------------

html_theme = "pydata_sphinx_theme"
html_title = f"tensorcrp {version}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_favicon = "_static/logo.svg"
html_copy_source = False
html_show_sourcelink = False
html_sidebars = {"index": [], "install": []}
html_context = {"default_mode": "auto"}
toc_object_entries_show_parents = "hide"  # the page has the name of the class
html_theme_options = {
    "logo": {
        "text": "tensorcrp",
        "alt_text": "",  # the name is beside it
        "image_light": "_static/logo.svg",
        "image_dark": "_static/logo-dark.svg",
    },
    # Its wider form has a visible text that is not its accessible name.
    "navbar_persistent": ["search-button"],
    "collapse_navigation": True,
    "header_links_before_dropdown": 6,
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}


def setup(app):
    """Connect what is above."""
    app.connect("autodoc-skip-member", leave_out)
    app.connect("html-page-context", accessible, priority=900)  # after the theme
