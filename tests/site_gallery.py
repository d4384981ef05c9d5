"""What the examples printed while the gallery of a built site was made.

    python tests/site_gallery.py docs/_build/html

The build runs every example and ends at the first error, so nothing has to run here.
Ends with 1 if a page is missing, or if its output lacks what the example is about.
"""

import html
import re
import sys
from pathlib import Path

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("*.py"))
# What an example has to print, as parts of its idea.
PRINTS = {
    "plot_video": "ahead of the better of pixels and RidgeLDA by",
    "plot_matrix_case": "worst step of the objective",
    "plot_tensorly_factors": "same as components_: True",
    "plot_choosing_parameters": "TensorCRPCV: ",
    "plot_multichannel": "patterns [1. 1.]",
    "plot_mne_epochs": "same as all at once: True",
    "plot_own_study": "factor of time",
    "plot_dask": "below 1e-6: True",
}


def wrong_output(name, text):
    """A sentence on what an example has not printed, or None."""
    if PRINTS.get(name, "") not in text:
        return f"{name}: {PRINTS[name]!r} was not printed"
    if name == "plot_video":
        margin = float(text.split("RidgeLDA by ")[1].split()[0])
        return None if margin > 30 else f"{name}: a margin of {margin} only"
    return None


def printed(page):
    """All output on a page of the gallery, as text."""
    blocks = re.findall(
        r'<div class="[^"]*sphx-glr-script-out.*?<pre>(.*?)</pre>',
        page.read_text(encoding="utf-8"),
        re.S,
    )
    return html.unescape(re.sub("<[^>]*>", "", "".join(blocks)))


def problems(site):
    """Sentences on every example that is missing or printed something else."""
    for name in (path.stem for path in EXAMPLES):
        page = Path(site) / "auto_examples" / f"{name}.html"
        if not page.exists():
            yield f"{name}: no page"
        elif sentence := wrong_output(name, printed(page)):
            yield sentence


if __name__ == "__main__":
    found = list(problems(sys.argv[1]))
    print("\n".join(found) or f"{len(EXAMPLES)} examples printed what they are about")
    sys.exit(bool(found))
