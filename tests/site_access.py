"""Whether everybody can read the built site: axe-core and a keyboard, in Chromium.

    npm ci --prefix .ci && pip install -e ".[browse]"
    python tests/site_access.py docs/_build/html [--all] [--report FILE ...]

In: the folder of the built HTML, and HTML files beside it (reports). Every page is
opened at desktop width and at 400 pixels, and
looked at by axe-core: contrast, alternative texts, headings, landmarks, names of links
and controls, scrolling by keyboard; in the dark theme contrast alone, as nothing else
depends on it. Then the tab key walks through a page: every stop
must be visible and marked, and the first of the site leads past the navigation. Out: a
line per finding that is serious or critical, and an exit code of 1 if there is one.
Without ``--all``, one page of those that are generated from docstrings and examples is
looked at for all, and one page of each kind on a phone and in the dark theme.
"""

import argparse
import sys
from pathlib import Path

from browse_site import PATIENCE, WIDTHS, chromium, served

AXE = Path(__file__).parents[1] / ".ci/node_modules/axe-core/axe.min.js"
GRAVE = ("serious", "critical")
# Width, theme, and the rules to look at: None for all.
VIEWS = (
    ("desktop", "light", None),
    ("phone", "light", None),
    ("desktop", "dark", ["color-contrast"]),
)
GENERATED = ("generated/tensorcrp.TensorCRP.html", "auto_examples/plot_video.html")
BOARD = "_static/leaderboard.html"
# One of each kind: cards, mathematics, tables, a form, generated pages.
KINDS = ("index.html", "mathematics.html", "performance.html", "search.html")
STOPS = 20  # of the tab key on a page
# The element that has the focus: what it is, whether it is seen, whether it is marked.
FOCUS = """() => {
  let at = document.activeElement;
  if (!at || at === document.body) return null;
  // The link of a card covers it, and the card is marked.
  at = at.closest(".sd-card, .sphx-glr-thumbcontainer") || at;
  const box = at.getBoundingClientRect(), style = getComputedStyle(at);
  const marked = style.outlineStyle !== "none" || style.boxShadow !== "none";
  const inside = box.bottom > 0 && box.top < innerHeight && box.right > 0
    && box.left < innerWidth;
  return { name: at.tagName.toLowerCase() + " " + (at.textContent.trim().slice(0, 30)
    || at.getAttribute("aria-label") || at.id), marked,
    seen: box.width > 0 && box.height > 0 && inside };
}"""


def site_pages(site, every_page=False):
    """Addresses of the pages to look at, relative to the site, for each of `VIEWS`."""
    found = sorted(p.relative_to(site).as_posix() for p in Path(site).rglob("*.html"))
    found = [p for p in found if not p.startswith("_static/")] + [BOARD]
    if every_page:
        return [found] * len(VIEWS)
    first = [p for p in found if "/" not in p or p in (*GENERATED, BOARD)]
    kinds = [p for p in first if p in (*KINDS, *GENERATED, BOARD)]
    return [first] + [kinds] * (len(VIEWS) - 1)


def findings(page, rules):
    """Sentences on what axe-core finds serious or critical on the page."""
    options = {"resultTypes": ["violations"]} | ({"runOnly": rules} if rules else {})
    result = page.evaluate("options => axe.run(document, options)", options)
    for rule in result["violations"]:
        if rule["impact"] in GRAVE:
            first = rule["nodes"][0]
            where = f"{first['target'][0]} {first['html'][:120]}"
            times = len(rule["nodes"])
            yield f"{rule['impact']}: {rule['help']}, {times} times: {where}"


def settled(page, looks=12):
    """The element that has the focus; what slides into view has three seconds."""
    for _ in range(looks):
        stop = page.evaluate(FOCUS)
        if stop is None or (stop["seen"] and stop["marked"]):
            break
        page.wait_for_timeout(250)
    return stop


def keyboard(page, skip_link):
    """Sentences on stops of the tab key that a reader does not see."""
    for i in range(STOPS):
        page.keyboard.press("Tab")
        stop = settled(page)
        if stop is None:
            return
        if i == 0 and skip_link and "Skip to main content" not in stop["name"]:
            yield f"the tab key stops first at {stop['name']!r}"
        if not stop["seen"] or not stop["marked"]:
            how = "marked" if stop["seen"] else "seen"
            yield f"stop {i + 1} of the tab key is not {how}: {stop['name']!r}"


def sorted_by_keyboard(page):
    """Whether the enter key on a heading of the leaderboard sorts by it."""
    heading = page.locator("#head button", has_text="seconds")
    heading.focus()
    page.keyboard.press("Enter")
    if page.locator("#head th[aria-sort]").inner_text().split()[0] != "seconds":
        yield "the enter key on a heading does not sort"


def look(browser, address, pages, axe, skip_link=True):
    """Problems of pages, a list of them for each of `VIEWS`, as lines."""
    problems = []
    for (name, scheme, rules), paths in zip(VIEWS, pages, strict=True):
        size = {"width": WIDTHS[name], "height": 900}
        page = browser.new_page(viewport=size, color_scheme=scheme)
        page.set_default_timeout(PATIENCE)
        for path in paths:
            page.goto(address + path, wait_until="load")
            page.evaluate("() => window.MathJax?.startup?.promise.then(() => 1)")
            page.add_script_tag(content=axe)
            found = list(findings(page, rules))
            if rules is None:
                found += keyboard(page, skip_link and path != BOARD)
            if path.endswith("leaderboard.html"):
                found += sorted_by_keyboard(page)
            problems += [f"{path}, {name}, {scheme}: {line}" for line in found]
        page.close()
    return problems


def access(site, axe=AXE, reports=(), every_page=False):
    """Problems that readers meet on the site and in reports, as lines."""
    axe = Path(axe).read_text(encoding="utf-8")
    with chromium() as browser:
        with served(site) as address:
            problems = look(browser, address, site_pages(site, every_page), axe)
        for report in map(Path, reports):
            pages = [[report.name]] * len(VIEWS)
            with served(report.parent) as address:
                problems += look(browser, address, pages, axe, skip_link=False)
    return problems


def main(argv=None):
    """Look; 1 if there are problems."""
    parser = argparse.ArgumentParser(description="Who can read the built site?")
    parser.add_argument("site", type=Path, help="folder of the built HTML")
    parser.add_argument("--axe", type=Path, default=AXE, help="axe.min.js")
    parser.add_argument("--all", action="store_true", help="every page")
    parser.add_argument(
        "--report", type=Path, nargs="*", default=[], help="HTML files to look at too"
    )
    args = parser.parse_args(argv)
    if not args.axe.exists():
        parser.error(f"{args.axe} does not exist; run npm ci --prefix .ci first.")
    problems = access(args.site, args.axe, args.report, args.all)
    print("\n".join(problems) or "axe-core and the tab key find nothing serious")
    return int(bool(problems))


if __name__ == "__main__":
    sys.exit(main())
