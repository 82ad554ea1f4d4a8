#!/usr/bin/env python3
"""What a step keeps in memory by the number of a GPT's layers, with and without
`--recompute sqrt`: plans alone, nothing runs.

  layers.py FILE.html|FILE.svg [--zc BUILD/bin/zc] [--layers 4 9 16 25 36 64]

Without recomputation activations grow with the layers l, with it with sqrt(l):
the third panel, activations over sqrt(l), is flat.
"""
import argparse
import json
import math
import pathlib
import subprocess
import sys
import tempfile

from plot import plot

HERE = pathlib.Path(__file__).resolve().parent
SIZES = ["--width", "64", "--heads", "2", "--length", "64", "--batch", "8",
         "--vocabulary", "256"]


def activations(zc, model, policy):
    """Bytes of activations that the plan has at most."""
    artifact = model.with_suffix(".zca")
    subprocess.run([zc, "compile", model, "-o", artifact, "--init",
                    "normal:0.02", "--loss", "softmax-cross-entropy",
                    "--optimizer", "sgd", "--recompute", policy], check=True,
                   stdout=subprocess.DEVNULL)
    plan = subprocess.run([zc, "inspect", artifact, "--memory", "--json"],
                          check=True, capture_output=True, text=True).stdout
    return json.loads(plan)["memory"]["activations"]


def measure(zc, layers):
    """By policy: MB of activations for each number of layers."""
    megabytes = {"none": [], "sqrt": []}
    with tempfile.TemporaryDirectory() as folder:
        for count in layers:
            model = pathlib.Path(folder) / f"gpt-{count}.onnx"
            subprocess.run([sys.executable, HERE / "large_gpt.py", model,
                            "--layers", str(count), *SIZES], check=True,
                           stdout=subprocess.DEVNULL)
            for policy, values in megabytes.items():
                values.append(activations(zc, model, policy) / 1e6)
    return megabytes


def main():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("output", type=pathlib.Path)
    parser.add_argument("--zc", default=HERE.parents[1] / "build/bin/zc")
    parser.add_argument("--layers", type=int, nargs="+",
                        default=[4, 9, 16, 25, 36, 64])
    options = parser.parse_args()
    found = measure(options.zc, options.layers)
    flat = [value / math.sqrt(count)
            for count, value in zip(options.layers, found["sqrt"])]
    print("| layers | kept, MB | --recompute sqrt, MB | over sqrt(layers) |")
    print("| --- | --- | --- | --- |")
    for row in zip(options.layers, found["none"], found["sqrt"], flat):
        print("| {} | {:.1f} | {:.1f} | {:.2f} |".format(*row))
    picture = plot([("layers", "kept, MB", options.layers, found["none"]),
                    ("layers", "sqrt, MB", options.layers, found["sqrt"]),
                    ("layers", "sqrt, MB / \u221alayers", options.layers, flat)])
    if options.output.suffix == ".html":
        picture = ("<!DOCTYPE html><meta charset=\"utf-8\"><title>Activations "
                   f"by layers</title>\n{picture}")
    options.output.write_text(picture, encoding="utf-8")


if __name__ == "__main__":
    main()
