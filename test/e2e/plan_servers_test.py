#!/usr/bin/env python3
"""zc plan --straggler and --servers: ranks that are not alike, and parameter
servers in place of sums, against closed forms."""
import json
import subprocess
import sys
import unittest

from zctest import FIXTURES
from plan_test import PlanTest

ROOT = FIXTURES.parents[1]

LATENCY, RATE, CALL = 1e-4, 1e8, 1e-5


class Servers(PlanTest):

    def setUp(self):
        super().setUp()
        self.cluster = self.folder / "c.json"
        self.cluster.write_text(json.dumps({
            "name": "c", "device": {
                "name": "d", "memory_bytes_per_s": 1e10, "call_s": CALL,
                "flops_per_s": {"f32": 1e10}},
            "levels": [{"name": "wire", "size": 20, "bytes_per_s": RATE,
                        "latency_s": LATENCY}]}))
        self.model = [self.gpt.model, *self.gpt.compile_options("adamw"),
                      "--cluster", self.cluster]

    def test_synchronous(self):
        """A server moves as often a worker's bytes as it has workers; its
        link is what a step waits for."""
        for workers in (1, 2, 8, 16):
            for servers in (1, 4):
                options = ["--mesh", f"dp={workers}", "--batch", workers]
                plan = self.plan(*self.model, *options, "--servers", servers)
                found = plan["servers"]
                self.assertEqual((found["workers"], found["sync"]),
                                 (workers, "bsp"))
                # The parameters are float32.
                self.assertEqual(found["parameter_bytes"],
                                 4 * plan["parameters"])
                busiest = max(1, workers / servers)
                expected = 2 * LATENCY + found["compute_s"] + (
                    found["update_s"] / servers) + busiest * (
                    found["parameter_bytes"] + found["gradient_bytes"]) / RATE
                self.assertAlmostEqual(found["step_s"] / expected, 1, 9)
                self.assertEqual(found["most_staleness"], 0)
                self.assertEqual(found["server_bytes"] / workers * servers,
                                 found["worker_bytes"])
                # Workers and servers do together what a rank does alone.
                self.assertAlmostEqual(
                    found["compute_s"] + found["update_s"],
                    sum(plan["compute_s"].values()) + CALL, places=12)

    def test_asynchronous(self):
        """A slow worker keeps none of the others waiting, whose gradients it
        does not know."""
        options = [*self.model, "--mesh", "dp=4", "--servers", 4,
                   "--straggler", "2=8"]
        waiting = self.plan(*options)["servers"]
        found = self.plan(*options, "--sync", "asp")["servers"]
        self.assertLess(found["step_s"], waiting["step_s"])
        self.assertGreater(waiting["step_s"], 8 * waiting["compute_s"])
        self.assertGreaterEqual(found["updates_per_s"],
                                waiting["updates_per_s"])
        self.assertGreater(found["most_staleness"], 3)
        self.assertIn("asynchronous",
                      self.zc("plan", *options, "--sync", "asp"))

    def test_stragglers_stretch_the_step(self):
        """With a network that takes no time, a step of equal ranks is as long
        as its slowest one needs."""
        options = [self.gpt.model, *self.gpt.compile_options("adamw"),
                   "--cluster", "ideal", "--mesh", "dp=4"]
        alike = self.plan(*options)["step_s"]
        for stragglers, factor in ((["0=1"], 1), (["3=2.5"], 2.5),
                                   (["1=2", "2=7"], 7)):
            given = sum((["--straggler", each] for each in stragglers), [])
            self.assertAlmostEqual(
                self.plan(*options, *given)["step_s"] / alike, factor, 9)
        # In a pipeline only the role of the slow rank is slower.
        options[-1] = "pp=2,dp=2"
        roles = self.plan(*options, "--accumulate", 2)["roles"]
        slow = self.plan(*options, "--accumulate", 2, "--straggler", "3=3")
        self.assertAlmostEqual(slow["roles"][0]["compute_s"],
                               roles[0]["compute_s"])
        self.assertAlmostEqual(slow["roles"][1]["compute_s"],
                               3 * roles[1]["compute_s"])

    def test_refusals(self):
        for patterns, *options in (
                (["straggler 4: the mesh has 4"], "--straggler", "4=2"),
                (["divide samples alone"], "--servers", 1, "--zero", 1),
                (["room for 20"], "--servers", 17)):
            self.fails(1, patterns, "plan", *self.model, "--mesh", "dp=4",
                       *options)
        self.fails(1, ["divide samples alone"], "plan", *self.model, "--mesh",
                   "tp=2", "--servers", 1)
        for patterns, *options in (
                (["RANK=FACTOR"], "--straggler", "1"),
                (["RANK=FACTOR"], "--straggler", "1=0.5"),
                (["RANK=FACTOR"], "--straggler", "1=nan"),
                (["given twice"], "--straggler", "1=2", "--straggler", "1=3"),
                (["belongs to --servers"], "--sync", "asp"),
                (["--servers"], "--servers", 0),
                (["one layout"], "--table", "--servers", 1)):
            self.fails(2, patterns, "plan", *self.model, "--mesh", "dp=2",
                       *options)


class Pipedream(PlanTest):
    """Figure 5 of PipeDream (Narayanan et al. 2019) names how VGG-16 trains."""

    def describe(self):
        """V100s, one in each node of a network of 10 Gb/s."""
        cluster = json.loads(
            (ROOT / "tools" / "clusters" / "v100-dgx2.json").read_text())
        cluster["levels"] = [{"name": "ethernet", "size": 16,
                              "bytes_per_s": 1.25e9, "latency_s": 3e-5}]
        del cluster["collectives"]["protocols"]
        path = self.folder / "ethernet.json"
        path.write_text(json.dumps(cluster))
        return path

    def test_vgg16(self):
        """Replicas of the convolutions before one stage of linear layers are
        quicker than data parallelism, synchronous or not, and than a pipeline
        of single stages."""
        model = self.folder / "vgg.onnx"
        subprocess.run([sys.executable, ROOT / "tools" / "bench" /
                        "large_vgg.py", model, "--batch", "224"], check=True,
                       stdout=subprocess.DEVNULL)
        options = [model, "--loss", "softmax-cross-entropy", "--cluster",
                   self.describe()]
        stages = [*options, "--mesh", "pp=8", "--schedule", "1f1b",
                  "--accumulate", 14]
        synchronous = self.plan(*options, "--mesh", "dp=8")["step_s"]
        asynchronous = self.plan(*options, "--mesh", "dp=8", "--servers", 8,
                                 "--sync", "asp")["servers"]["step_s"]
        straight = self.plan(*stages)["step_s"]
        replicas = self.plan(*stages, "--stage-replicas", "auto")["step_s"]
        # The paper has up to 5 times, of all its models and clusters.
        self.assertLess(1.5 * replicas, synchronous)
        self.assertLess(1.1 * replicas, asynchronous)
        self.assertLess(5 * replicas, straight)


if __name__ == "__main__":
    unittest.main()
