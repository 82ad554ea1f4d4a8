#!/usr/bin/env python3
"""How far the polynomials of generated code are from the functions: in units of
the last place (ulp) of float32, against double precision."""
import math
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper

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


if __name__ == "__main__":
    unittest.main()
