#!/usr/bin/env python3
"""Floats of eight and four bits: rounding to them, what they stand for, and
gradients through both. NumPy's types of ml_dtypes say what is right."""
import unittest

import ml_dtypes
import numpy as np
import onnx
from onnx import TensorProto, helper

from zctest import ZcTest, latest_step, load_tensors

FLOAT = TensorProto.FLOAT
TYPES = {
    "FLOAT8E4M3FN": (ml_dtypes.float8_e4m3fn, 448),
    "FLOAT8E4M3FNUZ": (ml_dtypes.float8_e4m3fnuz, 240),
    "FLOAT8E5M2": (ml_dtypes.float8_e5m2, 57344),
    "FLOAT8E5M2FNUZ": (ml_dtypes.float8_e5m2fnuz, 57344),
    "FLOAT4E2M1": (ml_dtypes.float4_e2m1fn, 6),
}


def points(largest):
    """Numbers of all sizes, halfway cases, subnormal ones and zeros."""
    rng = np.random.default_rng(1)
    x = rng.standard_normal(500) * np.exp2(rng.uniform(-20, 17, 500))
    x = np.concatenate([x, np.arange(-40, 40) / 16, [0, largest, 2 * largest,
                                                     -largest, 1e30]])
    return x.astype(np.float32)


def make_model(nodes, x, stored=(), output=None):
    graph = helper.make_graph(
        nodes, "float8", [helper.make_tensor_value_info("x", FLOAT, x.shape)],
        [helper.make_tensor_value_info("y", FLOAT, output or x.shape)],
        list(stored))
    return helper.make_model(graph, ir_version=11, opset_imports=[
        helper.make_opsetid("", 23)])


def number(name, value):
    return helper.make_tensor(name, FLOAT, [], [value])


class Floats(ZcTest):
    def evaluate(self, model, x):
        onnx.save(model, self.folder / "m.onnx")
        np.save(self.folder / "x.npy", x)
        self.zc("eval", self.folder / "m.onnx", "--input",
                f"x={self.folder / 'x.npy'}", "--batch-dim", "x=none",
                "--output-dir", self.folder / "out")
        return np.load(self.folder / "out" / "y.npy")

    def round(self, x, kind, largest):
        return np.clip(x, -largest, largest).astype(kind).astype(np.float32)

    def test_casts(self):
        for name, (kind, largest) in TYPES.items():
            with self.subTest(type=name):
                x = points(largest)
                model = make_model(
                    [helper.make_node("Cast", ["x"], ["small"],
                                      to=getattr(TensorProto, name)),
                     helper.make_node("Cast", ["small"], ["y"], to=FLOAT)], x)
                np.testing.assert_array_equal(
                    self.evaluate(model, x), self.round(x, kind, largest))

    def test_pairs(self):
        """A scale, and no zero point but that which says the type."""
        for name, (kind, largest) in TYPES.items():
            with self.subTest(type=name):
                x = points(largest)
                zero = helper.make_tensor("zero", getattr(TensorProto, name),
                                          [], [0])
                model = make_model(
                    [helper.make_node("QuantizeLinear", ["x", "s", "zero"],
                                      ["q"], name="q"),
                     helper.make_node("DequantizeLinear", ["q", "s", "zero"],
                                      ["y"], name="d")], x,
                    [number("s", 0.25), zero])
                theirs = self.round(x / np.float32(0.25), kind, largest) / 4
                np.testing.assert_array_equal(self.evaluate(model, x), theirs)

    def test_stored(self):
        """A weight in a file, with a scale for each of its rows."""
        values = np.linspace(-6, 6, 24).reshape(4, 6).astype(np.float32)
        for name, (kind, largest) in TYPES.items():
            with self.subTest(type=name):
                weight = helper.make_tensor(
                    "w", getattr(TensorProto, name), values.shape,
                    values.astype(kind).flatten())
                scale = helper.make_tensor("s", FLOAT, [4], [1, 2, 3, 4])
                x = points(largest)[:8].reshape(2, 4)
                model = make_model(
                    [helper.make_node("DequantizeLinear", ["w", "s"], ["d"],
                                      axis=0),
                     helper.make_node("MatMul", ["x", "d"], ["y"])], x,
                    [weight, scale], (2, 6))
                real = values.astype(kind).astype(np.float32) * \
                    np.float32([[1], [2], [3], [4]])
                np.testing.assert_allclose(self.evaluate(model, x), x @ real,
                                           rtol=1e-5, atol=1e-5)

    def test_gradients(self):
        """They pass inside of the range, and nowhere else."""
        weight = np.float32([[1.3, 500], [-700, 0.7]])
        x = np.float32([[1, 2], [3, -1]])
        zero = helper.make_tensor("zero", TensorProto.FLOAT8E4M3FN, [], [0])
        model = make_model(
            [helper.make_node("QuantizeLinear", ["w", "s", "zero"], ["q"]),
             helper.make_node("DequantizeLinear", ["q", "s", "zero"], ["d"]),
             helper.make_node("MatMul", ["x", "d"], ["y"])], x,
            [onnx.numpy_helper.from_array(weight, "w"), number("s", 1), zero])
        onnx.save(model, self.folder / "m.onnx")
        labels = np.zeros((2, 2), np.float32)
        np.savez(self.folder / "data.npz", x=x, labels=labels)
        artifact = self.folder / "m.zca"
        self.zc("compile", self.folder / "m.onnx", "-o", artifact, "--loss",
                "mse", "--optimizer", "sgd", "--train", "^w$")
        self.train(artifact, self.folder / "data.npz", 1, "--checkpoint",
                   self.folder / "ckpt", "--no-shuffle", lr=2.0 ** -6)
        real = self.round(weight, ml_dtypes.float8_e4m3fn, 448)
        gradient = x.T @ (x @ real) * 2 / 4 * (abs(weight) <= 448)
        after = load_tensors(latest_step(self.folder / "ckpt"))["w"]
        np.testing.assert_allclose((weight - after) * 64, gradient, rtol=1e-4,
                                   atol=5e-3)


if __name__ == "__main__":
    unittest.main()
