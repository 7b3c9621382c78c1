"""The web UI in a real browser. Its pages contain no scripts; the tests query documents through the driver."""
import hashlib
import json
import pathlib

import axe_core_python
import pytest
import requests
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

import rsdump
from browser import DESKTOP, PHONE, Browser
from conftest import FOREIGN, REAL_COLLECTIONS
from dumps import Dumps
from rs_server.client import Server
from serve import Serving

AXE = pathlib.Path(axe_core_python.__file__).parent / "axe.min.js"

HOSTILE_SVG = b"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 64 64" onload="document.title='owned';alert(1)">
<script>document.title='owned';alert(1)</script><circle cx="32" cy="32" r="28" fill="#0a5a6e"/></svg>"""
HOSTILE_HTML = b"<!DOCTYPE html><title>owned</title><script>document.title='owned';alert(1)</script><p>hello"
HOSTILE_TEXTS = {
    "script": "<script>document.title='owned';alert(1)</script>",
    "onerror": "<img src=x onerror=\"document.title='owned';alert(1)\">",
    "url": "javascript:document.title='owned';alert(1)",
    "attribute": "\" autofocus onfocus=\"document.title='owned';alert(1)",
    "bidi": "invoice\u202Egnp.exe",
}


@pytest.fixture(scope="module")
def real_site(refreshed_real):
    with Serving("--dumps", refreshed_real.path) as serving:
        yield serving.url


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """A collection with malicious records and attachments and an older state, and a pinned collection."""
    folder = tmp_path_factory.mktemp("hostile")
    main = folder / "dump/main"
    (main / "hostile").mkdir(parents=True)
    records = [{"id": f"text-{name}", "last_modified": 1760000000000, "name": text, text: [text]}
               for name, text in HOSTILE_TEXTS.items()]
    for name, kind, content in (
            ("svg", "image/svg+xml", HOSTILE_SVG), ("html", "text/html", HOSTILE_HTML),
            ("fake", "image/png", HOSTILE_HTML)):
        (main / "hostile" / f"file-{name}").write_bytes(content)
        records.append({
            "id": f"file-{name}", "last_modified": 1760000000000, "name": HOSTILE_TEXTS["onerror"],
            "attachment": attachment(f"{HOSTILE_TEXTS['attribute']}.{name}", f"main-workspace/hostile/{name}", kind, content)})
    (main / "hostile.json").write_text(json.dumps({"timestamp": 1760000000001, "data": records}))
    with Server.start(folder / "server") as server:
        server.load(folder / "dump")
        older = Dumps(folder / "older")
        assert older.add(server, "main/hostile").code == rsdump.DONE
        outcome = older.refresh()
        assert outcome.code == rsdump.DONE, str(outcome)
        changed = {**records[0], "name": HOSTILE_TEXTS["onerror"]}
        changed.pop("last_modified")
        url = f"{server.url}/buckets/main/collections/hostile/records"
        for method, record, data in (("PUT", "text-script", changed), ("DELETE", "text-url", None)):
            answer = requests.request(
                method, f"{url}/{record}", json={"data": data} if data else None, auth=("admin", "admin"), timeout=30)
            assert answer.ok, answer.text
        dumps = older.copy(folder / "dumps")
        assert dumps.refresh().code == rsdump.DONE
        pinned = rsdump.run(
            "pin", "main/hostile", "--dumps", dumps.path, "--until", "2999-12-31", "--reason", HOSTILE_TEXTS["attribute"])
        assert pinned.code == rsdump.DONE, str(pinned)
    with Serving("--dumps", dumps.path, "--history", older.path) as serving:
        yield serving.url


def attachment(filename, location, kind, content):
    return {"filename": filename, "hash": hashlib.sha256(content).hexdigest(), "location": location,
            "mimetype": kind, "size": len(content)}


@pytest.fixture(scope="module")
def demo_site():
    with Serving("--demo") as serving:
        yield serving.url


@pytest.fixture(scope="module")
def authored():
    """Parameters and a file, published by an earlier version."""
    with Serving("--dumps", rsdump.REPOSITORY / "Tests/Promises/0.1.0/dumps") as serving:
        yield serving.url


def assert_inert(chromium):
    assert chromium.title != "owned"
    assert not chromium.find_elements(By.CSS_SELECTOR, "script, iframe, object, embed, [onload], [onerror], [onfocus]")
    assert not [link for link in chromium.find_elements(By.TAG_NAME, "a")
                if not link.get_attribute("href").startswith("http://127.0.0.1:")]
    with pytest.raises(Exception, match="no such alert"):
        chromium.switch_to.alert.text


def test_hostile_records_show_as_text(chromium, hostile):
    chromium.look()
    pages = ["/", "/collections/main/hostile", "/collections/main/hostile/changes",
             "/collections/main/hostile?q=%22%3E%3Cscript%3Ealert(1)%3C/script%3E"]
    pages += [f"/collections/main/hostile/records/text-{name}" for name in HOSTILE_TEXTS if name != "url"]
    pages += [f"/collections/main/hostile/records/file-{name}" for name in ("svg", "html", "fake")]
    for page in pages:
        chromium.get(hostile + page)
        assert_inert(chromium)
        # No script even tried to run: the policy had nothing to block.
        assert not [each for each in chromium.complaints() if "Content Security Policy" in each], page
    for page in ("/", "/collections/main/hostile"):
        chromium.get(hostile + page)
        pin = next(line for line in chromium.all_text().splitlines() if "until 2999-12-31" in line)
        assert pin.endswith(f"until 2999-12-31: {HOSTILE_TEXTS['attribute']}"), pin
    chromium.get(hostile + "/collections/main/hostile/records/text-bidi")
    assert "invoiceU+202Egnp.exe" in chromium.all_text()
    chromium.photograph("hostile-bidi-1280")
    chromium.get(hostile + "/collections/main/hostile")
    assert HOSTILE_TEXTS["onerror"] in chromium.all_text()
    chromium.photograph("hostile-list-1280")
    chromium.get(hostile + "/collections/main/hostile/changes")
    text = chromium.all_text()
    assert "Updated: 1 record" in text and "Deleted: 1 record" in text and HOSTILE_TEXTS["onerror"] in text.replace("\\", "")
    chromium.photograph("changes-1280")


def test_a_hostile_picture_is_seen_and_does_not_run(chromium, hostile):
    chromium.get(hostile + "/collections/main/hostile/records/file-svg")
    picture = chromium.find_element(By.CSS_SELECTOR, "figure img")
    WebDriverWait(chromium, 60).until(lambda _: picture.get_property("complete"))
    assert picture.get_property("naturalWidth") > 0
    assert_inert(chromium)
    chromium.photograph("hostile-picture-1280")
    chromium.get(hostile + "/collections/main/hostile/records/file-html")
    assert HOSTILE_HTML.decode().splitlines()[0] in chromium.find_element(By.CSS_SELECTOR, "pre.file-text").text


@pytest.mark.parametrize("name", ["svg", "html", "fake"])
@pytest.mark.parametrize("last", ["attachment", "download"])
def test_an_attachment_opened_by_its_address_is_no_document_here(chromium, hostile, name, last):
    chromium.get(hostile + "/")
    url = f"{hostile}/collections/main/hostile/records/file-{name}/{last}"
    answer = requests.get(url, timeout=30)
    assert answer.status_code == 200
    assert answer.headers["Content-Security-Policy"].startswith("sandbox; default-src 'none'")
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Content-Disposition"].startswith("attachment")
    assert answer.headers["Content-Type"] == (
        "image/svg+xml" if (name, last) == ("svg", "attachment") else "application/octet-stream")
    chromium.execute_cdp_cmd("Browser.setDownloadBehavior", {"behavior": "deny"})
    chromium.execute_script("location.href = arguments[0]", url)
    assert_inert(chromium)


def test_search_works_without_javascript(real_site):
    driver = Browser(javascript=False)
    try:
        driver.get("data:text/html,<title>off</title><script>document.title='on'</script>")
        assert driver.title == "off", "JavaScript is still on"
        driver.get(real_site + "/collections/main/search-config-v2")
        field = driver.find_element(By.NAME, "q")
        field.send_keys("wikipedia", Keys.ENTER)
        WebDriverWait(driver, 60).until(lambda _: "q=wikipedia" in driver.current_url)
        caption = driver.find_element(By.TAG_NAME, "caption").text
        count = len(json.loads((REAL_COLLECTIONS / "main/search-config-v2.json").read_text())["data"])
        assert "contain “wikipedia”" in caption and f"of {count} records" in caption, FOREIGN
        rows = driver.find_elements(By.CSS_SELECTOR, "tbody tr")
        assert 0 < len(rows) < count
        rows[0].find_element(By.TAG_NAME, "a").click()
        assert "ikipedia" in driver.find_element(By.TAG_NAME, "pre").text
        driver.get(real_site)
        driver.find_element(By.NAME, "q").send_keys("onecrl", Keys.ENTER)
        WebDriverWait(driver, 60).until(lambda _: "q=onecrl" in driver.current_url)
        assert [row.text for row in driver.find_elements(By.CSS_SELECTOR, "tbody th")] == ["security-state/onecrl"]
    finally:
        driver.quit()


SHOWN = {
    "collections": "/", "records": "/collections/main/search-config-v2",
    "search": "/collections/main/search-config-v2?q=google", "missing": "/collections/main/none",
    "lost": "/collections",
}
SHOWN_HOSTILE = {
    "pinned": "/", "changes": "/collections/main/hostile/changes", "hostile": "/collections/main/hostile",
    "file": "/collections/main/hostile/records/file-html",
}
PARAMETERS = "/collections/main/app-config/parameters"
SHOWN_AUTHORED = {
    "config": "/collections/main/app-config", "parameters": PARAMETERS,
}
SHOWN_DEMO = {"demo": "/", "icons": "/collections/main/icons"}


def every_page(real_site, demo_site, hostile, authored):
    yield from ((name, real_site + path) for name, path in SHOWN.items())
    yield from ((name, demo_site + path) for name, path in SHOWN_DEMO.items())
    yield "record", first_record(real_site, "main/search-config-v2")
    yield "picture", first_record(demo_site, "main/icons")
    yield from ((name, hostile + path) for name, path in SHOWN_HOSTILE.items())
    yield from ((name, authored + path) for name, path in SHOWN_AUTHORED.items())


def first_record(site, name):
    bucket, collection = name.split("/")
    changeset = requests.get(f"{site}/v1/buckets/{bucket}/collections/{collection}/changeset?_expected=0", timeout=60)
    return f"{site}/collections/{name}/records/{min(record['id'] for record in changeset.json()['changes'])}"


def test_nothing_scrolls_sideways_and_screenshots_are_kept(chromium, real_site, demo_site, hostile, authored):
    for name, url in every_page(real_site, demo_site, hostile, authored):
        for width in (PHONE, DESKTOP):
            for scheme in ("light", "dark"):
                chromium.look(width, scheme, height=1400 if width == PHONE else 1000)
                chromium.get(url)
                inner, full = chromium.execute_script(
                    "return [document.documentElement.clientWidth, document.documentElement.scrollWidth]")
                assert full <= inner <= width, f"{name} at {width}: {full} pixels wide"
                chromium.photograph(f"{name}-{width}-{scheme}")


def test_axe_finds_nothing(chromium, real_site, demo_site, hostile, authored):
    """axe-core's rules for WCAG 2.1 A and AA and best practices, including contrast, in both color schemes and widths.
    The driver injects its script past the content security policy."""
    script = AXE.read_text()
    chromium.set_script_timeout(600)    # axe needs seconds for 100 records, or a minute on a busy machine
    for name, url in every_page(real_site, demo_site, hostile, authored):
        # All rules in light mode at both widths, and only contrast in dark mode.
        for width, scheme, options in (
                (DESKTOP, "light", {}), (PHONE, "light", {}),
                (DESKTOP, "dark", {"runOnly": {"type": "rule", "values": ["color-contrast"]}})):
            chromium.look(width, scheme)
            chromium.get(url)
            chromium.execute_script(script)
            found = chromium.execute_async_script(
                "const done = arguments[arguments.length - 1];"
                "axe.run(document, arguments[0]).then("
                "result => done(result.violations), problem => done([{id: String(problem)}]))", options)
            assert not found, f"{name} at {width}, {scheme}: " + json.dumps(
                [(each["id"], [node["html"] for node in each.get("nodes", [])][:3]) for each in found], indent=1)


def test_the_keyboard_reaches_everything(chromium, hostile, demo_site):
    for url in (hostile + "/", hostile + "/collections/main/hostile", hostile + "/collections/main/hostile/changes",
                hostile + "/collections/main/hostile/records/file-html", demo_site + "/collections/main/icons"):
        chromium.look()
        chromium.get(url)
        wanted = chromium.execute_script(
            "return [...document.querySelectorAll('a, input:not([type=hidden]), select, button, [tabindex=\"0\"]')]"
            ".map(each => each.outerHTML)")
        reached = []
        for _ in wanted:
            chromium.switch_to.active_element.send_keys(Keys.TAB)
            reached.append(chromium.execute_script("return document.activeElement.outerHTML"))
            outline = chromium.execute_script(
                "const style = getComputedStyle(document.activeElement);"
                "return style.outlineStyle + ' ' + style.outlineWidth")
            assert outline == "solid 3px", f"{reached[-1]}: {outline}"
        assert reached == wanted, url
