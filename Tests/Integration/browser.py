"""A real headless Chromium, driven by chromedriver."""
import pathlib
import shutil
import tempfile

from selenium import webdriver
from selenium.webdriver.chrome.service import Service

import rsdump

SCREENSHOTS = rsdump.REPOSITORY / ".build/test-logs/screenshots"
PHONE, DESKTOP = 390, 1280


class Browser(webdriver.Chrome):
    """Chromium with a temporary profile and no network access beyond this machine."""

    def __init__(self, javascript=True):
        self.profile = tempfile.mkdtemp(prefix="page-chromium-")
        options = webdriver.ChromeOptions()
        options.binary_location = shutil.which("chromium") or "/usr/bin/chromium"
        for argument in (
                "--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--no-first-run",
                "--disable-background-networking", "--disable-component-update", "--disable-sync",
                "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", f"--user-data-dir={self.profile}"):
            options.add_argument(argument)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        driver = shutil.which("chromedriver") or "/usr/bin/chromedriver"
        super().__init__(options=options, service=Service(driver))
        self.set_page_load_timeout(120)
        self.set_script_timeout(120)
        if not javascript:
            self.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})

    def quit(self):
        super().quit()
        shutil.rmtree(self.profile, ignore_errors=True)

    def look(self, width=DESKTOP, scheme="light", height=900):
        """Emulates a screen of that width and color scheme."""
        self.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
            "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width == PHONE})
        self.execute_cdp_cmd("Emulation.setEmulatedMedia", {
            "features": [{"name": "prefers-color-scheme", "value": scheme}]})

    def photograph(self, name):
        """Saves a screenshot for human review."""
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        # Wait for visible images; those further down load lazily.
        self.execute_async_script(
            "const done = arguments[0];"
            "const seen = [...document.images].filter(each => each.getBoundingClientRect().top < innerHeight);"
            "Promise.all(seen.map(each => each.decode().catch(() => 0))).then(() => done());")
        path = pathlib.Path(SCREENSHOTS / f"{name}.png")
        assert self.save_screenshot(str(path)), path

    def complaints(self):
        """What the browser has logged since the last call: blocked content, errors, failed requests."""
        return [entry["message"] for entry in self.get_log("browser")]

    def all_text(self):
        return self.execute_script("return document.body.innerText")
