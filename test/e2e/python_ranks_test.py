#!/usr/bin/env python3
"""Several ranks of the Python module: processes that a launcher's variables
name, and an application's own messages; the numbers of zc run."""
import json
import os
import pathlib
import socket
import subprocess
import sys
import unittest

import numpy as np

from python_module import ROOT, PythonTest, repeat, zc
from zctest import TIMEOUT, Fixture, free_port, read_log

SCRIPT = pathlib.Path(__file__).with_name("ranks_script.py")
STEPS = 3


class Ranks(PythonTest):

    def setUp(self):
        super().setUp()
        self.arrays = repeat(Fixture("mlp"), STEPS)
        self.data = self.folder / "steps.npz"
        np.savez(self.data, **self.arrays)

    def start(self, rank, place, *command, **options):
        return subprocess.Popen(
            [sys.executable, SCRIPT, *map(str, command)], text=True,
            cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(ROOT / "tools" / "python"),
                 "RANK": str(rank), **place}, **options)

    def run_ranks(self, artifact, deed, own_messages=False, codes=(0, 0)):
        """Both ranks of a deed; what each has told."""
        ends = socket.socketpair()
        place = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1",
                 "MASTER_PORT": str(free_port())}
        started = [
            self.start(rank, {}, artifact, self.data, deed, end.fileno(),
                       pass_fds=[end.fileno()]) if own_messages else
            self.start(rank, place, artifact, self.data, deed)
            for rank, end in enumerate(ends)]
        for end in ends:
            end.close()
        told = [(*each.communicate(timeout=TIMEOUT), each.returncode)
                for each in started]
        self.assertEqual([code for _, _, code in told], list(codes), told)
        return [json.loads(out) if out else None for out, _, _ in told]

    def run_by_zc(self, artifact):
        log = self.folder / "log.jsonl"
        self.train(artifact, self.data, STEPS, "--no-shuffle", "--log", log,
                   "--local-ranks", 2, "--checkpoint", self.folder / "zc-run")
        return [np.float32(line["loss"]) for line in read_log(log)]

    def check_training(self, mesh, own_messages, **options):
        artifact = self.compiled(mesh=mesh, optimizer="adamw", **options)
        expected = self.run_by_zc(artifact)
        told = self.run_ranks(artifact, "train", own_messages)
        scores = json.loads(self.zc(
            "eval", artifact, "--data", self.data, "--json", "--checkpoint",
            self.folder / "zc-run", "--local-ranks", 2))
        for rank, each in enumerate(told):
            self.assertEqual((each["rank"], each["ranks"]), (rank, 2))
            self.assertEqual(each["inputs"][0][0], len(self.arrays["x"]) // STEPS)
            self.assertEqual(list(map(np.float32, each["losses"])), expected)
            self.assertEqual(np.float32(each["eval_loss"]),
                             np.float32(scores["loss"]))
        self.check_outputs(artifact)
        self.zc("export", artifact, "--checkpoint", self.folder / "kept", "-o",
                self.folder / "kept.onnx")
        self.zc("export", artifact, "--checkpoint", self.folder / "zc-run",
                "-o", self.folder / "zc-run.onnx")
        self.assertEqual((self.folder / "kept.onnx").read_bytes(),
                         (self.folder / "zc-run.onnx").read_bytes())

    def check_outputs(self, artifact):
        """All ranks have all states and outputs, whole."""
        first, second = (dict(np.load(self.folder / f"rank-{rank}.npz"))
                         for rank in range(2))
        self.assertEqual(first.keys(), second.keys())
        for name, value in first.items():
            np.testing.assert_array_equal(value, second[name], name)
        np.save(self.folder / "x.npy", self.arrays["x"])
        self.zc("eval", artifact, "--input", f"x={self.folder / 'x.npy'}",
                "--checkpoint", self.folder / "zc-run", "--output-dir",
                self.folder / "out", "--local-ranks", 2)
        files = list((self.folder / "out").glob("*.npy"))
        for file in files:
            np.testing.assert_array_equal(np.load(file), first[file.stem])
        self.assertTrue(files)

    def test_data_parallel_by_launcher(self):
        self.check_training({"dp": 2}, own_messages=False, zero=1)

    def test_data_parallel_by_own_messages(self):
        self.check_training({"dp": 2}, own_messages=True)

    def test_stages_by_own_messages(self):
        self.check_training({"pp": 2}, own_messages=True, accumulate=2)

    def test_samples_of_ones_own(self):
        artifact = self.compiled(mesh={"dp": 2}, optimizer="adamw", accumulate=2)
        expected = self.run_by_zc(artifact)
        for each in self.run_ranks(artifact, "own"):
            self.assertEqual(list(map(np.float32, each["losses"])), expected)

    def test_all_hear_of_a_failure(self):
        """One rank says why, and no session goes on."""
        artifact = self.compiled(mesh={"dp": 2})
        for deed, status, why in (
                ("rates", "ZC_INVALID_ARGUMENT", "a learning rate.* that differ"),
                ("missing", "ZC_INVALID_ARGUMENT",
                 "rank 1: the input 'labels' was not set")):
            told = [each["errors"] for each in
                    self.run_ranks(artifact, deed, own_messages=True)]
            statuses = sorted(errors[0][0] for errors in told)
            self.assertEqual(statuses, ["ZC_CANCELLED", status])
            texts = [errors[0][1] for errors in told if errors[0][0] == status]
            self.assertRegex(texts[0], why)
            for errors in told:
                self.assertEqual(errors[1][0], "ZC_CANCELLED")
                self.assertIn("has ended before", errors[1][1])

    def test_a_rank_that_dies(self):
        artifact = self.compiled(mesh={"dp": 2})
        for own_messages in (False, True):
            told = self.run_ranks(artifact, "leave", own_messages, codes=(0, 7))
            self.assertEqual(len(told[0]["errors"]), 2)
            self.assertRegex(told[0]["errors"][0][1], "rank 1|rank 0: ")

    def test_refusals(self):
        artifact = self.compiled(mesh={"dp": 2})
        with self.assertRaisesRegex(zc.InvalidArgumentError, "2 ranks"):
            zc.Session(artifact)
        with self.assertRaisesRegex(zc.InvalidArgumentError, "launcher"):
            zc.Session(artifact, ranks="mpi")
        with self.assertRaisesRegex(zc.InvalidArgumentError, "timeout"):
            zc.Session(artifact, timeout=-1)


if __name__ == "__main__":
    unittest.main()
