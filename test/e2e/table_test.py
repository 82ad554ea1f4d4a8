#!/usr/bin/env python3
"""A large embedding's gradient: what is trained equals dense formulas in double
precision, and no gradient of the table's size is in the plan."""
import json
import unittest

import numpy as np
from onnx import TensorProto, helper, numpy_helper, save

from zctest import ZcTest, load_tensors, latest_step, read_log

ROWS, WIDTH, BATCH, STEPS, RATE = 16000, 32, 24, 4, 0.01
TABLE = ROWS * WIDTH * 4
CLIP = 0.05


def make_model(path, rng):
    weights = {"table": rng.standard_normal((ROWS, WIDTH)).astype(np.float32),
               "w": rng.standard_normal((WIDTH, 1)).astype(np.float32)}
    graph = helper.make_graph(
        [helper.make_node("Gather", ["table", "ids"], ["e"], axis=0),
         helper.make_node("MatMul", ["e", "w"], ["y"])], "table",
        [helper.make_tensor_value_info("ids", TensorProto.INT64, (BATCH,))],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, (BATCH, 1))],
        [numpy_helper.from_array(value, name)
         for name, value in weights.items()])
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)],
                           ir_version=9), path)
    return {name: value.astype(np.float64) for name, value in weights.items()}


def dense_gradients(weights, ids, labels):
    read = weights["table"][ids]
    error = 2 * (read @ weights["w"] - labels) / BATCH
    table = np.zeros((ROWS, WIDTH))
    np.add.at(table, ids, error @ weights["w"].T)
    return {"table": table, "w": read.T @ error}


def sgd(weights, gradients, moments, step):
    for name, gradient in gradients.items():
        weights[name] -= RATE * gradient


def adamw(weights, gradients, moments, step):
    for name, gradient in gradients.items():
        first, second = moments.setdefault(
            name, [np.zeros_like(gradient), np.zeros_like(gradient)])
        first += 0.1 * (gradient - first)
        second += 0.001 * (gradient ** 2 - second)
        root = np.sqrt(second / (1 - 0.999 ** step)) + 1e-8
        weights[name] *= 1 - RATE * 0.01
        weights[name] -= RATE * first / (1 - 0.9 ** step) / root


class Table(ZcTest):

    def setUp(self):
        super().setUp()
        rng = np.random.default_rng(0)
        self.weights = make_model(self.folder / "model.onnx", rng)
        # Some rows are read twice, some from the end.
        self.ids = rng.integers(-ROWS, ROWS, STEPS * BATCH)
        self.ids[::3] = 7
        self.labels = rng.standard_normal((STEPS * BATCH, 1)).astype(np.float32)
        self.data = self.folder / "data.npz"
        np.savez(self.data, ids=self.ids, labels=self.labels)

    def check(self, update, clip, *options):
        """Trains both ways; the bytes in the plan beside the states."""
        artifact, log = self.folder / "a.zca", self.folder / "log.jsonl"
        self.zc("compile", self.folder / "model.onnx", "-o", artifact, "--loss",
                "mse", *options)
        self.train(artifact, self.data, STEPS, "--no-shuffle", "--log", log,
                   "--checkpoint", self.folder / "ckpt", "--overwrite",
                   lr=RATE)
        moments, norms = {}, []
        for step in range(STEPS):
            part = slice(step * BATCH, (step + 1) * BATCH)
            gradients = dense_gradients(self.weights, self.ids[part],
                                        self.labels[part])
            norms.append(np.sqrt(sum((g ** 2).sum()
                                     for g in gradients.values())))
            factor = min(1, clip / (norms[-1] + 1e-6))
            gradients = {name: g * factor for name, g in gradients.items()}
            update(self.weights, gradients, moments, step + 1)
        # 24 sums of float32 a value, or 16000 squares a norm.
        np.testing.assert_allclose(
            [line["grad_norm"] for line in read_log(log)], norms, rtol=2e-6)
        trained = load_tensors(latest_step(self.folder / "ckpt"))
        for name, expected in self.weights.items():
            np.testing.assert_allclose(trained[name], expected, rtol=2e-6,
                                       atol=2e-6)
        memory = json.loads(self.zc("inspect", artifact, "--memory", "--json"))
        return memory["memory"]["peak"] - (1 + 2 * (update is adamw)) * TABLE

    def test_sgd(self):
        self.assertLess(self.check(sgd, np.inf, "--optimizer", "sgd"), TABLE / 4)

    def test_adamw(self):
        self.assertLess(self.check(adamw, np.inf), TABLE / 4)

    def test_clipped(self):
        self.assertLess(self.check(adamw, CLIP, "--clip-norm", CLIP), TABLE / 4)

    def test_micro_batches(self):
        """Accumulated gradients stay dense."""
        self.assertGreaterEqual(
            self.check(adamw, np.inf, "--accumulate", "2"), TABLE)


if __name__ == "__main__":
    unittest.main()
