# SPDX-License-Identifier: BSD-3-Clause
"""Pages of `collctl report` in Chromium, for report_page_test.py and report_picture_test.py."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from cli import Case, collctl, main

sys.path.append("/usr/lib/python3/dist-packages")  # Debian's modules, under another Python
CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
AXE = "4.10.3"
SECTIONS = ("machine", "choice", "job", "timeline", "benchmark")


def missing():
    if CHROMIUM is None or DRIVER is None:
        return "chromium and chromedriver are not installed (apt-get install chromium chromium-driver)"
    try:
        import selenium  # noqa: F401
    except ImportError:
        return "selenium is not installed (apt-get install python3-selenium)"
    probe = collctl("report", "-o", "/dev/null", "--topology", "core:2", "-n", 2)
    return "collctl was built without D3 (apt-get install node-d3)" if "without D3" in probe.stderr else ""


def main_with_browser():
    """Runs the tests, or prints why they are skipped."""
    reason = missing()
    if reason:
        print(f"skipped: {reason}")
        sys.exit(77)
    main()


def start_browser():
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--window-size=1280,900"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    return webdriver.Chrome(service=Service(DRIVER), options=options)


def axe_source(folder):
    """Returns axe-core: a file that AXE_CORE names, else from the npm registry; None if it is not available."""
    if os.environ.get("AXE_CORE"):
        return pathlib.Path(os.environ["AXE_CORE"]).read_text()
    if shutil.which("npm") is None:
        return None
    try:
        subprocess.run(["npm", "pack", "--silent", f"axe-core@{AXE}"], cwd=folder, check=True, timeout=60, capture_output=True)
        return subprocess.run(["tar", "xzOf", f"axe-core-{AXE}.tgz", "package/axe.min.js"], cwd=folder, check=True,
                              capture_output=True, text=True).stdout
    except (subprocess.SubprocessError, OSError):
        return None


class Page(Case):
    """A browser, and pages by their names."""

    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.temporary.name)
        cls.browser = start_browser()
        cls.data = {}
        cls.make_pages()

    @classmethod
    def tearDownClass(cls):
        cls.browser.quit()
        cls.temporary.cleanup()

    @classmethod
    def make(cls, name, *arguments, change=None):
        done = collctl("report", "--json", *arguments)
        assert done.returncode == 0, done.stderr
        data = json.loads(done.stdout)
        if change:
            change(data)
        cls.page_of(name, data)

    @classmethod
    def page_of(cls, name, data):
        cls.data[name] = data
        source = cls.folder / f"{name}.json"
        source.write_text(json.dumps(data))
        done = collctl("report", "--from", source, "-o", cls.folder / f"{name}.html")
        assert done.returncode == 0, done.stderr

    def emulate(self, width, theme):
        run = self.browser.execute_cdp_cmd
        run("Emulation.setDeviceMetricsOverride", {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False})
        run("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": theme}]})

    def open(self, name, width=1280, theme="light"):
        self.emulate(width, theme)
        self.browser.get(f"file://{self.folder}/{name}.html")
        self.assertEqual([entry["message"] for entry in self.browser.get_log("browser")], [])

    def script(self, text, *arguments):
        return self.browser.execute_script(text, *arguments)

    def find(self, selector):
        return self.browser.find_element("css selector", selector)

    def text(self, selector):
        return self.script("return document.querySelector(arguments[0]).textContent", selector)

    def keys(self, selector, *names):
        """Returns the text of the page for screen readers after these keys on the element."""
        from selenium.webdriver.common.keys import Keys
        element = self.find(selector)
        self.script("arguments[0].scrollIntoView({block: 'center'}); arguments[0].focus()", element)
        element.send_keys("".join(getattr(Keys, name, name) for name in names))
        return self.text("#live")

    def rows_of(self, caption):
        """Returns the rows of the table with this hidden caption, each as {column title: text}."""
        return self.script("""
            const table = [...document.querySelectorAll('table')].find(t => t.caption && t.caption.textContent === arguments[0]);
            const titles = [...table.tHead.rows[0].cells].map(c => c.textContent);
            return [...table.tBodies[0].rows].map(row =>
              Object.fromEntries([...row.cells].map((cell, at) => [titles[at], cell.textContent])));""", caption)

    def check_sections(self):
        for name in self.data:
            for width, theme in ((1280, "light"), (390, "dark")):
                self.open(name, width, theme)
                self.assertEqual(self.script("return [...document.querySelectorAll('main > section')].map(s => s.id)"), list(SECTIONS))
                for section in SECTIONS:
                    text = self.text(f"#{section}")
                    self.assertGreater(len(text), 60, section)
                    self.assertNotRegex(text, r"\bNaN\b|undefined|\[object|Infinity", (name, section))
                wide, room = self.script("return [document.documentElement.scrollWidth, innerWidth]")
                self.assertLessEqual(wide, room, f"{name} at {width}: the page scrolls sideways")
                self.emulate(width, "light" if theme == "dark" else "dark")  # drawn again
                self.assertEqual(self.browser.get_log("browser"), [])

    def check_nothing_is_loaded(self):
        for name in self.data:
            self.open(name)
            self.assertEqual(self.script("return performance.getEntriesByType('resource').map(e => e.name).filter(n => !n.startsWith('data:'))"), [])

    def check_axe(self, *views):
        source = axe_source(self.folder)
        if source is None:
            self.skipTest("axe-core is not to be had: set AXE_CORE to its axe.min.js, or let npm reach its registry")
        for name, width, theme in views:
            self.open(name, width, theme)
            self.browser.set_script_timeout(120)
            self.script(source)
            found = self.browser.execute_async_script("axe.run(document, {resultTypes: ['violations']}).then(r => arguments[0](r.violations), e => arguments[0]([{impact: 'critical', id: String(e), nodes: []}]))")
            serious = [(rule["id"], [node["html"][:160] for node in rule["nodes"][:3]]) for rule in found if rule["impact"] in ("serious", "critical")]
            self.assertEqual(serious, [], (name, width, theme))
