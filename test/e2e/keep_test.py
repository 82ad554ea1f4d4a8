#!/usr/bin/env python3
"""What was trained is not lost by a slip: folders of other runs, full disks,
jobs that are queued again, and options that a resumed run takes over."""
import json
import os
import pty
import re
import shutil
import subprocess
import unittest

import numpy as np

from bad_run_test import RunTest
from zctest import (BIN, latest_step, limit_file_size, load_tensors, read_log,
                    run)


class Keep(RunTest):

    def go(self, steps, *options, checkpoint="ckpt"):
        """A run's (stdout, stderr); it must succeed."""
        code, out, err = run(
            "run", self.artifact, "--data", self.fixture.data, "--steps",
            steps, *(["--checkpoint", self.folder / checkpoint]
                     if checkpoint else []), *options)
        self.assertEqual(code, 0, err)
        return out, err

    def steps(self):
        return sorted(int(path.name.split("-")[1])
                      for path in (self.folder / "ckpt").glob("step-*"))


class Folders(Keep):

    def test_no_checkpoint_is_said_twice(self):
        out, err = self.go(2, checkpoint=None)
        self.assertEqual(err.count("no --checkpoint"), 2, err)
        _, err = self.go(2)
        self.assertEqual(err, "")

    def test_another_run_is_refused(self):
        log = self.folder / "log.jsonl"
        self.go(6, "--save-every", 3, "--log", log)
        before = load_tensors(latest_step(self.folder / "ckpt"))
        written = log.read_bytes()
        self.refuse(["ckpt' holds 2 checkpoints of another run, up to step 6",
                     "--resume", "--overwrite"], "--checkpoint",
                    self.folder / "ckpt", "--log", log)
        self.assertEqual(self.steps(), [3, 6])
        self.assertEqual(log.read_bytes(), written)
        after = load_tensors(latest_step(self.folder / "ckpt"))
        for name, value in before.items():
            self.assertEqual(value.tobytes(), after[name].tobytes())

    def test_overwrite_removes_the_other_run_when_it_has_its_own(self):
        self.go(6, "--save-every", 2)
        self.refuse(["step [0-9]+"], "--lr", "1e30", "--overwrite",
                    "--checkpoint", self.folder / "ckpt", steps=50)
        self.assertEqual(self.steps(), [2, 4, 6])
        out, _ = self.go(5, "--overwrite")
        self.assertEqual(self.steps(), [5])
        self.assertIn("removed 3 checkpoints", out)
        self.fails(2, ["--overwrite.*with --resume, a --checkpoint DIR/step-N"], "run",
                   self.artifact, "--data", self.fixture.data, "--steps", 9,
                   "--checkpoint", self.folder / "ckpt", "--resume",
                   "--overwrite")

    def test_an_earlier_checkpoint_leaves_later_ones(self):
        """They are set aside, or removed on request."""
        options = ("--save-every", 2, "--eval-data", self.fixture.data,
                   "--eval-every", 2, "--keep-best", "loss")
        self.go(6, *options)
        before = load_tensors(self.folder / "ckpt" / "step-6")
        earlier = ["--resume", "--checkpoint", self.folder / "ckpt" / "step-2",
                   "--lr", 0.5, "--save-every", 5]
        code, out, err = run("run", self.artifact, "--steps", 5, *earlier)
        self.assertEqual(code, 0, err)
        self.assertRegex(err, "later checkpoints than .*step-2', up to step 6")
        self.assertIn("replaced-step-N' now, 2 in all", out)
        self.assertEqual(self.steps(), [2, 4, 5])  # the best, and the last
        kept = load_tensors(self.folder / "ckpt" / "replaced-step-6")
        for name, value in before.items():
            self.assertEqual(value.tobytes(), kept[name].tobytes())
        best = self.folder / "ckpt" / "best"
        self.assertTrue(not best.is_symlink() or best.exists())
        code, out, err = run("run", self.artifact, "--steps", 4, "--overwrite",
                             *earlier)
        self.assertEqual(code, 0, err)
        self.assertIn("removed 1 checkpoint that this run replaces", out)
        self.assertEqual(self.steps(), [2, 4])

    def test_what_is_later_goes_wherever_the_next_one_falls(self):
        self.go(6, "--save-every", 2)
        self.zc("run", self.artifact, "--steps", 8, "--save-every", 5,
                "--resume", "--overwrite", "--checkpoint",
                self.folder / "ckpt" / "step-2")
        self.assertEqual(self.steps(), [2, 5, 8])

    def test_a_folder_that_is_no_checkpoint_is_not_replaced(self):
        own = self.folder / "ckpt" / "step-2" / "notes.txt"
        own.parent.mkdir(parents=True)
        own.write_text("mine")
        self.refuse(["ckpt' holds 'step-2', which is no checkpoint"],
                    "--checkpoint", self.folder / "ckpt")
        self.assertEqual(own.read_text(), "mine")

    def test_what_is_no_log_is_not_replaced(self):
        model = self.folder / "model.onnx"
        model.write_bytes(self.fixture.model.read_bytes())
        for option, what in (("--log", "log"), ("--trace", "trace")):
            self.refuse([f"cannot write {what} .*model.onnx.*is no {what}"],
                        option, model)
        self.assertEqual(model.read_bytes(), self.fixture.model.read_bytes())
        log, other = self.folder / "log.jsonl", self.folder / "other.json"
        other.write_text('{"name": "mine"}')
        self.go(3, "--log", log, checkpoint=None)
        self.refuse(["other.json.*is no trace"], "--trace", other, "--log", log)
        self.refuse(["other.json.*is no log"], "--log", other)
        self.assertEqual(len(read_log(log)), 3)
        for _ in range(2):
            self.go(2, "--log", log, checkpoint=None)
        self.assertEqual(len(read_log(log)), 2)

    def test_messages_stand_on_lines_of_their_own(self):
        """A terminal's line of progress is drawn over until a message comes."""
        master, slave = pty.openpty()
        process = subprocess.Popen(
            [BIN / "zc", "run", self.artifact, "--data", self.fixture.data, "--steps",
             "400", "--lr", "1e30"], stdout=slave, stderr=slave)
        process.wait(timeout=60)
        os.close(slave)
        said = b""
        while True:
            try:
                part = os.read(master, 65536)
            except OSError:  # all has been read
                break
            if not part:
                break
            said += part
        os.close(master)
        self.assertEqual(process.returncode, 1)
        lines = re.split(r"[\r\n]+", said.decode())
        self.assertTrue([line for line in lines if " left" in line], lines)
        for line in lines:
            self.assertFalse(" left" in line and "zc-run:" in line, line)

    def test_resume_begins_where_nothing_is(self):
        out, err = self.go(3, "--resume")
        self.assertRegex(err, "no checkpoint in .*ckpt' yet; the run begins")
        _, err = self.go(5, "--resume")
        self.assertEqual(err, "")
        self.assertEqual(self.steps(), [3, 5])
        self.refuse(["ckpt/step-4", "no checkpoint"], "--resume",
                    "--checkpoint", self.folder / "ckpt" / "step-4")
        (self.folder / "ckpt" / "step-3" / "train_state.json").unlink()
        (self.folder / "ckpt" / "step-5" / "train_state.json").unlink()
        self.refuse(["no checkpoint"], "--resume", "--checkpoint",
                    self.folder / "ckpt")


class FullDisk(Keep):

    def test_a_full_log_does_not_end_the_run(self):
        device = self.full_device()
        out, err = self.go(5, "--log", device)
        self.assertTrue(device.is_char_device(), "the device was replaced")
        self.assertEqual(self.steps(), [5])
        self.assertEqual(err.count("No space"), 1, err)
        self.assertRegex(err, "--log '.*full' lacks 5 records")
        self.assertIn("trained to step 5", out)

    def test_a_full_folder_of_events_does_not_end_the_run(self):
        code, out, err = run(
            "run", self.artifact, "--data", self.fixture.data, "--steps",
            3000, "--tensorboard", self.folder / "events",
            preexec_fn=limit_file_size(1 << 18))
        self.assertEqual(code, 0, err)
        self.assertEqual(err.count("goes on without"), 1, err)
        self.assertRegex(err, r"--tensorboard '.*events' lacks \d+ records")
        self.assertIn("trained to step 3000", out)

    def test_samples_that_cannot_be_fed_leave_what_was_trained(self):
        data = self.folder / "d.npz"
        labels = np.zeros(96, np.int64)
        labels[70] = 11
        np.savez(data, x=np.zeros((96, 64), np.float32), labels=labels)
        self.refuse(["sample 70", "ckpt/step-2', is kept"], "--no-shuffle",
                    "--checkpoint", self.folder / "ckpt", data=data)
        self.assertEqual(self.steps(), [2])


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
