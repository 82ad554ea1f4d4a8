#!/usr/bin/env python3
"""Record what steps without flush come to: copies of parameters, one for each
version, and gradients of each stage at its own.

  stale.py [--output test/fixtures/odd/stale.json]

The model is the fixture `odd` in double precision, in four stages. Step t
evaluates stage s at the parameters that it had `delays[s]` steps before, and
updates the newest ones with these gradients.
"""
import argparse
import collections
import copy
import json
import pathlib

import torch
import torch.nn.functional as F

import models
import pipelines

OUTPUT = (pathlib.Path(__file__).resolve().parents[2] /
          "test/fixtures/odd/stale.json")
STEPS, BATCH = 12, 24
# Modules of each stage, as STAGES of test/e2e/no_flush_test.py.
STAGES = (range(0, 2), range(2, 4), range(4, 6), range(6, 9))
# 2bw; stash with 1 and 2 micro-batches a step; vertical sync of both.
DELAYS = {"2bw": (1, 1, 1, 1), "stash-1": (3, 2, 1, 0),
          "stash-2": (2, 1, 1, 0), "vertical-1": (3, 3, 3, 3),
          "vertical-2": (2, 2, 2, 2), "flush": (0, 0, 0, 0)}
OPTIMIZERS = {
    "sgd": lambda p: torch.optim.SGD(p, lr=0.2, momentum=0.8),
    "adamw": lambda p: torch.optim.AdamW(p, lr=0.02),
}


def train(delays, optimizer):
    torch.manual_seed(models.SEED)
    case = pipelines.odd()
    newest = case.net.train().double()
    update = OPTIMIZERS[optimizer](newest.parameters())
    versions = collections.deque([copy.deepcopy(newest)],
                                 maxlen=max(delays) + 1)  # the newest first
    losses = []
    for step in range(STEPS):
        rows = [(step * BATCH + i) % len(case.labels) for i in range(BATCH)]
        value = torch.from_numpy(case.inputs["x"][rows]).double()
        read = []
        for stage, delay in zip(STAGES, delays):
            old = versions[min(delay, len(versions) - 1)]
            for module in stage:
                value = old[module](value)
                read += list(old[module].parameters())
        loss = F.cross_entropy(value, torch.from_numpy(case.labels[rows]))
        gradients = torch.autograd.grad(loss, read)
        for parameter, gradient in zip(newest.parameters(), gradients):
            parameter.grad = gradient
        update.step()
        versions.appendleft(copy.deepcopy(newest))
        losses.append(float(loss.detach()))
    return {"losses": losses, "biases": {
        name: value.tolist() for name, value in newest.state_dict().items()
        if name.endswith("bias")}}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=pathlib.Path, default=OUTPUT)
    found = {optimizer: {name: train(delays, optimizer)
                         for name, delays in DELAYS.items()}
             for optimizer in OPTIMIZERS}
    parser.parse_args().output.write_text(json.dumps(
        {"batch": BATCH, "delays": DELAYS, **found}, indent=1) + "\n")
