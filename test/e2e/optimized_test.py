#!/usr/bin/env python3
"""Exports of PyTorch's default optimize=True train as the network they are, with
what can be had of the author's names (tools/reference/optimized.py)."""
import json
import unittest

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

from zctest import FIXTURES, ZcTest, load_tensors, read_log, run

FOLDER = FIXTURES / "optimized"
REFERENCE = json.loads((FOLDER / "reference.json").read_text())
FLOOR = 2e-6
MULTIPLE = 5


class Effects(ZcTest):

    def train_effect(self, name, *parameters):
        """Compare losses and weights with PyTorch's; what compiling said, and
        the exported model."""
        expected = REFERENCE["effects"][name]
        artifact, log = self.folder / "a.zca", self.folder / "log.jsonl"
        code, out, err = run("compile", FOLDER / f"{name}.onnx", "-o", artifact,
                             "--loss", "softmax-cross-entropy", "--optimizer",
                             "sgd")
        self.assertEqual(code, 0, err)
        self.assertEqual(err.count("optimize=False"), 1, err)
        self.assertEqual(err.count("warning"), 1, err)
        self.train(artifact, FOLDER / f"{name}.npz", REFERENCE["steps"],
                   "--no-shuffle", "--log", log, "--checkpoint",
                   self.folder / "c", lr=REFERENCE["lr"])
        tolerance = max(FLOOR, MULTIPLE * expected["spread"])
        np.testing.assert_allclose([line["loss"] for line in read_log(log)],
                                   expected["losses"], tolerance)
        found = load_tensors(self.folder / "c" / f"step-{REFERENCE['steps']}")
        weights = np.load(FOLDER / f"{name}-weights.npz")
        self.assertEqual(set(found), set(parameters))
        for key in parameters:
            np.testing.assert_allclose(found[key], weights[key], 2e-5, 2e-6,
                                       err_msg=key)
        return out, self.export(artifact, found, name)

    def export(self, artifact, found, name):
        path = self.folder / "trained.onnx"
        self.zc("export", artifact, "--checkpoint", self.folder / "c", "-o",
                path)
        # ONNX Runtime computes from the file what zc computes from the
        # checkpoint.
        x = np.load(FOLDER / f"{name}.npz")["x"][:4]
        np.save(self.folder / "x.npy", x)
        self.zc("eval", artifact, "--checkpoint", self.folder / "c", "--input",
                f"x={self.folder / 'x.npy'}", "--output-dir",
                self.folder / "out")
        session = onnxruntime.InferenceSession(path)
        np.testing.assert_allclose(session.run(None, {"x": x})[0],
                                   np.load(self.folder / "out" / "logits.npy"),
                                   1e-4, 1e-5)
        graph = onnx.load(path).graph
        exported = {t.name: numpy_helper.to_array(t)
                    for t in graph.initializer}
        for key, value in found.items():
            np.testing.assert_array_equal(exported[key], value, key)
        return exported

    def test_transposed_weights(self):
        _, exported = self.train_effect("transposed", "fc1.weight",
                                        "fc1.bias", "fc2.weight", "fc2.bias")
        self.assertEqual(exported["fc1.weight"].shape, (8, 6))
        self.assertFalse(any(name.startswith("val_") for name in exported))

    def test_merged_parameters(self):
        _, exported = self.train_effect("merged", "ln1.weight", "ln1.bias",
                                        "fc.weight", "fc.bias")
        self.assertNotIn("ln2.weight", exported)

    def test_deleted_biases(self):
        _, exported = self.train_effect("biases", "fc1.weight", "fc2.weight")
        self.assertNotIn("fc1.bias", exported)

    def test_folded_batch_norm(self):
        _, exported = self.train_effect("batchnorm", "conv.weight",
                                        "conv.bias", "fc.weight", "fc.bias")
        self.assertNotIn("bn.weight", exported)

    def test_doubled_tied_weights(self):
        out, exported = self.train_effect("tied", "head.weight", "fc.weight",
                                          "fc.bias")
        self.assertIn("trains 108 parameters in 3 tensors", out)
        self.assertEqual(
            [name for name, value in exported.items() if value.size == 66],
            ["head.weight"])

    def test_folded_position_tables(self):
        out, _ = self.train_effect("positions", "tokens.weight",
                                   "head.weight", "head.bias")
        self.assertRegex(out, "does not train embedding\n")


class Restored(ZcTest):
    """The facts of the exporter's file, said by hand."""

    def model(self, folded, more=(), origin="w", name="m.onnx"):
        """y = x val_1, with val_1 folded from `origin`, or x times w."""
        value = helper.make_tensor_value_info
        weight = np.random.default_rng(0).normal(size=(150, 120)).astype(
            np.float32)
        nodes = [helper.make_node("MatMul", ["x", "val_1"], ["y"], "mm")]
        info = value("val_1", TensorProto.FLOAT, weight.shape)
        if folded:
            initializers = [numpy_helper.from_array(weight, "val_1")]
            info.metadata_props.add(
                key="pkg.onnxscript.optimizer.folded_from", value=f"['{origin}']")
        else:
            initializers = [numpy_helper.from_array(weight.T.copy(), "w")]
            nodes.insert(0, helper.make_node("Transpose", ["w"], ["val_1"]))
        graph = helper.make_graph(
            nodes, "g", [value("x", TensorProto.FLOAT, [4, 150])],
            [value("y", TensorProto.FLOAT, [4, 120])],
            [*initializers, *more], value_info=[info])
        path = self.folder / name
        onnx.save(helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", 20)],
            ir_version=10), path)
        return path

    def weights(self, model, *options):
        data, folder = self.folder / "d.npz", self.folder / f"{model.stem}-c"
        random = np.random.default_rng(1)
        np.savez(data, x=random.normal(size=(8, 150)).astype(np.float32),
                 labels=random.integers(0, 120, 8))
        artifact = self.folder / "a.zca"
        self.zc("compile", model, "-o", artifact, "--loss",
                "softmax-cross-entropy", *options)
        self.train(artifact, data, 3, "--checkpoint", folder, "--overwrite")
        path = self.folder / "t.onnx"
        self.zc("export", artifact, "--checkpoint", folder, "-o", path)
        return load_tensors(folder / "step-3"), {
            t.name: numpy_helper.to_array(t)
            for t in onnx.load(path).graph.initializer}

    def test_large_weights_stay_in_their_file(self):
        plain, _ = self.weights(self.model(False, name="plain.onnx"))
        folded, exported = self.weights(self.model(True))
        self.assertEqual(set(folded), {"w"})
        np.testing.assert_array_equal(folded["w"], plain["w"])
        np.testing.assert_array_equal(exported["w"], plain["w"])
        # An external file, and frozen: the initial values are used.
        model = onnx.load(self.folder / "m.onnx")
        initial = numpy_helper.to_array(model.graph.initializer[0]).T
        onnx.save(model, self.folder / "e.onnx", save_as_external_data=True,
                  location="e.data", size_threshold=0)
        external, _ = self.weights(self.folder / "e.onnx")
        np.testing.assert_array_equal(external["w"], plain["w"])
        other = numpy_helper.from_array(np.zeros(120, np.float32), "bias")
        biased = self.model(True, [other], name="b.onnx")
        model = onnx.load(biased)
        model.graph.node[0].output[0] = "z"
        model.graph.node.append(helper.make_node("Add", ["z", "bias"], ["y"]))
        onnx.save(model, biased)
        _, exported = self.weights(biased, "--freeze", "^w$")
        np.testing.assert_array_equal(exported["w"], initial)

    def test_names_that_are_taken(self):
        for origin in ("x", "y", "val_1", ""):
            weights, _ = self.weights(self.model(True, origin=origin))
            self.assertEqual(set(weights), {"val_1"})

    def test_copies_that_differ_are_not_tied(self):
        different = numpy_helper.from_array(
            np.zeros((120, 150), np.float32), "w")
        model = onnx.load(self.model(True, [different]))
        model.graph.node.append(helper.make_node("MatMul", ["y", "w"], ["u"]))
        model.graph.output.append(helper.make_tensor_value_info(
            "u", TensorProto.FLOAT, [4, 150]))
        onnx.save(model, self.folder / "m.onnx")
        out = self.zc("compile", self.folder / "m.onnx", "-o",
                      self.folder / "a.zca", "--loss", "mse", "--logits", "u")
        self.assertIn("in 2 tensors", out)


if __name__ == "__main__":
    unittest.main()
