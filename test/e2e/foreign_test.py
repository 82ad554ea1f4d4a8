#!/usr/bin/env python3
"""Files as people have them: weights inside branches and loops, sparse ones,
dims without names, nodes out of order, operators of old opsets."""
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from small_models import LABELS, SmallModels, X, constant, drawn
from zctest import read_log, run

FLOAT = TensorProto.FLOAT


def body(nodes, inputs, outputs, initializers):
    value = helper.make_tensor_value_info
    return helper.make_graph(
        nodes, "body", [value(*each) for each in inputs],
        [value(*each) for each in outputs],
        [numpy_helper.from_array(a, n) for n, a in initializers.items()])


class Foreign(SmallModels):

    def outputs(self, model, x=X[:4], *options, output="y"):
        np.save(self.folder / "x.npy", x)
        self.zc("eval", model, "--input", f"x={self.folder / 'x.npy'}",
                "--output-dir", self.folder / "o", *options)
        return np.load(self.folder / "o" / f"{output}.npy")


class Subgraphs(Foreign):
    """Tensors that a branch or a body stores are trained, and exported, as
    those that stand around it."""

    W = drawn({"w": (5, 5)})["w"]

    def same_as_outside(self, inner, outside, shape=(4, 5)):
        labels = np.ones((8, *shape[1:]), np.float32)
        plain = self.save("plain.onnx", outside, {"w": self.W},
                          outputs={"y": shape})
        model = self.save("m.onnx", inner, {}, outputs={"y": shape})
        expected = self.trained(self.compiled(plain)[0], X, labels)
        artifact, _ = self.compiled(model)
        losses, found = self.trained(artifact, X, labels)
        np.testing.assert_allclose(losses, expected[0], 1e-6)
        self.assertEqual(set(found), {"w"})
        np.testing.assert_allclose(found["w"], expected[1]["w"], 1e-5, 1e-6)
        exported, _ = self.exported(artifact, X[:4])
        graphs = [a.g for node in exported.graph.node for a in node.attribute
                  if a.HasField("g")]
        tensors = [t for g in graphs for t in g.initializer]
        np.testing.assert_array_equal(numpy_helper.to_array(tensors[0]),
                                      found["w"])

    def test_a_branch(self):
        product = helper.make_node("MatMul", ["x", "w"], ["p"])
        then = body([product], [], [("p", FLOAT, (4, 5))], {"w": self.W})
        other = body([helper.make_node("Identity", ["x"], ["q"])], [],
                     [("q", FLOAT, (4, 5))], {})
        self.same_as_outside(
            [constant("c", np.array(True)),
             helper.make_node("If", ["c"], ["y"], then_branch=then,
                              else_branch=other)],
            [("MatMul", ["x", "w"], "y")])

    def test_a_loop_has_one_tensor_in_all_rounds(self):
        loop = body([helper.make_node("MatMul", ["s", "w"], ["t"]),
                     helper.make_node("Identity", ["go"], ["on"])],
                    [("i", TensorProto.INT64, ()), ("go", TensorProto.BOOL, ()),
                     ("s", FLOAT, (4, 5))],
                    [("on", TensorProto.BOOL, ()), ("t", FLOAT, (4, 5))],
                    {"w": self.W})
        self.same_as_outside(
            [constant("n", np.array(2)), constant("c", np.array(True)),
             helper.make_node("Loop", ["n", "c", "x"], ["y"], body=loop)],
            [("MatMul", ["x", "w"], "h"), ("MatMul", ["h", "w"], "y")])

    def test_a_scan(self):
        scan = body([helper.make_node("Unsqueeze", ["r", "axis"], ["u"]),
                     helper.make_node("MatMul", ["u", "w"], ["v"]),
                     helper.make_node("Squeeze", ["v", "axis"], ["z"])],
                    [("r", FLOAT, (5,))], [("z", FLOAT, (5,))],
                    {"w": self.W, "axis": np.array([0])})
        self.same_as_outside(
            [helper.make_node("Scan", ["x"], ["y"], body=scan,
                              num_scan_inputs=1)],
            [("MatMul", ["x", "w"], "y")])


class Tensors(Foreign):

    def test_sparse_initializers(self):
        dense = np.zeros((5, 3), np.float32)
        dense[1, 2], dense[4, 0] = 1.5, -2.0
        path = self.save("m.onnx", [("MatMul", ["x", "w"], "y")], {})
        for indices in ([[1, 2], [4, 0]], [5, 12]):
            model = onnx.load(path)
            values = numpy_helper.from_array(
                np.array([1.5, -2.0], np.float32), "w")
            places = numpy_helper.from_array(np.array(indices), "places")
            model.graph.ClearField("sparse_initializer")
            model.graph.sparse_initializer.append(
                helper.make_sparse_tensor(values, places, [5, 3]))
            onnx.save(model, path)
            np.testing.assert_allclose(self.outputs(path), X[:4] @ dense, 1e-6)
        artifact, out = self.compiled(path)
        self.assertIn("trains 15 parameters in 1 tensor\n", out)
        self.trained(artifact, X, LABELS)
        self.exported(artifact, X[:4])

    def test_nodes_out_of_order(self):
        weights = drawn({"w": (5, 4), "b": (4,), "u": (4, 3)})
        nodes = [("MatMul", ["x", "w"], "a"), ("Add", ["a", "b"], "c"),
                 ("Relu", ["c"], "d"), ("MatMul", ["d", "u"], "y")]
        path = self.save("m.onnx", nodes[::-1], weights)
        expected = np.maximum(X[:4] @ weights["w"] + weights["b"], 0)
        np.testing.assert_allclose(self.outputs(path), expected @ weights["u"],
                                   1e-5, 1e-6)

    def test_a_circle_is_refused(self):
        path = self.save("m.onnx", [("Add", ["x", "b"], "a"),
                                    ("Relu", ["a"], "b"),
                                    ("Relu", ["b"], "y")], {},
                         outputs={"y": (4, 5)})
        self.fails(1, ["refused by ONNX's checker"], "compile", path, "-o",
                   self.folder / "a.zca", "--loss", "mse")

    def test_outputs_without_a_shape_and_with_a_stale_one(self):
        path = self.save("m.onnx", [("MatMul", ["x", "w"], "y")],
                         drawn({"w": (5, 3)}), outputs={"y": None})
        artifact, _ = self.compiled(path)
        self.trained(artifact, X, LABELS)
        model, _ = self.exported(artifact, X[:4])
        onnx.checker.check_model(model)
        path = self.save("m.onnx", [("MatMul", ["x", "w"], "y")],
                         drawn({"w": (5, 3)}), outputs={"y": (4, 7)})
        code, _, err = run("compile", path, "-o", artifact, "--loss", "mse")
        self.assertEqual(code, 0, err)
        self.assertRegex(err, r"warning.*declared as float\[4, 7\]")

    def test_the_unused_mask_of_an_old_dropout(self):
        path = self.save("m.onnx", [
            ("MatMul", ["x", "w"], "a"),
            helper.make_node("Dropout", ["a"], ["y", "mask"], ratio=0.5)],
            drawn({"w": (5, 3)}), opset=9, ir_version=4)
        np.testing.assert_allclose(self.outputs(path),
                                   X[:4] @ drawn({"w": (5, 3)})["w"], 1e-5)


class Dims(Foreign):

    def model(self, *dims):
        nodes = [("Reshape", ["x", "s"], "r"), ("MatMul", ["r", "w"], "y")]
        return self.save("m.onnx", nodes,
                         {**drawn({"w": (6, 3)}), "s": np.array([-1, 6])},
                         inputs={"x": list(dims)}, outputs={"y": [dims[0], 3]})

    def test_unnamed_dims_are_bound_by_place(self):
        for first in (-1, None, "n"):
            _, out = self.compiled(self.model(first, 2, 3), "--dim", "x.0=8")
            self.assertIn("batch of 8\n", out)
        self.fails(1, [r"'x.0' \(dim 0 of input 'x'\).*--dim x.0=SIZE"],
                   "compile", self.model(-1, 2, 3), "-o",
                   self.folder / "a.zca", "--loss", "mse")
        self.fails(1, ["gives 'n' 4, and x.0"], "compile",
                   self.model("n", 2, 3), "-o", self.folder / "a.zca",
                   "--loss", "mse", "--dim", "x.0=8", "--dim", "n=4")

    def test_batch_of_any_model(self):
        for first in (-1, None, "n", 4):
            _, out = self.compiled(self.model(first, 2, 3), "--batch", 8)
            self.assertIn("batch of 8\n", out)

    def test_batch_where_shapes_are_numbers(self):
        """As PyTorch exports attention with a fixed batch of 2."""
        nodes = [("Reshape", ["x", "split"], "s"),
                 ("Transpose", ["s"], "t", ("perm", [0, 2, 1, 3])),
                 ("Transpose", ["s"], "k", ("perm", [0, 2, 3, 1])),
                 ("MatMul", ["t", "k"], "scores"),
                 ("Expand", ["mask", "all"], "m"),
                 ("Add", ["scores", "m"], "masked"),
                 ("Softmax", ["masked"], "p"), ("MatMul", ["p", "t"], "c"),
                 ("Transpose", ["c"], "b", ("perm", [0, 2, 1, 3])),
                 ("Reshape", ["b", "join"], "j"), ("MatMul", ["j", "w"], "y")]
        def save(batch, name):
            return self.save(
                name, nodes, {
                    **drawn({"w": (6, 3)}),
                    "split": np.array([batch, 4, 2, 3]),
                    "all": np.array([batch, 1, 4, 4]),
                    "mask": np.zeros((1, 1, 4, 4), np.float32),
                    "join": np.array([batch, 4, 6])},
                inputs={"x": (batch, 4, 6)}, outputs={"y": (batch, 4, 3)})
        random = np.random.default_rng(3)
        x = random.normal(size=(16, 4, 6)).astype(np.float32)
        labels = random.normal(size=(16, 4, 3)).astype(np.float32)
        expected = self.trained(self.compiled(
            save(8, "m8.onnx"), "--freeze", "mask")[0], x, labels)
        artifact, out = self.compiled(save(2, "m2.onnx"), "--freeze", "mask",
                                      "--batch", 8)
        self.assertIn("batch of 8\n", out)
        self.assertEqual(self.trained(artifact, x, labels)[0], expected[0])


class Scatters(Foreign):
    """ScatterElements along another dim than the samples'."""

    def test_parts_of_a_batch(self):
        """Losses are those of the whole batch, places written twice included;
        the gradient goes to what was written last."""
        draw = np.random.default_rng(5)
        stored = {"w": draw.normal(size=(3, 2)).astype(np.float32)}
        nodes = [("MatMul", ["x", "w"], "u"),
                 helper.make_node("ScatterElements", ["x", "i", "u"], ["y"],
                                  axis=1)]
        path = self.save("m.onnx", nodes, stored, {"x": (4, 3)},
                         {"y": (4, 3)}, opset=18)
        model = onnx.load(path)
        model.graph.input.append(
            helper.make_tensor_value_info("i", TensorProto.INT64, (4, 2)))
        onnx.save(model, path)
        x, labels = draw.normal(size=(2, 8, 3)).astype(np.float32)
        places = draw.integers(0, 3, (8, 2))
        self.assertTrue((places[:, 0] == places[:, 1]).any())
        np.savez(self.folder / "data.npz", x=x, i=places, labels=labels)
        expected = self.by_numpy(stored["w"], x, places, labels)
        for ranks, options in ((1, []), (1, ["--accumulate", "2"]),
                               (2, ["--mesh", "dp=2", "--accumulate", "2"])):
            with self.subTest(options=options):
                artifact, log = self.folder / "m.zca", self.folder / "log"
                self.zc("compile", path, "--loss", "mse", "--optimizer", "sgd",
                        "-o", artifact, *options)
                self.train(artifact, self.folder / "data.npz", 4,
                           "--no-shuffle", "--log", log, "--local-ranks",
                           ranks, lr=0.1)
                losses = [line["loss"] for line in read_log(log)]
                np.testing.assert_allclose(losses, expected, 1e-5)

    def by_numpy(self, w, x, places, labels):
        losses, w = [], np.float64(w)
        for step in range(4):
            part = slice(4 * (step % 2), 4 * (step % 2) + 4)
            y, gradient = np.float64(x[part]), np.zeros_like(w)
            for row in range(4):
                for place, value in zip(places[part][row], x[part][row] @ w):
                    y[row, place] = value
            error = (y - labels[part]) * 2 / y.size
            losses.append(((y - labels[part]) ** 2).mean())
            for row in range(4):
                for k, place in enumerate(places[part][row]):
                    if place not in places[part][row][k + 1:]:
                        gradient[:, k] += error[row, place] * x[part][row]
            w -= 0.1 * gradient
        return losses


class OldOperators(Foreign):
    """Each against what NumPy makes of its old definition."""

    IMAGE = np.random.default_rng(4).normal(size=(2, 3, 4, 5)).astype(
        np.float32)

    def check(self, nodes, initializers, expected, opset, x=None):
        x = self.IMAGE if x is None else x
        path = self.save("m.onnx", nodes, initializers, {"x": x.shape},
                         {"y": expected.shape}, opset=opset, ir_version=4)
        model = onnx.load(path)  # which lists its initializers as inputs
        for tensor in model.graph.initializer:
            model.graph.input.append(helper.make_tensor_value_info(
                tensor.name, tensor.data_type, tensor.dims))
        onnx.save(model, path)
        # Sums of few numbers near 1, in single precision.
        np.testing.assert_allclose(self.outputs(path, x), expected, 1e-5, 1e-5)

    def test_broadcasting_at_an_axis(self):
        b = drawn({"b": (3, 4)})["b"] + 2
        wide = b[None, :, :, None]
        for op, function in (("Add", np.add), ("Sub", np.subtract),
                             ("Mul", np.multiply), ("Div", np.divide)):
            node = helper.make_node(op, ["x", "b"], ["y"], broadcast=1, axis=1)
            for opset in (6, 5):
                self.check([node], {"b": b}, function(self.IMAGE, wide), opset)
        last = drawn({"b": (4, 5)})["b"]
        node = helper.make_node("Add", ["x", "b"], ["y"], broadcast=1)
        self.check([node], {"b": last}, self.IMAGE + last, 6)

    def test_gemm_and_dropout(self):
        x, values = X[:4], drawn({"w": (5, 3), "b": (3,)})
        nodes = [helper.make_node("Gemm", ["x", "w", "b"], ["g"], broadcast=1),
                 helper.make_node("Dropout", ["g"], ["d"], is_test=1),
                 helper.make_node("Sigmoid", ["d"], ["y"])]
        expected = 1 / (1 + np.exp(-(x @ values["w"] + values["b"])))
        for opset in (6, 5):
            self.check(nodes, values, expected, opset, x)

    def test_batch_normalisation(self):
        values = {name: np.abs(array) + 0.5 for name, array in drawn(
            {"s": (3,), "b": (3,), "m": (3,), "v": (3,)}).items()}
        s, b, m, v = (values[n].reshape(3, 1, 1) for n in "sbmv")
        expected = (self.IMAGE - m) / np.sqrt(v + 1e-5) * s + b
        for opset in (5, 6, 7, 8):
            options = {"is_test": 1} if opset < 7 else {}
            if opset == 5:
                options["consumed_inputs"] = [0, 0, 0, 1, 1]
            self.check([helper.make_node("BatchNormalization",
                                         ["x", *"sbmv"], ["y"], **options)],
                       values, expected, opset)

    def test_prelu_with_a_slope_a_channel(self):
        slope = np.array([0.1, 0.5, 2.0], np.float32)
        expected = np.where(self.IMAGE > 0, self.IMAGE,
                            self.IMAGE * slope.reshape(3, 1, 1))
        self.check([("PRelu", ["x", "slope"], "y")], {"slope": slope},
                   expected, 6)

    def test_enlarging(self):
        nearest = self.IMAGE.repeat(2, 2).repeat(3, 3)
        node = helper.make_node("Upsample", ["x"], ["y"], height_scale=2.0,
                                width_scale=3.0)
        self.check([node], {}, nearest, 6)
        node = helper.make_node("Upsample", ["x"], ["y"],
                                scales=[1.0, 1.0, 2.0, 3.0])
        self.check([node], {}, nearest, 8)
        scales = {"s": np.array([1, 1, 2, 3], np.float32)}
        self.check([("Upsample", ["x", "s"], "y")], scales, nearest, 9)
        self.check([("Resize", ["x", "s"], "y")], scales, nearest, 10)

    def test_shrinking(self):
        """Resize 10 took the next element, as ONNX's test of it expects."""
        x = np.arange(1, 9, dtype=np.float32).reshape(1, 1, 2, 4)
        self.check([("Resize", ["x", "s"], "y")],
                   {"s": np.array([1, 1, 0.6, 0.6], np.float32)},
                   np.float32([[[[1, 3]]]]), 10, x)
        self.check([("Resize", ["x", "s"], "y")],
                   {"s": np.array([1, 1, 2, 0.6], np.float32)},
                   x[:, :, :, [0, 2]].repeat(2, 2), 10, x)

    def test_shapes_and_axes_of_opset_1(self):
        x = self.IMAGE
        node = helper.make_node("Reshape", ["x"], ["y"], shape=[0, -1])
        self.check([node], {}, x.reshape(2, -1), 1)
        self.check([helper.make_node("Concat", ["x", "x"], ["y"])], {},
                   np.concatenate([x, x], 1), 1)

    def test_ones_on_the_diagonal_of_any_tensor(self):
        x = X[:4]
        self.check([("Relu", ["x"], "r"), ("EyeLike", ["r"], "e", ("k", 1)),
                    ("Add", ["e", "x"], "y")], {},
                   np.eye(*x.shape, 1, np.float32) + x, 9, x)

    def test_enlarging_linearly(self):
        x = self.IMAGE
        # The places 0, 1/2, 1, ...; behind the last row it is repeated.
        below = np.concatenate([x[:, :, 1:], x[:, :, -1:]], 2)
        rows = np.stack([x, (x + below) / 2], 3).reshape(2, 3, 8, 5)
        scales = {"s": np.array([1, 1, 2, 1], np.float32)}
        for op, opset in (("Upsample", 9), ("Resize", 10)):
            node = helper.make_node(op, ["x", "s"], ["y"], mode="linear")
            self.check([node], scales, rows, opset)


if __name__ == "__main__":
    unittest.main()
