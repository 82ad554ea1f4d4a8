#!/usr/bin/env python3
"""The plan is all the memory there is: after its first step a run asks for
nothing large any more. A hook that is preloaded sees every request of 1 MiB
or more."""
import json
import os
import unittest

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from zctest import ZcTest, has_avx512

BATCH, WIDTH = 512, 1024


def wide_network():
    """Images of 8 MiB after the convolution, a matrix of 16 MiB."""
    rng = np.random.default_rng(0)
    tensors = [numpy_helper.from_array(
        rng.normal(0, 0.02, shape).astype(np.float32), name)
        for name, shape in (("conv", (4, 1, 3, 3)), ("gamma", (4,)),
                            ("beta", (4,)), ("mean", (4,)), ("var", (4,)),
                            ("w1", (4 * WIDTH, WIDTH)), ("w2", (WIDTH, 10)))]
    nodes = [
        helper.make_node("Conv", ["x", "conv"], ["c"], pads=[1, 1, 1, 1]),
        helper.make_node("BatchNormalization",
                         ["c", "gamma", "beta", "mean", "var"], ["b"]),
        helper.make_node("Flatten", ["b"], ["f"]),
        helper.make_node("MatMul", ["f", "w1"], ["h"]),
        helper.make_node("Relu", ["h"], ["r"]),
        helper.make_node("MatMul", ["r", "w2"], ["y"])]
    graph = helper.make_graph(
        nodes, "wide",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT,
                                       (BATCH, 1, 32, 32))],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, (BATCH, 10))],
        tensors)
    return helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)


class Allocation(ZcTest):

    def setUp(self):
        super().setUp()
        model = self.folder / "wide.onnx"
        model.write_bytes(wide_network().SerializeToString())
        self.artifact, self.data = self.folder / "a.zca", self.folder / "d.npz"
        self.zc("compile", model, "-o", self.artifact, "--loss",
                "softmax-cross-entropy")
        rng = np.random.default_rng(1)
        np.savez(self.data,
                 x=rng.normal(0, 1, (2 * BATCH, 1, 32, 32)).astype(np.float32),
                 labels=rng.integers(0, 10, 2 * BATCH))

    def requests(self, steps, *options):
        """Sizes of all large requests of a run of `steps` steps."""
        log = self.folder / f"allocations-{steps}"
        self.zc("run", self.artifact, "--data", self.data, "--steps", steps,
                "--log", self.folder / "log.jsonl", *options,
                env={**os.environ, "ZC_ALLOCATION_LOG": str(log),
                     "LD_PRELOAD": os.environ["ZC_ALLOCATION_HOOK"]})
        sizes = [int(line.split()[1]) for line in log.read_text().splitlines()]
        # With AVX2 alone oneDNN's products take what they pack, of a bounded
        # size, from the system each time.
        packed = 0 if has_avx512() else 2 << 20
        return [size for size in sizes if size > packed]

    def test_nothing_large_after_the_first_step(self):
        first = self.requests(1)
        # The hook sees the arena: weights, two moments and activations.
        self.assertGreater(max(first), 4 * 4 * WIDTH * WIDTH)
        self.assertEqual(sorted(self.requests(6)), sorted(first))

    def test_every_role_has_what_is_planned(self):
        """An arena for each rank: its role's plan in whole pages, and room to
        place it on a huge one."""
        self.zc("compile", self.folder / "wide.onnx", "-o", self.artifact,
                "--loss", "softmax-cross-entropy", "--mesh", "pp=2",
                "--accumulate", 4)
        plan = json.loads(self.zc("inspect", self.artifact, "--memory",
                                  "--json"))["memory"]["roles"]
        arenas = [-(-role["peak"] // 4096) * 4096 + (2 << 20) for role in plan]
        self.assertNotEqual(*arenas)
        first = self.requests(1, "--local-ranks", 2)
        for arena in arenas:
            self.assertEqual(first.count(arena), 1, (arena, first))
        self.assertEqual(sorted(self.requests(6, "--local-ranks", 2)),
                         sorted(first))


if __name__ == "__main__":
    unittest.main()
