#!/usr/bin/env python3
"""Public runs, planned with the presets: the guide's table is what comes out.
No number of a preset is fitted to them."""
import json
import re
import unittest

from plan_test import LOSS, TOOLS, PlanTest

GUIDE = TOOLS / "guide" / "plan.md"
SGD = ("--optimizer", "sgd", "--momentum", "0.9")
# Bounds from the issue of `zc plan`; the guide explains wider ones.
BOUNDS = {"TSM ResNet-50": 0.10}
OUTSIDE = {"TSM ResNet-50"}
# Where each run's layout and figure are from.
MEGATRON = "Narayanan et al. 2021, arXiv 2104.04473, table "
TORCHTITAN = "benchmarks of pytorch/torchtitan, December 2024"
SOURCES = {
    "Megatron-LM 145.6B": MEGATRON + "1",
    "Megatron-LM 174.6B": MEGATRON + "2",
    "Megatron-LM 174.6B, more GPUs": MEGATRON + "2",
    "Megatron-LM 529.6B": MEGATRON + "1",
    "Megatron-LM 1008B": MEGATRON + "1",
    "Llama 3 405B": "Grattafiori et al. 2024, arXiv 2407.21783, table 4",
    "torchtitan 405B, 1F1B": TORCHTITAN,
    "torchtitan 405B, interleaved": TORCHTITAN,
    "TSM ResNet-50": "Lin, Gan, Han 2019, arXiv 1910.00932"}


def rows():
    """The guide's table: {run: (GPUs, batch, published, planned, off by,
    source)}."""
    found = {}
    for line in GUIDE.read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 7 and re.match(r"[-+]\d", cells[5]):
            found[cells[0]] = cells[1:]
    return found


class PublicRuns(PlanTest):

    def check(self, run, figure):
        """The guide has what is planned, and says how far that is off."""
        _, _, published, planned, off, _ = rows()[run]
        published, planned = (float(each.split()[0])
                              for each in (published, planned))
        self.assertAlmostEqual(figure / planned, 1, delta=0.01, msg=run)
        error = planned / published - 1
        self.assertEqual(off, f"{100 * error:+.0f}%", run)
        self.assertEqual(abs(error) > BOUNDS.get(run, 0.15), run in OUTSIDE,
                         run)

    def test_every_row_is_planned(self):
        self.assertEqual({run: cells[-1] for run, cells in rows().items()},
                         SOURCES)
        self.assertLess(OUTSIDE, set(rows()))

    def megatron(self, layers, width, heads, batch, pp, dp, chunks):
        schedule = ("interleaved", "--chunks", chunks) if chunks > 1 else (
            "1f1b",)
        model = self.write_large("large_gpt.py", layers=layers, width=width,
                           heads=heads, vocabulary=51200, batch=batch,
                           length=2048)
        plan = self.plan(
            model, *LOSS, "--cluster", "a100-dgx", "--mesh",
            f"dp={dp},pp={pp},tp=8", "--accumulate", batch // dp,
            "--schedule", *schedule, "--precision", "bf16", "--recompute",
            "layer", "--placement", "dp,pp,tp", "--divide-messages")
        self.ranks = plan["ranks"]
        return plan["executed_flops"] / plan["step_s"] / plan["ranks"] / 1e12

    def test_megatron_145b(self):
        self.check("Megatron-LM 145.6B",
                   self.megatron(80, 12288, 96, 2304, 8, 24, 2))
        self.assertEqual(self.ranks, 1536)  # D-26

    def test_megatron_175b(self):
        """GPT-3's sizes, on the fewest and the most GPUs of that table."""
        for run, copies in (("Megatron-LM 174.6B", 4),
                            ("Megatron-LM 174.6B, more GPUs", 16)):
            self.check(run, self.megatron(96, 12288, 96, 1536, 12, copies, 1))
            self.assertEqual(self.ranks, 96 * copies)

    def test_megatron_530b(self):
        self.check("Megatron-LM 529.6B",
                   self.megatron(105, 20480, 128, 2520, 35, 9, 3))

    def test_megatron_1t(self):
        self.check("Megatron-LM 1008B",
                   self.megatron(128, 25600, 160, 3072, 64, 6, 2))

    def llama(self, mesh, batch, accumulate, placement, *schedule,
              precision="bf16", cluster="h100-dgx"):
        model = self.write_large("large_llama.py", batch=batch)
        return self.plan(
            model, *LOSS, "--cluster", cluster, "--mesh", mesh,
            "--accumulate", accumulate, "--precision", precision, "--zero", 1,
            "--placement", placement, "--divide-messages", "--schedule",
            *schedule)

    def test_llama_405b(self):
        """With tokens divided inside tp, and nothing recomputed."""
        plan = self.llama("dp=128,pp=16,tp=8", 2048, 16, "dp,pp,tp",
                          "interleaved", "--chunks", 8,
                          "--sequence-parallel", "on")
        self.check("Llama 3 405B", plan["model_flops"] / plan["step_s"] /
                   plan["ranks"] / 1e12)

    def of_96_gb(self):
        """The preset with the memory of torchtitan's H100, as its benchmarks
        say: 96 GB of HBM2e, 2.4 TB/s."""
        cluster = json.loads(
            (TOOLS / "clusters" / "h100-dgx.json").read_text())
        cluster["name"] = "h100-96gb"
        cluster["device"] |= {"memory_bytes": 96e9,
                              "memory_bytes_per_s": 2.4e12}
        path = self.folder / "h100-96gb.json"
        path.write_text(json.dumps(cluster))
        return path

    def test_torchtitan_405b(self):
        for name, *schedule in (("1F1B", "1f1b"),
                                ("interleaved", "interleaved", "--chunks", 2)):
            plan = self.llama("dp=8,pp=8,tp=8", 256, 8, "pp,dp,tp", *schedule,
                              "--recompute", "layer", precision="fp8",
                              cluster=self.of_96_gb())
            self.check(f"torchtitan 405B, {name}",
                       plan["tokens_per_s"] / plan["ranks"])

    def test_tsm_on_summit(self):
        """M-03: 8 clips of 8 frames on each GPU, as their images, shifted in
        every block. A plan of 128 nodes, too, says a fifth more than the 106.8
        times (2990 minutes in 28) that were found."""
        model = self.write_large("large_resnet.py", batch=64 * 6, frames=8)
        options = (model, *LOSS, *SGD, "--batchnorm-stats", "local",
                   "--cluster", "summit")
        plan = self.plan(*options, "--mesh", "dp=6")
        self.assertAlmostEqual(plan["parameters"] / 24.33e6, 1, places=3)
        # 240,000 clips of 8 frames, 100 times; each frame has a label.
        rows = json.loads(self.zc(
            "plan", *options, "--scale", "dp=6,768,1536", "--scale-batch",
            "--batch", 64 * 6, "--tokens", 240e3 * 8 * 100,
            "--json"))["scaling"]["rows"]
        self.assertEqual([(row["nodes"], row["ranks"], row["batch"])
                          for row in rows],
                         [(1, 6, 384), (128, 768, 49152), (256, 1536, 98304)])
        self.check("TSM ResNet-50", rows[2]["speed_up"])
        self.assertAlmostEqual(rows[1]["speed_up"] / (2990 / 28), 1.19,
                               delta=0.01)
        # The published 49 h 55 min, 28 min, 14 min 13 s: by the model's 26 and
        # 25 clips a second on each GPU.
        hours = [row["seconds"] / 3600 for row in rows]
        for found, clips, ranks in zip(hours, (26, 25.4, 25.4), (6, 768, 1536)):
            self.assertAlmostEqual(
                found / (24e6 / clips / ranks / 3600), 1, delta=0.03)


if __name__ == "__main__":
    unittest.main()
