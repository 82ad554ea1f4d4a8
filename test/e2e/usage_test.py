#!/usr/bin/env python3
"""The offers of the command line, and its answers to those who write something
else."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from zctest import BIN, Fixture, ZcTest, run

USAGE = (pathlib.Path(__file__).resolve().parents[2] / "runtime" / "Base" /
         "Usage.cpp").read_text()


def offered(command, tool="zc"):
    """The options that --help lists."""
    out = subprocess.run([str(BIN / tool), command, "--help"], text=True,
                         capture_output=True, check=True).stdout
    return set(re.findall(r"^ +(?:-\w,)?(--[\w-]+)", out, re.MULTILINE))


class Help(ZcTest):

    def test_what_is_known_of_other_commands_is_what_they_offer(self):
        for command in ("compile", "run", "eval"):
            listed = set(re.findall(r'"(--[\w-]+)"', re.search(
                r'\{"%s",\s*\{(.*?)\}\}' % command, USAGE, re.DOTALL)[1]))
            self.assertEqual(listed - offered(command), set(), command)
            missing = offered(command) - listed - {"--help", "--verbose",
                                                   "--timeout"}
            self.assertEqual(missing, set(), command)

    def test_the_guide_knows_each_option(self):
        """By its name, on the page of its task or on README's."""
        root = pathlib.Path(__file__).resolve().parents[2]
        pages = [root / "README.md", *(root / "tools/guide").glob("*.md")]
        known = set(re.findall(r"--[a-z][\w-]*", "".join(
            page.read_text() for page in pages
            if page.name != "requirements.md")))
        for command in ("compile", "run", "launch", "sign", "eval", "verify",
                        "export", "inspect", "plan", "check", "doctor"):
            self.assertEqual(offered(command) - known - {"--help"}, set(),
                             command)

    def test_groups_and_the_command(self):
        text = self.zc("help", "compile")
        for group in ("Loss:", "Optimizer:", "Memory:", "Ranks:"):
            self.assertIn(f"\n{group}\n", text)
        self.assertEqual(text, self.zc("compile", "--help"))
        self.assertIn("\nCheckpoints:\n", self.zc("help", "run"))
        self.assertIn("compile a model", self.zc("help"))
        self.fails(2, ["no command 'frob'"], "help", "frob")
        self.assertRegex(text, r"\bsp\b")

    def test_what_an_artifact_may_do(self):
        for command in ("run", "eval", "launch"):
            self.assertRegex(self.zc(command, "--help"),
                             "[aA]n artifact is a program")

    def test_plans_are_not_verified_unless_asked(self):
        self.assertRegex(self.zc("compile", "--help"), r"--verify \S*=on ")
        self.assertRegex(self.zc("plan", "--help"), r"--verify \S*=off ")

    def test_help_of_the_runner(self):
        self.assertIn("train an artifact", self.zc("help", tool="zc-run"))
        self.assertEqual(self.zc("help", "eval", tool="zc-run"),
                         self.zc("eval", "--help", tool="zc-run"))
        self.fails(2, ["no command 'frob'"], "help", "frob", tool="zc-run")

    def test_each_program_by_its_name(self):
        self.assertIn("Usage: zc run ", self.zc("run", "--help"))
        self.assertIn("Usage: zc-run run ",
                      self.zc("run", "--help", tool="zc-run"))


class Doctor(ZcTest):

    def test_what_this_machine_has(self):
        text = self.zc("doctor", "--quick")
        for what in ("processor", "cores", "memory", "temporary files", "cpu",
                     "cuda", "mpi"):
            self.assertRegex(text, rf"(?m)^{what} +\S")
        self.assertRegex(text, r"cores .*: \d+ threads? pays?[;\n]")
        found = json.loads(self.zc("doctor", "--json"))
        self.assertTrue(found["cpu"]["usable"])
        self.assertRegex(found["cpu"]["text"],
                         r"measured [1-9]\d* GFLOP/s .* [1-9][\d.]* GB/s")

    def test_what_is_missing_is_said(self):
        empty = self.folder / "plugins"
        empty.mkdir()
        code, out, _ = run("doctor", "--quick", "--json", env={
            **os.environ, "ZC_PLUGIN_PATH": str(empty),
            "TMPDIR": str(self.folder / "none")})
        self.assertEqual(code, 1)
        found = json.loads(out)
        for what in ("cpu", "mpi", "temporary files"):
            self.assertFalse(found[what]["usable"], what)
        self.assertIn("TMPDIR", found["temporary files"]["text"])
        self.fails(2, ["'--quik'", "did you mean '--quick'"], "doctor",
                   "--quik")


class Mistakes(ZcTest):

    def test_another_command_s_option(self):
        model = Fixture("mlp").model
        self.fails(2, ["'--lr' belongs to zc run, not to zc compile"],
                   "compile", model, "--lr", 1)
        self.fails(2, ["'--loss' belongs to zc compile, not to zc run"],
                   "run", "a.zca", "--loss", "mse")
        self.fails(2, ["'--checkpoint' belongs to zc run and zc eval and zc "
                       "export"], "inspect", "a.zca", "--checkpoint", "c")

    def test_did_you_mean(self):
        model = Fixture("mlp").model
        self.fails(2, ["no option '--optimiser'; did you mean '--optimizer'"],
                   "compile", model, "--optimiser", "sgd")
        self.fails(2, ["no option '--chekpoint'; did you mean '--checkpoint'",
                       "zc run --help"], "run", "a.zca", "--chekpoint", "c")
        self.fails(2, ["'comple'; did you mean 'compile'"], "comple")

    def test_a_loss_is_asked_for_by_name(self):
        self.fails(2, ["--loss", "softmax-cross-entropy", "mse",
                       "bce-with-logits", "none"], "compile",
                   Fixture("mlp").model)

    def test_options_without_effect(self):
        compile_ = ("compile", Fixture("mlp").model, "--loss",
                    "softmax-cross-entropy")
        for patterns, options in (
                (["--unit needs --zero"], ["--unit", "layer"]),
                (["--collective-algorithm needs", "--mesh"],
                 ["--collective-algorithm", "ring"]),
                (["--no-weight-decay", "above 0"],
                 ["--optimizer", "sgd", "--no-weight-decay", "bias"]),
                (["--cpu-arch", "--target cpu"],
                 ["--target", "cuda", "--cpu-arch", "x86-64-v3"])):
            self.fails(2, patterns, *compile_, *options)


class Compile(ZcTest):

    def test_the_output_has_the_model_s_name(self):
        fixture = Fixture("mlp")
        model = self.folder / "net.onnx"
        shutil.copy(fixture.model, model)
        out = self.zc("compile", model, *fixture.compile_options("sgd"))
        self.assertIn("net.zca", out)
        self.zc("run", self.folder / "net.zca", "--data", fixture.data,
                "--steps", 1)

    def test_the_batch_of_a_rank(self):
        out = self.zc("compile", Fixture("mlp").model, "-o",
                      self.folder / "a.zca", "--loss", "softmax-cross-entropy",
                      "--dim", "batch=24", "--mesh", "dp=2")
        self.assertIn("batch of 24 in all, 12 a rank", out)

    def test_one_class(self):
        weight = numpy_helper.from_array(np.ones((4, 1), np.float32), "w")
        graph = helper.make_graph(
            [helper.make_node("MatMul", ["x", "w"], ["y"])], "one",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, (8, 4))],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, (8, 1))],
            [weight])
        model = self.folder / "one.onnx"
        onnx.save(helper.make_model(graph, ir_version=10, opset_imports=[
            helper.make_opsetid("", 20)]), model)
        code, _, err = run("compile", model, "--loss", "softmax-cross-entropy")
        self.assertEqual(code, 0, err)
        self.assertRegex(err, r"warning: .*float32 \[[0-9, ]+\].*"
                              "over one class is always 0.*bce-with-logits")


class Check(ZcTest):

    def test_a_sound_model(self):
        out = self.zc("check", Fixture("mlp").model)
        self.assertRegex(out, r"would train [\d,]+ of [\d,]+ parameters")
        self.assertRegex(out, r"wants input 'x', float32 \[\d+, 64\]")
        self.assertRegex(out, r"softmax-cross-entropy: labels int64 \[\d+\]")
        self.assertIn("can be trained", out)
        found = json.loads(self.zc("check", Fixture("mlp").model, "--json"))
        self.assertTrue(found["sound"])
        self.assertEqual(found["problems"], [])
        self.assertEqual(found["inputs"][0]["name"], "x")
        self.assertGreater(found["parameters"]["trained"], 0)

    def test_operators_that_lack(self):
        graph = helper.make_graph(
            [helper.make_node("NonMaxSuppression", ["b", "s"], ["y"],
                              name="pick")], "boxes",
            [helper.make_tensor_value_info("b", TensorProto.FLOAT, (1, 6, 4)),
             helper.make_tensor_value_info("s", TensorProto.FLOAT, (1, 1, 6))],
            [helper.make_tensor_value_info("y", TensorProto.INT64,
                                           ("n", 3))])
        model = self.folder / "boxes.onnx"
        onnx.save(helper.make_model(graph, ir_version=10, opset_imports=[
            helper.make_opsetid("", 20)]), model)
        self.fails(1, ["NonMaxSuppression"], "check", model)
        code, out, _ = run("check", model, "--json")
        found = json.loads(out)
        self.assertEqual((code, found["sound"]), (1, False))
        self.assertTrue(any("NonMaxSuppression" in each
                            for each in found["problems"]))
        self.fails(1, ["nowhere.onnx"], "check", self.folder / "nowhere.onnx")


if __name__ == "__main__":
    unittest.main()
