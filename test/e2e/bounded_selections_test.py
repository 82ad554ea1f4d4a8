#!/usr/bin/env python3
"""NonZero, Compress and Unique, whose results are as long as values say, where
--dim says how long they can be."""
import unittest

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

from zctest import ZcTest, latest_step, load_tensors

FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
ROWS, WIDTH, MOST = 6, 4, 5


def draw(*shape, seed=0):
    rng = np.random.default_rng(seed + sum(shape))
    return rng.standard_normal(shape).astype(np.float32)


def make_model(nodes, inputs, kind, shape, stored=()):
    graph = helper.make_graph(
        nodes, "selection",
        [helper.make_tensor_value_info(
            name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
         for name, array in inputs.items()],
        [helper.make_tensor_value_info("y", kind, shape)],
        [numpy_helper.from_array(array, name)
         for name, array in dict(stored).items()])
    return helper.make_model(graph, ir_version=10, opset_imports=[
        helper.make_opsetid("", 20)])


def compute(model, inputs):
    return onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]).run(
            None, inputs)[0]


def node(op, inputs, output, **attributes):
    return helper.make_node(op, inputs, [output], name=f"n_{output}",
                            **attributes)


STORED = {"w": draw(WIDTH, 3), "zero": np.array([0]), "one": np.array([1]),
          "limit": np.float32([0.3])}
# The rows whose first element is large, through a layer, summed or averaged.
CHOSEN = [node("Slice", ["x", "zero", "one", "one"], "column"),
          node("Squeeze", ["column", "one"], "first"),
          node("Greater", ["first", "limit"], "chosen"),
          node("Compress", ["x", "chosen"], "rows", axis=0)]
LAYER = [node("MatMul", ["rows", "w"], "product"),
         node("Tanh", ["product"], "h")]


class BoundedSelections(ZcTest):
    def evaluate(self, model, inputs, *bounds):
        onnx.save(model, self.folder / "m.onnx")
        given = []
        for name, array in inputs.items():
            np.save(self.folder / f"{name}.npy", array)
            given += ["--input", f"{name}={self.folder / name}.npy",
                      "--batch-dim", f"{name}=none"]
        for bound in bounds:
            given += ["--dim", bound]
        self.zc("eval", self.folder / "m.onnx", *given, "--output-dir",
                self.folder / "out")
        return np.load(self.folder / "out" / "y.npy")

    def check(self, model, inputs, bound):
        np.testing.assert_allclose(self.evaluate(model, inputs, bound),
                                   compute(model, inputs), rtol=1e-5, atol=1e-6)

    def test_reductions(self):
        """Places that hold nothing count in none of them."""
        for op in ("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin",
                   "ReduceL2"):
            model = make_model(
                [*CHOSEN, *LAYER, node(op, ["h", "zero"], "y", keepdims=0)],
                {"x": draw(ROWS, WIDTH)}, FLOAT, [3], STORED)
            for seed in range(4):
                x = draw(ROWS, WIDTH, seed=seed)
                if 0 < (x[:, 0] > 0.3).sum() <= MOST:
                    with self.subTest(op=op, seed=seed):
                        self.check(model, {"x": x}, f"rows.0={MOST}")

    def test_places(self):
        """Elements by the places that NonZero finds, as PyTorch writes
        x[mask]."""
        nodes = [node("Greater", ["x", "limit"], "chosen"),
                 node("NonZero", ["chosen"], "found"),
                 node("Transpose", ["found"], "places", perm=[1, 0]),
                 node("GatherND", ["x", "places"], "values"),
                 node("Exp", ["values"], "powers"),
                 node("ReduceSum", ["powers", "zero"], "y", keepdims=0)]
        x = draw(ROWS, WIDTH)
        model = make_model(nodes, {"x": x}, FLOAT, [], STORED)
        self.check(model, {"x": x}, "found.1=20")

    def test_unique(self):
        for ordered in (0, 1):
            nodes = [helper.make_node(
                         "Unique", ["x"], ["kinds", "", "back", "counts"],
                         sorted=ordered, name="unique"),
                     node("Cast", ["kinds"], "numbers", to=FLOAT),
                     node("Cast", ["counts"], "weights", to=FLOAT),
                     node("Sqrt", ["weights"], "roots"),
                     node("Mul", ["numbers", "roots"], "terms"),
                     node("ReduceSum", ["terms", "zero"], "sum", keepdims=0),
                     node("Cast", ["back"], "order", to=FLOAT),
                     node("Add", ["order", "sum"], "y")]
            x = np.array([7, 2, 7, 3, 2, 7, 9, -1])
            model = make_model(nodes, {"x": x}, FLOAT, [8], STORED)
            self.check(model, {"x": x}, "kinds.0=6")

    def test_too_many_give_nan(self):
        model = make_model(
            [*CHOSEN, node("ReduceSum", ["rows", "zero"], "y", keepdims=0)],
            {"x": draw(ROWS, WIDTH)}, FLOAT, [WIDTH], STORED)
        x = np.ones((ROWS, WIDTH), np.float32)
        y = self.evaluate(model, {"x": x}, f"rows.0={MOST}")
        self.assertTrue(np.isnan(y).all())

    def test_too_many_are_not_counted_in_silence(self):
        """Integers cannot say that there is more: what is made of them does."""
        nodes = [node("NonZero", ["x"], "places"),
                 node("Sub", ["places", "places"], "zeros"),
                 node("Add", ["zeros", "one"], "ones"),
                 node("ReduceSum", ["ones", "one"], "counts", keepdims=0),
                 node("Cast", ["counts"], "numbers", to=FLOAT),
                 node("ReduceSum", ["x", "zero"], "sum", keepdims=0),
                 node("ReduceMax", ["numbers", "zero"], "most", keepdims=1),
                 node("Div", ["sum", "most"], "y")]
        x = np.ones((ROWS, WIDTH), np.float32)
        model = make_model(nodes, {"x": x}, FLOAT, [WIDTH], STORED)
        self.check(model, {"x": x}, f"places.1={ROWS * WIDTH}")
        y = self.evaluate(model, {"x": x}, f"places.1={MOST}")
        self.assertTrue(np.isnan(y).all())

    def test_trains(self):
        """Rows that were not chosen have no part in the gradient."""
        nodes = [*CHOSEN, *LAYER,
                 node("ReduceMean", ["h", "zero"], "mean", keepdims=1),
                 node("Expand", ["mean", "whole"], "y")]
        x, labels = draw(ROWS, WIDTH, seed=1), draw(ROWS, 3, seed=2)
        self.assertIn((x[:, 0] > 0.3).sum(), range(1, MOST + 1))
        model = make_model(nodes, {"x": x}, FLOAT, [ROWS, 3],
                           STORED | {"whole": np.array([ROWS, 3])})
        onnx.save(model, self.folder / "m.onnx")
        np.savez(self.folder / "data.npz", x=x, labels=labels)
        artifact = self.folder / "m.zca"
        self.zc("compile", self.folder / "m.onnx", "-o", artifact, "--loss",
                "mse", "--optimizer", "sgd", "--dim", f"rows.0={MOST}")
        self.train(artifact, self.folder / "data.npz", 1, "--checkpoint",
                   self.folder / "ckpt", "--no-shuffle", lr=1)
        w = np.float64(STORED["w"])
        chosen = np.float64(x[x[:, 0] > 0.3])
        h = np.tanh(chosen @ w)
        error = (h.mean(0) - np.float64(labels)).sum(0) * 2 / labels.size
        gradient = chosen.T @ ((1 - h ** 2) * error / len(chosen))
        after = load_tensors(latest_step(self.folder / "ckpt"))["w"]
        np.testing.assert_allclose(STORED["w"] - after, gradient, atol=1e-6)

    def train_weight(self, nodes, x, expected, bound):
        """Checks that one step moves the weight `s`, which is 1, as the loss's
        slope by the sum `total` says; `expected`: the sum and its slope."""
        nodes = [*nodes, node("ReduceSum", ["terms", "zero"], "total"),
                 node("Expand", ["total", "whole"], "y")]
        stored = STORED | {"s": np.float32([1]), "edge": np.float32([1]),
                           "half": np.float32([-0.5]),
                           "nil": np.float32([0]),
                           "whole": np.array([x.size])}
        model = make_model(nodes, {"x": x}, FLOAT, [x.size], stored)
        onnx.save(model, self.folder / "m.onnx")
        np.savez(self.folder / "data.npz", x=x, labels=np.zeros_like(x))
        artifact = self.folder / "m.zca"
        self.zc("compile", self.folder / "m.onnx", "-o", artifact, "--loss",
                "mse", "--optimizer", "sgd", "--train", "s", "--dim", bound)
        self.train(artifact, self.folder / "data.npz", 1, "--checkpoint",
                   self.folder / "ckpt", "--overwrite", "--no-shuffle", lr=1)
        after = load_tensors(latest_step(self.folder / "ckpt"))["s"]
        total, slope = expected
        np.testing.assert_allclose(1 - after, 2 * total * slope, rtol=1e-5)

    def test_places_without_values(self):
        """Where a function has no slope at what was not chosen, or at a filler
        such as 1, places that hold nothing have none of it."""
        x = np.float32([1, 0.2, 1, 0.5, 0.3, 1])
        held = x[x < 1]
        nodes = [node("Less", ["x", "edge"], "chosen"),
                 node("Compress", ["x", "chosen"], "p", axis=0),
                 node("Mul", ["p", "s"], "scaled"),
                 node("Sub", ["edge", "scaled"], "rest"),
                 node("Log", ["rest"], "terms")]
        expected = np.log(1 - held).sum(), (-held / (1 - held)).sum()
        self.train_weight(nodes, x, expected, "p.0=5")
        x = np.float32([0, 0.2, 0, 0.5, 0.3, 0])
        held = x[x > 0]
        nodes = [node("Cast", ["x"], "chosen", to=BOOL),
                 node("NonZero", ["chosen"], "found"),
                 node("Transpose", ["found"], "places", perm=[1, 0]),
                 node("GatherND", ["x", "places"], "p"),
                 node("Mul", ["p", "s"], "scaled"),
                 node("Log", ["scaled"], "terms")]
        expected = np.log(held).sum(), held.size
        self.train_weight(nodes, x, expected, "found.1=5")

    def test_nothing_is_found(self):
        """Then no place holds a value, and a sum of none is 0 whatever slope a
        function has where nothing is."""
        one = np.ones(6, np.float32)
        kept = [node("Less", ["x", "edge"], "chosen"),
                node("Compress", ["x", "chosen"], "p", axis=0),
                node("Mul", ["p", "s"], "scaled")]
        found = [node("Cast", ["x"], "chosen", to=BOOL),
                 node("NonZero", ["chosen"], "found"),
                 node("Transpose", ["found"], "places", perm=[1, 0]),
                 node("GatherND", ["x", "places"], "p"),
                 node("Mul", ["p", "s"], "scaled")]
        functions = {
            "Log": [node("Log", ["scaled"], "terms")],
            "Sqrt": [node("Sqrt", ["scaled"], "terms")],
            "Reciprocal": [node("Reciprocal", ["scaled"], "terms")],
            "Div": [node("Div", ["edge", "scaled"], "terms")],
            "Pow": [node("Pow", ["scaled", "half"], "terms")],
            # A base below 0 has no logarithm, and 0 divides nothing, though all
            # places share them.
            "Pow by": [node("Pow", ["half", "scaled"], "terms")],
            "Div by 0": [node("Div", ["scaled", "nil"], "terms")],
            "rest": [node("Sub", ["edge", "scaled"], "rest"),
                     node("Log", ["rest"], "terms")]}
        for name, function in functions.items():
            for bound, x, nodes in (("p.0=5", one, kept),
                                    ("found.1=5", 0 * one, found)):
                with self.subTest(function=name, bound=bound):
                    self.train_weight(nodes + function, x, (0, 0), bound)

    def test_counts_of_places_without_values(self):
        """Nothing is divided by how often a kind occurs that does not."""
        x = np.float32([3, 2, 3, 3, 2, 3])
        nodes = [helper.make_node("Unique", ["x"], ["kinds", "", "", "counts"],
                                  name="unique"),
                 node("Cast", ["counts"], "weights", to=FLOAT),
                 node("Mul", ["kinds", "s"], "scaled"),
                 node("Div", ["scaled", "weights"], "terms")]
        self.train_weight(nodes, x, (1.75, 1.75), "kinds.0=4")

    def test_refusals(self):
        """Refused are operators that would see places that are not there, and a
        selection without a bound."""
        model = make_model(
            [*CHOSEN, node("Softmax", ["rows"], "y", axis=0)],
            {"x": draw(ROWS, WIDTH)}, FLOAT, None, STORED)
        onnx.save(model, self.folder / "m.onnx")
        arguments = ["compile", self.folder / "m.onnx", "--mode", "infer", "-o",
                     self.folder / "m.zca"]
        self.fails(1, ["node 'n_y'", "'rows'", "--dim bounds it"],
                   *arguments, "--dim", f"rows.0={MOST}")
        self.fails(1, ["Compress", "'n_rows'", "--dim OUTPUT.K=SIZE"],
                   *arguments)


if __name__ == "__main__":
    unittest.main()
