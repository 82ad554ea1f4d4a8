#!/usr/bin/env python3
"""Record zc_moe's layers, for test/e2e/moe_test.py.

  moe_layers.py [--output test/fixtures/moe] [CASE ...]

Each case is a layer of experts behind its input and before its classes, with
balance and z-loss as outputs: `CASE.onnx`. `CASE.json` has the weights of the
added losses and PyTorch's losses over 10 steps; `data.npz` serves all.
"""
import argparse
import json
import pathlib
import sys

import numpy as np
import onnx
import torch
import torch.nn as nn
import torch.nn.functional as F

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools" / "export"))
import record  # noqa: E402
import zc_moe  # noqa: E402

BATCH, TOKENS, HIDDEN, CLASSES, STEPS = 4, 6, 12, 5, 10
LEARNING_RATE = 0.05
# For each case the arguments of its layer, and the weights of balance and
# z-loss.
CASES = {
    "topk": (dict(experts=4, top_k=2), (0.1, 0.01)),
    "gshard": (dict(experts=4, top_k=2, gate="softmax-topk", normalize=True,
                    balance="gshard"), (0.5, 0.0)),
    "importance": (dict(experts=6, top_k=3, gate="sigmoid-topk",
                        normalize=True, balance="importance",
                        activation="gelu"), (0.2, 0.01)),
    "switch": (dict(experts=4, top_k=1, gate="softmax-topk", gated=False,
                    activation="relu"), (0.1, 0.0)),
    "levels": (dict(experts=8, top_k=2, gate="two-level", levels=4,
                    top_groups=2, normalize=True), (0.1, 0.01)),
    # Draws are checked on their own: PyTorch has no losses to compare with.
    "drawn": (dict(experts=4, top_k=2, gate="softmax-topk", normalize=True,
                   noisy=True, second="random"), None),
}


class Classifier(nn.Module):
    def __init__(self, **settings):
        super().__init__()
        self.first = nn.Linear(HIDDEN, HIDDEN)
        self.experts = zc_moe.MoE(HIDDEN, 16, **settings)
        self.last = nn.Linear(HIDDEN, CLASSES)

    def forward(self, x):
        x = self.first(x)
        return self.last(x + self.experts(x))


def record_case(name, folder):
    torch.manual_seed(len(name))
    settings, weights = CASES[name]
    model = zc_moe.WithLosses(Classifier(**settings))
    data = np.load(folder / "data.npz")
    x, labels = torch.tensor(data["x"]), torch.tensor(data["labels"])
    path = folder / f"{name}.onnx"
    zc_moe.export(model, (x,), path, input_names=["x"],
                  output_names=["logits", "balance_loss", "z_loss"])
    onnx.save(record.without_machine_paths(onnx.load(path), traces=False),
              path)
    if weights is None:
        return
    model.double()
    optimizer = torch.optim.SGD(model.parameters(), LEARNING_RATE)
    losses = []
    for _ in range(STEPS):
        logits, balance, z = model(x.double())
        loss = (F.cross_entropy(logits.flatten(0, 1), labels.flatten())
                + weights[0] * balance + weights[1] * z)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    (folder / f"{name}.json").write_text(json.dumps(
        {"balance_loss": weights[0], "z_loss": weights[1],
         "lr": LEARNING_RATE, "losses": losses}, indent=1) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--output", type=pathlib.Path,
                        default=ROOT / "test" / "fixtures" / "moe")
    parser.add_argument("cases", nargs="*", default=list(CASES))
    arguments = parser.parse_args()
    arguments.output.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(1)
    np.savez(arguments.output / "data.npz",
             x=random.normal(size=(BATCH, TOKENS, HIDDEN)).astype(np.float32),
             labels=random.integers(0, CLASSES, (BATCH, TOKENS)))
    for name in arguments.cases:
        record_case(name, arguments.output)


if __name__ == "__main__":
    main()
