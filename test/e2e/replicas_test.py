#!/usr/bin/env python3
"""Stages that several ranks of pp have, which take micro-batches in turn: they
train what one rank does with as many micro-batches.
"""
import json
import unittest

import numpy as np

from pipeline_test import PipelineTest
from zctest import FIXTURES, Fixture, latest_step, load_tensors, read_log


class Replicas(PipelineTest):
    """Stages that several ranks of pp have: sums in another order alone."""

    def test_equality(self):
        self.compare("gpt", "sgd-nesterov", 4,
                     [(2, "--mesh", "pp=2", "--stage-replicas", "2"),
                      (3, "--mesh", "pp=3", "--stage-replicas", "2,1",
                       "--schedule", "gpipe"),
                      (8, "--mesh", "pp=4,tp=2", "--stage-replicas", "1,3",
                       "--recompute", "full"),
                      (4, "--mesh", "pp=4", "--stage-replicas", "auto"),
                      (2, "--mesh", "pp=2", "--stage-replicas", "off")],
                     "--clip-norm", "1")

    def test_divided_states(self):
        self.compare("gpt", "sgd-nesterov", 2,
                     [(6, "--mesh", "pp=3,dp=2", "--zero", stage,
                       "--stage-replicas", "1,2") for stage in "13"],
                     "--clip-norm", "1")

    def test_more_micro_batches_than_turns(self):
        """Five stages' worth of skips, and turns that do not divide."""
        self.compare("translator", "sgd", 4,
                     [(5, "--mesh", "pp=5", "--stage-replicas", "3,2"),
                      (4, "--mesh", "pp=4", "--stage-replicas", "1,2,1")])

    def test_running_statistics(self):
        """Batch norm's stages have one rank each when they are dealt."""
        self.compare("cnn", "sgd", 4,
                     [(3, "--mesh", "pp=3", "--stage-replicas", "auto")])
        self.compare("cnn", "sgd", 4,
                     [(3, "--mesh", "pp=3", "--stage-replicas", "2,1")],
                     "--batchnorm", "frozen")

    def test_draws(self):
        """Dropout's random numbers depend on the micro-batch, not on who has
        it."""
        losses = []
        for ranks, options in ((1, []),
                               (2, ["--mesh", "pp=2", "--stage-replicas", "2"])):
            artifact = self.folder / "a.zca"
            log = self.folder / "log.jsonl"
            folder = FIXTURES / "options"
            self.zc("compile", folder / "dropped.onnx", "-o", artifact,
                    "--loss", "softmax-cross-entropy", "--accumulate", 4,
                    *options)
            self.zc("run", artifact, "--data", folder / "dropped.npz",
                    "--steps", 6, "--no-shuffle", "--log", log, "--seed", 5,
                    *(["--local-ranks", ranks] if ranks > 1 else []))
            losses.append([line["loss"] for line in read_log(log)])
        np.testing.assert_allclose(*losses, rtol=1e-6)

    def test_evaluation_resume_and_inspect(self):
        fixture = Fixture("mlp")
        options = [*fixture.compile_options("adamw"), "--accumulate", 4]
        lines, weights = self.train(fixture, "one", options, (), 1,
                                    "--eval-data", fixture.data,
                                    "--eval-every", "5")
        mesh = ["--mesh", "pp=3", "--stage-replicas", "2,1"]
        found, _ = self.train(fixture, "three", options, mesh, 3,
                              "--eval-data", fixture.data, "--eval-every", "5",
                              "--metrics", "accuracy")
        for a, b in zip(lines, found):
            for key in a.keys() & {"loss", "eval_loss"}:
                np.testing.assert_allclose(b[key], a[key], rtol=1e-5)
        # Half the way each, there and back.
        folder = self.folder / "mixed"
        common = ["--data", fixture.data, "--lr", "1e-3", "--no-shuffle",
                  "--checkpoint", folder]
        self.zc("run", self.folder / "three.zca", *common, "--steps", 4,
                "--local-ranks", 3)
        self.zc("run", self.folder / "one.zca", *common, "--steps", 7,
                "--resume")
        self.zc("run", self.folder / "three.zca", *common, "--steps", 10,
                "--resume", "--local-ranks", 3)
        theirs = load_tensors(latest_step(folder))
        for name, each in weights.items():
            np.testing.assert_allclose(theirs[name], each, rtol=1e-3,
                                       atol=1e-5)
        out = self.zc("inspect", self.folder / "three.zca", "--schedule",
                      "--comm", "--json")
        plan = json.loads(out)
        self.assertEqual([(each["role"], each["replicas"])
                          for each in plan["schedule"]["stages"]],
                         [(0, 2), (2, 1)])
        self.assertEqual(plan["schedule"]["in_flight"], [2, 2, 1])
        self.assertEqual({line["sent_bytes"] for line in found},
                         {plan["comm"]["sent_bytes"]})

    def test_refusals(self):
        fixture = Fixture("cnn")
        artifact = self.folder / "a.zca"

        def refuse(code, pattern, *options):
            self.fails(code, [pattern], "compile", fixture.model, "-o",
                       artifact, *fixture.compile_options("sgd"),
                       "--accumulate", 4, *options)
            self.assertFalse(artifact.exists())

        refuse(2, "4 replicas in all for 3 roles", "--mesh", "pp=3",
               "--stage-replicas", "2,2")
        refuse(2, "5 replicas, which take turns with 4 micro-batches",
               "--mesh", "pp=5", "--stage-replicas", "5")
        refuse(2, "needs a --mesh with pp", "--stage-replicas", "2")
        refuse(2, "goes with --schedule 1f1b, gpipe or naive, not with 2bw",
               "--mesh", "pp=2", "--stage-replicas", "2", "--schedule", "2bw")
        refuse(2, "expected auto, off, or for each stage", "--mesh", "pp=2",
               "--stage-replicas", "2,x")
        stages = self.folder / "stages"
        stages.write_text("conv: 0\nfc: 1\n")
        refuse(2, "say how many ranks each has", "--mesh", "pp=3", "--stages",
               stages, "--stage-replicas", "auto")
        # Each replica would see other micro-batches.
        refuse(1, "running statistic of several stages", "--mesh", "pp=2",
               "--stage-replicas", "2")


if __name__ == "__main__":
    unittest.main()
