#!/usr/bin/env python3
"""Two ranks that divide the tokens of samples, beside two that divide samples.

  sequences.py [--rounds 5] [--steps 12] [--length 1024] [--only tp]
               [--rotations]

A causal GPT; every layout computes the same losses of the same tokens. Runs
alternate; printed are the medians of the rounds' median steps, and their ratio
to dp=2's. --rotations traces some steps of the ring instead: whether each
rotation is issued before the block of attention that it hides behind, and how
long the block's successor waits for it, as a share of the block.
"""
import argparse
import json
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
           "sp=2, auto": ["--mesh", "sp=2"],
           "sp=2, gather": ["--mesh", "sp=2", "--sp-attention", "gather"],
           "tp=2": ["--mesh", "tp=2"],
           "tp=2, tokens inside": ["--mesh", "tp=2", "--sequence-parallel",
                                   "on"],
           "tp=2, tokens inside, kept": ["--mesh", "tp=2",
                                         "--sequence-parallel", "on=kept"]}


def rotations(trace):
    """A step's rotations on rank 0: whether issued before a block, seconds of
    the blocks behind which each hides, and seconds that its reader waits."""
    events = sorted((event for event in json.loads(trace.read_text())
                     ["traceEvents"] if event["ph"] == "X" and
                     event["pid"] == 0 and "instruction" in event["args"]),
                    key=lambda event: event["args"]["instruction"])
    compute = [event for event in events if event["tid"] == 0]
    for sent in events:
        if "send_receive" not in sent["name"]:
            continue
        number = sent["args"]["instruction"]
        # Transfers end in their order: a wait for a later one is for this, too.
        reader = next((place for place, event in enumerate(compute)
                       if event["args"]["instruction"] > number and
                       any(wait >= number for wait in event["args"]["waits"])),
                      None)
        if reader is None:
            sys.exit(f"{trace}: nothing waits for transfer {number}")
        blocks = [event for event in compute[:reader]
                  if event["args"]["instruction"] > number and
                  event["cat"] == "attention"]
        ended = compute[reader - 1]["ts"] + compute[reader - 1]["dur"]
        yield (bool(blocks), sum(event["dur"] for event in blocks),
               max(0.0, sent["ts"] + sent["dur"] - ended))


def print_rotations(zc, artifact, data, folder, steps):
    found = []
    for step in range(3, steps + 1):
        trace = folder / "trace.json"
        output(zc, "run", artifact, "--data", data, "--steps", step, "--quiet",
               "--local-ranks", 2, "--trace", trace, "--trace-steps",
               f"{step}:{step}")
        found.append(list(rotations(trace)))
    hidden = [[each for each in step if each[0]] for step in found]
    shares = [sum(waited for _, _, waited in step) /
              sum(block for _, block, _ in step) for step in hidden]
    print(f"{len(hidden[0])} of {len(found[0])} rotations a step are issued "
          f"before a block of attention; who reads them waits for "
          f"{statistics.median(shares):.3f} of the blocks (median step), at "
          f"least {min(shares):.3f}, at most {max(shares):.3f}")


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
    parser.add_argument("--only", default="", help="of the layouts, those whose"
                        " name begins so, beside dp=2")
    parser.add_argument("--rotations", action="store_true")
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
        artifacts = {}
        layouts = {layout: mesh for layout, mesh in LAYOUTS.items()
                   if (layout == "sp=2, ring" if options.rotations else
                       layout == "dp=2" or layout.startswith(options.only))}
        times = {layout: [] for layout in layouts}
        for number, (layout, mesh) in enumerate(layouts.items()):
            artifacts[layout] = folder / f"{number}.zca"
            output(options.zc, "compile", model, "-o", artifacts[layout],
                   "--loss", "softmax-cross-entropy", "--init", "normal:0.02",
                   *mesh)
        if options.rotations:
            print_rotations(options.zc, artifacts["sp=2, ring"], data, folder,
                            options.steps)
            return
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
