"""Links inside a built site: every page, file and anchor that a page points at exists.

    python tests/site_links.py docs/_build/html

In: the folder of the built HTML. Out: a line per broken link, and their number as the
exit code (at most 100).
"""

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

SITE = Path(__file__).parent.parent / "docs" / "_build" / "html"


class Page(HTMLParser):
    """Anchors that a page has, and addresses that it points at."""

    def __init__(self, text):
        super().__init__()
        self.anchors, self.targets = {""}, []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.anchors |= {attrs.get("id"), attrs.get("name")}
        for name in ("href", "src"):
            if attrs.get(name):
                self.targets.append(attrs[name])


def broken_links(site):
    """Lines ``page -> address`` of all addresses inside the site that lead nowhere."""
    site = Path(site).resolve()
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in _pages(site)}
    if not pages:
        raise FileNotFoundError(f"{site} has no pages; build the site first.")
    for path, page in sorted(pages.items()):
        for target in page.targets:
            if not _leads_somewhere(path, target, site, pages):
                yield f"{path.relative_to(site)} -> {target}"


def _pages(site):
    return [path for path in site.rglob("*.html") if "_static" not in path.parts]


def _leads_somewhere(path, target, site, pages):
    parts = urlsplit(target)
    if parts.scheme or parts.netloc:
        return True  # another host, or data in the page
    place = path if not parts.path else (path.parent / unquote(parts.path)).resolve()
    if place.is_dir():
        place = place / "index.html"
    if not place.is_relative_to(site) or not place.is_file():
        return False
    page = pages.get(place)
    return page is None or unquote(parts.fragment) in page.anchors


def main(argv):
    """Print broken links; the exit code is their number."""
    lines = list(broken_links(argv[0]))
    print("\n".join(lines) or "every link inside the site leads somewhere")
    return min(len(lines), 100)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
