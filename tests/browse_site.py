"""The built site in a headless Chromium: what a reader sees, and that it is all ours.

    pip install -e ".[browse]"
    python tests/browse_site.py docs/_build/html --out DIR [--all] [--report FILE]

In: the folder of the built HTML. It is served on 127.0.0.1 and opened in the system's
``chromium`` at desktop width and at 400 pixels: the landing page, a page of the guide
with mathematics, a page of the gallery, and the search, into which a query is typed;
with ``--all`` every other page too; and reports, as ``tensorcrp fit --report`` writes
them, light and dark. Out: screenshots in DIR, and an exit code of 1 if
the console shows an error, a page asks another host for anything, an equation is not
set, a page is wider than the screen, text of a plot is cut off, the first screen of the
landing page lacks an answer, or the search finds nothing.
"""

import argparse
import re
import shutil
import sys
import threading
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

HOST = "127.0.0.1"
WIDTHS = {"desktop": 1280, "phone": 400}
LANDING, GUIDE = "index.html", "mathematics.html"
GALLERY = "auto_examples/plot_video.html"
PAGES = (LANDING, GUIDE, GALLERY)
QUERY = "deflation"
# Texts of plots that stick out of the plot, or of a box around it that cuts or scrolls.
CUT_OFF = """() => [...document.querySelectorAll("svg text")].filter(text => {
  const own = text.getBoundingClientRect();
  for (let box = text.ownerSVGElement; box && own.width; box = box.parentElement) {
    const cuts = box.tagName === "svg" || getComputedStyle(box).overflowX !== "visible";
    const edge = box.getBoundingClientRect();
    if (cuts && (own.left < edge.left - 1 || own.right > edge.right + 1)) return true;
  }
  return false;
}).map(text => text.textContent)"""
# What it is, for whom and how to start, how well: their lowest pixel.
FIRST = """() => Math.max(...[".home-lead", ".home-facts", ".home-table table"].map(
  name => document.querySelector(name)?.getBoundingClientRect().bottom ?? Infinity))"""
HEIGHT = 900  # of a screen
PATIENCE = 120_000  # milliseconds, on a busy machine


def find_chromium():
    """Path of the system's browser, or None."""
    names = ("chromium", "chromium-browser", "google-chrome")
    return next(filter(None, map(shutil.which, names)), None)


class Quiet(SimpleHTTPRequestHandler):
    """Files without a line for each in the terminal."""

    def log_message(self, *args):
        pass


@contextmanager
def served(site):
    """Address of the site while it is served."""
    handler = partial(Quiet, directory=str(site))
    server = ThreadingHTTPServer((HOST, 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://{HOST}:{server.server_port}/"
    finally:
        server.shutdown()
        server.server_close()


@contextmanager
def chromium():
    """The system's browser without a window, for as long as it is needed."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        options = ["--no-sandbox"]  # of root in a container
        browser = play.chromium.launch(executable_path=find_chromium(), args=options)
        yield browser
        browser.close()


class Reader:
    """Someone who opens pages, takes pictures and notes what is wrong."""

    def __init__(self, browser, address, width, out, name):
        self.page = browser.new_page(viewport={"width": width, "height": HEIGHT})
        self.address, self.out, self.name = address, Path(out), name
        self.width, self.problems = width, []
        self.page.set_default_timeout(PATIENCE)
        self.page.on("console", self._listen)
        self.page.on("pageerror", lambda error: self._note(f"error: {error}"))
        self.page.on("request", self._look_at_host)
        self.page.on("requestfailed", self._look_at_failure)

    def _note(self, problem):
        self.problems.append(f"{self.name} {self.page.url}: {problem}")

    def _listen(self, message):
        if message.type == "error":
            self._note(f"console: {message.text}")

    def _look_at_host(self, request):
        parts = urlsplit(request.url)
        if parts.scheme not in ("data", "blob") and parts.hostname != HOST:
            self._note(f"asks another host: {request.url}")

    def _look_at_failure(self, request):
        if request.failure != "net::ERR_ABORTED":  # by going to the next page
            self._note(f"no answer: {request.url}")

    def open(self, path):
        """Open a page, wait until it stands still, look at it."""
        self.page.goto(self.address + path, wait_until="load")
        self.page.evaluate("() => window.MathJax?.startup?.promise.then(() => true)")
        self.page.evaluate("() => document.fonts.ready.then(() => true)")
        self._check_math(path)
        self._check_width()
        self._check_text()
        if path == LANDING:
            self._check_first_screen()
        self.picture(path)

    def picture(self, path):
        """Save the whole page; very long ones are cut."""
        stem = path.removesuffix(".html").replace("/", "-")
        height = min(self.page.evaluate("document.body.scrollHeight"), 15000)
        clip = {"x": 0, "y": 0, "width": self.width, "height": height}
        file = self.out / f"{stem}.{self.name}.png"
        self.page.screenshot(path=file, full_page=True, clip=clip)

    def _check_math(self, path):
        wanted = self.page.locator("span.math, div.math").count()
        found = self.page.locator("mjx-container").count()
        if found < wanted or (path == GUIDE and not wanted):
            self._note(f"{found} of {wanted} equations are set")
        if errors := self.page.locator("mjx-merror").count():
            self._note(f"{errors} equations are wrong")

    def _check_width(self):
        wide = self.page.evaluate("document.documentElement.scrollWidth")
        if wide > self.width + 1:
            self._note(f"is {wide} pixels wide on a screen of {self.width}")

    def _check_text(self):
        if cut := self.page.evaluate(CUT_OFF):
            self._note(f"text of a plot is cut off: {cut[:5]}")

    def _check_first_screen(self):
        if not self.page.evaluate(FIRST) <= HEIGHT:
            self._note("the first screen does not say what, for whom, how and how well")

    def search(self, query):
        """Type a query on the search page as a reader would; results must appear."""
        self.open("search.html")
        box = self.page.locator("input[name=q]:visible").first
        box.fill(query)
        box.press("Enter")
        result = self.page.locator("ul.search li a").first
        done = self.page.locator("#search-results .search-summary")
        done.filter(has_text=re.compile("finished|did not match")).wait_for()
        if not result.count():
            self._note(f"the search for {query!r} finds nothing")
        self.picture("search-results.html")


def all_pages(site):
    """Those that are always looked at, and the others, as addresses inside the site."""
    found = sorted(p.relative_to(site).as_posix() for p in site.rglob("*.html"))
    others = {*PAGES, "search.html"}
    return [*PAGES, *(p for p in found if p not in others and p[:7] != "_static")]


def browse(site, out, paths=PAGES):
    """Problems that a reader of these pages and of the search meets, as lines."""
    site, out, problems = Path(site), Path(out), []
    out.mkdir(parents=True, exist_ok=True)
    with served(site) as address, chromium() as browser:
        for name, width in WIDTHS.items():
            reader = Reader(browser, address, width, out, name)
            for path in paths:
                reader.open(path)
            reader.search(QUERY)
            reader.page.close()
            problems += reader.problems
    return problems


def browse_report(report, out):
    """Problems that a reader of a report meets, at both widths, light and dark."""
    report, out, problems = Path(report), Path(out), []
    out.mkdir(parents=True, exist_ok=True)
    with served(report.parent) as address, chromium() as browser:
        for name, width in WIDTHS.items():
            for scheme in ("light", "dark"):
                reader = Reader(browser, address, width, out, f"{name}-{scheme}")
                reader.page.emulate_media(color_scheme=scheme)
                reader.open(report.name)
                reader.page.close()
                problems += reader.problems
    return problems


def main(argv=None):
    """Browse; 1 if there are problems."""
    parser = argparse.ArgumentParser(description="Look at the built site.")
    parser.add_argument("site", type=Path, help="folder of the built HTML")
    parser.add_argument("--out", type=Path, required=True, help="for screenshots")
    parser.add_argument("--all", action="store_true", help="every page")
    parser.add_argument(
        "--report", type=Path, nargs="*", default=[], help="reports to look at too"
    )
    args = parser.parse_args(argv)
    if not (args.site / LANDING).exists():
        parser.error(f"{args.site} has no {LANDING}; build the site first.")
    pages = all_pages(args.site) if args.all else PAGES
    problems = browse(args.site, args.out, pages)
    for i, report in enumerate(args.report):
        problems += browse_report(report, args.out / f"report{i}")
    print("\n".join(problems) or f"no problems; look at the pictures in {args.out}")
    return int(bool(problems))


if __name__ == "__main__":
    sys.exit(main())
