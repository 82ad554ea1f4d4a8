#!/usr/bin/env python3
"""Models with experts: what transformers exports, against PyTorch's losses.

No weights are looked up by token, and only the chosen experts are computed.
"""
import json
import unittest

import numpy as np

from zctest import Fixture, ZcTest, read_log

NAMES = ("mixtral", "qwen", "gpt_oss")
# Of each model: experts, chosen, hidden size, inner size of all its products.
SIZES = {"mixtral": (4, 2, 24, 32), "qwen": (6, 3, 24, 16),
         "gpt_oss": (4, 2, 24, 24)}
LAYERS, TOKENS = 2, 48


class Experts(ZcTest):
    def losses(self, fixture, optimizer, *options, ranks=1):
        artifact = self.compile(fixture, optimizer, *options)
        entry = fixture.reference["optimizers"][optimizer]
        log = self.folder / "log.jsonl"
        self.train(artifact, fixture.data, fixture.reference["steps"],
                   "--no-shuffle", "--log", log, "--local-ranks", str(ranks),
                   lr=entry["learning_rate"])
        return np.array([line["loss"] for line in read_log(log)])

    def check(self, name, optimizer, *options, ranks=1):
        fixture = Fixture(f"experts/{name}")
        entry = fixture.reference["optimizers"][optimizer]
        found = self.losses(fixture, optimizer, *options, ranks=ranks)
        np.testing.assert_allclose(
            found, entry["losses"],
            rtol=max(2e-6, 5 * entry["loss_spread"]))

    def test_losses(self):
        for name in NAMES:
            for optimizer in ("sgd", "adamw"):
                with self.subTest(name=name, optimizer=optimizer):
                    self.check(name, optimizer)

    def test_ranks(self):
        for mesh, ranks in (("dp=2", 2), ("dp=4", 4), ("tp=2", 2)):
            with self.subTest(mesh=mesh):
                self.check("mixtral", "adamw", "--mesh", mesh, ranks=ranks)

    def step(self, name, *options):
        path = self.folder / "step.mlir"
        fixture = Fixture(f"experts/{name}")
        self.zc("compile", fixture.model, "--emit", "step", "-o", path,
                *fixture.compile_options("adamw"), *options)
        return path.read_text()

    def test_nothing_is_looked_up_by_token(self):
        for name, (_, chosen, hidden, inner) in SIZES.items():
            step = self.step(name)
            for a, b in ((2 * inner, hidden), (hidden, 2 * inner),
                         (hidden, inner), (inner, hidden)):
                self.assertNotIn(f"tensor<{TOKENS * chosen}x{a}x{b}x", step)
            self.assertIn("train.grouped_matmul_grad", step)

    def test_flops_are_those_of_the_chosen(self):
        """Of experts: tokens times those chosen, three times (forward and two
        gradients), two products whose sizes add up to 3 inner hidden."""
        for name, (_, chosen, hidden, inner) in SIZES.items():
            artifact = self.compile(Fixture(f"experts/{name}"))
            ops = json.loads(self.zc("inspect", artifact, "--json"))["ops"]
            self.assertEqual(ops["programs"]["step"]["grouped_matmul"],
                             6 * LAYERS)
            forward = 2 * TOKENS * chosen * 3 * inner * hidden * LAYERS
            self.assertEqual(ops["flops"]["step"]["grouped_matmul"],
                             3 * forward, name)
            self.assertEqual(ops["flops"]["eval"]["grouped_matmul"], forward)
            self.assertIn("of the chosen alone",
                          self.zc("inspect", artifact, "--ops"))


if __name__ == "__main__":
    unittest.main()
