#!/usr/bin/env python3
"""ZeRO-3 whose units stay gathered for several micro-batches: the same bits for
fewer bytes, as planned.

With N ranks and M micro-batches ZeRO-1 sends 2 (N-1)/N of the parameters' bytes
in a step, ZeRO-2 (M+1) (N-1)/N, ZeRO-3 3 M (N-1)/N (Rajbhandari et al. 2020,
section 7, once per micro-batch), and (M + ceil(M/K)) (N-1)/N where units stay
gathered for K micro-batches.
"""
import json
import math
import pathlib
import subprocess
import sys
import unittest

import numpy as np

from pipeline_test import PipelineTest
from zctest import Fixture, ZcTest

TOOLS = pathlib.Path(__file__).resolve().parents[2] / "tools"
BATCH = 16


class ReshardTest(ZcTest):

    def make_gpt(self):
        """All of whose parameters divide evenly among four ranks."""
        model = self.folder / "gpt.onnx"
        if not model.exists():
            subprocess.run([sys.executable, TOOLS / "bench" / "large_gpt.py",
                            model, "--layers", "4", "--width", "32", "--heads",
                            "2", "--length", "16", "--batch", str(BATCH),
                            "--vocabulary", "64"], check=True,
                           stdout=subprocess.DEVNULL)
        return model

    def compile(self, *options):
        artifact = self.folder / "a.zca"
        self.zc("compile", self.make_gpt(), "-o", artifact, "--init",
                "normal:0.02", "--loss", "softmax-cross-entropy",
                "--cpu-threads", 1, *options)
        return json.loads(self.zc("inspect", artifact, "--comm", "--memory",
                                  "--json"))


class Factors(ReshardTest):

    def check(self, expected, *options):
        comm = self.compile(*options)["comm"]
        for part in [comm, *comm.get("roles", [])]:
            self.assertAlmostEqual(part["data_parallel"]["factor"], expected,
                                   places=9, msg=options)
        return comm

    def test_closed_forms(self):
        for mesh in ("dp=2", "dp=4", "pp=2,dp=2"):
            for m in (2, 4):
                options = ["--mesh", mesh, "--accumulate", m, "--zero"]
                self.check(1, *options, 0)
                self.check(1, *options, 1)
                self.check((m + 1) / 2, *options, 2)
                self.check(3 * m / 2, *options, 3, "--reshard-last")

    def test_groups(self):
        for mesh, schedule in (("dp=2", []), ("pp=2,dp=2", []),
                               ("pp=2,dp=2", ["--schedule", "gpipe"]),
                               ("pp=2,dp=2", ["--schedule", "zero-bubble=h1"])):
            for every in (2, 3, 4):
                comm = self.check(
                    (4 + math.ceil(4 / every)) / 2, "--mesh", mesh,
                    "--accumulate", 4, "--zero", 3, "--reshard-every", every,
                    *schedule)
                self.assertEqual(comm["data_parallel"]["reshard_every"], every)
        text = self.zc("inspect", self.folder / "a.zca", "--comm")
        self.assertIn("2.500 times what ZeRO-1 sends; units stay gathered for "
                      "4 micro-batches", text)

    def test_widths(self):
        """Gradients of float32, parameters of 16 bits: 4 and 2 bytes."""
        options = ["--precision", "bf16", "--mesh", "dp=2", "--accumulate", 4,
                   "--zero"]
        self.check(1, *options, 1)
        self.check((4 * 4 + 2) / 6, *options, 2)
        self.check((4 * 4 + 8 * 2) / 6, *options, 3, "--reshard-last")
        self.check((4 * 4 + 2) / 6, *options, 3, "--reshard-every", "auto")


class Budget(ReshardTest):

    OPTIONS = ["--zero", 3, "--accumulate", 4]

    def measure(self, *options):
        report = self.compile(*self.OPTIONS, *options)
        parts = report["memory"].get("roles", [report["memory"]])
        comm = report["comm"].get("roles", [report["comm"]])
        return ([part["peak"] for part in parts],
                [part["data_parallel"]["reshard_every"] for part in comm])

    def test_one_role(self):
        mesh = ["--mesh", "dp=2"]
        (least,), _ = self.measure(*mesh)
        (most,), every = self.measure(*mesh, "--reshard-every", "auto")
        self.assertEqual(every, [4])
        self.assertLess(least, most)
        for budget, expected in ((most, 4), (most - 1, 1), (least, 1)):
            peaks, every = self.measure(*mesh, "--memory-budget", budget)
            self.assertEqual(every, [expected])
            self.assertLessEqual(max(peaks), budget)
        # Asked for by hand it is kept, and something is computed again.
        peaks, every = self.measure(*mesh, "--memory-budget", most - 4096,
                                    "--reshard-every", 4)
        self.assertEqual(every, [4])
        self.assertLessEqual(max(peaks), most - 4096)

    def test_by_role(self):
        mesh = ["--mesh", "pp=2,dp=2"]
        least, every = self.measure(*mesh)
        self.assertEqual(every, [1, 1])
        most, every = self.measure(*mesh, "--reshard-every", 4)
        self.assertEqual(every, [4, 4])
        # The larger role has no room for it.
        self.assertNotEqual(*most)
        peaks, every = self.measure(*mesh, "--memory-budget", max(most) - 1)
        self.assertLess(max(peaks), max(most))
        large = most.index(max(most))
        self.assertEqual(every[large], 1)
        self.assertEqual(every[1 - large], 4)
        self.assertEqual(peaks[large], least[large])

    def test_stages_take_turns(self):
        """Several stages of a role need the room of one, where they are
        gathered again when the order goes on with another."""
        mesh = ["--mesh", "pp=2,dp=2", "--schedule", "interleaved",
                "--unit", "layer"]
        peaks, factors = [], []
        for every in (1, 2, 4):
            report = self.compile(*self.OPTIONS, *mesh, "--reshard-every",
                                  every)
            peaks.append(report["memory"]["peak"])
            factors.append(report["comm"]["data_parallel"]["factor"])
        self.assertEqual(peaks, sorted(set(peaks)))
        self.assertEqual(factors, sorted(set(factors), reverse=True))
        for budget, every in ((peaks[2], 4), (peaks[0], 1)):
            report = self.compile(*self.OPTIONS, *mesh, "--memory-budget",
                                  budget)
            self.assertEqual(report["comm"]["data_parallel"]["reshard_every"],
                             every)
        report = self.compile(*self.OPTIONS, *mesh, "--memory-budget",
                              peaks[2] - 1)
        self.assertLess(factors[2], report["comm"]["data_parallel"]["factor"])
        self.assertLess(report["comm"]["data_parallel"]["factor"], factors[0])
        self.assertLess(report["memory"]["peak"], peaks[2])

    def test_refused(self):
        for expected, options in (
                ("belongs to --zero 3", ["--mesh", "dp=2", "--zero", 2]),
                ("belongs to --zero 3", ["--zero", 3]),
                ("a step has 4 micro-batches", ["--mesh", "dp=2", "--zero", 3,
                                                "--reshard-every", 5]),
                ("read different versions", ["--mesh", "pp=2,dp=2", "--zero", 3,
                                             "--schedule", "2bw"])):
            every = [] if "--reshard-every" in options else ["--reshard-every",
                                                             4]
            self.fails(2, [expected], "compile", self.make_gpt(), "-o",
                       self.folder / "a.zca", "--init", "normal:0.02", "--loss",
                       "softmax-cross-entropy", "--accumulate", 4, *every,
                       *options)


class Bits(PipelineTest):

    def check_equal(self, model, ranks, *options):
        """Losses and weights for 1, 2 and all micro-batches; bytes as
        planned."""
        fixture = Fixture(model)
        found = []
        for every in (1, 2, 4):
            name = str(every)
            lines, weights = self.train(
                fixture, name, [*fixture.compile_options("adamw"),
                                "--batch", 8, "--accumulate", 4, "--zero", 3, *options,
                                "--reshard-every", every], (), ranks)
            report = json.loads(self.zc("inspect", self.folder / f"{name}.zca",
                                        "--comm", "--memory", "--json"))
            self.assertEqual({line["sent_bytes"] for line in lines},
                             {report["comm"]["sent_bytes"]})
            self.assertEqual({line["peak_bytes"] for line in lines},
                             {report["memory"]["peak"]})
            found.append(([line["loss"] for line in lines], weights,
                          report["comm"]["sent_bytes"]))
        losses, weights, sent = found[0]
        for other in found[1:]:
            self.assertEqual(other[0], losses)
            for name, each in weights.items():
                np.testing.assert_array_equal(other[1][name], each, name)
            self.assertLess(other[2], sent)
            sent = other[2]

    def test_alone(self):
        self.check_equal("gpt", 2, "--mesh", "dp=2")
        self.check_equal("cnn", 2, "--mesh", "dp=2", "--precision", "bf16")
        self.check_equal("gpt", 4, "--mesh", "dp=2,tp=2", "--recompute", "full")

    def test_roles(self):
        self.check_equal("gpt", 4, "--mesh", "pp=2,dp=2")
        self.check_equal("gpt", 4, "--mesh", "pp=2,dp=2", "--schedule", "gpipe",
                         "--precision", "bf16")
        self.check_equal("cnn", 6, "--mesh", "pp=3,dp=2", "--schedule",
                         "zero-bubble=h1")

    def test_several_stages(self):
        for schedule in ("interleaved", "zero-bubble=v"):
            self.check_equal("gpt", 4, "--mesh", "pp=2,dp=2", "--schedule",
                             schedule, "--unit", "layer")


if __name__ == "__main__":
    unittest.main()
