#!/usr/bin/env python3
"""How far the polynomials of generated code are from the functions, and long sums
from the exact ones: in units of the last place (ulp) of float32, against double
precision."""
import math
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper, parser

from zctest import ZcTest

SAMPLES = 200_000
# function: reference, range, most ulp
FUNCTIONS = {"Exp": (np.exp, (-86, 88), 1),
             "Tanh": (np.tanh, (-9, 9), 5),
             "Erf": (np.vectorize(math.erf), (-4, 4), 5),
             "Log": (np.log, (1e-30, 1e6), 1)}


class Ulp(ZcTest):

    def compute(self, inputs):
        """What zc computes of every function, by name."""
        def tensor(name):
            return helper.make_tensor_value_info(name, TensorProto.FLOAT,
                                                 [1, SAMPLES])

        graph = helper.make_graph(
            [helper.make_node(name, [f"in_{name}"], [f"out_{name}"])
             for name in FUNCTIONS], "functions",
            [tensor(f"in_{name}") for name in FUNCTIONS],
            [tensor(f"out_{name}") for name in FUNCTIONS])
        model = self.folder / "functions.onnx"
        onnx.save(helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", 20)],
            ir_version=10), model)
        options = []
        for name, values in inputs.items():
            path = self.folder / f"{name}.npy"
            np.save(path, values[None])
            options += ["--input", f"in_{name}={path}"]
        self.zc("eval", model, *options, "--output-dir", self.folder / "out")
        return {name: np.load(self.folder / "out" / f"out_{name}.npy")[0]
                for name in FUNCTIONS}

    def test_errors(self):
        random = np.random.default_rng(1)
        inputs = {}
        for name, (_, (low, high), _) in FUNCTIONS.items():
            values = random.uniform(low, high, SAMPLES).astype(np.float32)
            # Half of them are small: relative errors hide around zero.
            values[::2] = np.float32(10) ** random.uniform(
                -6, 0, SAMPLES // 2).astype(np.float32)
            inputs[name] = values
        for name, found in self.compute(inputs).items():
            reference, _, most = FUNCTIONS[name]
            exact = reference(inputs[name].astype(np.float64))
            unit = np.spacing(np.abs(exact).astype(np.float32))
            error = np.abs(found.astype(np.float64) - exact) / unit
            worst = error.argmax()
            self.assertLessEqual(error[worst], most, f"{name} of "
                                 f"{inputs[name][worst]}: {found[worst]}")

    def test_long_sums(self):
        """Added one after the other, they would be off by hundreds of ulp."""
        model = self.folder / "sums.onnx"
        onnx.save(parser.parse_model("""<ir_version: 10, opset_import: ["" : 20]>
            main (float[2,50000,8] x, float[2,8,50000] y)
                => (float[2,8] columns, float[2,8] rows, float[2] squares)
            <int64[1] one = {1}, int64[1] two = {2}, int64[2] both = {1, 2}>
            { columns = ReduceSum <keepdims = 0> (x, one)
              rows = ReduceSum <keepdims = 0> (y, two)
              squares = ReduceSumSquare <keepdims = 0> (x, both) }"""), model)
        x = np.random.default_rng(2).uniform(0, 3, (2, 50000, 8))
        x = x.astype(np.float32)
        options = []
        for name, array in ("x", x), ("y", x.transpose(0, 2, 1).copy()):
            np.save(self.folder / f"{name}.npy", array)
            options += ["--input", f"{name}={self.folder / name}.npy"]
        self.zc("eval", model, *options, "--output-dir", self.folder / "out")
        x = x.astype(np.float64)
        for name, exact in (("columns", x.sum(1)), ("rows", x.sum(1)),
                            ("squares", (x * x).sum((1, 2)))):
            found = np.load(self.folder / "out" / f"{name}.npy")
            unit = np.spacing(exact.astype(np.float32))
            self.assertLessEqual((np.abs(found - exact) / unit).max(), 4, name)


if __name__ == "__main__":
    unittest.main()
