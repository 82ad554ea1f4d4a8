#!/usr/bin/env python3
"""Quantisation-aware training of the files that onnxruntime.quantization
writes."""
import logging
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import (CalibrationDataReader, QuantFormat,
                                      QuantType, quantize_static)

from quantised_test import FLOAT, QuantisedTest, draw, run_model
from zctest import read_log

# The quantiser advises to pre-process models.
logging.disable(logging.WARNING)


def make_float_model():
    """A convolution, a ReLU, a mean and a classifier."""
    stored = {"conv.w": draw(6, 3, 3, 3, scale=0.3), "conv.b": draw(6),
              "fc.w": draw(6, 4), "fc.b": draw(4)}
    nodes = [helper.make_node("Conv", ["x", "conv.w", "conv.b"], ["c"],
                              name="conv", pads=[1, 1, 1, 1]),
             helper.make_node("Relu", ["c"], ["r"], name="relu"),
             helper.make_node("GlobalAveragePool", ["r"], ["g"], name="pool"),
             helper.make_node("Flatten", ["g"], ["f"], name="flat"),
             helper.make_node("Gemm", ["f", "fc.w", "fc.b"], ["y"],
                              name="fc")]
    graph = helper.make_graph(
        nodes, "float",
        [helper.make_tensor_value_info("x", FLOAT, [8, 3, 6, 6])],
        [helper.make_tensor_value_info("y", FLOAT, [8, 4])],
        [numpy_helper.from_array(array, name)
         for name, array in stored.items()])
    return helper.make_model(graph, ir_version=10,
                             opset_imports=[helper.make_opsetid("", 21)])


class Reader(CalibrationDataReader):
    def __init__(self, batches):
        self.batches = iter(batches)

    def get_next(self):
        return next(self.batches, None)


class Awareness(QuantisedTest):
    """Quantisation-aware training of what ONNX Runtime's quantiser writes."""

    def quantise(self, **settings):
        onnx.save(make_float_model(), self.folder / "float.onnx")
        path = self.folder / "quantised.onnx"
        batches = [{"x": draw(8, 3, 6, 6, seed=seed)} for seed in range(3)]
        quantize_static(self.folder / "float.onnx", path, Reader(batches),
                        quant_format=QuantFormat.QDQ, per_channel=True,
                        **settings)
        return path

    def learn(self, path, *options):
        """Loss by step, and the exported model."""
        rng = np.random.default_rng(3)
        images = rng.standard_normal((64, 3, 6, 6)).astype(np.float32)
        classes = (images.mean(axis=(2, 3)) @ draw(3, 4)).argmax(axis=1)
        np.savez(self.folder / "data.npz", x=images,
                 labels=classes.astype(np.int64))
        artifact, log = self.folder / "q.zca", self.folder / "log.jsonl"
        self.said = self.zc("compile", path, "-o", artifact, "--loss",
                            "softmax-cross-entropy", "--optimizer", "adamw",
                            *options)
        self.train(artifact, self.folder / "data.npz", 60, "--log", log,
                   "--checkpoint", self.folder / "ckpt", lr=0.02)
        trained = self.folder / "trained.onnx"
        self.zc("export", artifact, "--checkpoint", self.folder / "ckpt",
                "-o", trained)
        images = {"x": images[:8]}
        model = onnx.load(trained)
        onnx.checker.check_model(model)
        theirs = run_model(model, images)["y"]
        np.save(self.folder / "x.npy", images["x"])
        self.zc("eval", artifact, "--checkpoint", self.folder / "ckpt",
                "--input", f"x={self.folder / 'x.npy'}", "--output-dir",
                self.folder / "out")
        ours = np.load(self.folder / "out" / "y.npy")
        # A few sums round to the neighbour.
        scale = np.abs(theirs).max() / 100
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=2 * scale)
        return [line["loss"] for line in read_log(log)], model

    def changed(self, before, after, kind):
        """The initializers of a type that training has changed."""
        old = {each.name: numpy_helper.to_array(each)
               for each in onnx.load(before).graph.initializer}
        return {each.name for each in after.graph.initializer
                if each.data_type == kind and
                (old[each.name] != numpy_helper.to_array(each)).any()}

    def check_learns(self, losses):
        self.assertLess(np.mean(losses[-5:]), 0.6 * np.mean(losses[:5]))

    def test_float_weights(self):
        """Weights that are stored as floats in front of their pairs."""
        path = self.quantise(extra_options={
            "AddQDQPairToWeight": True, "QuantizeBias": False})
        losses, model = self.learn(path)
        self.check_learns(losses)
        self.assertNotIn("stores as integers", self.said)
        self.assertEqual(self.changed(path, model, FLOAT),
                         {"conv.w", "conv.b", "fc.w", "fc.b"})

    def test_integer_weights(self):
        """Weights that are stored as integers: trained as numbers, written as
        integers."""
        path = self.quantise()
        losses, model = self.learn(path)
        self.check_learns(losses)
        self.assertIn("4 tensors that the file stores as integers", self.said)
        self.assertEqual(len(self.changed(path, model, TensorProto.INT8)), 2)
        self.assertEqual(len(self.changed(path, model, TensorProto.INT32)), 2)
        self.assertEqual(self.changed(path, model, FLOAT), set())
        self.assertEqual([each.op_type for each in model.graph.node],
                         [each.op_type for each in onnx.load(path).graph.node])

    def test_scales(self):
        """Scales are learnt on request, and are written with the integers that
        they stand for."""
        path = self.quantise()
        losses, model = self.learn(path, "--train-scales", "--group",
                                   "scale:lr=0.05x")
        self.check_learns(losses)
        self.assertGreater(len(self.changed(path, model, FLOAT)), 2)

    def test_meshes(self):
        """Scales of divided and of copied weights learn the same on every mesh.
        Where a number lies between two whole ones, ranks may round it to
        different sides: losses are held to the sixth digit, no closer."""
        np.savez(self.folder / "data.npz", x=draw(64, 3, 6, 6),
                 labels=np.arange(64) % 4)
        path = self.quantise()
        plain = self.learn_scales(path, 1)
        self.assertLess(plain[-1], plain[0])
        for mesh, zero in (("dp=2", 0), ("dp=2", 3), ("tp=2", 0),
                           ("dp=2,tp=2", 1)):
            with self.subTest(mesh=mesh, zero=zero):
                ranks = np.prod([int(each[3:]) for each in mesh.split(",")])
                losses = self.learn_scales(path, int(ranks), "--mesh", mesh,
                                           "--zero", zero)
                np.testing.assert_allclose(losses, plain, rtol=1e-5)

    def test_stages(self):
        """Unsigned zero points, which a stage holds as constants."""
        np.savez(self.folder / "data.npz", x=draw(64, 3, 6, 6),
                 labels=np.arange(64) % 4)
        path = self.quantise(activation_type=QuantType.QUInt8)
        plain = self.learn_scales(path, 1)
        losses = self.learn_scales(path, 2, "--mesh", "pp=2")
        np.testing.assert_allclose(losses, plain, rtol=1e-5)

    def learn_scales(self, path, ranks, *options):
        """Losses of six steps, of which each changes scales by a hundredth."""
        artifact, log = self.folder / "s.zca", self.folder / "log.jsonl"
        self.zc("compile", path, "-o", artifact, "--loss",
                "softmax-cross-entropy", "--optimizer", "adamw",
                "--train-scales", "--group", "scale:lr=0.01x", *options)
        self.train(artifact, self.folder / "data.npz", 6, "--no-shuffle",
                   "--log", log, "--local-ranks", ranks, lr=0.01)
        return [line["loss"] for line in read_log(log)]

    def test_frozen(self):
        """Frozen, weights are the integers of the file."""
        path = self.quantise()
        _, model = self.learn(path, "--freeze", "conv")
        self.assertEqual(
            {name.split(".")[0] for name in
             self.changed(path, model, TensorProto.INT8)}, {"fc"})


if __name__ == "__main__":
    unittest.main()
