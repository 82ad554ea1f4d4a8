#!/usr/bin/env python3
"""Dropout inside of experts with a ratio of its own (Switch's: 0.4 there, 0.1
elsewhere): each row's is drawn for its token and choice, wherever it is."""
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from zctest import ZcTest, read_log

SAMPLES, LENGTH, HIDDEN, INNER, EXPERTS, CHOSEN, STEPS = 4, 16, 8, 12, 4, 2, 12
TOKENS = SAMPLES * LENGTH
RATIOS = {"inside": 0.4, "outside": 0.1}


class Dropout(ZcTest):
    def nodes(self):
        add = helper.make_node
        return [
            add("Reshape", ["x", "flat"], ["tokens"]),
            add("MatMul", ["tokens", "router"], ["logits"]),
            add("TopK", ["logits", "k"], ["best", "chosen"], axis=-1),
            add("Softmax", ["best"], ["weights"], axis=-1),
            add("Unsqueeze", ["tokens", "rows"], ["token_rows"]),
            add("Expand", ["token_rows", "spread"], ["entering"]),
            add("Gather", ["w1", "chosen"], ["up"]),
            add("MatMul", ["entering", "up"], ["hidden"]),
            add("Sigmoid", ["hidden"], ["active"]),
            add("Dropout", ["active", "ratio_inside", "training"], ["kept"]),
            add("Gather", ["w2", "chosen"], ["down"]),
            add("MatMul", ["kept", "down"], ["leaving"]),
            add("Squeeze", ["leaving", "third"], ["each"]),
            add("Unsqueeze", ["weights", "third"], ["gates"]),
            add("Mul", ["each", "gates"], ["weighed"]),
            add("ReduceSum", ["weighed", "second"], ["sum"], keepdims=0),
            add("Sigmoid", ["sum"], ["bounded"]),
            add("Dropout", ["bounded", "ratio_outside", "training"],
                ["left"]),
            add("Reshape", ["left", "whole"], ["y"])]

    def model(self, outputs=("y",), *more):
        random = np.random.default_rng(2)
        weights = {"router": (HIDDEN, EXPERTS), "w1": (EXPERTS, HIDDEN, INNER),
                   "w2": (EXPERTS, INNER, HIDDEN)}
        numbers = {name: random.normal(size=shape).astype(np.float32)
                   for name, shape in weights.items()}
        numbers.update({
            "flat": np.array([-1, HIDDEN]),
            "whole": np.array([-1, LENGTH, HIDDEN]), "k": np.array([CHOSEN]),
            "rows": np.array([1, 2]), "second": np.array([1]),
            "third": np.array([2]), "spread": np.array([1, CHOSEN, 1, 1]),
            "training": np.array(True)})
        for name, ratio in RATIOS.items():
            numbers[f"ratio_{name}"] = np.array(ratio, np.float32)
        graph = helper.make_graph(
            [*self.nodes(), *more], "layer", [helper.make_tensor_value_info(
                "x", TensorProto.FLOAT, (SAMPLES, LENGTH, HIDDEN))],
            [helper.make_tensor_value_info(name, TensorProto.FLOAT, None)
             for name in outputs],
            [numpy_helper.from_array(value, name)
             for name, value in numbers.items()])
        path = self.folder / "model.onnx"
        onnx.save(helper.make_model(graph, ir_version=10, opset_imports=[
            helper.make_opsetid("", 20)]), path)
        random = np.random.default_rng(3)
        self.data = self.folder / "data.npz"
        x, labels = random.normal(size=(2, SAMPLES, LENGTH, HIDDEN)).astype(
            np.float32)
        np.savez(self.data, x=x, labels=labels)
        return path

    def losses(self, model, *options, ranks=1, lr=0.5):
        artifact, log = self.folder / "m.zca", self.folder / "log.jsonl"
        self.zc("compile", model, "-o", artifact, "--optimizer", "sgd",
                *options)
        self.train(artifact, self.data, STEPS, "--no-shuffle", "--log", log,
                   "--local-ranks", ranks, lr=lr)
        return np.array([line["loss"] for line in read_log(log)])

    def test_the_same_everywhere(self):
        model = self.model()
        step = self.folder / "step.mlir"
        self.zc("compile", model, "--loss", "mse", "--emit", "step", "-o", step)
        self.assertIn("train.grouped_matmul_grad", step.read_text())
        alone = self.losses(model, "--loss", "mse")
        off = self.losses(model, "--loss", "mse", "--dropout", "off")
        self.assertGreater(np.abs(alone - off).max(), 1e-3)
        for ranks, *options in ((1, "--recompute", "full"),
                                (2, "--mesh", "dp=2"), (2, "--mesh", "ep=2"),
                                (4, "--mesh", "dp=2,ep=2", "--zero", "3")):
            with self.subTest(options=options):
                np.testing.assert_allclose(
                    self.losses(model, "--loss", "mse", *options, ranks=ranks),
                    alone, rtol=2e-6)

    def test_ratios(self):
        """The shares of what is dropped, within three sigma."""
        for name, value, count in (("inside", "kept", CHOSEN * INNER),
                                   ("outside", "left", HIDDEN)):
            add = helper.make_node
            model = self.model(
                ["loss"], add("Sub", [value, value], ["nothing"]),
                add("Equal", [value, "nothing"], ["is_dropped"]),
                add("Cast", ["is_dropped"], ["dropped"], to=TensorProto.FLOAT),
                add("Add", ["dropped", "nothing"], ["all"]),
                add("ReduceMean", ["all"], ["loss"], keepdims=0))
            shares = self.losses(model, "--loss", "none", lr=0)
            ratio, drawn = RATIOS[name], STEPS * TOKENS * count
            sigma = (ratio * (1 - ratio) / drawn) ** 0.5
            self.assertLess(abs(shares.mean() - ratio), 3 * sigma, name)


if __name__ == "__main__":
    unittest.main()
