# SPDX-License-Identifier: BSD-3-Clause
"""The page of `collctl report` in Chromium: every section without errors, in both themes, wide and narrow; numbers under the
pointer and the keyboard's cursor; hostile names; accessibility by axe-core; size; print."""
import base64
import copy
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import report_data
from cli import Case, collctl, main

sys.path.append("/usr/lib/python3/dist-packages")  # Debian's modules, under another Python
CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
AXE = "4.10.3"
SECTIONS = ("machine", "choice", "job", "timeline", "benchmark")
LIMIT_BYTES = 3 << 20


def missing():
    if CHROMIUM is None or DRIVER is None:
        return "chromium and chromedriver are not installed (apt-get install chromium chromium-driver)"
    try:
        import selenium  # noqa: F401
    except ImportError:
        return "selenium is not installed (apt-get install python3-selenium)"
    probe = collctl("report", "-o", "/dev/null", "--topology", "core:2", "-n", 2)
    return "collctl was built without D3 (apt-get install node-d3)" if "without D3" in probe.stderr else ""


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
    """axe-core: a file that AXE_CORE names, else from the npm registry; None where it is not to be had."""
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
        """What the page says for screen readers after these keys on the element."""
        from selenium.webdriver.common.keys import Keys
        element = self.find(selector)
        self.script("arguments[0].scrollIntoView({block: 'center'}); arguments[0].focus()", element)
        element.send_keys("".join(getattr(Keys, name, name) for name in names))
        return self.text("#live")

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


class Small(Page):
    """Two ranks with recorded data of every kind, and an empty job."""

    @classmethod
    def make_pages(cls):
        two = cls.folder / "two"
        two.mkdir()
        trace = two / "trace.json"
        collctl("simulate", "allreduce", "256K", "-n", 2, "--machine", "epyc-1p", "--algorithm", "fused", "--trace", trace)
        (two / "bench.json").write_text(json.dumps(report_data.benchmark()))
        (two / "tuned").write_text(report_data.learned())
        cls.make("two", "--tuned", two / "tuned", "--topology", "l3:1(size=33554432) core:2", "--stats", *report_data.write_job(two, 2), "--trace", trace,
                 "--bench", two / "bench.json")
        empty = cls.folder / "empty.stats"
        empty.write_text("")
        cls.make("empty", "--topology", "core:2", "--stats", empty)

    def test_every_section_renders(self):
        self.check_sections()

    def test_nothing_is_loaded(self):
        self.check_nothing_is_loaded()

    def test_axe_finds_no_serious_fault(self):
        self.check_axe(("two", 1280, "dark"), ("empty", 390, "light"))

    def test_empty_sections_say_how_to_fill_them(self):
        self.open("empty")
        self.assertIn("no collective call", self.text("#job"))
        self.assertIn("--trace", self.text("#timeline"))
        self.assertIn("--bench", self.text("#benchmark"))

    def test_a_fault_in_one_section_leaves_the_others(self):
        data = copy.deepcopy(self.data["empty"])
        data["job"] = {"ranks": [0], "run_seconds": None, "calls": [], "forwarded": 8}
        self.page_of("faulty", data)
        del self.data["faulty"]
        self.browser.get(f"file://{self.folder}/faulty.html")
        self.assertIn("cannot be drawn", self.text("#job"))
        self.assertEqual(len(self.browser.get_log("browser")), 1)
        self.assertIn("--bench", self.text("#benchmark"))

    def test_timeline_by_keyboard(self):
        self.open("two")
        line = self.data["two"]["timelines"][0]
        row = min(s[0] for s in line["slices"])  # a lane that only posts has no row
        first = min((s for s in line["slices"] if s[0] == row), key=lambda s: s[2])
        said = self.keys("#timeline canvas", "ARROW_LEFT")
        self.assertIn(line["words"][first[4]], said)
        self.keys("#timeline canvas", "ARROW_RIGHT", "ARROW_DOWN", "+", "+", "-", "0")
        self.assertIn("rank", self.text("#live"))
        self.assertEqual(self.browser.get_log("browser"), [])

    def test_functions_and_overlap_of_the_job(self):
        self.open("two")
        text = self.text("#job")
        self.assertRegex(text, r"in flight for 10[5-9](\.\d)? ms per rank")
        self.assertIn("2.7 ms of that were spent in starts, 24.3 ms of that were spent in waits", text)
        self.assertRegex(text, r"7[4-6](\.\d)? ?% overlapped")
        rows = self.script("""return [...document.querySelectorAll('#job table')]
            .find(t => t.caption && t.caption.textContent === 'Time of the job by function')
            .innerText""")
        self.assertLess(rows.index("MPI_Allreduce"), rows.index("MPI_Bcast"))
        self.assertLess(rows.index("MPI_Bcast"), rows.index("MPI_Waitall"))

    def rows_of(self, caption):
        """The texts of a table's cells by its hidden caption; of each row, what is in its columns by their titles."""
        return self.script("""
            const table = [...document.querySelectorAll('table')].find(t => t.caption && t.caption.textContent === arguments[0]);
            const titles = [...table.tHead.rows[0].cells].map(c => c.textContent);
            return [...table.tBodies[0].rows].map(row =>
              Object.fromEntries([...row.cells].map((cell, at) => [titles[at], cell.textContent])));""", caption)

    def test_requests_count_only_what_ranks_spent_on_them(self):
        self.open("two")
        answer = self.text("#job .answer")
        # 363.5 + 105 + 2.7 + 24.3 + 2.7 ms are served, 12 calls of 30 us forwarded; 108 ms in flight do not count.
        self.assertIn("Ranks spend 499 ms each inside calls of collectives, waits for requests included, 20 % of the run", answer)
        rows = self.rows_of("Time of the job by collective and size")
        self.assertNotIn("reduce_scatter", " ".join(row["calls"] for row in rows))
        self.assertEqual([row["calls"] for row in rows[-2:]], ["requests: starts, waits and tests", "forwarded to the MPI library"])
        self.assertEqual(rows[-2]["time per rank"], "27 ms")
        share = lambda row: float(row["share"].split()[0])
        self.assertAlmostEqual(sum(map(share, rows)), 100, delta=1.5)
        functions = self.rows_of("Time of the job by function")
        self.assertAlmostEqual(sum(map(share, functions)), 100, delta=1.5)
        allreduce = sum(share(row) for row in rows if row["calls"].startswith("allreduce"))
        self.assertAlmostEqual(allreduce, share(functions[0]), delta=2)
        self.assertEqual([row["calls"] for row in self.rows_of("Non-blocking calls")], ["reduce_scatter, up to 2 MiB"])

    def test_without_times_of_functions_requests_are_said_apart(self):
        data = copy.deepcopy(self.data["two"])
        del data["job"]["functions"]
        self.page_of("older", data)
        del self.data["older"]
        self.open("older")
        self.assertRegex(self.text("#job .answer"), r"Blocking collectives take 4\d\d ms per rank, 1\d % of the run; requests were in flight for 10\d(\.\d)? ms per rank, which is not counted")

    def test_counts_are_exact(self):
        data = copy.deepcopy(self.data["two"])
        next(row for row in data["job"]["functions"] if row["function"] == "MPI_Bcast")["served"] = [12345, 1234567]
        self.page_of("counts", data)
        del self.data["counts"]
        self.open("counts")
        functions = {row["function"]: row for row in self.rows_of("Time of the job by function")}
        self.assertEqual(functions["MPI_Allreduce"]["served, per rank"], "42,064")
        self.assertEqual(functions["MPI_Allreduce"]["forwarded, per rank"], "12")
        self.assertEqual(functions["MPI_Bcast"]["served, per rank"], "12,345 to 1,234,567")
        self.assertNotIn("of one rank, per rank", functions["MPI_Bcast"])
        calls = [row["calls per rank"] for row in self.rows_of("Time of the job by collective and size")]
        self.assertIn("2,064 × ", " ".join(calls))
        self.assertEqual(self.rows_of("Forwarded calls")[0]["forwarded, all ranks"], "24")

    def test_a_timeline_is_linked_where_collective_and_algorithm_agree(self):
        self.open("two")
        rows = self.rows_of("Time of the job by collective and size")
        linked = {row["calls"]: row["a timeline of this collective and algorithm"] for row in rows}
        self.assertEqual({calls for calls, text in linked.items() if text}, {"allreduce, up to 256 KiB"})
        self.assertEqual(linked["allreduce, up to 256 KiB"], "fused of 256 KiB, simulated")
        self.assertIn(": simulated, 256 KiB among 2 ranks of epyc-1p", self.text("#timeline-0"))
        data = copy.deepcopy(self.data["two"])
        line = data["timelines"][0]
        line["name"] = line["name"].replace("fused", "rg")
        for key in ("origin", "machine", "bytes", "transport"):
            del line[key]
        self.page_of("other", data)
        del self.data["other"]
        self.open("other")
        self.assertEqual(self.script("return document.querySelectorAll('#job a').length"), 0)
        self.assertIn("simulated or recorded (the file does not say), 2 ranks", self.text("#timeline-0"))

    def test_perfetto_gets_the_steps(self):
        self.open("two")
        line = self.data["two"]["timelines"][0]
        link = self.find("#job a[href='#timeline-0']")
        self.assertEqual(link.get_attribute("title"), line["name"])
        self.assertIn("allreduce", self.script("return arguments[0].closest('tr').textContent", link))
        self.assertTrue(self.text("#timeline-0").startswith(line["name"]))
        # A window that answers as Perfetto's does, at the second question.
        self.script("""
            window.sent = [];
            window.open = address => { sent.push(address); return window; };
            window.postMessage = (message, to) => {
              sent.push([message === 'PING' ? message : JSON.parse(new TextDecoder().decode(message.perfetto.buffer)), to]);
              const answer = source => window.dispatchEvent(new MessageEvent('message', {data: 'PONG', origin: source, source: window}));
              if (message === 'PING') answer(sent.length > 2 ? to : 'https://example.org');
            };
            [...document.querySelectorAll('#timeline button')].find(b => /Perfetto/.test(b.textContent)).click();""")
        from selenium.webdriver.support.ui import WebDriverWait
        WebDriverWait(self.browser, 10).until(lambda _: self.script("return sent.length") >= 4)
        sent = self.script("return sent")
        self.assertEqual(sent[0], "https://ui.perfetto.dev")
        self.assertEqual([message for message, _ in sent[1:3]], ["PING", "PING"])
        self.assertEqual({to for _, to in sent[1:]}, {"https://ui.perfetto.dev"})
        events = sent[3][0]["traceEvents"]
        steps = [event for event in events if event["ph"] == "X"]
        self.assertEqual([step["dur"] for step in steps], [s[3] for s in line["slices"]])
        self.assertEqual([event["ph"] for event in events].count("f"), len(line["arrows"]))
        self.script("return new Promise(done => setTimeout(done, 300))")
        self.assertEqual(self.script("return sent.length"), 4)  # it asks no more

    def test_benchmark_by_keyboard(self):
        self.open("two")
        at = self.script("return [...document.querySelectorAll('#benchmark [role=application]')].findIndex(e => /^bcast/.test(e.getAttribute('aria-label')))")
        selector = f"#benchmark .multiples > :nth-child({at + 1}) [role=application]"
        said = self.keys(selector, "ARROW_DOWN", "ARROW_DOWN", *["ARROW_RIGHT"] * 7)
        self.assertIn("libcoll under Open MPI\n64 KiB", said)
        self.assertIn("fastest baseline (MPICH 4.0) takes × 0.75; 7 samples", said)

    def test_what_auto_tuning_has_learned(self):
        self.open("two")
        self.assertIn("Auto-tuning has learned: fused:chunk=16384,copy=staged takes 9.1 µs; without auto-tuning 11 µs", self.text("#choice .detail"))
        self.assertIn("× 1.21", self.text("#choice"))
        self.keys("#choice [role=application]", "ARROW_RIGHT")
        self.assertNotIn("Auto-tuning has learned", self.text("#choice .detail"))

    def test_the_top_has_the_answers(self):
        self.open("two")
        glance = self.text("#glance")
        self.assertIn("allreduce of 64 KiB among 2 ranks is served by", glance)
        self.assertIn("most time went into allreduce, up to 64 B: 24", glance)
        self.assertIn("75 % of that overlapped", glance)
        self.assertRegex(glance, r"allreduce fused \(simulated, .*\) takes [\d.]+ µs; in the mean, a rank waits for")
        self.assertTrue(glance.startswith("A job"), glance)
        self.open("empty")
        self.assertNotIn("A job", self.text("#glance"))

    def test_hostile_names_are_text(self):
        bad = "</script><script>window.hacked = 1</script><img src=x onerror='window.hacked = 2'>\u2028&lt;"

        def spoil(value):
            if isinstance(value, dict):
                return {key: spoil(inner) for key, inner in value.items()}
            if isinstance(value, list):
                return [spoil(inner) for inner in value]
            return bad + value if isinstance(value, str) and not re.match(r"^(libcoll-|curves$|record$|wait$)", value) else value

        data = copy.deepcopy(self.data["two"])
        spoilt = spoil(data)
        spoilt["machine"]["access"] = data["machine"]["access"]
        self.page_of("hostile", spoilt)
        try:
            self.open("hostile")
            self.assertIsNone(self.script("return window.hacked === undefined ? null : window.hacked"))
            self.assertEqual(self.script("return document.querySelectorAll('img').length"), 0)
            self.assertIn(bad, self.text("#title"))
            self.assertIn(bad, self.text("#job"))
        finally:
            del self.data["hostile"]

    def test_prints(self):
        self.open("two", theme="dark")
        pdf = base64.b64decode(self.browser.execute_cdp_cmd("Page.printToPDF", {"printBackground": True})["data"])
        self.assertGreater(len(re.findall(rb"/Type\s*/Page\b", pdf)), 2)


class Large(Page):
    """160 ranks, simulated."""

    @classmethod
    def make_pages(cls):
        many = cls.folder / "many"
        many.mkdir()
        (many / "bench.json").write_text(json.dumps(report_data.benchmark()))
        trace = many / "trace.json"
        collctl("simulate", "allreduce", "64K", "-n", 160, "--machine", "arm-n1", "--algorithm", "hierarchical_by_index",
                "--transport", "shm", "--trace", trace)
        root = pathlib.Path(__file__).resolve().parents[2]
        cls.make("many", "--table", "arm-n1", "--stats", *report_data.write_job(many, 160), "--trace", trace,
                 "--bench", many / "bench.json", root / "docs/measurements/zen5-one-l3.json", root / "docs/measurements/zen4-scale.json",
                 "--compare", root / "lib/model/machines/epyc-2p.json", change=report_data.add_matrix)

    def test_every_section_renders(self):
        self.check_sections()

    def test_nothing_is_loaded(self):
        self.check_nothing_is_loaded()

    def test_axe_finds_no_serious_fault(self):
        self.check_axe(("many", 1280, "light"), ("many", 390, "dark"))

    def test_heat_map_by_keyboard_and_pointer(self):
        from selenium.webdriver.common.action_chains import ActionChains
        self.open("many")
        said = self.keys("#machine canvas", *["ARROW_DOWN"] * 3, *["ARROW_RIGHT"] * 140)
        self.assertIn("core 3 (rank 3) to core 141 (rank 141)", said)
        self.assertIn("912 ns one way, measured; different sockets", said)
        answer = self.text("#machine .beside") + self.text("#machine")
        self.assertIn("Farthest pair: core 3 (rank 3) and core 141 (rank 141): 912 ns", answer)
        self.assertIn("Nearest pair: core 5 (rank 5) and core 6 (rank 6): 33.2 ns", answer)
        canvas = self.find("#machine canvas")
        self.script("arguments[0].blur(); arguments[0].scrollIntoView({block: 'center'})", canvas)
        side = (canvas.size["width"] - 50) / 160
        x, y = 46 + 6.5 * side - canvas.size["width"] / 2, 20 + 5.5 * side - canvas.size["height"] / 2
        ActionChains(self.browser).move_to_element_with_offset(canvas, int(x), int(y)).perform()
        self.assertRegex(self.text("#tip"), r"core [56] .* to core [56] (?s:.*)33.2 ns one way, measured")
        # A pair that was not sampled shows the table's value.
        said = self.keys("#machine canvas", *["ARROW_LEFT"] * 20, *["ARROW_UP"] * 20, *["ARROW_RIGHT"] * 9)
        self.assertIn("100 ns one way, by the table", said)

    def test_the_top_has_the_answers(self):
        self.open("many")
        glance = self.text("#glance")
        self.assertIn("Farthest pair: core 3 (rank 3) and core 141 (rank 141): 912 ns", glance)
        cell = next(c for c in self.data["many"]["choice"]["cells"] if (c["collective"], c["bytes"]) == ("allreduce", 65536))
        self.assertIn(f"allreduce of 64 KiB among 160 ranks is served by {cell['algorithm']}", glance)
        self.assertRegex(glance, r"most time went into allreduce, up to 64 B: 24. ms per rank, 48 % of the time in collectives, 9.6 % of the run")
        self.assertRegex(glance, r"wait for rank 37 in allreduce, up to 256 KiB, about 8\d.* each, 3.4 % of the run")

    def test_topology_by_keyboard(self):
        self.open("many")
        said = self.keys("#machine .topology button", "ARROW_RIGHT")
        self.assertRegex(said, r"From core 1 \(rank 1\): nearest core \d+ .*; farthest core \d+ .* \(measured\)")

    def test_choice_by_keyboard(self):
        self.open("many")
        cells = {(c["collective"], c["bytes"]): c for c in self.data["many"]["choice"]["cells"]}
        cell = cells["allreduce", 131072]
        said = self.keys("#choice [role=application]", "ARROW_RIGHT")
        self.assertIn(f"allreduce of 128 KiB: {cell['algorithm']}", said)
        detail = self.text("#choice .detail")
        self.assertIn(cell["setting"], detail)
        self.assertIn(cell["others"][0]["algorithm"], detail)
        self.assertIn("In the job, size class up to 256 KiB: fused 10,240 calls", detail)
        self.assertRegex(self.text("#choice .answer"), r"Compared with epyc-2p .*: \d+ of 241 choices differ")
        for mode in ("epyc-2p", "Differences", "arm-n1"):
            self.script("[...document.querySelectorAll('#choice .choice button')].find(b => b.textContent === arguments[0]).click()", mode)
            self.assertEqual(self.browser.get_log("browser"), [])

    def test_the_job_names_where_time_went(self):
        self.open("many")
        answer = self.text("#job .answer")
        self.assertIn("Most time went into allreduce, up to 64 B: 24", answer)
        self.assertIn("imbalance is in allreduce, up to 256 KiB: rank 37 spends 37", answer)
        self.assertIn("rabenseifner was measured slower in this job", answer)
        self.script("document.querySelectorAll('#job tbody button')[1].click()")
        said = self.keys("#job [role=application]", *["ARROW_RIGHT"] * 37)
        self.assertRegex(said, r"rank: 37: 37\.\d ms")
        self.assertIn("an operation of the user", self.text("#job"))

    def test_pictures_for_the_documentation(self):
        """With REPORT_PICTURES=docs: what docs/ shows."""
        folder = os.environ.get("REPORT_PICTURES")
        if not folder:
            self.skipTest("REPORT_PICTURES does not name a folder for the pictures")
        self.open("many", width=1100)
        self.script("document.querySelectorAll('#job tbody button')[1].click()")
        for section, height in (("machine", 1500), ("choice", 1000), ("job", 1000), ("timeline", 820)):
            y = self.script("return document.getElementById(arguments[0]).getBoundingClientRect().top + scrollY", section)
            clip = {"x": 0, "y": y, "width": 1100, "height": height, "scale": 1}
            picture = self.browser.execute_cdp_cmd("Page.captureScreenshot", {"captureBeyondViewport": True, "clip": clip})
            (pathlib.Path(folder) / f"report-{section}.png").write_bytes(base64.b64decode(picture["data"]))

    def test_size(self):
        self.assertLess((self.folder / "many.html").stat().st_size, LIMIT_BYTES)


if __name__ == "__main__":
    reason = missing()
    if reason:
        print(f"skipped: {reason}")
        sys.exit(77)
    main()
