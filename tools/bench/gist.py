#!/usr/bin/env python3
"""Compare the memory of the five networks of Gist (Jain et al. 2018) with and
without `--compress-activations`: plans of a step of 64 images, nothing runs.

  gist.py [--zc BUILD/bin/zc] [--batch 64] [--nets alexnet nin ...]

Lossless: one bit where the backward reads a sign, half of the room for what a
ReLU makes for a convolution. Lossy: the rest in 16 or 8 bits besides, or all of
them. A first table has by how much the peak falls, beside the parameters, against
zc's own plans without encodings. Gist counts feature maps and their gradients, at
most of a step: of these a second table has what encodings alone save, zc's against
zc's plans without and Gist's against the baseline that Gist had
(gist_baseline.py); a third one all against that baseline.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

import gist_baseline

HERE = pathlib.Path(__file__).resolve().parent
# Overfeat's images are larger.
SIZES = {"alexnet": 224, "nin": 224, "overfeat": 231, "vgg16": 224,
         "inception": 224}
DENSITY = 0.5
KINDS = {"plain": "none", "lossless": f"bits,sparse={DENSITY}",
         "fp16": f"bits,sparse={DENSITY},fp16",
         "fp8": f"bits,sparse={DENSITY},fp8",
         "fp16, no sparse": "bits,fp16", "fp8, no sparse": "bits,fp8"}
DIGITS = {"lossless": 4, "fp16": 2, "fp8": 1}  # bytes of a stashed number


def plan(zc, model, kinds):
    """The memory of a rank, as zc plans it."""
    done = subprocess.run(
        [zc, "plan", model, "--loss", "softmax-cross-entropy", "--optimizer",
         "sgd", "--cluster", "ideal", "--compress-activations", kinds,
         "--json"], check=True, capture_output=True, text=True)
    return json.loads(done.stdout)["plan"]["memory"]


def measure(zc, net, batch, folder):
    """zc's memory by kind; Gist's baseline, Gist's bytes by kind, and how much
    Gist's encodings save of a baseline that works in place."""
    model = folder / f"{net}.onnx"
    subprocess.run([sys.executable, HERE / "large_cnn.py", model, "--net", net,
                    "--batch", str(batch), "--size", str(SIZES[net])],
                   check=True, stdout=subprocess.DEVNULL)
    planned = {name: plan(zc, model, kinds) for name, kinds in KINDS.items()}
    layers = gist_baseline.Net(model)
    theirs = {name: gist_baseline.footprint(
        gist_baseline.encoded(layers, DENSITY, digits))
              for name, digits in DIGITS.items()}
    before = gist_baseline.footprint(gist_baseline.in_place(layers))
    in_place = {name: before / gist_baseline.footprint(
        gist_baseline.in_place(layers, DENSITY, digits))
                for name, digits in DIGITS.items()}
    return (planned, gist_baseline.footprint(gist_baseline.whole(layers)),
            theirs, in_place)


def table(title, rows):
    """`rows`: (net, bytes for people, ratios by kind)."""
    kinds = list(rows[0][2])
    print(f"| {title} | {' | '.join(kinds)} |")
    print("| --- " * (2 + len(kinds)) + "|")
    for net, size, ratios in rows:
        cells = " | ".join(f"{ratios[kind]:.2f}" for kind in kinds)
        print(f"| {net} | {size / 1e6:.0f} | {cells} |")
    for name, of in (("mean", statistics.mean), ("most", max)):
        cells = " | ".join(f"{of([row[2][kind] for row in rows]):.2f}"
                           for kind in kinds)
        print(f"| {name} | | {cells} |")
    print()


def over(before, after):
    return {kind: before / each for kind, each in after.items()}


def main():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--zc", default=HERE.parents[1] / "build/bin/zc")
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--nets", nargs="+", choices=SIZES, default=list(SIZES))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = {net: measure(options.zc, net, options.batch,
                              pathlib.Path(folder)) for net in options.nets}
    peaks, alone, against = [], [], []
    for net, (planned, baseline, theirs, in_place) in found.items():
        theirs = {f"Gist, {kind}": each for kind, each in theirs.items()}
        encoded = {f"zc, {kind}": memory for kind, memory in planned.items()
                   if kind != "plain"}
        plain = planned["plain"]
        before = plain["peak"] - plain["parameters"]
        peaks.append((net, before, over(
            before, {kind: each["peak"] - each["parameters"]
                     for kind, each in encoded.items()})))
        maps = {kind: each["activations"] for kind, each in encoded.items()}
        alone.append((net, plain["activations"], {
            **over(baseline, theirs),
            **{f"in place, {kind}": each for kind, each in in_place.items()},
            **over(plain["activations"], maps)}))
        against.append((net, baseline, over(baseline, {
            **theirs, "zc, none": plain["activations"], **maps})))
    table("net | peak without encodings, MB", peaks)
    table("net | zc's maps and gradients without, MB", alone)
    table("net | Gist's baseline, MB", against)


if __name__ == "__main__":
    main()
