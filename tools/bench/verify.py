#!/usr/bin/env python3
"""Measure a compilation with --verify on and without it, by turns.

  verify.py [--rounds 7] [--bin build/bin] [--mesh dp=2,tp=2] [--zero 1]

A GPT of GPT-2's size without its weights (large_gpt.py). Prints medians of the
time until `zc compile` ends and of the processors' time, its own and that of
the process that proves, and their ratios; of two runs next to one another, so
that a machine which gets busier does not change them.
"""
import argparse
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
GPT2 = ["--layers", "12", "--width", "768", "--heads", "12"]


def measure(command):
    """Seconds in all, and of processors."""
    began = time.monotonic()
    process = subprocess.Popen(list(map(str, command)),
                               stdout=subprocess.DEVNULL,
                               stderr=subprocess.PIPE, text=True)
    said = process.stderr.read()
    _, status, use = os.wait4(process.pid, 0)
    if status:
        sys.exit(f"verify.py: {' '.join(map(str, command))}: {said}")
    return time.monotonic() - began, use.ru_utime + use.ru_stime


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--mesh", default="dp=2,tp=2")
    parser.add_argument("--zero", default="1")
    parser.add_argument("--bin", type=pathlib.Path,
                        default=HERE.parents[1] / "build" / "bin")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        model = pathlib.Path(folder) / "model.onnx"
        subprocess.run([sys.executable, HERE / "large_gpt.py", model, *GPT2],
                       check=True, stdout=subprocess.DEVNULL)
        command = [options.bin / "zc", "compile", model, "--loss",
                   "softmax-cross-entropy", "--init", "normal:0.02", "-o",
                   pathlib.Path(folder) / "out.zca", "--mesh", options.mesh,
                   "--zero", options.zero, "--batch", "4"]
        pairs = []
        for _ in range(options.rounds):
            off = measure([*command, "--verify", "off"])
            pairs.append((off, measure([*command, "--verify", "on"])))
            (wall, cpu), (more_wall, more_cpu) = pairs[-1]
            print(f"off {wall:.2f} s, {cpu:.2f} s of processors; on "
                  f"{more_wall:.2f} s, {more_cpu:.2f} s", flush=True)
    for index, name in enumerate(("time", "processors")):
        ratio = statistics.median(on[index] / off[index] for off, on in pairs)
        print(f"{name}: {ratio:.3f} of that without")


if __name__ == "__main__":
    main()
