#!/usr/bin/env python3
"""Models of the papers, by their shapes: Shazeer's from 4 to 4096 experts,
GShard's of 600 billion parameters; who has what under the strategies of Switch."""
import json
import subprocess
import sys
import unittest

from zctest import FIXTURES, Fixture, ZcTest

BENCH = FIXTURES.parents[1] / "tools" / "bench"
WORDS = 793_471  # of the 1-Billion-Word benchmark


class Sizes(ZcTest):
    def inspect(self, tool, *options):
        model, artifact = self.folder / "m.onnx", self.folder / "m.zca"
        cut = options.index("--")
        subprocess.run([sys.executable, BENCH / tool, model,
                        *map(str, options[:cut])],
                       check=True, stdout=subprocess.DEVNULL)
        self.zc("compile", model, "-o", artifact, "--init", "normal:0.02",
                "--loss", "softmax-cross-entropy", *options[cut + 1:])
        return json.loads(self.zc("inspect", artifact, "--json"))

    def test_four_to_4096_experts(self):
        """Shazeer et al. 2017, table 7: millions of parameters without the
        embedding and the softmax; 4 experts of a token, of 1 million each."""
        for experts, levels, millions in (
                (4, 0, "8.4"), (32, 0, "37.8"), (256, 0, "272.9"),
                (256, 16, "272.9"), (1024, 16, "1079.0"),
                (4096, 16, "4303.4")):
            with self.subTest(experts=experts, levels=levels):
                found = self.inspect(
                    "large_lstm_experts.py", "--experts", experts, "--levels",
                    levels, "--", "--mesh", "ep=4", "--moe-capacity", "2")
                report = found["experts"]
                model = report["parameters"] - 2 * WORDS * 512
                self.assertEqual(f"{model / 1e6:.1f}", millions)
                layer, = report["layers"]
                self.assertEqual((layer["experts"], layer["chosen"]),
                                 (experts, 4))
                self.assertEqual(layer["parameters"], experts << 20)
                self.assertEqual(layer["active_parameters"], 4 << 20)
                self.assertEqual(layer["experts_per_rank"], experts // 4)

    def test_600_billion(self):
        """GShard's: every other of 36 layers has 2048 experts, of which a rank
        has one; the other layers are whole everywhere."""
        ranks, layers, width, inner = 2048, 18, 1024, 8192
        found = self.inspect(
            "large_mixtral.py", *"--layers 36 --every 2 --width 1024 --heads 16 "
            "--key-heads 16 --inner 8192 --experts 2048 --ungated --activation "
            "relu --vocabulary 64000 --length 128 --batch 2048".split(), "--",
            "--mesh", f"ep={ranks}", "--precision", "bf16", "--moe-capacity",
            "2")
        report = found["experts"]
        expert = 2 * width * inner
        others = report["parameters"] - layers * ranks * expert
        self.assertEqual(report["parameters"], 619_097_170_944)
        self.assertEqual(report["active_parameters"],
                         others + layers * 2 * expert)
        self.assertEqual(len(report["layers"]), layers)
        for layer in report["layers"]:
            self.assertEqual(layer["experts_per_rank"], 1)
        self.assertEqual(report["ownership"], {
            "ranks": ranks, "expert_parts": ranks, "weight_parts": 1,
            "token_parts": ranks})
        self.assertLess(found["memory"]["parameters"],
                        1.001 * 2 * (others + layers * expert))

    def test_who_has_what(self):
        """Fedus et al. 2021, figure 9: as many colours of weights and of tokens
        as cores have different ones."""
        fixture = Fixture("experts/mixtral")
        for mesh, ranks, experts, weights, tokens in (
                ("dp=4", 4, 1, 1, 4), ("tp=4", 4, 1, 4, 1),
                ("dp=2,tp=2", 4, 1, 2, 2), ("ep=4", 4, 4, 1, 4),
                ("dp=2,ep=2", 4, 2, 1, 4), ("ep=2,tp=2", 4, 4, 2, 2),
                ("ep=2,sp=2", 4, 2, 1, 4)):
            with self.subTest(mesh=mesh):
                artifact = self.compile(fixture, "sgd", "--mesh", mesh)
                found = json.loads(self.zc("inspect", artifact, "--ops",
                                           "--json"))["experts"]["ownership"]
                self.assertEqual(found, {
                    "ranks": ranks, "expert_parts": experts,
                    "weight_parts": weights, "token_parts": tokens})
        self.assertIn("4 ranks have 2 different parts of experts' weights",
                      self.zc("inspect", artifact))


if __name__ == "__main__":
    unittest.main()
