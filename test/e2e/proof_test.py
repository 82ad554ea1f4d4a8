#!/usr/bin/env python3
"""`zc compile --verify`: the program of several ranks is trained in the
interpreter on small dims, beside one rank's, before its artifact is written.
mutations_test.py shows that such a comparison finds mistakes.
"""
import re
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from zctest import Fixture, ZcTest, run

LOSS = ["--loss", "softmax-cross-entropy"]


class CommandLine(ZcTest):

    def compile(self, name, *options):
        fixture = Fixture(name)
        return self.zc("compile", fixture.model, *LOSS, *options, "-o",
                       self.folder / "out.zca")

    def test_says_what_it_has_shown(self):
        said = self.compile("gpt", "--mesh", "dp=2,tp=2", "--zero", "2")
        line = re.search(r"verified: on small dims 4 ranks train as one does, "
                         r"in all (\d+) tensors of a step within (\S+)", said)
        self.assertGreater(int(line[1]), 80)
        self.assertLess(float(line[2]), 1e-9)
        kinds = re.search(r"verified: ops are divided as their formulas allow "
                          r"\((\d+) kinds\)", said)
        self.assertGreater(int(kinds[1]), 30)
        self.assertNotIn("not verified", said)

    def test_two_steps_of_micro_batches(self):
        """A sum that is not cleared shows in the next step."""
        self.assertRegex(self.compile("gpt", "--mesh", "dp=2", "--accumulate",
                                      "2"), r"tensors of 2 steps within")

    def test_weights_that_are_drawn(self):
        """The seed is an argument of the program that draws them."""
        self.assertRegex(self.compile("gpt", "--mesh", "dp=2", "--init",
                                      "normal:0.02"), "verified: on small dims 2 ranks")

    def test_off_says_nothing(self):
        self.assertNotIn("verified", self.compile(
            "gpt", "--mesh", "dp=2", "--verify", "off"))

    def test_one_rank_has_nothing_divided(self):
        self.assertNotIn("verified", self.compile("gpt"))

    def test_deep_looks_at_fusion_and_memory(self):
        for options in ([], ["--mesh", "dp=2"], ["--recompute", "full"],
                        ["--mesh", "pp=2", "--accumulate", "2"]):
            with self.subTest(options=options):
                said = self.compile("gpt", *options, "--verify", "deep")
                self.assertIn("zc: verified: on small dims", said)

    def test_many_ranks_stand_for_more(self):
        said = self.compile("gpt", "--mesh", "dp=4,tp=2", "--zero", "1",
                            "--verify", "deep")
        self.assertIn("8 ranks train as one does", said)

    def test_compressed_steps(self):
        """1-bit Adam's, which its warm-up says nothing of."""
        for options in (["dp=2"], ["dp=2,tp=2"], ["dp=4"],
                        ["dp=2,tp=2", "--precision", "bf16"],
                        ["dp=2", "--precision", "fp16"]):
            with self.subTest(options=options):
                said = self.compile("gpt", "--optimizer", "onebit-adam",
                                    "--verify", "deep", "--mesh", *options)
                line = re.search(r"in all (\d+) tensors of \d steps? and of one "
                                 r"behind the warm-up within (\S+)", said)
                self.assertGreater(int(line[1]), 200)
                self.assertLess(float(line[2]), 1e-9)

    def test_noise_is_no_difference(self):
        """SM3 has no epsilon: a gradient that is 0 but for rounding makes a
        step as large as any other's."""
        said = self.compile("gpt", "--mesh", "tp=2", "--optimizer", "sm3")
        line = re.search(r"2 ranks train as one does, in all (\d+) tensors of "
                         r"a step within (\S+)", said)
        self.assertGreater(int(line[1]), 60)
        self.assertLess(float(line[2]), 1e-9)

    def test_gradients_of_nothing_but_rounding(self):
        """A batch norm over few elements leaves such ones, and an accumulator
        that begins with 0 makes them steps as large as any."""
        for options in (["dp=2"], ["dp=2", "--zero", "1"]):
            with self.subTest(options=options):
                said = self.compile("resnet", "--optimizer", "sm3", "--mesh",
                                    *options)
                line = re.search(r"2 ranks train as one does, in all (\d+) "
                                 r"tensors of a step within (\S+)", said)
                self.assertTrue(line, said)
                self.assertLess(float(line[2]), 1e-9)

    def test_schedules_without_flush(self):
        """One rank that reads weights as old as each stage's."""
        for options in (["--schedule", "2bw", "--accumulate", "2"],
                        ["--schedule", "stash"],
                        ["--schedule", "stash", "--vertical-sync"]):
            options += ["--optimizer", "sgd"]
            for how in ("on", "deep"):
                with self.subTest(options=options, verify=how):
                    said = self.compile("mlp", "--dim", "batch=32", "--mesh",
                                        "pp=2", *options, "--verify", how)
                    self.assertRegex(said, "zc: verified: on small dims 2 "
                                     "ranks train as one does, in all .* "
                                     "tensors of 3 steps")

    def test_says_why_not(self):
        """A window of 384 elements keeps its image large, which takes too
        long."""
        image = helper.make_tensor_value_info("x", TensorProto.FLOAT,
                                              [8, 3, 768, 768])
        weight = numpy_helper.from_array(
            np.full((8, 3, 3, 3), 0.1, np.float32), "w")
        head = numpy_helper.from_array(
            np.full((8 * 2 * 2, 2), 0.1, np.float32), "head")
        nodes = [helper.make_node("Conv", ["x", "w"], ["c"], pads=[1] * 4),
                 helper.make_node("Relu", ["c"], ["r"]),
                 helper.make_node("AveragePool", ["r"], ["p"],
                                  kernel_shape=[384] * 2, strides=[384] * 2),
                 helper.make_node("Flatten", ["p"], ["f"]),
                 helper.make_node("MatMul", ["f", "head"], ["logits"])]
        graph = helper.make_graph(
            nodes, "image", [image],
            [helper.make_tensor_value_info("logits", TensorProto.FLOAT, [8, 2])],
            [weight, head])
        path = self.folder / "image.onnx"
        onnx.save(helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10),
            path)
        said = self.zc("compile", path, *LOSS, "--mesh", "dp=2", "-o",
                       self.folder / "image.zca")
        self.assertRegex(said, "note: not verified that 2 ranks train as one "
                         r"does: it would take \d+ million operations")
        self.assertIn("zc: wrote", said)

    def test_as_many_samples_as_rows(self):
        """The fixtures' batch is 8, and so are rows, columns and channels of
        some images. Means over 4 x 3 x 3 elements do not round."""
        for name, mesh in (("resnet", "dp=2"), ("mobilenet", "dp=2"),
                           ("mobilenet", "tp=2")):
            with self.subTest(model=name, mesh=mesh):
                said = self.compile(name, "--mesh", mesh)
                line = re.search(r"verified: on small dims 2 ranks train as "
                                 r"one does, in all (\d+) tensors of a step "
                                 r"within (\S+)", said)
                self.assertTrue(line, said)
                self.assertLess(float(line[2]), 1e-12)

    def test_maps_of_classes(self):
        """Enlarged images have rules of many elements: they are proven, and
        steps too where that takes at most a tenth of a short compilation."""
        steps = ("verified: on small dims 2 ranks train as one does, in all .* "
                 "tensors of (a step|2 steps) within")
        for verify, expected in (
                ("deep", steps), ("on", f"{steps}|more than a tenth of the")):
            said = self.zc("compile", Fixture("unet").model, "--loss",
                           "bce-with-logits", "--mesh", "dp=2", "--verify",
                           verify, "-o", self.folder / "out.zca")
            self.assertRegex(said, expected)

    def test_rules_of_large_ops(self):
        """Anchors of several images in one tensor keep these large: a few
        elements stand for all."""
        said = self.zc("compile", Fixture("ssd").model, "--loss", "none",
                       "--mesh", "dp=2", "-o", self.folder / "out.zca")
        self.assertIn("verified: ops are divided as their formulas allow", said)
        self.assertNotIn("not verified how", said)

    def test_statistics_of_each_rank(self):
        said = self.compile("cnn", "--mesh", "dp=2", "--batchnorm-stats",
                            "local", "--verify", "deep")
        self.assertIn("verified: on small dims 2 ranks train as one", said)

    def test_numbers_of_16_bits(self):
        for options in (["--precision", "bf16"], ["--precision", "fp16"],
                        ["--precision", "bf16", "--reduce-precision", "bf16",
                         "--zero", "2"]):
            with self.subTest(options=options):
                said = self.compile("gpt", "--mesh", "dp=2", *options)
                line = re.search(r"2 ranks train as one does, in all (\d+) "
                                 r"tensors of a step within (\S+)", said)
                self.assertLess(float(line[2]), 1e-9)

    def test_class_weights(self):
        """Weights are those of the classes that small dims have."""
        weights = self.folder / "weights.npy"
        np.save(weights, np.linspace(0.5, 2, 10, dtype=np.float32))
        said = self.compile("cnn", "--mesh", "dp=2", "--class-weights", weights,
                            "--verify", "deep")
        self.assertIn("verified: on small dims 2 ranks train as one", said)

    def test_each_mesh(self):
        said = self.compile("mlp", "--mesh", "dp=4", "--mesh", "dp=2", "--dim",
                            "batch=32", "--mesh", "dp=2,tp=4")
        for ranks in (4, 2, 8):
            self.assertIn(f"verified: on small dims {ranks} ranks train as one "
                          "does", said)

    def test_plans(self):
        fixture = Fixture("gpt")
        arguments = ("plan", fixture.model, *LOSS, "--mesh", "dp=4,tp=2",
                     "--cluster", "h100-dgx")
        code, out, error = run(*arguments, "--verify", "on")
        self.assertEqual(code, 0, error)
        self.assertIn("verified: on small dims 8 ranks train as one", error)
        code, out, error = run(*arguments)
        self.assertNotIn("verified", error)


if __name__ == "__main__":
    unittest.main()
