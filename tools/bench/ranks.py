#!/usr/bin/env python3
"""Measure zc on several ranks against PyTorch's DDP and FSDP2 over Gloo: the
same model, batch, threads and machine, in turns.

  ranks.py --torch-python VENV/bin/python [--ranks 2] [--zero 0 3]

Every round runs each of them once, one thread a rank: zc's ranks as processes
under mpirun, PyTorch's with torchrun's variables. The model is a GPT by its
numbers, as peer_torch.py takes them; its batch is a rank's.
"""
import argparse
import os
import pathlib
import statistics
import sys
import tempfile

import measure
from measure import MPI, PEER, ROOT, WARM_UP


class Bench:
    def __init__(self, options, work):
        self.options, self.work = options, work
        numbers = options.model.split(",")
        numbers[-1] = str(int(numbers[-1]) * options.ranks)
        self.whole = "gpt:" + ",".join(numbers)
        self.times = {}

    def prepare(self):
        measure.output(self.options.torch_python, PEER, "--model", self.whole,
                       "--export", self.work)
        for stage in self.options.zero:
            measure.output(self.options.tools / "zc", "compile",
                           self.work / "model.onnx", "--loss",
                           "softmax-cross-entropy", "--mesh",
                           f"dp={self.options.ranks}", "--zero", stage,
                           "--cpu-threads", 1, "-o", self.work / f"{stage}.zca")

    def zc(self, stage):
        log = self.work / "log.jsonl"
        measure.output("mpirun", "-n", self.options.ranks,
                       self.options.tools / "zc", "run",
                       self.work / f"{stage}.zca", "--data",
                       self.work / "data.npz", "--no-shuffle", "--steps",
                       WARM_UP + self.options.steps, "--lr", "1e-4",
                       "--threads", 1, "--log", log,
                       env={**os.environ, **MPI})
        return measure.median_step(log)

    def torch(self, kind):
        return measure.run_peers(
            self.options.torch_python, self.options.ranks, "--model",
            "gpt:" + self.options.model, "--dist", kind, "--steps",
            self.options.steps)[0]["step_ms_median"]

    def run(self):
        self.prepare()
        for number in range(self.options.rounds):
            for stage in self.options.zero:
                self.note(f"zc, ZeRO {stage}", self.zc(stage))
            for kind in self.options.peers:
                self.note({"ddp": "PyTorch DDP",
                           "fsdp": "PyTorch FSDP2"}[kind], self.torch(kind))
            print(f"round {number + 1}: " + ", ".join(
                f"{name} {times[-1]:.0f} ms"
                for name, times in self.times.items()), file=sys.stderr)
        self.table()

    def note(self, name, time):
        self.times.setdefault(name, []).append(time)

    def table(self):
        """A row for each: its time, and its share of the first stage's and of
        each peer's, least and median of the rounds."""
        first, *_ = names = list(self.times)
        others = [first, *(name for name in names
                           if name.startswith("PyTorch"))]
        print("| | step, ms | " + " | ".join(
            f"of {name}, least / median" for name in others) + " |")
        print("| --- " * (2 + len(others)) + "|")
        for name in names:
            row = [name, f"{statistics.median(self.times[name]):.0f}"]
            for other in others:
                ratios = [ours / theirs for ours, theirs in
                          zip(self.times[name], self.times[other])]
                row.append(f"{min(ratios):.2f} / "
                           f"{statistics.median(ratios):.2f}")
            print("| " + " | ".join(row) + " |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--torch-python", required=True,
                        help="a Python that has torch and onnxscript")
    parser.add_argument("--model", default="50304,12,12,768,256,2",
                        help="vocabulary, layers, heads, width, tokens and a "
                        "rank's batch; by default GPT-2 124M")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--zero", nargs="+", default=["0", "3"],
                        choices=["0", "1", "2", "3"])
    parser.add_argument("--peers", nargs="*", default=["ddp", "fsdp"],
                        choices=["ddp", "fsdp"])
    parser.add_argument("--steps", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--tools", type=pathlib.Path,
                        default=ROOT / "build" / "bin")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="zc-ranks-") as work:
        Bench(options, pathlib.Path(work)).run()


if __name__ == "__main__":
    main()
