#!/usr/bin/env python3
"""Measure zc against PyTorch: the same model, batch, threads and machine, in
turns, so that a machine that slows down slows both.

  bench.py --torch-python VENV/bin/python [--model gpt2 ...] [--work DIR]

Every round runs zc, PyTorch (eager and compiled) and the limit: the fastest
that the library reaches alone on the model's largest product, which the step's
products and convolutions could not beat. Prints a table row per model: times
are medians over the rounds, ratios compare zc with the faster PyTorch within a
round. PyTorch is not part of the set-up: name a Python that has it.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
PEER = ROOT / "tools" / "bench" / "peer_torch.py"
WARM_UP = 2
# The largest product of each model, for zc-kernel-rate.
LARGEST = {"gpt2": "matmul 1024 768 50304", "bert": "matmul 1024 768 30528",
           "resnet50": "conv 8 64 56 64 3", "mlp": "matmul 256 4096 4096",
           "gpt2-nano": "matmul 2048 256 1024"}
LIBRARY_KINDS = ("matmul", "convolution", "attention")


class Bench:
    """One model: its files, and one run of everything per round."""

    def __init__(self, options, model, work):
        self.options, self.model, self.work = options, model, work
        self.rounds = []

    def output(self, *args):
        result = subprocess.run([str(arg) for arg in args], check=True,
                                stdout=subprocess.PIPE, text=True,
                                stderr=subprocess.DEVNULL)
        return result.stdout

    def peer(self, *args):
        """Run the PyTorch side; its last line of output."""
        out = self.output(self.options.torch_python, PEER, "--model",
                          self.model, *args)
        return out.strip().rpartition("\n")[2]

    def torch(self, mode):
        line = json.loads(self.peer("--mode", mode, "--steps",
                                    self.options.steps, "--threads",
                                    self.options.threads))
        return line["step_ms_median"], line["peak_mib"]

    def zc(self):
        """Median step and peak resident memory of one run of zc."""
        log = self.work / "log.jsonl"
        args = [self.options.tools / "zc", "run", self.work / "model.zca",
                "--data", self.work / "data.npz", "--steps",
                WARM_UP + self.options.steps, "--lr", "1e-4", "--no-shuffle",
                "--threads", self.options.threads, "--log", log]
        process = subprocess.Popen([str(arg) for arg in args],
                                   stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        if status != 0:
            sys.exit("bench: zc run failed")
        steps = [json.loads(line) for line in log.read_text().splitlines()]
        times = [step["step_ms"] for step in steps[WARM_UP:]]
        return statistics.median(times), usage.ru_maxrss / 1024

    def limit(self):
        """Milliseconds that the step's products would take at the rate of the
        largest alone."""
        rate = float(self.output(self.options.tools / "zc-kernel-rate",
                                 self.options.threads,
                                 *LARGEST[self.model].split()))
        return self.flops / rate / 1e6

    def prepare(self):
        if not (self.work / "model.onnx").exists():
            self.peer("--export", self.work)
        artifact = self.work / "model.zca"
        subprocess.run([self.options.tools / "zc", "compile",
                        self.work / "model.onnx", "-o", artifact, "--loss",
                        "softmax-cross-entropy", "--cpu-threads",
                        str(self.options.threads)], check=True)
        schedule = json.loads(self.output(self.options.tools / "zc", "inspect",
                                          artifact, "--schedule", "--json"))
        self.flops = sum(instruction["flops"]
                         for instruction in schedule["schedule"]["step"]
                         if instruction["kind"] in LIBRARY_KINDS)

    def run_round(self):
        ours, limit = self.zc(), self.limit()
        peers = {mode: self.torch(mode) for mode in self.options.modes}
        self.rounds.append((ours, limit, peers))
        text = ", ".join(f"PyTorch {mode} {time:.0f} ms {memory:.0f} MiB"
                         for mode, (time, memory) in peers.items())
        print(f"{self.model}: zc {ours[0]:.0f} ms {ours[1]:.0f} MiB, limit "
              f"{limit:.0f} ms, {text}", file=sys.stderr, flush=True)

    def row(self):
        def middle(values):
            return statistics.median(values)

        ratios = [ours[0] / min(time for time, _ in peers.values())
                  for ours, _, peers in self.rounds]
        memory = middle(ours[1] / min(used for _, used in peers.values())
                        for ours, _, peers in self.rounds)
        shares = middle(limit / ours[0] for ours, limit, _ in self.rounds)
        peers = " | ".join(
            f"{middle(peers[mode][0] for _, _, peers in self.rounds):.0f}"
            for mode in self.options.modes)
        zc = middle(ours[0] for ours, _, _ in self.rounds)
        return (f"| {self.model} | {zc:.0f} | {peers} | {min(ratios):.2f} | "
                f"{middle(ratios):.2f} | {100 * shares:.0f}% | "
                f"{memory:.2f} |")


def compare(options, work):
    rows = []
    for model in options.model:
        (work / model).mkdir(parents=True, exist_ok=True)
        bench = Bench(options, model, work / model)
        bench.prepare()
        for _ in range(options.rounds):
            bench.run_round()
        rows.append(bench.row())
    modes = " | ".join(f"PyTorch {mode}, ms" for mode in options.modes)
    print(f"| model | zc, ms | {modes} | ratio, least | ratio, median | "
          "share of limit | memory ratio |")
    print("| --- " * (6 + len(options.modes)) + "|")
    print("\n".join(rows))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--model", nargs="+", default=list(LARGEST),
                        choices=list(LARGEST))
    parser.add_argument("--torch-python", required=True,
                        help="a Python that has torch and onnxscript")
    parser.add_argument("--modes", nargs="+", default=["eager", "compile"],
                        choices=["eager", "compile"])
    parser.add_argument("--tools", type=pathlib.Path,
                        default=ROOT / "build" / "bin")
    parser.add_argument("--work", type=pathlib.Path,
                        help="keep models, data and logs here")
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    options = parser.parse_args()
    if options.work:
        compare(options, options.work)
        return
    with tempfile.TemporaryDirectory(prefix="zc-bench-") as work:
        compare(options, pathlib.Path(work))


if __name__ == "__main__":
    main()
