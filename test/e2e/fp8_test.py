#!/usr/bin/env python3
"""Products of 8-bit floats: rounding, losses, ranks, and what is refused."""
import json
import pathlib
import unittest

import ml_dtypes
import numpy as np

import fp8_network
from fp8_network import BATCH, LEARNING_RATE, STEPS, WIDTHS, data, weights
from small_models import SmallModels
from zctest import Fixture, latest_step, load_tensors, read_log, run

FIXTURES = pathlib.Path(__file__).resolve().parents[1] / "fixtures"
REFERENCE = json.loads((FIXTURES / "fp8" / "reference.json").read_text())
# Sizes of which blocks of 128 are parts.
BLOCK_BATCH, BLOCK_WIDTHS = 128, (128, 256, 128, 16)


class Fp8Test(SmallModels):

    def recorded_model(self, batch=BATCH, widths=WIDTHS):
        nodes, value = [], "x"
        last = len(widths) - 2
        for i in range(last + 1):
            nodes.append(("MatMul", [value, f"w{i}"], f"p{i}"))
            value = f"p{i}"
            if i < last:
                nodes.append(("Relu", [value], f"r{i}"))
                value = f"r{i}"
        return self.save("recorded.onnx", nodes,
                         {f"w{i}": w for i, w in enumerate(weights(widths))},
                         {"x": (batch, widths[0])}, {value: (batch, widths[-1])})

    def losses(self, *options, ranks=1, precision="fp8", more=(), batch=BATCH,
               widths=WIDTHS, steps=STEPS):
        artifact, self.output = self.compiled(
            self.recorded_model(batch, widths), "--precision", precision,
            *options)
        self.artifact = artifact
        ranks = ("--local-ranks", ranks) if ranks > 1 else ()
        found, self.tensors = self.trained(
            artifact, *data(batch, widths), *ranks, *more, steps=steps,
            lr=LEARNING_RATE)
        return np.array(found)

    def histories(self):
        """Loads the histories of the last run, by zc's names without "state." and
        "fp8_amax_"."""
        folder = latest_step(self.folder / f"{self.artifact.stem}-c")
        return {name.removeprefix("state.").replace("fp8_amax_", ""): array
                for name, array in load_tensors(folder, "optimizer").items()
                if "fp8_amax_" in name}


class Rounding(Fp8Test):
    """Generated code rounds as ml_dtypes does, all bfloat16 numbers that there
    are: a step leaves what it has rounded in a checkpoint."""

    WIDTH = 256
    EYE = np.eye(WIDTH, dtype=np.float32)

    def numbers(self, largest):
        """Every number of bfloat16 up to `largest`, and 0 beyond."""
        bits = np.arange(1 << 16, dtype=np.uint32)
        found = (bits << 16).view(np.float32)
        found = np.where(np.abs(found) <= largest, found, 0)
        return np.nan_to_num(found).reshape(self.WIDTH, self.WIDTH)

    def step(self, w0, w1, x, labels):
        """w0 and w1 after a step of learning rate 1: one product is rounded,
        the last is not."""
        model = self.save(
            "two.onnx", [("MatMul", ["x", "w0"], "h"),
                         ("MatMul", ["h", "w1"], "y")],
            {"w0": w0, "w1": w1}, {"x": x.shape}, {"y": labels.shape})
        artifact, _ = self.compiled(model, "--precision", "fp8")
        _, tensors = self.trained(artifact, x, labels, steps=1, lr=1)
        return tensors["w0"], tensors["w1"]

    def test_e4m3(self):
        """h is x rounded; where w1 is 0 and the output's gradient -1 on the
        diagonal, w1 becomes h transposed."""
        x = self.numbers(448)
        labels = self.EYE * (self.WIDTH ** 2 / 2)
        _, found = self.step(self.EYE, 0 * self.EYE, x, labels)
        expected = x.astype(ml_dtypes.float8_e4m3fn).astype(np.float32)
        np.testing.assert_array_equal(found.T, expected)
        self.assertEqual(len(np.unique(expected)), 253)  # all but -0 and NaN

    def test_e5m2(self):
        """Where w1 is the identity, h's gradient is the output's: -labels
        times 2 / their number, and w0 becomes minus that, rounded."""
        gradient = self.numbers(57344)
        labels = -gradient * (self.WIDTH ** 2 / 2)
        found, _ = self.step(0 * self.EYE, self.EYE, self.EYE, labels)
        expected = gradient.astype(ml_dtypes.float8_e5m2).astype(np.float32)
        np.testing.assert_array_equal(-found, expected)
        self.assertEqual(len(np.unique(expected)), 247)


class Losses(Fp8Test):

    def test_pytorch(self):
        """The same losses as PyTorch with the same rounding but for the order of
        sums (found: 5e-7), and others than without."""
        expected, wide = (np.array(REFERENCE[name]) for name in ("fp8", "bf16"))
        losses = self.losses()
        distance = np.abs(losses / expected - 1)
        self.assertLess(distance.max(), 1e-5)
        self.assertGreater(np.abs(losses / wide - 1).mean(), 1e-3)
        # So does the reference of the other ways to scale.
        own, _ = fp8_network.train(fp8_network.Current())
        np.testing.assert_allclose(own, expected, 1e-6)
        self.assertIn("2 products of values and weights, and their gradients' "
                      "products, are of 8-bit floats; of bfloat16 stay those "
                      "of w2 (in front of the loss)", self.output)

    def test_ranks(self):
        """Scales are of whole tensors: without tp the first loss, before any
        sum over ranks, is that of one rank. Terms of a sum are rounded to
        bfloat16 on each rank, as in bf16: with tp the forward's, a unit of
        1/256 in some of 2048 hidden values; 8 bits pass on those that turn
        over."""
        one = {}
        for ranks, *options in ((2, "--mesh", "dp=2"), (2, "--mesh", "tp=2"),
                                (4, "--mesh", "dp=2,tp=2", "--zero", "3"),
                                (2, "--mesh", "dp=2", "--zero", "1"),
                                (2, "--mesh", "pp=2", "--accumulate", "2")):
            with self.subTest(options=options):
                parts = "2" if "--accumulate" in options else "1"
                if parts not in one:
                    one[parts] = self.losses("--accumulate", parts)
                losses = self.losses(*options, "--verify", "deep", ranks=ranks)
                self.assertIn("zc: verified", self.output)
                first = 1e-3 if "tp" in options[1] else 1e-6
                self.assertLess(abs(losses[0] / one[parts][0] - 1), first)
                np.testing.assert_allclose(losses, one[parts], rtol=1e-2)

    def test_resumed_without_the_setting(self):
        """Checkpoints of before --fp8-scaling have none: they are of current."""
        self.losses(steps=2)
        checkpoint = self.folder / f"{self.artifact.stem}-c"
        file = latest_step(checkpoint) / "train_state.json"
        state = file.read_text()
        self.assertIn("fp8-scaling", state)
        saved = json.loads(state)
        saved["compiled"].pop("fp8-scaling")
        saved.pop("xxh64")
        file.write_text(json.dumps(saved))
        for options, isTold in (((), False),
                                (("--fp8-scaling", "delayed"), True)):
            artifact, _ = self.compiled(self.recorded_model(), "--precision",
                                        "fp8", *options, name="now.zca")
            code, _, err = run("run", artifact, "--resume", "--checkpoint",
                               checkpoint, "--data", self.folder / "d.npz",
                               "--steps", 3, "--no-shuffle")
            self.assertEqual(code, 0, err)
            self.assertEqual("compiled with fp8-scaling" in err, isTold, err)

    def test_micro_batches(self):
        """Gradients of weights are added up in float32: that of w0, whose values
        and gradients are small integers, is exact, where the two products'
        16 bits would be off by up to 1/512 each."""
        random = np.random.default_rng(3)
        width = 128
        x = random.integers(-7, 8, (2 * width, width)).astype(np.float32)
        labels = random.integers(-7, 8, (2 * width, width)) * x.size / 4
        model = self.save(
            "sums.onnx", [("MatMul", ["x", "w0"], "h"),
                          ("MatMul", ["h", "w1"], "y")],
            {"w0": np.zeros((width, width), np.float32),
             "w1": np.eye(width, dtype=np.float32)},
            {"x": x.shape}, {"y": labels.shape})
        # Scales are powers of two: 448 over 7, 57344 over 7 times such a one.
        for ranks, *options in ((1, "--accumulate", "2"),
                                (2, "--accumulate", "2", "--mesh", "dp=2")):
            artifact, _ = self.compiled(model, "--precision", "fp8", *options)
            _, tensors = self.trained(
                artifact, x, -labels.astype(np.float32), *(
                    ("--local-ranks", ranks) if ranks > 1 else ()), steps=1,
                lr=1)
            expected = -x.T @ (labels * 2 / x.size).astype(np.float32)
            self.assertGreater(np.abs(expected).max(), 256)
            np.testing.assert_array_equal(tensors["w0"], expected, str(options))

    def test_fewer_heads_of_keys_than_ranks(self):
        """They are not repeated: each copy's gradient would have a scale of
        its own. The small program trains as one rank's does."""
        model = self.write_large("large_llama.py", layers=1, width=128, heads=8,
                                 key_heads=2, inner=256, vocabulary=256,
                                 batch=2, length=16)
        out = self.zc("compile", model, "-o", self.folder / "heads.zca",
                      "--loss", "softmax-cross-entropy", "--init",
                      "normal:0.02", "--mesh", "tp=4",
                      "--precision", "fp8", "--verify", "deep")
        self.assertIn("zc: verified", out)
        self.assertRegex(out, r"\d+ products of values and weights")

    def test_convergence(self):
        """A language model's last losses are those of bfloat16 within 2%."""
        last = {}
        for precision in ("bf16", "fp8"):
            fixture = Fixture("gpt")
            artifact = self.compile(fixture, "adamw", "--precision", precision)
            log = self.folder / "log.jsonl"
            self.train(artifact, fixture.data, 40, "--log", log, lr=1e-3)
            last[precision] = np.mean(
                [line["loss"] for line in read_log(log)][-5:])
        self.assertLess(abs(last["fp8"] / last["bf16"] - 1), 0.02)


class Layers(Fp8Test):
    """Options say which products are of 8 bits."""

    def test_exclude(self):
        wide = self.losses(precision="bf16", steps=2)
        some = self.losses("--fp8-exclude", "^w0$", steps=2)
        self.assertIn("^w0$", self.zc("inspect", self.artifact))
        self.assertIn("1 product of values and weights", self.output)
        self.assertIn("w0 (excluded)", self.output)
        every = self.losses(steps=2)
        self.assertNotEqual(some[0], every[0])
        self.assertNotEqual(some[0], wide[0])

    def test_no_such_layer(self):
        code, _, err = run("compile", self.recorded_model(), "-o",
                           self.folder / "no.zca", "--loss", "mse",
                           "--precision", "fp8", "--fp8-exclude", "head")
        self.assertEqual(code, 1, err)
        self.assertRegex(err, "'head' names no weight .*w0, w1, w2")

    def test_excluded_from_a_proof(self):
        """A mesh is proven on a part of the layers, which need not have it."""
        model = self.write_large("large_gpt.py", layers=4, width=64, heads=2,
                                 vocabulary=64, batch=2, length=16)
        out = self.zc("compile", model, "-o", self.folder / "gpt.zca", "--loss",
                      "softmax-cross-entropy", "--init", "normal:0.05",
                      "--precision", "fp8", "--fp8-exclude", r"^h\.3\.",
                      "--mesh", "dp=2", "--verify", "deep")
        self.assertIn("zc: verified", out)
        self.assertIn("h.3.fc.weight (excluded)", out)

    def test_parts_of_other_sizes(self):
        """A note says which product a GPU's rank multiplies in 16 bits."""
        model = self.recorded_model(32, (64, 48, 64, 16))
        out = self.zc("compile", model, "-o", self.folder / "parts.zca",
                      "--loss", "mse", "--precision", "fp8", "--target",
                      "cuda:sm_90", "--mesh", "tp=2")
        self.assertRegex(out, "as bfloat16 where its parts are no multiples of "
                              r"16: .*32 x 64 by 64 x 24")
        whole = self.zc("compile", model, "-o", self.folder / "parts.zca",
                        "--loss", "mse", "--precision", "fp8", "--target",
                        "cuda:sm_90")
        self.assertNotIn("multiples", whole)


class Refused(Fp8Test):

    def fails(self, *options, batch=BATCH, precision="fp8"):
        """The message."""
        code, _, err = run("compile", self.recorded_model(batch), "-o",
                           self.folder / "no.zca", "--loss", "mse",
                           "--precision", precision, *options)
        self.assertIn(code, (1, 2), err)
        self.assertNotIn("internal", err)
        return err

    def test_targets(self):
        for target in ("cuda", "cuda:sm_80", "cuda:sm_89"):
            self.assertIn("--target cuda:sm_90 or later",
                          self.fails("--target", target))

    def test_sizes(self):
        self.assertIn("multiples of 16", self.fails(batch=24))
        self.assertIn("multiples of 128",
                      self.fails("--fp8-scaling", "block"))
        self.assertIn("32 rows by 64 x 128", self.fails("--fp8-scaling", "block"))

    def test_plans(self):
        """Clusters are refused whose GPUs multiply no 8-bit floats, or no blocks."""
        model = self.recorded_model(BLOCK_BATCH, BLOCK_WIDTHS)
        for cluster, scaling, message in (
                ("a100-dgx", "current", "no rate of 8-bit floats"),
                ("b200", "block", "blocks of 128 .*--fp8-scaling current")):
            code, _, err = run("plan", model, "--loss", "mse", "--precision",
                               "fp8", "--fp8-scaling", scaling, "--cluster",
                               cluster)
            self.assertEqual(code, 1, err)
            self.assertRegex(err, message)
        for cluster, scaling in (("b200", "delayed"), ("h200", "block")):
            self.zc("plan", model, "--loss", "mse", "--precision", "fp8",
                    "--fp8-scaling", scaling, "--cluster", cluster)

    def test_scalings(self):
        for text in ("delayed:0", "delayed:", "block:3", "tensor", ""):
            self.assertIn("expected current, delayed",
                          self.fails("--fp8-scaling", text))
        for option in ("--fp8-scaling=block", "--fp8-exclude=w"):
            self.assertIn("belongs to --precision fp8",
                          self.fails(option, precision="bf16"))
        for target in ("cuda:sm_100", "cuda:sm_120"):
            self.assertIn("--target cuda:sm_90", self.fails(
                "--fp8-scaling", "block", "--target", target))
        self.assertIn("workers keep no", self.fails(
            "--fp8-scaling", "delayed", "--mesh", "dp=2", "--aggregation",
            "server"))
        self.assertIn("one scale for all micro-batches", self.fails(
            "--fp8-scaling", "delayed", "--mesh", "pp=2", "--accumulate", "4",
            "--schedule", "2bw"))
        self.assertIn("replicas of one", self.fails(
            "--fp8-scaling", "delayed", "--mesh", "pp=3", "--accumulate", "2",
            "--stage-replicas", "2,1"))


if __name__ == "__main__":
    unittest.main()
