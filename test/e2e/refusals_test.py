#!/usr/bin/env python3
"""Options and data that the command line refuses, and how it says so: options
that would have no effect or two, numbers out of range, data of another kind."""
import json
import shutil
import subprocess
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from bad_run_test import RunTest
from zctest import BIN, FIXTURES, Fixture, ZcTest, latest_step, run


class Options(ZcTest):

    def refuse(self, patterns, *options, code=2, model=None):
        self.fails(code, patterns, "compile", model or Fixture("mlp").model,
                   "-o", self.folder / "a.zca", *options)

    def test_training_options_of_an_inference_artifact(self):
        for option in (("--loss", "mse"), ("--optimizer", "sgd"),
                       ("--clip-norm", 1), ("--freeze", "w"),
                       ("--dropout", "off"), ("--accumulate", 2)):
            self.refuse([option[0], "belongs to --mode train"], "--mode",
                        "infer", *option)

    def test_ignored_labels_of_another_loss(self):
        self.refuse(["--ignore-index", "softmax-cross-entropy"], "--loss",
                    "mse", "--ignore-index", 3)

    def test_expressions_without_a_match(self):
        for option in ("--freeze", "--train"):
            self.refuse([option, "no initializer"], option, "nowhere",
                        *Fixture("mlp").compile_options("sgd"), code=1)

    def test_a_dim_given_twice(self):
        model = Fixture("gpt")
        self.refuse(["--dim", "'b' twice", "4 and 8"], "--loss", "mse", "--dim",
                    "b=4", "--dim", "b=8", model=model.model)

    def test_numbers(self):
        self.refuse(["--clip-norm", "above 0, found 0"], "--loss", "mse",
                    "--clip-norm", 0)
        self.fails(2, ["--rtol", "at least 0"], "verify", self.folder,
                   "--rtol=-1")

    def test_zero_on_one_rank_is_noted(self):
        fixture = Fixture("mlp")
        out = self.zc("compile", fixture.model, "-o", self.folder / "a.zca",
                      *fixture.compile_options("sgd"), "--zero", 1)
        self.assertIn("note: --zero 1 divides nothing", out)

    def test_a_number_says_nothing_of_samples(self):
        weight = numpy_helper.from_array(np.ones((4, 2), np.float32), "w")
        graph = helper.make_graph(
            [helper.make_node("MatMul", ["x", "w"], ["h"]),
             helper.make_node("ReduceMean", ["h"], ["y"], keepdims=0)], "one",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, (8, 4))],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, ())],
            [weight])
        model = self.folder / "one.onnx"
        onnx.save(helper.make_model(graph, ir_version=10, opset_imports=[
            helper.make_opsetid("", 20)]), model)
        self.refuse(["'x' \\[8, 4\\]", "--batch-dim"], "--loss", "mse", code=1,
                    model=model)

    def test_commands(self):
        for word in ("frob", "trian"):
            self.fails(2, [f"'{word}'", "compile, run"], word)
        self.assertIn("Usage: zc run ", self.zc("run", "--help"))

    def test_output_that_is_lost(self):
        fixture = Fixture("mlp")
        artifact = self.compile(fixture, "sgd")
        device = self.full_device()
        for command in (["compile", fixture.model, "-o", artifact,
                         *fixture.compile_options("sgd")],
                        ["run", artifact, "--data", fixture.data, "--steps",
                         1]):
            with device.open("wb") as full:
                done = subprocess.run(
                    [str(BIN / "zc"), *map(str, command)], stdout=full,
                    stderr=subprocess.PIPE, text=True)
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertIn("standard output", done.stderr)
            self.assertNotIn("LLVM", done.stderr)


class Run(RunTest):

    def save(self, **arrays):
        path = self.folder / "d.npz"
        np.savez(path, **arrays)
        return path

    def test_numbers(self):
        for option, value, said in (("--seed", -1, "whole number"),
                                    ("--lr-schedule", 1, "constant,cosine"),
                                    ("--lr-schedule", "cosinus", "cosine"),
                                    ("--warmup-steps", -1, "whole number"),
                                    ("--lr", "1e39", "float32")):
            err = self.fails(2, [option, said], "run", self.artifact, "--data",
                             "d", "--steps", 1, f"{option}={value}")
            self.assertLess(len(err), 300)

    def test_an_input_given_twice(self):
        for model in (self.artifact, self.fixture.model):
            self.fails(2, ["'x' twice"], "eval", model, "--input", "x=a.npy",
                       "--input", "x=b.npy", "--output-dir", self.folder)

    def test_data_of_another_kind(self):
        single = self.folder / "x.npy"
        np.save(single, np.zeros((64, 64), np.float32))
        self.refuse(["x.npy", "single array", "folder"], data=single)
        empty = self.folder / "empty"
        empty.mkdir()
        self.refuse(["empty", "no .npy files"], data=empty)
        self.refuse(["'labels'", "any integers"], data=self.save(
            x=np.zeros((64, 64), np.float32),
            labels=np.zeros(64, np.float32)))

    def test_why_a_loss_is_no_number(self):
        x, labels = np.zeros((64, 64), np.float32), np.zeros(64, np.int64)
        ignored = labels.copy()
        ignored[32:] = -100
        self.refuse(["step 2: the loss is nan", "every label", "ignored"],
                    "--no-shuffle", data=self.save(x=x, labels=ignored))
        x[37, 5] = np.nan
        self.refuse(["step 2: the loss is nan", "'x'", "sample 37"],
                    "--no-shuffle", data=self.save(x=x, labels=labels))
        err = self.refuse(["smaller --lr"], "--lr", "1e30", steps=50)
        self.assertNotIn("sample", err)

    def test_an_evaluation_without_labels(self):
        log, held = self.folder / "log.jsonl", self.folder / "held.npz"
        np.savez(held, x=np.zeros((40, 64), np.float32),
                 labels=np.full(40, -100))
        self.train(self.artifact, self.fixture.data, 1, "--eval-data", held,
                   "--log", log)
        line = json.loads(log.read_text().splitlines()[-1])
        self.assertIsNone(line["eval_loss"])
        self.assertIsNone(line["eval_accuracy"])

    def test_a_run_that_goes_on_otherwise(self):
        checkpoint = self.folder / "ckpt"
        go = ("run", self.artifact, "--data", self.fixture.data,
              "--checkpoint", checkpoint)
        self.zc(*go, "--steps", 1, "--seed", 3)
        code, _, err = run(*go, "--steps", 2, "--resume", "--seed", 3)
        self.assertEqual((code, err), (0, ""))
        code, _, err = run(*go, "--steps", 3, "--resume", "--seed", 4,
                           "--no-shuffle")
        self.assertEqual(code, 0, err)
        self.assertRegex(err, "--seed 4: .* seed 3")
        self.assertRegex(err, "--no-shuffle: .* shuffled")
        self.assertEqual(err.count("warning"), 2)
        state = latest_step(checkpoint) / "train_state.json"
        saved = json.loads(state.read_text())
        batch = saved["batch"]
        state.write_text(json.dumps({**saved, "batch": 2 * batch}))
        self.fails(1, ["train_state.json", "checksum does not match"],
                   *go, "--steps", 4, "--resume")
        del saved["xxh64"]
        state.write_text(json.dumps({**saved, "batch": 2 * batch}))
        code, _, err = run(*go, "--steps", 4, "--resume")
        self.assertRegex(err, f"takes {batch} samples a step; the run so far "
                              f"took {2 * batch}")


class Verify(ZcTest):

    def test_sets_without_errors(self):
        folder = self.folder / "test_relu"
        shutil.copytree(FIXTURES / "node-tests" / "test_relu", folder)
        output = folder / "test_data_set_0" / "output_0.pb"
        array = numpy_helper.to_array(onnx.load_tensor(output)).copy()
        array.flat[3] = np.nan
        output.write_bytes(numpy_helper.from_array(array).SerializeToString())
        code, out, _ = run("verify", folder)
        self.assertEqual(code, 1)
        self.assertRegex(out, "largest error nan absolute, nan relative: .*"
                              "element 3 is .*, expected nan")
        output.write_bytes(b"no tensor")
        code, out, _ = run("verify", folder)
        self.assertEqual(code, 1)
        self.assertNotIn("largest error", out)
        _, out, _ = run("verify", folder, "--json")
        self.assertIsNone(json.loads(out)["sets"][0]["absolute_error"])


if __name__ == "__main__":
    unittest.main()
