#!/usr/bin/env python3
"""Attentions of the transformers library, on one rank and with tokens divided:
keys that are not as wide as values, padded samples under a causal mask."""
import itertools
import json
import unittest

import numpy as np

from zctest import Fixture, ZcTest, read_log

# DeepSeek-V3's batch, tokens, heads, widths of keys and values, layers.
BATCH, TOKENS, HEADS, KEYS, VALUES, LAYERS = 4, 16, 4, 12, 8, 2


class Attentions(ZcTest):

    def losses(self, name, optimizer="adamw", options=(), ranks=1):
        fixture = Fixture(f"attentions/{name}")
        artifact, log = self.folder / "a.zca", self.folder / "log.jsonl"
        self.zc("compile", fixture.model, "-o", artifact,
                *fixture.compile_options(optimizer), *options)
        entry = fixture.reference["optimizers"][optimizer]
        self.zc("run", artifact, "--data", fixture.data, "--steps",
                fixture.reference["steps"], "--lr", entry["learning_rate"],
                "--no-shuffle", "--log", log, "--local-ranks", ranks)
        found = np.array([line["loss"] for line in read_log(log)])
        np.testing.assert_allclose(found, entry["losses"], rtol=max(
            2e-6, 5 * entry["loss_spread"]))
        return found

    def test_losses_are_pytorchs(self):
        for name, optimizer in itertools.product(("deepseek", "padded"),
                                                 ("sgd", "adamw")):
            with self.subTest(name=name, optimizer=optimizer):
                self.losses(name, optimizer)

    def test_losses_of_divided_tokens(self):
        """Losses are those of one rank within 1e-5, as with all models."""
        for name in ("deepseek", "padded"):
            alone = self.losses(name)
            for mesh, ranks, mode in (
                    ("sp=2", 2, "ring=zigzag"), ("sp=4", 4, "ring=zigzag"),
                    ("sp=4", 4, "ring=contiguous"), ("sp=2", 2, "ulysses"),
                    ("sp=2", 2, "gather"), ("dp=2,sp=2", 4, "ring"),
                    ("tp=2,sp=2", 4, "ulysses")):
                with self.subTest(name=name, mesh=mesh, mode=mode):
                    np.testing.assert_allclose(
                        self.losses(name, options=("--mesh", mesh,
                                                   "--sp-attention", mode),
                                    ranks=ranks), alone, atol=1e-5)

    def test_what_narrower_values_send(self):
        """Keys of 12 elements a head and values of 8, never padded: both go
        round, and their gradients home."""
        artifact = self.folder / "a.zca"
        part = BATCH * TOKENS * HEADS * (KEYS + VALUES) * 4 // 2  # bytes
        for mode, sent in (
                # p - 1 turns in each pass, and as many of the gradients.
                ("ring=contiguous", (1 + 1 + 1) * part),
                # Queries, keys, values, results, and the gradient of each, of
                # which a half stays.
                ("ulysses", 2 * 2 * part // 2)):
            self.zc("compile", Fixture("attentions/deepseek").model, "-o",
                    artifact, "--loss", "softmax-cross-entropy", "--mesh",
                    "sp=2", "--sp-attention", mode)
            found = json.loads(self.zc("inspect", artifact, "--comm", "--json"))
            self.assertEqual(found["comm"]["by_kind"]["activations"]["bytes"],
                             LAYERS * sent, mode)

    def test_keys_and_values_make_one_op(self):
        text = self.folder / "m.mlir"
        self.zc("compile", Fixture("attentions/deepseek").model, "--loss",
                "softmax-cross-entropy", "--emit", "train", "-o", text)
        self.assertEqual(text.read_text().count("train.attention "), LAYERS)
        self.assertNotIn("train.softmax ", text.read_text())


if __name__ == "__main__":
    unittest.main()
