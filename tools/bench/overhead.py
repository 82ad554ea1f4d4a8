#!/usr/bin/env python3
"""What a step costs by libzc, from C and from Python, beside a step of zc run.

  overhead.py [--rounds 5] [--large]

A tiny model (the tests' mlp), a small GPT (4 layers, 256 wide, 8 x 128 tokens),
and with --large GPT-2's sizes (12 layers, 768 wide, 4 x 256 tokens). Runs alternate; of each round the median step is taken,
and of the rounds the least: what else the machine does only adds.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

from measure import ROOT, WARM_UP, output

HERE = pathlib.Path(__file__).resolve().parent
WAYS = ["zc run", "libzc, C", "libzc, Python"]


def make_tiny(folder):
    fixture = ROOT / "test" / "fixtures" / "mlp"
    arrays = {name: array[:4] for name, array in
              np.load(fixture / "data.npz").items()}
    return fixture / "model.onnx", arrays, ["--dim", "batch=4"]


def make_gpt(folder, layers, width, vocabulary, length, batch):
    model = folder / "gpt.onnx"
    output(sys.executable, HERE / "large_gpt.py", model, "--layers", layers,
           "--width", width, "--heads", width // 64, "--vocabulary", vocabulary,
           "--length", length, "--batch", batch)
    tokens = np.random.default_rng(0).integers(0, vocabulary, (batch, length))
    return model, {"tokens": tokens, "labels": tokens}, [
        "--init", "normal:0.02"]


def make_small(folder):
    return make_gpt(folder, 4, 256, 512, 128, 8)


def make_gpt2(folder):
    return make_gpt(folder, 12, 768, 50304, 256, 4)


class Case:
    """One model: the artifact, its one batch, and a run of each way."""

    def __init__(self, options, make, steps, folder):
        folder.mkdir()
        self.options, self.steps, self.folder = options, steps, folder
        model, arrays, further = make(folder)
        output(options.tools / "zc", "compile", model, "-o",
               folder / "step.zca", "--loss", "softmax-cross-entropy",
               *further)
        np.savez(folder / "data.npz", **arrays)
        for name, array in arrays.items():
            array.tofile(folder / f"{name}.bin")
        self.arrays = arrays

    def by_run(self):
        log = self.folder / "log.jsonl"
        output(self.options.tools / "zc-run", "run", self.folder / "step.zca",
               "--data", self.folder / "data.npz", "--steps", self.steps,
               "--no-shuffle", "--quiet", "--log", log)
        return [1e3 * json.loads(line)["step_ms"]
                for line in log.read_text().splitlines()]

    def by_c(self):
        lines = output(self.options.program, self.folder / "step.zca",
                       self.steps, cwd=self.folder)
        return [float(line) for line in lines.split()]

    def by_python(self):
        import zc  # pylint: disable=import-outside-toplevel
        times = []
        with zc.Session(self.folder / "step.zca") as session:
            for _ in range(self.steps):
                begin = time.perf_counter()
                session.step(self.arrays)
                times.append(1e6 * (time.perf_counter() - begin))
        return times

    def measure(self):
        """Microseconds of a step, by way."""
        least = {}
        for _ in range(self.options.rounds):
            for way, run in zip(WAYS, (self.by_run, self.by_c, self.by_python)):
                step = statistics.median(run()[WARM_UP:])
                least[way] = min(step, least.get(way, step))
        return least


def build_program(options, folder):
    lib = options.tools.parent / "lib"
    output("cc", "-O2", f"-I{ROOT / 'runtime' / 'Api'}",
           HERE / "step_times.c", f"-L{lib}", "-lzc", f"-Wl,-rpath,{lib}",
           "-o", folder / "step_times")
    return folder / "step_times"


def main():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tools", type=pathlib.Path,
                        default=ROOT / "build" / "bin")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--large", action="store_true")
    options = parser.parse_args()
    sys.path.insert(0, str(ROOT / "tools" / "python"))
    os.environ.setdefault("ZC_LIBRARY", str(options.tools.parent / "lib" /
                                            "libzc.so.1"))
    cases = {"mlp of the tests": (make_tiny, 2000),
             "GPT, 4 layers x 256 wide, 8 x 128 tokens": (make_small, 12)}
    if options.large:
        cases["GPT-2 124M, 4 x 256 tokens"] = (make_gpt2, WARM_UP + 6)
    print("| model | " + ", us | ".join(WAYS) + ", us | more, us | ratio |")
    print("| --- | --- | --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory() as name:
        options.program = build_program(options, pathlib.Path(name))
        for number, (title, (make, steps)) in enumerate(cases.items()):
            least = Case(options, make, steps,
                         pathlib.Path(name) / str(number)).measure()
            ran, by_c, by_python = (least[way] for way in WAYS)
            print(f"| {title} | {ran:.1f} | {by_c:.1f} | {by_python:.1f} | "
                  f"{by_c - ran:+.1f}, {by_python - ran:+.1f} | "
                  f"{by_c / ran:.3f}, {by_python / ran:.3f} |", flush=True)


if __name__ == "__main__":
    main()
