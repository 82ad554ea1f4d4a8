#!/usr/bin/env python3
"""Artifacts with code for ARM and for x86-64, compiled here and trained on both
(tools/arm64 emulates the former): every fixture's losses and weights against
PyTorch's, and the losses of both against one another, within the spread that
train_test.py allows.

ZC_BIN_DIR: the compiler's folder; ZC_ARM64_DIR: what tools/arm64 built.
"""
import json
import os
import pathlib
import re
import sys
import unittest

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "test" / "e2e"))

import train_test  # noqa: E402: found by the line above
from precision_test import MULTIPLE as HALF_MULTIPLE  # noqa: E402
from zctest import Fixture, ZcTest, latest_step, read_log  # noqa: E402

THERE = pathlib.Path(os.environ["ZC_ARM64_DIR"]).resolve() / "emulated" / "zc-run"
ARCHS = ["--cpu-arch", "armv8.2-a,x86-64-v3"]


class Both(ZcTest):
    """Trains what it compiles there and here; the log is that of there."""

    def compile(self, fixture, optimizer="adamw", *extra, **options):
        return super().compile(fixture, optimizer, *ARCHS, "--cpu-threads", 2,
                               *extra, **options)

    def train(self, artifact, data, steps, *extra, lr=1e-3, log=None):
        """Only there, unless a log is named for the run here."""
        self.zc("run", artifact, "--data", data, "--steps", steps, "--lr", lr,
                *extra, tool=THERE)
        if log:
            self.zc("run", artifact, "--data", data, "--steps", steps, "--lr",
                    lr, "--no-shuffle", "--log", log)

    def losses(self, log):
        return np.array([line["loss"] for line in read_log(log)])


class Trained(Both, train_test.Train):
    """All of train_test.py."""

    def train(self, *args, **options):
        super().train(*args, log=self.folder / "here.jsonl", **options)

    def compare_losses(self, log, expected):
        super().compare_losses(log, expected)
        tolerance = max(train_test.FLOOR,
                        train_test.MULTIPLE * expected["loss_spread"])
        here = self.losses(self.folder / "here.jsonl")
        np.testing.assert_allclose([line["loss"] for line in log], here,
                                   rtol=tolerance)


class Halves(Both):
    """Sixteen bits: code rounds by instructions, oneDNN gets float32."""

    def check(self, name, optimizer, precision, *extra):
        fixture = Fixture(name)
        expected = fixture.reference["optimizers"][optimizer]
        artifact = self.compile(fixture, optimizer, "--precision", precision,
                                *extra)
        log, here = self.folder / "log.jsonl", self.folder / "here.jsonl"
        self.train(artifact, fixture.data, fixture.reference["steps"],
                   "--no-shuffle", "--log", log,
                   lr=expected["learning_rate"], log=here)
        spread = HALF_MULTIPLE * expected["bf16_spread"]
        reference = expected["losses"]
        for losses in (self.losses(log), self.losses(here)):
            np.testing.assert_allclose(losses, reference, rtol=spread)
        np.testing.assert_allclose(self.losses(log), self.losses(here),
                                   rtol=spread)

    def test_bfloat16(self):
        for name in ("mlp", "cnn", "gpt"):
            self.check(name, "adamw", "bf16")

    def test_float16(self):
        self.check("mlp", "adamw", "fp16")
        self.check("cnn", "adamw", "fp16")


class Moved(Both):

    def test_a_run_goes_on_on_the_other_machine(self):
        """Begun here, ended there: the losses of a run here from end to end."""
        fixture = Fixture("mlp")
        artifact = self.compile(fixture, "adamw")
        whole, log = self.folder / "whole.jsonl", self.folder / "log.jsonl"
        run = ["run", artifact, "--data", fixture.data, "--no-shuffle"]
        self.zc(*run, "--steps", 10, "--log", whole)
        kept = ["--checkpoint", self.folder / "ckpt", "--log", log]
        self.zc(*run, "--steps", 5, *kept)
        self.zc(*run, "--steps", 10, *kept, "--resume", tool=THERE)
        self.assertEqual(latest_step(self.folder / "ckpt").name, "step-10")
        spread = fixture.reference["optimizers"]["adamw"]["loss_spread"]
        np.testing.assert_allclose(
            self.losses(log), self.losses(whole),
            rtol=max(train_test.FLOOR, train_test.MULTIPLE * spread))

    def test_ranks(self):
        """Two threads of one process there: one rank's losses."""
        fixture = Fixture("mlp")
        losses = []
        for ranks in ([], ["--mesh", "dp=2"]):
            artifact = self.compile(fixture, "adamw", *ranks)
            log = self.folder / "log.jsonl"
            self.train(artifact, fixture.data, 5, "--no-shuffle", "--log", log,
                       *(["--local-ranks", 2] if ranks else []))
            losses.append(self.losses(log))
        np.testing.assert_allclose(*losses, rtol=2e-6)


class EveryProcessor(Both):
    """Code for each processor that the guide names, on one that has all
    instructions, against x86-64's losses."""

    def test_trains(self):
        there = self.folder / "zc-run"
        there.write_text(THERE.read_text().replace("-cpu cortex-a76",
                                                   "-cpu max"))
        there.chmod(0o755)
        fixture = Fixture("cnn")
        spread = fixture.reference["optimizers"]["adamw"]["loss_spread"]
        for arch in ("armv8-a", "armv8.2-a", "cortex-a72", "cortex-a76",
                     "neoverse-n1", "neoverse-v1", "apple-m1"):
            artifact = ZcTest.compile(self, fixture, "adamw", "--cpu-arch",
                                      f"{arch},x86-64-v3", "--cpu-threads", 1)
            losses = []
            for tool in ({"tool": there}, {}):
                log = self.folder / "log.jsonl"
                self.zc("run", artifact, "--data", fixture.data, "--steps", 4,
                        "--no-shuffle", "--log", log, **tool)
                losses.append(self.losses(log))
            np.testing.assert_allclose(
                *losses, err_msg=arch,
                rtol=max(train_test.FLOOR, train_test.MULTIPLE * spread))


class Refused(ZcTest):

    def refused(self, arch, *patterns):
        fixture = Fixture("mlp")
        artifact = self.compile(fixture, "adamw", "--cpu-arch", arch)
        self.fails(1, patterns, "run", artifact, "--data", fixture.data,
                   "--steps", 1, tool=THERE)

    def test_code_for_the_other_architecture(self):
        self.refused("x86-64-v3", "code for 'x86-64-v3' cannot run here",
                     "made for processors of the architecture 'x86-64'",
                     "this one is of 'aarch64'")

    def test_code_for_a_newer_processor(self):
        """The emulated Cortex-A76 multiplies no bfloat16."""
        self.refused("neoverse-v1", "code for 'neoverse-v1' cannot run here",
                     "instruction set 'fp16fml', which this CPU lacks")

    def test_needs_nothing_but_the_system(self):
        """As ldd tells of programs of one's own machine."""
        build = THERE.parents[1]
        for path in (build / "bin" / "zc-run", build / "lib" / "libzc.so"):
            listed = self.command("readelf", "-d", path)
            needed = set(re.findall(r"NEEDED.*\[(.*)\]", listed))
            self.assertLessEqual(needed, {
                "libc.so.6", "libm.so.6", "libgcc_s.so.1", "libstdc++.so.6",
                "ld-linux-aarch64.so.1"}, path)

    def test_doctor(self):
        done = json.loads(self.zc("doctor", "--quick", "--json", tool=THERE))
        self.assertTrue(done["cpu"]["usable"], done)
        self.assertIn("aarch64 neon lse fullfp16 dotprod", done["cpu"]["text"])


if __name__ == "__main__":
    unittest.main()
