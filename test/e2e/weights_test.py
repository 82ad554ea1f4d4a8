#!/usr/bin/env python3
"""What counts as a weight, wherever a file stores it, and what becomes of it in
checkpoints and exports."""
import unittest

import numpy as np
from onnx import helper, numpy_helper

from small_models import LABELS, SmallModels, X, constant, drawn
from zctest import run

SHAPES = {"w1": (5, 40), "b1": (40,), "w2": (40, 40), "b2": (40,),
          "w3": (40, 3)}
LAYERS = [("MatMul", ["x", "w1"], "a"), ("Add", ["a", "b1"], "b"),
          ("Relu", ["b"], "c"), ("MatMul", ["c", "w2"], "d"),
          ("Add", ["d", "b2"], "e"), ("Relu", ["e"], "f"),
          ("MatMul", ["f", "w3"], "y")]


class Constants(SmallModels):

    def test_weights_in_constant_nodes(self):
        weights = drawn(SHAPES)
        plain = self.save("plain.onnx", LAYERS, weights)
        # One of 64 KiB and more lies in the file, the others in memory.
        nodes = [constant(name, array) for name, array in weights.items()]
        other = self.save("other.onnx", nodes + LAYERS, {})
        artifact, out = self.compiled(plain)
        expected = self.trained(artifact, X, LABELS)
        artifact, said = self.compiled(other)
        self.assertEqual(out.splitlines()[0], said.splitlines()[0])
        found = self.trained(artifact, X, LABELS)
        self.assertEqual(found[0], expected[0])
        self.assertEqual(set(found[1]), set(weights))
        model, _ = self.exported(artifact, X[:4])
        values = {node.output[0]: numpy_helper.to_array(node.attribute[0].t)
                  for node in model.graph.node if node.op_type == "Constant"}
        for name, tensor in expected[1].items():
            np.testing.assert_array_equal(found[1][name], tensor, name)
            np.testing.assert_array_equal(values[name], tensor, name)
            self.assertGreater(np.abs(tensor - weights[name]).max(), 1e-4)

    def test_a_large_constant_and_one_of_bare_numbers(self):
        weights = drawn({"w1": (5, 300), "w2": (300, 300), "w3": (300, 3)})
        bare = helper.make_node("Constant", [], ["b1"],
                                value_floats=[0.25] * 300)
        nodes = [constant(name, array) for name, array in weights.items()]
        layers = [each for each in LAYERS if "b2" not in each[1]]
        layers[4] = ("Relu", ["d"], "f")
        artifact, _ = self.compiled(
            self.save("m.onnx", nodes + [bare] + layers, {}))
        _, found = self.trained(artifact, X, LABELS, lr=0.01)
        self.assertEqual(set(found), {"w1", "w2", "w3", "b1"})
        model, _ = self.exported(artifact, X[:4])
        for node in model.graph.node:
            if node.op_type == "Constant":
                value = numpy_helper.to_array(node.attribute[0].t)
                np.testing.assert_array_equal(found[node.output[0]], value)

    def test_frozen_ones_are_named(self):
        weights = drawn(SHAPES)
        nodes = [constant(name, array) for name, array in weights.items()]
        model = self.save("m.onnx", nodes + LAYERS, {})
        _, out = self.compiled(model, "--freeze", "^w[12]$")
        self.assertIn("trains 200 of 2,000 parameters in 3 of 5 tensors\n", out)
        self.assertIn("does not train w1, w2\n", out)

    def test_statistics_in_constant_nodes(self):
        ones, zeros = np.ones(3, np.float32), np.zeros(3, np.float32)
        values = {"s": ones, "b": zeros, "m": zeros, "v": ones, "s2": ones,
                  "b2": zeros, "m2": zeros, "v2": ones,
                  **drawn({"w": (5, 3), "u": (3, 3)})}
        layers = [("MatMul", ["x", "w"], "a"),
                  ("BatchNormalization", ["a", "s", "b", "m", "v"], "n"),
                  ("Relu", ["n"], "r"), ("MatMul", ["r", "u"], "c"),
                  ("BatchNormalization", ["c", "s2", "b2", "m2", "v2"], "y")]
        plain = self.save("plain.onnx", layers, values)
        nodes = [constant(*each) for each in values.items()]
        other = self.save("other.onnx", nodes + layers, {})
        expected = self.trained(self.compiled(plain)[0], X, LABELS)
        artifact, _ = self.compiled(other)
        found = self.trained(artifact, X, LABELS)
        self.assertEqual(found[0], expected[0])
        for name, tensor in expected[1].items():
            np.testing.assert_array_equal(found[1][name], tensor, name)
        self.assertGreater(np.abs(found[1]["m"] - found[1]["m2"]).max(), 1e-3)
        self.exported(artifact, X[:4])

    def test_a_function_that_is_called_twice_has_one_tensor(self):
        w = drawn({"w": (5, 5)})["w"]
        body = [constant("k", w), helper.make_node("MatMul", ["p", "k"], ["q"])]
        function = helper.make_function(
            "own", "Layer", ["p"], ["q"], body,
            [helper.make_opsetid("", 18)])
        calls = [helper.make_node("Layer", ["x"], ["h"], "one", domain="own"),
                 helper.make_node("Layer", ["h"], ["y"], "two", domain="own")]
        twice = self.save("twice.onnx", calls, {}, outputs={"y": (4, 5)},
                          functions=[function], domains=["own"])
        tied = self.save("tied.onnx", [("MatMul", ["x", "k"], "h"),
                                       ("MatMul", ["h", "k"], "y")], {"k": w},
                         outputs={"y": (4, 5)})
        labels = np.zeros((8, 5), np.float32)
        expected = self.trained(self.compiled(tied)[0], X, labels)
        artifact, _ = self.compiled(twice)
        found = self.trained(artifact, X, labels)
        self.assertEqual(found[0], expected[0])
        self.assertEqual(len(found[1]), 1)
        model, _ = self.exported(artifact, X[:4])
        value = numpy_helper.to_array(
            model.functions[0].node[0].attribute[0].t)
        np.testing.assert_array_equal(value, expected[1]["k"])


class Roles(SmallModels):

    ONES, ZEROS = np.ones(3, np.float32), np.zeros(3, np.float32)

    def layers(self, *names):
        return [("MatMul", ["x", "w"], "a"),
                ("BatchNormalization", ["a", *names], "y")]

    def test_a_scale_that_is_a_running_variance_too(self):
        w = drawn({"w": (5, 3)})["w"]
        expected = self.trained(self.compiled(self.save(
            "plain.onnx", self.layers("s", "b", "m", "v"),
            {"w": w, "s": self.ONES, "b": self.ZEROS, "m": self.ZEROS,
             "v": self.ONES}))[0], X, LABELS)
        model = self.save("m.onnx", self.layers("n.weight", "n.bias", "n.bias",
                                                "n.weight"),
                          {"w": w, "n.weight": self.ONES,
                           "n.bias": self.ZEROS})
        artifact, out = self.compiled(model)
        self.assertIn("trains 21 parameters in 3 tensors\n", out)
        losses, found = self.trained(artifact, X, LABELS)
        self.assertEqual(losses, expected[0])
        names = {"w": "w", "s": "n.weight", "b": "n.bias",
                 "m": "n.running_mean", "v": "n.running_var"}
        self.assertEqual(set(found), set(names.values()))
        for plain, name in names.items():
            np.testing.assert_array_equal(found[name], expected[1][plain])
        trained, _ = self.exported(artifact, X[:4])
        tensors = {t.name: numpy_helper.to_array(t)
                   for t in trained.graph.initializer}
        for name, tensor in found.items():
            np.testing.assert_array_equal(tensors[name], tensor, name)

    def test_what_the_torchscript_exporter_merged(self):
        merged = [("Identity", ["n1.bias"], "n2.bias", ("name", "Identity_0")),
                  ("Identity", ["n1.weight"], "n2.weight",
                   ("name", "Identity_1")),
                  ("Identity", ["n1.bias"], "n2.running_mean",
                   ("name", "Identity_2")),
                  ("Identity", ["n1.weight"], "n2.running_var",
                   ("name", "Identity_3")),
                  ("Identity", ["w"], "u", ("name", "Identity_4"))]
        layers = [("MatMul", ["x", "w"], "a"),
                  ("BatchNormalization", ["a", "n1.weight", "n1.bias",
                                          "n1.running_mean", "n1.running_var"],
                   "n"), ("Relu", ["n"], "r"), ("MatMul", ["r", "u"], "c"),
                  ("BatchNormalization", ["c", "n2.weight", "n2.bias",
                                          "n2.running_mean", "n2.running_var"],
                   "y")]
        own = {"w": drawn({"w": (5, 5)})["w"], "n1.weight": np.ones(5),
               "n1.bias": np.zeros(5), "n1.running_mean": np.full(5, 0.5),
               "n1.running_var": np.full(5, 2.0)}
        own = {name: array.astype(np.float32) for name, array in own.items()}
        names = ["n2.weight", "n2.bias", "n2.running_mean", "n2.running_var"]
        whole = {**own, **{name: np.full(5, i % 2 == 0, np.float32)
                           for i, name in enumerate(["n2.weight", "n2.bias"])}}
        whole["n2.running_mean"] = np.zeros(5, np.float32)
        whole["n2.running_var"] = np.ones(5, np.float32)
        shape = {"y": (4, 5)}
        labels = np.ones((8, 5), np.float32)
        plain = self.save("plain.onnx", [("Identity", ["w"], "u")] + layers,
                          whole, outputs=shape)
        expected = self.trained(self.compiled(plain)[0], X, labels)
        model = self.save("m.onnx", merged + layers, own, outputs=shape,
                          producer="pytorch")
        artifact = self.folder / "m.zca"
        code, _, err = run("compile", model, "-o", artifact, "--loss", "mse",
                           "--optimizer", "sgd")
        self.assertEqual(code, 0, err)
        self.assertRegex(err, "(?s)warning.*merged equal weights.*4 of them")
        losses, found = self.trained(artifact, X, labels)
        self.assertEqual(losses, expected[0])
        self.assertEqual(set(found), {*own, *names})
        for name, tensor in expected[1].items():
            np.testing.assert_array_equal(found[name], tensor, name)
        self.exported(artifact, X[:4])

    def test_merged_biases_are_warned_of(self):
        weights = drawn(SHAPES)
        weights["both"] = np.zeros(40, np.float32)
        layers = [(op, [{"b1": "both", "b2": "both"}.get(i, i) for i in inputs], out)
                  for op, inputs, out in LAYERS]
        del weights["b1"], weights["b2"]
        code, _, err = run("compile", self.save("m.onnx", layers, weights),
                           "-o", self.folder / "a.zca", "--loss", "mse")
        self.assertEqual(code, 0, err)
        self.assertIn("'both' feeds 2 biases and is trained as one", err)
        # The same layer twice is the author's.
        layers[3] = ("MatMul", ["c", "w2"], "d")
        layers[0] = ("MatMul", ["x", "w2"], "a")
        weights["w2"] = drawn({"w": (40, 40)})["w"]
        del weights["w1"]
        code, _, err = run("compile", self.save(
            "m.onnx", layers, weights, inputs={"x": (4, 40)}), "-o",
            self.folder / "a.zca", "--loss", "mse")
        self.assertEqual((code, err), (0, ""))


    def test_folded_norms_of_tf2onnx_are_warned_of(self):
        weights = drawn({"block/conv_weights_fused_bn": (3, 2, 1, 1),
                         "block/conv_bias_fused_bn": (3,)})
        for names, said in ((list(weights), "tf2onnx, which has folded 1 batch "
                             "normalisation into"), (["w", "b"], "")):
            model = self.save(
                "m.onnx", [("Conv", ["x", *names], "y")],
                dict(zip(names, weights.values())), inputs={"x": (4, 2, 5, 5)},
                outputs={"y": (4, 3, 5, 5)})
            code, _, err = run("compile", model, "-o", self.folder / "a.zca",
                               "--loss", "mse")
            self.assertEqual(code, 0, err)
            self.assertIn(said, err)
            self.assertEqual(err.count("warning"), bool(said), err)

    def test_exports_in_evaluation_mode_are_warned_of(self):
        """As both of PyTorch's exporters write batch normalisation then."""
        call = ("%%norm : [num_users=1] = call_function[target=torch.ops.aten."
                "%s.default](args = (%%linear, %%p_weight, %%p_bias, "
                "%%b_running_mean, %%b_running_var, %s0.1, 1e-05), kwargs = {})")
        dynamo = call % ("_native_batch_norm_legit_no_training", "")
        training = call % ("_native_batch_norm_legit_functional", "True, ")
        tensors = {"w": drawn({"w": (5, 3)})["w"], "s": self.ONES,
                   "b": self.ZEROS, "m": self.ZEROS, "v": self.ONES}
        trained = "'norm' was exported by PyTorch in evaluation mode.*" \
                  "statistics of each batch .--batchnorm frozen"
        lost = "dropout is not in the file: call model.train()"
        for name, attributes, drops, options, said in (
                (dynamo, {}, False, [], [trained, lost]),
                ("", {"training_mode": 0}, False, [], [trained, lost]),
                (dynamo, {}, True, [], [trained]),
                (dynamo, {}, False, ["--batchnorm", "frozen"], [lost]),
                (dynamo, {}, True, ["--batchnorm", "frozen"], []),
                (training, {}, False, [], []), ("", {}, False, [], [])):
            norm = helper.make_node(
                "BatchNormalization", ["a", "s", "b", "m", "v"],
                ["n" if drops else "y"], name="norm", **attributes)
            norm.metadata_props.add(key="pkg.torch.onnx.fx_node", value=name)
            last = [helper.make_node("Dropout", ["n"], ["y"])]
            model = self.save("m.onnx", [("MatMul", ["x", "w"], "a"), norm,
                                         *(last if drops else [])],
                              tensors, producer="pytorch", ir_version=10)
            with self.subTest(name=name, drops=drops, options=options):
                code, _, err = run("compile", model, "-o",
                                   self.folder / "a.zca", "--loss", "mse",
                                   *options)
                self.assertEqual(code, 0, err)
                for each in said:
                    self.assertRegex(err, each)
                self.assertEqual(err.count("warning"), bool(said), err)
                self.assertEqual("dropout" in err, lost in said, err)


class Frozen(SmallModels):

    def setUp(self):
        super().setUp()
        self.weights = drawn(SHAPES)
        self.model = self.save("m.onnx", LAYERS, self.weights)
        self.whole, _ = self.compiled(self.model)
        self.found = self.trained(self.whole, X, LABELS)[1]
        self.head, _ = self.compiled(self.model, "--train", "w3",
                                     name="head.zca")

    def test_export_takes_what_the_checkpoint_holds(self):
        folder = self.folder / "m-c"
        model, theirs = self.exported(self.head, X[:4], folder)
        for tensor in model.graph.initializer:
            np.testing.assert_array_equal(numpy_helper.to_array(tensor),
                                          self.found[tensor.name], tensor.name)

    def test_runs_refuse_what_they_would_lose(self):
        folder, data = self.folder / "m-c", self.folder / "d.npz"
        self.fails(1, [r"holds 'b1' and 3 more.*freezes"], "run", self.head,
                   "--data", data, "--steps", 9, "--checkpoint", folder,
                   "--resume")
        np.save(self.folder / "x.npy", X)
        self.fails(1, [r"holds 'b1' and 3 more.*freezes"], "eval", self.head,
                   "--checkpoint", folder, "--input",
                   f"x={self.folder / 'x.npy'}", "--output-dir",
                   self.folder / "o")

    def test_export_of_another_models_checkpoint_leaves_nothing(self):
        layers = [("MatMul", ["x", "w1"], "a"), ("MatMul", ["a", "w3"], "y")]
        other, _ = self.compiled(self.save(
            "other.onnx", layers, {n: self.weights[n] for n in ("w1", "w3")}))
        path = self.folder / "t.onnx"
        self.fails(1, ["holds 'b1', for which the model has no tensor"],
                   "export", other, "--checkpoint", self.folder / "m-c", "-o",
                   path, "--safetensors", self.folder / "t.safetensors")
        self.assertEqual(list(self.folder.glob("t.*")), [])


class OneElement(SmallModels):

    LAYERS = [("MatMul", ["x", "w"], "a"), ("PRelu", ["a", "slope"], "p"),
              ("MatMul", ["p", "u"], "q"), ("Add", ["q", "bias"], "s"),
              ("Mul", ["s", "temperature"], "y")]

    def test_weights_biases_and_slopes_are_trained(self):
        values = {**drawn({"w": (5, 3), "u": (3, 1)}),
                  "slope": np.full(1, 0.25, np.float32),
                  "bias": np.full(1, 0.5, np.float32),
                  "temperature": np.array(1.5, np.float32)}
        artifact, out = self.compiled(self.save("m.onnx", self.LAYERS, values,
                                                outputs={"y": (4, 1)}))
        self.assertIn("trains 20 of 21 parameters in 4 of 5 tensors\n", out)
        self.assertIn("does not train temperature\n", out)
        _, found = self.trained(artifact, X, LABELS[:, :1])
        self.assertEqual(set(found), {"w", "u", "slope", "bias"})
        self.assertNotEqual(found["slope"][0], 0.25)
        self.assertNotEqual(found["bias"][0], 0.5)
        self.exported(artifact, X[:4])

    def test_many_names_are_grouped(self):
        names = [f"body.{i}.{part}" for i in range(6)
                 for part in ("weight", "bias")]
        nodes, last = [], "x"
        for name in names:
            op = "MatMul" if name.endswith("weight") else "Add"
            nodes.append((op, [last, name], f"{name}.out"))
            last = f"{name}.out"
        nodes.append(("MatMul", [last, "head"], "y"))
        weights = drawn({name: (5, 5) if name.endswith("weight") else (5,)
                         for name in names} | {"head": (5, 3)})
        model = self.save("m.onnx", nodes, weights)
        _, out = self.compiled(model, "--train", "head")
        self.assertIn("does not train body.0.* (2), body.1.* (2)", out)
        _, out = self.compiled(model, "--train", "head", "-v")
        self.assertIn("does not train " + ", ".join(names) + "\n", out)


if __name__ == "__main__":
    unittest.main()
