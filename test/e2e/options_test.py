#!/usr/bin/env python3
"""Every loss, optimizer and training option against PyTorch's double precision
run: the losses and gradient norms of tiny models (tools/reference/options.py).
"""
import json
import unittest

import numpy as np

from zctest import FIXTURES, ZcTest, latest_step, load_tensors, read_log

FOLDER = FIXTURES / "options"
REFERENCE = json.loads((FOLDER / "reference.json").read_text())
FLOOR = 2e-6
MULTIPLE = 5


class Options(ZcTest):

    def compare(self, variant):
        artifact, log = self.folder / "a.zca", self.folder / "log.jsonl"
        checkpoint = self.folder / "ckpt"
        model = FOLDER / variant["model"]
        self.zc("compile", f"{model}.onnx", "-o", artifact,
                *variant["compile"])
        self.train(artifact, f"{model}.npz", variant["steps"],
                   "--no-shuffle", "--log", log, "--checkpoint", checkpoint,
                   *variant["run"], lr=variant["lr"])
        lines = read_log(log)
        tolerance = max(FLOOR, MULTIPLE * variant["spread"])
        for key, expected in (("loss", "losses"), ("grad_norm", "grad_norms"),
                              ("lr", "rates")):
            found = np.array([line[key] for line in lines])
            np.testing.assert_allclose(found, variant[expected], tolerance,
                                       atol=1e-9, err_msg=key)
        tensors = load_tensors(latest_step(checkpoint))
        for name, expected in variant["buffers"].items():
            distance = np.abs(tensors[name].ravel() - expected).max()
            self.assertLessEqual(
                distance, max(FLOOR, MULTIPLE * variant["buffer_spread"]), name)


class Refusals(ZcTest):

    def refuse(self, code, patterns, *options):
        self.fails(code, patterns, "compile", FOLDER / "classifier.onnx", "-o",
                   self.folder / "a.zca", *options)

    def test_loss_of_its_own(self):
        self.refuse(1, ["logits", "--loss-output"], "--loss", "none")
        self.refuse(1, ["no output named 'cost'"], "--loss", "none",
                    "--loss-output", "cost")
        self.refuse(2, ["--loss-output"], "--loss", "none", "--logits", "x")
        self.refuse(2, ["belongs to --loss none"], "--loss", "mse",
                    "--loss-output", "logits")

    def test_batch_that_does_not_divide(self):
        self.refuse(1, ["batch of 8 samples", "3 micro-batches", "6 and 9"],
                    "--loss", "mse", "--accumulate", 3)

    def test_statistics_of_their_own_that_are_frozen(self):
        self.refuse(2, ["belongs to --batchnorm train"], "--loss", "mse",
                    "--batchnorm", "frozen", "--batchnorm-stats", "local")

    def test_options_of_other_optimizers(self):
        for optimizer, option in (("adafactor", "--beta1"), ("sgd", "--eps"),
                                  ("adafactor", "--momentum"),
                                  ("sm3", "--beta2")):
            self.refuse(2, [option, "belongs to --optimizer"], "--loss", "mse",
                        "--optimizer", optimizer, option, 0.5)

    def test_decay_exempting_nothing(self):
        self.refuse(1, ["'scale' matches the name of no parameter"],
                    "--loss", "mse", "--no-weight-decay", "scale")
        self.refuse(2, ["not a regular expression"],
                    "--loss", "mse", "--no-weight-decay", "(")


def add_tests():
    for name, variant in REFERENCE["variants"].items():
        def test(self, variant=variant):
            self.compare(variant)
        setattr(Options, f"test_{name.replace('-', '_')}", test)


add_tests()

if __name__ == "__main__":
    unittest.main()
