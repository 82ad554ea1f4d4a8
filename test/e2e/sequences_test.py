#!/usr/bin/env python3
"""Tokens that ranks divide: a part of tools/sequence-matrix, what is sent, and
what is refused."""
import json
import os
import pathlib
import subprocess
import sys
import unittest

import numpy as np

from zctest import Fixture, ZcTest

ROOT = pathlib.Path(__file__).resolve().parents[2]
CHOSEN = "|".join([
    "gpt (sp=2-ulysses-zero[013]|sp=4-gather-zero0|dp=2,sp=2-auto-zero2)",
    "gpt (tp=2,sp=2-auto-zero1|dp=2,sp=4-auto-zero3|sp=8-gather-zero1)",
    "llama (sp=4-ulysses-zero0|tp=2,sp=2-ulysses-zero3|dp=2,sp=2-auto-zero0)",
    "bert (sp=2-auto-zero0|dp=2,tp=2,sp=2-auto-zero1|sp=4-auto-zero3)"])


class Matrix(unittest.TestCase):

    def test_meshes(self):
        done = subprocess.run(
            [sys.executable, ROOT / "tools/sequence-matrix", "--bin",
             os.environ["ZC_BIN_DIR"], "--steps", "4", "--only",
             f"^({CHOSEN})$"], text=True, capture_output=True, timeout=300)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertRegex(done.stdout, r"^14 meshes as one rank")


class Sequences(ZcTest):

    def compile(self, *args, model="gpt"):
        self.zc("compile", Fixture(model).model, "-o", self.folder / "a.zca",
                "--loss", "softmax-cross-entropy", *args)
        return self.folder / "a.zca"

    def comm(self, *args, model="gpt"):
        artifact = self.compile(*args, model=model)
        return json.loads(self.zc("inspect", artifact, "--comm",
                                  "--json"))["comm"]

    def test_ulysses_sends_four_times_the_hidden_values_and_no_more(self):
        # GPT: batch 4, 32 tokens, 2 layers, 32 wide. Queries, keys, values and
        # results go forwards and their gradients back: 8 exchanges a layer, of
        # which a rank keeps the half that is its own.
        sent = self.comm("--mesh", "sp=2")["by_kind"]["activations"]
        part = 4 * 32 * 32 * 4 // 2  # bytes of a rank's hidden values
        self.assertEqual(sent["bytes"], 2 * 8 * part // 2)

    def test_the_sum_over_sp_is_what_dp_sends(self):
        tokens = self.comm("--mesh", "sp=2")["by_kind"]["gradients"]["bytes"]
        samples = self.comm("--mesh", "dp=2")["by_kind"]["gradients"]["bytes"]
        # The table of positions is divided by tokens: its gradient is
        # gathered, 2 (n - 1) / n less (n - 1) / n of its bytes.
        self.assertEqual(tokens, samples - 32 * 32 * 4 // 2)

    def losses(self, data, common, mesh=(), ranks=1):
        artifact = self.compile("--cpu-threads", 1, *common, *mesh)
        log = self.folder / "log.jsonl"
        self.zc("run", artifact, "--data", data, "--steps", 4, "--no-shuffle",
                "--log", log, *(["--local-ranks", ranks] if ranks > 1 else []))
        return [json.loads(line)["loss"]
                for line in log.read_text().splitlines()]

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
        self.fails(2, ["--token-dim needs a --mesh with sp"], "compile", model,
                   "-o", out, *loss, "--token-dim", "input_ids=1")
        self.fails(2, ["expected INPUT=K or INPUT=none"], "compile", model,
                   "-o", out, *loss, "--mesh", "sp=2", "--token-dim", "x")
        self.fails(1, ["'train.conv' mixes tokens, which 'sp' divides among 2 "
                       "ranks"], "compile", Fixture("cnn").model, "-o", out,
                   *loss, "--mesh", "sp=2", "--token-dim", "x=2")
        self.fails(2, ["a --mesh with pp and sp"], "compile", model, "-o", out,
                   *loss, "--mesh", "pp=2,sp=2")
        self.fails(1, ["no attention tells which dims count tokens"],
                   "compile", Fixture("mlp").model, "-o", out, *loss, "--mesh",
                   "sp=2", "--dim", "batch=16")


if __name__ == "__main__":
    unittest.main()
