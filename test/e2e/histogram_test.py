#!/usr/bin/env python3
"""zc compile --gradient-histogram: how large elements of gradients are."""
import json
import unittest

import numpy as np

from recipes_test import BF16, RecipesTest
from zctest import read_log


class Histogram(RecipesTest):
    EDGES = (-149, -40, -36, -32, -28, -24, -20, -16, -12, -8, -4, 0, 4)

    def test_counts(self):
        """I-05, I-07: gradients by their powers of two, and the share that
        float16 has no number for, are those that NumPy finds; on ranks, too."""
        model, weight, data = self.linear()
        # Columns of the first matrix from large to what float16 rounds to 0.
        data["x"] = data["x"] * np.float32(2.0) ** np.arange(
            0, -32, -4, dtype=np.float32)
        data["x"][:, 7] = 0
        np.savez(self.folder / "data.npz", **data)
        error = (data["x"] @ weight - data["labels"]).astype(np.float64)
        gradient = np.abs(data["x"].T.astype(np.float64)
                          @ (2 * error / error.size)).ravel()
        below = [int((gradient < 2.0 ** edge).sum()) for edge in self.EDGES]
        expected = np.diff([0, *below, gradient.size])
        for ranks, options in ((1, ()), (2, ("--mesh", "dp=2"))):
            artifact = self.folder / "a.zca"
            log, events = self.folder / "log.jsonl", self.folder / str(ranks)
            self.zc("compile", model, "-o", artifact, "--loss", "mse",
                    "--optimizer", "sgd", "--gradient-histogram", *options)
            self.zc("run", artifact, "--data", self.folder / "data.npz",
                    "--steps", 1, "--no-shuffle", "--log", log,
                    "--tensorboard", events,
                    *(["--local-ranks", ranks] if ranks > 1 else []))
            line, = read_log(log)
            self.assertEqual(line["gradient_counts"], expected.tolist())
            self.assertEqual(line["gradient_zeros"], 4 / 32)
            lost = (gradient > 0) & (gradient < 2.0 ** -24)
            self.assertGreater(lost.sum(), 0)
            self.assertEqual(line["gradient_below_fp16"], lost.sum() / 32)
            written = next(events.iterdir()).read_bytes()
            self.assertEqual(line["gradient_not_finite"], 0)
            for tag in (b"gradient_exponents", b"gradient_below_fp16",
                        b"gradient_not_finite"):
                self.assertIn(tag, written)

    def test_padding(self):
        """The zeros with which ZeRO fills its vectors up are no gradients: 15
        divide among two ranks as 16."""
        model, *_ = self.linear(rows=5, columns=3)
        for zero in (0, 1, 2, 3):
            artifact, log = self.folder / "a.zca", self.folder / "log.jsonl"
            self.zc("compile", model, "-o", artifact, "--loss", "mse",
                    "--optimizer", "sgd", "--gradient-histogram", "--mesh",
                    "dp=2", "--zero", zero)
            self.zc("run", artifact, "--data", self.folder / "data.npz",
                    "--steps", 1, "--no-shuffle", "--log", log,
                    "--local-ranks", 2)
            line, = read_log(log)
            self.assertEqual(sum(line["gradient_counts"]), 15)
            self.assertEqual(line["gradient_zeros"], 0)

    def test_memory(self):
        """Counting needs no tensor as large as a gradient, with 16 bits and a
        scaled loss neither."""
        for options in ((), BF16, ("--precision", "fp16"),
                        ("--mesh", "dp=2", "--zero", 2)):
            peaks = []
            for more in ((), ("--gradient-histogram",)):
                artifact, _ = self.build(*options, *more)
                peaks.append(json.loads(self.zc(
                    "inspect", artifact, "--memory", "--json"))["memory"][
                        "peak"])
            # Counts of rows; a rank's part of ZeRO's vector has 59,136 bytes,
            # and for each edge once more it would be 827,904.
            self.assertLess(peaks[1] - peaks[0], 20480, options)

    def test_overflow(self):
        """Gradients that overflow are in no class, and are counted. The input
        that is 100 gives its four weights gradients of 500 to 3,200; those of
        others stay below 50. Times 256 float16 has no number for the four."""
        model, *_, data = self.linear()
        data["x"][:, 0] = 100
        np.savez(self.folder / "data.npz", **data)
        log = self.folder / "log.jsonl"
        for scale, lost in ((1, 0), (256, 4)):
            artifact = self.folder / "a.zca"
            self.zc("compile", model, "-o", artifact, "--loss", "mse",
                    "--optimizer", "sgd", "--precision", "fp16", "--loss-scale",
                    scale, "--gradient-histogram")
            self.zc("run", artifact, "--data", self.folder / "data.npz",
                    "--steps", 1, "--no-shuffle", "--log", log)
            line, = read_log(log)
            self.assertEqual(line["gradient_not_finite"], lost)
            self.assertEqual(sum(line["gradient_counts"]), 32 - lost)

    def test_refused(self):
        model, *_ = self.linear()
        self.fails(2, ["later steps add up no gradients"], "compile", model,
                   "--loss", "mse", "--optimizer", "onebit-adam", "--mesh",
                   "dp=2", "--gradient-histogram")

    def test_of_a_model(self):
        """Every element is in one class, whatever divides gradients, and where
        each stage updates at a time of its own."""
        for options, ranks in (((), 1), (("--mesh", "dp=2", "--zero", 2), 2),
                               (("--mesh", "tp=2"), 2),
                               (("--mesh", "pp=2", "--accumulate", 2), 2),
                               (("--mesh", "pp=2", "--schedule", "2bw",
                                 "--accumulate", 2), 2),
                               (("--mesh", "pp=2", "--schedule", "stash"), 2)):
            # The first and the last stage of the gpt share a table.
            model = "mlp" if "--schedule" in options else "gpt"
            artifact, fixture = self.build("--gradient-histogram", *options,
                                           model=model)
            count = 29568 if model == "gpt" else sum(
                each.size for each in fixture.weights("adamw").values())
            log = self.folder / "log.jsonl"
            self.zc("run", artifact, "--data", fixture.data, "--steps", 1,
                    "--no-shuffle", "--log", log,
                    *(["--local-ranks", ranks] if ranks > 1 else []))
            line, = read_log(log)
            self.assertEqual(sum(line["gradient_counts"]), count, options)


if __name__ == "__main__":
    unittest.main()
