#!/usr/bin/env python3
"""zc plan --search, --table, --max-model, --collectives: plans of many layouts,
and what goes by formula."""
import json
import random
import unittest

from plan_test import LOSS, PlanTest
from zctest import BIN, Fixture, ZcTest, run

import search_all  # of tools/bench, as plan_test has put into the path

CLUSTER = {
    "name": "small", "device": {
        "name": "d", "memory_bytes": 2e6, "memory_bytes_per_s": 2e10,
        "flops_per_s": {"f32": 1e11}, "call_s": 2e-5, "launch_s": 2e-6},
    "levels": [
        {"name": "node", "size": 4, "bytes_per_s": 5e9, "latency_s": 5e-6},
        {"name": "net", "size": 8, "bytes_per_s": 1e9, "latency_s": 2e-5}]}


class Search(PlanTest):

    def setUp(self):
        super().setUp()
        self.cluster = self.folder / "small.json"
        self.cluster.write_text(json.dumps(CLUSTER))
        self.model = [self.gpt.model, *self.gpt.compile_options("adamw"),
                      "--cluster", self.cluster]

    def search(self, *options):
        # A busy machine must not end it before all are tried.
        limit = () if "--time-limit" in options else ("--time-limit", 1000)
        return json.loads(self.zc("plan", *self.model, "--search", "--json",
                                  *limit, *options))["search"]

    def test_finds_what_trying_all_finds(self):
        """Each layout's figures are those of its own plan."""
        found = self.search("--ranks", "8")
        self.assertTrue(found["complete"])
        self.assertEqual(found["exact"], found["composed"])
        steps = {each["options"]: each["step_s"] for each in found["layouts"]
                 if each.get("fits")}
        winner = found["winner"]
        self.assertEqual(winner["step_s"], min(steps.values()))
        for options in [winner["options"], *list(steps)[::20]]:
            alone = self.plan(*self.model, *options.split())
            self.assertEqual(alone["step_s"], steps[options], options)
        self.assertEqual(found["pareto"][0], winner)
        for a, b in zip(found["pareto"], found["pareto"][1:]):
            self.assertLess(a["step_s"], b["step_s"])
            self.assertGreater(a["memory"], b["memory"])
        self.assertIn("the second is", found["reason"])

    def test_what_all_layouts_have(self):
        """Layouts that are listed apart from the search: a part of them here, all
        of them by tools/bench/search_all.py."""
        listed = list(search_all.layouts(8, 4))
        found = self.search("--ranks", "8")
        # The search has none that is not among them.
        keys = {search_all.key(options) for options in listed}
        for each in found["layouts"]:
            self.assertIn(search_all.key(each["options"].split()), keys)
        planner = search_all.Planner(BIN / "zc", *self.model)
        best, count = planner.best(random.Random(1).sample(listed, 150))
        self.assertGreater(count, 20)
        self.assertLess(found["winner"]["step_s"], search_all.NEAR * best[0],
                        best[1])

    def test_what_is_given_stays(self):
        found = self.search("--mesh", "pp=2,dp=2", "--zero", "1",
                            "--schedule", "1f1b")
        self.assertGreater(found["composed"], 1)
        for each in found["layouts"]:
            self.assertEqual((each["mesh"], each["zero"], each["schedule"]),
                             ("pp=2,dp=2", 1, "1f1b"))

    def test_little_time(self):
        """The likeliest are tried in any case, and are as good as estimates:
        here the best is among them."""
        found = self.search("--ranks", "8", "--time-limit", "0")
        self.assertFalse(found["complete"])
        self.assertGreaterEqual(found["exact"], 8)
        everything = self.search("--ranks", "8")
        self.assertLess(found["winner"]["step_s"],
                        search_all.NEAR * everything["winner"]["step_s"])

    def test_nothing_fits(self):
        tiny = dict(CLUSTER, device=dict(CLUSTER["device"], memory_bytes=1e5))
        self.cluster.write_text(json.dumps(tiny))
        code, out, _ = run("plan", *self.model, "--search", "--ranks", "2")
        self.assertEqual(code, 1)
        self.assertRegex(out, r"none of \d+ layouts fits: the least that a "
                              "device needs is .*, and it has 97.7 KiB")
        self.assertRegex(out, r"largest part of the memory is .* in \d+ of those")
        self.assertRegex(out, "what would help:\n(  .*\n)*  memory: .*: ")

    def test_offloading_is_weighed(self):
        """K-04: where memory is short, layouts that offload compete by their
        time; where it is not, none is tried."""
        def search(memory):
            own = dict(CLUSTER, host={"bytes_per_s": 1e9},
                       device=dict(CLUSTER["device"], memory_bytes=memory))
            self.cluster.write_text(json.dumps(own))
            return self.search("--mesh", "dp=2", "--recompute", "none")
        room = search(1e9)
        self.assertEqual({each["offload"] for each in room["layouts"]},
                         {"none"})
        self.assertEqual(room["offloading"], "")
        least = min(each["memory"] for each in room["layouts"])
        tight = search(room["winner"]["memory"] * 1.01)
        self.assertEqual(tight["winner"]["offload"], "none")
        self.assertRegex(tight["offloading"],
                         "^the best that offloads .*--offload optimizer.* is .*"
                         "slower: .* copies to and from the second memory")
        tighter = search(least * 1.01)
        self.assertEqual(tighter["winner"]["offload"], "optimizer")
        self.assertRegex(tighter["offloading"],
                         "^the best that offloads nothing .* is .* slower")
        short = search(least * 0.97)
        self.assertEqual(short["winner"]["offload"], "optimizer")
        self.assertIn("--offload optimizer", short["winner"]["options"])
        self.assertRegex(short["offloading"],
                         r"^of \d+ layouts that were tried and offload "
                         "nothing, none fits$")
        # Nothing is said of what was not tried.
        given = self.search("--mesh", "dp=2", "--recompute", "none",
                            "--offload", "optimizer")
        self.assertEqual(given["offloading"], "")

    def test_refusals(self):
        self.fails(2, ["--ranks", "room for 8"], "plan", *self.model,
                   "--search", "--ranks", "9")
        self.fails(2, ["--ranks: say how many of the 1073741824 ranks"],
                   "plan", *self.model[:-1], "usual-cpu", "--search")
        self.fails(2, ["--time-limit", "belongs to --search"], "plan",
                   *self.model, "--time-limit", "3")
        self.fails(1, ["no such file|cannot read|not found|cannot open"],
                   "plan", self.folder / "none.onnx", *LOSS, "--cluster",
                   self.cluster, "--search")


class Formulas(ZcTest):
    """Figures that papers print, without a model."""

    def json(self, *args):
        return json.loads(self.zc("plan", *args, "--json"))

    def test_states_by_stage(self):
        """7.5 B parameters on 64 ranks (Rajbhandari et al. 2020, figure 1),
        and 2.0 B on 8."""
        for parameters, ranks, expected in (
                (7.5e9, 64, (120e9, 31.40625e9, 16.640625e9, 1.875e9)),
                (2.0e9, 8, (32e9, 11e9, 7.5e9, 4e9))):
            rows = self.json("--table", "--parameters", parameters, "--ranks",
                             ranks, "--cluster", "h100-dgx")["table"]
            self.assertEqual([row["zero"] for row in rows], [0, 1, 2, 3])
            for row, bytes_ in zip(rows, expected):
                self.assertAlmostEqual(row["state_bytes"] / bytes_, 1)

    def test_largest_model(self):
        found = self.json("--max-model", "--cluster", "h100-dgx", "--ranks",
                          "64", "--parameters", "175e9")["max_model"]
        self.assertEqual([round(row["parameters"] / 1e9, 2)
                          for row in found["rows"]], [5.0, 19.1, 36.06, 320])
        self.assertEqual([row["ranks_needed"] for row in found["rows"]],
                         [0, 0, 0, 35])

    def test_collectives(self):
        found = self.json("--collectives", "--cluster", "h100-dgx")
        found = found["collectives"]
        growth = {each["algorithm"]: each for each in found["growth"]}
        # Totals of all rounds: the sequential one has N of N bytes each.
        for name, rounds, peak, total in (
                ("parameter server", 0, 1, 1), ("sequential", 1, 1, 2),
                ("ring", 1, 0, 1), ("parallel", 0, 1, 2)):
            for key, expected in (("rounds", rounds),
                                  ("peak_node_bytes", peak),
                                  ("total_bytes", total)):
                self.assertEqual(round(growth[name][key]), expected,
                                 (name, key))
        # log N rounds, in each of which all N send what they have.
        for n in (2, 4, 8, 16, 32, 64):
            row, = (row for row in found["rows"] if row["ranks"] == n and
                    row["algorithm"] == "recursive doubling")
            self.assertEqual(row["peak_node_bytes"],
                             row["rounds"] * row["bytes"])
            self.assertEqual(row["total_bytes"],
                             n * row["rounds"] * row["bytes"])
        rows = {(row["algorithm"], row["ranks"]): row
                for row in found["rows"]}
        for n in (2, 4, 8, 16, 32, 64):
            ring = rows["ring", n]
            self.assertEqual(ring["rounds"], 2 * (n - 1))
            self.assertAlmostEqual(
                ring["peak_node_bytes"] / (2 * (n - 1) / n * ring["bytes"]), 1,
                places=5)
            self.assertEqual(rows["recursive doubling", n]["rounds"],
                             n.bit_length() - 1)
        self.assertTrue(all(
            any(each["ranks"] == n for each in found["crossovers"])
            for n in (8, 16, 32, 64)))

    def test_ideal_time(self):
        """Ten GPU-days on 1024 GPUs take 14.06 minutes; GPT-3's 3.1 million
        GPU-hours, 353.9 years on one (slides of the reference course)."""
        found = self.json("--device-hours", "240", "--ranks",
                          "1024")["ideal"]
        self.assertEqual(round(found["seconds"] / 60, 2), 14.06)
        self.assertIn("14.06 minutes", self.zc(
            "plan", "--device-hours", "240", "--ranks", "1024"))
        found = self.json("--device-hours", "3.1e6")["ideal"]
        self.assertEqual(round(found["years"], 1), 353.9)
        self.assertIn("353.88 years", self.zc("plan", "--device-hours",
                                              "3.1e6"))
        self.fails(2, ["--device-hours"], "plan", "--device-hours", "3",
                   "--cluster", "ideal")
        self.fails(2, ["--device-hours"], "plan", "--device-hours", "0")

    def flat(self, latency, rate, ways):
        """64 ranks on one level."""
        path = self.folder / "flat.json"
        path.write_text(json.dumps({
            "name": "flat", "device": CLUSTER["device"],
            "collectives": {"algorithms": ways}, "levels": [
                {"name": "wire", "size": 64, "bytes_per_s": rate,
                 "latency_s": latency}]}))
        return self.json("--collectives", "--cluster", path)["collectives"]

    def test_crossovers(self):
        """Sizes at which the quickest changes, by the closed forms: parallel
        takes a + (N-1) n/b, doubling log N (a + n/b), Rabenseifner 2 log N a +
        2 (N-1)/N n/b, from which on no other is quicker."""
        latency, rate = 1e-5, 1e9
        found = self.flat(latency, rate, ["ring"])
        for ranks in (4, 8, 16, 32, 64):
            log, unit = ranks.bit_length() - 1, latency * rate
            expected = [
                (unit * (log - 1) / (ranks - 1 - log), "parallel",
                 "recursive doubling"),
                (unit * log / (log - 2 * (ranks - 1) / ranks),
                 "recursive doubling", "Rabenseifner")]
            each = [row for row in found["crossovers"]
                    if row["ranks"] == ranks]
            # Sizes below 1 KiB are not looked at.
            expected = [row for row in expected if row[0] > 1024]
            self.assertEqual([(row["from"], row["to"]) for row in each],
                             [row[1:] for row in expected], ranks)
            for row, (bytes_, _, _) in zip(each, expected):
                # Elements divide among ranks but for a few.
                self.assertLess(abs(row["bytes"] - bytes_), 16 * ranks + 4)

    def test_auto_by_size(self):
        """The quickest of all ways on one level; a tree takes 2 log N a + 2
        n/b, a ring 2 (N-1) a + 2 (N-1)/N n/b."""
        latency, rate = 1e-5, 1e9
        unit = latency * rate
        ways = ["ring", "tree"]
        found = self.flat(latency, rate, ways)["auto"]
        for ranks in (2, 4, 8, 16, 32, 64):
            log = ranks.bit_length() - 1
            each = [(row["way"], row["from_bytes"]) for row in found
                    if row["ranks"] == ranks]
            change = ranks * unit * (ranks - 1 - log)
            if change == 0:
                self.assertEqual(each, [("ring", 0)])
                continue
            self.assertEqual([way for way, _ in each], ["tree", "ring"])
            self.assertLess(abs(each[1][1] - change), 5)
        # Where doubling and its halves are allowed, the ring is never quicker.
        found = self.flat(latency, rate, [*ways, "doubling", "rabenseifner"])
        for ranks in (4, 8, 16, 32, 64):
            log = ranks.bit_length() - 1
            each = [(row["way"], row["from_bytes"]) for row in found["auto"]
                    if row["ranks"] == ranks]
            self.assertEqual([way for way, _ in each],
                             ["doubling", "rabenseifner"])
            self.assertLess(
                abs(each[1][1] - unit * log / (log - 2 * (ranks - 1) / ranks)),
                5)
        text = self.zc("plan", "--collectives", "--cluster", "h100-dgx")
        self.assertRegex(text, r"32 ranks: tree \(ll\), from .* on tree "
                               r"\(ll128\), from .* on ring \(simple\)")

    def test_protocols(self):
        """Two of a ring take 2 (N-1) a and 2 (N-1)/N n/b each, and a start."""
        path = self.folder / "flat.json"
        rows = [{"name": "simple", "algorithm": "ring", "start_s": 3e-5,
                 "latency_s": [2e-5], "bandwidth_share": [1]},
                {"name": "ll", "algorithm": "ring", "start_s": 1e-5,
                 "latency_s": [5e-6], "bandwidth_share": [0.25]}]
        path.write_text(json.dumps({
            "name": "flat", "device": CLUSTER["device"],
            "collectives": {"algorithms": ["ring"], "protocols": rows},
            "levels": [{"name": "wire", "size": 64, "bytes_per_s": 1e9,
                        "latency_s": 1e-3}]}))
        found = self.json("--collectives", "--cluster", path)["collectives"]
        for n in (2, 8, 64):
            small, large = (row for row in found["auto"] if row["ranks"] == n)
            self.assertEqual((small["protocol"], large["protocol"]),
                             ("ll", "simple"))
            # Three quarters of its rate are what LL loses.
            change = (2e-5 + 2 * (n - 1) * 1.5e-5) / (
                2 * (n - 1) / n / 1e9 * 3)
            self.assertLess(abs(large["from_bytes"] - change), 5)
        gpt = Fixture("gpt")
        sums = self.json(gpt.model, *gpt.compile_options("sgd"), "--mesh",
                         "dp=4", "--batch", 4, "--cluster",
                         path)["plan"]["traffic"]["by_axis"]["dp"]
        self.assertLessEqual(set(sums["ways"]), {"ring (ll)", "ring (simple)"})
        self.assertEqual(sum(sums["ways"].values()), sums["count"])

    def test_auto_is_simulated(self):
        """Gradients' sums take what the quickest way takes."""
        gpt = Fixture("gpt")
        def exposed(ways):
            self.flat(1e-3, 1e9, ways)
            return self.json(gpt.model, *gpt.compile_options("sgd"), "--mesh",
                             "dp=4", "--cluster", self.folder / "flat.json",
                             "--batch", "4")["plan"]
        both, one, other = (exposed(ways) for ways in (
            ["ring", "doubling"], ["doubling"], ["ring"]))
        self.assertEqual(both["step_s"], one["step_s"])
        self.assertLess(both["step_s"], other["step_s"])
        # And the plan says which one.
        sums = both["traffic"]["by_axis"]["dp"]
        self.assertEqual(sums["ways"], {"doubling": sums["count"]})
        sums = other["traffic"]["by_axis"]["dp"]
        self.assertEqual(sums["ways"], {"ring": sums["count"]})

    def test_refusals(self):
        self.fails(2, ["model is required"], "plan", "--cluster", "ideal")
        self.fails(2, ["--ranks"], "plan", "--max-model", "--cluster",
                   "h100-dgx")
        self.fails(1, ["does not say what memory"], "plan", "--max-model",
                   "--cluster", "ideal", "--ranks", "4")
        self.fails(2, ["one of them"], "plan", "--max-model", "--search",
                   "--cluster", "ideal")
        self.fails(2, ["without a model"], "plan", "model.onnx",
                   "--max-model", "--cluster", "ideal", "--ranks", "4")


class Table(PlanTest):

    def test_stages(self):
        """Memory is that of each stage's own plan."""
        options = [self.gpt.model, *self.gpt.compile_options("adamw"),
                   "--mesh", "dp=4", "--cluster", "h100-dgx"]
        rows = json.loads(self.zc("plan", *options, "--table",
                                  "--json"))["table"]
        self.assertEqual([row["zero"] for row in rows], [0, 1, 2, 3])
        for row in rows:
            plan = self.plan(*options, "--zero", row["zero"])
            self.assertEqual(row["training_memory"], plan["memory"]["peak"])
            self.assertEqual((row["ranks"], row["nodes"], row["batch"]),
                             (4, 1, 4))
            self.assertEqual(row["parameters"], 29568)
        initial = [row["initial_memory"] for row in rows]
        self.assertEqual(initial, sorted(initial, reverse=True))
        self.assertIn("training memory", self.zc("plan", *options, "--table"))
        for option, value in (("--zero", 2), ("--tokens", 1e9),
                              ("--emit", "sched")):
            self.fails(2, [option], "plan", *options, "--table", option, value)


if __name__ == "__main__":
    unittest.main()
