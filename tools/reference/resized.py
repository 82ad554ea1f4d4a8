#!/usr/bin/env python3
"""Record what PyTorch's interpolation to given sizes takes from where, for
test/e2e/resize_test.py.

  resized.py [--output test/fixtures/resized]

`model.onnx` is what PyTorch's exporter makes of many interpolations of the rows
of `x`, each an output; `reference.npz` holds `x` and the outputs. Nearest are
sizes less than 80 between which rounding decides: by another formula than
PyTorch's, be it exact, another row is taken. The exporter has no operator for
`nearest-exact`: of it, `reference.npz` has the rows as `exact_FROM_TO`.
"""
import argparse
import pathlib

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

import record

ROOT = pathlib.Path(__file__).resolve().parents[2]
MOST, ROWS, WIDTH = 80, 1000, 2
KEPT = 24  # of the pairs of sizes


def take(mode, before, after):
    """The rows that PyTorch takes."""
    rows = torch.arange(before, dtype=torch.float32)
    image = rows[None, None, :, None].expand(1, 1, before, WIDTH).contiguous()
    taken = F.interpolate(image, size=(after, WIDTH), mode=mode)
    return taken[0, 0, :, 0].numpy().astype(int)


def formulas(before, after, half):
    """The rows by exact numbers, in double and in single precision."""
    at = np.arange(after)
    single = at.astype(np.float32) + np.float32(half)
    exact = (2 * at + (half > 0)) * before // (2 * after)
    for rows in (exact, (at + half) / (after / before),
                 single / np.float32(after / before)):
        yield np.minimum(np.floor(rows).astype(int), before - 1)


def choose(mode, half):
    """Pairs of sizes of which a formula is not PyTorch's."""
    pairs = [(before, after) for before in range(1, MOST)
             for after in range(1, MOST)
             if any((rows != take(mode, before, after)).any()
                    for rows in formulas(before, after, half))]
    chosen = np.linspace(0, len(pairs) - 1, KEPT).astype(int)
    return [pairs[at] for at in chosen]


class Resized(nn.Module):
    def __init__(self):
        super().__init__()
        self.cases = {}
        for before, after in [(14, 2), *choose("nearest", 0)]:
            self.cases[f"nearest_{before}_{after}"] = dict(mode="nearest")
        for mode in "bilinear", "bicubic":
            for before, after in ((9, 20), (50, 31), (777, ROWS), (ROWS, 777)):
                for name, corners in ("", False), ("_corners", True):
                    self.cases[f"{mode}{name}_{before}_{after}"] = dict(
                        mode=mode, align_corners=corners)

    def forward(self, x):
        results = []
        for name, options in self.cases.items():
            before, after = map(int, name.split("_")[-2:])
            results.append(F.interpolate(x[:, :, :before],
                                         size=(after, WIDTH), **options))
        return tuple(results)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--output", type=pathlib.Path,
                        default=ROOT / "test" / "fixtures" / "resized")
    folder = parser.parse_args().output
    folder.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(0)
    net, x = Resized(), torch.randn(1, 1, ROWS, WIDTH)
    program = torch.onnx.export(
        net, (x,), dynamo=True, optimize=False, verbose=False,
        input_names=["x"], output_names=list(net.cases))
    (folder / "model.onnx").write_bytes(record.without_machine_paths(
        program.model_proto, False).SerializeToString())
    exact = {"exact_{}_{}".format(*pair): take("nearest-exact", *pair)
             for pair in choose("nearest-exact", 0.5)}
    outputs = {name: value.numpy() for name, value in zip(net.cases, net(x))}
    np.savez_compressed(folder / "reference.npz", x=x.numpy(), **exact,
                        **outputs)


if __name__ == "__main__":
    main()
