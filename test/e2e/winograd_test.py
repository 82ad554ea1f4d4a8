#!/usr/bin/env python3
"""Convolutions of 3x3 taps by Winograd's way: where it is taken, and that it
trains as direct convolutions do."""
import json
import os
import pathlib
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from zctest import ZcTest, read_log

BATCH, SIZE, CHANNELS = 8, 12, 32
CALLS = ("conv", "conv_input_grad", "conv_filter_grad")


def has_avx2():
    return "avx2" in pathlib.Path("/proc/cpuinfo").read_text().split()


@unittest.skipUnless(has_avx2(), "needs a processor with AVX2")
class Winograd(ZcTest):

    def setUp(self):
        super().setUp()
        self.model, self.data = self.folder / "m.onnx", self.folder / "d.npz"
        self.write(BATCH, SIZE, 3)

    def write(self, batch, size, layers):
        """A model of so many convolutions, and data for 4 steps."""
        random = np.random.default_rng(0)
        weights = {"head": random.normal(size=(CHANNELS, 4)) * 0.2}
        nodes, last = [], "x"
        for i in range(layers):
            inputs, scale = (CHANNELS, 0.08) if i else (3, 0.3)
            weights[f"w{i}"] = random.normal(
                size=(CHANNELS, inputs, 3, 3)) * scale
            nodes += [helper.make_node("Conv", [last, f"w{i}"], [f"c{i}"],
                                       pads=[1, 1, 1, 1]),
                      helper.make_node("Relu", [f"c{i}"], [f"r{i}"])]
            last = f"r{i}"
        nodes[-1] = helper.make_node("GlobalAveragePool", [f"c{layers - 1}"],
                                     ["u"])
        nodes += [helper.make_node("Flatten", ["u"], ["v"]),
                  helper.make_node("MatMul", ["v", "head"], ["y"])]
        value = helper.make_tensor_value_info
        graph = helper.make_graph(
            nodes, "images",
            [value("x", TensorProto.FLOAT, (batch, 3, size, size))],
            [value("y", TensorProto.FLOAT, (batch, 4))],
            [numpy_helper.from_array(array.astype("f4"), name)
             for name, array in weights.items()])
        onnx.save(helper.make_model(graph, ir_version=8, opset_imports=[
            helper.make_opsetid("", 18)]), self.model)
        np.savez(self.data,
                 x=random.normal(size=(4 * batch, 3, size, size)).astype("f4"),
                 labels=random.integers(0, 4, 4 * batch))

    def compile_for(self, *options):
        artifact = self.folder / "a.zca"
        said = self.zc("compile", self.model, "-o", artifact, "--loss",
                       "softmax-cross-entropy", *options)
        return artifact, said

    def go(self, artifact, *options, **environment):
        """A run's report, and its losses."""
        log = self.folder / "log.jsonl"
        out = self.zc("run", artifact, "--data", self.data, "--steps", 4,
                      "--no-shuffle", "--log", log, "--profile", *options,
                      env={**os.environ, **environment})
        return out, [line["loss"] for line in read_log(log)]

    def memory(self, artifact):
        return json.loads(self.zc("inspect", artifact, "--memory",
                                  "--json"))["memory"]

    def test_trains_as_direct_convolutions(self):
        """Losses are about 1, where float32 rounds to 6e-8: 1e-5 has room for
        160 roundings."""
        artifact, _ = self.compile_for()
        out, losses = self.go(artifact)
        for call in CALLS:
            self.assertIn(f"train.{call} (winograd by rule)", out)
        again = self.go(artifact)[1]
        self.assertEqual(losses, again)
        artifact, _ = self.compile_for("--libraries=-zc.winograd")
        out, direct = self.go(artifact)
        self.assertNotIn("winograd", out)
        np.testing.assert_allclose(losses, direct, rtol=1e-5)

    def test_every_instruction_set(self):
        artifact, _ = self.compile_for()
        _, losses = self.go(artifact)
        out, narrow = self.go(artifact, ZC_MAX_CPU_ISA="avx2")
        self.assertIn("(winograd by rule)", out)
        np.testing.assert_allclose(losses, narrow, rtol=1e-5)
        out, without = self.go(artifact, ZC_MAX_CPU_ISA="baseline")
        self.assertNotIn("winograd", out)
        np.testing.assert_allclose(losses, without, rtol=1e-5)

    def test_a_budget_gives_it_up_before_anything_runs_again(self):
        artifact, _ = self.compile_for()
        peak = self.memory(artifact)["peak"]
        least = self.memory(
            self.compile_for("--libraries=-zc.winograd")[0])["peak"]
        self.assertLess(least, peak)
        artifact, said = self.compile_for("--memory-budget", peak)
        self.assertIn("winograd", self.go(artifact)[0])
        artifact, said = self.compile_for("--memory-budget", peak - 1)
        self.assertNotIn("again", said)
        self.assertNotIn("winograd", self.go(artifact)[0])
        self.assertEqual(self.memory(artifact)["peak"], least)

    def test_it_stays_where_a_budget_needs_recomputation_anyway(self):
        self.write(16, 32, 8)
        free = self.memory(self.compile_for()[0])["peak"]
        direct = self.memory(
            self.compile_for("--libraries=-zc.winograd")[0])["peak"]
        least = self.memory(self.compile_for("--recompute", "full")[0])["peak"]
        self.assertLess(least, direct)
        self.assertLess(direct, free)
        artifact, said = self.compile_for("--memory-budget", least)
        self.assertIn("again", said)
        self.assertLessEqual(self.memory(artifact)["peak"], least)
        out, _ = self.go(artifact)
        for call in CALLS:
            self.assertIn(f"train.{call} (winograd by rule)", out)

    def test_a_budget_gives_it_up_where_nothing_fits_with_it(self):
        """Few activations: what runs again cannot make up for the scratch
        memory."""
        least = self.memory(self.compile_for(
            "--libraries=-zc.winograd", "--recompute", "full")[0])["peak"]
        self.assertLess(least, self.memory(
            self.compile_for("--recompute", "full")[0])["peak"])
        artifact, _ = self.compile_for("--memory-budget", least)
        self.assertLessEqual(self.memory(artifact)["peak"], least)
        self.assertNotIn("winograd", self.go(artifact)[0])

    def test_tuning_measures_it(self):
        artifact, _ = self.compile_for()
        file = self.folder / "tune.json"
        self.go(artifact, "--tune", file)
        ways = json.loads(file.read_text())["ways"]
        measured = [entry["ms"] for key, entry in ways.items()
                    if "3,3" in key or "3, 3" in key]
        self.assertTrue(any("winograd" in times and "library" in times
                            for times in measured), ways)


if __name__ == "__main__":
    unittest.main()
