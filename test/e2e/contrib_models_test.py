#!/usr/bin/env python3
"""Whole models that ONNX Runtime's optimizers rewrote.

Those that its optimizer for transformers fused are compared with what PyTorch
recorded (tools/reference/contrib.py), those that its sessions write with the
model before.
"""
import shutil
import unittest

import numpy as np
import onnx
import onnxruntime

from zctest import Fixture, ZcTest, read_log


class Models(ZcTest):
    """Whole models."""

    def losses(self, model, fixture, optimizer, *extra):
        artifact = self.compile(fixture, optimizer, *extra, model=model)
        log = self.folder / "log.jsonl"
        shutil.rmtree(self.folder / "ckpt", ignore_errors=True)
        entry = fixture.reference["optimizers"][optimizer]
        self.train(artifact, fixture.data, fixture.reference["steps"],
                   "--no-shuffle", "--log", log, "--checkpoint",
                   self.folder / "ckpt",
                   lr=entry["learning_rate"])
        return np.array([line["loss"] for line in read_log(log)])

    def test_fused_by_the_optimizer(self):
        for name in ("bert", "gpt2"):
            fixture = Fixture(f"contrib/{name}")
            for optimizer, entry in fixture.reference["optimizers"].items():
                found = self.losses(fixture.model, fixture, optimizer)
                tolerance = max(2e-6, 5 * entry["loss_spread"])
                np.testing.assert_allclose(found, entry["losses"],
                                           rtol=tolerance)

    def test_fused_by_a_session(self):
        """The optimised model that ONNX Runtime writes trains as before."""
        for name, kind in (("cnn", "FusedConv"), ("mlp", "FusedGemm"),
                           ("llama", "QuickGelu"), ("vit", "FusedMatMul")):
            fixture = Fixture(name)
            options = onnxruntime.SessionOptions()
            options.graph_optimization_level = (
                onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED)
            path = self.folder / f"{name}.onnx"
            options.optimized_model_filepath = str(path)
            onnxruntime.InferenceSession(fixture.model, options,
                                         providers=["CPUExecutionProvider"])
            kinds = {node.op_type for node in onnx.load(path).graph.node}
            self.assertIn(kind, kinds)
            found = self.losses(path, fixture, "sgd", "--batchnorm", "frozen")
            plain = self.losses(fixture.model, fixture, "sgd", "--batchnorm",
                                "frozen")
            # The session has folded constants, in float32; and what is of
            # weights alone, a normalisation into a convolution, tokens that
            # are learnt: then others are trained.
            same = 1 if name in ("cnn", "vit") else len(plain)
            np.testing.assert_allclose(found[:same], plain[:same], rtol=2e-5)
            self.assertTrue(np.isfinite(found).all())

    def test_export_keeps_the_nodes(self):
        fixture = Fixture("contrib/bert")
        self.losses(fixture.model, fixture, "adamw")
        trained = self.folder / "trained.onnx"
        self.zc("export", self.folder / "model.zca", "--checkpoint",
                self.folder / "ckpt", "-o", trained)
        kinds = [[(node.domain, node.op_type) for node in
                  onnx.load(path).graph.node]
                 for path in (fixture.model, trained)]
        self.assertEqual(*kinds)
        data = np.load(fixture.data)
        inputs, given = [], {}
        for name in ("input_ids", "attention_mask"):
            given[name] = data[name][:fixture.reference["batch"]]
            np.save(self.folder / f"{name}.npy", given[name])
            inputs += ["--input", f"{name}={self.folder / name}.npy"]
        self.zc("eval", self.folder / "model.zca", "--checkpoint",
                self.folder / "ckpt", *inputs, "--output-dir", self.folder)
        session = onnxruntime.InferenceSession(
            trained, providers=["CPUExecutionProvider"])
        np.testing.assert_allclose(np.load(self.folder / "logits.npy"),
                                   session.run(None, given)[0], rtol=1e-4,
                                   atol=1e-5)


class Rotation(ZcTest):
    """An operator that ONNX Runtime has for GPUs alone."""

    def test_gemma(self):
        batch, heads, tokens, size = 2, 3, 5, 4
        draw = np.random.default_rng(6)
        data = {"emb": 3 * draw.standard_normal((batch, tokens, size))}
        for name in ("q", "q2", "k", "k2"):
            data[name] = draw.standard_normal((batch, heads, tokens, size))
        info = onnx.helper.make_tensor_value_info
        graph = onnx.helper.make_graph(
            [onnx.helper.make_node("GemmaRotaryEmbedding", list(data),
                                   ["unread", "y"], domain="com.microsoft")],
            "rotation", [info(name, onnx.TensorProto.FLOAT, each.shape)
                         for name, each in data.items()],
            [info("y", onnx.TensorProto.FLOAT, data["k"].shape)])
        path, given = self.folder / "m.onnx", []
        onnx.save(onnx.helper.make_model(graph, ir_version=10, opset_imports=[
            onnx.helper.make_opsetid("", 20),
            onnx.helper.make_opsetid("com.microsoft", 1)]), path)
        for name, each in data.items():
            np.save(self.folder / f"{name}.npy", np.float32(each))
            given += ["--input", f"{name}={self.folder / name}.npy"]
        self.zc("eval", path, *given, "--output-dir", self.folder / "out")
        angles = data["emb"][:, None]
        np.testing.assert_allclose(
            np.load(self.folder / "out" / "y.npy"),
            data["k"] * np.cos(angles) + data["k2"] * np.sin(angles),
            atol=1e-5)


if __name__ == "__main__":
    unittest.main()
