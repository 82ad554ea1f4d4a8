#!/usr/bin/env python3
"""Tokens that the ranks of tp divide between layers (Megatron's sequence
parallelism): losses, what is sent, what layers keep."""
import itertools
import json
import unittest

import numpy as np

from sequence_case import TokensCase
from zctest import Fixture


class InsideTp(TokensCase):

    def test_tokens_inside_tp(self):
        data = Fixture("gpt").data
        alone = self.losses(data, ["--accumulate", 2])
        for mesh, ranks, modes in (("tp=2", 2, ("on", "on=kept")),
                                   ("dp=2,tp=2", 4, ("on=kept",)),
                                   ("tp=2,sp=2", 4, ("on", "on=kept")),
                                   ("pp=2,tp=2", 4, ("on", "on=kept"))):
            for mode, more in itertools.product(
                    modes, ((), ("--zero", 3, "--recompute", "layer"))):
                with self.subTest(mesh=mesh, mode=mode, more=more):
                    found = self.losses(
                        data, ["--accumulate", 2],
                        ["--mesh", mesh, "--sequence-parallel", mode, *more],
                        ranks)
                    np.testing.assert_allclose(found, alone, atol=1e-5)

    def test_tokens_inside_tp_with_all_attentions(self):
        """Queries, keys and values of products of their own; tokens in zigzag
        order, which tp divides further."""
        data = Fixture("llama").data
        alone = self.losses(data, (), model="llama")
        for attention in ("ring=zigzag", "ring=contiguous", "gather",
                          "ulysses"):
            with self.subTest(attention):
                np.testing.assert_allclose(self.losses(
                    data, (), ["--mesh", "tp=2,sp=2", "--sp-attention",
                               attention, "--sequence-parallel", "on"], 4,
                    model="llama"), alone, atol=1e-5)

    def test_what_tokens_inside_tp_send(self):
        """Reduce-scatters and gathers send what sums sent before; `on` gathers
        again the operands of a layer's products, but the last one's. Gradients
        of the norms' parameters are summed besides, and those of parameters of
        keys that ranks share."""
        four = self.write_large("large_llama.py", layers=2, width=32, heads=8,
                                key_heads=4, inner=64, length=16, batch=2,
                                vocabulary=64)
        # Four heads of queries, two of keys: what makes these is whole.
        shared = 2 * 2 * 12 * 24 * 4
        for model, ranks, hidden, norms, whole_weights in (
                ("gpt", 2, 4 * 32 * 32 * 4, 5 * 2 * 32 * 4, 0),
                ("llama", 2, 4 * 16 * 24 * 4, 5 * 24 * 4, 0),
                ("llama", 4, 4 * 16 * 24 * 4, 5 * 24 * 4, shared),
                (four, 4, 2 * 16 * 32 * 4, 5 * 32 * 4, 0)):
            sent = {mode: self.comm("--mesh", f"tp={ranks}", "--init",
                                    "normal:0.02", "--sequence-parallel", mode,
                                    model=model)["by_kind"]
                    for mode in ("off", "on=kept", "on")}
            whole = sent["off"]["activations"]["bytes"]
            gather = hidden * (ranks - 1) // ranks
            with self.subTest(model=model, ranks=ranks):
                self.assertEqual(sent["on=kept"]["activations"]["bytes"], whole)
                self.assertEqual(sent["on"]["activations"]["bytes"],
                                 whole + 2 * 2 * gather) # 2 layers
                for mode in ("on=kept", "on"):
                    self.assertEqual(
                        sent[mode]["gradients"]["bytes"],
                        2 * (norms + whole_weights) * (ranks - 1) // ranks)
                    self.assertEqual(sent[mode]["parameters"]["bytes"], 0)

    def test_the_first_token_alone_is_read(self):
        """BERT's activations are of the features, its classifier reads one
        token: the gradient of that goes from features to tokens and back."""
        sent = {mode: self.comm("--mesh", "tp=2", "--sequence-parallel", mode,
                                model="bert")["by_kind"]["activations"]["bytes"]
                for mode in ("off", "on=kept")}
        exchange = 4 * 12 * 24 * 4 // 4 # a rank sends half of its half
        self.assertEqual(sent["on=kept"], sent["off"] + 2 * exchange)

    def test_auto_divides_inside_tp_where_memory_is_short(self):
        """The first of off, on=kept and on that fits."""
        artifact = self.folder / "b.zca"
        model = self.write_large(layers=3, width=64, heads=4, length=256,
                                 batch=2, vocabulary=64)

        def plan(mesh, *more):
            self.zc("compile", model, "-o", artifact, "--init", "normal:0.02",
                    "--loss", "softmax-cross-entropy", "--optimizer", "sgd",
                    "--mesh", mesh, *more)
            found = json.loads(self.zc("inspect", artifact, "--memory",
                                       "--comm", "--json"))
            return (found["memory"]["peak"],
                    found["comm"]["by_kind"]["activations"])

        for mesh in ("tp=2", "tp=2,sp=2"):
            plans = {mode: plan(mesh, "--sequence-parallel", mode)
                     for mode in ("off", "on=kept", "on")}
            peaks = [peak for peak, _ in plans.values()]
            self.assertEqual(peaks, sorted(peaks, reverse=True))
            self.assertEqual(plan(mesh), plans["off"])
            for mode, (peak, sent) in plans.items():
                with self.subTest(mesh=mesh, mode=mode):
                    found = plan(mesh, "--memory-budget", peak)
                    self.assertEqual(found[1], sent)
                    self.assertLessEqual(found[0], peak)

    def test_layers_keep_a_part_of_the_tokens(self):
        for script, sizes, options, divided in (
                ("large_gpt.py", {}, (), ("tp=2", "tp=4", "sp=4")),
                ("large_gpt.py", {}, ("--precision", "bf16"), ("tp=2",)),
                # Products and attention in float32, between conversions.
                ("large_gpt.py", {}, ("--precision", "bf16", "--cpu-arch",
                                      "x86-64"), ("tp=2",)),
                ("large_llama.py", {"key_heads": 4, "inner": 320},
                 ("--precision", "bf16"), ("tp=2",)),
                # Queries that share keys, in groups of ranks' or of all;
                # groups that are ranks', too, and two of three.
                ("large_llama.py", {"key_heads": 2, "inner": 320},
                 ("--precision", "bf16"), ("tp=2", "tp=4")),
                ("large_llama.py", {"key_heads": 2, "inner": 320},
                 (), ("tp=4",)),
                ("large_llama.py", {"key_heads": 6, "heads": 12, "width": 192,
                                    "inner": 320}, (), ("tp=4",)),
                ("large_llama.py", {"key_heads": 1, "inner": 320},
                 (), ("tp=4",))):
            whole = self.kept(script, "tp=1", *options, **sizes)
            for mesh in divided:
                mode = (("--sp-attention", "ring") if mesh == "sp=4" else
                        ("--sequence-parallel", "on"))
                with self.subTest(script=script, options=options, mesh=mesh):
                    self.assertAlmostEqual(
                        self.kept(script, mesh, *mode, *options, **sizes) *
                        int(mesh[-1]) / whole, 1, delta=0.02)

    def test_layers_of_experts_keep_no_more_than_a_part(self):
        """Rows of a token's experts are moved again for the backward, and are
        summed by whoever has the token: less than a part is kept, for one rank
        keeps the rows that ranks gather again."""
        sizes = {"key_heads": 2, "inner": 320, "experts": 4, "chosen": 2}
        for options in ((), ("--moe-capacity", "1")):
            whole = self.kept("large_mixtral.py", "tp=1", *options, **sizes)
            for ranks in (2, 4):
                with self.subTest(options=options, ranks=ranks):
                    self.assertLess(
                        self.kept("large_mixtral.py", f"tp={ranks}",
                                  "--sequence-parallel", "on", *options,
                                  **sizes) * ranks / whole, 1.02)


if __name__ == "__main__":
    unittest.main()
