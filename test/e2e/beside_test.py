#!/usr/bin/env python3
"""Checkpoints are written beside the steps: these do not wait for a slow disk,
and the checkpoints are those of a run that waits. A hook that is preloaded
makes the disk slow."""
import json
import os
import unittest

import numpy as np

from zctest import (Fixture, ZcTest, latest_step, limit_file_size, load_tensors,
                    run)

SYNC = 0.1  # seconds that every fsync takes
LEAST = 4 * SYNC  # a checkpoint syncs more files than that


class Beside(ZcTest):

    def setUp(self):
        super().setUp()
        self.fixture = Fixture("mlp")
        self.ckpt = self.folder / "ckpt"

    def run_slowly(self, artifact, steps, *options):
        """Milliseconds that each checkpoint kept the steps waiting."""
        trace = self.folder / "trace.json"
        environment = dict(os.environ, LD_PRELOAD=os.environ["ZC_SLOW_SYNC"],
                           ZC_SYNC_SECONDS=str(SYNC))
        self.zc("run", artifact, "--data", self.fixture.data, "--steps", steps,
                "--checkpoint", self.ckpt, "--overwrite", "--trace", trace,
                *options, env=environment)
        events = json.loads(trace.read_text())
        if isinstance(events, dict):
            events = events["traceEvents"]
        return {event["name"].split()[-1]: event["dur"] / 1e6
                for event in events
                if event.get("name", "").startswith("save step")}

    def test_steps_do_not_wait(self):
        for mesh, ranks in (((), ()), (("--mesh", "dp=2", "--zero", 1,
                                        "--cpu-threads", 1),
                                       ("--local-ranks", 2))):
            with self.subTest(ranks=ranks):
                artifact = self.compile(self.fixture, "adamw", *mesh)
                waits = self.run_slowly(artifact, 8, "--save-every", 4, *ranks)
                self.assertLess(waits["4"], LEAST / 2)
                self.assertGreater(waits["8"], LEAST)  # behind it is nothing
                waits = self.run_slowly(artifact, 8, "--save-every", 4,
                                        "--save-beside", "off", *ranks)
                self.assertGreater(waits["4"], LEAST)

    def test_one_at_a_time(self):
        """A second one waits for the first; none is lost."""
        artifact = self.compile(self.fixture)
        waits = self.run_slowly(artifact, 6, "--save-every", 2)
        self.assertLess(waits["2"], LEAST / 2)
        self.assertGreater(waits["4"], LEAST / 2)
        self.assertEqual(sorted(path.name for path in self.ckpt.iterdir()
                                if path.name.startswith("step")),
                         ["step-2", "step-4", "step-6"])

    def test_same_as_waiting(self):
        """Whatever the ranks, to the bit; of one that is pruned, too."""
        for options in ((), ("--mesh", "dp=2", "--zero", 3), ("--mesh", "pp=2"),
                        ("--mesh", "tp=2")):
            with self.subTest(options=options):
                artifact = self.compile(self.fixture, "adamw", *options,
                                        "--cpu-threads", 1)
                ranks = ("--local-ranks", 2) if options else ()
                found = {}
                for beside in ("auto", "off"):
                    folder = self.folder / beside
                    self.train(artifact, self.fixture.data, 7, "--checkpoint",
                               folder, "--overwrite", "--save-every", 2,
                               "--keep", 2, "--save-beside", beside, *ranks)
                    self.assertEqual(latest_step(folder).name, "step-7")
                    self.assertEqual(
                        {path.name for path in folder.glob("step-*")},
                        {"step-6", "step-7"})
                    found[beside] = {
                        path.relative_to(folder): path.read_bytes()
                        for path in sorted(folder.glob("step-*/*"))}
                self.assertEqual(*found.values())

    def test_failure_is_told(self):
        """The run that goes on meanwhile tells when the writing thread fails;
        the checkpoint before is kept."""
        fixture = Fixture("gpt")
        for options in ((), ("--mesh", "dp=2", "--cpu-threads", 1)):
            with self.subTest(options=options):
                artifact = self.compile(fixture, "adamw", *options)
                ranks = ("--local-ranks", 2) if options else ()
                ckpt = self.folder / f"ckpt{len(ranks)}"
                self.train(artifact, fixture.data, 2, "--checkpoint", ckpt,
                           *ranks)
                size = max(path.stat().st_size
                           for path in latest_step(ckpt).iterdir())
                self.fails(1, ["after step 4 .*step-2' is kept",
                               "safetensors.*file too large"],
                           "run", artifact, "--resume", "--checkpoint", ckpt,
                           "--steps", 4000, "--save-every", 4, *ranks,
                           preexec_fn=limit_file_size(size - 1))
                self.assertEqual([path.name for path in ckpt.iterdir()
                                  if not path.name.startswith(".")],
                                 ["step-2"])

    def test_failure_of_a_copy_in_memory(self):
        """Its folder is the launcher's, which users do not know."""
        fixture, copies = Fixture("gpt"), self.folder / "copies"
        artifact = self.compile(fixture, "adamw")
        options = ("--replica-dir", copies, "--replicate")
        self.train(artifact, fixture.data, 3, *options, 2)
        size = max(path.stat().st_size
                   for path in latest_step(copies).iterdir())
        err = self.fails(
            1, ["after step 4 .the copy in memory before it is kept",
                "safetensors.*file too large"], "run", artifact, "--resume",
            "--data", fixture.data, "--steps", 4000, *options, 4,
            preexec_fn=limit_file_size(size - 1))
        self.assertNotRegex(err, "is kept.*copies/step")

    def test_a_step_that_fails_meanwhile(self):
        """The checkpoint that was being written is complete, and named."""
        artifact = self.compile(self.fixture)
        arrays = dict(np.load(self.fixture.data))
        name = next(name for name in arrays if name != "labels")
        arrays[name][5 * self.fixture.reference["batch"]] = np.nan
        data = self.folder / "bad.npz"
        np.savez(data, **arrays)
        environment = dict(os.environ, LD_PRELOAD=os.environ["ZC_SLOW_SYNC"],
                           ZC_SYNC_SECONDS=str(SYNC))
        self.fails(1, ["step 6: .*step-4', is kept"], "run", artifact,
                   "--data", data, "--steps", 8, "--no-shuffle",
                   "--checkpoint", self.ckpt, "--save-every", 4,
                   env=environment)
        self.assertTrue(load_tensors(self.ckpt / "step-4", "optimizer"))

    def test_said(self):
        artifact = self.compile(self.fixture)
        command = ("run", artifact, "--data", self.fixture.data, "--steps", 4)
        _, _, err = run(*command, "--checkpoint", self.ckpt, "--save-every", 2)
        self.assertRegex(err, "note: .*beside the steps.* MiB more")
        _, _, err = run(*command, "--checkpoint", self.ckpt, "--save-every", 2,
                          "--save-beside", "off", "--overwrite")
        self.assertNotIn("beside the steps", err)
        for options in ((), ("--checkpoint", self.ckpt, "--overwrite")):
            self.fails(2, ["--save-beside.*needs --(checkpoint|save-every)"],
                       *command, "--save-beside", "off", *options)


if __name__ == "__main__":
    unittest.main()
