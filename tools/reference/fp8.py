#!/usr/bin/env python3
"""Record losses of PyTorch with factors rounded to 8 bits, for fp8_test.py.

  fp8.py [--fixtures test/fixtures]

The network of test/e2e/fp8_network.py, whose products PyTorch multiplies as zc
does: factors scaled by their largest magnitude, rounded to float8_e4m3fn,
gradients to float8_e5m2, multiplied as float32, the product scaled back and
rounded to bfloat16. The last product stays in bfloat16. Writes
fp8/reference.json: losses of the same ten steps with all products in bfloat16,
and with 8-bit factors.
"""
import argparse
import json
import pathlib
import sys

import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "test"
                       / "e2e"))
from fp8_network import BATCH, LEARNING_RATE, STEPS, data, weights

E4M3, E5M2 = torch.float8_e4m3fn, torch.float8_e5m2


def rounded(x, dtype):
    """As float32, and what the numbers are to be multiplied by."""
    largest = torch.finfo(dtype).max
    # A number over a tensor is its reciprocal times the number to PyTorch, which
    # rounds twice.
    scale = torch.tensor(largest) / x.float().abs().max().clamp(min=1e-12)
    numbers = (x.float() * scale).clamp(-largest, largest).to(dtype).float()
    return numbers, 1 / scale


def product(a, a_dtype, b, b_dtype):
    (a, a_scale), (b, b_scale) = rounded(a, a_dtype), rounded(b, b_dtype)
    return ((a @ b) * (a_scale * b_scale)).bfloat16()


class Linear8(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        return product(x, E4M3, w, E4M3)

    @staticmethod
    def backward(ctx, grad):
        x, w = ctx.saved_tensors
        return (product(grad, E5M2, w.t(), E4M3),
                product(x.t(), E4M3, grad, E5M2))


def losses(layer):
    x, labels = (torch.from_numpy(array) for array in data())
    masters = [torch.from_numpy(w).requires_grad_() for w in weights()]
    optimizer = torch.optim.SGD(masters, lr=LEARNING_RATE)
    found = []
    for step in range(STEPS):
        rows = slice(step * BATCH, (step + 1) * BATCH)
        value = x[rows].bfloat16()
        *hidden, last = [w.bfloat16() for w in masters]
        for w in hidden:
            value = torch.relu(layer(value, w))
        loss = ((value @ last).float() - labels[rows]).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        found.append(loss.item())
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fixtures", type=pathlib.Path,
                        default=pathlib.Path("test/fixtures"))
    folder = parser.parse_args().fixtures / "fp8"
    folder.mkdir(exist_ok=True)
    recorded = {"bf16": losses(torch.matmul), "fp8": losses(Linear8.apply)}
    (folder / "reference.json").write_text(json.dumps(recorded, indent=1) + "\n")


if __name__ == "__main__":
    main()
