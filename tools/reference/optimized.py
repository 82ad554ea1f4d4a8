#!/usr/bin/env python3
"""Record what the exporter's default optimize=True makes of a network, and how
the network that it then is trains in PyTorch.

  optimized.py [--output test/fixtures/optimized]

One tiny model an effect (`EFFECT.onnx`, `EFFECT.npz`). `reference.json` lists
the ten losses of SGD in double precision and the largest relative distance of
PyTorch's own fp32 run; `EFFECT-weights.npz` what its parameters then are.
"""
import argparse
import copy
import json
import pathlib

import numpy as np
import onnx
import torch
import torch.nn as nn
import torch.nn.functional as F
from onnx import numpy_helper

from record import ROOT, versions, without_machine_paths

STEPS, BATCH, SAMPLES, LR = 10, 4, 12, 0.5


class Transposed(nn.Module):
    """With inputs of three dims, a Linear is MatMul and Add."""

    def __init__(self):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(6, 8), nn.Linear(8, 5)

    def forward(self, x):
        return self.fc2(torch.tanh(self.fc1(x)))


class Merged(nn.Module):
    """Two normalisations that begin alike."""

    def __init__(self):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(6), nn.LayerNorm(6)
        self.fc = nn.Linear(6, 5)

    def forward(self, x):
        return self.fc(self.ln2(torch.tanh(self.ln1(x))))

    def as_exported(self, graph):
        self.ln2 = self.ln1


class Biases(nn.Module):
    """Biases that begin at zero."""

    def __init__(self):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(6, 8), nn.Linear(8, 5)
        nn.init.zeros_(self.fc1.bias)
        nn.init.zeros_(self.fc2.bias)

    def forward(self, x):
        return self.fc2(torch.tanh(self.fc1(x)))

    def as_exported(self, graph):
        self.fc1.bias = self.fc2.bias = None


class BatchNorm(nn.Module):
    """Batch normalisation behind a convolution, with statistics of its own."""

    def __init__(self):
        super().__init__()
        self.conv, self.bn = nn.Conv2d(1, 3, 3), nn.BatchNorm2d(3)
        self.fc = nn.Linear(3 * 16, 5)
        for tensor in (self.bn.weight, self.bn.running_var):
            nn.init.uniform_(tensor, 0.5, 1.5)
        for tensor in (self.bn.bias, self.bn.running_mean):
            nn.init.uniform_(tensor, -0.5, 0.5)

    def forward(self, x):
        return self.fc(torch.relu(self.bn(self.conv(x))).flatten(1))

    def as_exported(self, graph):
        self.bn = nn.Identity()
        for tensor in graph.initializer:
            if tensor.name.startswith("conv."):
                value = torch.from_numpy(numpy_helper.to_array(tensor).copy())
                self.get_parameter(tensor.name).data = value


class Tied(nn.Module):
    """The table of tokens is the last layer's weight."""

    def __init__(self):
        super().__init__()
        self.embedding, self.fc = nn.Embedding(11, 6), nn.Linear(6, 6)
        self.head = nn.Linear(6, 11, bias=False)
        self.head.weight = self.embedding.weight

    def forward(self, ids):
        return self.head(torch.tanh(self.fc(self.embedding(ids))))


class Positions(nn.Module):
    """A table that is read at 0, 1, 2, ..."""

    def __init__(self):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(11, 6), nn.Embedding(7, 6)
        self.head = nn.Linear(6, 11)

    def forward(self, ids):
        places = self.positions(torch.arange(ids.shape[1]))
        return self.head(torch.tanh(self.tokens(ids) + places))

    def as_exported(self, graph):
        self.positions.weight.requires_grad_(False)


def floats(*shape):
    return np.random.default_rng(1).standard_normal(
        (SAMPLES, *shape)).astype(np.float32)


def classes(count, *shape, seed=2):
    return np.random.default_rng(seed).integers(0, count, (SAMPLES, *shape))


EFFECTS = {
    "transposed": (Transposed, floats(3, 6), classes(5, 3)),
    "merged": (Merged, floats(3, 6), classes(5, 3)),
    "biases": (Biases, floats(6), classes(5)),
    "batchnorm": (BatchNorm, floats(1, 6, 6), classes(5)),
    "tied": (Tied, classes(11, 7, seed=3), classes(11, 7)),
    "positions": (Positions, classes(11, 7, seed=3), classes(11, 7)),
}


def export(net, x, path):
    torch.onnx.export(net, (torch.from_numpy(x[:BATCH]),), path, dynamo=True,
                      optimize=True, external_data=False, input_names=["x"],
                      output_names=["logits"], verbose=False)
    model = without_machine_paths(onnx.load(path), traces=True)
    onnx.save(model, path)
    return model.graph


def train(net, x, labels, dtype):
    net = copy.deepcopy(net).to(dtype)
    optimizer = torch.optim.SGD(
        [p for p in net.parameters() if p.requires_grad], lr=LR)
    losses = []
    for step in range(STEPS):
        rows = (np.arange(BATCH) + step * BATCH) % SAMPLES
        inputs = torch.from_numpy(x[rows])
        if inputs.is_floating_point():
            inputs = inputs.to(dtype)
        logits = net(inputs)
        loss = F.cross_entropy(logits.reshape(-1, logits.shape[-1]),
                               torch.from_numpy(labels[rows]).reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return np.array(losses), {name: value.detach().numpy() for name, value
                              in net.named_parameters(
                                  remove_duplicate=False)
                              if value.requires_grad}


def record(name, folder):
    kind, x, labels = EFFECTS[name]
    torch.manual_seed(0)
    net = kind().train()
    graph = export(net, x, folder / f"{name}.onnx")
    if hasattr(net, "as_exported"):
        net.as_exported(graph)
    np.savez(folder / f"{name}.npz", x=x, labels=labels)
    losses, weights = train(net, x, labels, torch.float64)
    single, _ = train(net, x, labels, torch.float32)
    np.savez(folder / f"{name}-weights.npz", **weights)
    return {"losses": losses.tolist(),
            "spread": float(np.max(abs(single / losses - 1)))}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=pathlib.Path,
                        default=ROOT / "test" / "fixtures" / "optimized")
    folder = parser.parse_args().output
    folder.mkdir(parents=True, exist_ok=True)
    reference = {"versions": versions(), "steps": STEPS, "lr": LR,
                 "effects": {name: record(name, folder) for name in EFFECTS}}
    (folder / "reference.json").write_text(
        json.dumps(reference, indent=1) + "\n")


if __name__ == "__main__":
    main()
