#!/usr/bin/env python3
"""Buckets of gradients, and ZeRO over weights that tp divides: the traffic and
the memory that were asked for, and training as on one rank.
"""
import json
import pathlib
import subprocess
import sys
import unittest

import numpy as np

from zctest import Fixture, ZcTest, read_log

STEPS = 4


class ZeroTest(ZcTest):

    def build(self, name, model, *options, optimizer="adamw"):
        fixture = Fixture(model)
        artifact = self.folder / f"{name}.zca"
        self.zc("compile", fixture.model, "-o", artifact, "--loss",
                fixture.reference["loss"], "--optimizer", optimizer, *options)
        return artifact, fixture.data

    def inspect(self, artifact, section):
        return json.loads(self.zc("inspect", artifact, f"--{section}",
                                  "--json"))[section]

    def train(self, artifact, data, ranks):
        log = artifact.with_suffix(".jsonl")
        self.zc("run", artifact, "--data", data, "--steps", STEPS,
                "--no-shuffle", "--log", log,
                *(["--local-ranks", ranks] if ranks > 1 else []))
        return read_log(log)


class Buckets(ZeroTest):

    def test_joined(self):
        """The same bytes in fewer messages, as planned, and the same losses."""
        expected = self.train(*self.build("one", "gpt"), 1)
        counts = []
        for name, options in {"alone": ["--bucket-mib", "0"],
                              "usual": [],
                              "some": ["--bucket-mib", "0.05"],
                              "together": ["--bucket-mib", "64"]}.items():
            with self.subTest(bucket=name):
                artifact, data = self.build(name, "gpt", "--mesh", "dp=2",
                                            *options)
                lines = self.train(artifact, data, 2)
                np.testing.assert_allclose(
                    [line["loss"] for line in lines],
                    [line["loss"] for line in expected], rtol=1e-5)
                comm = self.inspect(artifact, "comm")
                self.assertEqual({line["sent_bytes"] for line in lines},
                                 {comm["sent_bytes"]})
                gradients = comm["by_kind"]["gradients"]
                self.assertEqual(gradients["bytes"], comm["parameter_bytes"])
                counts.append(gradients["count"])
        self.assertEqual(counts, sorted(set(counts), reverse=True))
        self.assertEqual(counts[-1], 1)

    def test_units(self):
        """In stages 1 and 2 a unit's gradient is a bucket."""
        for zero in (1, 2):
            largest = []
            for bucket in (0.02, 64):
                artifact, _ = self.build(f"{zero}-{bucket}", "gpt", "--mesh",
                                         "dp=2", "--zero", zero,
                                         "--bucket-mib", bucket)
                comm = self.inspect(artifact, "comm")["by_kind"]["gradients"]
                largest.append(comm["count"])
            self.assertGreater(largest[0], largest[1], zero)

    def test_constant_room(self):
        """What gradients wait in to be sent does not grow with the model, not
        even with its largest parameter. Units that are widened have whole
        parameters: by the number of layers only."""
        bucket = 64 * 1024
        bf16 = ("--precision", "bf16")
        for options, larger in ((("--zero", 0), ("4", "256")),
                                (("--zero", 1), ("4", "256")),
                                (("--zero", 2), ("4", "256")),
                                (("--zero", 0, *bf16), ("4", "256")),
                                (("--zero", 2, *bf16), ("6", "64"))):
            for size in (("2", "64"), larger):
                found = self.inspect(
                    self.generate(*size, *options, "--bucket-mib",
                                  bucket / 2 ** 20), "memory")
                # What is being made, what is under way, and its results.
                self.assertLessEqual(found["communication"], 4 * bucket,
                                     (options, size))

    def test_constant_units(self):
        """In stage 3 by the number of layers: a unit has whole parameters."""
        found = [self.inspect(self.generate(layers, "64", "--zero", 3, "--unit",
                                            65536, "--precision", precision),
                              "memory")["communication"]
                 for precision in ("fp32", "bf16") for layers in ("2", "6")]
        self.assertEqual(found[0], found[1])
        self.assertEqual(found[2], found[3])

    def generate(self, layers, width, *options):
        """A GPT whose embedding is larger than a bucket."""
        script = (pathlib.Path(__file__).resolve().parents[2] / "tools" /
                  "bench" / "large_gpt.py")
        model = self.folder / f"gpt-{layers}-{width}.onnx"
        if not model.exists():
            subprocess.run([sys.executable, script, model, "--layers", layers,
                            "--width", width, "--heads", "2", "--length", "16",
                            "--batch", "4", "--vocabulary", "512"], check=True,
                           stdout=subprocess.DEVNULL)
        artifact = self.folder / "constant.zca"
        self.zc("compile", model, "-o", artifact, "--init", "normal:0.02",
                "--loss", "softmax-cross-entropy", "--mesh", "dp=2",
                "--cpu-threads", 1, *options)
        return artifact

    def test_cut(self):
        """In pieces, or whole, gradients are the same but for their rounding:
        what is sent whole is widened where it is made."""
        for zero in (0, 2):
            losses, counts = [], []
            for bucket in (4096, 2 ** 26):
                artifact, data = self.build("cut", "gpt", "--mesh", "dp=2",
                                            "--precision", "bf16", "--zero",
                                            zero, "--bucket-mib",
                                            bucket / 2 ** 20)
                lines = self.train(artifact, data, 2)
                comm = self.inspect(artifact, "comm")
                self.assertEqual({line["sent_bytes"] for line in lines},
                                 {comm["sent_bytes"]})
                losses.append([line["loss"] for line in lines])
                counts.append(comm["by_kind"]["gradients"]["count"])
            np.testing.assert_allclose(losses[0], losses[1], rtol=2e-5)
            self.assertGreater(counts[0], counts[1])

    def test_refused(self):
        model = Fixture("gpt").model
        for options, message in (
                (["--mesh", "dp=2", "--zero", "3"], "belongs to --zero 0, 1"),
                ([], "--bucket-mib needs a --mesh")):
            self.fails(2, [message], "compile", model, "--loss",
                       "softmax-cross-entropy", "--bucket-mib", "1", *options,
                       "-o", self.folder / "a.zca")
        for size in ("-1", "nan", "1e9"):
            self.fails(2, ["--bucket-mib"], "compile", model, "--loss",
                       "softmax-cross-entropy", "--bucket-mib", size, "--mesh",
                       "dp=2", "-o", self.folder / "a.zca")


class Shares(ZeroTest):

    CONSTANTS = 32 * 32 * 4 + 64 * 4  # the mask and scalars, divided by none

    def test_memory(self):
        """Of a rank's part of the weights under tp, dp leaves a half."""
        options = ["--clip-norm", "1"]
        whole, _ = self.build("tp", "gpt", *options, "--mesh", "dp=2,tp=2")
        base = self.inspect(whole, "memory")
        alone, _ = self.build("alone", "gpt", *options, "--mesh", "dp=2,tp=2",
                              "--bucket-mib", "0")
        self.assertEqual(self.inspect(alone, "memory")["gradients"],
                         base["gradients"])
        for zero in (1, 2, 3):
            artifact, _ = self.build(str(zero), "gpt", *options, "--mesh",
                                     "dp=2,tp=2", "--zero", zero)
            memory = self.inspect(artifact, "memory")
            for name, divided in (("optimizer", True),
                                  ("gradients", zero >= 2),
                                  ("parameters", zero == 3)):
                expected = base[name] / (2 if divided else 1)
                self.assertLessEqual(memory[name],
                                     1.01 * expected + self.CONSTANTS, (zero, name))

    def test_dims(self):
        """Optimizers of rows and columns divide a dim of each parameter."""
        options = ["--clip-norm", "1", "--mesh"]
        whole, _ = self.build("whole", "gpt", *options, "dp=4",
                              optimizer="adafactor")
        base = self.inspect(whole, "memory")
        for zero in (1, 2, 3):
            artifact, _ = self.build(str(zero), "gpt", *options, "dp=4",
                                     "--zero", zero, optimizer="adafactor")
            memory = self.inspect(artifact, "memory")
            self.assertLessEqual(memory["optimizer"], 0.7 * base["optimizer"])
            parts = 4 if zero == 3 else 1
            self.assertLessEqual(memory["parameters"],
                                 base["parameters"] / parts + self.CONSTANTS)
        model = Fixture("mlp").model
        command = ["compile", model, "--loss", "softmax-cross-entropy", "--dim",
                   "batch=9", "-o", self.folder / "a.zca", "--optimizer",
                   "adafactor", "--mesh", "dp=3", "--zero", "3"]
        said = self.zc(*command)
        self.assertRegex(said, r"note: --zero leaves .*6.bias.* whole: no dim "
                               "divides among 3 ranks")
        self.fails(2, ["--unit .* adafactor .* rows and columns"], *command,
                   "--unit", "layer")

    def test_reports(self):
        artifact, _ = self.build("a", "mlp", "--dim", "batch=8", "--mesh",
                                 "dp=2,tp=2", "--zero", "3")
        entries = {entry["name"]: entry
                   for entry in self.inspect(artifact, "sharding")}
        self.assertEqual(entries["0.weight"]["sharding"], [["tp"], []])
        self.assertIn("--zero", entries["0.weight"]["why"])
        self.assertIn([["tp", "dp"]], [entry["sharding"]
                                       for entry in entries.values()])


if __name__ == "__main__":
    unittest.main()
