#!/usr/bin/env python3
"""Samples that arrive on standard input: records of .npy arrays."""
import fcntl
import io
import signal
import struct
import subprocess
import termios
import time
import unittest

import numpy as np

from zctest import BIN, TIMEOUT, Fixture, ZcTest, latest_step, read_log


def records(arrays, names, sizes):
    """Bytes of consecutive samples in records of these sizes."""
    stream, begin = io.BytesIO(), 0
    for size in sizes:
        for name in names:
            np.save(stream, arrays[name][begin:begin + size])
        begin += size
    return stream.getvalue()


class Stream(ZcTest):

    def setUp(self):
        super().setUp()
        self.fixture = Fixture("mlp")
        self.arrays = dict(np.load(self.fixture.data))
        self.artifact = self.compile(self.fixture, "sgd")
        self.batch = self.fixture.reference["batch"]

    def bytes(self, *sizes):
        return records(self.arrays, ("x", "labels"), sizes)

    def run_(self, sent, *options, artifact=None, code=0):
        done = subprocess.run(
            [str(BIN / "zc"), "run", *map(str, (
                artifact or self.artifact, "--data", "-", "--lr", 0.1,
                *options))],
            input=sent, capture_output=True, timeout=TIMEOUT)
        out, err = done.stdout.decode(), done.stderr.decode()
        self.assertEqual(done.returncode, code, out + err)
        return out, err

    def losses(self, log):
        return [line["loss"] for line in read_log(log)]

    def of_file(self, artifact, steps, *options):
        log = self.folder / "file.jsonl"
        self.train(artifact, self.fixture.data, steps, "--no-shuffle", "--log",
                   log, *options, lr=0.1)
        return self.losses(log)

    def of_stream(self, artifact, sent, steps, *options):
        log = self.folder / "stream.jsonl"
        self.run_(sent, "--steps", steps, "--log", log, *options,
                  artifact=artifact)
        return self.losses(log)


class Equal(Stream):

    def test_records_of_any_size(self):
        batch, steps = self.batch, 2
        expected = self.of_file(self.artifact, steps)
        for sizes in ([batch] * steps, [steps * batch], [1] * steps * batch,
                      [batch - 1, batch + 1]):
            self.assertEqual(self.of_stream(self.artifact, self.bytes(*sizes),
                                            steps), expected, sizes)

    def test_ranks_and_roles(self):
        for mesh, ranks, more in (("dp=2", 2, []),
                                  ("pp=2", 2, ["--accumulate", 2]),
                                  ("dp=2,pp=2", 4, ["--accumulate", 2])):
            artifact = self.compile(self.fixture, "sgd", "--mesh", mesh, *more)
            local = ("--local-ranks", ranks)
            self.assertEqual(
                self.of_stream(artifact, self.bytes(2 * self.batch), 2, *local),
                self.of_file(artifact, 2, *local), mesh)

    def test_notes_and_evaluation_are_as_of_files(self):
        self.arrays["x"] = self.arrays["x"].astype(np.float64)
        out, err = self.run_(self.bytes(self.batch), "--steps", 1,
                             "--eval-data", self.fixture.data)
        self.assertRegex(err, "note: 'standard input': 'x' is float64")
        self.assertIn("eval loss", out)
        self.assertNotIn("epoch", out)


class End(Stream):

    def test_what_arrived_is_trained_and_kept(self):
        folder = self.folder / "ckpt"
        sent = self.bytes(2 * self.batch, 3)
        out, _ = self.run_(sent, "--steps", 9, "--checkpoint", folder)
        self.assertIn("standard input has ended; 3 samples that fill no step",
                      out)
        self.assertIn("stopped after step 2 of 9", out)
        self.assertEqual(latest_step(folder).name, "step-2")
        out, err = self.run_(self.bytes(self.batch), "--steps", 3,
                             "--checkpoint", folder, "--resume")
        self.assertIn("behind those of the run so far", err)
        self.assertIn("trained to step 3 of 3", out)

    def test_ctrl_c_while_nothing_arrives(self):
        folder = self.folder / "ckpt"
        process = subprocess.Popen(
            [str(BIN / "zc"), "run", str(self.artifact), "--data", "-",
             "--steps", "9", "--checkpoint", str(folder)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE)
        self.addCleanup(process.kill)
        process.stdin.write(self.bytes(self.batch, 5))
        process.stdin.flush()
        # A step is told of before the next samples are waited for.
        self.assertIn(b"step 1/9", process.stdout.readline())
        process.send_signal(signal.SIGINT)
        process.wait(timeout=60)
        self.assertEqual(process.returncode, 130)
        self.assertEqual(latest_step(folder).name, "step-1")
        for pipe in (process.stdin, process.stdout, process.stderr):
            pipe.close()


    def start_and_send(self, command, sent):
        """Once all that was sent has been read, and more is waited for."""
        process = subprocess.Popen(
            [str(BIN / "zc"), *map(str, command)], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=False)
        self.addCleanup(process.kill)
        for pipe in (process.stdin, process.stdout, process.stderr):
            self.addCleanup(pipe.close)
        process.stdin.write(sent)
        process.stdin.flush()
        end = time.monotonic() + 60
        while struct.unpack("i", fcntl.ioctl(process.stdin, termios.FIONREAD,
                                             bytes(4)))[0]:
            self.assertLess(time.monotonic(), end)
            time.sleep(0.01)
        return process

    def test_terminated_before_the_first_batch(self):
        """Nothing is wrong with a run that is asked to stop then."""
        ranks = self.compile(self.fixture, "sgd", "--mesh", "dp=2",
                             name="ranks.zca")
        folder = self.folder / "ckpt"
        self.run_(self.bytes(self.batch), "--steps", 1, "--checkpoint", folder)
        for artifact, begin, *more in (
                (self.artifact, ["run"]), (ranks, ["run"], "--local-ranks", 2),
                (ranks, ["launch", "-n", 2])):
            with self.subTest(begin=begin, more=more):
                process = self.start_and_send(
                    [*begin, artifact, "--data", "-", "--steps", 9,
                     "--checkpoint", folder, "--resume", *more], self.bytes(3))
                process.send_signal(signal.SIGTERM)
                process.wait(timeout=60)
                error = process.stderr.read().decode()
                self.assertEqual(process.returncode, 143, error)
                self.assertNotIn("error", error)
                self.assertIn("stopped before the first step",
                              process.stdout.read().decode().splitlines()[-1])
                self.assertEqual(latest_step(folder).name, "step-1")


class Wrong(Stream):

    def refuse(self, sent, *patterns, code=1, options=("--steps", 9)):
        _, err = self.run_(sent, *options, code=code)
        for pattern in patterns:
            self.assertRegex(err, pattern)
        self.assertLess(len(err), 1500)

    def test_less_than_a_batch(self):
        self.refuse(b"", "ended after 0 samples; a step takes")
        self.refuse(self.bytes(3), "ended after 3 samples; a step takes")

    def test_what_is_no_record(self):
        sound = self.bytes(self.batch)
        self.refuse(b"no array, by any means", "array 'x' of record 1",
                    "not a sound .npy file")
        self.refuse(sound[:-5], "ends in the midst of array 'labels' of record "
                                "1")
        self.refuse(sound + b"\x93NUMPY", "midst of array 'x' of record 2")
        self.refuse(sound + b"\x93NUMPY\x01\x00\x00\x00ab",
                    "array 'x' of record 2")

    def test_arrays_that_do_not_fit(self):
        whole = dict(self.arrays)
        sound = self.bytes(self.batch)
        self.arrays["x"] = whole["x"].astype(np.float64)
        self.refuse(sound + self.bytes(self.batch), "record 2: 'x' is float64",
                    "in the records before it is float32")
        self.arrays["x"] = whole["x"][:, :5]
        self.refuse(sound + self.bytes(self.batch), r"record 2: 'x' is .*, 5\]")
        self.refuse(self.bytes(self.batch), "'x' is .*expected")
        self.arrays = dict(whole, labels=whole["labels"][:7])
        self.refuse(self.bytes(self.batch), "'labels' has 7 samples, 'x' has")
        self.arrays = dict(whole, x=np.asfortranarray(whole["x"]))
        self.refuse(records(self.arrays, ("x", "labels"), [len(whole["x"])]),
                    "'x' is in Fortran's order", "np.ascontiguousarray")
        self.arrays = dict(whole, labels=whole["labels"] + 1000)
        self.refuse(self.bytes(self.batch), "standard input", "out of range|0 to")

    def test_ranks_keep_what_they_have_trained(self):
        """Whether the record cannot be read or cannot be fed."""
        artifact = self.folder / "two.zca"
        fixture = Fixture("mlp")
        self.zc("compile", fixture.model, "-o", artifact,
                *fixture.compile_options("adamw"), "--mesh", "dp=2")
        whole = dict(self.arrays)
        sound = self.bytes(2 * self.batch)
        self.arrays["labels"] = whole["labels"] + 1000
        for i, (bad, text) in enumerate(((b"no array", "array 'x' of record 2"),
                                         (self.bytes(self.batch), "0 to"))):
            folder = self.folder / f"kept{i}"
            _, err = self.run_(sound + bad, "--steps", 9, "--local-ranks", 2,
                               "--checkpoint", folder, code=1,
                               artifact=artifact)
            self.assertIn(text, err)
            self.assertEqual(latest_step(folder).name, "step-2")

    def test_options(self):
        sent = self.bytes(self.batch)
        self.refuse(sent, "--epochs.*does not go with --data -", code=2,
                    options=("--epochs", 1))
        self.refuse(sent, "'-', standard input, is read once", options=(
            "--steps", 1, "--eval-data", "-"))
        self.fails(1, ["'-', standard input"], "eval", self.artifact, "--data",
                   "-")

    def test_without_flush(self):
        artifact = self.compile(self.fixture, "sgd", "--mesh", "pp=2",
                                "--schedule", "2bw", "--accumulate", 2)
        _, err = self.run_(self.bytes(self.batch), "--steps", 2,
                           "--local-ranks", 2, artifact=artifact, code=1)
        self.assertRegex(err, "without flush")


if __name__ == "__main__":
    unittest.main()
