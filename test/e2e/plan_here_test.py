#!/usr/bin/env python3
"""zc plan --calibrate: this machine is measured, written and planned with. How
near plans come to runs is no test of every change, for machines are noisy:
tools/bench/plan_here.py says it."""
import json
import os
import re
import struct
import unittest

from zctest import Fixture, ZcTest


def number_behind(name, text):
    """A float64 of MLIR's text: in digits, or in bits where six digits would
    not be enough."""
    found = re.search(name + " = ([0-9A-Fa-fx.+]+) : f64", text)[1]
    return (struct.unpack(">d", bytes.fromhex(found[2:]))[0]
            if found.startswith("0x") else float(found))


class Here(ZcTest):

    def setUp(self):
        super().setUp()
        self.caches = {**os.environ, "XDG_CACHE_HOME": str(self.folder)}

    def test_measures_and_plans(self):
        gpt = Fixture("gpt")
        options = gpt.compile_options("adamw")
        # Before there is one, it says how to make it.
        for command in ("plan", "compile"):
            self.fails(1, ["zc plan --calibrate", "zc/here.json"], command,
                       gpt.model, "--cluster", "here", *options,
                       env=self.caches)
        said = self.zc("plan", "--calibrate", "--quick", env=self.caches)
        self.assertRegex(said, r"1 rank +measured +[0-9.]+ ms a step")
        path = self.folder / "zc" / "here.json"
        here = json.loads(path.read_text())
        self.assertEqual(here["name"], "here")
        device = here["device"]
        kinds = {row["kind"] for row in device["measured"]}
        self.assertLessEqual({"kernel", "attention"}, kinds)
        products = device["efficiency"]["matmul"]["measured"]
        forms = {row["transposed"] for row in products}
        self.assertLessEqual({"a", "none"}, forms)
        for row in products:
            self.assertGreater(row["flops_per_s"], 1e6)
            self.assertLess(row["flops_per_s"], 1e14)
        ranks = min(2, os.cpu_count())  # as the cluster has room for
        for mesh in ("dp=1", f"dp={ranks}", f"pp={ranks}", f"tp={ranks}"):
            plan = json.loads(self.zc(
                "plan", gpt.model, "--cluster", "here", "--mesh", mesh,
                "--accumulate", 2, "--json", *options,
                env=self.caches))["plan"]
            self.assertGreater(plan["step_s"], 1e-5)
            self.assertLess(plan["step_s"], 10)
        self.assertEqual([entry.name for entry in path.parent.iterdir()],
                         ["here.json"])
        self.check_compiled(gpt, options, path)

    def check_compiled(self, gpt, options, path):
        """zc compile --cluster here decides by the rates of the file."""
        artifact = self.folder / "a.zca"
        def machine(cluster):
            self.zc("compile", gpt.model, *options, "--cluster", cluster, "-o",
                    artifact, env=self.caches)
            return json.loads(self.zc("inspect", artifact, "--json"))[
                "options"]["cluster"]
        here = json.loads(path.read_text())
        here["device"]["memory_bytes_per_s"] *= 2
        twice = self.folder / "twice.json"
        twice.write_text(json.dumps(here))
        self.assertNotEqual(machine(twice), machine(path))
        found = machine("here")
        self.assertEqual(found, machine(path))
        self.assertIn('machine<name = "here"', found)
        self.check_shares(json.loads(path.read_text())["device"], found)
        log = self.folder / "log.jsonl"
        self.zc("run", artifact, "--data", gpt.data, "--steps", 2, "--log", log)
        self.assertEqual(len(log.read_text().splitlines()), 2)

    def check_shares(self, device, machine):
        """Decisions know each class of work by its share of the peak."""
        peak = device["flops_per_s"]["f32"]
        efficiency = device["efficiency"]
        for work, share in (("kernel", "kernel_flops"),
                            ("attention", "attention"),
                            ("attention_backward", "attention_backward")):
            self.assertLess(efficiency[share], 1, share)
            flops = number_behind(f'work = "{work}", type = "f32", flops',
                                  machine)
            self.assertAlmostEqual(flops / (peak * efficiency[share]), 1,
                                   places=4)
        # Small kernels may come out of caches, faster than the peak.
        self.assertLessEqual(efficiency["bytes"], 1)
        self.assertAlmostEqual(
            number_behind(", bytes", machine)
            / (device["memory_bytes_per_s"] * efficiency["bytes"]), 1,
            places=4)

    def test_ranks_have_their_share(self):
        if os.cpu_count() < 2:
            self.skipTest("one core is not shared")
        path = self.folder / "mine.json"
        self.zc("plan", "--calibrate", "--quick", "-o", path)
        here = json.loads(path.read_text())
        share, = here["shares"]
        self.assertEqual(share["ranks"], 2)
        self.assertAlmostEqual(
            share["device"]["memory_bytes"] * 2 / here["device"]["memory_bytes"],
            1, 3)
        level, = here["levels"]
        self.assertGreater(level["bytes_per_s"], 1e7)
        self.assertGreater(level["latency_s"], 0)
        self.assertLessEqual(0, here["collectives"]["compute_while_sending"])

    def test_options(self):
        self.fails(2, ["--mesh", "--calibrate"], "plan", "--calibrate",
                   "--mesh", "dp=2")
        self.fails(2, ["model", "--calibrate"], "plan", "model.onnx",
                   "--calibrate")
        self.fails(2, ["--quick", "--calibrate"], "plan", "model.onnx",
                   "--cluster", "ideal", "--quick")
        self.fails(2, ["--cluster"], "plan", "model.onnx")
        # Told before the machine is measured.
        self.fails(1, ["no-such-folder"], "plan", "--calibrate", "-o",
                   self.folder / "no-such-folder" / "here.json")


if __name__ == "__main__":
    unittest.main()
