#!/usr/bin/env python3
"""Memory of pipelines: every role keeps within --memory-budget, by itself.

With 1f1b the first role has most micro-batches under way, and computes values
of the forward again where the last still keeps all of them.
"""
import json
import unittest

import numpy as np

from zctest import ZcTest, read_log


class PipelineMemoryTest(ZcTest):

    def make_gpt(self, layers, length=64):
        name = f"gpt-{layers}.onnx"
        if (self.folder / name).exists():
            return self.folder / name
        return self.write_large(name=name, layers=layers, width=32, heads=2,
                                length=length, batch=16, vocabulary=64)

    def compile(self, name, model, *options):
        artifact = self.folder / f"{name}.zca"
        self.zc("compile", model, "-o", artifact, "--cpu-threads", 1, *options)
        memory = json.loads(self.zc("inspect", artifact, "--memory", "--json"))
        stages = json.loads(self.zc("inspect", artifact, "--schedule",
                                    "--json"))["schedule"]["stages"]
        peaks = [role["peak"] for role in memory["memory"]["roles"]]
        return artifact, peaks, [stage["flops"] for stage in stages]


class Budget(PipelineMemoryTest):

    OPTIONS = ["--init", "normal:0.02", "--loss", "softmax-cross-entropy",
               "--optimizer", "sgd", "--mesh", "pp=4", "--accumulate", 8]

    def test_each_role_by_itself(self):
        model = self.make_gpt(8)
        self.zc("compile", model, "-o", self.folder / "a.zca", *self.OPTIONS,
                "--write-stages", self.folder / "stages")
        options = [*self.OPTIONS, "--stages", self.folder / "stages"]
        _, free, work = self.compile("free", model, *options)
        _, least, _ = self.compile("least", model, *options, "--recompute",
                                   "full")
        # The first role has four micro-batches under way, the last one.
        self.assertEqual(max(free), free[0])
        self.assertLess(least[0], free[0])
        budget = max(max(free[1:]), (least[0] + free[0]) // 2)
        self.assertLess(budget, free[0])
        _, peaks, again = self.compile("budget", model, *options,
                                       "--memory-budget", budget)
        self.assertLessEqual(max(peaks), budget)
        self.assertGreater(again[0], work[0])
        self.assertEqual(again[3], work[3])
        self.assertEqual(peaks[3], free[3])

    def test_enough_for_all(self):
        model = self.make_gpt(8)
        _, free, work = self.compile("free", model, *self.OPTIONS)
        _, peaks, again = self.compile("budget", model, *self.OPTIONS,
                                       "--memory-budget", max(free))
        self.assertLessEqual(max(peaks), max(free))
        self.assertEqual(sum(again), sum(work))

    def test_out_of_reach(self):
        model = self.make_gpt(8)
        self.fails(1, ["role 0 of the pipeline: no plan fits into 64.00 KiB",
                       "the least is", "are kept for micro-batches under way",
                       "more stages"],
                   "compile", model, "-o", self.folder / "a.zca",
                   *self.OPTIONS, "--memory-budget", "64KiB")

    def test_equal_bits(self):
        """Recomputed values have the bits of those that were kept."""
        model = self.make_gpt(8)
        data = self.folder / "data.npz"
        random = np.random.default_rng(3)
        np.savez(data, **{name: random.integers(0, 64, (64, 64))
                          for name in ("tokens", "labels")})
        self.zc("compile", model, "-o", self.folder / "a.zca", *self.OPTIONS,
                "--write-stages", self.folder / "stages")
        options = [*self.OPTIONS, "--stages", self.folder / "stages"]
        first, free, work = self.compile("free", model, *options)
        second, peaks, again = self.compile("budget", model, *options,
                                            "--memory-budget",
                                            max(free) * 3 // 4)
        self.assertLess(max(peaks), max(free))
        self.assertGreater(sum(again), sum(work))
        losses = []
        for artifact in (first, second):
            log = artifact.with_suffix(".jsonl")
            self.zc("run", artifact, "--data", data, "--steps", 3,
                    "--no-shuffle", "--lr", "1e-3", "--log", log,
                    "--local-ranks", 4)
            losses.append([line["loss"] for line in read_log(log)])
        self.assertEqual(*losses)


class Offload(PipelineMemoryTest):
    """Saved activations of micro-batches under way, and states, in a file
    meanwhile."""

    OPTIONS = ["--init", "normal:0.02", "--loss", "softmax-cross-entropy",
               "--optimizer", "adamw", "--accumulate", 4]

    def train(self, name, ranks, *options):
        model = self.make_gpt(4)
        artifact, _, _ = self.compile(name, model, *self.OPTIONS, *options)
        data, log = self.folder / "data.npz", self.folder / f"{name}.jsonl"
        random = np.random.default_rng(3)
        np.savez(data, **{each: random.integers(0, 64, (64, 64))
                          for each in ("tokens", "labels")})
        self.zc("run", artifact, "--data", data, "--steps", 3, "--no-shuffle",
                "--lr", "1e-3", "--log", log, "--local-ranks", ranks,
                "--offload-dir", self.folder)
        memory = json.loads(self.zc("inspect", artifact, "--memory",
                                    "--json"))["memory"]
        lines = read_log(log)
        self.assertEqual({line["peak_bytes"] for line in lines},
                         {memory["peak"]})
        return [line["loss"] for line in lines], memory["roles"]

    def test_equal_bits(self):
        for schedule in ("1f1b", "gpipe", "interleaved", "zero-bubble=h1"):
            with self.subTest(schedule=schedule):
                options = ["--mesh", "pp=2", "--schedule", schedule]
                losses, free = self.train("free", 2, *options)
                found, roles = self.train("kept", 2, *options, "--offload",
                                          "activations")
                self.assertEqual(found, losses)
                self.assertGreater(roles[0]["offloaded"], 0)
                # Whole slots, of all micro-batches under way.
                self.assertLess(roles[0]["flight"], free[0]["flight"] / 2)
                self.assertLess(roles[0]["peak"], free[0]["peak"])
                found, roles = self.train(
                    "all", 2, *options, "--offload",
                    "optimizer,parameters,activations", "--recompute", "layer")
                self.assertEqual(found, losses)
                self.assertGreater(roles[0]["offloaded"], free[0]["optimizer"])

    def test_with_units(self):
        """And with what ZeRO-3 keeps gathered."""
        options = ["--mesh", "pp=2,dp=2", "--zero", 3]
        losses, free = self.train("free", 4, *options)
        found, roles = self.train("all", 4, *options, "--offload",
                                  "optimizer,parameters,activations",
                                  "--reshard-every", 4)
        self.assertEqual(found, losses)
        self.assertGreater(roles[0]["offloaded"], free[0]["optimizer"])

    def test_each_role_by_itself(self):
        """With 1f1b the first of four roles has four micro-batches under way,
        the last one."""
        options = ["--mesh", "pp=4", "--recompute", "none"]
        losses, free = self.train("free", 4, *options)
        peaks = [role["peak"] for role in free]
        self.assertEqual(max(peaks), peaks[0])
        budget = (peaks[0] + max(peaks[1:])) // 2
        self.assertLess(budget, peaks[0])
        self.train("stages", 4, *options, "--write-stages",
                   self.folder / "stages")
        found, roles = self.train("budget", 4, *options, "--stages",
                                  self.folder / "stages", "--memory-budget",
                                  budget)
        self.assertEqual(found, losses)
        self.assertLessEqual(max(role["peak"] for role in roles), budget)
        self.assertGreater(roles[0]["offloaded"], 0)
        self.assertEqual([role["offloaded"] for role in roles[1:]], [0] * 3)


class Stages(PipelineMemoryTest):

    def test_budget_moves_layers(self):
        """Without recomputation, the first role gets fewer layers."""
        model = self.make_gpt(16)
        options = [*Budget.OPTIONS, "--recompute", "none"]
        _, free, _ = self.compile("free", model, *options)
        budget = max(free) * 9 // 10
        _, peaks, _ = self.compile("budget", model, *options,
                                   "--memory-budget", budget)
        self.assertLessEqual(max(peaks), budget)


if __name__ == "__main__":
    unittest.main()
