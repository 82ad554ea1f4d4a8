#!/usr/bin/env python3
"""Layers of experts on stages: the log counts each expert's rows, and those
without room, as one rank does."""
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from moe_test import EXPERTS, Moe, zc_moe_body
from zctest import read_log, run

LAYERS, SAMPLES, LENGTH, HIDDEN, INNER, CHOSEN = 4, 8, 16, 6, 5, 2
MICRO = ["--accumulate", "4"]
FEW = ["--moe-capacity", "1"]


class ExpertPipelines(Moe):
    def setUp(self):
        super().setUp()
        random = np.random.default_rng(11)
        self.data = self.folder / "data.npz"
        shape = (SAMPLES, LENGTH, HIDDEN)
        x, target = random.normal(size=(2, *shape)).astype(np.float32)
        np.savez(self.data, x=x, labels=target)

        settings = zc_moe_body.Settings(
            top_k=CHOSEN, gate="topk-softmax", activation="relu", gated=0,
            normalize=0, balance="gshard", noisy=0, second="always", levels=0,
            top_groups=0, grouped=1)
        function = zc_moe_body.make_function("ai.zc", settings)
        nodes, weights, value = [], [], "x"
        for layer in range(LAYERS):
            names = [f"{name}.{layer}" for name in ("router", "w1", "w2")]
            for name, size in zip(names, (
                    (EXPERTS, HIDDEN), (EXPERTS, INNER, HIDDEN),
                    (EXPERTS, HIDDEN, INNER))):
                weights.append(numpy_helper.from_array(
                    (0.4 * random.normal(size=size)).astype(np.float32), name))
            out = [f"{name}.{layer}" for name in ("o", "balance", "z")]
            nodes.append(helper.make_node(
                "MoE", [value, *names], out, domain="ai.zc",
                name=f"experts.{layer}", overload=function.overload,
                **vars(settings)))
            nodes.append(helper.make_node("Add", [value, out[0]],
                                          [f"y.{layer}"], name=f"add.{layer}"))
            value = f"y.{layer}"
        nodes.append(helper.make_node("Mul", [value, "scale"], ["y"],
                                      name="scale"))
        weights.append(numpy_helper.from_array(
            np.full(HIDDEN, 0.5, np.float32), "scale"))
        graph = helper.make_graph(
            nodes, "layers",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, shape)],
            weights)
        self.model = self.folder / "layers.onnx"
        onnx.save(helper.make_model(
            graph, ir_version=10, functions=[function], opset_imports=[
                helper.make_opsetid("", zc_moe_body.OPSET),
                helper.make_opsetid("ai.zc", 1)]), self.model)

    def log(self, *options, ranks=1):
        artifact = self.artifact(self.model, "--loss", "mse", "--optimizer",
                                 "sgd", *options)
        self.losses(artifact, 3, 0.1, ranks=ranks, data=self.data)
        return read_log(self.folder / "log.jsonl")

    def check(self, alone, *options, ranks):
        """Losses differ by rounding; counts do not."""
        found = self.log(*options, ranks=ranks)
        for line, expected in zip(found, alone, strict=True):
            for key in ("moe_tokens", "moe_overflow", "moe_balance"):
                self.assertEqual(line[key], expected[key], key)
            self.assertAlmostEqual(line["loss"], expected["loss"], delta=1e-5)

    def test_stages(self):
        alone = self.log(*MICRO, *FEW)
        rows = np.array(alone[0]["moe_tokens"])
        self.assertEqual(rows.shape, (LAYERS, EXPERTS))
        self.assertEqual(len({tuple(row) for row in rows}), LAYERS)
        np.testing.assert_array_equal(rows.sum(-1), CHOSEN * SAMPLES * LENGTH)
        self.assertGreater(alone[0]["moe_overflow"], 0)
        for mesh, ranks, *options in (
                ("pp=2", 2), ("pp=2,ep=2", 4), ("pp=2,dp=2", 4, "--zero", "3"),
                ("pp=4", 4),
                ("pp=2", 2, "--schedule", "gpipe"),
                ("pp=2", 2, "--schedule", "interleaved", "--chunks", "2"),
                ("pp=2", 2, "--schedule", "zero-bubble=v"),
                ("pp=2", 2, "--recompute", "full")):
            with self.subTest(mesh=mesh, options=options):
                self.check(alone, *MICRO, *FEW, "--mesh", mesh, *options,
                           ranks=ranks)

    def test_room_for_all(self):
        """Rows are counted also where experts have no rooms."""
        alone = self.log(*MICRO)
        self.assertEqual(alone[0]["moe_overflow"], 0)
        self.check(alone, *MICRO, "--mesh", "pp=2", ranks=2)
        self.check(alone, *MICRO, "--mesh", "pp=2,ep=2", ranks=4)

    def test_16_bits(self):
        """As many micro-batches as one rank's; sums are of 32 bits."""
        narrow = [*MICRO, *FEW, "--precision", "bf16"]
        alone = self.log(*narrow)[0]
        found = self.log(*narrow, "--mesh", "pp=2", ranks=2)[0]
        for key in ("moe_tokens", "moe_overflow"):
            self.assertEqual(found[key], alone[key], key)

    def test_replicas(self):
        """Roles that take turns at one stage count its layers together."""
        stages = self.folder / "stages.txt"
        stages.write_text("^(experts|add)\\.[012]: 0\n\\.3: 1\n")
        self.check(self.log(*MICRO, *FEW), *MICRO, *FEW, "--mesh", "pp=3",
                   "--stages", stages, "--stage-replicas", "2,1", ranks=3)

    def test_equal_roles(self):
        """Roles of one layer each are compiled once, although each tells of a
        layer of its own."""
        stages = self.folder / "stages.txt"
        stages.write_text("".join(f"^(experts|add)\\.{layer}: {layer}\n"
                                  for layer in range(1, LAYERS)))
        options = [*MICRO, *FEW, "--mesh", "pp=4", "--stages", stages]
        artifact, other = self.folder / "shared.zca", self.folder / "apart.zca"
        for path, more, runs in ((artifact, [], 3),
                                 (other, ["--no-shared-roles"], 4)):
            code, _, said = run("compile", self.model, "-o", path, "-v",
                                "--cpu-threads", 1, "--loss", "mse",
                                *options, *more)
            self.assertEqual(code, 0, said)
            self.assertIn(f"zc-build-backward, {runs} runs", said)
        self.assertEqual(artifact.read_bytes(), other.read_bytes())
        self.check(self.log(*MICRO, *FEW), *options, ranks=4)

    def test_stages_without_experts(self):
        """All layers in one stage, none in the other."""
        stages = self.folder / "stages.txt"
        stages.write_text("^(experts|add): 0\nscale: 1\n")
        self.check(self.log(*MICRO, *FEW), *MICRO, *FEW, "--mesh", "pp=2",
                   "--stages", stages, ranks=2)

    def test_without_flush(self):
        """No role knows of the others' rows at any time."""
        for line in self.log(*MICRO, *FEW, "--mesh", "pp=2", "--schedule",
                             "2bw", ranks=2):
            self.assertNotIn("moe_tokens", line)


if __name__ == "__main__":
    unittest.main()
