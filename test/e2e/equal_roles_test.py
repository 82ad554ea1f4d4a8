#!/usr/bin/env python3
"""Roles of equal layers are compiled once, and nobody can tell.

The artifact is the same, byte for byte, as of roles that are compiled one by
one.
"""
import os
import re
import unittest

from zctest import ZcTest, run

STAGES = """^h[.][345]([.]|$): 1
^h[.][678]([.]|$): 2
^h[.](9|10|11)([.]|$): 3
^(ln_f|head): 3
"""


class EqualRoles(ZcTest):

    def setUp(self):
        super().setUp()
        self.model = self.write_large(name="gpt.onnx", layers=12, width=32,
                                      heads=2, length=32, batch=16,
                                      vocabulary=64)
        # Weights of different values, far more than are read.
        data = os.urandom(1 << 16)
        with open(f"{self.model}.data", "wb") as file:
            for _ in range(64):
                file.write(data)
        (self.folder / "stages").write_text(STAGES)

    def compile(self, name, *options):
        """The artifact's bytes, and how many roles were compiled."""
        artifact = self.folder / name
        code, _, said = run("compile", self.model, "-o", artifact, "-v",
                            "--cpu-threads", 1, "--loss",
                            "softmax-cross-entropy", "--stages",
                            self.folder / "stages", "--accumulate", 8, *options)
        self.assertEqual(code, 0, said)
        runs = re.search(r"zc-build-backward(?:, (\d+) runs)?", said)
        return artifact.read_bytes(), int(runs[1] or 1)

    def check(self, *options):
        shared, count = self.compile("shared.zca", *options)
        apart, all_of_them = self.compile("apart.zca", "--no-shared-roles",
                                          *options)
        self.assertEqual((count, all_of_them), (3, 4))
        self.assertEqual(shared, apart)

    def test_same_bytes(self):
        self.check("--mesh", "pp=4")

    def test_same_bytes_divided(self):
        self.check("--mesh", "pp=4,dp=2", "--zero", "3", "--precision", "bf16",
                   "--clip-norm", "1", "--recompute", "layer", "--schedule",
                   "gpipe")

    def test_what_differs_is_compiled(self):
        """The keys that weights are drawn by are a part of the programs."""
        _, count = self.compile("drawn.zca", "--mesh", "pp=4", "--init",
                                "normal:0.02")
        self.assertEqual(count, 4)


if __name__ == "__main__":
    unittest.main()
