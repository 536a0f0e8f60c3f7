"""A real Chromium that shows the page of a job. Tests that import this are skipped without Chromium."""

import os
import shutil
from pathlib import Path

import pytest
from jobs import seconds_until

webdriver = pytest.importorskip("selenium.webdriver", reason="no python3-selenium")
from selenium.common.exceptions import StaleElementReferenceException  # noqa: E402
from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402, F401

if not (shutil.which("chromium") and shutil.which("chromedriver")):
    pytest.skip("no chromium with its driver", allow_module_level=True)

LIMIT_S = 20
MOST_CLICKS = 5
SHOTS = os.environ.get("SCREENSHOTS")  # folder for screenshots for the documentation
WIDE, NARROW = (1440, 1000), (390, 1400)


class Page:
    """A browser with the page of a job."""

    def __init__(self, url):
        options = webdriver.ChromeOptions()
        for argument in ("headless=new", "no-sandbox", "disable-dev-shm-usage", "disable-gpu", "hide-scrollbars"):
            options.add_argument("--" + argument)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        self.driver = webdriver.Chrome(options=options)
        self.resize(*WIDE)
        self.driver.get(url)

    def resize(self, width, height, mobile=False):
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                                    {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": mobile})

    def all(self, selector):
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def one(self, selector):
        """The first matching element; waits for one."""
        self.until(f"document.querySelector({selector!r}) !== null")
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def click(self, selector):
        """Clicks the first match; retries if the page replaces it in the meantime."""
        for left in reversed(range(MOST_CLICKS)):
            try:
                return self.one(selector).click()
            except StaleElementReferenceException:
                if left == 0:
                    raise

    def text(self, selector):
        return self.js(f"return document.querySelector({selector!r})?.textContent ?? ''")

    def texts(self, selector):
        return self.js(f"return [...document.querySelectorAll({selector!r})].map(e => e.textContent)")

    def js(self, code):
        return self.driver.execute_script(code)

    def until(self, code, limit=LIMIT_S):
        return seconds_until(lambda: self.js("return " + code), limit)

    def press(self, *keys):
        webdriver.ActionChains(self.driver).send_keys(*keys).perform()

    def shot(self, name):
        if SHOTS:
            self.driver.save_screenshot(str(Path(SHOTS) / name))

    def complaints(self):
        """Messages that the browser logged: errors of the page, and violations of the policy."""
        return [entry["message"] for entry in self.driver.get_log("browser")
                if entry["level"] == "SEVERE" or "Content Security Policy" in entry["message"]]
