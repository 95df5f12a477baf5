# SPDX-License-Identifier: BSD-3-Clause
"""What the page of `collctl report` shows in Chromium: the topology on a phone, the looks of algorithms, the critical path, and
of which machine benchmarks are."""
import copy
import json
import math
import pathlib
import re

import report_data
from cli import collctl
from report_browser import Page, main_with_browser
from report_path_test import WAITS

ROOT = pathlib.Path(__file__).resolve().parents[2]
THEMES = ("light", "dark")


def linear(colour):
    return [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in (int(colour[at:at + 2], 16) / 255 for at in (1, 3, 5))]


def contrast(a, b):
    """Returns the contrast by WCAG 2."""
    dark, light = sorted(sum(f * c for f, c in zip((0.2126, 0.7152, 0.0722), linear(colour))) for colour in (a, b))
    return (light + 0.05) / (dark + 0.05)


def oklab(colour):
    """Converts to Björn Ottosson's OKLab, in which distances match perceived ones."""
    dot = lambda rows, v: [sum(f * x for f, x in zip(row, v)) for row in rows]
    cones = dot(((0.4122214708, 0.5363325363, 0.0514459929), (0.2119034982, 0.6806995451, 0.1073969566), (0.0883024619, 0.2817188376, 0.6299787005)), linear(colour))
    return dot(((0.2104542553, 0.7936177850, -0.0040720468), (1.9779984951, -2.4285922050, 0.4505937099), (0.0259040371, 0.7827717662, -0.8086757660)),
               [c ** (1 / 3) for c in cones])


class Picture(Page):
    @classmethod
    def make_pages(cls):
        trace = cls.folder / "trace.json"
        done = collctl("simulate", "allreduce", "64K", "-n", 160, "--machine", "arm-n1", "--algorithm", "hierarchical_by_index", "--transport", "shm",
                       "--trace", trace)
        assert done.returncode == 0, done.stderr
        waits, bench = cls.folder / "waits.json", cls.folder / "bench.json"
        waits.write_text(json.dumps(WAITS))
        bench.write_text(json.dumps(report_data.benchmark()))
        cls.make("many", "--table", "arm-n1", "--trace", trace, "--compare", ROOT / "lib/model/machines/epyc-2p.json")
        cls.make("bench", "--table", "arm-n1", "--bench", bench, ROOT / "docs/measurements/zen5-one-l3.json")
        cls.make("l3", "--topology", "package:2 numa:2 l3:5(size=33554432) core:8 pu:2", "-n", 160)
        cls.make("full", "--table", "arm-n1", "-n", 1024)
        cls.make("waits", "--topology", "core:2", "--trace", waits)

    # ---- topology ---------------------------------------------------------------------------------------------------

    def test_the_topology_fits_a_phone(self):
        for name, width, high in (("many", 390, 1200), ("l3", 390, 2000), ("full", 390, 2200), ("many", 320, 1700), ("l3", 320, 3000)):
            self.open(name, width)
            cores, beyond, scrolls, height, room = self.script("""
                const host = document.querySelector('.topology'), edge = host.getBoundingClientRect();
                const all = [...host.querySelectorAll('*')];
                return [host.querySelectorAll('.core').length,
                        all.filter(e => e.getBoundingClientRect().right > e.parentElement.getBoundingClientRect().right + 0.5).map(e => e.outerHTML.slice(0, 90)),
                        [host, ...all].filter(e => e.clientWidth > 0 && e.scrollWidth > e.clientWidth + 1).map(e => e.outerHTML.slice(0, 90)),
                        edge.height, document.documentElement.clientWidth - edge.right];""")
            self.assertEqual((cores, beyond, scrolls), (160, [], []), (name, width))
            self.assertGreaterEqual(room, 0, (name, width))
            self.assertLess(height, high, (name, width))  # and needs few screens

    def test_nodes_of_the_topology_are_below_each_other_on_a_phone(self):
        tops = lambda: self.script("return [...document.querySelectorAll('.topology .numa')].map(e => Math.round(e.getBoundingClientRect().top))")
        self.open("many", 390)
        self.assertEqual(len(set(tops())), 8)
        self.open("many", 1400)
        self.assertEqual(len(set(tops())), 4)  # two packages beside each other

    # ---- looks of algorithms ----------------------------------------------------------------------------------------

    def test_colours_of_algorithms_differ_to_the_eye(self):
        for theme in THEMES:
            self.open("many", theme=theme)
            text, *colours = self.script("return ['--on', '--c7', ...d3.range(lookColours).map(n => `--a${n}`)].map(resolved)")
            self.assertEqual(len(colours), 8)
            for at, one in enumerate(colours):
                self.assertGreater(contrast(one, text), 4.5, (theme, one))
                for other in colours[at + 1:]:
                    self.assertGreater(math.dist(oklab(one), oklab(other)), 0.09, (theme, one, other))

    def test_no_two_algorithms_look_alike(self):
        """Tests all algorithms as if they were in one report."""
        self.open("many")
        names = sorted(set(re.findall(r"(?m)^  ([a-z]\w*) ", collctl("list").stdout)) | {"latency"})
        self.assertGreater(len(names), 30)
        for look in ("backgroundOf", "name => fillsOf(name).join()"):
            self.assertEqual(len(set(self.script(f"return arguments[0].map({look})", names))), len(names))

    def legend(self):
        return self.script("return [...document.querySelectorAll('#choice ul.legend[aria-label=\"Algorithms of the map\"] li')].map(li => li.textContent)")

    def test_the_legend_has_the_algorithms_of_the_map_alone(self):
        data, shown = self.data["many"], lambda cell: "latency path" if cell["latency"] else cell["algorithm"]
        mine, theirs = ({(cell["collective"], cell["bytes"]): cell for cell in side["choice"]["cells"]} for side in (data, data["compare"]))
        key = lambda cell: (shown(cell), None if cell["latency"] else (cell["setting"], cell["kernel_copies"]))
        wanted = {"arm-n1": {shown(cell) for cell in mine.values()}, "epyc-2p": {shown(cell) for cell in theirs.values()},
                  "Differences": {shown(cell) for at, cell in mine.items() if key(cell) != key(theirs[at])}}
        self.assertGreater(len(wanted["arm-n1"]), 10)
        self.assertNotEqual(wanted["arm-n1"], wanted["epyc-2p"])
        self.open("many")
        for mode, names in wanted.items():
            self.script("[...document.querySelectorAll('#choice .choice button')].find(b => b.textContent === arguments[0]).click()", mode)
            self.assertEqual(len(self.legend()), len(names), mode)
            self.assertEqual(set(self.legend()), names, mode)
        # If two reports differ in one choice, the picture shows that choice.
        almost = copy.deepcopy(data)
        almost["compare"] = {"machine": almost["machine"], "choice": copy.deepcopy(almost["choice"])}
        cell = next(cell for cell in almost["compare"]["choice"]["cells"] if not cell["latency"])
        cell["algorithm"] = "knomial"
        self.page_of("almost", almost)
        del self.data["almost"]
        self.open("almost")
        self.script("[...document.querySelectorAll('#choice .choice button')].find(b => b.textContent === 'Differences').click()")
        self.assertEqual(self.legend(), [shown(mine[cell["collective"], cell["bytes"]])])
        # Its swatches look as the cells do.
        for theme in THEMES:
            self.open("many", theme=theme)
            seen, fills = self.script("""
                const legend = [...document.querySelectorAll('#choice ul.legend li')];
                const seen = legend.map(li => getComputedStyle(li.firstChild)).map(s => s.backgroundColor + s.backgroundImage);
                const fills = [...document.querySelectorAll('#choice [role=application] rect')].map(r => getComputedStyle(r).fill);
                return [seen, [...new Set(fills)]];""")
            self.assertEqual(len(set(seen)), len(seen))
            for look in seen:
                self.assertIn(re.match(r"rgb\([^)]*\)", look).group(), fills)

    # ---- critical path ----------------------------------------------------------------------------------------------

    def drawn(self, selector="#timeline canvas"):
        """Pixels of the path's colour in the first timeline."""
        return self.script("""
            const canvas = document.querySelector(arguments[0]), wanted = d3.rgb(resolved('--path'));
            const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext('2d', {willReadFrequently: true});
            copy.drawImage(canvas, 0, 0);
            const {data} = copy.getImageData(0, 0, canvas.width, canvas.height);
            let found = 0;
            for (let at = 0; at < data.length; at += 4)
              found += data[at] === wanted.r && data[at + 1] === wanted.g && data[at + 2] === wanted.b;
            return found;""", selector)

    def test_the_critical_path_is_described_drawn_and_switched_off(self):
        from selenium.webdriver.support.ui import WebDriverWait
        self.open("waits")
        self.assertIn("Critical path, 15 µs through 2 ranks: copies 60 %, reductions 27 %, waits 6.7 %, before its first step 6.7 %.", self.text("#timeline"))
        for name, theme, width in (("waits", "light", 1280), ("many", "dark", 390)):
            self.open(name, width, theme)
            button = self.find("#timeline button.path")
            self.assertEqual(button.get_attribute("aria-pressed"), "true")
            self.assertGreater(self.drawn(), 40)
            self.script("arguments[0].click()", button)
            self.assertEqual((button.get_attribute("aria-pressed"), self.drawn()), ("false", 0))
            self.script("arguments[0].click()", button)
            self.assertGreater(self.drawn(), 40)
            self.emulate(width, "light" if theme == "dark" else "dark")  # drawn again in the other theme's colour, soon
            WebDriverWait(self.browser, 20).until(lambda _: self.drawn() > 40)

    def test_the_critical_path_by_keyboard_and_as_a_table(self):
        self.open("waits")
        self.assertNotIn("critical path", self.keys("#timeline canvas", "ARROW_DOWN", "ARROW_LEFT"))  # the first copy of rank 1
        self.assertIn("9 µs from 1 µs, on the critical path", self.keys("#timeline canvas", "ARROW_UP"))
        self.script("[...document.querySelectorAll('#timeline summary')].find(s => /critical path/.test(s.textContent)).click()")
        self.script("return new Promise(done => setTimeout(done, 100))")
        rows = self.rows_of("Critical path")
        self.assertEqual([(row["from"], row["rank"], row["step"], row["time"]) for row in rows],
                         [("0 µs", "rank 0", "between steps", "1 µs"), ("1 µs", "rank 0", "copy of rank 0", "9 µs"),
                          ("10 µs", "rank 1", "wait of rank 1", "1 µs"), ("11 µs", "rank 1", "reduce of rank 1", "4 µs")])

    def test_the_shares_are_those_of_the_data(self):
        self.open("many")
        path = self.data["many"]["timelines"][0]["path"]
        shares = [float(share) for share in re.findall(r"(?:copies|reductions|waits) ([\d.]+) %", self.text("#timeline .answer.path"))]
        for share, kind in zip(shares, ("copy", "reduce", "wait")):
            self.assertAlmostEqual(share, 100 * path["us"][kind] / path["end_us"], delta=0.5)
        self.assertEqual(len(shares), 3)

    def test_a_path_that_the_data_lack_is_not_guessed(self):
        lost = {"begin_us": 11, "lost": "rank 1 lane 0: wait of rank 1", "us": {"copy": 0, "reduce": 4, "wait": 0, "start": 0, "other": 0}, "ranks": 1}
        for change, words, has_button in (
                (None, "No critical path: these data were made without it", False),
                ({**lost, "end_us": 11, "hops": [], "pieces": 0}, "No critical path: the file does not say which post ended the wait ‘rank 1 lane 0: wait of rank 1’", False),
                ({**lost, "hops": [[1, 11, 4, 3]], "pieces": 1}, "reductions 100 %. It is known from 11 µs on: the file does not say which post ended the wait", True)):
            data = copy.deepcopy(self.data["waits"])
            line = data["timelines"][0]
            if change:
                line["path"].update(change)
            else:
                del line["path"]
            self.page_of("lost", data)
            del self.data["lost"]
            self.open("lost")
            self.assertIn(words, self.text("#timeline .answer.path"))
            self.assertEqual(self.script("return document.querySelectorAll('#timeline button.path').length"), int(has_button))
            self.assertEqual(self.drawn() > 0, has_button)

    # ---- of which machine benchmarks are ----------------------------------------------------------------------------

    def test_benchmarks_of_another_machine_are_marked(self):
        self.open("bench")
        notes = self.script("return [...document.querySelectorAll('#benchmark h3')].map(h => [h.nextSibling.className, h.nextSibling.textContent])")
        self.assertEqual(notes, [
            ["", "The file does not say on which machine this was measured; it may be another one than in the section Machine."],
            ["warning", "Measured on another machine than in the section Machine: AMD EPYC, Zen 5, in a virtual machine, not Neoverse-N1; 2 CPUs, not 160."]])
        here = {"name": "", "processor": "Neoverse-N1", "topology": self.data["bench"]["machine"]["summary"], "cpus": 160}
        for change, words in (({}, None), ({"topology": ""}, None), ({"processor": "Neoverse-N2"}, "Machine: Neoverse-N2, not Neoverse-N1."),
                              ({"topology": "1 socket, 160 cores"}, "Machine: 1 socket, 160 cores, not 2 sockets"),
                              ({"topology": "", "cpus": 80}, "Machine: 80 CPUs, not 160."), ({"processor": ""}, "It may be of another machine")):
            data = copy.deepcopy(self.data["bench"])
            data["benchmarks"] = data["benchmarks"][1:]
            data["benchmarks"][0]["machine"] = {**here, **change}
            self.page_of("other", data)
            del self.data["other"]
            self.open("other")
            note = self.script("const at = document.querySelector('#benchmark h3').nextElementSibling; return at.matches('p') ? [at.className, at.textContent] : null")
            if words is None:
                self.assertIsNone(note, change)
            else:
                self.assertIn(words, note[1])
                self.assertEqual(note[0], "warning" if change.get("processor") != "" else "")

    def test_axe_finds_no_serious_fault(self):
        self.check_axe(("waits", 390, "dark"), ("bench", 1280, "light"), ("l3", 390, "light"))


if __name__ == "__main__":
    main_with_browser()
