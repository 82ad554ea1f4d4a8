#!/usr/bin/env python3
"""Measure zc's pipeline against its own data parallelism and against PyTorch's
Schedule1F1B over Gloo: the same model, batch and machine, in turns.

  pipeline.py --torch-python VENV/bin/python [--rounds 3] [--no-torch]

Two ranks of one thread train a GPT in 8 micro-batches of a sample, by default
GPT-2 124M: as a pipeline, and as two ranks of data parallelism with 4
micro-batches each. One rank of zc and one of PyTorch do the same work alone. zc's
ranks are processes under mpirun, PyTorch's have torchrun's variables. Prints

- the pipeline's time by that of data parallelism, over 1 - bubble, which is what
  equal stages lose: at most 1.15;
- the pipeline's time by that of PyTorch's, over the same of one rank of each in
  that round: at most 1.05.
"""
import argparse
import json
import os
import pathlib
import statistics
import sys
import tempfile

import measure
from measure import MPI, PEER, ROOT, WARM_UP

RANKS, MICRO_BATCHES = 2, 8
LAYOUTS = {"pipeline": (RANKS, ["--mesh", f"pp={RANKS}"], MICRO_BATCHES),
           "data": (RANKS, ["--mesh", f"dp={RANKS}"], MICRO_BATCHES // RANKS),
           "one": (1, [], MICRO_BATCHES)}
NAMES = {"pipeline": "zc, pp=2", "data": "zc, dp=2", "one": "zc, one rank",
         "torch pipeline": "PyTorch Schedule1F1B",
         "torch one": "PyTorch, one rank"}
# Both do the same work where their losses are this near to one another.
NEAR = 1e-2


class Bench:
    def __init__(self, options, work):
        self.options, self.work = options, work
        self.model = f"gpt:{options.model},{MICRO_BATCHES}"
        self.rounds, self.losses = [], {}

    def prepare(self):
        """Exports and compiles; what of a step equal stages would wait."""
        if not (self.work / "model.onnx").exists():
            self.work.mkdir(parents=True, exist_ok=True)
            measure.output(self.options.torch_python, PEER, "--model",
                           self.model, "--export", self.work)
        for name, (_, mesh, micro_batches) in LAYOUTS.items():
            measure.output(
                self.options.tools / "zc", "compile", self.work / "model.onnx",
                "--loss", "softmax-cross-entropy", *mesh, "--accumulate",
                micro_batches, "--cpu-threads", 1, "-o",
                self.work / f"{name}.zca")
        schedule = json.loads(measure.output(
            self.options.tools / "zc", "inspect", self.work / "pipeline.zca",
            "--schedule", "--json"))["schedule"]
        print(f"stages differ by {schedule['imbalance']:.3f} (the slowest by "
              f"the mean), the bubble by their costs is "
              f"{schedule['bubble_of_total']:.3f}", file=sys.stderr)
        return schedule["of_equal_stages"]["bubble_of_total"]

    def zc(self, name):
        ranks = LAYOUTS[name][0]
        log = self.work / "log.jsonl"
        measure.output(*(["mpirun", "-n", ranks] if ranks > 1 else []),
                       self.options.tools / "zc", "run",
                       self.work / f"{name}.zca", "--data",
                       self.work / "data.npz", "--no-shuffle", "--steps",
                       WARM_UP + self.options.steps, "--lr", "1e-4",
                       "--threads", 1, "--log", log,
                       env={**os.environ, **MPI})
        self.losses[name] = json.loads(log.read_text().splitlines()[-1])["loss"]
        return measure.median_step(log)

    def torch(self, name, ranks, *options):
        found = measure.run_peers(
            self.options.torch_python, ranks, "--model", self.model,
            "--accumulate", MICRO_BATCHES, "--steps", self.options.steps,
            *options)
        self.losses[name] = found[-1]["loss"]
        return max(each["step_ms_median"] for each in found)

    def run(self):
        bubble = self.prepare()
        for number in range(self.options.rounds):
            times = {name: self.zc(name) for name in LAYOUTS}
            if self.options.torch:
                times["torch pipeline"] = self.torch(
                    "torch pipeline", RANKS, "--dist", "pipeline")
                times["torch one"] = self.torch("torch one", 1)
            self.rounds.append(times)
            print(f"round {number + 1}: " + ", ".join(
                f"{NAMES[name]} {time:.0f} ms"
                for name, time in times.items()), file=sys.stderr, flush=True)
        self.check_losses()
        self.table(bubble)

    def check_losses(self):
        expected = self.losses["one"]
        for name, loss in self.losses.items():
            if not abs(loss - expected) <= NEAR * expected:
                sys.exit(f"pipeline: {NAMES[name]} has a loss of {loss}, one "
                         f"rank of zc {expected}")

    def table(self, bubble):
        print("| | step, ms, least | median |\n| --- | --- | --- |")
        for name in self.rounds[0]:
            times = [each[name] for each in self.rounds]
            print(f"| {NAMES[name]} | {min(times):.0f} | "
                  f"{statistics.median(times):.0f} |")
        print()
        self.ratio(f"pp=2 by dp=2 over 1 - {bubble:.3f}", 1.15, lambda each:
                   each["pipeline"] / each["data"] * (1 - bubble))
        if self.options.torch:
            self.ratio("by Schedule1F1B, over one rank's ratio", 1.05,
                       lambda each: each["pipeline"] / each["torch pipeline"] /
                       (each["one"] / each["torch one"]))

    def ratio(self, name, goal, value):
        """Prints the ratio in each round, and that of the least times of all
        rounds."""
        least = {key: min(each[key] for each in self.rounds)
                 for key in self.rounds[0]}
        ratios = [value(each) for each in self.rounds]
        print(f"{name}: {value(least):.3f} by the least times, "
              f"{min(ratios):.3f} to {max(ratios):.3f} in a round; at most "
              f"{goal} wanted")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--torch-python", required=True,
                        help="a Python that has torch and onnxscript")
    parser.add_argument("--model", default="50304,12,12,768,256",
                        help="vocabulary, layers, heads, width and tokens; by "
                        "default GPT-2 124M")
    parser.add_argument("--no-torch", dest="torch", action="store_false",
                        help="measure zc alone")
    parser.add_argument("--work", type=pathlib.Path,
                        help="keep models, data and logs here")
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--tools", type=pathlib.Path,
                        default=ROOT / "build" / "bin")
    options = parser.parse_args()
    if options.work:
        Bench(options, options.work).run()
        return
    with tempfile.TemporaryDirectory(prefix="zc-pipeline-") as work:
        Bench(options, pathlib.Path(work)).run()


if __name__ == "__main__":
    main()
