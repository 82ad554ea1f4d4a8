#!/usr/bin/env python3
"""Initial weights that a run draws: their distributions, what they depend on,
models without data, and what stays as the file has it."""
import json
import pathlib
import subprocess
import unittest
import zipfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from safetensors.numpy import load

from zctest import (BIN, Fixture, ZcTest, load_tensors, needs_few_addresses,
                    read_log, run)


def absent(name, dims, offset=0):
    """An initializer in a file that nobody writes."""
    tensor = TensorProto(name=name, data_type=TensorProto.FLOAT, dims=dims,
                         data_location=TensorProto.EXTERNAL)
    length = 4 * int(np.prod(dims))
    for key, value in (("location", "absent.data"), ("offset", offset),
                       ("length", length)):
        tensor.external_data.add(key=key, value=str(value))
    return tensor


def mlp(path, inputs, hidden, classes, batch, more=()):
    """Two linear layers without data, and the initializers `more`."""
    value = helper.make_tensor_value_info
    nodes = [helper.make_node("Gemm", ["x", "w1", "b1"], ["h"], "fc1"),
             helper.make_node("Relu", ["h"], ["a"], "relu"),
             helper.make_node("Gemm", ["a", "w2", "b2"], ["y"], "fc2")]
    weights = [absent("w1", [inputs, hidden]), absent("b1", [hidden]),
               absent("w2", [hidden, classes]), absent("b2", [classes])]
    graph = helper.make_graph(
        nodes, "mlp", [value("x", TensorProto.FLOAT, [batch, inputs])],
        [value("y", TensorProto.FLOAT, [batch, classes])], [*weights, *more])
    onnx.save(helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10),
        path)
    return path


class Drawn(ZcTest):

    def weights(self, artifact, data, seed, *options):
        """The initial weights of a run: of one step that changes nothing."""
        folder = self.folder / "drawn"
        self.train(artifact, data, 1, "--checkpoint", folder, "--overwrite",
                   "--seed", seed, *options, lr=0)
        return load_tensors(folder / "step-1")

    def test_distributions(self):
        fixture = Fixture("lstm")
        artifact = self.compile(fixture, "sgd", "--init", "torch-default")
        weights = self.weights(artifact, fixture.data, 3)
        table = weights["embedding.weight"]
        self.assertLess(abs(table.mean()), 4 / table.size ** 0.5)
        self.assertAlmostEqual(table.std(), 1, delta=0.1)
        self.assertGreater(abs(table).max(), 2.5)
        for name, value in weights.items():
            if name == "embedding.weight":
                continue
            self.assertLess(abs(value).max(), 0.25, name)
            self.assertGreater(abs(value).max(), 0.2, name)
            self.assertAlmostEqual(value.std(), 0.25 / 3 ** 0.5, delta=0.03,
                                   msg=name)
        # Every tensor draws for itself, and every element of it.
        self.assertEqual(len({value.flat[0] for value in weights.values()}),
                         len(weights))
        self.assertGreater(len(np.unique(table)), 0.99 * table.size)

    def test_large_tensors(self):
        model = mlp(self.folder / "m.onnx", 700, 900, 5, 4)
        data = self.folder / "d.npz"
        np.savez(data, x=np.zeros((4, 700), np.float32),
                 labels=np.zeros(4, np.int64))
        for spec, std, largest in (
                ("normal:0.02", 0.02, 0.12),
                # Nothing beyond 2 standard deviations of the whole normal.
                ("truncated-normal:0.02", 0.8796 * 0.02, 0.0400001),
                ("truncated-normal:sqrt(0.28/n)", 0.8796 * 0.02, 0.0400001),
                ("torch-default", 1 / 2100 ** 0.5, 1 / 700 ** 0.5)):
            artifact = self.folder / "a.zca"
            self.zc("compile", model, "-o", artifact, "--loss",
                    "softmax-cross-entropy", "--init", spec)
            w1 = self.weights(artifact, data, 0)["w1"].astype(np.float64)
            self.assertAlmostEqual(w1.std() / std, 1, delta=0.005)
            self.assertLess(abs(w1.mean()) / std, 5 / w1.size ** 0.5)
            self.assertLess(abs(w1).max(), largest)
            for axis in (0, 1):  # neighbours know nothing of one another
                left = np.take(w1, range(0, 698), axis)
                right = np.take(w1, range(1, 699), axis)
                self.assertLess(abs(np.mean(left * right)) / std ** 2, 0.01)
            rows = np.sort(w1.ravel() / std)
            quarters = rows[len(rows) // 4], rows[3 * len(rows) // 4]
            expected = {"normal": 0.6745, "truncated": 0.639 / 0.8796,
                        "torch": 3 ** 0.5 / 2}[spec.split("-")[0].split(":")[0]]
            np.testing.assert_allclose(quarters, (-expected, expected),
                                       atol=0.01)

    def test_what_they_depend_on(self):
        fixture = Fixture("gpt")
        artifact = self.compile(fixture, "adamw", "--init", "normal:0.02")
        first = self.weights(artifact, fixture.data, 7)
        for threads in (1, 2):
            again = self.weights(artifact, fixture.data, 7, "--threads",
                                 threads)
            for name, value in first.items():
                np.testing.assert_array_equal(value, again[name], name)
        # Neither on what else is drawn.
        part = self.compile(fixture, "sgd", "--init", "normal:0.02",
                            "--freeze", "blocks.0", name="part.zca")
        for name, value in self.weights(part, fixture.data, 7).items():
            np.testing.assert_array_equal(value, first[name], name)
        other = self.weights(artifact, fixture.data, 8)
        self.assertFalse(np.any(other["wpe.weight"] == first["wpe.weight"]))

    def test_evaluation_and_export(self):
        fixture = Fixture("mlp")
        artifact = self.compile(fixture, "sgd", "--init", "torch-default")
        names = {t.name for t in onnx.load(fixture.model).graph.initializer}
        self.assertFalse(names & self.stored(artifact).keys())
        x = np.load(fixture.data)["x"][:5]
        np.save(self.folder / "x.npy", x)

        def evaluate(*options, tool=artifact):
            self.zc("eval", tool, "--input", f"x={self.folder / 'x.npy'}",
                    "--output-dir", self.folder / "out", *options)
            return np.load(next((self.folder / "out").glob("*.npy")))

        self.weights(artifact, fixture.data, 3)
        drawn = evaluate("--seed", 3)
        np.testing.assert_array_equal(
            drawn, evaluate("--checkpoint", self.folder / "drawn"))
        self.assertFalse(np.array_equal(drawn, evaluate()))
        trained = self.folder / "trained.onnx"
        self.zc("export", artifact, "--checkpoint", self.folder / "drawn",
                "-o", trained)
        np.testing.assert_allclose(drawn, evaluate(tool=trained), rtol=1e-5,
                                   atol=1e-6)
        inference = self.folder / "infer.zca"
        self.zc("compile", fixture.model, "-o", inference, "--mode", "infer",
                "--init", "torch-default",
                *fixture.compile_options("sgd")[2:-2])
        np.testing.assert_array_equal(drawn,
                                      evaluate("--seed", 3, tool=inference))

    def stored(self, artifact):
        with zipfile.ZipFile(artifact) as archive:
            return load(archive.read("weights.safetensors"))


class Absent(ZcTest):

    def setUp(self):
        super().setUp()
        self.model = mlp(self.folder / "m.onnx", 6, 8, 3, 4)
        self.data = self.folder / "d.npz"
        random = np.random.default_rng(0)
        np.savez(self.data, x=random.normal(size=(8, 6)).astype(np.float32),
                 labels=random.integers(0, 3, 8))
        self.options = ["--loss", "softmax-cross-entropy", "-o",
                        self.folder / "a.zca"]

    def test_refused_without_init(self):
        self.fails(1, ["'absent.data', with tensor 'w1' and 3 others, does not",
                       "--init torch-default"],
                   "compile", self.model, *self.options)
        self.fails(1, ["absent.data"], "eval", self.model, "--input",
                   f"x={self.data}", "--output-dir", self.folder / "out")

    def test_other_faults_stay_faults(self):
        (self.folder / "absent.data").write_bytes(bytes(8))
        self.fails(1, ["'absent.data', which has 8"], "compile", self.model,
                   *self.options, "--init", "zeros")

    def test_frozen_draws_are_in_checkpoints(self):
        out = self.zc("compile", self.model, *self.options, "--init",
                      "normal:0.5", "--freeze", "1$")
        self.assertIn("draws 4 tensors", out)
        artifact, whole, halves = (self.folder / name
                                   for name in ("a.zca", "whole", "halves"))
        log = self.folder / "log.jsonl"
        self.train(artifact, self.data, 4, "--checkpoint", whole, "--seed", 9,
                   "--log", log)
        losses = [line["loss"] for line in read_log(log)]
        self.train(artifact, self.data, 2, "--checkpoint", halves, "--seed", 9,
                   "--log", log)
        self.train(artifact, self.data, 4, "--checkpoint", halves, "--resume",
                   "--log", log)
        self.assertEqual(losses, [line["loss"] for line in read_log(log)])
        left, right = (load_tensors(folder / "step-4")
                       for folder in (whole, halves))
        self.assertEqual(set(left), {"w1", "b1", "w2", "b2"})
        for name, value in left.items():
            np.testing.assert_array_equal(value, right[name])
        trained = self.folder / "trained.onnx"
        self.zc("export", artifact, "--checkpoint", whole, "-o", trained)
        for tensor in onnx.load(trained).graph.initializer:
            np.testing.assert_array_equal(numpy_helper.to_array(tensor),
                                          left[tensor.name])

    def test_what_nothing_computes_with(self):
        model = mlp(self.folder / "n.onnx", 6, 8, 3, 4,
                    [absent("unused", [5])])
        self.zc("compile", model, *self.options, "--init", "zeros")
        folder, trained = self.folder / "c", self.folder / "t.onnx"
        self.train(self.folder / "a.zca", self.data, 1, "--checkpoint", folder)
        self.zc("export", self.folder / "a.zca", "--checkpoint", folder, "-o",
                trained)
        unused = next(t for t in onnx.load(trained).graph.initializer
                      if t.name == "unused")
        np.testing.assert_array_equal(numpy_helper.to_array(unused),
                                      np.zeros(5))

    def test_integers(self):
        model = onnx.load(self.model, load_external_data=False)
        table = absent("table", [20000])
        table.data_type = TensorProto.INT64
        del table.external_data[2]
        model.graph.initializer.append(table)
        model.graph.node.append(
            helper.make_node("Gather", ["table", "place"], ["z"], "pick"))
        model.graph.initializer.append(
            numpy_helper.from_array(np.array([1, 2]), "place"))
        model.graph.output.append(helper.make_tensor_value_info(
            "z", TensorProto.INT64, [2]))
        onnx.save(model, self.model)
        self.fails(1, ["'table'", "has no data", "floating-point"],
                   "compile", self.model, *self.options, "--init", "zeros")


class Large(ZcTest):
    """A plan needs no weights."""

    @needs_few_addresses
    def test_seven_and_a_half_billion_parameters(self):
        model = mlp(self.folder / "m.onnx", 50000, 100000, 25000, 2)
        artifact = self.folder / "a.zca"
        limited = ["bash", "-c", 'ulimit -v 8000000; exec "$0" "$@"']
        result = subprocess.run(
            [*limited, BIN / "zc", "compile", model, "-o", artifact, "--loss",
             "softmax-cross-entropy", "--init", "normal:0.02"], text=True,
            capture_output=True, timeout=60)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("trains 7,500,125,000 parameters", result.stdout)
        self.assertLess(pathlib.Path(artifact).stat().st_size, 4 << 20)
        memory = json.loads(run("inspect", artifact, "--json")[1])["memory"]
        self.assertEqual(memory["parameters"], 4 * 7_500_125_000)
        self.assertEqual(memory["optimizer"], 8 * 7_500_125_000)


class Refusals(ZcTest):

    def test_specifications(self):
        for spec in ("normal", "normal:", "normal:-1", "normal:nan", "kaiming",
                     "", "zeros:1"):
            self.fails(2, ["--init", "normal:STD"], "compile", "m.onnx", "-o",
                       "a.zca", "--loss", "mse", "--init", spec)


if __name__ == "__main__":
    unittest.main()
