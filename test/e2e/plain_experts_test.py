#!/usr/bin/env python3
"""Experts of plain PyTorch: masks over all of them, GShard's einsums."""
import json
import unittest

import numpy as np

from moe_test import FOLDER, Moe

CASES = ("masked", "stacked", "einsum")


class Plain(Moe):
    def test_losses_are_pytorchs(self):
        for name in CASES:
            for ranks, *options in (
                    (1,), (2, "--mesh", "dp=2"), (2, "--mesh", "tp=2"),
                    (1, "--accumulate", "2")):
                with self.subTest(name=name, options=options):
                    reference = json.loads(
                        (FOLDER / f"plain_{name}.json").read_text())
                    found = self.of_case(f"plain_{name}", *options,
                                         ranks=ranks, lr=reference["lr"])
                    np.testing.assert_allclose(found, reference["losses"],
                                               rtol=2e-6)


if __name__ == "__main__":
    unittest.main()
