#!/usr/bin/env python3
"""Videos: channels that pass from frame to frame (TSM, Lin et al. 2019) train."""
import unittest

import numpy as np
from onnx import helper

from requirements_test import RequirementsTest
from zctest import latest_step, load_tensors, read_log


class Frames(RequirementsTest):

    @staticmethod
    def shifted(frames, back=1):
        """TSM's shift of [videos, frames, channels]: the first eighth comes from
        the next frame, the second from the last one; back=-1: its gradient."""
        result, eighth = frames.copy(), frames.shape[2] // 8
        for first, way in ((0, -back), (eighth, back)):
            part = np.roll(frames[..., first:first + eighth], way, axis=1)
            part[:, -1 if way < 0 else 0] = 0
            result[..., first:first + eighth] = part
        return result

    def shifting_model(self, videos, frames, channels, weights):
        """x w shifted, times v; as tools/bench/large_resnet.py writes a shift."""
        constants, parts, eighth = dict(weights), [], channels // 8
        nodes = [helper.make_node("MatMul", ["x", "w"], ["a"]),
                 helper.make_node("Reshape", ["a", "videos"], ["b"])]
        for i, (begin, end, first, last, pads) in enumerate((
                (0, eighth, 1, frames, [0] * 4 + [1, 0]),
                (eighth, 2 * eighth, 0, frames - 1, [0, 1] + [0] * 4),
                (2 * eighth, channels, 0, frames, [0] * 6))):
            constants |= {f"begin{i}": np.int64([first, begin]),
                          f"end{i}": np.int64([last, end]),
                          f"pads{i}": np.int64(pads)}
            nodes += [helper.make_node("Slice", ["b", f"begin{i}", f"end{i}",
                                                 "dims"], [f"s{i}"]),
                      helper.make_node("Pad", [f"s{i}", f"pads{i}"],
                                       [f"p{i}"])]
            parts.append(f"p{i}")
        constants |= {"dims": np.int64([1, 2]),
                      "videos": np.int64([-1, frames, channels]),
                      "images": np.int64([-1, channels])}
        nodes += [helper.make_node("Concat", parts, ["c"], axis=2),
                  helper.make_node("Reshape", ["c", "images"], ["d"]),
                  helper.make_node("MatMul", ["d", "v"], ["y"])]
        shape = [videos * frames, channels]
        return self.save(nodes, [("x", shape)], [("y", shape)], constants)

    def test_shifted_frames_train(self):
        """L-06: gradients pass the shift of channels between frames as NumPy's
        do, and ranks have whole videos."""
        videos, frames, channels = 2, 4, 16
        random = np.random.default_rng(0)
        x, labels = random.standard_normal((2, videos * frames, channels),
                                           np.float32)
        w, v = random.standard_normal((2, channels, channels), np.float32)
        model = self.shifting_model(videos, frames, channels,
                                    {"w": w, "v": v})
        np.savez(self.folder / "d.npz", x=x, labels=labels)

        def shift(images, back=1):
            return self.shifted(images.reshape(videos, frames, channels),
                                back).reshape(images.shape)
        middle = shift(x @ w)
        error = 2 * (middle @ v - labels) / labels.size
        expected = {"v": v - middle.T @ error,
                    "w": w - x.T @ shift(error @ v.T, -1)}
        for ranks in (1, 2):
            artifact = self.folder / "tsm.zca"
            checkpoint = self.folder / f"c{ranks}"
            mesh = ("--mesh", "dp=2") if ranks > 1 else ()
            self.zc("compile", model, "-o", artifact, "--loss", "mse",
                    "--optimizer", "sgd", *mesh)
            self.zc("run", artifact, "--data", self.folder / "d.npz", "--steps",
                    1, "--lr", 1, "--no-shuffle", "--checkpoint", checkpoint,
                    *(("--local-ranks", ranks) if ranks > 1 else ()))
            found = load_tensors(latest_step(checkpoint))
            for name, array in expected.items():
                np.testing.assert_allclose(found[name], array, atol=1e-5,
                                           err_msg=name)


class Network(RequirementsTest):
    """L-06, M-03: TSM with two blocks of its ResNet, 4 videos of 4 frames, whose
    images are samples: an index of a video counts four of them."""

    def setUp(self):
        super().setUp()
        self.model = self.write_large("large_resnet.py", layers=8, batch=16,
                                      size=16, classes=10, frames=4)
        random = np.random.default_rng(0)
        np.savez(self.folder / "d.npz", labels=random.integers(0, 10, 16),
                 images=random.standard_normal((16, 3, 16, 16), np.float32))

    def train(self, *options, ranks=1):
        """Losses of four steps, from the same weights."""
        artifact, log = self.folder / "tsm.zca", self.folder / "log.jsonl"
        self.zc("compile", self.model, "-o", artifact, "--loss",
                "softmax-cross-entropy", "--init", "torch-default", "--verify",
                "off", "--optimizer", "sgd", "--cpu-threads", 1, *options)
        self.zc("run", artifact, "--data", self.folder / "d.npz", "--steps", 4,
                "--no-shuffle", "--lr", 0.02, "--seed", 1, "--log", log,
                *(("--local-ranks", ranks) if ranks > 1 else ()))
        return [line["loss"] for line in read_log(log)]

    def same(self, losses, expected):
        """But for the order of float32 sums: found, their last digit."""
        np.testing.assert_allclose(losses, expected, rtol=1e-6)

    def test_micro_batches(self):
        """Without statistics of a batch, parts of it are the whole."""
        whole, parts = (self.train("--batchnorm", "frozen", "--accumulate",
                                   count) for count in (1, 2))
        self.same(parts, whole)
        self.assertLess(whole[-1], whole[0] - 0.02)

    def test_statistics(self):
        """Statistics of half of the videos are those of a micro-batch, and of a
        rank that has its own; stages of a pipeline have the same."""
        halves = self.train("--accumulate", 2)
        self.assertGreater(abs(halves[0] - self.train()[0]), 1e-3)
        own = ("--mesh", "dp=2", "--batchnorm-stats", "local")
        self.same(self.train(*own, ranks=2), halves)
        for mesh, ranks in (("pp=2", 2), ("pp=2,dp=2", 4)):
            with self.subTest(mesh=mesh):
                self.same(self.train("--mesh", mesh, "--accumulate", 2,
                                     ranks=ranks), halves)

    def test_parts_are_of_whole_videos(self):
        """Nobody computes a part of a video."""
        for options, expected in (
                (("--accumulate", 8), "brings 4 samples together in a .*, and "
                 "4 such groups do not divide into 8 micro-batches"),
                (("--mesh", "dp=8", "--batchnorm-stats", "local"), "4 groups of "
                 "4 samples each, which do not divide into 8 shares")):
            self.fails(1, [expected], "compile", self.model, "-o",
                       self.folder / "x.zca", "--loss", "softmax-cross-entropy",
                       "--init", "torch-default", *options)


if __name__ == "__main__":
    unittest.main()
