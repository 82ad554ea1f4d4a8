#!/usr/bin/env python3
"""Products of experts' rows on the fake GPU against the CPU: sizes that are no
multiples of the tiles, experts that many rows choose, and such that none does."""
import json
import re
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import train_test
from cuda_run_test import Fake
from zctest import Fixture, latest_step, load_tensors, read_log


class Layer:
    """y = MoE(x dense), chosen by x router + preferred."""

    def __init__(self, tokens, experts, chosen, hidden, inner, preferred=None):
        random = np.random.default_rng(tokens)

        def draw(*shape):
            return random.normal(size=shape).astype(np.float32)

        self.experts, self.chosen = experts, chosen
        self.weights = {
            "dense": draw(hidden, hidden) / np.float32(hidden) ** 0.5,
            "router": draw(hidden, experts),
            "w1": draw(experts, inner, hidden) / np.float32(hidden) ** 0.5,
            "b1": draw(experts, inner),
            "w2": draw(experts, hidden, inner) / np.float32(inner) ** 0.5,
            "b2": draw(experts, hidden)}
        self.preferred = np.zeros(experts, np.float32)
        for expert, by in (preferred or {}).items():
            self.preferred[expert] = by
        # Tokens whose choice no rounding changes.
        x = draw(4 * tokens, hidden)
        logits = np.sort(self.logits(x))[:, ::-1]
        clear = logits[:, chosen - 1] - logits[:, chosen] > 0.5
        self.data = {"x": x[clear][:tokens], "labels": draw(tokens, hidden)}

    def logits(self, x):
        return x @ self.weights["router"] + self.preferred

    def save(self, folder):
        shape = self.data["x"].shape
        np.savez(folder / "data.npz", **self.data)
        nodes = [
            helper.make_node("MatMul", ["x", "dense"], ["rows"]),
            helper.make_node("MatMul", ["x", "router"], ["scores"]),
            helper.make_node("Add", ["scores", "preferred"], ["logits"]),
            helper.make_node("MoE", ["rows", "logits", "w1", "b1", "w2", "b2"],
                             ["y"], domain="com.microsoft", k=self.chosen,
                             activation_type="silu",
                             normalize_routing_weights=int(self.chosen > 1))]
        stored = {**self.weights, "preferred": self.preferred}
        graph = helper.make_graph(
            nodes, "layer",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, shape)],
            [numpy_helper.from_array(value, name)
             for name, value in stored.items()])
        onnx.save(helper.make_model(graph, ir_version=10, opset_imports=[
            helper.make_opsetid("", 21),
            helper.make_opsetid("com.microsoft", 1)]), folder / "layer.onnx")

    def count_rows(self):
        """How many rows each expert has."""
        best = np.argsort(-self.logits(self.data["x"]))[:, :self.chosen]
        return np.bincount(best.ravel(), minlength=self.experts)


# Widths in multiples of 4, of nothing, and of 8, which 16 bits want for tensor
# cores; more and fewer than a tile's 128 rows and columns.
LAYERS = {
    "uneven": Layer(190, 5, 2, 20, 36, {0: 2, 3: -1}),
    "odd": Layer(70, 3, 1, 33, 7),
    "all of one": Layer(150, 4, 1, 24, 136, {2: 1000}),
    "all but one": Layer(90, 3, 2, 40, 24, {1: -1000}),
    "few experts": Layer(270, 2, 1, 40, 152),
}


class Experts(Fake):

    def gradients(self, target, precision, *options, env=None):
        """The gradients of all weights: the negative steps of plain SGD with a
        rate of 1."""
        artifact = self.folder / f"{target}.zca"
        checkpoint = self.folder / f"{target}-{precision}"
        self.zc("compile", self.folder / "layer.onnx", "-o", artifact,
                "--loss", "mse", "--optimizer", "sgd", "--target", target,
                "--precision", precision, *options)
        self.zc("run", artifact, "--data", self.folder / "data.npz", "--steps",
                1, "--no-shuffle", "--lr", 1, "--checkpoint", checkpoint,
                "--overwrite", env=env)
        after = load_tensors(latest_step(checkpoint))
        return {name: before - after[name]
                for name, before in self.layer.weights.items()}

    def on_gpu(self, precision):
        return self.gradients("cuda", precision, "--cubins", "none",
                              env=self.gpu)

    def check(self, found, expected, tolerance):
        for name, gradient in expected.items():
            scale = np.abs(gradient).max()
            if name != "router":  # which one that is much preferred hides
                self.assertGreater(scale, 0, name)
            # Weights that moved are rounded before they are compared.
            stored = 2 ** -23 * np.abs(self.layer.weights[name]).max()
            np.testing.assert_allclose(found[name], gradient, rtol=0,
                                       atol=tolerance * scale + stored,
                                       err_msg=name)

    def test_gradients_are_the_cpus(self):
        for name, self.layer in LAYERS.items():
            self.layer.save(self.folder)
            exact = self.gradients("cpu", "fp32")
            with self.subTest(name=name, precision="fp32"):
                # Sums of up to 300 terms in another order.
                self.check(self.on_gpu("fp32"), exact, 2e-6)
            for precision, rounding in (("bf16", 2 ** -8), ("fp16", 2 ** -11)):
                if precision == "fp16" and name != "few experts":
                    continue
                with self.subTest(name=name, precision=precision):
                    # For 10 roundings in a row, from rows to gradients.
                    self.check(self.on_gpu(precision), exact, 10 * rounding)

    def test_experts_without_rows(self):
        """Their gradients are exactly nothing."""
        for name, without in (("all of one", [0, 1, 3]), ("all but one", [1])):
            self.layer = LAYERS[name]
            self.layer.save(self.folder)
            rows = self.layer.count_rows()
            self.assertEqual(list(np.flatnonzero(rows == 0)), without)
            for precision in ("fp32", "bf16"):
                found = self.on_gpu(precision)
                for weight in ("w1", "b1", "w2", "b2"):
                    self.assertEqual(np.abs(found[weight][without]).max(), 0)
                    self.assertTrue(np.delete(found[weight], without,
                                              0).any())

    def test_two_runs_are_equal_bit_by_bit(self):
        self.layer = LAYERS["uneven"]
        self.layer.save(self.folder)
        for precision in ("fp32", "bf16"):
            first, second = self.on_gpu(precision), self.on_gpu(precision)
            for name, gradient in first.items():
                np.testing.assert_array_equal(second[name], gradient)

    def test_16_bits_go_to_tensor_cores(self):
        """Where lines are of multiples of 8 elements; nothing is added by
        atomics."""
        for name, precision, expected in (
                ("few experts", "bf16", True), ("few experts", "fp32", False),
                ("odd", "bf16", False)):
            LAYERS[name].save(self.folder)
            code = self.folder / "code.ptx"
            self.zc("compile", self.folder / "layer.onnx", "-o", code, "--emit",
                    "ptx", "--loss", "mse", "--target", "cuda", "--precision",
                    precision)
            text = code.read_text()
            self.assertEqual("mma.sync.aligned.m16n8k16" in text, expected)
            self.assertIsNone(re.search(r"\b(atom|red)\.", text))


class Models(Fake):
    compare_losses = train_test.Train.compare_losses

    def test_experts_multiply_the_chosen_alone(self):
        """As many FLOPs as on a CPU: k of E. On one GPU rows are multiplied
        where they lie."""
        for name, mesh in (("mixtral", "ep=1"), ("qwen", "ep=1"),
                           ("mixtral", "ep=2")):
            fixture = Fixture(f"experts/{name}")
            cpu = self.compile(fixture, "adamw", "--mesh", mesh)
            wanted = json.loads(self.zc("inspect", cpu, "--json"))
            gpu = self.artifact(f"experts/{name}", "--mesh", mesh)
            found = json.loads(self.zc("inspect", gpu, "--schedule", "--json"))
            flops = sum(op["flops"] for op in found["schedule"]["step"]
                        if ".experts/" in op["label"])
            wanted_flops = wanted["ops"]["flops"]["step"]["grouped_matmul"]
            # Activations between the products add a little; where rows travel,
            # kernels that were joined are named by others of their parts.
            if mesh == "ep=1":
                self.assertGreaterEqual(flops, wanted_flops)
            self.assertLess(flops, 1.05 * wanted_flops)
            layers = json.loads(self.zc("inspect", gpu,
                                        "--json"))["experts"]["layers"]
            for layer in layers:
                self.assertEqual(layer["multiplied_over_rows"], 1)
                if mesh == "ep=1":
                    self.assertEqual(layer["room_over_rows"], 1)

    def test_experts_of_16_bits(self):
        """By the tensor cores: widths of multiples of 8."""
        for name in ("experts/mixtral", "experts/gpt_oss"):
            fixture = Fixture(name)
            expected = fixture.reference["optimizers"]["adamw"]["losses"][:4]
            for precision in ("bf16", "fp16"):
                artifact = self.artifact(name, "--precision", precision)
                self.zc(*self.command(name, artifact, 4), env=self.gpu)
                # bfloat16 has 8 bits, and losses of a few steps lose few more.
                np.testing.assert_allclose(
                    [line["loss"] for line in read_log(self.log)], expected,
                    rtol=1e-2)

    def test_experts(self):
        """On one GPU and on two that share experts; with less room, as on a
        CPU."""
        options = Fixture("experts/mixtral").compile_options("adamw")
        one = self.folder / "one.zca"
        limit = ["--moe-capacity", "1"]
        self.zc("compile", Fixture("experts/mixtral").model, "-o", one,
                *options, *limit)
        self.zc(*self.command("experts/mixtral", one, 10))
        limited = [line["loss"] for line in read_log(self.log)]
        for name in ("experts/mixtral", "experts/qwen", "experts/gpt_oss"):
            for ranks in ("1", "2"):
                with self.subTest(name=name, ranks=ranks):
                    artifact = self.artifact(name, "--mesh", f"ep={ranks}")
                    self.zc(*self.command(name, artifact, 10, "--local-ranks",
                                          ranks), env=self.gpu)
                    self.compare_losses(
                        read_log(self.log),
                        Fixture(name).reference["optimizers"]["adamw"])
        artifact = self.artifact("experts/mixtral", *limit)
        # Rows get their places all at once, not one after the other.
        self.assertNotIn("expert_slots",
                         self.zc("inspect", artifact, "--schedule"))
        self.zc(*self.command("experts/mixtral", artifact, 10), env=self.gpu)
        np.testing.assert_allclose(
            [line["loss"] for line in read_log(self.log)], limited, rtol=2e-6)


if __name__ == "__main__":
    unittest.main()
