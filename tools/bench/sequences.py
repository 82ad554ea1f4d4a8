#!/usr/bin/env python3
"""Two ranks that divide the tokens of samples, beside two that divide samples.

  sequences.py [--rounds 5] [--steps 12] [--length 1024]

A causal GPT; every layout computes the same losses of the same tokens. Runs
alternate; printed are the medians of the rounds' median steps, and their ratio
to dp=2's.
"""
import argparse
import pathlib
import statistics
import subprocess
import sys
import tempfile

import numpy as np

from measure import ROOT, median_step, output

HERE = pathlib.Path(__file__).resolve().parent
LAYOUTS = {"dp=2": ["--mesh", "dp=2"],
           "sp=2, ulysses": ["--mesh", "sp=2", "--sp-attention", "ulysses"],
           "sp=2, ring": ["--mesh", "sp=2", "--sp-attention", "ring"],
           "sp=2, ring=contiguous": ["--mesh", "sp=2", "--sp-attention",
                                     "ring=contiguous"],
           "sp=2, gather": ["--mesh", "sp=2", "--sp-attention", "gather"],
           "tp=2": ["--mesh", "tp=2"],
           "tp=2, tokens inside": ["--mesh", "tp=2", "--sequence-parallel",
                                   "on"]}


def main():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--zc", default=ROOT / "build" / "bin" / "zc")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=12)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--length", type=int, default=1024)
    parser.add_argument("--batch", type=int, default=2)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        model, data = folder / "gpt.onnx", folder / "tokens.npz"
        subprocess.run(
            [sys.executable, HERE / "large_gpt.py", model, "--vocabulary",
             "512", "--heads", "8",
             *(part for key in ("layers", "width", "length", "batch")
               for part in (f"--{key}", str(getattr(options, key))))],
            check=True, stdout=subprocess.DEVNULL)
        tokens = np.random.default_rng(0).integers(
            0, 512, (options.batch, options.length))
        np.savez(data, tokens=tokens, labels=tokens)
        times = {layout: [] for layout in LAYOUTS}
        artifacts = {}
        for number, (layout, mesh) in enumerate(LAYOUTS.items()):
            artifacts[layout] = folder / f"{number}.zca"
            output(options.zc, "compile", model, "-o", artifacts[layout],
                   "--loss", "softmax-cross-entropy", "--init", "normal:0.02",
                   *mesh)
        log = folder / "log.jsonl"
        for _ in range(options.rounds):
            for layout, artifact in artifacts.items():
                log.unlink(missing_ok=True)
                output(options.zc, "run", artifact, "--data", data, "--steps",
                       options.steps, "--quiet", "--log", log,
                       "--local-ranks", 2)
                times[layout].append(median_step(log))
        base = statistics.median(times["dp=2"])
        print("| layout | step, ms | of dp=2 |\n| --- | --- | --- |")
        for layout, found in times.items():
            median = statistics.median(found)
            print(f"| {layout} | {median:.1f} | {median / base:.2f} |")


if __name__ == "__main__":
    main()
