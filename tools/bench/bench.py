#!/usr/bin/env python3
"""Measure zc against PyTorch: the same model, batch, threads and machine, in
turns, so that a machine that slows down slows both.

  bench.py --torch-python VENV/bin/python [--model gpt2 ...] [--work DIR]
           [--variant=--recompute=layer ...] [--onnx-python VENV/bin/python]
  bench.py --torch-python VENV/bin/python --growth FILE.svg
  bench.py --torch-python VENV/bin/python --budget FILE.svg [--model gpt2]

Every round runs zc, PyTorch (eager and compiled) and the limit: the fastest
that the library reaches alone on the model's largest product, which the step's
products and convolutions could not beat. Prints a table row per model: times
are medians over the rounds, ratios compare zc with the faster PyTorch within a
round; a variant, the model compiled with further options, is a row of its own. The processor and its
instruction set stand above the table. With --onnx-python the peers that read ONNX files run too, ONNX
Runtime Training and onnxsim (peer_onnx.py), each in a column of its own: a dash where they refuse the
model. Their first losses must be zc's.
With --growth it plots instead how the cost of a step grows with a GPT's
numbers, with --budget a step's time against --memory-budget. PyTorch is not part of the set-up: name a Python that has it.
"""
import argparse
import contextlib
import datetime
import json
import os
import pathlib
import shlex
import statistics
import subprocess
import sys
import tempfile

import budget
import growth
from measure import (ONNX_PEER, PEER, ROOT, WARM_UP, first_losses, machine,
                     median_step, output)

# Peers that read ONNX files; their first losses may differ so much, relative:
# onnxsim's Adam has no decay of weights, the optimizers round in other orders.
ONNX_PEERS = {"ort-training": "ONNX Runtime Training", "onnxsim": "onnxsim"}
LOSS_TOLERANCE = 1e-3

# Each model's name in tables, and its largest product for zc-kernel-rate.
MODELS = {
    "gpt2": ("GPT-2 124M, 4 x 256 tokens", "matmul 1024 768 50304"),
    "bert": ("BERT-base, 8 x 128 tokens", "matmul 1024 768 30528"),
    "resnet50": ("ResNet-50, 8 x 224 x 224", "conv 8 64 56 64 3"),
    "mlp": ("MLP 1024-4096-4096-1000, batch 256", "matmul 256 4096 4096"),
    "gpt2-nano": ("GPT, 4 layers x 256 wide, 16 x 128 tokens",
                  "matmul 2048 256 1024")}


def export(options, model, folder):
    """Write the model and a batch for zc, once."""
    if not (folder / "model.onnx").exists():
        folder.mkdir(parents=True, exist_ok=True)
        output(options.torch_python, PEER, "--model", model, "--export",
               folder)


def compile_model(options, folder, *further, name="model.zca"):
    output(options.tools / "zc", "compile", folder / "model.onnx", "-o",
           folder / name, "--loss", "softmax-cross-entropy",
           "--cpu-threads", options.threads, "--precision", options.precision,
           *further)


def run_zc(options, folder, name="model.zca"):
    """Median step in milliseconds and peak resident MiB of one run of zc."""
    log = folder / "log.jsonl"
    args = [options.tools / "zc", "run", folder / name, "--data",
            folder / "data.npz", "--steps", WARM_UP + options.steps, "--lr",
            "1e-4", "--no-shuffle", "--threads", options.threads, "--log", log]
    process = subprocess.Popen([str(arg) for arg in args],
                               stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        sys.exit("bench: zc run failed")
    return median_step(log), usage.ru_maxrss / 1024


class Peer:
    """Another system on one model in a process of its own, which waits between
    its turns: it compiles and warms up once."""

    def __init__(self, options, python, script, *args):
        args = [python, script, *args, "--threads", options.threads, "--steps",
                options.steps, "--seconds", options.turn_seconds, "--serve"]
        self.process = subprocess.Popen([str(arg) for arg in args], text=True,
                                        stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL)

    def turn(self):
        """The next report; None: the peer has failed."""
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.write("\n")
            self.process.stdin.flush()
        line = self.process.stdout.readline()
        return json.loads(line) if line else None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()


def torch_peer(options, model, mode):
    return Peer(options, options.torch_python, PEER, "--model", model, "--mode",
                mode, "--precision", options.precision)


def onnx_peer(options, folder, engine):
    return Peer(options, options.onnx_python, ONNX_PEER, "--folder", folder,
                "--engine", engine)


def take_turn(peer):
    """Median step in milliseconds and peak resident MiB."""
    report = peer.turn()
    if not report:
        sys.exit("bench: PyTorch failed")
    return report["step_ms_median"], report["peak_mib"]


class Bench:
    """One model: its files, and one run of everything per round."""

    def __init__(self, options, model, work):
        self.options, self.model, self.work = options, model, work
        self.variants = ["", *options.variant]
        self.rounds = []
        export(options, model, work)
        for index, variant in enumerate(self.variants):
            compile_model(options, work, *shlex.split(variant),
                          name=self.artifact(index))
        schedule = json.loads(output(options.tools / "zc", "inspect",
                                     work / self.artifact(0), "--schedule",
                                     "--json"))
        # Generated kernels aside, only library calls have FLOPs.
        self.flops = sum(instruction["flops"]
                         for instruction in schedule["schedule"]["step"]
                         if instruction["kind"] != "kernel")

    @staticmethod
    def artifact(index):
        return f"model{index}.zca"

    def limit(self):
        """Milliseconds that the step's products would take at the rate of the
        largest alone."""
        rate = float(output(self.options.tools / "zc-kernel-rate",
                            self.options.threads,
                            *MODELS[self.model][1].split()))
        return self.flops / rate / 1e6

    def run(self):
        with contextlib.ExitStack() as stack:
            peers = {}
            for mode in self.options.modes:
                peers[mode] = stack.enter_context(
                    torch_peer(self.options, self.model, mode))
                take_turn(peers[mode])  # once it is compiled and warm
            others = self.start_others(stack)
            for _ in range(self.options.rounds):
                self.run_round(peers)
                for engine, peer in others.items():
                    self.others[engine].append(take_turn(peer)[0])

    def start_others(self, stack):
        """The peers of ONNX files that can train the model, once they are warm
        and have begun as zc begins."""
        self.others = {engine: [] for engine in self.options.onnx_peers}
        started = {}
        for engine in self.others:
            peer = stack.enter_context(
                onnx_peer(self.options, self.work, engine))
            report = peer.turn()
            if not report:
                print(f"{self.model}: {engine} cannot train it",
                      file=sys.stderr, flush=True)
                continue
            self.compare_losses(engine, report["first_losses"])
            started[engine] = peer
        return started

    def compare_losses(self, engine, theirs):
        run_zc(self.options, self.work, self.artifact(0))
        ours = first_losses(self.work / "log.jsonl", len(theirs))
        print(f"{self.model}: first losses of zc {ours}, {engine} {theirs}",
              file=sys.stderr, flush=True)
        if any(abs(a - b) > LOSS_TOLERANCE * abs(b)
               for a, b in zip(ours, theirs)):
            sys.exit(f"bench: {self.model}: {engine} computes something else")

    def run_round(self, peers):
        ours = [run_zc(self.options, self.work, self.artifact(index))
                for index in range(len(self.variants))]
        limit = self.limit()
        theirs = {mode: take_turn(peer) for mode, peer in peers.items()}
        self.rounds.append((ours, limit, theirs))
        text = ", ".join(
            f"{name} {time:.0f} ms {memory:.0f} MiB" for name, (time, memory) in
            [*((f"zc {variant}".rstrip(), run)
               for variant, run in zip(self.variants, ours)),
             *((f"PyTorch {mode}", run) for mode, run in theirs.items())])
        print(f"{self.model}: limit {limit:.0f} ms, {text}", file=sys.stderr,
              flush=True)

    def row(self, index):
        """The table's row of the variant `index`; 0 is zc without further
        options."""
        middle = statistics.median
        ours = [runs[index] for runs, _, _ in self.rounds]
        peers = [theirs for _, _, theirs in self.rounds]
        ratios = [time / min(other for other, _ in theirs.values())
                  for (time, _), theirs in zip(ours, peers)]
        memory = middle(used / min(other for _, other in theirs.values())
                        for (_, used), theirs in zip(ours, peers))
        shares = middle(limit / time for (time, _), (_, limit, _) in
                        zip(ours, self.rounds))
        times = " | ".join(
            f"{middle(theirs[mode][0] for theirs in peers):.0f}"
            for mode in self.options.modes)
        for found in self.others.values():
            times += f" | {middle(found):.0f}" if found else " | -"
        name = ", ".join(filter(None, (MODELS[self.model][0],
                                       self.variants[index])))
        return (f"| {name} | {middle(time for time, _ in ours):.0f} | {times} | "
                f"{min(ratios):.2f} | {middle(ratios):.2f} | "
                f"{100 * shares:.0f}% | {memory:.2f} |")


def compare(options, work):
    print(f"{machine()}, {options.threads} threads, {options.precision}, "
          f"{datetime.date.today()}\n")
    peers = [*(f"PyTorch {mode}" for mode in options.modes),
             *(ONNX_PEERS[engine] for engine in options.onnx_peers)]
    names = " | ".join(f"{peer}, ms" for peer in peers)
    print(f"| model | zc, ms | {names} | ratio, least | ratio, median | "
          "share of limit | memory ratio |")
    print("| --- " * (6 + len(peers)) + "|", flush=True)
    for model in options.model:
        bench = Bench(options, model, work / model)
        bench.run()
        for index in range(len(bench.variants)):
            print(bench.row(index), flush=True)


def measure_growth(options, work):
    """Step times and compile times of GPTs, as a plot and a table."""
    def measure(name, numbers):
        folder = work / name
        export(options, "gpt:" + ",".join(map(str, numbers)), folder)
        compile_model(options, folder)  # once with warm file caches
        seconds = growth.timed(lambda: compile_model(options, folder))
        # No peer takes turns with these: the least is what noise leaves alone.
        return min(run_zc(options, folder)[0]
                   for _ in range(options.rounds)), seconds

    growth.run(measure, options.growth)


def measure_budgets(options, work):
    """Memory against step time, of the first model."""
    model = options.model[0]
    folder = work / model
    export(options, model, folder)

    def plan(*further):
        compile_model(options, folder, *further)
        return json.loads(output(options.tools / "zc", "inspect",
                                 folder / "model.zca", "--memory",
                                 "--json"))["memory"]["peak"]

    def measure(*further):
        planned = plan(*further)
        runs = [run_zc(options, folder) for _ in range(options.rounds)]
        return planned, *min(runs)

    budget.run(plan, measure, options.budget)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--model", nargs="+", default=list(MODELS),
                        choices=list(MODELS))
    parser.add_argument("--torch-python", required=True,
                        help="a Python that has torch and onnxscript")
    parser.add_argument("--onnx-python", help="a Python that has "
                        "onnxruntime-training-cpu, torch and onnxsim")
    parser.add_argument("--modes", nargs="+", default=["eager", "compile"],
                        choices=["eager", "compile"])
    parser.add_argument("--precision", default="fp32",
                        choices=["fp32", "bf16"],
                        help="bf16: PyTorch under autocast; the limit stays "
                        "that of float32")
    parser.add_argument("--variant", action="append", default=[],
                        metavar="OPTIONS", help="compile the model with these "
                        "options of zc compile too, a row of their own")
    parser.add_argument("--tools", type=pathlib.Path,
                        default=ROOT / "build" / "bin")
    parser.add_argument("--work", type=pathlib.Path,
                        help="keep models, data and logs here")
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--turn-seconds", type=float, default=8,
                        help="PyTorch begins no step after so many seconds of "
                        "its turn")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--growth", type=pathlib.Path, metavar="FILE.svg",
                        help="plot how a step's cost grows, and nothing else")
    parser.add_argument("--budget", type=pathlib.Path, metavar="FILE.svg",
                        help="plot the first model's step time against "
                        "--memory-budget, and nothing else")
    options = parser.parse_args()
    options.onnx_peers = list(ONNX_PEERS) if options.onnx_python else []
    task = (measure_growth if options.growth else
            measure_budgets if options.budget else compare)
    if options.work:
        task(options, options.work)
        return
    with tempfile.TemporaryDirectory(prefix="zc-bench-") as work:
        task(options, pathlib.Path(work))


if __name__ == "__main__":
    main()
