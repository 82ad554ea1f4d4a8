#!/usr/bin/env python3
"""Experts whose tokens are divided over sp, and gates of two levels with rooms
for few: one rank's losses and rows on every mesh."""
import json
import unittest

import numpy as np

import experts_test
from moe_test import FOLDER
from zctest import Fixture, ZcTest, read_log


class ExpertSequences(ZcTest):
    losses, check = experts_test.Experts.losses, experts_test.Experts.check

    def log(self, artifact, data, ranks, lr):
        path = self.folder / "log.jsonl"
        self.train(artifact, data, 6, "--no-shuffle", "--log", path,
                   "--local-ranks", ranks, lr=lr)
        return read_log(path)

    def same(self, found, alone):
        for key in ("moe_tokens", "moe_overflow"):
            self.assertEqual(found[0].get(key), alone[0].get(key), key)
        np.testing.assert_allclose([line["loss"] for line in found],
                                   [line["loss"] for line in alone], rtol=4e-6)

    def test_losses_are_pytorchs(self):
        for name, mesh, ranks, *options in (
                ("mixtral", "ep=2,sp=2", 4),
                ("mixtral", "ep=2,sp=2", 4, "--zero", "3"),
                ("mixtral", "dp=2,ep=2,sp=2", 8, "--zero", "1"),
                ("qwen", "ep=2,sp=2", 4, "--zero", "1"),
                # Rows of experts are of the model's order, attention's are not.
                ("mixtral", "ep=2,sp=2", 4, "--sp-attention", "ring=zigzag"),
                ("qwen", "sp=2", 2, "--sp-attention", "ring=zigzag"),
                # Its attention has a sink: one key more, without a value.
                ("gpt_oss", "sp=2", 2, "--sp-attention", "ulysses"),
                ("gpt_oss", "sp=4", 4, "--sp-attention", "gather"),
                ("gpt_oss", "dp=2,ep=2,sp=2", 8, "--zero", "1")):
            with self.subTest(name=name, mesh=mesh, options=options):
                self.check(name, "adamw", "--mesh", mesh, *options, ranks=ranks)

    def test_rooms(self):
        """Overflow is of a sample's tokens, wherever these are."""
        fixture = Fixture("experts/mixtral")
        limited = ["--moe-capacity", "1"]
        alone = self.log(self.compile(fixture, "adamw", *limited), fixture.data,
                         1, 1e-3)
        self.assertGreater(alone[0]["moe_overflow"], 0)
        for more in ((), ("--sp-attention", "ring=zigzag")):
            found = self.compile(fixture, "adamw", *limited, "--mesh",
                                 "ep=2,sp=2", "--zero", "3", *more)
            self.same(self.log(found, fixture.data, 4, 1e-3), alone)

    def test_each_rank_does_its_own_work(self):
        """Rows of a sample are multiplied by one rank of sp, where experts are
        divided; else by all of them."""
        flops = {}
        for mesh, ranks in (("dp=1", 1), ("ep=2,sp=2", 4), ("ep=4,sp=2", 8),
                            ("sp=2", 1)):
            artifact = self.compile(Fixture("experts/mixtral"), "sgd",
                                    "--mesh", mesh)
            found = json.loads(self.zc("inspect", artifact, "--json"))
            flops[mesh] = found["ops"]["flops"]["step"]["grouped_matmul"] * ranks
        self.assertEqual(len(set(flops.values())), 1, flops)

    def test_two_levels(self):
        """Experts of the best groups have rooms, too: all tokens' best first."""
        step = self.folder / "step.mlir"
        self.zc("compile", FOLDER / "levels.onnx", "--emit", "step", "-o", step,
                "--loss", "softmax-cross-entropy", "--moe-capacity", "1")
        self.assertIn("choices = 4 : i64", step.read_text())
        logs = {}
        for mesh, ranks in (("dp=1", 1), ("dp=2", 2), ("ep=2", 2), ("ep=4", 4),
                            ("dp=2,ep=2", 4)):
            artifact = self.folder / "levels.zca"
            self.zc("compile", FOLDER / "levels.onnx", "-o", artifact, "--loss",
                    "softmax-cross-entropy", "--moe-capacity", "1", "--mesh",
                    mesh)
            logs[mesh] = self.log(artifact, FOLDER / "data.npz", ranks, 1e-2)
        self.assertGreater(logs["dp=1"][0]["moe_overflow"], 0)
        for mesh, log in logs.items():
            with self.subTest(mesh=mesh):
                self.same(log, logs["dp=1"])


if __name__ == "__main__":
    unittest.main()
