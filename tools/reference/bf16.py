#!/usr/bin/env python3
"""Record how far PyTorch strays in bfloat16, for test/e2e/precision_test.py.

  bf16.py [--fixtures test/fixtures] [MODEL ...]

Adds `bf16_spread` to what record.py has written per optimizer: the largest
distance, relative, of the losses of two runs from the double precision losses
that stand there. In one only autocast rounds; in the other the forward and the
backward are of bfloat16 throughout and the optimizer's weights of float32.
"""
import argparse
import json
import pathlib

import numpy as np
import torch

import models
import record
import zoo


def batch(case, step):
    inputs = [record.batch_of(array, step, case.batch)
              for array in case.inputs.values()]
    return ([x.float() if x.is_floating_point() else x for x in inputs],
            record.batch_of(case.labels, step, case.batch))


def autocast(name, optimizer):
    """The losses of ten steps under autocast."""
    case = zoo.build(name)
    net = case.net.train().float()
    update = record.OPTIMIZERS[optimizer](net.parameters(),
                                          case.learning_rates[optimizer])
    losses = []
    for step in range(models.STEPS):
        inputs, labels = batch(case, step)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            output = net(*inputs)
        loss = record.loss_of(case, output.float(), labels)
        losses.append(float(loss.detach()))
        update.zero_grad()
        loss.backward()
        update.step()
    return np.array(losses)


def masters(name, optimizer):
    """The losses of ten steps of a network of bfloat16, whose weights are
    rounded from those of float32 that the optimizer updates."""
    case = zoo.build(name)
    net = case.net.train().float()
    weights = [p.detach().clone() for p in net.parameters()]
    update = record.OPTIMIZERS[optimizer](weights,
                                          case.learning_rates[optimizer])
    net = net.bfloat16()
    losses = []
    for step in range(models.STEPS):
        inputs, labels = batch(case, step)
        inputs = [x.bfloat16() if x.is_floating_point() else x for x in inputs]
        loss = record.loss_of(case, net(*inputs).float(), labels)
        losses.append(float(loss.detach()))
        net.zero_grad()
        loss.backward()
        for weight, parameter in zip(weights, net.parameters()):
            weight.grad = (None if parameter.grad is None
                           else parameter.grad.float())
        update.step()
        with torch.no_grad():
            for weight, parameter in zip(weights, net.parameters()):
                parameter.copy_(weight)
    return np.array(losses)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("models", nargs="*", default=list(zoo.CASES))
    parser.add_argument("--fixtures", type=pathlib.Path,
                        default=record.ROOT / "test" / "fixtures")
    options = parser.parse_args()
    for name in options.models:
        path = options.fixtures / name / "reference.json"
        reference = json.loads(path.read_text())
        for optimizer, entry in reference["optimizers"].items():
            exact = np.array(entry["losses"])
            spreads = [float(np.max(np.abs(run(name, optimizer) - exact)
                                    / np.abs(exact)))
                       for run in (autocast, masters)]
            entry["bf16_spread"] = max(spreads)
            print(f"{name} {optimizer}: autocast {spreads[0]:.1e}, "
                  f"bfloat16 throughout {spreads[1]:.1e}", flush=True)
        path.write_text(json.dumps(reference, indent=1) + "\n")


if __name__ == "__main__":
    main()
