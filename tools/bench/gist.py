#!/usr/bin/env python3
"""Compare the memory of the five networks of Gist (Jain et al. 2018) with and
without `--compress-activations`: plans of a step of 64 images, nothing runs.

  gist.py [--zc BUILD/bin/zc] [--batch 64] [--nets alexnet nin ...]

Lossless: one bit where the backward reads a sign, half of the room for what a
ReLU makes for a convolution. Lossy: the rest in 16 bits besides. Beside the
parameters' and their gradients' own bytes, as Gist counts.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
# Overfeat's images are larger.
SIZES = {"alexnet": 224, "nin": 224, "overfeat": 231, "vgg16": 224,
         "inception": 224}
KINDS = {"plain": "none", "lossless": "bits,sparse=0.5",
         "lossy": "bits,sparse=0.5,fp16"}


def plan(zc, model, kinds):
    """The memory of a rank, as zc plans it."""
    done = subprocess.run(
        [zc, "plan", model, "--loss", "softmax-cross-entropy", "--optimizer",
         "sgd", "--cluster", "ideal", "--compress-activations", kinds,
         "--json"], check=True, capture_output=True, text=True)
    return json.loads(done.stdout)["plan"]["memory"]


def measure(zc, net, batch, folder):
    """Bytes at the peak beside parameters, by kind."""
    model = folder / f"{net}.onnx"
    subprocess.run([sys.executable, HERE / "large_cnn.py", model, "--net", net,
                    "--batch", str(batch), "--size", str(SIZES[net])],
                   check=True, stdout=subprocess.DEVNULL)
    return {name: memory["peak"] - memory["parameters"]
            for name, memory in ((name, plan(zc, model, kinds))
                                 for name, kinds in KINDS.items())}


def main():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--zc", default=HERE.parents[1] / "build/bin/zc")
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--nets", nargs="+", choices=SIZES, default=list(SIZES))
    options = parser.parse_args()
    ratios = {name: [] for name in KINDS}
    print("| net | peak, MB | lossless | lossy |")
    print("| --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory() as folder:
        for net in options.nets:
            found = measure(options.zc, net, options.batch,
                            pathlib.Path(folder))
            for name, value in found.items():
                ratios[name].append(found["plain"] / value)
            print(f"| {net} | {found['plain'] / 1e6:.0f} | "
                  f"{ratios['lossless'][-1]:.2f} | {ratios['lossy'][-1]:.2f} |")
    means = {name: sum(each) / len(each) for name, each in ratios.items()}
    print(f"| mean | | {means['lossless']:.2f} | {means['lossy']:.2f} |")


if __name__ == "__main__":
    main()
