#!/usr/bin/env python3
"""LSTMs that ONNX Runtime's dynamic quantiser writes."""
import logging
import unittest

import numpy as np
import onnx
from onnx import helper, numpy_helper
from onnxruntime.quantization import quantize_dynamic

from quantised_test import FLOAT, SATURATES, QuantisedTest, draw, run_model

# The quantiser advises to pre-process models.
logging.disable(logging.WARNING)


class Recurrent(QuantisedTest):
    """The LSTM that ONNX Runtime's dynamic quantiser writes."""

    def make_files(self):
        """Writes the model in floats, and quantised."""
        size, terms = 6, 5
        stored = {"w": draw(2, 4 * size, terms, scale=0.4),
                  "r": draw(2, 4 * size, size, scale=0.4),
                  "b": draw(2, 8 * size), "v": draw(size, 3)}
        nodes = [helper.make_node("LSTM", ["x", "w", "r", "b"], ["", "h"],
                                  "lstm", hidden_size=size,
                                  direction="bidirectional"),
                 helper.make_node("ReduceMean", ["h"], ["m"], "mean",
                                  axes=[0], keepdims=0),
                 helper.make_node("MatMul", ["m", "v"], ["y"], "head")]
        graph = helper.make_graph(
            nodes, "recurrent",
            [helper.make_tensor_value_info("x", FLOAT, [7, 4, terms])],
            [helper.make_tensor_value_info("y", FLOAT, [4, 3])],
            [numpy_helper.from_array(array, name)
             for name, array in stored.items()])
        path, quantised = self.folder / "float.onnx", self.folder / "q.onnx"
        onnx.save(helper.make_model(graph, ir_version=9, opset_imports=[
            helper.make_opsetid("", 17)]), path)
        quantize_dynamic(path, quantised, op_types_to_quantize=["LSTM"])
        self.assertIn("DynamicQuantizeLSTM", [
            node.op_type for node in onnx.load(quantised).graph.node])
        return onnx.load(path), quantised

    def test_lstm(self):
        """The LSTM of the weights that the integers stand for, to float32's
        digits; ONNX Runtime, which rounds states to eight bits besides, is a
        few steps of that rounding away."""
        model, quantised = self.make_files()
        data = {"x": draw(7, 4, 5)}
        found = self.evaluate(quantised, data)["y"]
        tensors = {each.name: numpy_helper.to_array(each)
                   for each in onnx.load(quantised).graph.initializer}
        for each in model.graph.initializer:
            name = each.name + "_quantized"
            if name not in tensors:
                continue
            scale, zero = (tensors[each.name + part].reshape(-1, 1, 1)
                           for part in ("_scale", "_zero_point"))
            whole = tensors[name].astype(np.float32) - zero
            each.CopyFrom(numpy_helper.from_array(
                (whole * scale).transpose(0, 2, 1).copy(), each.name))
        np.testing.assert_allclose(found, run_model(model, data)["y"],
                                   atol=1e-6)
        if SATURATES:
            self.skipTest("ONNX Runtime saturates without VNNI")
        theirs = run_model(onnx.load(quantised), data)["y"]
        np.testing.assert_allclose(found, theirs, atol=0.02)

    def test_layers_in_front_and_behind_train(self):
        _, quantised = self.make_files()
        found = self.step(onnx.load(quantised),
                          {"x": draw(4, 7, 5), "labels": draw(4, 3)},
                          "--batch-dim", "x=1")
        self.assertGreater(abs(found["v"]).max(), 0)
        self.assertGreater(abs(found["b"]).max(), 0)


if __name__ == "__main__":
    unittest.main()
