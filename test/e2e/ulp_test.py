#!/usr/bin/env python3
"""How far the functions of generated code and their gradients are from the true
ones, and long sums from the exact ones: in units of the last place (ulp) of
float32, against double precision."""
import math
import pathlib
import sys
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper, parser

from zctest import BIN, ZcTest, latest_step, load_tensors

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
import elementwise_accuracy as accuracy

class Ulp(ZcTest):

    def test_functions_and_gradients(self):
        """A sample of what tools/elementwise_accuracy.py measures."""
        for name, what, error, place in accuracy.measure(BIN / "zc", 2 ** 15):
            with self.subTest(function=name, what=what):
                self.assertLessEqual(error, accuracy.limit_of(name, what),
                                     f"{what} of {name} at {place}")

    def test_equal_rounding_of_far_angles(self):
        """Float32's worst case of an angle next to a multiple of pi / 2."""
        x = np.float32(16367173 * 2.0 ** 72)
        values = self.compute("Cos", np.full((1, 7), x))
        self.assertLessEqual(abs(values[0, 0] / math.cos(float(x)) - 1), 3e-7)

    def test_float64_next_to_zero(self):
        """e^x - 1 and log(1 + x) of float64 keep all digits."""
        sizes = np.exp2(np.linspace(-40, 0.5, 400))
        x = np.concatenate([sizes, -sizes, [5, -5, 30, -30]])[None]
        elu = self.compute("Elu", x)
        np.testing.assert_allclose(elu, np.where(x > 0, x, np.expm1(x)),
                                   rtol=2e-15)
        softplus = self.compute("Softplus", x - 30)
        np.testing.assert_allclose(softplus, np.log1p(np.exp(x - 30)),
                                   rtol=1e-14)

    def compute(self, operator, x):
        kind = helper.np_dtype_to_tensor_dtype(x.dtype)
        model = self.folder / "one.onnx"
        onnx.save(helper.make_model(helper.make_graph(
            [helper.make_node(operator, ["x"], ["y"])], "one",
            [helper.make_tensor_value_info("x", kind, x.shape)],
            [helper.make_tensor_value_info("y", kind, x.shape)]),
            opset_imports=[helper.make_opsetid("", 22)], ir_version=10), model)
        np.save(self.folder / "x.npy", x)
        self.zc("eval", model, "--input", f"x={self.folder / 'x.npy'}",
                "--output-dir", self.folder / "out")
        return np.load(self.folder / "out" / "y.npy")

    def test_remainders(self):
        """Exact, however many digits the quotient has."""
        draw = np.random.default_rng(3)

        def numbers():
            return (draw.standard_normal(4096) * np.exp2(
                draw.uniform(-120, 120, 4096))).astype(np.float32)

        a, b = numbers(), numbers()
        a[:8] = [6, -6, 5.3, -5.3, 0, 3, 3e38, 16777217]
        b[:8] = [3, 3, -2.1, 2.1, 1, np.inf, 1e-45, 3]
        model = self.folder / "mod.onnx"
        onnx.save(helper.make_model(helper.make_graph(
            [helper.make_node("Mod", ["a", "b"], ["y"], fmod=1)], "mod",
            [helper.make_tensor_value_info(name, TensorProto.FLOAT, a.shape)
             for name in "ab"],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, a.shape)]),
            opset_imports=[helper.make_opsetid("", 17)], ir_version=8), model)
        options = []
        for name, array in (("a", a), ("b", b)):
            np.save(self.folder / f"{name}.npy", array)
            options += ["--input", f"{name}={self.folder / name}.npy"]
        self.zc("eval", model, *options, "--output-dir", self.folder / "out")
        np.testing.assert_array_equal(
            np.load(self.folder / "out" / "y.npy"), np.fmod(a, b))

    def test_gradients_of_two_operands(self):
        """Pow's are within 8 ulp of the true ones, for bases and exponents of
        many sizes; Mod's are exact: 1, and minus the whole quotient."""
        draw = np.random.default_rng(4)
        count = 2 ** 15
        base = draw.uniform(1, 2, count) * np.exp2(
            draw.integers(-126, 127, count))
        power = draw.uniform(1, 2, count) * np.exp2(
            draw.integers(-30, 10, count)) * draw.choice([-1, 1], count)
        size = power * np.log2(base)
        kept = (np.abs(size) < 100) & (np.abs(size - np.log2(base)) < 90)
        base, power = (np.float32(each[kept]) for each in (base, power))
        by_base, by_power = self.gradients("Pow", base, power)
        a, b = np.float64(base), np.float64(power)
        for found, true in ((by_base, b * a ** (b - 1)),
                            (by_power, a ** b * np.log(a))):
            error = accuracy.errors_of(found, true, true)
            self.assertLessEqual(error.max(), accuracy.GRADIENT_ULP,
                                 (base[error.argmax()], power[error.argmax()]))
        a, b = (np.float32(draw.standard_normal(count) * np.exp2(
            draw.uniform(-10, 10, count))) for _ in range(2))
        by_a, by_b = self.gradients("Mod", a, b, fmod=1)
        np.testing.assert_array_equal(by_a, np.ones_like(a))
        quotient = np.trunc(np.float64(a) / np.float64(b))
        np.testing.assert_array_equal(by_b, np.float32(-quotient))

    def gradients(self, op, a, b, **attributes):
        """Gradients of the sum of all results, by two parameters of zeros that
        are added to the operands."""
        nodes = [helper.make_node("Add", ["xa", "a"], ["ya"]),
                 helper.make_node("Add", ["xb", "b"], ["yb"]),
                 helper.make_node(op, ["ya", "yb"], ["y"], "f", **attributes),
                 helper.make_node("ReduceSum", ["y"], ["cost"], keepdims=0)]
        zeros = np.zeros([1, len(a)], np.float32)
        accuracy.save(self.folder / "m.onnx", nodes,
                      [("xa", zeros.shape), ("xb", zeros.shape)],
                      [("cost", [])],
                      [onnx.numpy_helper.from_array(zeros, name)
                       for name in "ab"])
        np.savez(self.folder / "data.npz", xa=a[None], xb=b[None])
        artifact = self.folder / "m.zca"
        self.zc("compile", self.folder / "m.onnx", "--loss", "none",
                "--loss-output", "cost", "--optimizer", "sgd", "-o", artifact)
        self.train(artifact, self.folder / "data.npz", 1, "--checkpoint",
                   self.folder / "ckpt", "--overwrite", lr=1)
        after = load_tensors(latest_step(self.folder / "ckpt"))
        return -after["a"][0], -after["b"][0]

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
