# SPDX-License-Identifier: BSD-3-Clause
"""The page of `collctl report` in Chromium: every section without errors, in both themes, wide and narrow; numbers under the
pointer and the keyboard's cursor; hostile names; accessibility by axe-core; size; print."""
import base64
import copy
import json
import os
import pathlib
import re

import report_data
from cli import collctl
from report_browser import Page, main_with_browser

LIMIT_BYTES = 3 << 20


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

    def test_empty_sections_name_the_option_that_fills_them(self):
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

    def test_without_times_of_functions_requests_are_listed_separately(self):
        data = copy.deepcopy(self.data["two"])
        del data["job"]["functions"]
        self.page_of("older", data)
        del self.data["older"]
        self.open("older")
        self.assertRegex(self.text("#job .answer"), r"Blocking collectives take 4\d\d ms per rank, 1\d % of the run; requests were in flight for 10\d(\.\d)? ms per rank, which is not counted")

    def test_savings_are_those_of_the_model(self):
        data = copy.deepcopy(self.data["two"])
        row = next(row for row in data["job"]["calls"] if row["collective"] == "bcast")  # 500 calls of about 210 us
        gain = {"mean_bytes": 131072, "used_us": 250, "best": "knomial", "best_us": 150, "transport": "shm"}
        saved = lambda: next(each for each in self.rows_of("Time of the job by collective and size") if each["calls"].startswith("bcast"))["saved, by the model"]

        def show(**change):
            row["prediction"] = {**gain, **change}
            self.page_of("gains", data)
            del self.data["gains"]
            self.open("gains")

        show()
        self.assertIn("By the model, knomial instead of hierarchical in bcast, up to 256 KiB saves 50 ms per rank: "
                      "500 calls × (250 µs − 150 µs) for 128 KiB", self.text("#job .answer"))
        self.assertEqual(saved(), "50 ms per rank with knomial")
        show(used_us=90, best_us=60)  # more than twice as fast as measured
        self.assertRegex(saved(), r"no recommendation: a call of hierarchical took 2\d\d µs, the model says 90 µs")
        self.assertNotIn("By the model", self.text("#job .answer"))
        other = copy.deepcopy(row)
        other.update(algorithm="knomial", seconds=[1.2 * seconds for seconds in row["seconds"]])
        data["job"]["calls"].append(other)
        show()
        self.assertRegex(saved(), r"no recommendation: knomial was measured slower in this job, 2\d\d µs a call against 2\d\d µs of hierarchical")

    def test_jobs_of_requests_or_forwarded_calls_alone(self):
        for name in ("requests", "forwarded", "timeless"):
            data = copy.deepcopy(self.data["two"])
            job = data["job"]
            job["calls"] = [row for row in job["calls"] if name == "timeless" or (name == "requests" and row["algorithm"].endswith("(request)"))]
            job["functions"] = [{**row, "served_seconds": [0, 0]} for row in job["functions"]] if name == "forwarded" else []
            for row in job["calls"] if name == "timeless" else []:
                row["seconds"] = [0.1, 0.1] if row["algorithm"].endswith("(request)") else [0, 0]
            self.page_of(name, data)
            del self.data[name]
            self.open(name)
            text = self.text("#job")
            self.assertNotRegex(text, r"\bNaN\b|undefined|Infinity|cannot be drawn", name)
            self.assertIn("Ranks spend 360 µs each" if name == "forwarded" else "Blocking collectives take 0 µs per rank", text)
            self.assertEqual("requests were in flight" in text, name != "forwarded")

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
        linked = {row["calls"]: row["timeline"] for row in rows}
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
        # A window that replies like Perfetto's, to the second message.
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

    def test_files_of_auto_tuning(self):
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
        self.assertIn("slowest pair: core 3 (rank 3) and core 141 (rank 141): 912 ns", glance)
        cell = next(c for c in self.data["many"]["choice"]["cells"] if (c["collective"], c["bytes"]) == ("allreduce", 65536))
        self.assertIn(f"allreduce of 64 KiB among 160 ranks is served by {cell['algorithm']}", glance)
        self.assertRegex(glance, r"most time went into allreduce, up to 64 B: 24. ms per rank, 48 % of the time in collectives, 9.6 % of the run")
        self.assertRegex(glance, r"wait for rank 37 in allreduce, up to 256 KiB, about 8\d.* each, 3.4 % of the run")

    def test_a_slow_pair_is_named_with_what_is_typical(self):
        self.open("many")
        glance = self.text("#glance")
        self.assertRegex(glance, r"slowest pair: core 3 .*: 912 ns, different sockets \(typical between sockets 6[12]\d ns\)")
        self.assertRegex(glance, r"Nearest pair: core 5 .*: 33.2 ns, .*\(typical between cores of one NUMA node (8[5-9]|9\d)(\.\d)? ns\)")

    def test_estimates_and_measured_flags_that_contradict_them(self):
        """Measured: about 90, 260 and 620 ns; the table: 100, 110 and 400."""
        self.open("many")
        estimates = self.facts("#machine")["Estimates in it"]
        for note in self.data["many"]["machine"]["notes"]:
            self.assertEqual("estimate" in note["text"], note["text"].split(": ", 1)[-1] in estimates, note)
        warnings = self.script("return [...document.querySelectorAll('#machine .warning')].map(p => p.textContent)")
        table = self.data["many"]["machine"]["flag_ns"]
        self.assertEqual(len(warnings), sum(max(ns / table[at], table[at] / ns) > 1.5 for at, ns in (("numa", 90), ("socket", 260), ("node", 620))))
        self.assertTrue(any(f"but {table['socket']:g} ns in the table" in text for text in warnings), warnings)

    def test_narrow_screens_note_hidden_content(self):
        self.open("many", width=390)
        self.assertEqual(self.script("return document.querySelector('.scroll.map').scrollLeft"), 0)
        self.assertTrue(self.script("return document.querySelector('#choice .hint').offsetHeight > 0"))
        moved, hint, shadow = self.script("""
            const host = document.querySelector('#job .scroll'), first = host.querySelector('tbody th');
            const before = first.getBoundingClientRect().left;
            host.scrollLeft = 200;
            return [first.getBoundingClientRect().left - before, getComputedStyle(host, '::before').content,
                    getComputedStyle(host).boxShadow];""")
        self.assertEqual(moved, 0)
        self.assertIn("Scroll sideways", hint)
        self.assertNotEqual(shadow, "none")
        # Nowhere where all fits.
        for width in (1280, 1100, 1000, 900):
            self.open("many", width=width)
            for wide, more in self.script("""return [...document.querySelectorAll('.scroll')].filter(host => host.clientWidth > 0)
                .map(host => [host.classList.contains('wide'), host.scrollWidth > host.clientWidth + 1])"""):
                self.assertEqual(wide, more, width)

    def test_paper_has_room_for_everything(self):
        self.open("many")
        self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print", "features": []})
        self.script("drawFor(true)")
        try:
            beyond = self.script("""
                const edge = document.body.getBoundingClientRect().right + 1;
                return [...document.querySelectorAll('table, canvas, svg, p, .facts, button')]
                  .filter(e => e.offsetParent !== null || e.getClientRects().length > 0)
                  .filter(e => e.getBoundingClientRect().right > edge).map(e => e.outerHTML.slice(0, 120));""")
            self.assertEqual(beyond, [])
            self.assertEqual(self.script("return [...document.querySelectorAll('details')].filter(d => !d.open && d.getClientRects().length > 0).length"), 0)
        finally:
            self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": []})

    def test_the_wait_of_the_legend_is_as_pale_as_the_chart(self):
        for theme in ("light", "dark"):
            self.open("many", theme=theme)
            opacity = self.script("""return [...document.querySelectorAll('#timeline .key')].find(k => k.textContent === 'wait')
                .querySelector('.swatch').style.opacity""")
            self.assertEqual(opacity, "0.25")  # rows of 160 ranks are low

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
        self.assertRegex(detail, r"In the job, size class up to 256 KiB: fused 10,240 calls, 64 KiB in the mean, 5\d(\.\d)? µs each")
        self.keys("#choice [role=application]", *["ARROW_DOWN"] * 5, *["ARROW_RIGHT"] * 4)
        self.assertRegex(self.text("#choice .detail"), r"size class up to 2 MiB: ring 19,200 requests, 1 MiB in the mean, 90\d µs in flight each")

    def show_choices(self, mode):
        self.script("[...document.querySelectorAll('#choice .choice button')].find(b => b.textContent === arguments[0]).click()", mode)
        self.assertEqual(self.browser.get_log("browser"), [])

    def facts(self, selector):
        return self.script("""return Object.fromEntries([...document.querySelectorAll(arguments[0] + ' .facts dt')]
            .map(dt => [dt.textContent, dt.nextSibling.textContent]))""", selector)

    def test_choices_of_two_machines(self):
        self.open("many")
        data = self.data["many"]
        key = lambda cell: (cell["collective"], cell["bytes"])
        served = lambda cell: "latency" if cell["latency"] else cell["algorithm"]
        mine, theirs = ({key(cell): cell for cell in side["choice"]["cells"]} for side in (data, data["compare"]))
        algorithms = sum(served(mine[at]) != served(theirs[at]) for at in mine)
        same = sum(served(mine[at]) == served(theirs[at]) and (mine[at]["latency"] or all(
            mine[at][field] == theirs[at][field] for field in ("setting", "kernel_copies"))) for at in mine)
        answer = self.text("#choice .answer")
        self.assertIn(f"Of 241 choices, {algorithms} are of another algorithm on epyc-2p, {241 - algorithms - same} of the same one with other "
                      f"parameters or copies; {same} are the same.", answer)
        self.assertIn("epyc-2p has fewer cores than ranks", answer)
        self.assertNotIn("arm-n1 has fewer cores", answer)
        at = "allreduce", 65536
        for mode, first, second, ranks in (("arm-n1", mine, theirs, data), ("epyc-2p", theirs, mine, data["compare"])):
            self.show_choices(mode)
            detail = self.facts("#choice .detail")
            self.assertIn(first[at]["setting"], detail[f"Selected on {mode}"])
            self.assertIn(second[at]["setting"], detail["Selected on epyc-2p" if mode == "arm-n1" else "Selected on arm-n1"])
            above = self.facts("#choice > div:not(.detail)")
            self.assertEqual(above["Machine"], mode)
            self.assertIn(ranks["choice"]["situation"]["hierarchy"], above["Ranks"])
            self.assertIn(ranks["choice"]["situation"]["transport"], above["Copies"])
            self.assertEqual("In the job" in self.text("#choice .detail"), mode == "arm-n1")
        self.show_choices("Differences")
        change = f"{mine[at]['setting']} → {theirs[at]['setting']}"
        self.assertEqual(self.facts("#choice .detail")["Difference"], change)
        self.assertIn("grey: the same choice", self.text("#choice"))
        self.assertIn("rabenseifner → fused", self.text("#choice [role=application]"))
        self.script("[...document.querySelectorAll('#choice summary')].find(s => /All choices/.test(s.textContent)).click()")
        self.script("return new Promise(done => setTimeout(done, 100))")
        rows = self.rows_of("All choices")
        self.assertEqual(next(row for row in rows if row["call"] == "allreduce of 64 KiB")["arm-n1 → epyc-2p"], change)
        self.assertEqual(sum(row["arm-n1 → epyc-2p"] == "same" for row in rows), same)

    def test_cheaper_alternatives_have_a_reason(self):
        self.open("many")
        self.show_choices("epyc-2p")
        cell = next(cell for cell in self.data["many"]["compare"]["choice"]["cells"] if (cell["collective"], cell["bytes"]) == ("allreduce", 65536))
        self.assertIn("built-in rule", cell["decided_by"])
        rows = self.rows_of("Predicted times, allreduce of 64 KiB")
        for row, other in zip(rows[1:], cell["others"]):
            self.assertEqual(row["cheaper, but not selected"], other.get("why_not", ""))
            self.assertEqual(bool(row["cheaper, but not selected"]), other["us"] < cell["price"]["us"])
        self.assertIn("a built-in rule decides", rows[1]["cheaper, but not selected"])

    def test_dots_are_explained(self):
        data = copy.deepcopy(self.data["many"])
        for cell in data["choice"]["cells"]:
            cell["tuning"] = None
        self.page_of("untuned", data)
        del self.data["untuned"]
        self.open("untuned")
        self.assertNotIn("dot: auto-tuning", self.text("#choice"))
        self.show_choices("epyc-2p")
        self.assertIn("dot: auto-tuning", self.text("#choice"))

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
        for section, height in (("machine", 1500), ("choice", 1240), ("job", 1000), ("timeline", 1010)):
            y = self.script("return document.getElementById(arguments[0]).getBoundingClientRect().top + scrollY", section)
            clip = {"x": 0, "y": y, "width": 1100, "height": height, "scale": 1}
            picture = self.browser.execute_cdp_cmd("Page.captureScreenshot", {"captureBeyondViewport": True, "clip": clip})
            (pathlib.Path(folder) / f"report-{section}.png").write_bytes(base64.b64decode(picture["data"]))

    def test_size(self):
        self.assertLess((self.folder / "many.html").stat().st_size, LIMIT_BYTES)


if __name__ == "__main__":
    main_with_browser()
