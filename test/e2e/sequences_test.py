#!/usr/bin/env python3
"""Tokens that ranks divide: pairs of tools/sequence-matrix, and what is sent
and held."""
import json
import math
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader

import numpy as np

from sequence_case import TokensCase
from zctest import FIXTURES, Fixture

ROOT = pathlib.Path(__file__).resolve().parents[2]

class Matrix(unittest.TestCase):

    def test_meshes(self):
        """Any two values of models, axes, attentions and ZeRO's stages."""
        done = subprocess.run(
            [sys.executable, ROOT / "tools/sequence-matrix", "--bin",
             os.environ["ZC_BIN_DIR"], "--steps", "4", "--pairwise"],
            text=True, capture_output=True, timeout=300)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        count = int(re.search(r"(\d+) meshes as one rank", done.stdout)[1])
        # Fewer leave out one of the pairs of six models and six other axes.
        self.assertGreaterEqual(count, 36)

    def test_losses_that_are_lost(self):
        """The script refuses NaN and steps that are missing, wherever."""
        loader = SourceFileLoader("matrix", str(ROOT / "tools/sequence-matrix"))
        matrix = module_from_spec(spec_from_loader("matrix", loader))
        loader.exec_module(matrix)
        self.assertEqual(matrix.distance([1, 2.5], [1, 2], 2), 0.5)
        for found, alone in (([1, math.nan], [1, 2]), ([1, 2], [1, math.nan]),
                             ([1], [1, 2]), ([1], [1]), ([1, math.inf],
                                                         [1, math.inf])):
            with self.subTest(found=found, alone=alone):
                with self.assertRaises(matrix.Failed):
                    matrix.distance(found, alone, 2)

    def test_rotations_of_a_trace(self):
        """A wait for a later transfer is one for all before it."""
        sys.path.insert(0, str(ROOT / "tools/bench"))
        import sequences
        made = [("send_receive", 1, 1, 0, 10, ()), ("send_receive", 1, 2, 10, 5, ()),
                ("attention", 0, 3, 0, 12, ()), ("mul", 0, 4, 16, 1, (2,)),
                ("send_receive", 1, 5, 16, 1, ()), ("mul", 0, 6, 18, 1, (5,))]
        with tempfile.TemporaryDirectory() as folder:
            trace = pathlib.Path(folder) / "trace.json"
            trace.write_text(json.dumps({"traceEvents": [
                {"ph": "X", "pid": 0, "name": name, "cat": name, "tid": tid,
                 "ts": begin, "dur": time,
                 "args": {"instruction": number, "waits": list(waits)}}
                for name, tid, number, begin, time, waits in made]}))
            self.assertEqual(list(sequences.rotations(trace)),
                             [(True, 12, 0), (True, 12, 3), (False, 0, 0)])


class Sequences(TokensCase):

    def test_ulysses_sends_four_times_the_hidden_values_and_no_more(self):
        # GPT: batch 4, 32 tokens, 2 layers, 32 wide. Queries, keys, values and
        # results go forwards and their gradients back: 8 exchanges a layer, of
        # which a rank keeps the half that is its own.
        sent = self.comm("--mesh", "sp=2", "--sp-attention", "ulysses")[
            "by_kind"]["activations"]
        part = 4 * 32 * 32 * 4 // 2  # bytes of a rank's hidden values
        self.assertEqual(sent["bytes"], 2 * 8 * part // 2)

    def test_rings_and_gathers_send_what_formulas_say(self):
        # Llama: batch 4, 16 tokens, 2 layers, 24 wide, two queries a key. Keys
        # and values go p - 1 turns forwards and p - 1 back, and with these
        # their gradients. Those that are gathered are gathered again for the
        # gradients. Those that are computed again take one turn more, to the
        # rank with which they have ended.
        for ranks in (2, 4):
            part = 4 * 16 * 12 * 4 // ranks  # bytes of a rank's keys
            for attention, more in (("ring=zigzag", 2), ("ring=contiguous", 2),
                                    ("gather", 0)):
                for recompute, again in (("none", 0), ("layer", more)):
                    with self.subTest(ranks=ranks, attention=attention,
                                      recompute=recompute):
                        sent = self.comm("--mesh", f"sp={ranks}",
                                         "--sp-attention", attention,
                                         "--recompute", recompute,
                                         model="llama")
                        self.assertEqual(
                            sent["by_kind"]["activations"]["bytes"],
                            2 * (6 * (ranks - 1) + again) * part)

    def test_what_a_ring_sends_beside_padding(self):
        # Keys and values as above. The mask of keys is one for all layers: it
        # goes p - 1 turns forwards, and one less back, for a rank has its own.
        # For queries that see no key ranks sum up
        # the means of keys and of values and their product, 6 by 6 a head, and
        # the gradients of these.
        model = FIXTURES / "attentions" / "padded" / "model.onnx"
        for ranks in (2, 4):
            part = 4 * 16 * 12 * 4 // ranks
            mask = (2 * ranks - 3) * 4 * 16 * 4 // ranks
            summed = 4 * 4 * (6 + 6 + 6 * 6) * 4
            sums = 2 * 2 * summed * (ranks - 1) // ranks
            for attention in ("ring=zigzag", "ring=contiguous"):
                with self.subTest(ranks=ranks, attention=attention):
                    sent = self.comm("--mesh", f"sp={ranks}", "--sp-attention",
                                     attention, model=model)
                    self.assertEqual(sent["by_kind"]["activations"]["bytes"],
                                     2 * 6 * (ranks - 1) * part + mask +
                                     2 * sums)

    def test_a_ring_holds_a_part_and_one_more(self):
        """Keys and values are held in two parts, of which one comes while the
        other is at hand, however many ranks there are: no rank keeps its own."""
        model = self.write_large(layers=1, width=64, heads=8, length=256, batch=1,
                                 vocabulary=64)
        for ranks in (2, 4, 8):
            for attention in ("ring=zigzag", "ring=contiguous"):
                step = self.emit_step(model, f"sp={ranks}", attention)
                with self.subTest(ranks=ranks, attention=attention):
                    self.assertEqual(self.most_parts(step), 2 * 2)

    def test_a_ring_keeps_shared_keys_once(self):
        """For the backward a layer keeps its part of keys and values before they
        are repeated for the queries that share them: eight heads' less two
        heads' is what it keeps less."""
        for ranks in (2, 4):
            for attention in ("ring=zigzag", "ring=contiguous"):
                of_eight, of_two = (
                    self.kept("large_llama.py", f"sp={ranks}", "--sp-attention",
                              attention, heads=8, key_heads=keys, inner=320)
                    for keys in (8, 2))
                with self.subTest(ranks=ranks, attention=attention):
                    self.assertEqual(of_eight - of_two, 2 * (
                        2 * 256 * 128 * 4 * 3 // 4 // ranks))

    def most_parts(self, step):
        """The most buffers at a time of keys and values: of what the first two
        turns send, and of what is handed on of it. The others send gradients."""
        lines = step.split("\n")
        turns = re.findall(r'"send_receive".*" (%\d+) to (%\d+)', step)
        parts = {turn[0] for turn in turns[:2]}
        for sent, received in turns:
            if sent in parts:
                parts.add(received)
        used = {}
        for place, line in enumerate(lines):
            for name in parts.intersection(re.findall(r"%\d+", line)):
                used.setdefault(name, []).append(place)
        return max(sum(places[0] <= place <= places[-1]
                       for places in used.values())
                   for place in range(len(lines)))

    def test_causal_queries_know_their_places_among_gathered_keys(self):
        # A mask of queries and keys would take 4 x 2048 x 8192 bytes.
        artifact = self.folder / "long.zca"
        model = self.write_large(layers=1, width=32, heads=2, length=8192,
                                 batch=1, vocabulary=64)
        self.zc("compile", model, "-o", artifact, "--init", "normal:0.02",
                "--loss", "softmax-cross-entropy", "--mesh", "sp=4",
                "--sp-attention", "gather")
        memory = json.loads(self.zc("inspect", artifact, "--memory",
                                    "--json"))["memory"]
        self.assertLess(memory["activations"], 4 * 2048 * 8192 // 4)

    def test_metrics_and_outputs_of_divided_tokens(self):
        data = Fixture("gpt").data
        np.save(self.folder / "ids.npy", np.load(data)["input_ids"])
        common = ("--input", f"input_ids={self.folder / 'ids.npy'}",
                  "--output-dir", self.folder / "out")
        found = []
        for mesh, ranks in (
                ((), 1),
                (("--mesh", "sp=2", "--sp-attention", "ring"), 2),
                (("--mesh", "sp=4", "--sp-attention", "ring=contiguous"), 4),
                (("--mesh", "dp=2,sp=2", "--sp-attention", "gather"), 4),
                (("--mesh", "pp=2,sp=2", "--sp-attention", "ring",
                  "--accumulate", 2), 4)):
            artifact = self.compile(*mesh)
            checkpoint = self.folder / f"c{len(found)}"
            self.zc("run", artifact, "--data", data, "--steps", 2,
                    "--no-shuffle", "--checkpoint", checkpoint,
                    "--local-ranks", ranks)
            given = (artifact, "--checkpoint", checkpoint, "--local-ranks",
                     ranks)
            scores = self.zc("eval", *given, "--data", data, "--metrics",
                             "accuracy,top5,f1")
            self.zc("eval", *given, *common)
            found.append((scores, np.load(self.folder / "out" / "logits.npy")))
        self.assertRegex(found[0][0], "top5 0.[0-9]+, f1 0.[0-9]+")
        for scores, logits in found[1:]:
            self.assertEqual(scores, found[0][0])
            np.testing.assert_allclose(logits, found[0][1], atol=1e-3)

    def flops(self, *args):
        artifact = self.compile(*args)
        return json.loads(self.zc("inspect", artifact,
                                  "--json"))["ops"]["flops"]["step"]

    def test_zigzag_divides_the_work_evenly(self):
        # All ranks run one program: each does 1/p of a rank's products and of
        # its causal attention. In order all compute what the last one sees,
        # its own block, of which half is hidden, and p - 1 others: 2 p - 1
        # times what the first one sees. Half of the diagonal is nobody's.
        length = 32
        whole = self.flops()
        for ranks in (2, 4, 8):
            found = {mode: self.flops("--mesh", f"sp={ranks}", "--sp-attention",
                                      mode)
                     for mode in ("ring=zigzag", "ring=contiguous", "gather")}
            for mode in found:
                self.assertEqual(ranks * found[mode]["matmul"], whole["matmul"])
            for mode in ("ring=zigzag", "gather"):
                self.assertAlmostEqual(ranks * found[mode]["attention"] /
                                       whole["attention"], 1, delta=1e-9)
            pair = whole["attention"] / (length * (length + 1) / 2)
            block = length // ranks
            self.assertAlmostEqual(
                (found["ring=contiguous"]["attention"] / pair - block / 2) /
                (block ** 2 / 2), 2 * ranks - 1, delta=1e-9)

    def test_auto_takes_what_is_waited_for_less(self):
        # Latencies are all of a short sequence; behind the parts of a long one
        # the turns of a ring hide.
        for length, keys, ring in ((32, 8, False), (2048, 8, True),
                                   (2048, 1, True)):
            artifact = self.folder / "l.zca"
            model = self.write_large(
                "large_llama.py", layers=1, width=64, heads=8, key_heads=keys,
                inner=96, length=length, batch=2, vocabulary=64)
            self.zc("compile", model, "-o", artifact, "--init", "normal:0.02",
                    "--loss", "softmax-cross-entropy", "--mesh", "sp=4")
            sent = json.loads(self.zc("inspect", artifact, "--comm",
                                      "--json"))["comm"]["by_kind"]
            hidden = 2 * length * 64 * 4  # bytes
            self.assertEqual(
                sent["activations"]["bytes"],
                6 * 3 * hidden * keys // 8 // 4 if ring
                else 8 * hidden * 3 // 16)

    def test_each_rotation_is_on_its_way_before_a_block(self):
        """Forward of 2 layers, 4 ranks: a layer's own block, then two halves of
        a block a turn. Backwards, the own block comes last, and a block's
        gradients are sent before the next; also of keys that queries share."""
        keys, grads, halves = ["keys"] * 2, ["grads"] * 2, ["block"] * 2
        forward = keys + ["block"] + 2 * (keys + halves)
        # In front of a layer's last block the backward of the next one to come
        # fetches its first keys.
        backward = halves + 2 * (grads + keys + halves) + grads
        for script, sizes in (("large_gpt.py", {}), (
                "large_llama.py", {"key_heads": 2, "inner": 512})):
            model = self.write_large(script, layers=2, width=256, heads=8,
                                     length=512, batch=2, vocabulary=512,
                                     **sizes)
            step = self.emit_step(model, "sp=4", "ring=zigzag")
            with self.subTest(script):
                self.assertEqual(
                    self.turns(step), forward + halves + forward + keys +
                    halves + backward + keys + ["block"] + backward +
                    ["block"])

    def emit_step(self, model, mesh, attention):
        """The schedule of a step."""
        program = self.folder / "program.mlir"
        self.zc("compile", model, "--init", "normal:0.02", "--loss",
                "softmax-cross-entropy", "--mesh", mesh, "--sp-attention",
                attention, "--emit", "sched", "-o", program)
        return program.read_text().split("sched.program")[1]

    def turns(self, step):
        """A step's turns, in their order: "keys", or values, and "grads" that it
        sends, and "block". Keys are what the forward sends, and what is handed
        on of it."""
        backward = step.index('"train.attention_grad"')
        kinds, parts = [], set()
        for found in re.finditer(r'"send_receive".* (%\w+) to (%\w+)|'
                                 r'"zc.attention"', step):
            ends = found.groups()
            if ends == (None, None):
                kinds.append("block")
            elif found.start() < backward or ends[0] in parts:
                kinds.append("keys")
                parts.update(ends)
            else:
                kinds.append("grads")
        return kinds

    def test_zigzag_results_come_in_order(self):
        tokens = np.load(Fixture("gpt").data)["input_ids"][:4]
        np.save(self.folder / "ids.npy", tokens)
        results = []
        for mesh in ([], ["--mesh", "sp=4", "--sp-attention", "ring=zigzag"]):
            artifact = self.folder / "i.zca"
            self.zc("compile", Fixture("gpt").model, "-o", artifact, "--mode",
                    "infer", *mesh)
            self.zc("eval", artifact, "--input",
                    f"input_ids={self.folder / 'ids.npy'}", "--output-dir",
                    self.folder / "out", "--local-ranks", 4 if mesh else 1)
            results.append(np.load(next((self.folder / "out").glob("*.npy"))))
        np.testing.assert_allclose(results[1], results[0], atol=1e-4)

    def test_the_sum_over_sp_is_what_dp_sends(self):
        tokens = self.comm("--mesh", "sp=2", "--sp-attention", "ulysses")[
            "by_kind"]["gradients"]["bytes"]
        samples = self.comm("--mesh", "dp=2")["by_kind"]["gradients"]["bytes"]
        # The table of positions is divided by tokens: its gradient is
        # gathered, 2 (n - 1) / n less (n - 1) / n of its bytes.
        self.assertEqual(tokens, samples - 32 * 32 * 4 // 2)

    def test_labels_that_count_unevenly(self):
        arrays = dict(np.load(Fixture("gpt").data))
        labels = arrays["labels"].copy()
        labels[:, :11] = -100
        labels[::3, 5:20] = -100
        arrays["labels"] = labels
        data = self.folder / "uneven.npz"
        np.savez(data, **arrays)
        for common, mesh, ranks in (
                ([], ["--mesh", "sp=4"], 4),
                (["--accumulate", 2], ["--mesh", "dp=2,sp=2", "--zero", 2], 4),
                (["--recompute", "layer"], ["--mesh", "sp=2"], 2)):
            alone = self.losses(data, common)
            np.testing.assert_allclose(self.losses(data, common, mesh, ranks),
                                       alone, atol=1e-5, rtol=0)


if __name__ == "__main__":
    unittest.main()
