#!/usr/bin/env python3
"""Operators of ai.onnx.ml against ONNX Runtime; linear models train."""
import unittest

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper

from zctest import ZcTest, latest_step, load_tensors, read_log, run

FLOAT, INT64, STRING = TensorProto.FLOAT, TensorProto.INT64, TensorProto.STRING
ML = "ai.onnx.ml"
ROWS, FEATURES = 6, 4


def draw(*shape, seed=0):
    rng = np.random.default_rng(seed + sum(shape))
    return rng.standard_normal(shape).astype(np.float32)


def classifier(classes, rows=None, **attributes):
    rows = rows or classes
    return ("LinearClassifier", draw(ROWS, FEATURES), 2, dict(
        coefficients=draw(rows * FEATURES, seed=1).tolist(),
        intercepts=draw(rows, seed=2).tolist(),
        classlabels_ints=list(range(5, 5 + classes)), **attributes))


X = draw(ROWS, FEATURES)
MISSING = np.where(X > 0.5, np.float32(np.nan), X)
# operator, input, outputs, attributes
CASES = {
    "scaler": ("Scaler", X, 1, dict(offset=[1., 2., 3., 4.],
                                    scale=[.5, 1., 2., 3.])),
    "scaler_one": ("Scaler", X.astype(np.float64), 1,
                   dict(offset=[1.], scale=[.5])),
    "binarizer": ("Binarizer", X, 1, dict(threshold=0.3)),
    "max": ("Normalizer", abs(X), 1, dict(norm="MAX")),
    "l1": ("Normalizer", X, 1, dict(norm="L1")),
    "l2": ("Normalizer", X, 1, dict(norm="L2")),
    "one_hot": ("OneHotEncoder", np.array([[3, 1], [2, 3]]), 1,
                dict(cats_int64s=[1, 2, 3], zeros=1)),
    "imputer": ("Imputer", MISSING, 1, dict(
        imputed_value_floats=[1., 2., 3., 4.], replaced_value_float=np.nan)),
    "vectorizer": ("FeatureVectorizer", X, 1,
                   dict(inputdimensions=[FEATURES])),
    "regressor": ("LinearRegressor", X, 1, dict(
        coefficients=draw(2 * FEATURES).tolist(), intercepts=[.5, -1.],
        targets=2)),
    "classes": classifier(3, post_transform="SOFTMAX"),
    "classes_each": classifier(3, post_transform="LOGISTIC"),
    "classes_bare": classifier(3, post_transform="NONE"),
    "two": classifier(2, 1, post_transform="LOGISTIC"),
    "two_bare": classifier(2, 1, post_transform="NONE"),
}


def make_model(op, data, outputs, attributes, extra=()):
    names = ["y", "z"][:outputs]
    kinds = {1: [FLOAT], 2: [INT64, FLOAT]}[outputs]
    if op == "Binarizer":
        kinds = [FLOAT]
    graph = helper.make_graph(
        [helper.make_node(op, ["x", *extra], names, name="node", domain=ML,
                          **attributes)], "features",
        [helper.make_tensor_value_info(
            "x", helper.np_dtype_to_tensor_dtype(data.dtype), data.shape)],
        [helper.make_tensor_value_info(name, kind, None)
         for name, kind in zip(names, kinds)])
    return helper.make_model(graph, ir_version=10, opset_imports=[
        helper.make_opsetid("", 20), helper.make_opsetid(ML, 3)])


def run_model(model, data):
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, {"x": data})


class Features(ZcTest):
    def check(self, op, data, outputs, attributes):
        model = make_model(op, data, outputs, attributes)
        onnx.save(model, self.folder / "m.onnx")
        np.save(self.folder / "x.npy", data)
        self.zc("eval", self.folder / "m.onnx", "--input",
                f"x={self.folder / 'x.npy'}", "--batch-dim", "x=none",
                "--output-dir", self.folder / "out")
        for name, theirs in zip("yz", run_model(model, data)):
            ours = np.load(self.folder / "out" / f"{name}.npy")
            np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)

    def test_columns(self):
        """The columns that a stored list names."""
        model = make_model("ArrayFeatureExtractor", X, 1, {}, ["places"])
        model.graph.initializer.append(
            helper.make_tensor("places", INT64, [2], [3, 1]))
        onnx.save(model, self.folder / "m.onnx")
        np.save(self.folder / "x.npy", X)
        self.zc("eval", self.folder / "m.onnx", "--input",
                f"x={self.folder / 'x.npy'}", "--output-dir",
                self.folder / "out")
        np.testing.assert_array_equal(
            np.load(self.folder / "out" / "y.npy"), run_model(model, X)[0])

    def test_old_opset(self):
        """Constants were tensors alone before opset 12."""
        op, data, outputs, attributes = CASES["classes"]
        model = make_model(op, data, outputs, attributes)
        model.opset_import[0].version = 9
        onnx.save(model, self.folder / "m.onnx")
        np.save(self.folder / "x.npy", data)
        self.zc("eval", self.folder / "m.onnx", "--input",
                f"x={self.folder / 'x.npy'}", "--batch-dim", "x=none",
                "--output-dir", self.folder / "out")
        np.testing.assert_array_equal(
            np.load(self.folder / "out" / "y.npy"), run_model(model, data)[0])

    def test_scores_are_advised(self):
        """A loss of labels is refused, of probabilities warned of; both name
        the scores."""
        op, data, outputs, attributes = CASES["classes"]
        onnx.save(make_model(op, data, outputs, attributes),
                  self.folder / "m.onnx")
        arguments = ["compile", self.folder / "m.onnx", "--loss",
                     "softmax-cross-entropy", "-o", self.folder / "m.zca"]
        self.fails(1, ["'y' holds labels", "--logits node.scores"], *arguments)
        _, _, said = run(*arguments, "--logits", "z")
        self.assertRegex(said, "warning: .*'z' holds probabilities.*"
                         "--logits node.scores")
        code, _, said = run(*arguments, "--logits", "node.scores")
        self.assertEqual(code, 0, said)
        self.assertNotIn("probabilities", said)

    def test_scores_of_normalised_sigmoids(self):
        """A classifier against the rest, as scikit-learn's SGDClassifier is
        written: probabilities are sigmoids, divided by their sum."""
        nodes = [helper.make_node(op, inputs, [output], output, **attributes)
                 for op, inputs, output, attributes in (
                     ("MatMul", ["x", "w"], "score", {}),
                     ("Mul", ["score", "minus"], "negated", {}),
                     ("Exp", ["negated"], "power", {}),
                     ("Add", ["power", "one"], "sum", {}),
                     ("Reciprocal", ["sum"], "each", {}),
                     ("ReduceSum", ["each", "axis"], "all", {}),
                     ("Add", ["each", "none"], "kept", {}),
                     ("Div", ["kept", "all"], "shares", {}),
                     ("ArgMax", ["shares"], "label", {"axis": 1}))]
        stored = {"w": draw(FEATURES, 3), "minus": np.float32([-1]),
                  "one": np.float32([1]), "none": np.float32([0]),
                  "axis": np.array([1])}
        graph = helper.make_graph(
            nodes, "classes",
            [helper.make_tensor_value_info("x", FLOAT, [ROWS, FEATURES])],
            [helper.make_tensor_value_info("label", INT64, [ROWS, 1])],
            [onnx.numpy_helper.from_array(array, name)
             for name, array in stored.items()])
        onnx.save(helper.make_model(graph, ir_version=10, opset_imports=[
            helper.make_opsetid("", 20)]), self.folder / "m.onnx")
        self.fails(1, ["'label' holds labels", "--logits score"], "compile",
                   self.folder / "m.onnx", "--loss", "softmax-cross-entropy",
                   "-o", self.folder / "m.zca")

    def test_trees_are_refused(self):
        model = make_model("TreeEnsembleRegressor", X, 1, dict(
            nodes_treeids=[0], nodes_nodeids=[0], nodes_modes=["LEAF"],
            target_treeids=[0], target_nodeids=[0], target_ids=[0],
            target_weights=[1.], n_targets=1))
        onnx.save(model, self.folder / "m.onnx")
        self.fails(1, ["node", "TreeEnsembleRegressor", "trees"], "compile",
                   self.folder / "m.onnx", "--mode", "infer", "-o",
                   self.folder / "m.zca")


class Training(ZcTest):
    """Models as scikit-learn's converter writes them."""

    def learn(self, model, data, *options):
        onnx.save(model, self.folder / "m.onnx")
        np.savez(self.folder / "data.npz", **data)
        artifact = self.folder / "m.zca"
        self.zc("compile", self.folder / "m.onnx", "-o", artifact,
                "--optimizer", "sgd", *options)
        self.train(artifact, self.folder / "data.npz", 1, "--checkpoint",
                   self.folder / "ckpt", "--log", self.folder / "log",
                   "--no-shuffle", lr=1)
        self.zc("export", artifact, "--checkpoint", self.folder / "ckpt",
                "-o", self.folder / "trained.onnx")
        trained = onnx.load(self.folder / "trained.onnx")
        return (read_log(self.folder / "log")[0]["loss"],
                load_tensors(latest_step(self.folder / "ckpt")), trained)

    def test_regression(self):
        op, data, outputs, attributes = CASES["regressor"]
        model = make_model(op, data, outputs, attributes)
        labels = draw(ROWS, 2, seed=8)
        loss, weights, trained = self.learn(
            model, {"x": data, "labels": labels}, "--loss", "mse")
        error = run_model(model, data)[0] - labels
        self.assertAlmostEqual(loss, (error ** 2).mean(), places=5)
        before = np.reshape(attributes["coefficients"], (2, FEATURES))
        np.testing.assert_allclose(
            before - weights["node.coefficients"],
            2 * error.T @ data / error.size, atol=1e-5)
        np.testing.assert_allclose(
            attributes["intercepts"] - weights["node.intercepts"],
            2 * error.sum(0) / error.size, atol=1e-5)
        np.testing.assert_allclose(
            run_model(trained, data)[0],
            data @ weights["node.coefficients"].T + weights["node.intercepts"],
            atol=1e-5)

    def test_classification(self):
        """Behind scores stand probabilities, a map of them and labels that are
        words: the loss takes the scores."""
        op, data, outputs, attributes = classifier(3, post_transform="SOFTMAX")
        del attributes["classlabels_ints"]
        model = make_model(op, data, outputs,
                           {**attributes,
                            "classlabels_strings": ["a", "b", "c"]})
        model.graph.output[0].type.tensor_type.elem_type = STRING
        model.graph.node.append(helper.make_node(
            "ZipMap", ["z"], ["map"], domain=ML,
            classlabels_strings=["a", "b", "c"]))
        model.graph.output[1].CopyFrom(onnx.ValueInfoProto(name="map"))
        element = helper.make_tensor_type_proto(FLOAT, None)
        model.graph.output[1].type.CopyFrom(
            helper.make_sequence_type_proto(
                helper.make_map_type_proto(STRING, element)))
        labels = np.arange(ROWS) % 3
        loss, weights, _ = self.learn(
            model, {"x": data, "labels": labels}, "--loss",
            "softmax-cross-entropy", "--logits", "node.scores")
        scores = data @ np.reshape(attributes["coefficients"], (3, -1)).T + \
            attributes["intercepts"]
        logs = scores - np.log(np.exp(scores).sum(1, keepdims=True))
        self.assertAlmostEqual(loss, -logs[np.arange(ROWS), labels].mean(),
                               places=5)
        slopes = (np.exp(logs) - np.eye(3)[labels]) / ROWS
        np.testing.assert_allclose(
            np.reshape(attributes["coefficients"], (3, -1))
            - weights["node.coefficients"], slopes.T @ data, atol=1e-5)


def add_tests():
    for name, case in CASES.items():
        def test(self, case=case):
            self.check(*case)
        setattr(Features, f"test_{name}", test)


add_tests()

if __name__ == "__main__":
    unittest.main()
