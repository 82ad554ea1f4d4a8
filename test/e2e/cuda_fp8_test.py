#!/usr/bin/env python3
"""Products of 8-bit floats through the plugin for NVIDIA GPUs, on the fakes of
cuda_run_test: what cuBLASLt would be asked for, and the CPU's losses."""
import unittest

import numpy as np

import fp8_network
from cuda_run_test import Fake
from fp8_test import BLOCK_BATCH, BLOCK_WIDTHS, Fp8Test
from zctest import read_log


class Scalings(Fp8Test, Fake):
    """Two steps, for the fake is slow."""
    SIZES = {"batch": BLOCK_BATCH, "widths": BLOCK_WIDTHS}

    def on_gpu(self, *options):
        """Losses, and the calls of the driver and the libraries."""
        self.gpu["ZC_FAKE_CUDA_ARCH"] = "90"
        artifact = self.folder / "gpu.zca"
        self.zc("compile", self.recorded_model(**self.SIZES), "-o", artifact,
                "--loss", "mse", "--optimizer", "sgd", "--target", "cuda:sm_90",
                "--cubins", "none", "--precision", "fp8", *options, env=self.gpu)
        x, labels = fp8_network.data(**self.SIZES)
        np.savez(self.folder / "d.npz", x=x, labels=labels)
        calls = self.folder / "calls"
        calls.unlink(missing_ok=True)
        self.zc("run", artifact, "--data", self.folder / "d.npz", "--steps", 2,
                "--lr", fp8_network.LEARNING_RATE, "--no-shuffle", "--log",
                self.log, env=self.gpu)
        return ([line["loss"] for line in read_log(self.log)],
                calls.read_text().splitlines())

    @staticmethod
    def products_of_graphs(calls):
        """How many 8-bit products each graph has that has any: between the begin
        and the end of what is captured. Measurements are calls, too, but in
        front of it."""
        counts, captures = [], False
        for call in calls:
            if call.startswith("cuStreamBeginCapture"):
                counts.append(0)
                captures = True
            elif call.startswith("cuStreamEndCapture"):
                captures = False
            elif captures and call.startswith("cublasLtMatmul fp8"):
                counts[-1] += 1
        return [count for count in counts if count > 0]

    def check(self, *options):
        losses, calls = self.on_gpu(*options)
        expected = self.losses(*options, **self.SIZES, steps=2)
        np.testing.assert_allclose(losses, expected, 1e-4)
        # Two layers' products, but for the gradient of the model's input; the
        # third layer's are of bfloat16.
        self.assertEqual(self.products_of_graphs(calls), [5])

    def test_current(self):
        self.check()

    def test_delayed(self):
        self.check("--fp8-scaling", "delayed:2")

    def test_blocks(self):
        self.check("--fp8-scaling", "block")

    def test_micro_batches(self):
        """The library leaves weights' gradients in float32 for their sum."""
        self.SIZES = {"batch": 2 * BLOCK_BATCH, "widths": BLOCK_WIDTHS}
        for scaling in ("current", "block"):
            self.check("--fp8-scaling", scaling, "--accumulate", "2")


if __name__ == "__main__":
    unittest.main()
