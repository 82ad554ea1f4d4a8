#!/usr/bin/env python3
"""tools/bench/gallery.py: the pictures of lectures, made of small models."""
import collections
import os
import pathlib
import re
import sys
import unittest
from xml.etree import ElementTree

import numpy as np

from zctest import BIN, Fixture, ZcTest, read_log

BENCH = pathlib.Path(__file__).resolve().parents[2] / "tools" / "bench"
sys.path.insert(0, str(BENCH))
import gallery  # noqa: E402
import plan_pictures  # noqa: E402


class Gallery(ZcTest):

    def test_lines_of_a_timeline(self):
        self.assertEqual(gallery.works_of("F0.F1.   B0...W0b"),
                         [("F0", 0, 3), ("F1", 3, 3), ("B0", 9, 5),
                          ("W0b", 14, 3)])

    def figures(self, *sections):
        """{title: picture} of a page, which refers to no other file."""
        page = self.folder / "page.html"
        self.command(sys.executable, BENCH / "gallery.py", page, "--zc",
                     BIN / "zc", "--only", *sections, env=dict(os.environ))
        text = page.read_text()
        self.assertNotRegex(text, r'(src|href)=')
        found, self.captions = {}, {}
        for title, picture, caption in re.findall(
                r"<figure><h2>(.*?)</h2>(<svg.*?</svg>)\s*<figcaption>(.*?)<",
                text, re.DOTALL):
            found[title] = ElementTree.fromstring(picture)
            self.captions[title] = caption
        return found

    def boxes(self, picture):
        return [each for each in picture.iter() if each.tag.endswith("rect")]

    def test_schedules(self):
        """Figures 2, 3, 4, 6, 7 and 9: a row a rank, a box for each work."""
        found = self.figures("schedules")
        self.assertEqual(list(found),
                         [title for _, title, *_ in gallery.SCHEDULES])
        for (order, title, micro, more, _) in gallery.SCHEDULES:
            stages = 8 if more else 4
            works = 3 if order.startswith("zero") else 2
            boxes = self.boxes(found[title])
            # Without a flush, several steps are drawn.
            steps = 3 if order in ("2bw", "stash") else 1
            expected = steps * micro * stages * works
            if works == 3:  # the first stage sends no gradient before its others
                expected -= micro
            self.assertEqual(len(boxes), expected, title)
            self.assertEqual(len({each.get("y") for each in boxes}), 4)
        bubbles = {title: int(re.search(r"Bubble: (\d+)%", caption)[1])
                   for title, caption in self.captions.items()}
        one = bubbles["PipeDream-flush, 1F1B"]
        self.assertLess(bubbles["Interleaved 1F1B"], 0.75 * one)
        self.assertLess(bubbles["PipeDream, 1F1B without a flush"], 0.5 * one)
        # Colours of both stages of a rank, half of the boxes each.
        colors = collections.Counter(each.get("fill") for each in self.boxes(
            found["Interleaved 1F1B"]))
        self.assertEqual(colors, {color: 16 for color in (
            gallery.COLORS["F"], gallery.COLORS["B"], gallery.SECOND["F"],
            gallery.SECOND["B"])})

    def test_strategies(self):
        """Figures 1, 8 and 14: what each strategy cuts."""
        found = self.figures("strategies")
        boxes = {title: len(self.boxes(each)) for title, each in found.items()}
        data, zero3, tensor, both, tokens, experts, cut = (
            boxes[title] for title, *_ in gallery.STRATEGIES)
        self.assertEqual(data, 4 + 5)  # samples alone are cut
        self.assertGreater(zero3, data)
        self.assertGreater(tensor, 1 + 5)
        self.assertEqual(both, tensor + 1)  # and the samples
        self.assertEqual(tokens, 2 + 5)  # of each sample a half
        # The samples and two matrices of experts by four; a router, and two more.
        self.assertEqual(experts, 3 * 4 + 3)
        # Samples by two, matrices of experts by both axes, three more along tp.
        self.assertLess(2 + 2 * 4 + 3, cut)

    def test_memory_precision_and_gradients(self):
        """Figures 15, 16 and 17."""
        found = self.figures("memory", "precision", "histogram")
        self.assertEqual(len(found), 3)
        bars = self.boxes(found["Bytes a parameter"])
        widths = [float(each.get("width")) for each in bars]
        self.assertEqual([round(sum(widths[i:i + 3]) / 16) for i in (0, 3, 6)],
                         [16, 16, 12])
        self.check_depth(found["Memory by depth (Chen et al. 2016)"])
        title = "Gradients by magnitude (Micikevicius et al. 2018)"
        self.check_histogram(self.boxes(found[title]))
        self.assertIn("below 2^-24", self.captions[title])

    def check_depth(self, picture):
        """Four curves of two depths, each below the last one; points are as
        high as their numbers say."""
        words = [each.text for each in picture.iter()
                 if each.tag.endswith("text")]
        values = []
        for panel in range(4):
            title, few, _, many, _ = words[5 * panel:5 * panel + 5]
            self.assertIn("kB by layers", title)
            values.append((float(few), float(many)))
        heights = [226 - 46 - 46 - float(each.get("cy"))
                   for each in picture.iter() if each.tag.endswith("circle")]
        self.assertEqual(len(heights), 8)
        for index, (few, many) in enumerate(values):
            self.assertLess(few, many)
            self.assertAlmostEqual(heights[2 * index] / heights[2 * index + 1],
                                   few / many, delta=0.02)
        for higher, lower in zip(values, values[1:]):
            self.assertLess(lower, higher)
            self.assertLess(lower[1], higher[1])

    def check_histogram(self, bars):
        """As high as a step's counts, all but zeros, with the lost ones red."""
        fixture, log = Fixture("gpt"), self.folder / "log.jsonl"
        artifact = self.compile(fixture, "adamw", "--gradient-histogram")
        self.zc("run", artifact, "--data", fixture.data, "--steps", 1, "--log",
                log)
        counts = np.array(read_log(log)[0]["gradient_counts"][1:])
        heights = np.array([float(bar.get("height")) for bar in bars])
        self.assertEqual(len(bars), 13)
        np.testing.assert_allclose(heights, 120 * counts / counts.max(),
                                   atol=0.06)  # one decimal is drawn
        red = [bar.get("fill") == gallery.CUTS[3] for bar in bars]
        self.assertEqual(red, [True] * 5 + [False] * 8)

    def test_plans(self):
        """A pipeline's step over time, and the layouts of a search."""
        zc = gallery.Zc(BIN / "zc", self.folder)
        step, search = plan_pictures.plan(zc, 4, dict(gallery.SIZES, batch=8))
        boxes = self.boxes(ElementTree.fromstring(step.picture))
        fills = [each.get("fill") for each in boxes]
        for color in plan_pictures.CALLS.values():
            self.assertIn(color, fills)
        # 8 micro-batches of 4 roles; the last one has both passes in one.
        for name in ("forward", "backward"):
            self.assertEqual(fills.count(plan_pictures.CALLS[name]), 24, name)
        self.assertEqual(fills.count(plan_pictures.BOTH), 8)
        self.assertRegex(step.caption, r"bubble, [1-9]\d?% of the time")
        points = [each for each in
                  ElementTree.fromstring(search.picture).iter()
                  if each.tag.endswith("circle")]
        tried = int(search.caption.split()[0])
        front = sum(each.get("r") == "4" for each in points)
        self.assertGreater(front, 0)
        # Layouts that zc refuses are tried, too, and are no points.
        self.assertLess(front, len(points))
        self.assertLessEqual(len(points), tried + front)
        picture = ElementTree.fromstring(plan_pictures.stack([step, search]))
        self.assertEqual(len(self.boxes(picture)), 1 + len(boxes))

    def test_the_guide_has_the_picture(self):
        guide = BENCH.parent / "guide"
        self.assertIn("](plan.svg)", (guide / "plan.md").read_text())
        said = "".join(ElementTree.parse(guide / "plan.svg").getroot()
                       .itertext())
        for title in ("A step of a pipeline", "A search", "role 3"):
            self.assertIn(title, said)


if __name__ == "__main__":
    unittest.main()
