#!/usr/bin/env python3
"""No slip loses a trained model: folders of other runs, full disks, and jobs
that are queued again."""
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

    def test_what_was_the_best_is_not_known(self):
        """A damaged record is told of, and the run goes on."""
        options = ("--eval-data", self.fixture.data, "--eval-every", 1,
                   "--keep-best", "loss", "--checkpoint", self.folder / "ckpt")
        self.go(2, *options[:-2])
        record = self.folder / "ckpt" / "best.json"
        whole = record.read_text()
        for text in ("", "[" * 5000, "{}", whole.replace('"step": ', '"stop": ')):
            record.write_text(text)
            code, _, err = run("run", self.artifact, "--data",
                               self.fixture.data, "--steps", 3, "--resume",
                               *options)
            self.assertEqual(code, 0, err)
            self.assertRegex(err, "warning: '.*best.json' is damaged; nobody "
                             "knows which checkpoint was the best so far")
            shutil.rmtree(self.folder / "ckpt" / "step-3")

    def test_a_copy_of_any_name_leaves_later_ones(self):
        self.go(6, "--save-every", 2)
        folder = self.folder / "ckpt"
        shutil.copytree(folder / "step-2", folder / "good")
        code, out, err = run("run", self.artifact, "--steps", 5, "--resume",
                             "--checkpoint", folder / "good")
        self.assertEqual(code, 0, err)
        self.assertRegex(err, "later checkpoints than .*good', up to step 6")
        self.assertIn("replaced-step-N' now, 2 in all", out)
        self.assertEqual(self.steps(), [2, 4, 5])
        self.assertTrue((folder / "good").exists())
        self.assertEqual({path.name for path in folder.glob("replaced-*")},
                         {"replaced-step-4", "replaced-step-6"})

    def test_what_is_later_goes_wherever_the_next_one_falls(self):
        self.go(6, "--save-every", 2)
        self.zc("run", self.artifact, "--steps", 8, "--save-every", 5,
                "--resume", "--overwrite", "--checkpoint",
                self.folder / "ckpt" / "step-2")
        self.assertEqual(self.steps(), [2, 5, 8])

    def test_a_run_does_not_begin_within_a_checkpoint(self):
        self.go(3)
        for options in ([], ["--overwrite"]):
            self.refuse(["step-3' is a checkpoint itself; --resume goes on"],
                        "--checkpoint", self.folder / "ckpt" / "step-3",
                        *options)

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


if __name__ == "__main__":
    unittest.main()
