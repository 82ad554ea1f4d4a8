#!/usr/bin/env python3
"""Videos: channels that pass from frame to frame (TSM, Lin et al. 2019) train."""
import unittest

import numpy as np
from onnx import helper

from requirements_test import RequirementsTest
from zctest import latest_step, load_tensors


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


if __name__ == "__main__":
    unittest.main()
