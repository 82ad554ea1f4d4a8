#!/usr/bin/env python3
"""Ctrl-C, SIGTERM and SIGHUP: what stops, what is saved, what stays behind."""
import os
import signal
import time
import unittest

import numpy as np

from bad_run_test import RunTest
from zctest import Fixture, latest_step, load_tensors, read_log, start


class Interrupted(RunTest):

    def interrupt(self, number, code):
        log, checkpoint = self.folder / "log.jsonl", self.folder / "ckpt"
        process = start("run", self.artifact, "--data", self.fixture.data,
                        "--steps", 10**7, "--log", log, "--checkpoint",
                        checkpoint, "--no-shuffle")
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            if log.exists() and log.read_bytes().count(b"\n") >= 3:
                break
            time.sleep(0.05)
        process.send_signal(number)
        _, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, code, err)
        return log, checkpoint

    def test_ctrl_c_saves_and_the_run_goes_on(self):
        log, checkpoint = self.interrupt(signal.SIGINT, 130)
        done = read_log(log)[-1]["step"]
        self.assertEqual(latest_step(checkpoint).name, f"step-{done}")
        self.train(self.artifact, self.fixture.data, done + 3, "--log", log,
                   "--checkpoint", checkpoint, "--resume", "--no-shuffle")
        steps = [line["step"] for line in read_log(log)]
        self.assertEqual(steps, list(range(1, done + 4)))

    def test_an_evaluation_stops(self):
        """Two million held-out samples, all 0: a file that takes no space."""
        held, checkpoint = self.folder / "held", self.folder / "ckpt"
        held.mkdir()
        for name, shape, kind in (("x", (2 * 10**6, 64), np.float32),
                                  ("labels", (2 * 10**6,), np.int64)):
            np.lib.format.open_memmap(held / f"{name}.npy", "w+", kind, shape)
        log = self.folder / "log.jsonl"
        process = start("run", self.artifact, "--data", self.fixture.data,
                        "--steps", 1, "--log", log, "--checkpoint", checkpoint,
                        "--eval-data", held)
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and not (
                log.exists() and log.read_bytes().endswith(b"}\n")):
            time.sleep(0.02)
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 143, err)
        self.assertNotIn("eval_loss", log.read_text())
        self.assertEqual(latest_step(checkpoint).name, "step-1")

    def test_a_model_in_evaluation_leaves_no_temporary_files(self):
        """Interrupted while compiling, linking or running."""
        fixture, scratch = Fixture("gpt"), self.folder / "scratch"
        scratch.mkdir()
        data = np.load(fixture.data)
        options = []
        for name in data.files:
            if name != "labels":
                np.save(self.folder / f"{name}.npy", data[name])
                options += ["--input", f"{name}={self.folder / name}.npy"]
        codes = []
        for delay in (0.1, 0.2, 0.4, 0.8):
            process = start("eval", fixture.model, *options, "--output-dir",
                            self.folder / "out", start_new_session=True,
                            env={**os.environ, "TMPDIR": str(scratch)})
            time.sleep(delay)
            try:
                os.killpg(process.pid, signal.SIGINT)
            except ProcessLookupError:
                pass
            process.communicate(timeout=60)
            codes.append(process.returncode)
            self.assertEqual(list(scratch.iterdir()), [], f"after {delay} s")
        # Before the handler is there, the signal's own action.
        self.assertLessEqual(set(codes), {0, 130, -signal.SIGINT})

    def test_the_end_of_its_terminal(self):
        log, checkpoint = self.interrupt(signal.SIGHUP, 129)
        done = read_log(log)[-1]["step"]
        self.assertEqual(latest_step(checkpoint).name, f"step-{done}")

    def test_nohup(self):
        """Who has the signal ignored has it ignored."""
        process = start("run", self.artifact, "--data", self.fixture.data,
                        "--steps", 10**7, preexec_fn=lambda: signal.signal(
                            signal.SIGHUP, signal.SIG_IGN))
        self.addCleanup(process.kill)
        time.sleep(1)
        process.send_signal(signal.SIGHUP)
        time.sleep(0.5)
        self.assertIsNone(process.poll())
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)
        self.assertEqual(process.returncode, 143)

    def test_terminated(self):
        log, checkpoint = self.interrupt(signal.SIGTERM, 143)
        self.assertTrue(load_tensors(latest_step(checkpoint)))


if __name__ == "__main__":
    unittest.main()
