#!/usr/bin/env python3
"""Rooms of experts against GShard's Algorithm 1: who finds none, values and
gradients."""
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import sharding_test
from moe_test import EXPERTS, Moe, load_weights, zc_moe_body
from zctest import ZcTest, read_log


def softmax(x):
    x = np.exp(x - x.max(-1, keepdims=True))
    return x / x.sum(-1, keepdims=True)


class Rooms(Moe):
    """GShard's Algorithm 1 in NumPy, forward and backward."""
    SAMPLES, LENGTH, HIDDEN, INNER, CHOSEN = 3, 16, 6, 5, 2

    def setUp(self):
        super().setUp()
        random = np.random.default_rng(7)
        self.weights = {
            "router": random.normal(size=(EXPERTS, self.HIDDEN)),
            "w1": random.normal(size=(EXPERTS, self.INNER, self.HIDDEN)),
            "w2": random.normal(size=(EXPERTS, self.HIDDEN, self.INNER))}
        # Experts are not alike frequent, so that some overflow.
        self.weights["router"][0] += 0.5
        shape = (self.SAMPLES, self.LENGTH, self.HIDDEN)
        self.x, self.target = random.normal(size=(2, *shape)) + [[[[0.3]]],
                                                                [[[0]]]]
        for name in self.weights:
            self.weights[name] = self.weights[name].astype(np.float32)
        self.x, self.target = (each.astype(np.float32)
                               for each in (self.x, self.target))

    def model(self):
        settings = zc_moe_body.Settings(
            top_k=self.CHOSEN, gate="topk-softmax", activation="relu", gated=0,
            normalize=0, balance="gshard", noisy=0, second="always", levels=0,
            top_groups=0, grouped=1)
        function = zc_moe_body.make_function("ai.zc", settings)
        node = helper.make_node("MoE", ["x", *self.weights],
                                ["y", "balance", "z"], domain="ai.zc",
                                overload=function.overload, **vars(settings))
        graph = helper.make_graph(
            [node], "layer", [helper.make_tensor_value_info(
                "x", TensorProto.FLOAT, self.x.shape)],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT,
                                           self.x.shape)],
            [numpy_helper.from_array(value, name)
             for name, value in self.weights.items()])
        path = self.folder / "layer.onnx"
        onnx.save(helper.make_model(
            graph, ir_version=10, functions=[function], opset_imports=[
                helper.make_opsetid("", zc_moe_body.OPSET),
                helper.make_opsetid("ai.zc", 1)]), path)
        return path

    def reference(self, capacity, group):
        """y, the gradients of the mean of (y - target)^2, how many rows found
        no room."""
        weights = {k: v.astype(np.float64) for k, v in self.weights.items()}
        x = self.x.reshape(-1, self.HIDDEN).astype(np.float64)
        logits = x @ weights["router"].T
        chosen = np.argsort(-logits, -1, kind="stable")[:, :self.CHOSEN]
        gates = softmax(np.take_along_axis(logits, chosen, -1))
        taken = np.zeros(chosen.shape, bool)
        for begin in range(0, len(x), group):
            counts = np.zeros(EXPERTS, int)
            for choice in range(self.CHOSEN):  # all first ones, then the second
                for token in range(begin, begin + group):
                    expert = chosen[token, choice]
                    taken[token, choice] = counts[expert] < capacity
                    counts[expert] += 1
        y, rows = np.zeros_like(x), {}
        for token, choice in zip(*np.nonzero(taken)):
            expert = chosen[token, choice]
            hidden = np.maximum(weights["w1"][expert] @ x[token], 0)
            rows[token, choice] = hidden, weights["w2"][expert] @ hidden
            y[token] += gates[token, choice] * rows[token, choice][1]
        dy = 2 * (y - self.target.reshape(y.shape)) / y.size
        grads = {name: np.zeros_like(value) for name, value in weights.items()}
        d_gates = np.zeros_like(gates)
        for (token, choice), (hidden, out) in rows.items():
            expert = chosen[token, choice]
            d_out = gates[token, choice] * dy[token]
            d_gates[token, choice] = dy[token] @ out
            grads["w2"][expert] += np.outer(d_out, hidden)
            d_hidden = (weights["w2"][expert].T @ d_out) * (hidden > 0)
            grads["w1"][expert] += np.outer(d_hidden, x[token])
        d_logits = gates * (d_gates - (gates * d_gates).sum(-1, keepdims=True))
        for token, choice in np.ndindex(*chosen.shape):
            grads["router"][chosen[token, choice]] += (
                d_logits[token, choice] * x[token])
        return y.reshape(self.x.shape), grads, int((~taken).sum())

    def check(self, factor, group, *options, ranks=1):
        """By one step of SGD at rate 1, whose change is the gradient."""
        rows = (group or self.LENGTH) * self.CHOSEN
        capacity = -(-int(rows * factor) // EXPERTS) if factor else rows
        y, grads, overflow = self.reference(capacity, group or self.LENGTH)
        limit = ["--moe-capacity", str(factor)] if factor else []
        limit += ["--moe-group", str(group)] if group else []
        artifact = self.artifact(self.model(), "--loss", "mse", "--optimizer",
                                 "sgd", *limit, *options)
        np.save(self.folder / "x.npy", self.x)
        if ranks == 1:
            self.zc("eval", artifact, "--input", f"x={self.folder / 'x.npy'}",
                    "--output-dir", self.folder)
            np.testing.assert_allclose(np.load(self.folder / "y.npy"), y,
                                       rtol=1e-5, atol=1e-5)
        data, checkpoint = self.folder / "data.npz", self.folder / "ckpt"
        np.savez(data, x=self.x, labels=self.target)
        self.losses(artifact, 1, 1, "--checkpoint", checkpoint, "--overwrite",
                    ranks=ranks, data=data)
        trained = load_weights(checkpoint)
        for name, grad in grads.items():
            np.testing.assert_allclose(self.weights[name] - trained[name], grad,
                                       rtol=1e-4, atol=3e-6, err_msg=name)
        line, = read_log(self.folder / "log.jsonl")
        self.assertEqual(line["moe_overflow"], overflow)
        return overflow

    def test_room_for_all(self):
        self.assertEqual(self.check(0, 0), 0)

    def test_overflow_is_gshards(self):
        some = self.check(1, 0)
        self.assertGreater(some, 0)
        self.assertGreater(self.check(0.5, 0), some)
        self.assertGreater(self.check(1, 4), 0)


class RoomsOfRanks(Rooms):
    SAMPLES = 4

    def test_room_for_all(self):
        self.assertEqual(self.check(0, 0, "--mesh", "ep=4", ranks=4), 0)

    def test_overflow_is_gshards(self):
        self.assertGreater(self.check(1, 8, "--mesh", "dp=2,ep=2", ranks=4), 0)


class RoomsInDouble(Rooms):
    """The same by the interpreter, which computes in float64, on one rank and on
    simulated ones."""
    SAMPLES = 4
    emit = sharding_test.Sharding.emit
    evaluate = sharding_test.Sharding.evaluate

    def check(self, factor, group, *mesh):
        capacity = self.LENGTH * self.CHOSEN
        limit = []
        if factor:
            rows = (group or self.LENGTH) * self.CHOSEN
            capacity = -(-int(rows * factor) // EXPERTS)
            limit = ["--moe-capacity", str(factor)]
        if group:
            limit += ["--moe-group", str(group)]
        y, grads, overflow = self.reference(capacity, group or self.LENGTH)
        what = "sharded" if mesh else "step"
        module = self.emit(self.model(), what, "--loss", "mse", "--optimizer",
                           "sgd", *limit, *mesh)
        found = self.evaluate(module, "step", {
            **self.weights, "x": self.x, "labels": self.target, "lr": 1.0,
            "optimizer.step": 0})
        module.with_suffix(".step").rename(
            self.folder / f"done{len(list(self.folder.iterdir()))}")
        loss = ((y - self.target.astype(np.float64)) ** 2).mean()
        np.testing.assert_allclose(found["loss"], loss, rtol=1e-12)
        for name, grad in grads.items():
            np.testing.assert_allclose(
                self.weights[name] - found[name], grad, rtol=0,
                atol=1e-12 * max(1, np.abs(grad).max()), err_msg=name)
        return overflow

    def test_room_for_all(self):
        for mesh in ((), ("--mesh", "ep=4"), ("--mesh", "dp=2,ep=2")):
            with self.subTest(mesh=mesh):
                self.assertEqual(self.check(0, 0, *mesh), 0)

    def test_overflow_is_gshards(self):
        for mesh in ((), ("--mesh", "ep=2"), ("--mesh", "dp=2,ep=2")):
            with self.subTest(mesh=mesh):
                some = self.check(1, 0, *mesh)
                self.assertGreater(some, 0)
                self.assertGreater(self.check(0.5, 0, *mesh), some)
                self.assertGreater(self.check(1, 4, *mesh), 0)


class Places(ZcTest):
    """Running sums of rows give the places that a loop over rows does."""
    evaluate = sharding_test.Sharding.evaluate
    GROUPS, ROWS, CAPACITY, CHOICES = 3, 14, 3, 2

    def module(self, name):
        rows, places = self.ROWS, EXPERTS * self.CAPACITY
        types = [f"tensor<{self.GROUPS}x{each}xi32>"
                 for each in (rows, places, EXPERTS)]
        groups = f"tensor<{self.GROUPS}x{rows}xi64>"
        outputs = ", ".join(f'{each} {{train.output = "{output}"}}' for
                            each, output in zip(types, ("s", "r", "c")))
        path = self.folder / name
        path.write_text(
            f'func.func @step(%g: {groups} {{train.input = "g"}}) -> '
            f"({outputs}) {{\n%s, %r, %c = train.expert_slots %g {{experts = "
            f"{EXPERTS} : i64, capacity = {self.CAPACITY} : i64, choices = "
            f"{self.CHOICES} : i64}} : ({groups}) -> ({', '.join(types)})\n"
            f"return %s, %r, %c : {', '.join(types)}\n}}\n")
        return path

    def test_running_sums(self):
        loop, sums = self.module("loop.mlir"), self.folder / "sums.mlir"
        self.zc(loop, "--zc-spread-expert-slots", "-o", sums, tool="zc-opt")
        self.assertNotIn("train.expert_slots", sums.read_text())
        # Numbers that are no expert's, too.
        groups = np.random.default_rng(6).integers(
            -1, EXPERTS + 1, (self.GROUPS, self.ROWS))
        expected = self.evaluate(loop, "step", {"g": groups})
        found = self.evaluate(sums, "step", {"g": groups})
        self.assertEqual(set(found), {"s", "r", "c"})
        self.assertGreater((expected["c"] > self.CAPACITY).sum(), 0)
        for name, value in expected.items():
            np.testing.assert_array_equal(found[name], value, name)


if __name__ == "__main__":
    unittest.main()
