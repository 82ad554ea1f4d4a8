#!/usr/bin/env python3
"""Resize in all its modes against ONNX Runtime, and to given sizes against what
PyTorch did (tools/reference/resized.py). Where an element lies between two that
are as near, single precision decides which: 3 / 0.6 is 5, although float32's
0.6 is larger."""
import itertools
import unittest

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

from zctest import FIXTURES, ZcTest

X = np.random.default_rng(0).normal(size=(1, 2, 7, 9)).astype(np.float32)
COORDINATES = ["half_pixel", "half_pixel_symmetric", "pytorch_half_pixel",
               "align_corners", "asymmetric"]
NEAREST = ["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"]
SCALES = [(1.3, 1.7), (0.6, 0.85), (2, 3)]
SIZES = [(12, 4), (5, 20)]


def make_nodes():
    """A node for each mode and size."""
    modes = [("nearest", mode) for mode in NEAREST]
    modes += [("linear", None), ("cubic", None)]
    for number, ((mode, rounding), coordinates, size) in enumerate(
            itertools.product(modes, COORDINATES, SCALES + SIZES)):
        if coordinates == "half_pixel_symmetric" and "round" in str(rounding):
            continue  # ONNX Runtime takes 0.5000002 for a half
        attributes = {"mode": mode,
                      "coordinate_transformation_mode": coordinates}
        if rounding:
            attributes["nearest_mode"] = rounding
        # Scales and sizes are those of all dims.
        sizes = "{}_{}".format(*size).replace(".", "p")
        operands = ["x", "", sizes] if size in SCALES else \
            ["x", "", "", sizes]
        yield helper.make_node("Resize", operands, [f"y{number}"],
                               f"{mode} {rounding} {coordinates} {size}",
                               **attributes)


class Resize(ZcTest):

    def evaluate(self, model, x):
        """The outputs of a model of `x`, by name."""
        path = self.folder / "m.onnx"
        onnx.save(model, path)
        np.save(self.folder / "x.npy", x)
        self.zc("eval", path, "--input", f"x={self.folder / 'x.npy'}",
                "--batch-dim", "x=none", "--output-dir", self.folder / "out")
        return {value.name: np.load(self.folder / "out" / f"{value.name}.npy")
                for value in model.graph.output}

    def test_sizes_as_pytorch(self):
        """Nearest are pairs of sizes of which other formulas, ONNX Runtime's
        among them, take other rows."""
        recorded = np.load(FIXTURES / "resized" / "reference.npz")
        model = onnx.load(FIXTURES / "resized" / "model.onnx")
        for name, ours in self.evaluate(model, recorded["x"]).items():
            # Sums of single precision differ by their order; and in cubic ones
            # PyTorch may round a coordinate after it takes a half off: half an
            # ulp of 777 is 3e-5, times a slope.
            limit = {"nearest": 0, "bilinear": 1e-6, "bicubic": 1e-5}[
                name.split("_")[0]]
            if name == "bicubic_777_1000":
                limit = 1e-4
            with self.subTest(name):
                np.testing.assert_allclose(ours, recorded[name], 0, limit)

    def test_nearest_of_middles_as_pytorch(self):
        """PyTorch's nearest-exact, which its exporter writes otherwise."""
        recorded = np.load(FIXTURES / "resized" / "reference.npz")
        exact = [name for name in recorded if name.startswith("exact")]
        self.assertGreater(len(exact), 20)
        nodes, stored, outputs = [], [], []
        for name in exact:
            before, after = map(int, name.split("_")[1:])
            stored += [numpy_helper.from_array(np.array([before]), f"b_{name}"),
                       numpy_helper.from_array(np.array([after]), f"a_{name}")]
            nodes += [helper.make_node("Slice", ["x", "zero", f"b_{name}"],
                                       [f"x_{name}"]),
                      helper.make_node(
                          "Resize", [f"x_{name}", "", "", f"a_{name}"], [name],
                          nearest_mode="round_prefer_ceil")]
            outputs.append(helper.make_tensor_value_info(
                name, TensorProto.FLOAT, [after]))
        stored.append(numpy_helper.from_array(np.array([0]), "zero"))
        x = np.arange(80, dtype=np.float32)
        graph = helper.make_graph(nodes, "exact", [helper.make_tensor_value_info(
            "x", TensorProto.FLOAT, x.shape)], outputs, stored)
        model = helper.make_model(graph, ir_version=9, opset_imports=[
            helper.make_opsetid("", 19)])
        for name, ours in self.evaluate(model, x).items():
            with self.subTest(name):
                np.testing.assert_array_equal(ours, recorded[name])

    def test_modes(self):
        nodes = list(make_nodes())
        stored = [numpy_helper.from_array(np.float32([1, 1, *size]),
                                          "{}_{}".format(*size).replace(
                                              ".", "p")) for size in SCALES]
        stored += [numpy_helper.from_array(np.array([1, 2, *size]),
                                           "{}_{}".format(*size))
                   for size in SIZES]
        graph = helper.make_graph(
            nodes, "resize", [helper.make_tensor_value_info(
                "x", TensorProto.FLOAT, X.shape)],
            [onnx.ValueInfoProto(name=node.output[0]) for node in nodes],
            stored)
        model = helper.make_model(graph, ir_version=9, opset_imports=[
            helper.make_opsetid("", 19)])
        theirs = onnxruntime.InferenceSession(
            model.SerializeToString(), providers=["CPUExecutionProvider"]).run(
                None, {"x": X})
        for value, array in zip(model.graph.output, theirs):
            value.CopyFrom(helper.make_tensor_value_info(
                value.name, TensorProto.FLOAT, array.shape))
        ours = self.evaluate(model, X)
        for node, expected in zip(nodes, theirs):
            with self.subTest(node.name):
                # Nearest elements are copied; weights of others are rounded.
                np.testing.assert_allclose(
                    ours[node.output[0]], expected,
                    atol=0 if "nearest" in node.name else 1e-5)


if __name__ == "__main__":
    unittest.main()
