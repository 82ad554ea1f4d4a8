#!/usr/bin/env python3
"""Numbers of the command line that are beyond range, or none."""
import itertools
import unittest

from zctest import Fixture, ZcTest


class Numbers(ZcTest):

    BEYOND = "99999999999999999999"

    def test_integers_beyond_range(self):
        fixture = Fixture("mlp")
        artifact = self.compile(fixture, "sgd")
        for option in ("--steps", "--epochs", "--save-every", "--keep",
                       "--warmup-steps", "--eval-every"):
            base = [] if option in ("--steps", "--epochs") else ["--steps", 1]
            self.fails(2, [option, self.BEYOND], "run", artifact, "--data",
                       fixture.data, *base, "--checkpoint", self.folder / "c",
                       "--eval-data", fixture.data, option, self.BEYOND)
        for option in ("--freeze-step", "--zero-group", "--accumulate",
                       "--cpu-threads", "--seed"):
            command = ["compile", fixture.model, "-o", self.folder / "b.zca",
                       *fixture.compile_options("sgd")]
            if option == "--seed":
                command = ["eval", fixture.model, "--input", "x=x.npy",
                           "--output-dir", self.folder]
            self.fails(2, [option], *command, option, self.BEYOND)
        for option, wrong in itertools.product(
                ("--class-axis", "--ignore-index"),
                (self.BEYOND, f"-{self.BEYOND}", "", "2.5")):
            self.fails(2, [option, "whole number", f"'{wrong}'"], "compile",
                       fixture.model, "-o", self.folder / "b.zca",
                       *fixture.compile_options("sgd"), option, wrong)
        self.fails(2, ["--dim"], "compile", fixture.model, "-o",
                   self.folder / "b.zca", "--loss", "softmax-cross-entropy",
                   "--dim", f"batch={self.BEYOND}")

    def test_what_is_no_number(self):
        """Comparisons with it are all false."""
        fixture = Fixture("mlp")
        run = ("run", self.compile(fixture, "sgd"), "--data", fixture.data,
               "--steps", 1)
        for options in (["--timeout"], ["--max-time"],
                        ["--lr-schedule", "polynomial", "--lr-power"],
                        ["--lr-schedule", "step", "--lr-step-size", 1,
                         "--lr-factor"]):
            for wrong in ("nan", "-nan", "inf", "1s"):
                self.fails(2, [options[-1], f"'{wrong}'"], *run, *options[:-1],
                           f"{options[-1]}={wrong}")

    def test_more_steps_than_can_be_counted(self):
        fixture = Fixture("mlp")
        artifact = self.compile(fixture, "sgd")
        self.fails(1, ["--epochs 9223372036854775807", "counted"], "run",
                   artifact, "--data", fixture.data, "--epochs", 2**63 - 1)


if __name__ == "__main__":
    unittest.main()
