#!/usr/bin/env python3
"""zc plan --scale: one model with several sizes of an axis, in one table."""
import json
import unittest

from page_test import Page
from plan_test import PlanTest

CLUSTER = ("--cluster", "h100-dgx")


class Scale(PlanTest):

    def setUp(self):
        super().setUp()
        self.options = [self.gpt.model, *self.gpt.compile_options("adamw"),
                        *CLUSTER]

    def scale(self, *options):
        return json.loads(self.zc("plan", *self.options, *options,
                                  "--json"))["scaling"]

    def check(self, rows, sizes, options_of):
        """Each row is the plan with that size, compared with the first one."""
        self.assertEqual([row["size"] for row in rows], sizes)
        plans = [self.plan(*self.options, *options_of(size)) for size in sizes]
        first = plans[0]
        for row, plan in zip(rows, plans):
            for name in ("step_s", "samples_per_s", "tokens_per_s"):
                self.assertAlmostEqual(row[name] / plan[name], 1, places=9)
            self.assertEqual(row["memory"], plan["memory"]["peak"])
            self.assertEqual(row["ranks"], plan["ranks"])
            faster = plan["samples_per_s"] / first["samples_per_s"]
            self.assertAlmostEqual(row["speed_up"], faster)
            self.assertAlmostEqual(
                row["efficiency"], faster * first["ranks"] / plan["ranks"])

    def test_the_batch_stays(self):
        table = self.scale("--mesh", "tp=2", "--scale", "dp=1,4,2")
        self.assertEqual(table["axis"], "dp")
        self.assertEqual([row["batch"] for row in table["rows"]], [4, 4, 4])
        self.check(table["rows"], [1, 4, 2],
                   lambda size: ("--mesh", f"dp={size},tp=2"))

    def test_the_batch_grows(self):
        """So do time and nodes: 16 ranks are two machines of eight."""
        table = self.scale("--scale", "dp=2,16", "--scale-batch", "--batch",
                           8, "--tokens", 1e6)
        rows = table["rows"]
        self.assertEqual([row["batch"] for row in rows], [8, 64])
        self.assertEqual([row["nodes"] for row in rows], [1, 2])
        self.check(rows, [2, 16],
                   lambda size: ("--mesh", f"dp={size}", "--batch", 4 * size))
        for row in rows:
            self.assertAlmostEqual(row["seconds"] * row["tokens_per_s"], 1e6,
                                   places=3)
            self.assertGreater(row["speed_up"], 0)

    def test_what_is_printed(self):
        options = (*self.options, "--scale", "dp=2,1,3", "--tokens", 1e9)
        page = self.folder / "scale.html"
        lines = self.zc("plan", *options, "--html", page).splitlines()
        self.assertIn("model on h100-dgx, by dp", lines[0])
        head, rows = lines[2].split(), [line.split() for line in lines[3:5]]
        self.assertEqual(head, ["nodes", "ranks", "batch", "step", "samples/s",
                                "time", "speed-up", "efficiency", "memory"])
        self.assertEqual([row[:3] for row in rows],
                         [["1", "2", "4"], ["1", "1", "4"]])
        # Three ranks cannot share four samples: that row says so.
        self.assertEqual(lines[5].split()[:4], ["1", "3", "-", "-"])
        self.assertRegex(lines[6], "4 samples|divi|multiple")
        self.assertIn("speed-up: samples a second beside those of 2 ranks;",
                      "\n".join(lines))
        self.assertIn("its mesh and batch, and --target cuda",
                      "\n".join(lines))
        text = page.read_text()
        drawn = Page(text)
        self.assertEqual((drawn.open, drawn.references), ([], []))
        self.assertEqual(drawn.counts["tr"], 1 + 3 + 1)
        self.assertEqual(drawn.counts["circle"], 2)
        self.assertIn("1.0 x", text)

    def test_the_error_is_told(self):
        """A row that fails says the error, not the warning in front of it."""
        loops = ("--max-trips", 3)  # of which the model has none
        rows = self.scale("--scale", "dp=2,3", *loops)["rows"]
        self.assertNotIn("failure", rows[0])
        self.assertIn("samples", rows[1]["failure"])
        self.assertNotIn("--max-trips", rows[1]["failure"])
        self.fails(1, ["warning: .*--max-trips", "error: .*samples"], "plan",
                   *self.options, *loops, "--mesh", "dp=3")

    def test_refusals(self):
        def refused(patterns, *options, code=2):
            self.fails(code, patterns, "plan", *self.options, *options)

        refused(["dp=1,2,4", "found 'dp=x'"], "--scale", "dp=x")
        refused(["axes pp, dp, ep, sp and tp"], "--scale", "qp=1,2")
        refused(["size of at least 1"], "--scale", "dp=1,,2")
        refused(["size 2 comes twice"], "--scale", "dp=2,4,2")
        refused(["leave it out of --mesh"], "--scale", "dp=1,2", "--mesh",
                "dp=2")
        refused(["fewer than 2147483648|more than", "ranks"], "--scale",
                "dp=1,1048576", "--mesh", "tp=2048")
        refused(["exclude one another"], "--scale", "dp=1,2", "--table")
        refused(["--timeline", "one layout"], "--scale", "dp=1,2",
                "--timeline", "x.json")
        refused(["--scale-batch", "belongs to --scale"], "--scale-batch")
        refused(["give the batch on dp=1 by --batch"], "--scale", "dp=1,2",
                "--scale-batch")
        refused(["no multiple"], "--scale", "dp=3,6", "--scale-batch",
                "--batch", 4)
        # No size can be planned.
        self.fails(1, [], "plan", *self.options, "--scale", "dp=3")
        artifact = self.folder / "a.zca"
        self.zc("compile", self.gpt.model, "-o", artifact,
                *self.gpt.compile_options("sgd"))
        self.fails(2, ["--scale", "compiled already"], "plan", artifact,
                   *CLUSTER, "--scale", "dp=1,2")


if __name__ == "__main__":
    unittest.main()
