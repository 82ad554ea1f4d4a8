#!/usr/bin/env python3
"""Figures of test/requirements.txt: a rank's share of updates, activations and
messages, and sums in 16 bits, of plans and of compiled code."""
import unittest

import numpy as np
from onnx import helper

from requirements_test import SMALL, RequirementsTest
from zctest import Fixture


class Shares(RequirementsTest):

    def test_messages_of_a_ring(self):
        """B-33: 2 (N - 1) messages a worker: an all-reduce has both halves, a
        unit of ZeRO a reduce-scatter and a gather."""
        model = Fixture("gpt").model
        for ranks, *more in ((4,), (2, "--zero", 1),
                             (4, "--zero", 2, "--unit", "layer")):
            kinds = self.inspect(model, "--mesh", f"dp={ranks}",
                                 *more)["comm"]["by_kind"]
            reduced, gathered = kinds["gradients"], kinds["parameters"]
            self.assertGreater(reduced["count"], 0)
            self.assertEqual(gathered["count"], reduced["count"] if more else 0)
            self.assertEqual(reduced["steps"] + gathered["steps"],
                             2 * (ranks - 1) * reduced["count"])

    def test_updates_are_divided(self):
        """C-08: each of n ranks has an nth of the optimizer's operations, of
        which AdamW's are 14 a parameter; without ZeRO, all. Those of a scalar or
        two, such as the step's number, stay."""
        model, found = self.write_large(**SMALL), {}
        for ranks, zero in ((4, 0), (2, 1), (4, 1)):
            found[ranks, zero] = sum(
                each["flops"] for each in self.inspect(
                    model, "--mesh", f"dp={ranks}", "--zero", zero,
                    sections=["--schedule"])["schedule"]["step"]
                if each["kind"] == "kernel" and "+" in each["label"]
                and each["label"].endswith("/initializer"))
        count = 862976
        self.assertAlmostEqual(2 * found[2, 1], 14 * count, delta=64)
        self.assertAlmostEqual(4 * found[4, 1], 14 * count, delta=128)
        # A gradient's last sum may be in its update.
        self.assertGreaterEqual(found[4, 0], 14 * count)

    def test_activations_of_tensor_parallel_ranks(self):
        """E-10: of a layer's activations, what lies between the sums is divided:
        queries, keys, values, the heads' results, and a feed-forward layer's
        values before and behind its function, in float32, with a number a row
        and head; inputs and norms of layers stay whole."""
        kept = {}
        for ranks in (1, 2, 4):
            few, many = (self.inspect(
                self.write_large(**dict(SMALL, layers=layers)),
                *(("--mesh", f"tp={ranks}") if ranks > 1 else ()))["memory"]
                ["activations"] for layers in (1, 3))
            kept[ranks] = (many - few) / 2
        tokens = 8 * 32
        divided = 4 * tokens * ((3 + 1 + 4 + 4) * 128 + 4)
        self.assertEqual(kept[1] - kept[2], divided / 2)
        self.assertEqual(kept[2] - kept[4], divided / 4)

    def test_sums_of_ones(self):
        """I-04: 4096 ones add up to 4096 in compiled code, too: a sum kept in
        float16 would stay at 2048, one in bfloat16 at 256."""
        model = self.save(
            [helper.make_node("MatMul", ["x", "w"], ["y"]),
             helper.make_node("ReduceSum", ["x", "dims"], ["z"], keepdims=1)],
            [("x", [1, 4096])], [("y", [1, 1]), ("z", [1, 1])],
            {"w": np.ones((4096, 1), np.float32), "dims": np.int64([1])})
        np.save(self.folder / "x.npy", np.ones((1, 4096), np.float32))
        artifact = self.folder / "ones.zca"
        for precision in ("fp16", "bf16"):
            self.zc("compile", model, "-o", artifact, "--loss", "mse",
                    "--precision", precision)
            self.zc("eval", artifact, "--input", f"x={self.folder / 'x.npy'}",
                    "--output-dir", self.folder)
            for name in ("y", "z"):
                found = np.load(self.folder / f"{name}.npy")
                self.assertEqual(found.item(), 4096, (precision, name))


if __name__ == "__main__":
    unittest.main()
