#!/usr/bin/env python3
"""Ten steps of every fixture under every optimizer that was recorded against
PyTorch's double precision run. Where a model was exported at several opsets,
the optimizers take turns over the exports.

Losses must agree to 2e-6, or to five times the distance that PyTorch's own
fp32 runs keep from it. Final weights likewise, as a share of the model's
largest weight, tensor by tensor: a weight that only rounding moves (a bias in
front of batch normalisation under Adam) does not loosen the others.
"""
import statistics
import unittest

import numpy as np

from zctest import FIXTURES, Fixture, ZcTest, latest_step, load_tensors, read_log

FLOOR = 2e-6
MULTIPLE = 5


class Train(ZcTest):

    def compare(self, model, optimizer):
        fixture = Fixture(model)
        expected = fixture.reference["optimizers"][optimizer]
        turn = list(fixture.reference["optimizers"]).index(optimizer)
        model = fixture.exports[turn % len(fixture.exports)]
        artifact = self.compile(fixture, optimizer, model=model)
        log, checkpoint = self.folder / "log.jsonl", self.folder / "ckpt"
        self.train(artifact, fixture.data, fixture.reference["steps"],
                   "--no-shuffle", "--log", log, "--checkpoint", checkpoint,
                   lr=expected["learning_rate"])
        self.compare_losses(read_log(log), expected)
        self.compare_weights(load_tensors(latest_step(checkpoint)),
                             fixture.weights(optimizer), expected)

    def compare_losses(self, log, expected):
        self.assertEqual([line["step"] for line in log],
                         list(range(1, len(expected["losses"]) + 1)))
        tolerance = max(FLOOR, MULTIPLE * expected["loss_spread"])
        losses = np.array([line["loss"] for line in log])
        reference = np.array(expected["losses"])
        error = np.abs(losses - reference) / np.abs(reference)
        self.assertLessEqual(error.max(), tolerance,
                             f"losses {losses}, PyTorch's {reference}")

    def compare_weights(self, weights, reference, expected):
        missing = [name for name in reference if name not in weights]
        for name in missing:  # a tied copy is stored under one of its names
            twins = [other for other in reference if other not in missing
                     and np.array_equal(reference[other], reference[name])]
            self.assertTrue(twins, f"{name} is not in the checkpoint")
        spreads = expected["weight_spread_by_tensor"]
        usual = statistics.median(spreads.values())
        for name in reference.keys() - missing:
            self.assertEqual(weights[name].shape, reference[name].shape, name)
            error = np.abs(weights[name] - reference[name]).max()
            tolerance = max(FLOOR, MULTIPLE * max(usual, spreads[name]))
            self.assertLessEqual(error / expected["largest_weight"],
                                 tolerance, name)


def add_tests():
    for folder in sorted(FIXTURES.iterdir()):
        if not (folder / "reference.json").exists():
            continue
        model = folder.name
        for optimizer in Fixture(model).reference.get("optimizers", ()):
            def test(self, model=model, optimizer=optimizer):
                self.compare(model, optimizer)
            setattr(Train, f"test_{model}_{optimizer.replace('-', '_')}", test)


add_tests()

if __name__ == "__main__":
    unittest.main()
