#!/usr/bin/env python3
"""zc launch begins again where a rank is lost, and not where one is refused by
what the next start would meet again."""
import os
import signal
import unittest

import numpy as np

from bad_run_test import RunTest
from launch_test import ranks_of
from zctest import latest_step, start


class Refused(RunTest):

    def setUp(self):
        super().setUp()
        self.artifact = self.compile(self.fixture, "adamw", "--mesh", "dp=2",
                                     "--cpu-threads", 1, name="ranks.zca")

    def refused(self, patterns, artifact, *options, data=None, restarts=3):
        """Once, and not again for what the next start would meet, too."""
        err = self.fails(
            1, [*patterns, "no restart: another start would refuse rank"],
            "launch", "-n", 2, "--max-restarts", restarts, artifact, "--data",
            data or self.fixture.data, "--steps", 20, "--checkpoint",
            self.folder / "new", *options)
        self.assertNotIn("restart 1", err)
        self.assertEqual(err.count("error:"), 1)

    def samples(self, **changes):
        path = self.folder / "changed.npz"
        np.savez(path, **{**np.load(self.fixture.data), **changes})
        return path

    def test_refused_before_the_first_step(self):
        artifact = self.artifact
        self.refused(["nowhere.npz", "no such file"], artifact,
                     data=self.folder / "nowhere.npz")
        self.refused(["expected float32"], artifact, data=self.samples(
            x=np.zeros((64, 63), np.float32)))
        self.refused(["trust"], artifact, "--trust", "sha256:" + "0" * 64)
        self.refused(["for 4 ranks"], self.compile(
            self.fixture, "adamw", "--mesh", "dp=4", "--cpu-threads", 1,
            name="four.zca"))
        self.refused(["nowhere"], artifact, "--log",
                     self.folder / "nowhere" / "log.jsonl")
        cut = self.folder / "cut.zca"
        cut.write_bytes(artifact.read_bytes()[:-100])
        self.refused(["cut.zca"], cut)
        self.assertFalse((self.folder / "new").exists())
        self.refused(["nowhere"], artifact, "--init-from",
                     self.folder / "nowhere.safetensors")

    def test_refused_for_its_checkpoints(self):
        artifact = self.artifact
        kept = self.folder / "new"
        self.zc("run", artifact, "--data", self.fixture.data, "--steps", 4,
                "--checkpoint", kept, "--local-ranks", 2)
        self.refused(["--resume or --overwrite|--overwrite"], artifact)
        part = sorted(latest_step(kept).glob("model-*.safetensors"))[0]
        data = bytearray(part.read_bytes())
        data[-1] ^= 1
        part.write_bytes(data)
        self.refused([part.name, "damaged"], artifact, "--resume")

    def test_refused_for_its_data_in_a_step(self):
        """A label that no class has; the steps before it are kept."""
        artifact = self.artifact
        labels = np.load(self.fixture.data)["labels"].copy()
        labels[-1] = 77
        self.refused(["labels.*77"], artifact, "--no-shuffle",
                     data=self.samples(labels=labels))

    def test_a_rank_that_hangs_before_the_first_step(self):
        """It is lost to the others, which did not refuse anything."""
        artifact = self.artifact
        launcher = start("launch", "-n", 2, "--max-restarts", 3, artifact,
                         "--data", self.fixture.data, "--steps", 5,
                         "--checkpoint", self.folder / "ckpt", "--timeout", 5)
        self.addCleanup(launcher.kill)
        while len(ranks_of(launcher)) < 2:
            self.assertIsNone(launcher.poll())
        os.kill(ranks_of(launcher)[1], signal.SIGSTOP)
        _, err = launcher.communicate(timeout=60)
        self.assertEqual(launcher.returncode, 0, err)
        self.assertRegex(err, "rank 0 .*ended with exit code 1; restart 1 of 3")


if __name__ == "__main__":
    unittest.main()
