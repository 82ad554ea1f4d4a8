#!/usr/bin/env python3
"""Gradients of single operators: one SGD step at learning rate 1 moves every
parameter by the gradient that PyTorch has (tools/reference/gradients.py)."""
import unittest

import numpy as np
import onnx
from onnx import numpy_helper

from zctest import FIXTURES, ZcTest

FOLDER = FIXTURES / "gradients"
TOLERANCE = 2e-5  # of the largest of a tensor's gradients and weights


def weights(path):
    return {tensor.name: numpy_helper.to_array(tensor).astype(np.float64)
            for tensor in onnx.load(path).graph.initializer}


class Gradients(ZcTest):

    def compare(self, family):
        model, trained = FOLDER / f"{family}.onnx", self.folder / "trained.onnx"
        artifact, data = self.folder / "a.zca", self.folder / "data.npz"
        checkpoint = self.folder / "checkpoint"
        np.savez(data, given=np.zeros(2, np.float32))
        self.zc("compile", model, "--loss", "none", "--optimizer", "sgd", "-o",
                artifact)
        self.train(artifact, data, 1, "--checkpoint", checkpoint, lr=1)
        self.zc("export", artifact, "--checkpoint", checkpoint, "-o", trained)
        before, after = weights(model), weights(trained)
        gradients = np.load(FOLDER / f"{family}.npz")
        self.assertGreater(len(gradients.files), 5)
        for name in gradients.files:
            with self.subTest(name):
                expected = gradients[name]
                scale = max(np.abs(expected).max(), np.abs(before[name]).max())
                np.testing.assert_allclose(before[name] - after[name], expected,
                                           rtol=0, atol=TOLERANCE * scale)


def add_tests():
    for path in sorted(FOLDER.glob("*.onnx")):
        def test(self, family=path.stem):
            self.compare(family)
        setattr(Gradients, f"test_{path.stem}", test)


add_tests()

if __name__ == "__main__":
    unittest.main()
