"""The built site, where there is one: links, and pages in a browser.

Tests marked ``browser`` need Chromium, playwright (extra ``browse``) and axe-core
(``npm ci --prefix .ci``). `.ci/run` runs them, and the same checks as commands.
"""

import pytest
from browse_site import browse
from site_access import BOARD, access
from site_gallery import problems
from site_links import SITE, broken_links


def test_the_examples_printed_what_they_are_about():
    assert not list(problems(SITE))


def test_links_inside_the_site_lead_somewhere():
    assert not list(broken_links(SITE))


@pytest.mark.browser
def test_a_reader_meets_no_problems(tmp_path):
    assert not browse(SITE, tmp_path)
    names = {path.name for path in tmp_path.iterdir()}
    assert {"index.desktop.png", "search-results.phone.png"} <= names


@pytest.mark.browser
def test_what_shuts_readers_out_is_found(tmp_path):
    """A page of three harms, and a leaderboard whose headings do nothing."""
    harms = {
        "alternative text": '<img src="data:,">',
        "contrast": '<p style="color: #bbb; background: #fff">pale</p>',
        "is not marked": '<a href="#x" style="outline: none">a link</a>',
    }
    page = '<html lang="en"><title>t</title><main><h1>t</h1>{}</main></html>'
    (tmp_path / "index.html").write_text(page.format("".join(harms.values())))
    board = tmp_path / BOARD
    board.parent.mkdir()
    cell = '<table><tr id="head"><th aria-sort="none">mean</th>{}</tr></table>'
    board.write_text(page.format(cell.format("<th><button>seconds</button></th>")))
    found = access(tmp_path)
    missing = [harm for harm in harms if not any(harm in line for line in found)]
    assert not missing
    assert any("does not sort" in line for line in found)


@pytest.mark.browser
def test_a_reader_notices(tmp_path):
    """A copy of the site whose landing page has been harmed."""
    harms = {
        "asks another host": '<img src="http://localhost:1/a.png">',
        "undefined_name": "<script>undefined_name()</script>",
        "oops": "<script>console.error('oops')</script>",
        "404": '<img src="not_there.png">',
        "pixels wide": '<div style="width: 3000px">wide</div>',
        "first screen": "<style>.home-lead { margin-top: 30rem }</style>",
        "equations": '<span class="math nohighlight">x</span>',
    }
    site = tmp_path / "site"
    site.mkdir()
    for path in SITE.iterdir():
        (site / path.name).symlink_to(path)
    page = (SITE / "index.html").read_text()
    (site / "index.html").unlink()
    more = "".join(harms.values())
    (site / "index.html").write_text(page.replace("</body>", f"{more}</body>"))
    problems = browse(site, tmp_path / "pictures", ["index.html"])
    assert not [harm for harm in harms if not any(harm in p for p in problems)]
