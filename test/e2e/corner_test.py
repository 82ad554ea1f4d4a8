#!/usr/bin/env python3
"""Models and options at the edge of what there is: each trains, or is refused
by a message for people."""
import json
import unittest

import numpy as np
from onnx import parser

from zctest import ZcTest, read_log, run

HEAD = '<ir_version: 10, opset_import: ["" : 20]>\n'


class Corner(ZcTest):

    def model(self, text):
        path = self.folder / "model.onnx"
        path.write_bytes(parser.parse_model(HEAD + text).SerializeToString())
        return path

    def refused(self, text, patterns, *options, code=1):
        err = self.fails(code, patterns, "compile", self.model(text), "-o",
                         self.folder / "x.zca", *options)
        self.assertNotIn("internal error", err)

    def run_steps(self, text, arrays, *options, steps=2, loss="mse", lr=1e-3,
                  eval=()):
        """The step lines and the last evaluation line of a run."""
        artifact, data = self.folder / "x.zca", self.folder / "data.npz"
        log = self.folder / "log.jsonl"
        self.zc("compile", self.model(text), "-o", artifact, "--loss", loss,
                *options)
        np.savez(data, **arrays)
        self.train(artifact, data, steps, "--log", log, "--no-shuffle", *eval,
                   lr=lr)
        lines = [json.loads(line) for line in log.read_text().splitlines()]
        return read_log(log), lines[-1]

    def test_padding_of_the_last_batch_counts_nothing(self):
        text = """main (float[8,4] x) => (float[8,1] y)
            <float[4,1] w = {1, 2, 3, 4}>
            { n = ReduceL2 <keepdims = 1> (x, axes)  u = Div(x, n)
              y = MatMul(u, w) }""".replace(
            "<float[4,1]", "<int64[1] axes = {1}, float[4,1]")
        rng = np.random.default_rng(0)
        arrays = {"x": rng.normal(0, 1, (21, 4)).astype(np.float32),
                  "labels": np.ones((21, 1), np.float32)}
        data = self.folder / "data.npz"
        _, last = self.run_steps(text, arrays,
                                 eval=("--eval-data", data, "--eval-every", 1))
        self.assertTrue(np.isfinite(last["eval_loss"]))

    def test_ties_are_not_all_right(self):
        text = """main (float[10,4] x) => (float[10,5] y)
            <float[4,5] w = {0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}>
            { y = MatMul(x, w) }"""
        arrays = {"x": np.ones((10, 4), np.float32),
                  "labels": np.arange(10) % 5}
        data = self.folder / "data.npz"
        _, last = self.run_steps(
            text, arrays, "--optimizer", "sgd", steps=1,
            loss="softmax-cross-entropy",
            lr=0, eval=("--eval-data", data, "--eval-every", 1))
        self.assertEqual(last["eval_accuracy"], 0.2)  # the first class is said

    def test_names_of_zc_in_a_model(self):
        text = """main (float[4,2] sample_weight) => (float[4,2] loss_sum)
            <float[2,2] weight_sum = {1, 2, 3, 4}>
            { loss_sum = MatMul(sample_weight, weight_sum) }"""
        arrays = {"sample_weight": np.ones((4, 2), np.float32),
                  "labels": np.ones((4, 2), np.float32)}
        lines, _ = self.run_steps(text, arrays)
        self.assertLess(lines[1]["loss"], lines[0]["loss"])

    def test_double_precision(self):
        text = """main (double[4,2] x) => (double[4,2] y)
            <double[2,2] w = {1, 2, 3, 4}> { y = MatMul(x, w) }"""
        arrays = {"x": np.ones((4, 2)), "labels": np.ones((4, 2))}
        lines, _ = self.run_steps(text, arrays, "--optimizer", "sgd", steps=1)
        self.assertEqual(lines[0]["loss"], np.mean([3 ** 2, 5 ** 2]))

    def test_parameters_are_what_is_trained(self):
        text = """main (float[64,4] x) => (float[64,5] y)
            <float[4,5] w = {0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}>
            { y = MatMul(x, w) }"""
        artifact = self.folder / "x.zca"
        self.zc("compile", self.model(text), "-o", artifact, "--loss",
                "softmax-cross-entropy")
        memory = json.loads(self.zc("inspect", artifact, "--memory",
                                    "--json"))["memory"]
        self.assertEqual(memory["parameters"], 4 * 4 * 5)
        self.assertEqual(memory["optimizer"], 2 * 4 * 4 * 5)

    def test_train_names_the_parameters(self):
        text = """main (float[4,2] x) => (float[4,2] y)
            <float[2,2] body = {1, 2, 3, 4}, float[2,2] head = {1, 2, 3, 4}>
            { h = MatMul(x, body)  y = MatMul(h, head) }"""
        said = self.zc("compile", self.model(text), "-o",
                       self.folder / "x.zca", "--loss", "mse", "--train",
                       "head")
        self.assertRegex(said, "trains 4 of 8 parameters in 1 of 2 tensors")
        self.assertRegex(said, "does not train body")

    def test_running_statistics_are_named_apart(self):
        model = self.model("""main (float[4,2] x) => (float[4,2] y)
            <float[2] s = {1, 1}, float[2] b = {0, 0}, float[2] m = {0, 0},
             float[2] v = {1, 1}, float[2] table = {3, 4}>
            { h = BatchNormalization(x, s, b, m, v)  y = Add(h, table) }""")
        for option, said in (("train", ", but updates,"), ("frozen", "")):
            out = self.zc("compile", model, "-o", self.folder / "x.zca",
                          "--loss", "mse", "--freeze", "table", "--batchnorm",
                          option)
            self.assertIn("does not train table\n", out)
            self.assertIn(f"does not train{said} running statistics m, v\n",
                          out)

    def test_evaluation_of_a_loss(self):
        model = self.model("""main (float[4,2] x) => (float cost)
            { cost = ReduceMean <keepdims = 0> (x) }""")
        x = np.arange(24, dtype=np.float32).reshape(12, 2)
        for name, array, warning in (("all", x, "first 4 of 12 samples"),
                                     ("one", x[:4], "^$")):
            np.save(self.folder / "x.npy", array)
            code, _, err = run("eval", model, "--input",
                               f"x={self.folder / 'x.npy'}", "--output-dir",
                               self.folder / name)
            self.assertEqual(code, 0, err)
            self.assertRegex(err, warning)
            cost = np.load(self.folder / name / "cost.npy")
            self.assertEqual(cost, x[:4].mean())

    def test_files_say_what_the_dims_are(self):
        model = self.model("""main (float[N,W] x) => (float[N,W] y)
            { y = Relu(x) }""")
        x = np.random.default_rng(0).normal(0, 1, (150, 3)).astype(np.float32)
        np.save(self.folder / "x.npy", x)
        self.zc("eval", model, "--input", f"x={self.folder / 'x.npy'}",
                "--output-dir", self.folder / "out")
        np.testing.assert_array_equal(np.load(self.folder / "out" / "y.npy"),
                                      np.maximum(x, 0))

    def test_file_that_is_missing(self):
        model = self.model("main (float[N,2] x) => (float[N,2] y) "
                           "{ y = Relu(x) }")
        self.fails(1, ["nothing.npy"], "eval", model, "--input",
                   "x=nothing.npy", "--output-dir", self.folder / "out")

    def test_class_axis_of_the_samples(self):
        self.refused("""main (float[4,2] x) => (float[4,2] y)
            <float[2,2] w = {1, 2, 3, 4}> { y = MatMul(x, w) }""",
                     ["class axis", "--class-axis"], "--loss",
                     "softmax-cross-entropy", "--class-axis", 0)

    def test_empty_tensors(self):
        """A cache without entries is nobody's to give, and adds nothing."""
        model = self.model("""main (float[4,2] x, float[4,P] cache)
                => (float[4,2] all, float[4] none)
            <int64[1] zero = {0}, int64[1] one = {1}>
            { all = Concat <axis = 1> (cache, x)
              h = Slice(x, zero, zero, one)
              none = ReduceSum <keepdims = 0> (h, one) }""")
        x = np.arange(8, dtype=np.float32).reshape(4, 2)
        np.save(self.folder / "x.npy", x)
        out = self.folder / "out"
        self.zc("eval", model, "--dim", "P=0", "--input",
                f"x={self.folder / 'x.npy'}", "--output-dir", out)
        np.testing.assert_array_equal(np.load(out / "all.npy"), x)
        np.testing.assert_array_equal(np.load(out / "none.npy"), np.zeros(4))

    def test_output_without_elements(self):
        self.refused("""main (float[4,2] x) => (float[4,0] y)
            <int64[1] zero = {0}, int64[1] one = {1}>
            { y = Slice(x, zero, zero, one) }""",
                     ["output 'y'", "without elements"], "--loss", "mse")

    def test_sizes_beyond_memory(self):
        text = """main (float[N,2] x) => (float[N,2] y)
            <float[2,2] w = {1, 2, 3, 4}> { y = MatMul(x, w) }"""
        for size in (10 ** 15, 2 ** 63 - 1):
            self.refused(text, ["larger than any memory"], "--loss", "mse",
                         "--dim", f"N={size}")

    def test_all_that_is_wrong_at_once(self):
        self.refused("""main (float[N,2] x) => (float[N,2] y)
            { y = Unique(x) }""", ["'N'", "Unique"], "--loss", "mse")

    def test_opset_of_the_future(self):
        path = self.model("main (float[4,2] x) => (float[4,2] y) "
                          "{ y = Relu(x) }")
        model = parser.parse_model(
            HEAD.replace("20", "99") +
            "main (float[4,2] x) => (float[4,2] y) { y = Relu(x) }")
        path.write_bytes(model.SerializeToString())
        self.fails(1, ["opset 99"], "compile", path, "--loss", "mse", "-o",
                   self.folder / "x.zca")

    def test_options_out_of_range(self):
        path = self.model("main (float[4,2] x) => (float[4,2] y) "
                          "{ y = Relu(x) }")
        for option, value in (("--beta2", 1), ("--beta1", "nan"),
                              ("--weight-decay", "nan"), ("--eps", "inf"),
                              ("--freeze", "("), ("--labels", "")):
            self.fails(2, [option], "compile", path, "--loss", "mse", "-o",
                       self.folder / "x.zca", option, value)


if __name__ == "__main__":
    unittest.main()
