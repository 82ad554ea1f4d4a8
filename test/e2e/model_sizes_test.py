#!/usr/bin/env python3
"""Models of the literature by their shapes: parameters, states, what fits."""
import json
import unittest

import numpy as np

from requirements_test import CLUSTERS, LOSS, SMALL, RequirementsTest
from zctest import read_log


class Sizes(RequirementsTest):

    def test_parameters_of_known_models(self):
        """L-01 to L-05, L-07: millions of parameters, as the models' papers
        round them."""
        gpt = dict(length=8, batch=1, tied=1)
        for millions, script, options in (
                (26, "large_resnet.py", dict(classes=1000, size=32, batch=1)),
                (45, "large_resnet.py", dict(classes=1000, size=32, batch=1,
                                             layers=101)),
                (138, "large_vgg.py", dict(batch=1)),
                (108, "large_gpt.py", dict(
                    layers=12, width=768, heads=12, vocabulary=28996,
                    length=512, batch=1, causal=0, tied=1)),
                (17_000, "large_gpt.py", dict(
                    gpt, layers=78, width=4256, heads=28, vocabulary=50257)),
                (175_000, "large_gpt.py", dict(
                    gpt, layers=96, width=12288, heads=96, length=2048,
                    vocabulary=50257))):
            with self.subTest(millions=millions):
                found = json.loads(self.zc(
                    "plan", self.write_large(script, **options), *LOSS,
                    "--cluster", "ideal", "--json"))["plan"]["parameters"]
                self.assertAlmostEqual(found / 1e6 / millions, 1, delta=0.02)

    def test_frames_are_shifted_without_parameters(self):
        """L-06: TSM has its ResNet-50's parameters, and in each of 16 blocks cuts
        channels of two frames (two dims each) and of this one (one dim) out."""
        counts, cuts, init = [], [], ("--init", "zeros")
        for frames in (1, 8):
            model = self.write_large("large_resnet.py", frames=frames, batch=16,
                                     size=32, classes=10)
            plan = self.plan(model, *LOSS, "--cluster", "ideal")
            counts.append(plan["parameters"])
            program = self.zc("compile", model, *LOSS, *init, "--emit", "train")
            cuts.append(program.count("= train.slice "))
        self.assertEqual((counts[0], cuts), (counts[1], [0, 5 * 16]))

    def test_gpt3(self):
        """D-03, N-17: 43.75 GB of 16-bit weights a stage of 8, and a step that
        does not fit into 80 GB. With states a stage has 403 GB: micro-batches add
        up gradients in float32, 18 bytes a parameter instead of 16."""
        model = self.write_large(layers=96, width=12288, heads=96, batch=8,
                              length=2048, vocabulary=50257, tied=1)
        found = self.plan(model, *LOSS, "--cluster", "a100-dgx", "--mesh",
                          "pp=8", "--precision", "bf16", "--accumulate", 8)
        # The last stage has the embedding as well, which is its head.
        whole = 2 * (found["parameters"] + 50257 * 12288)
        each = [role["memory"]["parameters"] for role in found["roles"]]
        self.assertAlmostEqual(sum(each) / whole, 1, places=3)
        self.assertAlmostEqual(max(each) / 43.75e9, 1, delta=0.05)
        self.assertAlmostEqual(whole / 350e9, 1, delta=0.02)
        states = [sum(role["memory"][name] for name in
                      ("parameters", "gradients", "optimizer"))
                  for role in found["roles"]]
        self.assertAlmostEqual(max(states) / 403e9, 1, delta=0.02)
        self.assertFalse(found["fits"])

    def test_weights_of_gpt3(self):
        """C-20: the weights alone, 350 GB, are more than 80 GB, which is the first
        thing that is said; a stage of 8 has 44 of them."""
        sizes = dict(layers=96, width=12288, heads=96, batch=8, length=2048,
                     vocabulary=50257, tied=1)
        found = self.plan(self.write_large(**sizes), *LOSS, "--cluster",
                          "a100-dgx", "--precision", "bf16")
        self.assertFalse(found["fits"])
        self.assertRegex(found["limits"][0], r"^weights: a rank's alone take "
                         r"3\d\d(\.\d+)? G\w+, before gradients")
        divided = self.plan(self.write_large(**sizes), *LOSS, "--cluster",
                            "a100-dgx", "--precision", "bf16", "--mesh", "pp=8",
                            "--accumulate", 8)
        self.assertFalse(any(limit.startswith("weights") for limit in
                             divided["limits"]), divided["limits"])

    def test_what_fits_into_a_gpu(self):
        """A-12: 32 GB hold the states of 2.0 B parameters; more need ZeRO."""
        rows = self.plan("--max-model", "--cluster", "v100-dgx2", "--ranks",
                         16, section="max_model")["rows"]
        self.assertAlmostEqual(rows[0]["parameters"], 2.0e9)
        model = self.write_large(layers=30, width=2560, heads=32, length=128,
                              batch=16, vocabulary=1024)
        whole, divided = (self.plan(
            model, *LOSS, "--cluster", "v100-dgx2", "--mesh", "dp=16",
            "--precision", "fp16", "--zero", zero) for zero in (0, 1))
        self.assertGreater(whole["parameters"], 2.0e9)
        self.assertEqual((whole["fits"], divided["fits"]), (False, True))
        self.assertTrue(any("--zero 1 divides them" in limit
                            for limit in whole["limits"]), whole["limits"])

    def test_factors_of_stages(self):
        """C-17, N-08: 4, 8 and M times less than 16 bytes a parameter, or 3, 6 and
        0.75 M times less than 12: 50 times takes 50 ranks, or 67."""
        factors = {}
        for ranks in (49, 50, 66, 67, 100_000):
            rows = self.plan("--table", "--parameters", 1e9, "--ranks", ranks,
                             "--cluster", "a100-dgx", section="table")
            factors[ranks] = [16e9 / row["state_bytes"] for row in rows]
            self.assertEqual(factors[ranks][0], 1)
            self.assertAlmostEqual(factors[ranks][3] / ranks, 1)
        for basis, stages in ((16, (1, 4, 8)), (12, (0.75, 3, 6))):
            for factor, expected in zip(factors[100_000], stages):
                self.assertAlmostEqual(factor * basis / 16 / expected, 1,
                                       places=3)
        reaches = [[factors[ranks][3] * basis / 16 >= 50
                    for ranks in (49, 50, 66, 67)] for basis in (16, 12)]
        self.assertEqual(reaches, [[False, True, True, True],
                                   [False, False, False, True]])

    def test_planned_factors_of_stages(self):
        """C-17: with first moments in 16 bits a plan has 2 + 10 bytes a parameter
        beside the gradient; on 16 ranks ZeRO-1 divides the 10, ZeRO-3 both."""
        model = self.write_large(**dict(SMALL, width=256, batch=16))
        for zero, weights, optimizer in ((0, 2, 10), (1, 2, 10 / 16),
                                         (3, 2 / 16, 10 / 16)):
            found = self.plan(
                model, *LOSS, "--optimizer", "adamw", "--cluster", "a100-dgx",
                "--mesh", "dp=16", "--zero", zero, "--precision", "bf16",
                "--moment-precision", "bf16")
            for name, bytes_ in (("parameters", weights),
                                 ("optimizer", optimizer)):
                self.assertAlmostEqual(
                    found["memory"][name] / found["parameters"] / bytes_, 1,
                    delta=0.02)

    LAB = {10000: 2_000_200_000, 15000: 4_500_300_000, 20000: 8_000_400_000}
    # Gigabytes of a rank's states by stage, of the 2.0 billion parameters: the
    # source's for 8 nodes; for the others by its formulas 16, 4 + 12/n,
    # 2 + 14/n and 16/n bytes a parameter.
    LAB_STATES = {1: (32.0, 32.0, 32.0, 32.0), 2: (32.0, 20.0, 18.0, 16.0),
                  4: (32.0, 14.0, 11.0, 8.0), 8: (32.0, 11.0, 7.5, 4.0)}

    def lab(self, width, *options):
        """The lab's table: 20 linear layers, nothing between them."""
        model = self.write_large("large_mlp.py", batch=self.LAB_BATCH,
                                 inputs=width, width=width, layers=19,
                                 classes=width, relus=0)
        return model, self.plan(model, "--loss", "l1", "--optimizer", "adamw",
                                *options, "--table", section="table")

    LAB_BATCH = 8  # the lab's 20 do not divide among 8

    def test_lab_of_linear_layers(self):
        """C-39, M-13: the lab's table, absolute differences for a loss; per stage
        nodes, batch, parameters, memory before a step and in it, on 1 to 8
        nodes."""
        for width, nodes in ((10000, 1), (10000, 2), (10000, 8), (15000, 4),
                             (20000, 4)):
            _, rows = self.lab(width, "--precision", "bf16", "--mesh",
                               f"dp={nodes}", "--cluster", "piz-daint")
            size = self.LAB[width]
            self.assertEqual([row["zero"] for row in rows], [0, 1, 2, 3])
            for row, states in zip(rows, self.LAB_STATES[nodes]):
                self.assertEqual(
                    (row["nodes"], row["batch"], row["parameters"]),
                    (nodes, self.LAB_BATCH, size))
                self.assertEqual(round(row["state_bytes"] / size * 2, 1),
                                 states)
                # Before a step all but the gradients is there, in it more.
                self.assertLess(row["initial_memory"],
                                1.02 * row["state_bytes"])
                self.assertGreater(row["training_memory"],
                                   row["initial_memory"])
            for name in ("initial_memory", "training_memory"):
                found = [row[name] for row in rows]
                self.assertEqual(found, sorted(found, reverse=True))

    def test_lab_measured(self):
        """C-39, M-13: what ranks of a small one allocate is what the table
        says."""
        width = 64
        samples = np.random.default_rng(0).standard_normal(
            (self.LAB_BATCH, width)).astype(np.float32)
        np.savez(self.folder / "data.npz", x=samples, labels=samples)
        for nodes in (2, 4):
            options = ("--mesh", f"dp={nodes}", "--cpu-threads", 1, "--init",
                       "normal:0.05")
            model, rows = self.lab(width, *options, "--target", "cpu",
                                   "--cluster", "ideal")
            for row in rows:
                artifact, log = self.folder / "a.zca", self.folder / "l.jsonl"
                self.zc("compile", model, "-o", artifact, "--loss", "l1",
                        "--optimizer", "adamw", "--verify", "off", *options,
                        "--zero", row["zero"])
                self.zc("run", artifact, "--data", self.folder / "data.npz",
                        "--steps", 1, "--local-ranks", nodes, "--log", log)
                line, = read_log(log)
                self.assertEqual(line["peak_bytes"], row["training_memory"])
                inspected = json.loads(self.zc(
                    "inspect", artifact, "--memory", "--json"))["memory"]
                self.assertEqual(inspected["persistent"],
                                 row["initial_memory"])

    def test_sizes_up_to_a_trillion(self):
        """L-12: 16/1024 bytes a parameter with ZeRO-3 on 1024 ranks; 1e12 take
        15.6 GB."""
        for size in (1.4e9, 13e9, 1e11, 6e11, 1e12):
            rows = self.plan("--table", "--parameters", size, "--ranks", 1024,
                             "--cluster", "a100-dgx", section="table")
            self.assertAlmostEqual(rows[3]["state_bytes"] / size * 1024, 16)
        self.assertAlmostEqual(rows[3]["state_bytes"] / 1e9, 15.6, delta=0.05)

    def test_tsm_on_summit(self):
        """M-03, L-16, N-27: 49 h 50 min on 6 GPUs without a loss are 23.4
        minutes on 768, of which 28 were measured (83.4 %), and 11.7 on 1536
        (14 min 13 s: 82.1 %); 24 million videos without a loss are 34.2
        thousand a second."""
        hours = 6 * (49 + 50 / 60)
        ideal = {ranks: self.plan("--device-hours", hours, "--ranks", ranks,
                                  section="ideal")["seconds"]
                 for ranks in (6, 768, 1536)}
        self.assertAlmostEqual(ideal[6] / 60, 2990)
        self.assertAlmostEqual(ideal[768] / 60 / 28, 0.834, places=3)
        measured = 14 * 60 + 13
        self.assertAlmostEqual(ideal[1536] / measured, 0.822, places=3)
        self.assertAlmostEqual(ideal[6] / measured, 210.3, places=1)
        # 24 million videos: in the time that no loss leaves, in 14 minutes.
        self.assertAlmostEqual(240e3 * 100 / ideal[1536], 34.2e3, delta=50)
        self.assertAlmostEqual(240e3 * 100 / self.plan(
            "--device-hours", 1536 * 14 / 60, "--ranks", 1536,
            section="ideal")["seconds"], 28.6e3, delta=50)

    def test_tensors_are_divided_inside_a_machine(self):
        """E-14: what tp sends grows with the batch, what dp sends does not; a
        tp that leaves the machine takes longer."""
        sizes = dict(layers=4, width=1024, heads=16, length=256,
                     vocabulary=1024)
        sent, steps = {}, {}
        for mesh in ("dp=2,tp=8", "tp=16"):
            for batch in (16, 32):
                found = self.plan(
                    self.write_large(batch=batch, **sizes), *LOSS, "--cluster",
                    "a100-dgx", "--mesh", mesh, "--precision", "bf16")
                steps[mesh, batch] = found["step_s"]
                for axis, each in found["traffic"]["by_axis"].items():
                    sent[mesh, axis, batch] = each["bytes"]
            self.assertAlmostEqual(sent[mesh, "tp", 32] /
                                   sent[mesh, "tp", 16], 2, delta=0.05)
        self.assertAlmostEqual(sent["dp=2,tp=8", "dp", 32] /
                               sent["dp=2,tp=8", "dp", 16], 1, delta=0.01)
        self.assertLess(steps["dp=2,tp=8", 32], steps["tp=16", 32])

    def test_machines(self):
        """R-01 to R-05: GPUs of a node, their memory, the host's, bytes a second
        and node over the network, as the lectures have them."""
        for name, gpus, memory, network, host in (
                ("summit", 6, 16e9, 25e9, 512e9),
                ("piz-daint", 1, 16e9, 10.2e9, 64e9),
                ("a100-dgx", 8, 80e9, None, 2e12),
                ("h100-dgx", 8, 80e9, None, 2e12),
                ("v100-dgx2", 16, 32e9, None, 1.5e12)):
            with self.subTest(preset=name):
                preset = json.loads((CLUSTERS / f"{name}.json").read_text())
                node, outside, *_ = preset["levels"]
                self.assertEqual(node["size"], gpus)
                self.assertEqual(preset["device"]["memory_bytes"], memory)
                self.assertEqual(preset["host"]["memory_bytes"], host)
                if network:
                    self.assertEqual(outside["bytes_per_s"] *
                                     outside.get("links_per_block", 1), network)
                # And zc knows it by this name.
                found = self.plan("--max-model", "--cluster", name, "--ranks",
                                  gpus, section="max_model")
                self.assertEqual(found["memory_bytes"], memory)
        # Two bricks of NVLink, 25 GB/s a side each.
        preset = json.loads((CLUSTERS / "summit.json").read_text())
        self.assertEqual(preset["levels"][0]["bytes_per_s"], 2 * 25e9)

    def test_large_lstm(self):
        """L-14: the big LSTM of 1.8 billion parameters, in float16 with a loss
        scale; ZeRO-3 divides its states by eight."""
        model = self.write_large("large_lstm.py")
        plans = [self.plan(model, *LOSS, "--cluster", "a100-dgx", "--mesh",
                           "dp=8", "--precision", "fp16", "--zero", zero)
                 for zero in (0, 3)]
        for found in plans:
            self.assertAlmostEqual(found["parameters"] / 1.8e9, 1, delta=0.02)
        whole, divided = (found["memory"] for found in plans)
        # 2 + 12 bytes a parameter, or an eighth.
        for memory, each in ((whole, 14), (divided, 14 / 8)):
            self.assertAlmostEqual(
                (memory["parameters"] + memory["optimizer"]) / 1.776e9 / each,
                1, delta=0.02)


if __name__ == "__main__":
    unittest.main()
