"""Write the table of methods into the README, from what the package knows of them.

    python docs/methods_table.py

`tensorcrp.baselines.BASELINES` is the only list of baselines; a test compares the table
with it. The site's tables and lists of baselines are made when it is built.
"""

from pathlib import Path

from tensorcrp.baselines import BASELINES
from tensorcrp.baselines.catalogue import markdown_table

README = Path(__file__).parent.parent / "README.md"
BEGIN = "<!-- methods: written by docs/methods_table.py -->\n"
END = "<!-- end of methods -->\n"
OWN = ("`TensorCRP`", "yes", "tensors of CP rank k", "up to P", "yes", "yes")


def page_with_table(page):
    """The page with the table between its markers."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise ValueError(f"the page needs the lines {BEGIN!r} and {END!r}.")
    table = markdown_table(BASELINES, OWN)
    return f"{before}{begin}\n{table}\n\n{end}{after}"


if __name__ == "__main__":
    README.write_text(page_with_table(README.read_text(encoding="utf-8")), "utf-8")
