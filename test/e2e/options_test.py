#!/usr/bin/env python3
"""Every loss, optimizer and training option against PyTorch's double precision
run: the losses and gradient norms of tiny models (tools/reference/options.py).
"""
import json
import unittest

import numpy as np
from safetensors.numpy import load_file

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
                *(text.replace("{fixtures}", str(FOLDER))
                  for text in variant["compile"]))
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
        tensors = self.load(artifact, checkpoint, variant)
        for name, expected in variant["buffers"].items():
            distance = np.abs(tensors[name].ravel() - expected).max()
            self.assertLessEqual(
                distance, max(FLOOR, MULTIPLE * variant["buffer_spread"]), name)


    def load(self, artifact, checkpoint, variant):
        """Weights and statistics; or the averages of weights."""
        if not variant.get("average"):
            return load_tensors(latest_step(checkpoint))
        path = self.folder / "average.safetensors"
        self.zc("export", artifact, "--checkpoint", checkpoint, "--ema",
                "--safetensors", path)
        return load_file(path)


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

    def test_groups_that_are_none(self):
        for text in ("bias", "bias:", ":lr=2x", "bias:lr=2", "bias:lr=-1x",
                     "bias:weight-decay=nan", "bias:momentum=0"):
            self.refuse(2, ["--group", r"expected .* lr=FACTORx"],
                        "--loss", "mse", "--group", text)
        self.refuse(2, ["not a regular expression"], "--loss", "mse",
                    "--group", "(:lr=2x")
        self.refuse(1, ["--group 'scale:lr=2x' has no parameter"],
                    "--loss", "mse", "--group", "scale:lr=2x")
        self.refuse(1, ["'bias:lr=3x' has no parameter"], "--loss", "mse",
                    "--group", ".:lr=2x", "--group", "bias:lr=3x")
        for option in (["--group", "bias:lr=2x"], ["--ema", 0.9],
                       ["--clip-value", 1]):
            self.refuse(2, [f"{option[0]}: does not go with"], "--loss", "mse",
                        "--optimizer", "onebit-adam", *option)

    def test_average_that_was_not_kept(self):
        artifact, checkpoint = self.folder / "a.zca", self.folder / "ckpt"
        self.zc("compile", FOLDER / "classifier.onnx", "--loss",
                "softmax-cross-entropy", "-o", artifact)
        self.train(artifact, FOLDER / "classifier.npz", 1, "--checkpoint",
                   checkpoint)
        output = self.folder / "out.safetensors"
        self.fails(1, ["keeps no moving averages", "zc compile --ema"],
                   "export", artifact, "--checkpoint", checkpoint, "--ema",
                   "--safetensors", output)
        self.assertFalse(output.exists())

    def test_losses_of_other_options(self):
        for option, value, owner in (
                ("--label-smoothing", 0.1, "softmax-cross-entropy"),
                ("--pos-weight", 2, "bce-with-logits"),
                ("--huber-delta", 2, "huber")):
            self.refuse(2, [option, f"belongs to --loss {owner}"],
                        "--loss", "mse", option, value)
        self.refuse(2, ["from 0 to 1"], "--loss", "softmax-cross-entropy",
                    "--label-smoothing", 1.5)

    def test_class_weights_that_are_none(self):
        path = self.folder / "weights.npy"
        for array, pattern in (
                (np.ones(3, np.float32), r"3 numbers; expected .* 5 classes"),
                (np.ones((5, 1), np.float32), r"found float32 \[5, 1\]"),
                (np.ones(5, np.int64), r"found int64 \[5\]"),
                (np.zeros(5, np.float32), "only zeros"),
                (np.array([1, 2, -1, 1, 1.0]), r"found -1\S* at 2"),
                (np.array([1, 2, np.nan, 1, 1.0]), "nan at 2")):
            np.save(path, array)
            self.refuse(1, [pattern], "--loss", "softmax-cross-entropy",
                        "--class-weights", path)
        path.write_bytes(b"no array")
        self.refuse(1, ["weights.npy", "not a sound .npy file"], "--loss",
                    "softmax-cross-entropy", "--class-weights", path)
        self.refuse(2, ["belongs to --loss softmax-cross-entropy or"],
                    "--loss", "mse", "--class-weights", path)

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
