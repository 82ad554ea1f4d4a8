#!/usr/bin/env python3
"""Masks of attentions whose tokens ranks divide: which go round a ring, as they
are or taken apart, and which do not."""
import json
import unittest

import numpy as np

from attention_model import TOKENS, WIDTH, make_attention
from sequence_case import SequenceCase


class SequenceMasks(SequenceCase):

    def test_no_mask(self):
        self.compare(mask="none")

    def test_padding_that_hides_a_sample(self):
        self.compare(mask="padding")

    def test_sliding_windows(self):
        self.compare(mask="window")

    def test_queries_that_see_no_key(self):
        """Where a mask stays one of queries and keys, all keys of such queries
        count alike in all blocks, or in 16 bits none does."""
        self.compare(mask="padded-queries", meshes=[("sp=2", "ring"),
                                                    ("sp=4", "ring")])
        self.compare(mask="padded-queries", meshes=[("sp=4", "ring")],
                     rtol=2e-4, options=("--precision", "bf16"))

    def test_causal_queries_and_padding(self):
        """The padding of keys goes round with them, in order and in zigzag
        order; queries that see no key are told from those that do."""
        for mask in ("padded", "padded-infinite"):
            with self.subTest(mask):
                self.compare(mask=mask, meshes=[
                    ("sp=4", "ring=zigzag"), ("sp=4", "ring=contiguous"),
                    ("sp=2", "ring=zigzag"), ("sp=2", "gather"),
                    ("sp=4", "auto"), ("sp=2", "auto"),
                    ("sp=2", "ulysses"), ("dp=2,sp=2", "ring"),
                    ("tp=2,sp=2", "ring"), ("pp=2,sp=2", "ring")],
                             options=("--accumulate", 2))

    def test_sums_of_a_causal_mask_and_padding(self):
        """Two masks of minus infinity come apart like one. By finite ones, of
        some queries several keys count, but not all, and in a block none may:
        each rank has its queries' rows of that mask."""
        self.compare(mask="padded-sum-infinite", meshes=[
            ("sp=4", "ring=zigzag"), ("sp=2", "ring=contiguous"),
            ("sp=2", "gather")])
        self.compare(mask="padded-sum", meshes=[
            ("sp=2", "gather"), ("sp=2", "ulysses"), ("sp=2", "ring"),
            ("sp=4", "ring=contiguous"), ("dp=2,sp=2", "ring"),
            ("tp=2,sp=2", "ring"), ("pp=2,sp=2", "ring")],
                     options=("--accumulate", 2))

    def test_sums_of_numbers_that_stay_finite(self):
        """Twice -1e38 is one: of queries that see no key, those count which
        one mask alone hides, wherever they are."""
        self.compare(mask="padded-sum-far", meshes=[
            ("sp=2", "ring"), ("sp=4", "ring"), ("sp=2", "gather")])
        self.compare(mask="padded-sum-far", meshes=[("sp=4", "ring")],
                     rtol=2e-4, options=("--precision", "bf16"))

    def test_causal_queries_and_padding_in_16_bits(self):
        """The lowest number of float32 is minus infinity in bf16; for fp16 this
        CPU attends in float32. Losses are rounded at other places; queries
        without keys that got the mean of the values in place of zeros, or the
        other way round, would be off by more than 1e-3."""
        for precision, mask in (("bf16", "padded"), ("bf16", "padded-far"),
                                ("bf16", "padded-sum-infinite"),
                                ("fp16", "padded")):
            with self.subTest(precision=precision, mask=mask):
                self.compare(mask=mask, rtol=2e-4, meshes=[
                    ("sp=4", "ring=zigzag"), ("sp=2", "ring=contiguous")],
                             options=("--precision", precision))

    def given(self, number, blind=True):
        """A mask of queries and keys that hides by a number: a causal sample, one
        of windows, one of which all is hidden; of the others any keys, and of one
        query all."""
        hidden = np.random.default_rng(3).random((8, 1, TOKENS, TOKENS)) < 0.4
        hidden[0, 0] = np.triu(np.ones((TOKENS, TOKENS), bool), 1)
        hidden[1, 0] = hidden[0, 0] | np.tril(np.ones((TOKENS, TOKENS), bool), -4)
        hidden[2], hidden[3:, :, 5] = True, True
        if not blind:
            hidden[..., np.arange(TOKENS), np.arange(TOKENS)] = False
        return {"given": np.where(hidden, np.float32(number),
                                  np.float32(0)).astype(np.float32)}

    def test_masks_that_are_fed(self):
        """Ranks have their queries' rows, of which a ring takes a block's
        columns in its turn. If a query sees no key, its scores are lost in -1e9
        as in the lowest number of float32."""
        meshes = [("sp=2", "ring"), ("sp=4", "ring=contiguous"),
                  ("sp=4", "gather"), ("sp=2", "ulysses"), ("sp=2", "auto")]
        lowest = np.finfo(np.float32).min
        for number in (lowest, -np.inf, -1e9):
            with self.subTest(number=number):
                self.compare(mask="fed", feeds=self.given(number),
                             meshes=meshes)
        for mesh in ("dp=2,sp=2", "tp=2,sp=2", "pp=2,sp=2"):
            self.compare(mask="fed", feeds=self.given(lowest),
                         meshes=[(mesh, "ring")],
                         options=("--accumulate", 2, "--zero", 1))
        self.compare(mask="fed-seen", meshes=meshes, feeds={
            "given": self.given(1)["given"] == 0})

    def test_masks_that_are_fed_in_16_bits(self):
        """fp16 has minus infinity for numbers below -65504: queries that see no
        key get zeros there, and the mean of the values in bf16. One rank rounds
        scores beside -65504, a ring does not."""
        lowest = np.finfo(np.float32).min
        for precision, number in (("fp16", lowest), ("fp16", -1e9),
                                  ("fp16", -np.inf), ("fp16", -65504),
                                  ("bf16", lowest), ("bf16", -1e9)):
            with self.subTest(precision=precision, number=number):
                given = self.given(number)
                level = (given["given"] - given["given"].max(-1, keepdims=True)
                         if number == -65504 else given["given"])
                self.compare(mask="fed", feeds=given, rtol=2e-4,
                             alone_feeds={"given": level},
                             meshes=[("sp=2", "ring")],
                             options=("--precision", precision))

    def test_masks_by_numbers_that_scores_are_near(self):
        """Keys are hidden by -65504 in float16, and by -10000 in old models. One
        rank rounds the scores of queries that see no key beside it, to 2^-8 and
        2^-10, a ring does not: its losses are those of one rank whose mask has 0
        for such queries, of which softmax is the same."""
        for number in (-65504, -1e4):
            with self.subTest(number=number):
                given = self.given(number)
                level = given["given"] - given["given"].max(-1, keepdims=True)
                self.compare(mask="fed", feeds=given,
                             alone_feeds={"given": level},
                             meshes=[("sp=4", "ring"), ("sp=2", "ring")])

    def test_numbers_that_large_scores_cross(self):
        """Beside -1e8 float32 has steps of 8, and sums of scores of tens are on
        both sides of the number below which scores are taken for lost: a ring
        levels such masks, and takes no block for hidden and another not."""
        feeds = {"x": 12 * np.random.default_rng(0).normal(
            size=(8, TOKENS, WIDTH)).astype(np.float32)}
        for number in (-1e8, -1.0000001e8):
            with self.subTest(number=number):
                given = self.given(number)["given"]
                level = given - given.max(-1, keepdims=True)
                self.compare(mask="fed", feeds={**feeds, "given": given},
                             alone_feeds={**feeds, "given": level},
                             meshes=[("sp=4", "ring"), ("sp=2", "ring")])

    def test_numbers_beside_a_causal_mask(self):
        """Beside -65504 and such numbers, of which a query may see several, a ring
        rounds nothing with a causal mask, either: its losses are those of one rank
        whose mask has for each query the numbers less the largest that it
        sees. Scores are lost in -1e9 all the same. `auto` takes a ring, too."""
        rings = [("sp=4", "ring=zigzag"), ("sp=2", "ring=contiguous")]
        for numbers, options, meshes in (
                ((-65504,), (), [*rings, ("sp=4", "auto"),
                                 ("sp=4", "ring=contiguous")]),
                ((-1e4, -65504), (), rings), ((-65504, -1e9), (), rings),
                ((-65504,), ("--precision", "fp16"), rings),
                ((-1e4,), ("--accumulate", 2), [("pp=2,sp=2", "ring=zigzag"),
                                                ("tp=2,sp=2", "ring")])):
            with self.subTest(numbers=numbers, options=options):
                self.compare_levelled(
                    self.of_keys(*numbers)["given"], meshes, options,
                    rtol=2e-4 if "fp16" in options else 5e-6)

    def compare_levelled(self, given, meshes, options=(), rtol=5e-6):
        seen = np.maximum.accumulate(given, 1)
        level = np.where(seen > -1e9, seen, 0)[:, None, :, None]
        earlier = np.tril(np.ones((TOKENS, TOKENS), bool))
        self.compare(
            mask="fed-keys", fused=True, feeds={"given": given},
            alone_options={"mask": "fed"}, alone_feeds={"given": np.where(
                earlier, given[:, None, None] - level,
                np.float32(0)).astype(np.float32)},
            meshes=meshes, options=options, rtol=rtol)

    def test_a_part_whose_keys_are_hidden_more_than_those_that_count(self):
        """Its keys have no part in a gradient, either."""
        given = np.full((8, TOKENS), np.float32(-1.5e8))
        given[:, :TOKENS // 2] = -1e9
        self.compare_levelled(given, [("sp=2", "ring=contiguous")])

    def test_masks_of_keys_that_are_fed(self):
        """They go round with the keys; of one sample all are hidden."""
        hidden = np.random.default_rng(3).random((8, TOKENS)) < 0.3
        hidden[3] = True
        for number in (np.finfo(np.float32).min, -np.inf, -1e9):
            self.compare(mask="fed-keys", feeds={"given": np.where(
                hidden, np.float32(number), np.float32(0))}, meshes=[
                    ("sp=2", "ring"), ("sp=4", "ring"), ("sp=2", "auto"),
                    ("sp=4", "gather")])

    def test_masks_of_keys_of_two_numbers(self):
        """Where all keys of a sample are hidden, those count that the larger
        number hides: as many as there are, in each rank's part."""
        for larger, smaller in ((-1e9, -2e9), (-1e9, np.finfo(np.float32).min)):
            given = np.where(np.random.default_rng(3).random((8, TOKENS)) < 0.3,
                             np.float32(larger), np.float32(0))
            given[3] = smaller
            given[3, [0, 1, 2, 9]] = larger
            given[4], given[4, 5] = smaller, larger
            with self.subTest(smaller=smaller):
                self.compare(mask="fed-keys", feeds={"given": given}, meshes=[
                    ("sp=2", "ring"), ("sp=4", "ring"), ("sp=4", "gather")])

    def test_masks_beside_a_causal_one(self):
        """The first queries see none of the keys up to them. A mask of queries
        and keys keeps tokens in order."""
        self.compare(mask="fed", fused=True, feeds=self.given(-1e9), meshes=[
            ("sp=2", "ring"), ("sp=4", "ring=contiguous"), ("sp=2", "gather"),
            ("sp=2", "auto"), ("sp=2", "ulysses")])
        self.fails(1, [r"node 'a2/.*' \(MatMul\): --sp-attention ring=zigzag: an "
                       "attention has a mask of queries and keys",
                       "ring=contiguous leaves tokens"],
                   "compile", self.folder / "made.onnx", "--loss", "mse",
                   "--mesh", "sp=2", "--sp-attention", "ring=zigzag", "-o",
                   self.folder / "no.zca")

    def of_keys(self, *numbers):
        """A mask of keys beside a causal one: queries see none, at first and of a
        sample, or only such that the smaller number hides."""
        draw = np.random.default_rng(3)
        hidden = draw.random((8, TOKENS)) < 0.3
        hidden[:4, :9], hidden[5] = True, True
        return {"given": np.where(hidden, draw.choice(
            np.float32(numbers), (8, TOKENS)), np.float32(0))}

    def test_masks_of_keys_beside_a_causal_one(self):
        """They go round with the keys, in zigzag order too: of queries that see
        none of the keys up to them, those count that the largest number
        hides."""
        lowest = np.finfo(np.float32).min
        for numbers, meshes in (
                ((-1e9,), ("sp=2", "sp=4")), ((-1e9, -2e9), ("sp=4",)),
                ((-np.inf, lowest), ("sp=4",)), ((-np.inf,), ("sp=4",))):
            with self.subTest(numbers=numbers):
                self.compare(
                    mask="fed-keys", fused=True, feeds=self.of_keys(*numbers),
                    meshes=[(mesh, ring) for mesh in meshes
                            for ring in ("ring=zigzag", "ring=contiguous")])
        feeds = self.of_keys(-1e9, -2e9)
        self.compare(mask="fed-keys", fused=True, feeds=feeds, meshes=[
            ("sp=4", "auto"), ("sp=2", "gather"), ("sp=2", "ulysses"),
            *((f"{axis}=2,sp=2", "ring=zigzag") for axis in ("dp", "tp", "pp"))],
                     options=("--accumulate", 2))
        self.compare(mask="fed-keys", fused=True, feeds=feeds, rtol=2e-4,
                     meshes=[("sp=4", "ring=zigzag")],
                     options=("--precision", "bf16"))

    def test_what_a_mask_of_keys_beside_a_causal_one_sends(self):
        """The mask of keys goes round, once for all attentions, three turns
        forwards and two back; of each of a rank's two chunks others get two
        numbers a sample, in both passes."""
        found = {}
        for mask in ("causal", "fed-keys"):
            make_attention(self.folder / "made.onnx", mask=mask, fused=True)
            self.zc("compile", self.folder / "made.onnx", "--loss", "mse",
                    "--mesh", "sp=4", "--sp-attention", "ring=zigzag", "-o",
                    self.folder / "s.zca")
            plan = json.loads(self.zc("inspect", self.folder / "s.zca", "--comm",
                                      "--ops", "--json"))
            found[mask] = (plan["comm"]["by_kind"]["activations"]["bytes"],
                           plan["ops"]["flops"]["step"]["attention"])
        self.assertEqual(found["fed-keys"][0] - found["causal"][0],
                         4 * (5 * 8 * TOKENS // 4 + 2 * 3 * 8 * 2 * 2))
        self.assertEqual(found["fed-keys"][1], found["causal"][1])

    def test_scores_are_lost_in_numbers_that_hide(self):
        """Also scores of thousands, which float32 tells apart beside -1e9: the
        library's kernels, generated ones and a ring give the same."""
        feeds = self.given(-1e9)
        feeds["x"] = 40 * np.random.default_rng(0).normal(
            size=(8, TOKENS, WIDTH)).astype(np.float32)
        for options in ((), ("--libraries", "none")):
            self.compare(mask="fed", feeds=feeds, options=options, meshes=[
                ("sp=2", "ring"), ("sp=2", "gather")])

    def test_numbers_that_are_not_far(self):
        """A causal mask joined with padding by -1e9, a constant, comes apart,
        too: scores are lost in it."""
        self.compare(mask="padded-near", meshes=[
            ("sp=2", "ring=zigzag"), ("sp=4", "ring=zigzag"),
            ("sp=4", "ring=contiguous"), ("sp=2", "gather"), ("sp=4", "auto")])

    def test_positions_that_are_a_running_sum(self):
        """OPT counts the tokens that a mask shows; zigzag changes the order of
        what is looked up, not of what is counted."""
        for mask in ("padded", "causal"):
            self.compare(mask=mask, counts=True, meshes=[
                ("sp=2", "ring=zigzag"), ("sp=4", "ring=zigzag"),
                ("sp=2", "gather"), ("sp=2", "auto"), ("sp=2", "ulysses"),
                ("pp=2,sp=2", "ring=zigzag")], options=("--accumulate", 2))

    def test_padding_hides_half_of_a_rings_blocks(self):
        """With a causal mask and one of keys ranks compute as much as without
        the latter, also in 16 bits: they count no keys after a query."""
        for precision in ("fp32", "bf16"):
            found = {}
            for mask in ("causal", "padded"):
                make_attention(self.folder / "made.onnx", mask=mask)
                self.zc("compile", self.folder / "made.onnx", "--loss", "mse",
                        "--mesh", "sp=4", "--sp-attention", "ring=zigzag",
                        "--precision", precision, "-o", self.folder / "p.zca")
                found[mask] = json.loads(self.zc(
                    "inspect", self.folder / "p.zca",
                    "--json"))["ops"]["flops"]["step"]["attention"]
            self.assertEqual(found["padded"], found["causal"])


if __name__ == "__main__":
    unittest.main()
