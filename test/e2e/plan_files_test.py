#!/usr/bin/env python3
"""zc plan --html: the page says what the timeline and the plan say."""
import html.parser
import json
import shutil
import unittest

from plan_test import PlanTest

WIDTH = 1000  # of a drawing


class Page(html.parser.HTMLParser):
    """Rectangles by role and track, and whether what is opened is closed."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.text = [], [], ""
        self.rectangles = {}  # (role, track) -> [(x, width, fill, title)]
        self.role = self.track = self.rectangle = None
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag in ("meta", "path"):
            return
        self.open.append(tag)
        if tag == "rect":
            self.rectangle = dict(attrs)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, tag

    def handle_data(self, data):
        self.text += data
        inner = self.open[-1] if self.open else ""
        if inner == "h3":
            self.role = int(data.split(",")[0].split()[1])
        if inner == "text" and not data.endswith("ms"):
            self.track = data
        if inner == "title" and self.rectangle:
            self.rectangles.setdefault((self.role, self.track), []).append(
                (float(self.rectangle["x"]), float(self.rectangle["width"]),
                 self.rectangle["fill"], data))
            self.rectangle = None


class Pages(PlanTest):

    def page(self, *args):
        target = self.folder / "plan.html"
        self.zc("plan", *args, "--html", target)
        text = target.read_text()
        page = Page(text)
        self.assertEqual(page.open, [])
        # Nothing is fetched, nothing runs.
        for tag, attrs in page.tags:
            self.assertNotIn(tag, ("script", "link", "img", "iframe"))
            self.assertFalse({"src", "href", "onload"} & set(attrs))
        return page, text

    def test_page_is_the_timeline(self):
        """A rectangle for each event, where the timeline has it."""
        model = self.folder / "a<b> & c.onnx"
        shutil.copy(self.gpt.model, model)
        timeline = self.folder / "timeline.json"
        options = [model, *self.gpt.compile_options("adamw"), "--mesh",
                   "pp=2,dp=2", "--accumulate", "2", "--cluster", "h100-dgx"]
        page, text = self.page(*options, "--timeline", timeline)
        self.assertIn("<h1>a&lt;b&gt; &amp; c.onnx on h100-dgx</h1>", text)
        events = json.loads(timeline.read_text())
        tracks = {(each["pid"], each["tid"]): each["args"]["name"]
                  for each in events if each.get("name") == "thread_name"}
        drawn = [each for each in events if each["ph"] == "X"]
        end = max(each["ts"] + each["dur"] for each in drawn)
        expected = {}
        for each in drawn:
            expected.setdefault(
                (each["pid"], tracks[each["pid"], each["tid"]]), []).append(
                    (each["ts"] / end * WIDTH, each["dur"] / end * WIDTH,
                     each["name"]))
        self.assertGreater(len(expected), 6)
        for place, events in expected.items():
            found = sorted(page.rectangles[place])
            self.assertEqual(len(found), len(events), place)
            self.assertEqual(sorted(title.split("\n")[0]
                                    for _, _, _, title in found),
                             sorted(name for _, _, name in events))
            for one, other in zip(found, sorted(events)):
                self.assertAlmostEqual(one[0], other[0], delta=0.02)
                self.assertAlmostEqual(one[1], max(0.05, other[1]), delta=0.02)
        fills = {title.split()[0]: fill for _, _, fill, title in
                 page.rectangles[0, "order"]}
        self.assertEqual(len({fills["forward"], fills["backward"],
                              fills["apply"]}), 3)
        # What the plan says is there, too.
        plan = self.plan(*options)
        self.assertIn(f"{plan['step_s'] * 1e6:.1f} us", page.text)
        self.assertIn("at most", page.text)

    def test_much_is_drawn_in_slices(self):
        """Many micro-batches: the same busy time, in fewer rectangles."""
        # Of one stage, as many as the page has no room for.
        accumulate = 256
        page, text = self.page(
            self.gpt.model, *self.gpt.compile_options("sgd"), "--batch",
            accumulate * 2, "--mesh", "pp=2", "--accumulate", accumulate,
            "--cluster", "h100-dgx")
        rectangles = sum(map(len, page.rectangles.values()))
        self.assertLess(rectangles, 17000)
        self.assertLess(len(text), 4e6)
        sliced = page.rectangles[0, "stream 0"]
        self.assertTrue(any("mostly backward" in title
                            for _, _, _, title in sliced))
        for (x, width, _, _), (after, *_) in zip(sliced, sliced[1:]):
            self.assertLessEqual(x + width, after + 0.02)
        for each in page.rectangles.values():
            for x, width, _, title in each:
                self.assertTrue(-0.01 <= x <= x + width <= WIDTH + 0.1, title)


class Refusals(PlanTest):

    def test_belongs_to_one_layout(self):
        for options in (["--table"], ["--search", "--ranks", "2"]):
            self.fails(2, ["--html", "one layout"], "plan", self.gpt.model,
                       *self.gpt.compile_options("sgd"), *options,
                       "--cluster", "h100-dgx", "--html", "x.html")


if __name__ == "__main__":
    unittest.main()
