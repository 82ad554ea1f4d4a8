#!/usr/bin/env python3
"""The programs keep their promises about themselves: which libraries they link,
what they log, and that the printed plan is the memory that is used."""
import json
import re
import subprocess
import unittest

from zctest import BIN, Fixture, ZcTest, read_log

BARE = re.compile(r"linux-vdso|ld-linux|lib(c|m|dl|rt|pthread|stdc\+\+|gcc_s)"
                  r"\.so")
STEP_FIELDS = {"step", "loss", "lr", "grad_norm", "step_ms", "samples_per_s",
               "peak_bytes", "sent_bytes"}
MEMORY_CLASSES = {"parameters", "gradients", "optimizer", "activations",
                  "communication", "workspace", "peak"}


class Program(ZcTest):

    def test_zc_run_needs_nothing_but_the_system(self):
        listed = subprocess.run(["ldd", BIN / "zc-run"], text=True, check=True,
                                capture_output=True).stdout
        libraries = [line.split()[0] for line in listed.splitlines()]
        extra = [name for name in libraries
                 if not BARE.search(name.rpartition("/")[2])]
        self.assertEqual(extra, [], "zc-run links more than glibc and "
                                    "libstdc++")

    def test_log_line(self):
        fixture = Fixture("cnn")
        artifact, log = self.compile(fixture), self.folder / "log.jsonl"
        self.train(artifact, fixture.data, 3, "--log", log)
        lines = read_log(log)
        self.assertEqual(len(lines), 3)
        for number, line in enumerate(lines, 1):
            self.assertLessEqual(STEP_FIELDS - {"grad_norm"}, line.keys())
            self.assertEqual(line["step"], number)
            self.assertEqual(line["sent_bytes"], 0, "there is one rank")
            self.assertGreater(line["step_ms"], 0)

    def test_planned_memory_is_used_memory(self):
        fixture = Fixture("gpt")
        artifact, log = self.compile(fixture), self.folder / "log.jsonl"
        planned = json.loads(self.zc("inspect", artifact, "--memory",
                                     "--json"))["memory"]
        self.assertLessEqual(MEMORY_CLASSES, planned.keys())
        self.train(artifact, fixture.data, 2, "--log", log)
        for line in read_log(log):
            self.assertEqual(line["peak_bytes"], planned["peak"])
        weights = sum(array.nbytes for name, array in
                      fixture.weights("adamw").items() if name != "wte.weight")
        self.assertGreaterEqual(planned["parameters"], weights)
        self.assertLess(planned["parameters"], 1.1 * weights + 4096)
        self.assertGreaterEqual(planned["optimizer"], 2 * weights)

    def test_artifact_is_reproducible(self):
        fixture = Fixture("cnn")
        one = self.compile(fixture, name="one.zca").read_bytes()
        self.assertEqual(one, self.compile(fixture,
                                           name="two.zca").read_bytes())

    def test_evaluation_lines(self):
        fixture = Fixture("mlp")
        artifact, log = self.compile(fixture), self.folder / "log.jsonl"
        self.train(artifact, fixture.data, 4, "--log", log, "--eval-data",
                   fixture.data, "--eval-every", 2)
        lines = [json.loads(line) for line in log.read_text().splitlines()]
        scores = [line for line in lines if "eval_loss" in line]
        self.assertEqual([line["step"] for line in scores], [2, 4])
        for line in scores:
            self.assertTrue(0 <= line["eval_accuracy"] <= 1)


if __name__ == "__main__":
    unittest.main()
