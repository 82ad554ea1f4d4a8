#!/usr/bin/env python3
"""Measure zc against PyTorch: the same model, batch, threads and machine, in
turns, so that a machine that slows down slows both.

  bench.py --model gpt2 --torch-python VENV/bin/python [--work DIR]

Prints the step time and the peak memory of each and their ratio. PyTorch is
not part of the set-up: name a Python that has it.
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


def peer(options, *args):
    """Run the PyTorch side; its last line of output."""
    result = subprocess.run(
        [options.torch_python, PEER, "--model", options.model, *args],
        check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        text=True)
    return result.stdout.strip().rpartition("\n")[2]


def torch_round(options):
    line = json.loads(peer(options, "--mode", options.mode, "--steps",
                           str(options.steps), "--threads",
                           str(options.threads)))
    return line["step_ms_median"], line["peak_mib"]


def zc_round(options, work):
    """Median step and peak resident memory of one run of zc."""
    log = work / "log.jsonl"
    args = [options.tools / "zc", "run", work / "model.zca", "--data",
            work / "data.npz", "--steps", str(WARM_UP + options.steps),
            "--lr", "1e-4", "--no-shuffle", "--threads", str(options.threads),
            "--log", log]
    process = subprocess.Popen([str(arg) for arg in args],
                               stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        sys.exit("bench: zc run failed")
    steps = [json.loads(line) for line in log.read_text().splitlines()]
    times = [step["step_ms"] for step in steps[WARM_UP:]]
    return statistics.median(times), usage.ru_maxrss / 1024


def prepare(options, work):
    if not (work / "model.onnx").exists():
        peer(options, "--export", str(work))
    subprocess.run([options.tools / "zc", "compile", work / "model.onnx", "-o",
                    work / "model.zca", "--loss", "softmax-cross-entropy",
                    "--cpu-threads", str(options.threads)], check=True)


def compare(options, work):
    prepare(options, work)
    rounds = []
    for i in range(options.rounds):
        ours, theirs = zc_round(options, work), torch_round(options)
        rounds.append((ours, theirs))
        print(f"round {i + 1}: zc {ours[0]:.0f} ms {ours[1]:.0f} MiB, "
              f"PyTorch {theirs[0]:.0f} ms {theirs[1]:.0f} MiB, "
              f"time ratio {ours[0] / theirs[0]:.2f}", flush=True)
    time_ratio = statistics.median(o[0] / t[0] for o, t in rounds)
    memory_ratio = statistics.median(o[1] / t[1] for o, t in rounds)
    print(f"{options.model}, {options.mode} PyTorch, {options.threads} "
          f"threads: zc takes {time_ratio:.2f} of its step time and "
          f"{memory_ratio:.2f} of its memory")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--model", default="gpt2",
                        choices=["gpt2", "gpt2-nano", "mlp"])
    parser.add_argument("--torch-python", required=True,
                        help="a Python that has torch and onnxscript")
    parser.add_argument("--mode", default="eager",
                        choices=["eager", "compile"])
    parser.add_argument("--tools", type=pathlib.Path,
                        default=ROOT / "build" / "bin")
    parser.add_argument("--work", type=pathlib.Path,
                        help="keep model, data and log here")
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    options = parser.parse_args()
    if options.work:
        options.work.mkdir(parents=True, exist_ok=True)
        compare(options, options.work)
        return
    with tempfile.TemporaryDirectory(prefix="zc-bench-") as work:
        compare(options, pathlib.Path(work))


if __name__ == "__main__":
    main()
