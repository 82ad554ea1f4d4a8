#!/usr/bin/env python3
"""Write the digits classifier that tools/demo trains.

  digits.py [--output test/fixtures/digits]

`model.onnx` is a convolutional classifier as PyTorch exports it, untrained and
with a symbolic batch; `train.npz` and `heldout.npz` are scikit-learn's
handwritten digits, every fifth of them held out.
"""
import argparse
import pathlib

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

import models
import record


class DigitsNet(nn.Module):
    """Two residual-free convolution stages, pooled, and a linear head."""

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 16, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(16)
        self.conv2 = nn.Conv2d(16, 32, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(32)
        self.conv3 = nn.Conv2d(32, 32, 3, padding=1, bias=False)
        self.bn3 = nn.BatchNorm2d(32)
        self.head = nn.Linear(32, 10)

    def forward(self, x):
        x = F.relu(self.bn1(self.conv1(x)))
        x = F.max_pool2d(F.relu(self.bn2(self.conv2(x))), 2)
        x = F.relu(self.bn3(self.conv3(x)))
        return self.head(F.adaptive_avg_pool2d(x, 1).flatten(1))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--output", type=pathlib.Path,
                        default=record.ROOT / "test" / "fixtures" / "digits")
    folder = parser.parse_args().output
    folder.mkdir(parents=True, exist_ok=True)
    images, labels = models.digits(None)
    images = images[:, None]
    held_out = np.arange(len(images)) % 5 == 4
    torch.manual_seed(models.SEED)
    case = models.Case("digits", DigitsNet(), {"x": images}, labels, 64,
                       "softmax-cross-entropy", {}, symbolic_batch="batch")
    record.export(case, folder / "model.onnx")
    np.savez_compressed(folder / "train.npz", x=images[~held_out],
                        labels=labels[~held_out])
    np.savez_compressed(folder / "heldout.npz", x=images[held_out],
                        labels=labels[held_out])


if __name__ == "__main__":
    main()
