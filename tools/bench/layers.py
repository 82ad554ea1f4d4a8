#!/usr/bin/env python3
"""Print what a step keeps in memory by the number of a GPT's layers, with and
without `--recompute sqrt`: plans alone, nothing runs.

  layers.py FILE.html|FILE.svg [--zc BUILD/bin/zc] [--layers 4 9 16 25 36 64]

Without recomputation activations grow with the layers l, with it with sqrt(l).
The page is what `zc inspect --html` makes of all artifacts; of the picture the
third panel, activations over sqrt(l), is flat.
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


def activations(zc, model, artifact, policy):
    """Bytes of activations that the plan has at most."""
    subprocess.run([zc, "compile", model, "-o", artifact, "--init",
                    "normal:0.02", "--loss", "softmax-cross-entropy",
                    "--optimizer", "sgd", "--recompute", policy], check=True,
                   stdout=subprocess.DEVNULL)
    plan = subprocess.run([zc, "inspect", artifact, "--memory", "--json"],
                          check=True, capture_output=True, text=True).stdout
    return json.loads(plan)["memory"]["activations"]


def measure(zc, layers, folder):
    """By policy: MB of activations for each number of layers, and the
    artifacts, POLICY-LAYERS.zca in `folder`."""
    megabytes, artifacts = {"none": [], "sqrt": []}, []
    for policy, values in megabytes.items():
        for count in layers:
            model = folder / f"gpt-{count}.onnx"
            if not model.exists():
                subprocess.run([sys.executable, HERE / "large_gpt.py", model,
                                "--layers", str(count), *SIZES], check=True,
                               stdout=subprocess.DEVNULL)
            artifacts.append(folder / f"{policy}-{count}.zca")
            values.append(activations(zc, model, artifacts[-1], policy) / 1e6)
    return megabytes, artifacts


def draw(zc, output, layers, found, artifacts):
    if output.suffix == ".html":
        subprocess.run([zc, "inspect", *artifacts, "--html", output],
                       check=True)
        return
    flat = [value / math.sqrt(count)
            for count, value in zip(layers, found["sqrt"])]
    output.write_text(
        plot([("layers", "kept, MB", layers, found["none"]),
              ("layers", "sqrt, MB", layers, found["sqrt"]),
              ("layers", "sqrt, MB / \u221alayers", layers, flat)]),
        encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("output", type=pathlib.Path)
    parser.add_argument("--zc", default=HERE.parents[1] / "build/bin/zc")
    parser.add_argument("--layers", type=int, nargs="+",
                        default=[4, 9, 16, 25, 36, 64])
    options = parser.parse_args()
    layers = sorted(options.layers)
    with tempfile.TemporaryDirectory() as folder:
        found, artifacts = measure(options.zc, layers, pathlib.Path(folder))
        draw(options.zc, options.output, layers, found, artifacts)
    print("| layers | kept, MB | --recompute sqrt, MB | over sqrt(layers) |")
    print("| --- | --- | --- | --- |")
    for count, kept, root in zip(layers, found["none"], found["sqrt"]):
        print(f"| {count} | {kept:.1f} | {root:.1f} | "
              f"{root / math.sqrt(count):.2f} |")


if __name__ == "__main__":
    main()
