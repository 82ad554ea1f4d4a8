#!/usr/bin/env python3
"""What a run that goes on takes over from the run so far, and what it warns
of."""
import json
import shutil
import unittest

import numpy as np

from keep_test import Keep
from zctest import latest_step, read_log, run


class Options(Keep):

    COSINE = ("--lr", 0.01, "--lr-schedule", "cosine", "--warmup-steps", 2,
              "--min-lr", "1e-4", "--seed", 5)

    def rates(self, log):
        return [(line["step"], line["lr"], line["loss"])
                for line in read_log(log)]

    def test_a_cosine_run_goes_on_as_such(self):
        logs = [self.folder / name for name in ("whole.jsonl", "parts.jsonl")]
        self.go(12, *self.COSINE, "--log", logs[0], checkpoint="whole")
        out, _ = self.go(12, *self.COSINE, "--log", logs[1], "--max-time",
                         "0.001", "--save-every", 4)
        self.assertRegex(out, "--max-time")
        # The steps left never take more than the time left.
        self.assertRegex(out, r"step 1/12 .* 0\.0 s left")
        self.assertRegex(out.splitlines()[-1], "stopped after step 1 of 12")
        out = self.zc("run", self.artifact, "--checkpoint",
                      self.folder / "ckpt", "--resume")
        self.assertIn("trained to step 12 of 12", out)
        self.assertEqual(self.rates(logs[0]), self.rates(logs[1]))
        self.assertEqual(self.steps(), [1, 4, 8, 12])
        options = json.loads((latest_step(self.folder / "ckpt") /
                              "train_state.json").read_text())["options"]
        self.assertEqual(options["lr-schedule"], "cosine")
        self.assertEqual(options["lr"], 0.01)
        self.assertEqual(options["warmup-steps"], 2)

    def test_what_differs_is_warned_of(self):
        self.go(4, *self.COSINE)
        _, err = self.go(6, "--resume", "--lr", 0.02, "--warmup-steps", 2)
        self.assertRegex(err, "--lr 0.02: the run so far had 0.01")
        self.assertRegex(err, "--steps 6: the run so far had 4")
        self.assertEqual(err.count("warning"), 2, err)

    def test_counts_are_remembered_as_counts(self):
        self.go(100000, "--max-time", 0.01, "--save-every", 10 ** 6)
        options = json.loads((latest_step(self.folder / "ckpt") /
                              "train_state.json").read_text())["options"]
        self.assertEqual(options["steps"], 100000)
        self.zc("run", self.artifact, "--resume", "--checkpoint",
                self.folder / "ckpt", "--max-time", 0.01)

    def test_files_are_the_same_from_any_folder(self):
        for name in ("here", "there"):
            (self.folder / name).mkdir()
        shutil.copy(self.fixture.data, self.folder / "here" / "data.npz")
        np.savez(self.folder / "there" / "data.npz", x=np.zeros((64, 64), "f4"),
                 labels=np.zeros(64, int))
        run("run", self.artifact, "--data", "data.npz", "--steps", 2,
            "--no-shuffle", "--log", "log.jsonl", "--checkpoint",
            self.folder / "ckpt", cwd=self.folder / "here")
        code, _, err = run("run", self.artifact, "--resume", "--checkpoint",
                           self.folder / "ckpt", "--steps", 4,
                           cwd=self.folder / "there")
        self.assertEqual(code, 0, err)
        self.assertNotIn("samples", err)
        self.assertEqual(len(read_log(self.folder / "here" / "log.jsonl")), 4)
        self.assertFalse((self.folder / "there" / "log.jsonl").exists())
        # A pattern, in a folder whose name is one, too.
        odd = self.folder / "run[1]"
        odd.mkdir()
        shutil.copy(self.fixture.data, odd / "part-0.npz")
        for steps, *more in ((2, "--data", "part-*.npz"), (4, "--resume")):
            code, _, err = run("run", self.artifact, "--steps", steps,
                               "--checkpoint", odd / "ckpt", *more,
                               cwd=odd if steps == 2 else self.folder)
            self.assertEqual(code, 0, err)
        # The whole folder somewhere else: what is named is taken from there.
        (self.folder / "here" / "ckpt").mkdir()
        for steps, place in ((2, "here"), (4, "moved")):
            if place == "moved":
                (self.folder / "here").rename(self.folder / "moved")
            code, _, err = run(
                "run", self.artifact, "--steps", steps, "--checkpoint", "ckpt",
                "--resume", "--data", "data.npz", cwd=self.folder / place)
            self.assertEqual(code, 0, err)
            self.assertNotIn("--data", err)

    def test_settings_that_one_of_both_has_are_warned_of(self):
        plain = self.artifact
        other = self.make("adamw", "--clip-norm", 1, "--label-smoothing", 0.5,
                          "--group", "bias:lr=10x", name="other.zca")
        self.go(2)
        self.artifact = other
        _, err = self.go(4, "--resume")
        for name, value in (("clip-norm", "1"), ("label-smoothing", "0.5"),
                            ("group", "bias:lr=10x")):
            self.assertRegex(err, f"compiled with {name} {value}; the run so "
                                  "far was trained without")
        self.artifact = plain
        _, err = self.go(6, "--resume")
        for name in ("clip-norm", "label-smoothing", "group"):
            self.assertRegex(err, f"compiled without {name}; the run so far "
                                  "was trained with")
        # The same numbers, on other ranks, in other orders.
        self.artifact = self.make("adamw", "--mesh", "dp=2", "--zero", 2,
                                  name="two.zca")
        _, err = self.go(8, "--resume", "--local-ranks", 2)
        self.assertEqual(err, "")

    def test_another_optimizer_has_no_use_for_its_numbers(self):
        self.go(2, "--beta1", 0.8)
        self.artifact = self.make("sgd", name="sgd.zca")
        _, err = self.go(4, "--resume")
        self.assertRegex(err, "--beta1 of the run so far is left out")
        _, err = self.go(6, "--resume")
        self.assertNotIn("beta1", err)

    def test_another_optimizer_is_warned_of(self):
        self.go(2)
        self.artifact = self.compile(self.fixture, "adamw", "--beta1", 0.8,
                                     "--weight-decay", 0.1, name="b.zca")
        _, err = self.go(4, "--resume")
        self.assertRegex(err, "beta1 0.8; the run so far .* 0.9")
        self.assertRegex(err, "weight-decay 0.1; the run so far .* 0.01")
        self.assertEqual(err.count("warning"), 2, err)
        self.artifact = self.folder / "c.zca"
        self.zc("compile", self.fixture.model, "-o", self.artifact, "--loss",
                "softmax-cross-entropy", "--dim", "batch=32", "--optimizer",
                "adam")
        _, err = self.go(6, "--resume")
        self.assertRegex(err, "optimizer adam; the run so far .* adamw")
        other = self.make("sgd", "--momentum", 0.9, name="d.zca")
        self.fails(1, ["lacks 'state..*momentum_buffer'; it is of another "
                       "optimizer.*--init-from"], "run", other, "--data",
                   self.fixture.data, "--steps", 8, "--resume",
                   "--checkpoint", self.folder / "ckpt")

    def curve(self, *options, steps=6, artifact=None, name="c"):
        """Losses of a run, exactly."""
        log = self.folder / f"{name}.jsonl"
        self.zc("run", artifact or self.artifact, "--data", self.fixture.data,
                "--steps", steps, "--log", log, *options)
        return [line["loss"] for line in read_log(log)]

    def make(self, optimizer, *options, name):
        artifact = self.folder / name
        self.zc("compile", self.fixture.model, "-o", artifact, "--loss",
                "softmax-cross-entropy", "--dim", "batch=32", "--optimizer",
                optimizer, *options)
        return artifact

    def test_numbers_of_the_update(self):
        """A run's decay, betas and limits are as if they had been compiled."""
        for optimizer, given, others in (
                ("adamw", ["--beta1", 0.8, "--beta2", 0.95, "--weight-decay",
                           0.3, "--clip-norm", 0.25],
                 ["--clip-norm", 9]),
                ("adam", ["--weight-decay", 0.3, "--clip-value", 0.001],
                 ["--weight-decay", 0.1, "--clip-value", 9]),
                ("sgd", ["--momentum", 0.7], ["--momentum", 0.9])):
            compiled, other = (
                self.make(optimizer, *options, name=name)
                for name, options in (("a.zca", given), ("b.zca", others)))
            rate = ("--lr", 0.05)
            wanted = self.curve(*rate, artifact=compiled)
            self.assertNotEqual(wanted, self.curve(*rate, artifact=other))
            self.assertEqual(wanted, self.curve(*rate, *given, artifact=other))
            self.assertEqual(self.curve(*rate, artifact=other),
                             self.curve(*rate, *others, artifact=other))

    def test_numbers_of_the_update_are_remembered(self):
        given = ("--weight-decay", 0.3, "--beta1", 0.8)
        whole = self.curve(*given)
        ckpt = ("--checkpoint", self.folder / "ckpt")
        first = self.curve(*given, *ckpt, steps=3, name="a")
        state = json.loads((latest_step(self.folder / "ckpt") /
                            "train_state.json").read_text())
        self.assertEqual(state["options"]["weight-decay"], 0.3)
        self.assertNotIn("setting.weight-decay", state["scalars"])
        code, _, err = run("run", self.artifact, *ckpt, "--resume", "--steps",
                           6, "--log", self.folder / "b.jsonl")
        self.assertEqual((code, err), (0, ""))
        rest = [line["loss"] for line in read_log(self.folder / "b.jsonl")]
        self.assertEqual(first + rest, whole)
        _, err = self.go(8, "--resume", "--beta1", 0.9, "--beta2", 0.99)
        self.assertRegex(err, "--beta1 0.9: the run so far had 0.8")
        self.assertRegex(err, "--beta2 0.99: the run so far had 0.999")
        self.assertNotIn("--weight-decay", err)

    def test_numbers_that_no_code_has(self):
        sgd = self.make("sgd", name="sgd.zca")
        for patterns, artifact, options in (
                (["--clip-norm", "compiled with --optimizer adamw and no "
                  "--clip-norm"], self.artifact, ["--clip-norm", 1]),
                (["--weight-decay: .*--optimizer sgd --weight-decay 0,"], sgd,
                 ["--weight-decay", 0.1]),
                (["--beta1: .*--optimizer sgd and no --beta1"], sgd,
                 ["--beta1", 0.5])):
            self.fails(1, patterns, "run", artifact, "--data",
                       self.fixture.data, "--steps", 2, *options)
        for options in (["--beta1", 1], ["--beta2", "x"], ["--weight-decay", -1],
                        ["--clip-norm", 0], ["--clip-value", "1e60"]):
            self.fails(2, [options[0], "expected a number"], "run",
                       self.artifact, "--data", self.fixture.data, "--steps",
                       2, *options)

    def test_options_without_effect(self):
        for patterns, options in (
                (["--warmup-steps", "9 is beyond --steps 5"],
                 ["--warmup-steps", 9]),
                (["--min-lr", "constant"], ["--min-lr", 0.1]),
                (["--lr-power", "polynomial"], ["--lr-power", 2]),
                (["--save-every", "--checkpoint"], ["--save-every", 2]),
                (["--eval-every", "--eval-data"], ["--eval-every", 2]),
                (["--keep-best", "--checkpoint"], ["--keep-best", "loss"]),
                (["--metrics", "--eval-data"], ["--metrics", "top5"])):
            self.fails(2, patterns, "run", self.artifact, "--data",
                       self.fixture.data, "--steps", 5, *options)

    def test_a_batch_larger_than_the_data(self):
        data = self.folder / "few.npz"
        np.savez(data, x=np.zeros((5, 64), np.float32),
                 labels=np.zeros(5, np.int64))
        code, _, err = run("run", self.artifact, "--data", data, "--steps", 1)
        self.assertEqual(code, 0, err)
        self.assertRegex(err, "a step takes 32 samples, more than .* has, 5")


if __name__ == "__main__":
    unittest.main()
