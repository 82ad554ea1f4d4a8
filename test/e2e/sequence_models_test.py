#!/usr/bin/env python3
"""Models around one attention whose tokens ranks divide: dropout, shifted
labels, scores; and what is refused."""
import json
import unittest

import numpy as np

from attention_model import TOKENS, WIDTH, make_attention
from sequence_case import SequenceCase
from zctest import Fixture, run

SHIFT = [("Slice", ["last", "low", "high", "dims"], "y")]


class SequenceModels(SequenceCase):

    def test_dropout_draws_one_ranks_masks(self):
        self.compare(dropout=True)

    def test_attention_of_several_ops(self):
        """Dropout of weights, and scores that are changed by what is learned."""
        self.compare(drops_weights=True, meshes=[("sp=2", "ulysses"),
                                                 ("sp=4", "auto")])
        self.compare(bias="learned", meshes=[
            ("dp=2,sp=2", "auto"), ("tp=2,sp=2", "auto"),
            ("pp=2,sp=2", "ulysses")], options=("--accumulate", 2))
        self.compare(drops_weights=True, joins_heads=True,
                     meshes=[("sp=2", "ulysses"), ("dp=2,sp=2", "auto")])
        self.compare(drops_weights=True, mask="none", memory=10,
                     meshes=[("sp=2", "auto")])
        self.compare(drops_weights=True, mask="none", memory=12,
                     meshes=[("sp=2", "gather")],
                     on_ranks=("--token-dim", "z=1"))
        for changes, ring in (({"drops_weights": True}, "ring"),
                              ({"bias": "learned"}, "ring=zigzag")):
            make_attention(self.folder / "made.onnx", **changes)
            self.fails(1, [r"'p1' \(Dropout\)" if "bias" not in changes
                           else r"'s2' \(Add\)",
                           "changes the scores or weights of an attention",
                           "--sp-attention gather and ulysses divide it"],
                       "compile", self.folder / "made.onnx", "--loss", "mse",
                       "--mesh", "sp=2", "--sp-attention", ring, "-o",
                       self.folder / "no.zca")

    def test_what_attention_of_several_ops_sends(self):
        """Queries, keys, values, results and their gradients change places, or
        keys and values are gathered, kept, and their gradients added up."""
        model, artifact = self.folder / "made.onnx", self.folder / "d.zca"
        make_attention(model, drops_weights=True)
        keys = 8 * TOKENS * WIDTH * 4  # bytes
        for ranks, attention, sent in ((2, "ulysses", 8 * keys // 4),
                                       (4, "gather", 4 * 3 * keys // 4)):
            self.zc("compile", model, "-o", artifact, "--loss", "mse", "--mesh",
                    f"sp={ranks}", "--sp-attention", attention)
            found = json.loads(self.zc("inspect", artifact, "--comm", "--json"))
            self.assertEqual(
                found["comm"]["by_kind"]["activations"]["bytes"], sent)

    def test_slopes_that_are_not_trained(self):
        self.compare(bias="slopes", options=("--freeze", "slopes"),
                     meshes=[("sp=2", "auto"), ("sp=4", "gather")])

    def test_keys_of_other_tokens(self):
        """Ranks have all of them, or parts, which go round or are gathered."""
        self.compare(mask="none", memory=10,
                     meshes=[("sp=2", "ulysses"), ("sp=4", "gather")])
        self.compare(mask="none", memory=12, on_ranks=("--token-dim", "z=1"),
                     meshes=[("sp=2", "auto"), ("sp=4", "gather"),
                             ("sp=4", "ring")])
        self.compare(mask="none", memory=12, meshes=[
            ("dp=2,sp=2", "ring"), ("pp=2,sp=2", "gather")],
            options=("--accumulate", 2), on_ranks=("--token-dim", "z=1"))

    def test_what_is_asked_for_and_cannot_be(self):
        out = self.folder / "b.zca"
        self.fails(1, ["--sp-attention ring has nothing to divide: no attention "
                       "reads the tokens that --token-dim names"], "compile",
                   Fixture("regression").model, "-o", out, "--loss", "mse",
                   "--mesh", "sp=2", "--sp-attention", "ring", "--token-dim",
                   "x=1")
        on = ("--sequence-parallel", "on", "-o", out)
        self.fails(1, ["--sequence-parallel on has nothing to divide: no "
                       "residual"], "compile", Fixture("mlp").model, "--loss",
                   "softmax-cross-entropy", "--dim", "batch=16", "--mesh",
                   "tp=2", *on)
        self.fails(1, ["--sequence-parallel on: 32 tokens do not divide among "
                       "3 ranks of 'tp'; the next sizes that do are 30 and 33"],
                   "compile", Fixture("gpt").model, "--loss",
                   "softmax-cross-entropy", "--mesh", "tp=3", *on)
        self.fails(1, ["--sequence-parallel on: 32 tokens do not divide among "
                       "64 ranks of 'tp' and 'sp'; the next size that does is "
                       "64"], "compile", Fixture("gpt").model, "--loss",
                   "softmax-cross-entropy", "--mesh", "tp=2,sp=32",
                   "--sp-attention", "gather", *on)

    def test_features_in_zigzag_order_in_pipelines(self):
        """The op that puts an input in order stands in the stage that reads it,
        in evaluations, too."""
        self.compare(meshes=[("pp=2,sp=2", "ring=zigzag")],
                     options=("--accumulate", 2))

    def test_tokens_said_by_hand_in_pipelines(self):
        """Stages send one another parts of tokens that the user names."""
        self.compare(meshes=[("pp=2,sp=2", "gather")], options=("--accumulate", 2),
                     on_ranks=("--token-dim", "x=1", "--token-dim",
                               "labels=1"))

    def test_inputs_that_stay_whole(self):
        """A translator's source of 11 tokens, which 3 ranks cannot divide."""
        fixture = Fixture("translator")
        found = []
        for mesh, *more in (("",), ("sp=3", "--sp-attention", "ring"),
                            ("sp=3", "--sp-attention", "gather", "--zero", 3),
                            ("pp=2,sp=3", "--accumulate", 2)):
            artifact, log = self.folder / "t.zca", self.folder / "log.jsonl"
            self.zc("compile", fixture.model, "-o", artifact, "--loss",
                    "softmax-cross-entropy", *more,
                    *(("--mesh", mesh, "--token-dim", "source=none")
                      if mesh else ()))
            self.zc("run", artifact, "--data", fixture.data, "--steps", 4,
                    "--no-shuffle", "--log", log, "--local-ranks",
                    {"": 1, "pp": 6}.get(mesh[:2], 3))
            found.append([json.loads(line)["loss"]
                          for line in log.read_text().splitlines()])
        np.testing.assert_allclose(found[1:], found[:1] * 3, rtol=1e-6)

    def test_shifted_labels_inside_the_model(self):
        self.compare(labels=TOKENS - 1, tail=SHIFT)

    def test_tokens_by_their_numbers(self):
        """Numbers are of the model's order, which zigzag changes: what reads
        tokens by them gets all, in that order."""
        for tail, labels in (
                ([("Slice", ["last", "back", "before", "dims", "back"], "y")],
                 TOKENS),
                ([("Gather", ["last", "some"], "y", {"axis": 1})], 4),
                ([("GatherND", ["last", "each"], "own"),
                  ("Unsqueeze", ["own", "dims"], "y")], 1)):
            with self.subTest(tail[0][0]):
                self.compare(labels=labels, tail=tail)
                self.compare(labels=labels, tail=tail, meshes=[
                    ("sp=2", "ring=zigzag"), ("dp=2,sp=2", "ring=zigzag")])
                if labels > 1:
                    self.compare(labels=labels, tail=tail, meshes=[
                        ("pp=2,sp=2", "ring=zigzag")],
                                 options=("--accumulate", 2))

    def test_tokens_before_samples(self):
        self.compare(tokens_first=True, options=("--batch-dim", "x=1"))

    def test_convolutions_over_tokens(self):
        """Ranks get the edges of their neighbours' blocks."""
        same = {"kernel_shape": [5], "pads": [2, 2]}
        causal = {"kernel_shape": [4], "pads": [3, 0], "group": 12}
        strided = {"kernel_shape": [3], "pads": [1, 1], "strides": [2]}
        spread = {"kernel_shape": [3], "pads": [2, 2], "dilations": [2]}
        for convolutions, meshes in (
                ([same], [("sp=2", "ulysses"), ("sp=4", "gather"),
                          ("dp=2,sp=2", "ring")]),
                ([causal, {"kernel_shape": [1]}], [("sp=4", "ring")]),
                ([spread, strided], [("sp=2", "auto"), ("pp=2,sp=2", "auto")]),
                ([{"kernel_shape": [2], "strides": [2]}], [("sp=4", "ring")])):
            with self.subTest(convolutions):
                self.compare(convolutions=convolutions, meshes=meshes,
                             options=("--accumulate", 2))
                self.fails(1, ["merges tokens that stand side by side"],
                           "compile", self.folder / "made.onnx", "--loss",
                           "mse", "--mesh", "sp=2", "--sp-attention",
                           "ring=zigzag", "-o", self.folder / "no.zca")

    def test_what_convolutions_over_tokens_send(self):
        """Each rank's edges, two tokens at either end, go to all others."""
        model, artifact = self.folder / "made.onnx", self.folder / "c.zca"
        for ranks in (2, 4):
            found = []
            for convolutions in ([], [{"kernel_shape": [1]}],
                                 [{"kernel_shape": [5], "pads": [2, 2]}]):
                make_attention(model, convolutions=convolutions)
                self.zc("compile", model, "-o", artifact, "--loss", "mse",
                        "--mesh", f"sp={ranks}", "--sp-attention", "gather")
                found.append(json.loads(self.zc(
                    "inspect", artifact, "--comm", "--json"))["comm"][
                        "by_kind"]["activations"]["bytes"])
            self.assertEqual(found[1], found[0])
            # x is an input: its edges have no gradient.
            self.assertEqual(found[2],
                             found[0] + (ranks - 1) * 2 * 2 * 8 * WIDTH * 4)

    def test_a_convolution_that_reaches_beyond_the_neighbour(self):
        """It is refused by name, whether its tokens are told or not; every rank
        computes it whole where the user says so."""
        wide = [{"kernel_shape": [11], "pads": [5, 5]}]
        self.compare(convolutions=wide, on_ranks=("--token-dim", "x=none"),
                     meshes=[("sp=4", "auto"), ("sp=4", "ring=contiguous"),
                             ("pp=2,sp=2", "auto")], options=("--accumulate", 2))
        for told in ((), ("--token-dim", "x=1")):
            self.fails(1, [r"'c0_out' \(Conv\): mixes tokens, which 'sp' divides "
                           "among 4 ranks; leave the axis at 1, or at most at 2 "
                           "ranks, whose blocks have as many tokens as the window "
                           "reaches, or keep whole .*--token-dim x=none"],
                       "compile", self.folder / "made.onnx", "--loss", "mse",
                       "--mesh", "sp=4", *told, "-o", self.folder / "no.zca")

    def test_what_mixes_tokens_in_front_of_an_attention(self):
        """It is refused though nothing tells that its input has tokens, and
        whole where the user says so: forwards and backwards."""
        turn = ("Transpose", ["x"], "turned", {"perm": [0, 2, 1]})
        back = ("Transpose", ["mixed"], "front", {"perm": [0, 2, 1]})
        first = ("Transpose", ["x"], "turned", {"perm": [1, 0, 2]})
        last = [("Squeeze", ["mixed", "dims"], "squeezed"),
                ("Transpose", ["squeezed"], "front", {"perm": [1, 0, 2]})]
        size = {"hidden_size": WIDTH}
        window = {"kernel_shape": [3], "pads": [1, 1]}
        one_by_one = "computes tokens one after another"
        for front, said in (
                ([first, ("LSTM", ["turned", "gates", "gates"], "mixed", size),
                  *last], one_by_one),
                ([first, ("GRU", ["turned", "gates_gru", "gates_gru"], "mixed",
                          size), *last], one_by_one),
                ([turn, ("MaxPool", ["turned"], "mixed", window), back],
                 "mixes tokens"),
                ([turn, ("AveragePool", ["turned"], "mixed", window), back],
                 "mixes tokens"),
                ([turn, ("ConvTranspose", ["turned", "filter"], "mixed", window),
                  back], "mixes tokens")):
            with self.subTest(front[1][0]):
                self.compare(front=front, on_ranks=("--token-dim", "x=none"),
                             meshes=[("sp=2", "auto")])
                err = self.fails(
                    1, [rf"'mixed' \({front[1][0]}\): {said}, which 'sp' divides "
                        "among 2 ranks; leave the axis at 1, or keep whole what "
                        "it reads: --token-dim x=none"], "compile",
                    self.folder / "made.onnx", "-o", self.folder / "no.zca",
                    "--loss", "mse", "--mesh", "sp=2")
                self.assertNotIn("train.", err)

    def test_rings_without_keys_to_hand_on(self):
        make_attention(self.folder / "made.onnx", mask="none", memory=12)
        for ring in ("ring", "ring=contiguous"):
            self.fails(1, [f"--sp-attention {ring} has nothing to hand on: every "
                           "rank has all keys of this attention"], "compile",
                       self.folder / "made.onnx", "--loss", "mse", "--mesh",
                       "sp=2", "--sp-attention", ring, "--token-dim", "z=none",
                       "-o", self.folder / "no.zca")

    def test_heads_are_counted_without_samples(self):
        """Scores of [16 samples and heads, queries, keys] are of two heads."""
        make_attention(self.folder / "made.onnx", drops_weights=True,
                       joins_heads=True)
        self.fails(1, ["has 2 heads, which 4 ranks of 'sp' and 'tp' cannot "
                       "divide; sizes of 'sp' that can are 1, 2;"], "compile",
                   self.folder / "made.onnx", "--loss", "mse", "--mesh", "sp=4",
                   "--sp-attention", "ulysses", "-o", self.folder / "no.zca")

    def test_layers_gathers_are_noted_once(self):
        said = "".join(map(str, run(
            "compile", Fixture("gpt").model, "-o", self.folder / "n.zca",
            "--loss", "softmax-cross-entropy", "--mesh", "tp=2",
            "--sequence-parallel", "on")))
        kinds = [line for line in said.splitlines()
                 if "the step all-gathers" in line]
        # For products, and for a bias whose gradient comes first.
        self.assertLessEqual(len(kinds), 2, said)
        self.assertIn(" and 4 more over tp before a matrix product", kinds[0])

    def test_columns_of_divided_tokens(self):
        # For r2 each element of a sample is a column of its own.
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
        self.fails(1, ["has 2 heads, which 8 ranks of 'sp' and 'tp' cannot "
                       "divide; the one size of 'sp' that can is 1;"],
                   "compile", model, "-o", out, *loss, "--mesh", "tp=2,sp=4",
                   "--sp-attention", "ulysses")
        make_attention(self.folder / "window.onnx", mask="window")
        self.fails(1, [r"node 'a0' \(MatMul\)", "ring=zigzag: an attention has a mask of queries and "
                       "keys that does not come apart",
                       "ring=contiguous leaves tokens where they are"],
                   "compile", self.folder / "window.onnx", "-o", out, "--loss",
                   "mse", "--mesh", "sp=2", "--sp-attention", "ring=zigzag")
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
        err = self.fails(1, [r"\(BatchNormalization\) in bn1: mixes tokens, which 'sp' "
                             "divides among 2 ranks; leave the axis at 1"], "compile",
                         Fixture("cnn").model, "-o", out, *loss, "--mesh",
                         "sp=2", "--token-dim", "x=2")
        self.assertNotIn("--token-dim", err) # without x there are none
        self.fails(1, ["--sp-attention ring=zigzag: 32 tokens do not divide in "
                       "64 chunks"], "compile", model, "-o", out, *loss,
                   "--mesh", "sp=32", "--sp-attention", "ring=zigzag")
        turn = ("Transpose", ["last"], "turned", {"perm": [1, 0, 2]})
        back = ("Transpose", ["mixed"], "y", {"perm": [2, 0, 1, 3]})
        for op, tail in (
                ("LSTM", [turn, ("LSTM", ["turned", "gates", "gates"], "mixed",
                                  {"hidden_size": WIDTH}), back]),
                ("CumSum", [("CumSum", ["last", "dim"], "mixed"),
                           ("Identity", ["mixed"], "y")])):
            made = self.folder / f"{op}.onnx"
            make_attention(made, tail=tail)
            err = self.fails(1, [rf"'mixed' \({op}\): computes tokens one after "
                                 "another, which 'sp' divides among 2 ranks"],
                                   "compile", made, "-o", out, "--loss", "mse",
                             "--mesh", "sp=2")
            self.assertNotIn("train.", err)
        self.fails(2, ["--token-dim says twice where the tokens of 'input_ids' "
                       "are"], "compile", model, "-o", out, *loss, "--mesh",
                   "sp=2", "--token-dim", "input_ids=1", "--token-dim",
                   "input_ids=none")
        for mesh in ("sp=2", "pp=2,sp=2"):
            self.fails(1, ["--token-dim keeps whole all inputs that count "
                           "tokens, 'input_ids', 'labels', so that 'sp' has "
                           "nothing to divide"], "compile", model, "-o", out,
                       *loss, "--mesh", mesh, "--accumulate", 2, "--token-dim",
                       "input_ids=none", "--token-dim", "labels=none")
        self.fails(1, ["32 tokens, dim 1, do not divide among 64 ranks of "
                       "'sp'; the next size that does is 64"], "compile", model,
                   "-o", out, *loss, "--mesh", "sp=64")
        self.fails(1, ["no input counts the tokens of attention", "leave it at "
                       "1: dp and tp divide such a model"], "compile",
                   Fixture("vit").model, "-o", out, *loss, "--mesh", "sp=2")
        translator = ("compile", Fixture("translator").model, "-o", out, *loss)
        self.fails(1, ["input 'source': 11 tokens, dim 1, do not divide among "
                       "3 ranks of 'sp'; the next sizes that do are 9 and 12; "
                       "--token-dim source=none keeps them whole"], *translator,
                   "--mesh", "sp=3")
        self.fails(1, ["no attention tells which dims count tokens"],
                   "compile", Fixture("mlp").model, "-o", out, *loss, "--mesh",
                   "sp=2", "--dim", "batch=16")


if __name__ == "__main__":
    unittest.main()
