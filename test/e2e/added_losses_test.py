#!/usr/bin/env python3
"""Losses that --add-loss adds, where labels that count are dealt unevenly: one
rank's on every mesh, and of a micro-batch as much as its labels."""
import unittest

import numpy as np

from moe_test import FOLDER, Moe

CASE, IGNORED = "switch", -100


class AddedLosses(Moe):
    WEIGHT = 0.5

    def setUp(self):
        super().setUp()
        data = np.load(FOLDER / "data.npz")
        self.x, labels = data["x"], data["labels"].copy()
        # All of the first sample's count, none of the second's.
        labels[1] = IGNORED
        labels[2, 2:] = IGNORED
        labels[3, :1] = IGNORED
        self.labels = labels

    def run_case(self, *options, samples=slice(None), steps=1, weight=None,
                 ranks=1):
        data = self.folder / "data.npz"
        np.savez(data, x=self.x[samples], labels=self.labels[samples])
        weight = self.WEIGHT if weight is None else weight
        return self.of_case(CASE, f"--add-loss=balance_loss={weight}", *options,
                            ranks=ranks, steps=steps, data=data)

    def test_meshes(self):
        """A rank none of whose labels count has its part of the added loss."""
        for micro in ("1", "2"):
            alone = self.run_case("--accumulate", micro, steps=5)
            without = self.run_case("--accumulate", micro, steps=5, weight=0)
            self.assertGreater(np.abs(alone - without).min(), 0.1)
            meshes = [("dp=2", 2), ("ep=2", 2), ("dp=2,ep=2", 4)]
            for mesh, ranks in meshes[:3 if micro == "1" else 2]:
                with self.subTest(mesh=mesh, accumulate=micro):
                    found = self.run_case("--accumulate", micro, "--mesh", mesh,
                                          steps=5, ranks=ranks)
                    np.testing.assert_allclose(found, alone, rtol=2e-6)

    def test_micro_batches_count_as_their_labels(self):
        parts = [slice(0, 2), slice(2, 4)]
        counts = [(self.labels[part] != IGNORED).sum() for part in parts]
        self.assertNotEqual(*counts)
        losses = [self.run_case("--batch", "2", samples=part)[0]
                  for part in parts]
        found, = self.run_case("--accumulate", "2")
        np.testing.assert_allclose(found, np.average(losses, weights=counts),
                                   rtol=1e-6)
        self.assertGreater(abs(found - np.mean(losses)), 1e-4)


if __name__ == "__main__":
    unittest.main()
