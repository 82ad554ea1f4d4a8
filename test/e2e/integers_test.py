#!/usr/bin/env python3
"""Products and extremes of integers of every width, against NumPy; recurrent
operators with activations of every kind, against ONNX Runtime."""
import unittest

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

from zctest import ZcTest

RANDOM = np.random.default_rng(2)
SIGNED = [np.int8, np.int16, np.int32, np.int64]
UNSIGNED = [np.uint8, np.uint16, np.uint32, np.uint64]


def info(name, array):
    return helper.make_tensor_value_info(
        name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)


class Computed(ZcTest):

    def compute(self, nodes, inputs, outputs, stored):
        """Results of `nodes`; `outputs`: arrays of the same types."""
        graph = helper.make_graph(
            nodes, "g", [info(*each) for each in inputs.items()],
            [info(*each) for each in outputs.items()],
            [numpy_helper.from_array(array, name)
             for name, array in stored.items()])
        path, given = self.folder / "m.onnx", []
        onnx.save(helper.make_model(graph, ir_version=8, opset_imports=[
            helper.make_opsetid("", 14)]), path)
        for name, array in inputs.items():
            np.save(self.folder / f"{name}.npy", array)
            given += ["--input", f"{name}={self.folder / name}.npy",
                      "--batch-dim", f"{name}=none"]
        self.zc("eval", path, *given, "--output-dir", self.folder / "out")
        return path, {name: np.load(self.folder / "out" / f"{name}.npy")
                      for name in outputs}


class Integers(Computed):

    def test_products(self):
        """Sums wrap around as the type does."""
        nodes, inputs, expected = [], {}, {}
        for kind in (np.int32, np.int64, np.uint32, np.uint64):
            name, most = kind.__name__, np.iinfo(kind).max
            a, b = (RANDOM.integers(0, most, shape, dtype=kind)
                    for shape in ((2, 3, 4), (4, 5)))
            inputs |= {f"a_{name}": a, f"b_{name}": b}
            expected[name] = a @ b
            nodes.append(helper.make_node("MatMul", [f"a_{name}", f"b_{name}"],
                                          [name]))
        _, found = self.compute(nodes, inputs, expected, {})
        for name, array in expected.items():
            np.testing.assert_array_equal(found[name], array, name)

    def test_extremes(self):
        """A few of a row, and many; the ends of the type are among them."""
        nodes, inputs, expected = [], {}, {}
        for kind in SIGNED + UNSIGNED:
            limits = np.iinfo(kind)
            x = RANDOM.integers(limits.min, limits.max, (3, 80), dtype=kind,
                                endpoint=True)
            x[0, :3] = [limits.min, limits.max, 1]
            inputs[kind.__name__] = x
            for count in (2, 70):
                for largest in (0, 1):
                    name = f"{kind.__name__}_{count}_{largest}"
                    row = np.sort(x, 1)[:, ::-1 if largest else 1][:, :count]
                    expected[name] = np.ascontiguousarray(row)
                    expected[name + "_at"] = np.zeros_like(row, np.int64)
                    nodes.append(helper.make_node(
                        "TopK", [kind.__name__, f"k{count}"],
                        [name, name + "_at"], largest=largest))
        _, found = self.compute(nodes, inputs, expected, {
            f"k{count}": np.array([count]) for count in (2, 70)})
        for name, array in expected.items():
            if name.endswith("_at"):
                of = name.removesuffix("_at")
                array = found[of]
                found[name] = np.take_along_axis(inputs[of.split("_")[0]],
                                                 found[name], 1)
            np.testing.assert_array_equal(found[name], array, name)


class Activations(Computed):

    def test_gru(self):
        draw = lambda *shape: RANDOM.normal(0, 0.5, shape).astype(np.float32)
        x = draw(5, 2, 6)
        stored = {"w": draw(1, 12, 6), "r": draw(1, 12, 4), "b": draw(1, 24)}
        nodes, outputs = [], {}
        for gates, hidden in (("Sigmoid", "Tanh"), ("Relu", "Sigmoid"),
                              ("HardSigmoid", "Softsign"),
                              ("Elu", "LeakyRelu"), ("Sigmoid", "Softplus")):
            for reset in (0, 1):
                name = f"{gates}_{hidden}_{reset}"
                nodes.append(helper.make_node(
                    "GRU", ["x", "w", "r", "b"], [name], hidden_size=4,
                    activations=[gates, hidden], linear_before_reset=reset))
                outputs[name] = np.zeros((5, 1, 2, 4), np.float32)
        path, found = self.compute(nodes, {"x": x}, outputs, stored)
        theirs = onnxruntime.InferenceSession(path).run(None, {"x": x})
        for name, expected in zip(outputs, theirs):
            # Five rounds of single precision.
            np.testing.assert_allclose(found[name], expected, 1e-5, 1e-5)


if __name__ == "__main__":
    unittest.main()
