#!/usr/bin/env python3
"""`--matmul-precision bf16x3` and `bf16x6` on the CPU: float32 products by sums of
bfloat16 numbers where the processor has AMX, else as `highest`.

A product is off by 2^-15 or 2^-22 of its terms at most, and by much less on
average: the losses of some steps stay as near to PyTorch's."""
import unittest

import numpy as np

from zctest import Fixture, ZcTest, read_log

STEPS = 5


class SplitProducts(ZcTest):

    def losses(self, model, *options, run=()):
        fixture = Fixture(model)
        artifact = self.compile(fixture, "adamw", *options)
        log = self.folder / "log.jsonl"
        self.zc("run", artifact, "--data", fixture.data, "--steps", STEPS,
                "--no-shuffle", "--lr", 1e-3, "--log", log, *run)
        return np.array([line["loss"] for line in read_log(log)
                         if "loss" in line])

    def test_losses(self):
        for model in ("mlp", "gpt", "llama"):
            exact = self.losses(model)
            for precision, rounding in (("bf16x3", 2e-5), ("bf16x6", 2e-6)):
                with self.subTest(model=model, precision=precision):
                    found = self.losses(model, "--matmul-precision", precision)
                    np.testing.assert_allclose(found, exact, rtol=rounding)

    def test_threads_and_ranks(self):
        """No bit depends on which thread does a part; ranks agree as ever."""
        options = ("--matmul-precision", "bf16x3", "--cpu-threads", 2)
        two = self.losses("gpt", *options)
        one = self.losses("gpt", *options, run=("--threads", 1))
        np.testing.assert_array_equal(one, two)
        ranks = self.losses("gpt", "--matmul-precision", "bf16x3", "--mesh",
                            "dp=2", "--cpu-threads", 1,
                            run=("--local-ranks", 2))
        np.testing.assert_allclose(ranks, two, rtol=2e-5)

    def test_what_belongs_where(self):
        fixture = Fixture("mlp")
        for target, precision, words in (
                ("cuda", "bf16x3", "bf16x3 and bf16x6 belong to --target cpu"),
                ("cpu", "tf32", "belongs to --target cuda")):
            self.fails(2, [words], "compile", fixture.model, "--loss",
                       "softmax-cross-entropy", "--target", target,
                       "--matmul-precision", precision, "-o",
                       self.folder / "x.zca")


if __name__ == "__main__":
    unittest.main()
