#!/usr/bin/env python3
"""Products of 8-bit floats: rounding, losses, ranks, and what is refused."""
import json
import pathlib
import unittest

import ml_dtypes
import numpy as np

from small_models import SmallModels
from zctest import Fixture, read_log, run

FIXTURES = pathlib.Path(__file__).resolve().parents[1] / "fixtures"
REFERENCE = json.loads((FIXTURES / "fp8" / "reference.json").read_text())
# As tools/reference/fp8.py has them, which needs PyTorch.
STEPS, LEARNING_RATE, BATCH = 10, 0.5, 32
WIDTHS = (64, 128, 64, 16)


def weights():
    random = np.random.default_rng(0)
    return [(random.normal(size=(n, m)) / n ** 0.5).astype(np.float32)
            for n, m in zip(WIDTHS, WIDTHS[1:])]


def data():
    random = np.random.default_rng(1)
    x = random.normal(size=(BATCH * STEPS, WIDTHS[0])).astype(np.float32)
    target = (np.random.default_rng(2).normal(size=(WIDTHS[0], WIDTHS[-1]))
              / WIDTHS[0] ** 0.5).astype(np.float32)
    return x, np.tanh(x @ target).astype(np.float32)


class Fp8Test(SmallModels):

    def recorded_model(self, batch=BATCH, relu=True):
        nodes, value = [], "x"
        for i in range(3):
            nodes.append(("MatMul", [value, f"w{i}"], f"p{i}"))
            value = f"p{i}"
            if i < 2 and relu:
                nodes.append(("Relu", [value], f"r{i}"))
                value = f"r{i}"
        return self.save("recorded.onnx", nodes,
                         {f"w{i}": w for i, w in enumerate(weights())},
                         {"x": (batch, WIDTHS[0])}, {"p2": (batch, WIDTHS[-1])})

    def losses(self, *options, ranks=1, precision="fp8", more=()):
        artifact, self.output = self.compiled(
            self.recorded_model(), "--precision", precision, *options)
        ranks = ("--local-ranks", ranks) if ranks > 1 else ()
        found, self.tensors = self.trained(
            artifact, *data(), *ranks, *more, steps=STEPS, lr=LEARNING_RATE)
        return np.array(found)


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


if __name__ == "__main__":
    unittest.main()
