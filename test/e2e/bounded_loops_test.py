#!/usr/bin/env python3
"""Loops whose number of rounds depends on values, bounded by --max-trips."""
import unittest

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

from zctest import ZcTest, load_tensors, latest_step, read_log

FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
ROWS, WIDTH, MOST = 4, 3, 6


def info(name, kind, shape):
    return helper.make_tensor_value_info(name, kind, shape)


def scalar(name, value):
    return numpy_helper.from_array(np.array(value), name)


def body(by_count):
    """a -> tanh(a w); the largest of |a| decides whether it goes on. It stacks
    what every round makes. The limit is an initializer of the body."""
    nodes = [helper.make_node("MatMul", ["a", "w"], ["product"]),
             helper.make_node("Tanh", ["product"], ["b"]),
             helper.make_node("Identity", ["b"], ["row"])]
    if by_count:
        nodes.append(helper.make_node("Identity", ["go"], ["on"]))
    else:
        nodes += [helper.make_node("Abs", ["b"], ["size"]),
                  helper.make_node("ReduceMax", ["size"], ["most"],
                                   keepdims=1),
                  helper.make_node("Reshape", ["most", "one"], ["flat"]),
                  helper.make_node("Greater", ["flat", "limit"], ["on"])]
    return helper.make_graph(
        nodes, "body", [info("i", INT64, []), info("go", BOOL, []),
                        info("a", FLOAT, [ROWS, WIDTH])],
        [info("on", BOOL, None), info("b", FLOAT, [ROWS, WIDTH]),
         info("row", FLOAT, [ROWS, WIDTH])],
        [numpy_helper.from_array(np.float32([0.2]), "limit"),
         numpy_helper.from_array(np.array([1]), "one")])


def make_model(by_count=False, stacked=True):
    weight = np.random.default_rng(1).standard_normal(
        (WIDTH, WIDTH)).astype(np.float32) * 0.5
    given = ["n", ""] if by_count else ["", "yes"]
    nodes = [helper.make_node("Loop", [*given, "x"], ["end", "rows"],
                              name="loop", body=body(by_count)),
             helper.make_node("ReduceSum", ["rows", "first"], ["sum"],
                              keepdims=0),
             helper.make_node("Add" if stacked else "Identity",
                              ["end", "sum"] if stacked else ["end"], ["y"])]
    inputs = [info("x", FLOAT, [ROWS, WIDTH])]
    if by_count:
        inputs.append(info("n", INT64, []))
    graph = helper.make_graph(
        nodes, "loop", inputs, [info("y", FLOAT, [ROWS, WIDTH])],
        [numpy_helper.from_array(weight, "w"), scalar("yes", True),
         numpy_helper.from_array(np.array([0]), "first")])
    return helper.make_model(graph, ir_version=10, opset_imports=[
        helper.make_opsetid("", 20)])


def compute(model, **inputs):
    return onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]).run(
            None, inputs)[0]


def draw(size, seed=0):
    rng = np.random.default_rng(seed)
    return (rng.standard_normal((ROWS, WIDTH)) * size).astype(np.float32)


def make_counter(nodes, state, stacked=False):
    """A Loop that carries a number from `start` on; y = x times what it ends
    with, or times the sum of what it stacks. After each round goes on by
    `on`."""
    outputs = [info("on", BOOL, []), info("b", state, [])]
    if stacked:
        outputs.append(info("row", FLOAT, []))
    inner = helper.make_graph(
        nodes, "body", [info("i", INT64, []), info("go", BOOL, []),
                        info("a", state, [])], outputs)
    made = ["end", "rows"] if stacked else ["end"]
    kind = np.float32 if state == FLOAT else np.int64
    graph = helper.make_graph(
        [helper.make_node("ReduceSum", ["x"], ["total"], keepdims=0),
         helper.make_node("Loop", ["", "yes", "start"], made, name="loop",
                          body=inner),
         helper.make_node("Cast", ["end"], ["number"], to=FLOAT),
         helper.make_node("ReduceSum", ["rows" if stacked else "number"],
                          ["factor"], keepdims=0),
         helper.make_node("Mul", ["x", "factor"], ["y"])],
        "counter", [info("x", FLOAT, [ROWS, WIDTH])],
        [info("y", FLOAT, [ROWS, WIDTH])],
        [scalar("yes", True), scalar("start", kind(0)),
         scalar("step", kind(1))])
    return helper.make_model(graph, ir_version=10, opset_imports=[
        helper.make_opsetid("", 20)])


class BoundedLoops(ZcTest):
    def evaluate(self, model, *options, **inputs):
        onnx.save(model, self.folder / "m.onnx")
        given = []
        for name, array in inputs.items():
            np.save(self.folder / f"{name}.npy", array)
            given += ["--input", f"{name}={self.folder / name}.npy"]
        self.zc("eval", self.folder / "m.onnx", *given, "--batch-dim",
                "x=none", "--max-trips", MOST, *options, "--output-dir",
                self.folder / "out")
        return np.load(self.folder / "out" / "y.npy")

    def test_ends_by_condition(self):
        """Different data make different numbers of rounds."""
        model = make_model()
        rounds = set()
        for size in (0.01, 0.5, 1, 4):
            x = draw(size)
            theirs = compute(model, x=x)
            np.testing.assert_allclose(self.evaluate(model, x=x), theirs,
                                       rtol=1e-5, atol=1e-6)
            rounds.add(float(np.abs(theirs).sum()))
        self.assertEqual(len(rounds), 4)

    def test_ends_by_count(self):
        model = make_model(by_count=True)
        x = draw(1)
        for count in (0, 1, 3, MOST):
            n = np.array(count)
            theirs = compute(model, x=x, n=n)
            np.testing.assert_allclose(
                self.evaluate(model, "--batch-dim", "n=none", x=x, n=n),
                theirs, rtol=1e-5, atol=1e-6)

    def test_too_few_rounds_give_nan(self):
        model = make_model(by_count=True, stacked=False)
        y = self.evaluate(model, "--batch-dim", "n=none", x=draw(1),
                          n=np.array(MOST + 1))
        self.assertTrue(np.isnan(y).all())

    def test_too_few_rounds_of_integers_give_nan(self):
        """Also where only what the rounds stack is used."""
        nodes = [helper.make_node("Add", ["a", "step"], ["b"]),
                 helper.make_node("Cast", ["b"], ["row"], to=FLOAT),
                 helper.make_node("Less", ["row", "total"], ["on"])]
        for stacked in (False, True):
            model = make_counter(nodes, INT64, stacked)
            for total, fits in ((MOST - 1.5, True), (MOST + 1.5, False)):
                x = np.full((ROWS, WIDTH), total / ROWS / WIDTH, np.float32)
                y = self.evaluate(model, x=x)
                if fits:
                    np.testing.assert_allclose(y, compute(model, x=x),
                                               rtol=1e-5)
                else:
                    self.assertTrue(np.isnan(y).all())

    def test_all_rounds_of_a_known_count_are_enough(self):
        model = make_model(stacked=False)
        model.graph.initializer.append(scalar("count", MOST))
        model.graph.node[0].input[0] = "count"
        x = draw(100)  # goes on to the end
        np.testing.assert_allclose(self.evaluate(model, x=x),
                                   compute(model, x=x), rtol=1e-5, atol=1e-6)

    def test_rounds_behind_the_end_have_no_gradient(self):
        """There, the body divides by 0."""
        inner = helper.make_graph(
            [helper.make_node("Sub", ["total", "a"], ["left"]),
             helper.make_node("Div", ["w", "left"], ["share"]),
             helper.make_node("Add", ["s", "share"], ["t"]),
             helper.make_node("Add", ["a", "step"], ["b"]),
             helper.make_node("Less", ["b", "total"], ["on"])], "body",
            [info("i", INT64, []), info("go", BOOL, []), info("a", FLOAT, []),
             info("s", FLOAT, [WIDTH])],
            [info("on", BOOL, []), info("b", FLOAT, []),
             info("t", FLOAT, [WIDTH])])
        graph = helper.make_graph(
            [helper.make_node("ReduceMax", ["x"], ["total"], keepdims=0),
             helper.make_node("Loop", ["", "yes", "start", "sum"],
                              ["end", "shares"], name="loop", body=inner),
             helper.make_node("Mul", ["x", "shares"], ["y"])], "divides",
            [info("x", FLOAT, [ROWS, WIDTH])], [info("y", FLOAT, [ROWS, WIDTH])],
            [scalar("yes", True), scalar("start", np.float32(0)),
             scalar("step", np.float32(1)),
             scalar("sum", np.zeros(WIDTH, np.float32)),
             scalar("w", np.ones(WIDTH, np.float32))])
        onnx.save(helper.make_model(graph, ir_version=10, opset_imports=[
            helper.make_opsetid("", 20)]), self.folder / "m.onnx")
        x = np.full((ROWS, WIDTH), 3, np.float32)
        np.savez(self.folder / "data.npz", x=x, labels=0 * x)
        found = []
        for most in (3, MOST):
            artifact, log = self.folder / "m.zca", self.folder / f"log{most}"
            self.zc("compile", self.folder / "m.onnx", "-o", artifact, "--loss",
                    "mse", "--optimizer", "sgd", "--max-trips", most)
            self.train(artifact, self.folder / "data.npz", 3, "--no-shuffle",
                       "--log", log, lr=0.01)
            found.append([line["loss"] for line in read_log(log)])
        self.assertLess(found[0][-1], found[0][0])
        np.testing.assert_allclose(*found, rtol=1e-6)

    def test_trains(self):
        """The gradient is that of the rounds that were made."""
        model = make_model()
        x, labels = draw(1), draw(1, 5)
        onnx.save(model, self.folder / "m.onnx")
        np.savez(self.folder / "data.npz", x=x, labels=labels)
        artifact = self.folder / "m.zca"
        self.zc("compile", self.folder / "m.onnx", "-o", artifact, "--loss",
                "mse", "--optimizer", "sgd", "--max-trips", MOST)
        self.train(artifact, self.folder / "data.npz", 1, "--checkpoint",
                   self.folder / "ckpt", "--log", self.folder / "log",
                   "--no-shuffle", lr=1)
        before = numpy_helper.to_array(model.graph.initializer[0])
        loss = lambda w: self.loss(x, w, labels)
        self.assertAlmostEqual(read_log(self.folder / "log")[0]["loss"],
                               loss(before), places=5)
        ours = before - load_tensors(latest_step(self.folder / "ckpt"))["w"]
        for place in np.ndindex(WIDTH, WIDTH):
            step = np.zeros((WIDTH, WIDTH))
            step[place] = 1e-6
            slope = (loss(before + step) - loss(before - step)) / 2e-6
            self.assertAlmostEqual(ours[place], slope, places=4)

    def loss(self, x, w, labels):
        """In float64, by NumPy."""
        a, total, goes_on = np.float64(x), 0, True
        while goes_on:
            a = np.tanh(a @ np.float64(w))
            total = total + a
            goes_on = np.abs(a).max() > np.float32(0.2)
        return ((a + total - labels) ** 2).mean()

    def test_unbounded_is_refused(self):
        onnx.save(make_model(), self.folder / "m.onnx")
        self.fails(1, ["node 'loop'", "--max-trips N"], "compile",
                   self.folder / "m.onnx", "--loss", "mse", "-o",
                   self.folder / "m.zca")


if __name__ == "__main__":
    unittest.main()
