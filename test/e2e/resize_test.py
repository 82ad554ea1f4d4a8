#!/usr/bin/env python3
"""Resize in all its modes against ONNX Runtime. Where an element lies between
two that are as near, single precision decides which: 3 / 0.6 is 5, although
float32's 0.6 is larger."""
import itertools
import unittest

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

from zctest import ZcTest

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
        path = self.folder / "m.onnx"
        onnx.save(model, path)
        np.save(self.folder / "x.npy", X)
        self.zc("eval", path, "--input", f"x={self.folder / 'x.npy'}",
                "--batch-dim", "x=none", "--output-dir", self.folder / "out")
        for node, expected in zip(nodes, theirs):
            with self.subTest(node.name):
                ours = np.load(self.folder / "out" / f"{node.output[0]}.npy")
                # Nearest elements are copied; weights of others are rounded.
                np.testing.assert_allclose(
                    ours, expected, atol=0 if "nearest" in node.name else 1e-5)


if __name__ == "__main__":
    unittest.main()
