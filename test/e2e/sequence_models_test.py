#!/usr/bin/env python3
"""Models around one attention whose tokens ranks divide: masks, dropout,
shifted labels, scores; and what is refused."""
import json
import unittest

import numpy as np

from attention_model import TOKENS, WIDTH, make_attention
from zctest import Fixture, ZcTest

SHIFT = [("Slice", ["last", "low", "high", "dims"], "y")]


class SequenceModels(ZcTest):

    def compare(self, labels=TOKENS, options=(), **model_options):
        model, data = self.folder / "made.onnx", self.folder / "made.npz"
        make_attention(model, **model_options)
        draw = np.random.default_rng(0)
        np.savez(data, **{name: draw.normal(size=(8, count, WIDTH)).astype(
            np.float32) for name, count in (("x", TOKENS), ("labels", labels))})
        rings = model_options.get("mask") != "window"
        losses = {}
        for mesh, attention in (("", ""), ("sp=2", "ulysses"), ("sp=2", "auto"),
                                ("sp=2", "gather"), ("sp=4", "gather"),
                                *([("sp=2", "ring"), ("sp=4", "ring")]
                                  if rings else [])):
            artifact, log = self.folder / "d.zca", self.folder / "log.jsonl"
            self.zc("compile", model, "-o", artifact, "--loss", "mse",
                    *options, *(["--mesh", mesh, "--sp-attention", attention]
                                if mesh else []))
            self.zc("run", artifact, "--data", data, "--steps", 4,
                    "--no-shuffle", "--log", log, "--local-ranks",
                    mesh[-1:] or 1)
            losses[mesh, attention] = [json.loads(line)["loss"] for line in
                                       log.read_text().splitlines()]
        for name, found in losses.items():
            np.testing.assert_allclose(found, losses["", ""], rtol=5e-6,
                                       err_msg=str(name))

    def test_dropout_draws_one_ranks_masks(self):
        self.compare(dropout=True)

    def test_shifted_labels_inside_the_model(self):
        self.compare(labels=TOKENS - 1, tail=SHIFT)

    def test_tokens_by_their_numbers(self):
        """Numbers are of the model's order, which zigzag would change: it is
        not taken, and refused where it is asked for."""
        for tail, labels in (
                ([("Slice", ["last", "back", "before", "dims", "back"], "y")],
                 TOKENS),
                ([("Gather", ["last", "some"], "y", {"axis": 1})], 4),
                ([("GatherND", ["last", "each"], "own"),
                  ("Unsqueeze", ["own", "dims"], "y")], 1)):
            with self.subTest(tail[0][0]):
                self.compare(labels=labels, tail=tail)
                self.fails(1, ["reads tokens in their order"], "compile",
                           self.folder / "made.onnx", "--loss", "mse", "--mesh",
                           "sp=2", "--sp-attention", "ring=zigzag", "-o",
                           self.folder / "no.zca")

    def test_tokens_before_samples(self):
        self.compare(tokens_first=True, options=("--batch-dim", "x=1"))

    def test_no_mask(self):
        self.compare(mask="none")

    def test_padding_that_hides_a_sample(self):
        self.compare(mask="padding")

    def test_sliding_windows(self):
        self.compare(mask="window")

    def test_columns_of_divided_tokens(self):
        # Of r2 each element of a sample is a column of its own.
        model = self.folder / "m.onnx"
        make_attention(model)
        random = np.random.default_rng(0)
        data = self.folder / "m.npz"
        np.savez(data, **{name: random.normal(size=(12, 16, 12)).astype(
            np.float32) for name in ("x", "labels")})
        found = []
        for mode in ("", "ring=zigzag", "ring=contiguous"):
            artifact = self.folder / f"m{mode}.zca"
            self.zc("compile", model, "-o", artifact, "--loss", "mse", *(
                ("--mesh", "sp=2", "--sp-attention", mode) if mode else ()))
            found.append(self.zc("eval", artifact, "--data", data, "--metrics",
                                 "mae,r2", "--local-ranks", 2 if mode else 1))
        self.assertRegex(found[0], "r2 -?[0-9.]+")
        self.assertEqual(found[1:], found[:1] * 2)

    def test_refusals(self):
        model, out = Fixture("gpt").model, self.folder / "b.zca"
        loss = ("--loss", "softmax-cross-entropy")
        self.fails(1, ["input 'input_ids': 32 tokens, dim 1, do not divide "
                       "among 3 ranks of 'sp'", "30 and 33"], "compile", model,
                   "-o", out, *loss, "--mesh", "sp=3")
        self.fails(1, ["has 2 heads, which 4 ranks of 'sp' and 'tp' cannot "
                       "divide; sizes of 'sp' that can are 1, 2;"], "compile",
                   model, "-o", out, *loss, "--mesh", "sp=4", "--sp-attention",
                   "ulysses")
        self.fails(1, ["--token-dim times=1: no input has that name"],
                   "compile", model, "-o", out, *loss, "--mesh", "sp=2",
                   "--token-dim", "times=1")
        self.fails(2, ["--sp-attention needs a --mesh with sp"], "compile",
                   model, "-o", out, *loss, "--sp-attention", "ulysses")
        self.fails(2, ["--sequence-parallel on needs a --mesh with tp"],
                   "compile", model, "-o", out, *loss, "--mesh", "sp=2",
                   "--sequence-parallel", "on")
        self.fails(2, ["--token-dim needs a --mesh with sp"], "compile", model,
                   "-o", out, *loss, "--token-dim", "input_ids=1")
        self.fails(2, ["expected INPUT=K or INPUT=none"], "compile", model,
                   "-o", out, *loss, "--mesh", "sp=2", "--token-dim", "x")
        self.fails(1, ["'train.conv' mixes tokens, which 'sp' divides among 2 "
                       "ranks"], "compile", Fixture("cnn").model, "-o", out,
                   *loss, "--mesh", "sp=2", "--token-dim", "x=2")
        self.fails(2, ["--token-dim does not work with a --mesh with pp"],
                   "compile", model, "-o", out, *loss, "--mesh", "pp=2,sp=2",
                   "--accumulate", 2, "--token-dim", "input_ids=1")
        self.fails(1, ["--sp-attention ring=zigzag: 32 tokens do not divide in "
                       "64 chunks"], "compile", model, "-o", out, *loss,
                   "--mesh", "sp=32", "--sp-attention", "ring=zigzag")
        turn = ("Transpose", ["last"], "turned", {"perm": [1, 0, 2]})
        back = ("Transpose", ["mixed"], "y", {"perm": [2, 0, 1, 3]})
        for op, tail in (
                ("split", [turn, ("LSTM", ["turned", "gates", "gates"], "mixed",
                                  {"hidden_size": WIDTH}), back]),
                ("slice", [("CumSum", ["last", "dim"], "mixed"),
                           ("Identity", ["mixed"], "y")])):
            made = self.folder / f"{op}.onnx"
            make_attention(made, tail=tail)
            self.fails(1, [f"'train.{op}' computes tokens one after another, "
                           "which 'sp' divides among 2 ranks", "'mixed'"],
                       "compile", made, "-o", out, "--loss", "mse", "--mesh",
                       "sp=2")
        self.fails(1, ["no attention tells which dims count tokens"],
                   "compile", Fixture("mlp").model, "-o", out, *loss, "--mesh",
                   "sp=2", "--dim", "batch=16")


if __name__ == "__main__":
    unittest.main()
