#!/usr/bin/env python3
"""Measure a compilation with --verify on and without it, by turns.

  verify.py [--rounds 3] [--bin build/bin] [CASE ...]

Models without their weights (large_*.py here) and small ones (test/fixtures) on
several ranks; by default all cases, else those whose names begin with one of the
words given. It prints for each case the medians of the time until `zc compile`
ends and of the processors' time (user's and the system's), its own and the
proving process's; their ratios, from two runs next to one another, which a
machine that gets busier does not change; the same ratio by one run, whose proof
says how long it took a processor, so that others' work moves it least; and the
proof's result. Rounds begin with either way by turns.
"""
import argparse
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
FIXTURES = HERE.parents[1] / "test" / "fixtures"
GPT2 = ("gpt", "--layers 12 --width 768 --heads 12")
LLAMA = ("llama", "--layers 16 --width 2048 --heads 32 --key-heads 8 --inner "
                  "8192 --batch 16 --length 1024")
CASES = {
    "GPT-2, dp=2,tp=2, ZeRO-1": (*GPT2, "--mesh dp=2,tp=2 --zero 1 --batch 4"),
    "GPT-2, dp=4, ZeRO-3": (*GPT2, "--mesh dp=4 --zero 3 --batch 4"),
    "GPT-2, pp=2": (*GPT2, "--mesh pp=2 --batch 8"),
    "GPT-2, sp=2": (*GPT2, "--mesh sp=2 --batch 4"),
    "BERT-base, dp=2": ("gpt", GPT2[1] + " --causal 0",
                        "--mesh dp=2 --batch 4"),
    "Llama 1B, dp=2,tp=4, ZeRO-2, bf16": (
        *LLAMA, "--mesh dp=2,tp=4 --zero 2 --precision bf16"),
    "Llama 1B, dp=2,pp=2,tp=2": (*LLAMA, "--mesh dp=2,pp=2,tp=2"),
    "ResNet-50, dp=4": ("resnet", "", "--mesh dp=4 --batch 16"),
    "VGG-16, dp=2, ZeRO-1": ("vgg", "", "--mesh dp=2 --zero 1 --batch 8"),
    "Inception, dp=2": ("cnn", "--net inception", "--mesh dp=2 --batch 8"),
    "Mixtral, dp=2,ep=2": ("mixtral", "--layers 8 --width 1024 --heads 16 "
                           "--inner 3584 --batch 16 --length 256",
                           "--mesh dp=2,ep=2"),
    "GPT 7.5B, dp=2,tp=8, ZeRO-1": ("gpt", "", "--mesh dp=2,tp=8 --zero 1"),
    **{f"fixture {name}, dp=2": (FIXTURES / name, "", "--mesh dp=2")
       for name in ("mlp", "gpt", "llama", "bert", "vit", "resnet",
                    "mobilenet")},
}


def measure(command):
    """Seconds in all, and of processors; what it said of the proof; and how much
    that made of the processors' time."""
    began = time.monotonic()
    process = subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, text=True)
    said = process.stdout.read()
    _, status, use = os.wait4(process.pid, 0)
    if status:
        sys.exit(f"verify.py: {' '.join(map(str, command))}: {said}")
    proof = [line for line in said.splitlines() if "small dims" in line or
             "not verified that" in line]
    took = re.search(r"the proof took (\S+) s of a processor", said)
    used = use.ru_utime + use.ru_stime
    return (time.monotonic() - began, used, proof,
            used / (used - float(took[1])) if took else 1)


def prepare(name, folder):
    """The arguments of `zc compile` for a case, whose model may have to be
    made."""
    source, sizes, layout = CASES[name]
    if isinstance(source, pathlib.Path):
        reference = json.loads((source / "reference.json").read_text())
        batch = (["--dim", f"{reference['symbolic_batch']}={reference['batch']}"]
                 if reference["symbolic_batch"] else [])
        return [source / "model.onnx", "--loss", reference["loss"], *batch,
                *layout.split()]
    model = folder / "model.onnx"
    subprocess.run([sys.executable, HERE / f"large_{source}.py", model,
                    *sizes.split()], check=True, stdout=subprocess.DEVNULL)
    return [model, "--loss", "softmax-cross-entropy", "--init", "normal:0.02",
            *layout.split()]


def compare(name, options, folder):
    """A row of the table."""
    command = [options.bin / "zc", "compile", *prepare(name, folder), "-o",
               folder / "out.zca"]
    pairs = []
    for number in range(options.rounds):
        ways = ("off", "on") if number % 2 == 0 else ("on", "off")
        run = {way: measure([*command, "-v", "--verify", way])
               for way in ways}
        pairs.append((run["off"], run["on"]))
    columns = [name]
    for kind in (0, 1):
        columns += [f"{statistics.median(pair[way][kind] for pair in pairs):.2f}"
                    for way in (0, 1)]
        columns.append("{:.2f}".format(statistics.median(
            on[kind] / off[kind] for off, on in pairs)))
    columns.append("{:.3f}".format(statistics.median(
        on[3] for _, on in pairs)))
    shown = sum("not verified" not in "".join(on[2]) for _, on in pairs)
    return columns + [f"{shown} of {options.rounds}"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("case", nargs="*")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--bin", type=pathlib.Path,
                        default=HERE.parents[1] / "build" / "bin")
    options = parser.parse_args()
    header = ["model and layout", "off, s", "on, s", "ratio", "off, s of "
              "processors", "on", "ratio", "ratio by one run", "proven"]
    print("| " + " | ".join(header) + " |\n" + "| --- " * len(header) + "|")
    for name in CASES:
        if options.case and not name.startswith(tuple(options.case)):
            continue
        with tempfile.TemporaryDirectory() as folder:
            row = compare(name, options, pathlib.Path(folder))
        print("| " + " | ".join(row) + " |", flush=True)


if __name__ == "__main__":
    main()
