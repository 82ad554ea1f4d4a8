#!/usr/bin/env python3
"""The pages of zc inspect --html."""
import html.parser
import json
import math
import re
import unittest

from zctest import Fixture, ZcTest


class Page(html.parser.HTMLParser):
    """Counts elements and remembers what they refer to."""

    def __init__(self, text):
        super().__init__()
        self.open, self.counts, self.references = [], {}, []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.counts[tag] = self.counts.get(tag, 0) + 1
        self.references += [value for name, value in attributes
                            if name in ("src", "href")]
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, tag


class Pages(ZcTest):

    def setUp(self):
        super().setUp()
        self.fixture = Fixture("cnn")
        self.artifact = self.compile(self.fixture)

    def test_page(self):
        path = self.folder / "page.html"
        self.zc("inspect", self.artifact, "--html", path)
        page = Page(path.read_text())
        self.assertEqual(page.open, [], "every element is closed")
        self.assertEqual(page.references, [], "it needs no other file")
        drawn = sum(self.instructions(self.artifact, program)
                    for program in ("init", "step", "eval"))
        # How long activations live, in tenths; `init` has none.
        lives = 2
        memory = json.loads(self.zc("inspect", self.artifact, "--memory",
                                    "--json"))["memory"]
        at_peak = [size for size in memory["at_peak"].values() if size]
        self.assertEqual(page.counts["rect"],
                         drawn + 10 * lives + len(at_peak))
        self.assertEqual(page.counts["svg"], 6 + lives + 1)
        # Axes with their units, legends, and what is alive at the peak.
        text = path.read_text()
        self.assertEqual(text.count("How long activations live"), lives)
        self.assertEqual(text.count(">instruction</text>"), 3)
        self.assertEqual(text.count(">share of all costs</text>"), 3)
        self.assertEqual(text.count(">compute</text>"), 3)
        self.assertRegex(text, r'text-anchor="end"[^>]*>[\d.]+ [KM]?i?B</text>')
        # Round numbers, and none of them twice, however few there are.
        for drawing in re.findall("<svg.*?</svg>", text, re.DOTALL):
            marks = re.findall(r">(\d+)</text>", drawing)
            self.assertEqual(len(marks), len(set(marks)), drawing[:2000])
            for size in re.findall(
                    r'text-anchor="end"[^>]*>([\d.]+) [KM]?i?B</text>',
                    drawing):
                self.assertRegex(size.replace(".", ""), r"^0*[1-9]?\d?0*$")
        self.assertEqual(text.count('"></span>convolution'), 3)
        self.assertRegex(text, r"<summary>\d+ tensors alive there</summary>")
        said = self.zc("inspect", self.artifact, "--html", path, "--memory",
                       "--json")
        self.assertEqual(set(json.loads(said)), set(json.loads(
            self.zc("inspect", self.artifact, "--memory", "--json"))))

    def page_of(self, artifact):
        """Its text, and that of each section below a heading of its own."""
        path = self.folder / "page.html"
        self.zc("inspect", artifact, "--html", path)
        text = path.read_text()
        page = Page(text)
        self.assertEqual((page.open, page.references), ([], []))
        return text, dict(re.findall(r"<h2>(.*?)</h2>(.*?)(?=<h2>|</body>)",
                                     text, re.DOTALL))

    def test_page_of_ranks(self):
        """The page shows each rank's part, how many copies there are and what is
        sent; at the peak the classes are all of it."""
        fixture = Fixture("gpt")
        artifact = self.compile(fixture, "adamw", "--mesh", "dp=2,tp=2",
                                "--zero", 1, name="ranks.zca")
        _, sections = self.page_of(artifact)
        found = json.loads(self.zc("inspect", artifact, "--json", "--memory",
                                   "--comm", "--sharding"))
        copies = found["memory"]["copies"]
        self.assertEqual(
            re.findall(r'<td class="n">([\d.]+)</td>', sections["Copies"]),
            [f"{copies[name]:.2f}" for name in
             ("parameters", "gradients", "optimizer")])
        # Four ranks have each of two parts twice, and states once; norms are
        # not divided by tp.
        self.assertLess(abs(copies["optimizer"] - 1), 0.1)
        self.assertGreater(copies["parameters"], 2 - 0.05)
        drawn = sections["How tensors are divided"]
        parts = {}
        for name, part, count in re.findall(
                r"<title>(.*), part (\d+) of (\d+)</title>", drawn):
            parts.setdefault(name, []).append((int(part), int(count)))
        for entry in found["sharding"]:
            if entry["name"] in parts:
                count = 2 ** sum(len(dim) for dim in entry["sharding"][:2])
                self.assertEqual(parts[entry["name"]],
                                 [(part, count) for part in range(count)])
        self.assertIn("input_ids", parts)
        self.assertIn("[4, 32] by dp, -", drawn)
        sent = sections["Communication of a step"]
        for axis in ("dp", "tp"):
            self.assertIn(f"<td>along {axis}</td>", sent)
        peak = found["memory"]["at_peak"]
        bar = sections["Memory"].split("At the peak")[1].split("</svg>")[0]
        self.assertEqual({name for name in re.findall("<title>(.*?),", bar)},
                         {name for name, size in peak.items() if size})
        widths = re.findall(r'<rect [^>]*width="([\d.]+)"', bar)
        self.assertAlmostEqual(sum(map(float, widths)), 1000, delta=0.1)

    def test_page_of_many_parts(self):
        """The largest parameters are drawn, in the model's order, and so many
        parts of a dim as can be seen."""
        fixture = Fixture("gpt")
        artifact = self.compile(fixture, "adamw", "--mesh", "dp=64", "--batch",
                                64, "--verify", "off", name="many.zca")
        _, sections = self.page_of(artifact)
        drawn = sections["How tensors are divided"]
        self.assertIn("by dp (16 of 64 drawn), -", drawn)
        names = list(dict.fromkeys(re.findall(r"<title>(.*), part", drawn)))
        entries = json.loads(self.zc("inspect", artifact, "--json",
                                     "--sharding"))["sharding"]
        sizes = {entry["name"]: math.prod(entry["shape"])
                 for entry in entries if entry["kind"] == "parameter"}
        shown = [name for name in names if name in sizes]
        self.assertEqual(shown, [name for name in sizes if name in shown])
        others = [size for name, size in sizes.items() if name not in shown]
        self.assertTrue(others)
        self.assertGreaterEqual(min(sizes[name] for name in shown),
                                max(others))

    def test_page_of_a_pipeline(self):
        """A box for each forward and backward, in a row a role."""
        artifact = self.compile(Fixture("gpt"), "adamw", "--mesh", "pp=2",
                                "--accumulate", 4, name="pipeline.zca")
        _, sections = self.page_of(artifact)
        order = sections["Order of a step: 1f1b"]
        works = re.findall(r'y="([\d.]+)"[^>]*><title>([FB])(\d)</title>', order)
        self.assertEqual(len(works), 2 * 2 * 4)
        self.assertEqual(len({y for y, *_ in works}), 2)
        self.assertIn("Bubble: ", order)
        for role in (0, 1):
            self.assertIn(f"<h3>Role {role}</h3>",
                          sections["How tensors are divided"])
            self.assertIn("At the peak", sections[f"Memory of role {role}"])

    def test_page_for_a_lecture(self):
        """The guide's artifact: every kind of picture is on its one page."""
        artifact = self.compile(Fixture("gpt"), "adamw", "--mesh",
                                "pp=2,dp=2,tp=2", "--zero", 1, "--accumulate",
                                2, "--verify", "off", name="lecture.zca")
        text, sections = self.page_of(artifact)
        for name in ("Order of a step: 1f1b", "How tensors are divided",
                     "Memory of role 0", "Memory of role 1"):
            self.assertIn("<rect ", sections[name], name)
        for name in ("Copies", "Communication of a step"):
            self.assertTrue(any(name in each for each in sections), name)
        self.assertIn("How long activations live", text)

    def test_page_of_several(self):
        """One model alone has no curve by layers."""
        path = self.folder / "page.html"
        other = self.compile(self.fixture, "sgd", name="<other>.zca")
        self.zc("inspect", self.artifact, other, "--html", path)
        text = path.read_text()
        page = Page(text)
        self.assertEqual(page.open, [], "every element is closed")
        self.assertEqual(page.references, [], "it needs no other file")
        self.assertEqual(page.counts["svg"], 2)
        self.assertIn("<h3>model</h3>", text)
        self.assertIn("<h3>&lt;other&gt;</h3>", text)
        # One scale for both, and what was chosen otherwise.
        sizes = [re.findall(r'text-anchor="end"[^>]*>([^<]+)<', part)
                 for part in text.split("<svg ")[1:]]
        self.assertEqual(sizes[0][:5], sizes[1][:5])
        self.assertIn("<tr><td>optimizer</td><td>adamw</td><td>sgd</td></tr>",
                      text)
        self.assertIn("<tr><td>beta1</td><td>0.9</td><td>-</td></tr>", text)
        self.assertNotIn("<tr><td>loss</td>", text)
        for more in (["--memory"], ["--html", path, "--json"]):
            self.fails(2, ["several", "--html FILE"], "inspect",
                       self.artifact, other, *more)
        self.fails(1, ["missing.zca"], "inspect", self.artifact,
                   self.folder / "missing.zca", "--html", path)

    def test_page_of_several_says_what_they_send(self):
        """A-08, M-07: dp, tp and pp of one model side by side: the bytes that a
        rank sends, by what they are, by collective and by axis."""
        fixture, artifacts, expected = Fixture("gpt"), [], {}
        for axis in ("dp", "tp", "pp"):
            more = ("--accumulate", 2) if axis == "pp" else ()
            artifact = self.folder / f"{axis}.zca"
            self.zc("compile", fixture.model, "-o", artifact, "--loss",
                    "softmax-cross-entropy", "--verify", "off", "--mesh",
                    f"{axis}=2", *more)
            artifacts.append(artifact)
            comm = json.loads(self.zc("inspect", artifact, "--comm",
                                      "--json"))["comm"]
            expected[axis] = {"all": comm["sent_bytes"]} | {
                of + name: each["bytes"] for key, of in (
                    ("by_kind", ""), ("by_operation", "by "),
                    ("by_axis", "along "))
                for name, each in comm[key].items() if each["bytes"]}
        path = self.folder / "page.html"
        self.zc("inspect", *artifacts, "--html", path)
        self.assertEqual(Page(path.read_text()).open, [])
        table = path.read_text().split("Bytes sent in a step")[1].split(
            "</table>")[0]
        head, *rows = [re.findall(r"<t[dh][^>]*>([^<]*)<", line)
                       for line in table.split("<tr>")[1:]]
        self.assertEqual(head[:3], ["artifact", "all", "times the parameters"])
        self.assertEqual(set(head[1:]) - {"times the parameters"},
                         set.union(*map(set, expected.values())))
        self.assertLess({"gradients", "activations", "by all-reduce",
                         "by message", "along dp", "along tp", "along pp"},
                        set(head))
        for row in rows:
            found = {name: self.size_of(text) for name, text in
                     zip(head[1:], row[1:])
                     if text != "-" and name != "times the parameters"}
            self.assertEqual(set(found), set(expected[row[0]]))
            for name, size in found.items():
                self.assertAlmostEqual(size / expected[row[0]][name], 1,
                                       delta=0.01, msg=(row[0], name))
        self.assertEqual(len(rows), 3)
        # Every gradient goes once through a ring of two.
        self.assertEqual(rows[0][2], "1.00")

    @staticmethod
    def size_of(text):
        """Bytes of "1.25 MiB"."""
        number, unit = text.split()
        return float(number) * 1024 ** ["B", "KiB", "MiB"].index(unit)


if __name__ == "__main__":
    unittest.main()
