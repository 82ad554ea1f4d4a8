#!/usr/bin/env python3
"""Models of transformers whose experts zc_moe.replace_moe replaced, against
PyTorch's training of the originals."""
import json
import unittest

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper

from zctest import FIXTURES, Fixture, ZcTest, read_log

NAMES = ("mixtral", "qwen", "qwen3", "olmoe", "gpt_oss", "deepseek_v2",
         "deepseek_v3")
# Layers with experts, and of each model experts, chosen and the sizes that a
# matrix of an expert has.
LAYERS = {"deepseek_v2": 1, "deepseek_v3": 1}
SIZES = {"mixtral": (4, 2, 24, 32), "qwen": (6, 3, 24, 16),
         "qwen3": (6, 3, 24, 16), "olmoe": (8, 3, 24, 16),
         "gpt_oss": (4, 2, 24, 24),
         "deepseek_v2": (8, 3, 24, 16), "deepseek_v3": (8, 3, 24, 16)}
TOKENS = 48


class Replaced(ZcTest):
    def check(self, name, optimizer, *options, ranks=1, model="model.onnx"):
        fixture = Fixture(f"replaced/{name}")
        entry = fixture.reference["optimizers"][optimizer]
        artifact = self.compile(fixture, optimizer, *options,
                                model=fixture.folder / model)
        log = self.folder / "log.jsonl"
        self.train(artifact, fixture.data, fixture.reference["steps"],
                   "--no-shuffle", "--log", log, "--local-ranks", str(ranks),
                   lr=entry["learning_rate"])
        np.testing.assert_allclose(
            [line["loss"] for line in read_log(log)], entry["losses"],
            rtol=max(2e-6, 5 * entry["loss_spread"]))
        self.assertLess(5 * entry["loss_spread"], 1e-5)

    def test_losses(self):
        for name in NAMES:
            for optimizer in ("sgd", "adamw"):
                with self.subTest(name=name, optimizer=optimizer):
                    self.check(name, optimizer)

    def test_losses_without_replacing(self):
        """As transformers exports them, of batched_mm."""
        for name in ("qwen3", "olmoe", "gpt_oss", "deepseek_v2",
                     "deepseek_v3"):
            with self.subTest(name=name):
                self.check(name, "adamw", model="batched.onnx")
                self.check_work(name, "batched.onnx")

    def test_ranks(self):
        for name, mesh, ranks in (
                ("gpt_oss", "ep=2", 2), ("deepseek_v3", "dp=2,ep=2", 4),
                ("deepseek_v2", "ep=4", 4), ("gpt_oss", "tp=2", 2),
                ("olmoe", "ep=4", 4)):
            with self.subTest(name=name, mesh=mesh):
                self.check(name, "adamw", "--mesh", mesh, ranks=ranks)

    def test_only_the_chosen_are_computed(self):
        for name in NAMES:
            with self.subTest(name=name):
                self.check_work(name, "model.onnx")

    def check_work(self, name, model):
        """FLOPs are the chosen's alone, and no expert's matrix is copied for a
        token."""
        _, chosen, hidden, inner = SIZES[name]
        fixture, step = Fixture(f"replaced/{name}"), self.folder / "s.mlir"
        model, layers = fixture.folder / model, LAYERS.get(name, 2)
        artifact = self.compile(fixture, model=model)
        ops = json.loads(self.zc("inspect", artifact, "--json"))["ops"]
        self.assertEqual(ops["flops"]["step"]["grouped_matmul"],
                         3 * 2 * TOKENS * chosen * 3 * inner * hidden * layers)
        self.zc("compile", model, "--emit", "step", "-o", step,
                *fixture.compile_options("adamw"))
        for a, b in ((2 * inner, hidden), (hidden, 2 * inner),
                     (hidden, inner), (inner, hidden)):
            self.assertNotIn(f"tensor<{TOKENS * chosen}x{a}x{b}x",
                             step.read_text())

    def as_onnx_runtimes(self):
        """Mixtral, whose experts are calls of ONNX Runtime's."""
        model = onnx.load(FIXTURES / "replaced/mixtral/model.onnx")
        graph, nodes = model.graph, []
        graph.initializer.append(
            numpy_helper.from_array(np.array([-1, 4]), "all_tokens"))
        for node in graph.node:
            if node.domain != "ai.zc":
                nodes.append(node)
                continue
            x, router, w1, w2 = node.input
            names = [f"{node.output[0]}.{each}" for each in (
                "router", "logits", "flat")]
            nodes += [
                helper.make_node("Transpose", [router], names[:1],
                                 perm=[1, 0]),
                helper.make_node("MatMul", [x, names[0]], names[1:2]),
                helper.make_node("Reshape", [names[1], "all_tokens"],
                                 names[2:]),
                helper.make_node(
                    "MoE", [x, names[2], w1, "", w2], node.output[:1],
                    domain="com.microsoft", k=2, activation_type="swiglu",
                    swiglu_fusion=2, normalize_routing_weights=1)]
        del graph.node[:], model.functions[:]
        graph.node.extend(nodes)
        model.opset_import.append(helper.make_opsetid("com.microsoft", 1))
        path = self.folder / "runtime.onnx"
        onnx.save(model, path)
        return path

    def test_onnx_runtimes_experts(self):
        """On one rank and on many, PyTorch's losses."""
        model = self.as_onnx_runtimes()
        self.check("mixtral", "sgd", model=model)
        self.check_work("mixtral", model)
        for mesh, ranks in (("ep=4", 4), ("dp=2,ep=2", 4), ("ep=2,tp=2", 4)):
            with self.subTest(mesh=mesh):
                self.check("mixtral", "adamw", "--mesh", mesh, ranks=ranks,
                           model=model)

    def test_bodies_run_anywhere(self):
        """ONNX Runtime computes what zc does."""
        for name in NAMES:
            fixture = Fixture(f"replaced/{name}")
            onnx.checker.check_model(str(fixture.model), full_check=True)
            tokens = np.load(fixture.data)["input_ids"][:4]
            np.save(self.folder / "x.npy", tokens)
            self.zc("eval", fixture.model, "--input",
                    f"input_ids={self.folder / 'x.npy'}", "--output-dir",
                    self.folder)
            session = onnxruntime.InferenceSession(
                fixture.model, providers=["CPUExecutionProvider"])
            np.testing.assert_allclose(
                np.load(self.folder / "logits.npy"),
                session.run(None, {"input_ids": tokens})[0], rtol=1e-4,
                atol=1e-5, err_msg=name)


if __name__ == "__main__":
    unittest.main()
