"""Tests the documentation site of scripts/docs in a real browser: every page opens without an error, and each start page is
readable on a phone and on a desktop, and has links.

Run by `scripts/test docs`, which builds the site first. Scripts render DocC's pages, so only a browser can test them.
"""
import functools
import http.server
import pathlib
import sys
import threading

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "Tests/Integration"))

from browser import DESKTOP, PHONE, Browser  # noqa: E402

SITE = REPOSITORY / ".build/docs/site"
ROOT_PAGE = "/documentation/swift-remote-settings"
START = "/documentation/rsdump"
USERS = ["startnightly", "startapp", "startrelease", "startpublish"]


class Quiet(http.server.SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def address():
    assert (SITE / "index.html").is_file(), f"there is no {SITE}: build it with scripts/docs"
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(SITE)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


@pytest.fixture(scope="module")
def browser():
    browser = Browser()
    yield browser
    browser.quit()


def show(browser, url):
    """Opens a page, waits for its heading, and returns it."""
    browser.get(url)
    return WebDriverWait(browser, 60, poll_frequency=0.05).until(
        lambda driver: next((each.text for each in driver.find_elements(By.CSS_SELECTOR, "main h1, #app h1") if each.text), None))


def links(browser):
    """The pages to which the content of this page links."""
    return browser.execute_script(
        "return [...document.querySelectorAll('main a[href]')].map(each => each.pathname)"
        ".filter(each => each.startsWith('/documentation/'))")


def test_the_root_leads_to_the_start_pages(browser, address):
    browser.get(address + "/")
    WebDriverWait(browser, 30).until(lambda driver: ROOT_PAGE in driver.current_url)
    show(browser, browser.current_url)
    found = {link.rstrip("/").rsplit("/", 1)[-1] for link in links(browser)}
    assert set(USERS) <= found, found


@pytest.mark.parametrize("width", [PHONE, DESKTOP])
@pytest.mark.parametrize("user", USERS)
def test_a_users_start_page(browser, address, user, width):
    browser.look(width=width)
    heading = show(browser, f"{address}{START}/{user}")
    assert heading and "not found" not in heading.lower()
    assert browser.find_elements(By.CSS_SELECTOR, "main pre"), "a start page shows commands"
    overflow = browser.execute_script("return document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert overflow <= 0, f"the page is {overflow} pixels wider than a screen of {width}"
    assert len(links(browser)) >= 2, "a start page leads on to articles"
    browser.photograph(f"docs-{user}-{width}")
    assert browser.complaints() == []


def test_every_page_opens(browser, address):
    """The browser's own request for a page's data fails where there is none; a page that cannot be drawn says so."""
    browser.look(width=DESKTOP)
    pages = sorted(str(path.parent.relative_to(SITE)) for path in (SITE / "documentation").rglob("index.html"))
    assert len(pages) > 500, len(pages)
    faults = []
    for page in pages:
        heading = show(browser, f"{address}/{page}/")
        # A member may be called error.
        is_named_so = heading.lower() == page.rpartition("/")[2]
        if "can’t be found" in heading or "error" in heading.lower().split() and not is_named_so:
            faults.append(f"{page}: {heading}")
        faults += [f"{page}: {each}" for each in browser.complaints()]
    assert faults == []
